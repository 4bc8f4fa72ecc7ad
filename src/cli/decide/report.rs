//! The summary of `fangs decide`.

use super::Config;
use fangs_base::terminal::line;
use fangs_decide::Solution;
use fangs_report::seconds;
use fangs_report::text::certain_digits;
use fangs_report::text::{counted, grouped, per_cent};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// Returns |bound - value| / max(|value|, |bound|), 0 if both are equal, and `None` if one is unknown.
pub fn gap(meu: Option<f64>, bound: Option<f64>) -> Option<f64> {
    let (meu, bound) = (meu?, bound?);
    Some(if meu == bound { 0.0 } else { (bound - meu).abs() / meu.abs().max(bound.abs()) })
}

/// Converts a count that may exceed 64 bits, saturating.
fn count(number: f64) -> u64 {
    number as u64
}

/// The summary of a run; the fields are those of the JSON object.
#[derive(Serialize)]
pub struct Report {
    instance: String,
    version: &'static str,
    kind: Option<&'static str>,
    method: Option<&'static str>,
    meu: Option<f64>,
    bound: Option<f64>,
    gap: Option<f64>,
    /// Lower bound on the best policy's expected utility; null once a policy is known.
    lower: Option<f64>,
    exact: bool,
    error_bound: f64,
    normaliser: Option<f64>,
    horizon: Option<usize>,
    first_decision: BTreeMap<String, String>,
    decisions: Option<usize>,
    chance: Option<usize>,
    utilities: Option<usize>,
    width: Option<usize>,
    largest_table: Option<u64>,
    joint_entries: Option<u64>,
    mean_probability_factor: Option<f64>,
    mean_utility_factor: Option<f64>,
    models_per_step: Option<Vec<usize>>,
    classes_per_step: Option<Vec<usize>>,
    nodes: Option<u64>,
    needed_bytes: Option<u64>,
    level0_s: Option<f64>,
    expand_s: Option<f64>,
    solve_s: f64,
    load_s: f64,
    time_s: f64,
    device: String,
    threads: usize,
}

impl Report {
    /// Builds the summary from the best solution, if there is one.
    pub fn new(config: &Config, solution: Option<&Solution>, device: String, load_s: f64, time_s: f64) -> Self {
        let of = |value: &dyn Fn(&Solution) -> Option<f64>| solution.and_then(value);
        let others = of(&|s| s.level0_s).unwrap_or(0.0) + of(&|s| s.expand_s).unwrap_or(0.0);
        let (meu, bound) = (of(&|s| s.meu), of(&|s| s.bound));
        Report {
            instance: config.source.to_string(),
            version: fangs_base::VERSION,
            kind: solution.map(|s| s.kind),
            method: solution.map(|s| s.method.name()),
            meu,
            bound,
            gap: gap(meu, bound),
            lower: of(&|s| s.lower).filter(|_| meu.is_none()),
            exact: solution.is_some_and(|s| s.exact),
            error_bound: solution.map_or(0.0, |s| s.error_bound),
            normaliser: of(&|s| s.normaliser),
            horizon: solution.and_then(|s| s.horizon),
            first_decision: solution.iter().flat_map(|s| s.first_decision.clone()).collect(),
            decisions: solution.and_then(|s| s.decisions),
            chance: solution.and_then(|s| s.chance),
            utilities: solution.and_then(|s| s.utilities),
            width: solution.and_then(|s| s.width),
            largest_table: of(&|s| s.largest_table).map(count),
            joint_entries: of(&|s| s.joint_entries).map(count),
            mean_probability_factor: of(&|s| s.mean_probability_factor),
            mean_utility_factor: of(&|s| s.mean_utility_factor),
            models_per_step: solution.and_then(|s| s.models_per_step.clone()),
            classes_per_step: solution.and_then(|s| s.classes_per_step.clone()),
            nodes: solution.and_then(|s| s.nodes),
            needed_bytes: of(&|s| s.needed_bytes).map(count),
            level0_s: of(&|s| s.level0_s).map(seconds),
            expand_s: of(&|s| s.expand_s).map(seconds),
            solve_s: seconds((time_s - load_s - others).max(0.0)),
            load_s: seconds(load_s),
            time_s: seconds(time_s),
            device,
            threads: config.threads(),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = line(&self.instance);
        let found = self.meu.map(|meu| grouped(certain_digits(meu, self.error_bound)));
        match (found, self.exact) {
            (Some(meu), true) => writeln!(f, "{name}: expected utility {meu}, the best")?,
            (Some(meu), false) => writeln!(f, "{name}: expected utility {meu}, the best found")?,
            (None, _) => writeln!(f, "{name}: no policy within the budget")?,
        }
        if let Some(lower) = self.lower {
            writeln!(f, "the best policy has at least {}", grouped(lower))?;
        }
        if let (Some(bound), false) = (self.bound, self.exact) {
            let gap = self.gap.map(|gap| format!(" (gap {})", per_cent(gap))).unwrap_or_default();
            // rounded up, beyond the error
            let bound = certain_digits(bound + 2.0 * self.error_bound, self.error_bound);
            writeln!(f, "no policy has more than {}{gap}", grouped(bound))?;
        }
        for (decision, value) in &self.first_decision {
            writeln!(f, "first {}: {}", line(decision), line(value))?;
        }
        let mut took: Vec<String> = self.method.iter().map(|method| format!("by {method}")).collect();
        took.extend(self.horizon.map(|steps| counted(steps, "step")));
        took.extend(self.largest_table.map(|entries| format!("largest table {} entries", grouped(entries))));
        took.extend(self.nodes.map(|nodes| counted(nodes as usize, "node")));
        took.extend(self.needed_bytes.map(|bytes| format!("exact tables would take {} bytes", grouped(bytes))));
        took.push(format!("{:.3} s", self.time_s));
        writeln!(f, "{}", took.join(", "))
    }
}
