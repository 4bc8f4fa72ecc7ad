//! The events of a run and its summary.

use crate::bounds::Proof;
use crate::core::picks::Picks;
use crate::model::{Cost, Network, Number};
use crate::reduce::Reduction;
use crate::stop::Cause;
use serde::Serialize;
use std::sync::Arc;

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// The run begins.
    Start,
    /// A better solution.
    Solution,
    /// A better lower bound.
    Bound,
    /// One second has passed.
    Tick,
    /// A note for the user, in [`Event::message`]; it has no row in the CSV.
    Note,
    /// A failure that the run survived, in [`Event::message`].
    Warning,
    /// The run is over; the numbers equal those of the summary.
    End,
}

impl EventKind {
    /// Returns the kind's name in the CSV.
    pub fn name(self) -> &'static str {
        match self {
            EventKind::Start => "start",
            EventKind::Solution => "solution",
            EventKind::Bound => "bound",
            EventKind::Tick => "tick",
            EventKind::Note => "note",
            EventKind::Warning => "warning",
            EventKind::End => "end",
        }
    }
}

/// One event of a run; cloning it is cheap. `cost` and `bound` are in the file's convention.
#[derive(Clone, Debug)]
pub struct Event {
    /// The kind of the event.
    pub kind: EventKind,
    /// Seconds since the run's origin.
    pub time_s: f64,
    /// Cost of the incumbent.
    pub cost: Option<Number>,
    /// Best proven bound; `None` if it is not a number.
    pub bound: Option<Number>,
    /// Relative gap, if cost and bound exist: see [`gap`].
    pub gap: Option<f64>,
    /// Whether the network maximises: `cost` is then the lower and `bound` the upper curve. `None` until a file that
    /// states this has been read.
    pub maximise: Option<bool>,
    /// Driver rounds done.
    pub round: u64,
    /// Assignments that changed a value.
    pub moves: u64,
    /// Candidate values evaluated.
    pub ratings: u64,
    /// The driver or bound step that caused the event.
    pub source: Arc<str>,
    /// The incumbent, with `Solution` and `End`.
    pub solution: Option<Arc<[u32]>>,
    /// The text of a `Note` or `Warning`.
    pub message: Option<Arc<str>>,
    /// The sizes and memory of the run, once they are known.
    pub facts: Option<Arc<Facts>>,
}

/// The size of the network and of its reduced problem, and the memory that they need.
#[derive(Clone, Debug, Serialize)]
pub struct Facts {
    /// The sizes before and after the reductions.
    pub reduction: Reduction,
    /// Bytes of the tables that the search reads, on the CPU.
    pub table_bytes: u64,
    /// Bytes of one state of the population and its child, on the CPU.
    pub state_bytes: u64,
    /// Memory limit of bound tables, in bytes.
    pub bound_bytes: u64,
}

impl Event {
    /// Returns whether the event is a row of a run: a result, a tick or a warning, not a note.
    pub fn is_row(&self) -> bool {
        self.message.is_none() || self.kind == EventKind::Warning
    }

    /// Returns the upper bound on the optimum: the cost of the incumbent if the network minimises.
    pub fn upper(&self) -> Option<Number> {
        if self.maximise == Some(true) { self.bound } else { self.cost }
    }

    /// Returns the lower bound on the optimum: the proven bound if the network minimises.
    pub fn lower(&self) -> Option<Number> {
        if self.maximise == Some(true) { self.cost } else { self.bound }
    }
}

/// Returns the relative gap, |upper - lower| / max(|upper|, |lower|), of the numbers in the file's convention. It is 0
/// if the bound has reached the cost in the network's units, because the displayed bound has the possible effect of
/// rounding subtracted. `found` holds the least cost in these units and the best value in the file's convention.
/// Returns `None` without a solution, or if the bound is not a number.
pub fn gap(network: &Network, found: Option<(Cost, Number)>, bound: Cost) -> Option<f64> {
    let (cost, value) = found?;
    if bound >= cost {
        return Some(0.0);
    }
    let bound = network.bound(bound)?;
    let largest = value.as_f64().abs().max(bound.as_f64().abs());
    Some(match value.distance(bound) {
        0.0 => 0.0,
        distance => distance / largest,
    })
}

/// The status of a run at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// No assignment is better than the incumbent by more than the precision slack.
    Optimal,
    /// A solution was found, and it is not proven optimal.
    Feasible,
    /// There is no solution.
    Infeasible,
    /// Neither a solution was found nor a proof that there is none.
    Unknown,
}

