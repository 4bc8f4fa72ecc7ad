//! Lower bounds, from a reduced problem to its certificate.
//!
//! A [`Bounder`] is the bounding loop: each step is one bounded slice of work. A [`BoundSchedule`] chooses the next
//! stage: cost shifting between functions ([`Shift`]) or between mini-buckets ([`JoinGraph`]), an elimination plan of a
//! [`SizeSchedule`], or a turn of branch and bound ([`Branch`]).
//!
//! Sparse elimination leaves out entries that no solution below the limit uses: its bound is at most the limit.

mod bounder;
mod branch;
mod choice;
mod cost_shifting;
mod join_graph;
mod proof;
mod schedule;
mod shifting;
mod step;
mod tuning;

pub use bounder::Bounder;
pub use branch::{Branch, Branching, BranchingTrace, Style};
pub(crate) use branch::{Probe, Probed};
pub use choice::{BoundChoice, Strategies};
pub use cost_shifting::{Entry, Shift};
pub use join_graph::{DeviceUse, Graphs, JoinGraph, MiniBucket, Passes, Patience};
pub use proof::{Proof, weaker};
pub use schedule::{Attempt, BoundSchedule, SizeSchedule, SizeStep, Spent, Stage};
pub use shifting::Shifting;
pub use step::{BoundResult, BounderOptions, Notice, Step, TableSizes};

use crate::device::Source;
use crate::model::{Cost, Problem};

/// The kernels of bounds, to compile them without a device.
pub(crate) fn sources() -> Vec<Source> {
    vec![join_graph::kernels(), cost_shifting::kernels()]
}

/// The bound that is there at once: the constant, where the reductions have put the least cost of every function.
pub fn trivial_bound(problem: &Problem) -> Cost {
    problem.constant.min(problem.top)
}
