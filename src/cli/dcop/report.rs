//! The results of `fangs dcop`.

use super::metrics::EndMetrics;
use fangs_base::terminal::line;
use fangs_elimination::order::TreeSize;
use fangs_model::model::{Network, Number};
use fangs_report::seconds;
use fangs_report::text::{counted, grouped, named_assignment, or_dash, per_cent, sense};
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
    /// Results under the names of pyDCOP.
    #[serde(flatten)]
    pub end: EndMetrics,
    pub assignment: Option<Assignment>,
    /// Number of costs and values in all messages between agents.
    #[serde(skip)]
    pub message_entries: u64,
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

impl Report {
    /// Completes the keys of pyDCOP and the time at the end of the run, in seconds since the process started.
    pub fn end(&mut self, time_s: f64) {
        self.wall_s = seconds(time_s);
        let Messages { util, value, repeated, .. } = self.messages;
        self.end.time = self.wall_s;
        self.end.cycle = self.cycles.unwrap_or(0);
        self.end.msg_count = util + value + repeated.unwrap_or(0);
        self.end.msg_size = self.message_entries;
    }

    /// Returns the result in words.
    fn ended(&self) -> &'static str {
        match self.status {
            "optimal" => "proved optimal",
            "infeasible" => "proved infeasible: there is no solution",
            "bounded" => "the best solution is not proved optimal",
            _ => "stopped before a solution was found",
        }
    }

    /// Returns the algorithm by the field's name.
    fn method(&self) -> String {
        let name = match &*self.algorithm {
            "auto" => "not chosen yet".into(),
            "max-sum" => "Max-sum".into(),
            name => name.to_uppercase(),
        };
        match (self.z, &self.message_limit) {
            (Some(z), _) => format!("{name} with z = {z} (i-bound {})", z.saturating_sub(1)),
            (_, Some(limit)) => format!("{name} with at most {} entries per message", grouped(limit.entries)),
            _ => name,
        }
    }

    /// Returns the numbers of messages in words.
    fn messages(&self) -> String {
        let Messages { util, value, local, repeated, .. } = &self.messages;
        if let Some(cycles) = self.cycles {
            let (cycles, entries) = (counted(cycles as usize, "cycle"), grouped(self.message_entries));
            return format!("{} with {entries} values and costs, in {cycles}", grouped(value));
        }
        let (entries, largest) = (grouped(self.util_entries), grouped(self.largest_util_entries));
        let mut text =
            format!("{} UTIL ({entries} entries, the largest {largest}), {} VALUE", grouped(util), grouped(value));
        if *local > 0 {
            text += &format!(", {} within agents", grouped(local));
        }
        if let Some(repeated) = repeated {
            text += &format!(", {} UTIL repeated", grouped(repeated));
        }
        text
    }

    /// Returns the seconds of the phases and of the process in words.
    fn times(&self) -> String {
        let phases = match self.cycles {
            Some(_) => format!("search {:.6} s", self.util_s),
            None => format!("UTIL {:.6} s, VALUE {:.6} s", self.util_s, self.value_s),
        };
        format!("{:.2} s: reading {:.2} s, {phases}", self.wall_s, self.load_s)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", line(&self.instance), self.ended())?;
        let mut row = |label: &str, text: &dyn fmt::Display| writeln!(f, "{label:<12}{text}");
        let maximise = self.label != "cost";
        row(self.label, &format_args!("{} ({})", or_dash(self.cost), sense(maximise)))?;
        if let Some(from) = self.assignment_from {
            row("", &format_args!("of values from {from}: the agents have not chosen a solution"))?;
        }
        let side = if maximise { "upper" } else { "lower" };
        row("bound", &format_args!("{} ({side} bound)", or_dash(self.bound)))?;
        row("gap", &self.gap.map_or("-".into(), per_cent))?;
        row("algorithm", &self.method())?;
        let (agents, variables) = (counted(self.agents, "agent"), counted(self.variables, "variable"));
        row("problem", &format_args!("{agents}, {variables}, {}", counted(self.functions, "function")))?;
        if let Some(Tree { rule, size }) = &self.pseudo_tree {
            let (roots, edges) = (counted(size.roots, "root"), counted(size.non_neighbour_edges, "edge"));
            let (depth, width) = (size.depth, size.width);
            let text = format!("{}: {roots}, depth {depth}, induced width {width}", line(rule));
            match size.non_neighbour_edges {
                0 => row("pseudo-tree", &text)?,
                _ => row("pseudo-tree", &format_args!("{text}, {edges} between agents that share no function"))?,
            }
        }
        row("messages", &self.messages())?;
        if self.cycles.is_none() && self.message_limit.is_none() {
            row("NCCC", &format_args!("{} nonconcurrent constraint checks", grouped(self.nccc)))?;
        }
        if let Some(Limited { cut_variables, contexts, pruned, runs, .. }) = &self.message_limit {
            let (contexts, cut) =
                (counted(*contexts as usize, "context"), counted(cut_variables.len(), "cut variable"));
            let [pruned, runs] = [pruned, runs].map(grouped);
            row("contexts", &format_args!("{contexts} of {cut}: {pruned} pruned by bounds, {runs} solved by DPOP"))?;
        }
        if let Some(Assignment(pairs)) = &self.assignment {
            row("assignment", &named_assignment(pairs, None))?;
        }
        row("time", &self.times())?;
        if let Some(simulated) = self.simulated_s {
            row("simulated", &format_args!("{simulated:.6} s, with the latency of messages"))?;
        }
        row("device", &format_args!("{}, {}", self.device, counted(self.threads, "thread")))
    }
}