impl Status {
    /// Returns the status's name in the JSON object.
    pub fn name(self) -> &'static str {
        match self {
            Status::Optimal => "optimal",
            Status::Feasible => "feasible",
            Status::Infeasible => "infeasible",
            Status::Unknown => "unknown",
        }
    }
}

/// The reason why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoppedBy {
    /// The incumbent was proven optimal.
    Optimal,
    /// The network was proven infeasible.
    Infeasible,
    /// The time budget was spent.
    Time,
    /// The budget of rounds was spent.
    Rounds,
    /// The target cost was reached.
    Target,
    /// The target gap was reached.
    Gap,
    /// A signal or the caller.
    Signal,
    /// The memory was exhausted.
    Memory,
    /// No better solution was found for the time of [`StopRule::Stall`](super::StopRule::Stall).
    Stall,
    /// [`StopRule::Diminishing`](super::StopRule::Diminishing) held.
    Diminishing,
}

impl StoppedBy {
    /// Returns the reason's name in the JSON object.
    pub fn name(self) -> &'static str {
        match self {
            StoppedBy::Optimal => "optimal",
            StoppedBy::Infeasible => "infeasible",
            StoppedBy::Time => "time",
            StoppedBy::Rounds => "rounds",
            StoppedBy::Target => "target",
            StoppedBy::Gap => "gap",
            StoppedBy::Signal => "signal",
            StoppedBy::Memory => "memory",
            StoppedBy::Stall => "stall",
            StoppedBy::Diminishing => "diminishing",
        }
    }
}

impl From<Cause> for StoppedBy {
    fn from(cause: Cause) -> Self {
        match cause {
            Cause::Time => StoppedBy::Time,
            Cause::Signal => StoppedBy::Signal,
            Cause::Memory => StoppedBy::Memory,
            Cause::Stall => StoppedBy::Stall,
            Cause::Diminishing => StoppedBy::Diminishing,
        }
    }
}

/// The outcome of a run.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The status at the end.
    pub status: Status,
    /// The reason why the run ended.
    pub stopped_by: StoppedBy,
    /// Cost of the incumbent in the file's convention, recomputed by the independent evaluator.
    pub cost: Option<Number>,
    /// Best proven bound in the file's convention, with the possible effect of rounding subtracted; `None` if it is not
    /// a number, for example if the network is infeasible.
    pub bound: Option<Number>,
    /// Relative gap.
    pub gap: Option<f64>,
    /// The largest error that rounding may have caused, in the file's unit.
    pub precision_slack: f64,
    /// Seconds since the run's origin.
    pub time_s: f64,
    /// Seconds from the run's origin to the incumbent.
    pub time_to_best_s: Option<f64>,
    /// Seconds from the start of the search to the incumbent.
    pub search_to_best_s: Option<f64>,
    /// Seed used.
    pub seed: u64,
    /// The device in use at the end.
    pub device: String,
    /// CPU threads used.
    pub threads: usize,
    /// The name of the selected driver.
    pub driver: &'static str,
    /// The name of the plug-in heuristic, if one was selected.
    pub heuristic: Option<String>,
    /// Counts of the plug-in heuristic's samples.
    pub picks: Picks,
    /// Number of states kept.
    pub population: usize,
    /// Driver rounds done.
    pub rounds: u64,
    /// Assignments that changed a value.
    pub moves: u64,
    /// Candidate values evaluated.
    pub ratings: u64,
    /// The step that proved the bound.
    pub bound_method: String,
    /// The z of the bound step, if it has one: the largest number of variables of a mini-bucket.
    pub z: Option<u32>,
    /// Induced width of the best elimination order found.
    pub induced_width: Option<u32>,
    /// Values of the network after its first reduction.
    pub values: Option<usize>,
    /// Number of those values that bounds have excluded from all solutions better than the incumbent.
    pub values_forbidden: Option<usize>,
    /// The incumbent: value indices in file order.
    pub solution: Option<Vec<u32>>,
    /// The solution of least cost in the network's units. It differs from `solution` if costs are rounded and the
    /// file's own numbers rank the two in the other order.
    pub least: Option<Vec<u32>>,
    /// The best bound that has a proof, in the network's units, and its proof.
    pub proof: (Cost, Proof),
}
