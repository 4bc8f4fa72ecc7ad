//! The summaries: one JSON object, or a few lines of text.

use super::output::RunSummary;
use super::text::seconds;
use super::text::{assignment, counted, ended, grouped, method, named_assignment, objective, or_dash, per_cent, sense};
use crate::device::Compiled;
use crate::elimination::spill_folder;
use crate::formats::Named;
use crate::model::{Network, Notation, Number};
use crate::search::{Options, Picks, Status, StoppedBy, Summary};
use crate::terminal;
use fangs_base::tuning::given;
use indicatif::HumanBytes;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::{self, Display, Write};
use std::path::PathBuf;

/// The summary of `fangs solve`; its fields are those of the JSON object.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs, reason = "the fields are the contract's, described where Summary has them")]
pub struct SolveReport<'a> {
    pub instance: String,
    pub version: &'static str,
    pub status: &'static str,
    pub cost: Option<Number>,
    pub bound: Option<Number>,
    pub gap: Option<f64>,
    pub precision_slack: f64,
    pub stopped_by: &'static str,
    pub time_s: f64,
    /// Part of `time_s` that earlier runs used before this one resumed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resumed_s: Option<f64>,
    pub load_s: f64,
    pub time_to_best_s: Option<f64>,
    pub search_to_best_s: Option<f64>,
    pub seed: u64,
    pub device: &'a str,
    pub threads: usize,
    /// Number of processes that worked together; rounds, moves and evaluations are those of the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranks: Option<usize>,
    pub driver: &'static str,
    /// The plug-in heuristic, if there is one.
    pub heuristic: Option<&'a str>,
    /// Statistics of a plug-in heuristic's samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub picks: Option<Picks>,
    pub population: usize,
    pub rounds: u64,
    pub moves: u64,
    pub ratings: u64,
    pub bound_method: &'a str,
    pub z: Option<u32>,
    pub induced_width: Option<u32>,
    pub values: Option<usize>,
    pub values_forbidden: Option<usize>,
    pub variables: Option<usize>,
    pub functions: Option<usize>,
    pub solution: Option<&'a [u32]>,
    /// The solution by names, if the network's solutions are written in that notation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assignment: Option<Named<'a>>,
    /// Tuned values other than the defaults (`--tune`).
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tuning: BTreeMap<String, Value>,
    /// How the run ended, in words; this field and the following ones are for the text form.
    #[serde(skip)]
    pub ended: String,
    #[serde(skip)]
    pub maximise: bool,
    #[serde(skip)]
    pub objective: &'static str,
    /// Names of variables and their values in the solution, if the network's file has any.
    #[serde(skip)]
    pub names: Option<Vec<(String, String)>>,
    /// The file of the solution, if it was written.
    #[serde(skip)]
    pub solution_file: Option<PathBuf>,
}

impl<'a> SolveReport<'a> {
    /// Creates the report of a finished run; loading took `load_s` seconds.
    pub fn new(network: &'a Network, summary: &'a Summary, load_s: f64) -> Self {
        let by_names = summary.solution.as_deref().filter(|_| network.notation() == Notation::Names);
        SolveReport {
            instance: network.name.clone(),
            version: crate::VERSION,
            status: summary.status.name(),
            cost: summary.cost,
            bound: summary.bound,
            gap: summary.gap,
            precision_slack: summary.precision_slack,
            stopped_by: summary.stopped_by.name(),
            time_s: seconds(summary.time_s),
            resumed_s: None,
            load_s: seconds(load_s),
            time_to_best_s: summary.time_to_best_s.map(seconds),
            search_to_best_s: summary.search_to_best_s.map(seconds),
            seed: summary.seed,
            device: &summary.device,
            threads: summary.threads,
            ranks: None,
            driver: summary.driver,
            heuristic: summary.heuristic.as_deref(),
            picks: Some(summary.picks).filter(|picks| picks.rounds > 0),
            population: summary.population,
            rounds: summary.rounds,
            moves: summary.moves,
            ratings: summary.ratings,
            bound_method: &summary.bound_method,
            z: summary.z,
            induced_width: summary.induced_width,
            values: summary.values,
            values_forbidden: summary.values_forbidden,
            variables: Some(network.variables().len()),
            functions: Some(network.function_count()),
            solution: summary.solution.as_deref(),
            assignment: by_names.map(|assignment| Named { network, assignment }),
            tuning: given(),
            ended: ended(summary.status, summary.stopped_by),
            maximise: network.units().maximise,
            objective: network.objective(),
            names: summary.solution.as_deref().and_then(|values| names(network, values)),
            solution_file: None,
        }
    }

