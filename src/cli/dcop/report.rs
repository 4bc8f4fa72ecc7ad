//! The results of `fangs dcop`.

use fangs_base::terminal::line;
use fangs_elimination::order::TreeSize;
use fangs_model::model::{Network, Number};
use fangs_report::text::{counted, grouped, or_dash, per_cent};
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::fmt;

/// The JSON object of a run.
#[derive(Clone, Default, serde::Serialize)]
pub struct Report {
    pub instance: String,
    pub version: &'static str,
    pub algorithm: String,
    /// Largest number z of variables in a mini-bucket; null if no bucket is split.
    pub z: Option<u32>,
    pub status: &'static str,
    /// Source of the assignment if the agents chose none, as in a run that was stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assignment_from: Option<&'static str>,
    pub cost: Option<Number>,
    pub bound: Option<Number>,
    pub gap: Option<f64>,
    pub precision_slack: f64,
    pub agents: usize,
    pub variables: usize,
    pub functions: usize,
    /// The pseudo-tree; null for local search.
    pub pseudo_tree: Option<Tree>,
    pub messages: Messages,
    pub util_entries: u64,
    /// Entries that agents computed; the other entries were passed on unchanged.
    pub made_entries: u64,
    pub largest_util_entries: u64,
    pub util_bytes: u64,
    pub nccc: u64,
    pub joint_entries: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_limit: Option<Limited>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cycles: Option<u64>,
    /// Simulated runtime in seconds; null unless agents run one after the other.
    pub simulated_s: Option<f64>,
    pub util_s: f64,
    pub value_s: f64,
    pub transfer_s: Option<f64>,
    pub wall_s: f64,
    pub load_s: f64,
    pub device: String,
    pub threads: usize,
    pub assignment: Option<Assignment>,
    #[serde(skip)]
    pub label: &'static str,
}

/// The pseudo-tree that messages follow.
#[derive(Clone, serde::Serialize)]
pub struct Tree {
    pub rule: String,
    #[serde(flatten)]
    pub size: TreeSize,
}

/// Numbers of messages between agents.
#[derive(Clone, Default, serde::Serialize)]
pub struct Messages {
    pub util: u64,
    pub value: u64,
    pub tables: u64,
    /// Messages between variables of the same agent.
    pub local: u64,
    /// UTIL messages that were sent again for other values of cut variables.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeated: Option<u64>,
}

/// The effort of a run with limited messages.
#[derive(Clone, serde::Serialize)]
pub struct Limited {
    pub entries: u64,
    pub cut_variables: Vec<String>,
    pub contexts: u64,
    pub pruned: u64,
    pub runs: u64,
}

/// Names of variables and values in the file; numeric values are written as JSON numbers.
#[derive(Clone)]
pub struct Assignment(pub Vec<(String, String)>);

impl Assignment {
    pub fn new(network: &Network, values: &[u32]) -> Self {
        let name = |(v, &value): (usize, &u32)| (network.variable_name(v), network.value_name(v, value));
        Assignment(values.iter().enumerate().map(name).collect())
    }
}

impl Serialize for Assignment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            // only text that round-trips becomes a number, so that two names of values never become equal
            match (value.parse::<i64>(), value.parse::<f64>()) {
                (Ok(number), _) if number.to_string() == *value => map.serialize_entry(name, &number)?,
                (_, Ok(number)) if number.is_finite() && number.to_string() == *value => {
                    map.serialize_entry(name, &number)?;
                }
                _ => map.serialize_entry(name, value)?,
            }
        }
        map.end()
    }
}

/// Largest number of characters of an assignment that the text form shows.
const SHORT: usize = 400;

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let z = self.z.map_or(String::new(), |z| format!(", z = {z}"));
        writeln!(f, "{}: {} by {}{z} on {}", line(&self.instance), self.status, self.algorithm, self.device)?;
        if let Some(from) = self.assignment_from {
            writeln!(f, "  the agents have not chosen a solution: the values are from {from}")?;
        }
        let gap = self.gap.map_or("-".into(), per_cent);
        writeln!(f, "  {} {}, bound {}, gap {gap}", self.label, or_dash(self.cost), or_dash(self.bound))?;
        let (agents, variables) = (counted(self.agents, "agent"), counted(self.variables, "variable"));
        writeln!(f, "  {agents}, {variables}, {}", counted(self.functions, "function"))?;
        if let Some(Tree { rule, size }) = &self.pseudo_tree {
            let roots = counted(size.roots, "root");
            writeln!(
                f,
                "  pseudo-tree {}: {roots}, depth {}, width {}, {} between others than neighbours",
                line(rule),
                size.depth,
                size.width,
                counted(size.non_neighbour_edges, "edge")
            )?;
        }
        let Messages { util, value, tables, local, repeated } = &self.messages;
        write!(
            f,
            "  messages: {} UTIL with {} in {}",
            grouped(util),
            counted(self.util_entries as usize, "entry").replace("entrys", "entries"),
            counted(*tables as usize, "table")
        )?;
        write!(f, " ({} in the largest), {} VALUE", grouped(self.largest_util_entries), grouped(value))?;
        if *local > 0 {
            write!(f, ", {} within agents", grouped(local))?;
        }
        if let Some(repeated) = repeated {
            write!(f, ", {} repeated", grouped(repeated))?;
        }
        writeln!(f, "; NCCC {}", grouped(self.nccc))?;
        if let Some(Limited { entries, cut_variables, contexts, pruned, runs }) = &self.message_limit {
            let contexts = counted(*contexts as usize, "context");
            writeln!(
                f,
                "  at most {} entries a message: {} cut, {contexts}, {} of them dropped by bounds, {} by messages",
                grouped(entries),
                counted(cut_variables.len(), "variable"),
                grouped(pruned),
                grouped(runs)
            )?;
        }
        if let Some(cycles) = self.cycles {
            writeln!(f, "  {}", counted(cycles as usize, "cycle"))?;
        }
        write!(f, "  UTIL {:.6} s, VALUE {:.6} s", self.util_s, self.value_s)?;
        if let Some(simulated) = self.simulated_s {
            write!(f, ", simulated {simulated:.6} s")?;
        }
        writeln!(f, "; {:.3} s in all, {:.3} s of it reading", self.wall_s, self.load_s)?;
        let Some(Assignment(pairs)) = &self.assignment else { return Ok(()) };
        let shown = pairs.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ");
        if shown.len() <= SHORT {
            return writeln!(f, "  {}", line(&shown));
        }
        writeln!(f, "  {}; --solution FILE writes them, --json prints them", counted(pairs.len(), "value"))
    }
}
