//! The summaries: one JSON object, or a few lines for people.

use super::seconds;
use crate::device::Compiled;
use crate::inference::spill_folder;
use crate::model::{Network, Number};
use crate::search::{Options, Picks, Status, StoppedBy, Summary};
use serde::Serialize;
use std::fmt::{self, Display, Write};

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
    pub load_s: f64,
    pub time_to_best_s: Option<f64>,
    pub search_to_best_s: Option<f64>,
    pub seed: u64,
    pub device: &'a str,
    pub threads: usize,
    pub driver: &'static str,
    pub heuristic: &'a str,
    /// What came of a plug-in heuristic's picks, where there is one.
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
}

impl<'a> SolveReport<'a> {
    /// The report of a finished run.
    pub fn new(network: &Network, summary: &'a Summary) -> Self {
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
            load_s: seconds(summary.load_s),
            time_to_best_s: summary.time_to_best_s.map(seconds),
            search_to_best_s: summary.search_to_best_s.map(seconds),
            seed: summary.seed,
            device: &summary.device,
            threads: summary.threads,
            driver: summary.driver,
            heuristic: &summary.heuristic,
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
            functions: Some(network.functions().len()),
            solution: summary.solution.as_deref(),
        }
    }

    /// The report of a run that was stopped while it was loading.
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
            load_s: seconds(time_s),
            time_to_best_s: None,
            search_to_best_s: None,
            seed: options.seed,
            device: "cpu",
            threads: options.threads(),
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
        }
    }
}

impl Display for SolveReport<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = self.time_to_best_s.map_or(String::new(), |time| format!(", best solution after {time:.2} s"));
        let gap = self.gap.map_or("-".into(), |gap| format!("{:.3} %", 100.0 * gap));
        writeln!(f, "{}: {} (stopped by {})", self.instance, self.status, self.stopped_by)?;
        writeln!(f, "cost    {}", or_dash(self.cost))?;
        writeln!(f, "bound   {}  {}", or_dash(self.bound), self.bound_method)?;
        writeln!(f, "gap     {gap}")?;
        if self.precision_slack > 0.0 {
            writeln!(f, "slack   {} (rounding, taken off the bound)", self.precision_slack)?;
        }
        if let (Some(values), Some(forbidden @ 1..)) = (self.values, self.values_forbidden) {
            writeln!(f, "values  {forbidden} of {values} forbidden by bounds")?;
        }
        writeln!(f, "time    {:.2} s{found}", self.time_s)?;
        writeln!(f, "device  {}, {} threads", self.device, self.threads)?;
        writeln!(f, "effort  {} rounds, {} moves, {} ratings", self.rounds, self.moves, self.ratings)?;
        if let Some(picks) = &self.picks {
            let Picks { rounds, work, drawn, changed, improved, proposed, taken, bytes, compiled, .. } = picks;
            let Picks { taken_changed, taken_improved, settled, .. } = picks;
            let name = self.heuristic;
            writeln!(f, "        {name}: {rounds} rounds, {:.0} % of the work, {bytes} bytes", 100.0 * work)?;
            writeln!(
                f,
                "        {drawn} picks, {changed} of them changed a value, {improved} of these led to something better"
            )?;
            if *proposed > 0 {
                writeln!(
                    f,
                    "        {proposed} groups proposed, {taken} of them taken, {taken_improved} of these led to something better"
                )?;
                writeln!(f, "        {taken_changed} values changed by these")?;
            }
            writeln!(f, "        {settled} values changed by the passes that end flights")?;
            if let Some(Compiled { seconds, cached }) = compiled {
                let how = if *cached { "taken from the cache" } else { "compiled" };
                writeln!(f, "        kernel {how} in {seconds:.2} s")?;
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
    /// The step that made the bound.
    pub method: String,
    pub z: Option<u32>,
    /// The order's name.
    pub order: String,
    pub induced_width: Option<u32>,
    /// Whether the bound is the optimum.
    pub exact: bool,
    pub bound: Option<Number>,
    /// What the value-assignment phase found.
    pub cost: Option<Number>,
    pub precision_slack: f64,
    /// Entries of the largest message.
    pub largest_table: u64,
    pub table_bytes: u64,
    pub joint_entries: u64,
    /// Whether the device's memory did not hold the tables, which were streamed from the host's.
    pub streamed: bool,
    /// Bytes of tables that were in files, as memory did not hold them.
    pub spilled_bytes: u64,
    pub time_s: f64,
    pub device: String,
}

impl Display for BoundReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let exact = if self.exact { ", exact" } else { "" };
        let mut along = String::new();
        if let Some(width) = self.induced_width {
            write!(along, " along {}, induced width {width}", self.order)?;
        }
        writeln!(f, "{}: {}{exact}{along}", self.instance, self.method)?;
        writeln!(f, "bound   {}", or_dash(self.bound))?;
        writeln!(f, "cost    {}", or_dash(self.cost))?;
        if self.precision_slack > 0.0 {
            writeln!(f, "slack   {} (rounding, taken off the bound)", self.precision_slack)?;
        }
        let spilled = match self.spilled_bytes {
            0 => String::new(),
            bytes => format!(", {bytes} of them in files in {}", spill_folder().display()),
        };
        writeln!(
            f,
            "tables  {} bytes{}{spilled}, the largest {} entries; {} joint entries",
            self.table_bytes,
            if self.streamed { ", streamed" } else { "" },
            self.largest_table,
            self.joint_entries
        )?;
        writeln!(f, "time    {:.2} s", self.time_s)?;
        writeln!(f, "device  {}", self.device)
    }
}

fn or_dash(number: Option<Number>) -> String {
    number.map_or("-".into(), |number| number.to_string())
}