    /// Creates the report of a run that was stopped while it was loading.
    pub fn unloaded(instance: String, options: &'a Options, stopped_by: StoppedBy, time_s: f64) -> Self {
        SolveReport {
            instance,
            version: crate::VERSION,
            status: Status::Unknown.name(),
            cost: None,
            bound: None,
            gap: None,
            precision_slack: 0.0,
            stopped_by: stopped_by.name(),
            time_s: seconds(time_s),
            resumed_s: None,
            load_s: seconds(time_s),
            time_to_best_s: None,
            search_to_best_s: None,
            seed: options.seed,
            device: "cpu",
            threads: options.threads(),
            ranks: None,
            driver: options.driver.name(),
            heuristic: options.heuristic_name(),
            picks: None,
            population: 0,
            rounds: 0,
            moves: 0,
            ratings: 0,
            bound_method: "none",
            z: None,
            induced_width: None,
            values: None,
            values_forbidden: None,
            variables: None,
            functions: None,
            solution: None,
            assignment: None,
            tuning: given(),
            ended: format!("{} (it was still reading)", ended(Status::Unknown, stopped_by)),
            maximise: false,
            objective: "cost",
            names: None,
            solution_file: None,
        }
    }
}

/// Returns the names of the variables and of their values; `None` if the network has none.
fn names(network: &Network, values: &[u32]) -> Option<Vec<(String, String)>> {
    let has_names = network.variables().iter().any(|own| own.name.is_some() || own.values.is_some());
    let pair = |(v, &value): (usize, &u32)| (network.variable_name(v), network.value_name(v, value));
    has_names.then(|| values.iter().enumerate().map(pair).collect())
}

impl SolveReport<'_> {
    /// Returns what charts and pages show of the run.
    pub fn summary(&self) -> RunSummary {
        let optimal = self.status == Status::Optimal.name();
        RunSummary { optimal, verdict: self.verdict(), rows: self.rows() }
    }

    /// Returns the result in a sentence.
    fn verdict(&self) -> String {
        let mut ended = self.ended.clone();
        if let Some(first) = ended.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        let Some(cost) = self.cost.map(grouped) else {
            return match self.bound {
                Some(bound) => format!("{ended}; the proven bound is {}.", grouped(bound)),
                None => format!("{ended}."),
            };
        };
        let found = self.time_to_best_s.map_or(String::new(), |time| format!(", found after {time:.2} s"));
        let (name, time) = (self.objective, self.time_s);
        let proof = match (self.status == Status::Optimal.name(), self.bound.zip(self.gap)) {
            (true, _) => format!("no assignment has a better one, which was proved within {time:.2} s"),
            (false, Some((bound, gap))) => {
                let than = if self.maximise { "is above" } else { "costs less than" };
                format!("it is proved that none {than} {}, a gap of {}", grouped(bound), per_cent(gap))
            }
            (false, None) => "nothing is proved".into(),
        };
        format!("{ended}: the best {name} is {cost}{found}; {proof}.")
    }

    fn place(&self) -> String {
        let ranks = self.ranks.map_or(String::new(), |ranks| format!(", the first of {ranks} ranks"));
        format!("{}, {}{ranks}", self.device, counted(self.threads, "thread"))
    }

    /// Returns what a page shows of the run besides its curves.
    fn rows(&self) -> Vec<(String, String)> {
        let width = self.induced_width.map_or("-".into(), grouped);
        let excluded = self.values.zip(self.values_forbidden);
        let [rounds, moves, ratings] = [self.rounds, self.moves, self.ratings].map(grouped);
        let mut rows = vec![
            ("ended".into(), self.stopped_by.to_string()),
            ("ran on".into(), self.place()),
            ("time".into(), format!("{:.2} s, reading {:.2} s", self.time_s, self.load_s)),
            ("effort".into(), format!("{rounds} rounds, {moves} moves, {ratings} evaluations")),
            ("states kept".into(), grouped(self.population)),
            ("bound by".into(), self.bound_method.into()),
            ("induced width of the best order".into(), width),
        ];
        rows.extend(
            excluded.map(|(all, out)| {
                ("values excluded by bounds".into(), format!("{} of {}", grouped(out), grouped(all)))
            }),
        );
        rows.extend(self.solution_file.as_ref().map(|file| ("solution".into(), terminal::path(file))));
        rows
    }
}

