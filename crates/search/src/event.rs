//! What a run tells while it goes on, and its summary.

use crate::bounds::Proof;
use crate::core::picks::Picks;
use crate::model::{Cost, Network, Number};
use crate::reduce::Reduction;
use crate::stop::Cause;
use serde::Serialize;
use std::sync::Arc;

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// The run begins.
    Start,
    /// A better solution.
    Solution,
    /// A better bound.
    Bound,
    /// A second has passed.
    Tick,
    /// Something worth knowing, in [`Event::message`]; no row of the CSV.
    Note,
    /// Something that went wrong and that the run survived, in [`Event::message`].
    Warning,
    /// The run is over; equals the summary.
    End,
}

impl EventKind {
    /// The word in the CSV.
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

/// One event of a run; clones are cheap. `cost` and `bound` are in the file's convention.
#[derive(Clone, Debug)]
pub struct Event {
    /// What happened.
    pub kind: EventKind,
    /// Seconds since the run's origin.
    pub time_s: f64,
    /// Best cost found.
    pub cost: Option<Number>,
    /// Best proven bound, where it is a number.
    pub bound: Option<Number>,
    /// Relative gap, where both exist: see [`gap`].
    pub gap: Option<f64>,
    /// Whether the network maximises: then `cost` is the lower and `bound` the upper curve. `None` while a file is
    /// read that says so itself.
    pub maximise: Option<bool>,
    /// Driver rounds done.
    pub round: u64,
    /// Assignments that changed a value.
    pub moves: u64,
    /// Candidate values rated.
    pub ratings: u64,
    /// The driver or bound step that made it.
    pub source: Arc<str>,
    /// The best solution, with `Solution` and `End`.
    pub solution: Option<Arc<[u32]>>,
    /// What there is to say, with `Note` and `Warning`.
    pub message: Option<Arc<str>>,
    /// What the run works on, once that is known.
    pub facts: Option<Arc<Facts>>,
}

/// What a run works on: the network, what the reductions leave, and what that takes.
#[derive(Clone, Debug, Serialize)]
pub struct Facts {
    /// The sizes before and after.
    pub reduction: Reduction,
    /// Bytes of the tables that the search reads, on the CPU.
    pub table_bytes: u64,
    /// Bytes of a state of the population and its child, on the CPU.
    pub state_bytes: u64,
    /// Bytes that tables of bounds may take.
    pub bound_bytes: u64,
}

impl Event {
    /// The upper curve.
    pub fn upper(&self) -> Option<Number> {
        if self.maximise == Some(true) { self.bound } else { self.cost }
    }

    /// The lower curve.
    pub fn lower(&self) -> Option<Number> {
        if self.maximise == Some(true) { self.cost } else { self.bound }
    }
}

/// |upper - lower| / max(|upper|, |lower|) of the numbers shown, 0 where the bound has come to the cost. That is
/// decided in the network's units: the bound that is shown is without what rounding may have added. `found` are the
/// least cost in these units and the best value in the file's convention.
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

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// No assignment is better (by more than the precision slack).
    Optimal,
    /// A solution was found.
    Feasible,
    /// There is no solution.
    Infeasible,
    /// Neither a solution nor a proof that there is none.
    Unknown,
}

impl Status {
    /// The word in the JSON object.
    pub fn name(self) -> &'static str {
        match self {
            Status::Optimal => "optimal",
            Status::Feasible => "feasible",
            Status::Infeasible => "infeasible",
            Status::Unknown => "unknown",
        }
    }
}

/// What stopped a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoppedBy {
    /// Proven optimal.
    Optimal,
    /// Proven infeasible.
    Infeasible,
    /// The time budget.
    Time,
    /// The budget of rounds.
    Rounds,
    /// The target cost was reached.
    Target,
    /// The target gap was reached.
    Gap,
    /// A signal or the caller.
    Signal,
    /// There was no more memory.
    Memory,
    /// No better solution came for as long as [`StopRule::Stall`](super::StopRule::Stall) says.
    Stall,
    /// [`StopRule::Diminishing`](super::StopRule::Diminishing).
    Diminishing,
}

impl StoppedBy {
    /// The word in the JSON object.
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
    /// How it ended.
    pub status: Status,
    /// What ended it.
    pub stopped_by: StoppedBy,
    /// Best cost found, in the file's convention, recomputed by the independent evaluator.
    pub cost: Option<Number>,
    /// Best proven bound, in the file's convention, rounding taken off; none where there is no number, as without any
    /// solution.
    pub bound: Option<Number>,
    /// Relative gap.
    pub gap: Option<f64>,
    /// What rounding may have moved, in the file's unit.
    pub precision_slack: f64,
    /// Seconds since the origin.
    pub time_s: f64,
    /// When the best solution came, since the origin.
    pub time_to_best_s: Option<f64>,
    /// The same since the first state.
    pub search_to_best_s: Option<f64>,
    /// Seed used.
    pub seed: u64,
    /// Device used to the end.
    pub device: String,
    /// CPU threads used.
    pub threads: usize,
    /// Driver asked for.
    pub driver: &'static str,
    /// The plug-in heuristic, where one was asked for.
    pub heuristic: Option<String>,
    /// What came of a plug-in's picks.
    pub picks: Picks,
    /// States kept.
    pub population: usize,
    /// Driver rounds done.
    pub rounds: u64,
    /// Assignments that changed a value.
    pub moves: u64,
    /// Candidate values rated.
    pub ratings: u64,
    /// The step that made the bound.
    pub bound_method: String,
    /// Its z, where it has one.
    pub z: Option<u32>,
    /// Induced width of the best elimination order found.
    pub induced_width: Option<u32>,
    /// Values of the network after its first reduction.
    pub values: Option<usize>,
    /// How many of them bounds have shown to be in no solution better than the best one.
    pub values_forbidden: Option<usize>,
    /// The best solution: value indices in file order.
    pub solution: Option<Vec<u32>>,
    /// The solution of least cost in the network's units: another one than `solution` where costs are rounded and the
    /// file's own numbers order the two otherwise.
    pub least: Option<Vec<u32>>,
    /// A bound in the network's units and its proof: the best one that has a proof.
    pub proof: (Cost, Proof),
}
