//! Lower bounds, from a reduced problem to its certificate.
//!
//! [`Proving`] bounds a network by steps of a [`Bounder`], each of which is one slice of work. The bounder chooses the
//! next stage: cost shifting between functions ([`Shift`]) or between mini-buckets ([`JoinGraph`]), an elimination
//! plan, or work on a [`Search`] such as branch and bound ([`Branch`]).
//!
//! Sparse elimination omits entries that no solution below the limit uses, so its bound is at most the limit.
//!
//! To add a method, implement [`Search`] in a new file and add an entry to [`METHODS`] with a [`BoundChoice`]. Command
//! line, help and schedule follow from the list.

mod best_known;
mod bounder;
mod branch;
#[cfg(feature = "sat")]
mod cores;
mod cost_shifting;
pub mod early;
mod join_graph;
mod linear;
mod methods;
mod moved;
mod network;
mod proof;
mod search;
mod shifting;
mod solutions;
mod step;
mod strategies;
mod sweep;
mod trace;
mod tuning;

pub use best_known::{BestKnown, Improvement, Incumbent, LowerBound};
pub use bounder::{Attempt, Bounder, DeviceUse, Pace, Stage};
pub use branch::{Branch, Probe, Probed, Sent, Style};
#[cfg(feature = "sat")]
pub use cores::Cores;
pub use cost_shifting::Shift;
pub use join_graph::{JoinGraph, Patience};
pub use methods::{BoundChoice, BoundMethod, CONSTANT, METHODS, REDUCTIONS, constant_bound, follows_order};
pub use network::{News, Proved, Proving, ProvingOptions};
pub use proof::{Proof, weaker};
pub use search::{Begin, Begun, Search, Searcher, Steady};
pub use shifting::Shifting;
pub use solutions::{Best, Counted, SolutionOptions, best, count, solutions};
pub use step::{BoundResult, BounderOptions, Notice, Step, TableSizes};
pub use strategies::{Graphs, Part, Strategies};
pub use trace::BranchingTrace;

use crate::device::Source;

/// Returns the CUDA sources of the bounds, so that they can be compiled without a device.
pub fn sources() -> Vec<Source> {
    vec![join_graph::kernels(), cost_shifting::kernels()]
}