impl Display for SolveReport<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", terminal::line(&self.instance), self.ended)?;
        let mut line = |label: &str, text: &dyn Display| writeln!(f, "{label:<12}{text}");
        let (cost, sense) = (self.objective, sense(self.maximise));
        line(cost, &format_args!("{} ({sense})", objective(self.cost, self.precision_slack)))?;
        line("bound", &format_args!("{} ({})", or_dash(self.bound), method(self.bound_method)))?;
        line("gap", &self.gap.map_or("-".into(), per_cent))?;
        if self.precision_slack > 0.0 {
            line("slack", &format_args!("{:.1e} of rounding, taken off the bound", self.precision_slack))?;
        }
        if let Some(values) = self.solution {
            let file = self.solution_file.as_deref();
            match &self.names {
                Some(pairs) => line("assignment", &named_assignment(pairs, file))?,
                None => line("assignment", &assignment(values, file))?,
            }
        }
        if let (Some(values), Some(forbidden @ 1..)) = (self.values, self.values_forbidden) {
            line("values", &format_args!("{} of {} excluded by bounds", grouped(forbidden), grouped(values)))?;
        }
        let found = self.time_to_best_s.map_or(String::new(), |time| format!(", best solution after {time:.2} s"));
        let before =
            self.resumed_s.map_or(String::new(), |time| format!(" ({time:.2} s of them before it was resumed)"));
        line("time", &format_args!("{:.2} s{before}{found}", self.time_s))?;
        line("device", &self.place())?;
        let [rounds, moves, ratings] = [self.rounds, self.moves, self.ratings].map(grouped);
        line("effort", &format_args!("{rounds} rounds, {moves} moves, {ratings} evaluations"))?;
        if let (Some(name), Some(picks)) = (self.heuristic, &self.picks) {
            let Picks { rounds, work, drawn, changed, improved, proposed, taken, bytes, compiled, .. } = picks;
            let Picks { taken_changed, taken_improved, settled, .. } = picks;
            let (rounds, bytes) = (grouped(rounds), HumanBytes(*bytes));
            line("heuristic", &format_args!("{name}: {rounds} rounds, {:.0} % of the work, {bytes}", 100.0 * work))?;
            let [drawn, changed, improved] = [drawn, changed, improved].map(grouped);
            line(
                "",
                &format_args!(
                    "{drawn} picks, {changed} of them changed a value, {improved} of these led to something better"
                ),
            )?;
            if *proposed > 0 {
                let [proposed, taken, improved] = [proposed, taken, taken_improved].map(grouped);
                line(
                    "",
                    &format_args!(
                        "{proposed} groups proposed, {taken} of them taken, {improved} of these led to something better"
                    ),
                )?;
                line("", &format_args!("{} values changed by these", grouped(taken_changed)))?;
            }
            line("", &format_args!("{} values changed by the passes that end trajectories", grouped(settled)))?;
            if let Some(Compiled { seconds, cached }) = compiled {
                let how = if *cached { "taken from the cache" } else { "compiled" };
                line("", &format_args!("kernel {how} in {seconds:.2} s"))?;
            }
        }
        Ok(())
    }
}

/// The summary of `fangs bound`; its fields are those of the JSON object.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs, reason = "the fields are the contract's; those that need it are described")]
pub struct BoundReport {
    pub instance: String,
    pub version: &'static str,
    /// The step that proved the bound.
    pub method: String,
    pub z: Option<u32>,
    /// The name of the elimination order, if the method follows one.
    pub order: Option<String>,
    /// The induced width of the elimination order, if the method follows one.
    pub induced_width: Option<u32>,
    /// Whether the bound is the optimum.
    pub exact: bool,
    pub bound: Option<Number>,
    /// The cost of the solution that elimination decodes.
    pub cost: Option<Number>,
    pub precision_slack: f64,
    /// Entries of the largest message.
    pub largest_table: u64,
    pub table_bytes: u64,
    pub joint_entries: u64,
    /// Whether tables exceeded the device's memory and were streamed from the host's.
    pub streamed: bool,
    /// Bytes of tables in files, because they exceeded memory.
    pub spilled_bytes: u64,
    /// Number of slices in which the tables were computed, because they exceeded memory or devices shared the work.
    pub slices: u64,
    pub time_s: f64,
    pub device: String,
    /// Tuned values other than the defaults (`--tune`).
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tuning: BTreeMap<String, Value>,
    /// Whether larger is better, and the name of the objective; for the text form.
    #[serde(skip)]
    pub maximise: bool,
    #[serde(skip)]
    pub objective: &'static str,
    /// The solution that elimination decodes, if its file could not be written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub solution: Option<Vec<u32>>,
}

impl BoundReport {
    /// Returns the result of the proof in words.
    fn proven(&self) -> &'static str {
        match (self.exact, self.cost, self.bound) {
            (true, Some(_), _) => "the bound is the optimum",
            (true, None, _) => "proved infeasible: there is no solution",
            (false, _, Some(_)) => "the bound is not proved to be the optimum",
            (false, _, None) => "stopped before anything was proved",
        }
    }
}

impl Display for BoundReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", terminal::line(&self.instance), self.proven())?;
        let mut line = |label: &str, text: &dyn Display| writeln!(f, "{label:<12}{text}");
        let (cost, sense) = (self.objective, sense(self.maximise));
        let than = if self.maximise { format!("has a larger {cost}") } else { "costs less".into() };
        let than = self.bound.map_or(String::new(), |_| format!(" (no assignment {than})"));
        line("bound", &format_args!("{}{than}", or_dash(self.bound)))?;
        let mut along = String::new();
        if let (Some(order), Some(width)) = (&self.order, self.induced_width) {
            write!(along, " along {order}, induced width {}", grouped(width))?;
        }
        line("method", &format_args!("{}{along}", method(&self.method)))?;
        line(cost, &format_args!("{} ({sense})", objective(self.cost, self.precision_slack)))?;
        if self.precision_slack > 0.0 {
            line("slack", &format_args!("{:.1e} of rounding, taken off the bound", self.precision_slack))?;
        }
        if self.joint_entries > 0 {
            let streamed = if self.streamed { ", streamed" } else { "" };
            let spilled = match self.spilled_bytes {
                0 => String::new(),
                bytes => format!(", {} of them in files in {}", HumanBytes(bytes), terminal::path(&spill_folder())),
            };
            let slices = match self.slices {
                0 | 1 => String::new(),
                slices => format!(" in each of {} slices", grouped(slices)),
            };
            line("tables", &format_args!("{}{slices}{streamed}{spilled}", HumanBytes(self.table_bytes)))?;
            let [largest, joint] = [self.largest_table, self.joint_entries].map(grouped);
            line("", &format_args!("the largest {largest} entries, {joint} joint entries"))?;
        }
        line("time", &format_args!("{:.2} s", self.time_s))?;
        line("device", &self.device)
    }
}
