//! Options of the bounding loop, and the results of its steps.

use super::methods::{BoundChoice, REDUCTIONS};
use super::proof::Proof;
use super::strategies::Part;
use crate::device::DeviceError;
use crate::elimination::Outcome;
use crate::error::Error;
use crate::memory;
use crate::model::Cost;
use crate::reduce::ReducedProblem;
use std::sync::Arc;

/// Methods and limits of a [`Bounder`](super::Bounder).
#[derive(Clone, Debug)]
pub struct BounderOptions {
    /// The bound methods.
    pub choice: BoundChoice,
    /// Largest number z of variables of a mini-bucket (i-bound + 1). If it is `None`, z grows while time remains.
    pub z: Option<u32>,
    /// Memory limit of tables in bytes.
    pub memory: u64,
    /// Bytes that tables of an exact elimination may take in files beyond the memory limit.
    pub spill: u64,
    /// Seed of the search for elimination orders.
    pub seed: u64,
    /// Whether no decision depends on the clock, so that equal calls give equal results.
    pub repeatable: bool,
    /// Whether bounds carry proofs, for a certificate.
    pub certified: bool,
    /// Work up to which elimination is exact without preceding mini-buckets; that of the methods if `None`.
    pub exact_work: Option<u64>,
    /// The share of the methods that this process runs, if several processes split them.
    pub part: Part,
}

impl Default for Part {
    /// Returns the part of a process that runs all methods.
    fn default() -> Self {
        Part { place: 0, of: 1 }
    }
}

impl Default for BounderOptions {
    /// Returns all methods with half of the free memory and no files.
    fn default() -> Self {
        BounderOptions {
            choice: BoundChoice::Auto,
            z: None,
            memory: memory::available() / 2,
            spill: 0,
            seed: 1,
            repeatable: false,
            certified: false,
            exact_work: None,
            part: Part::default(),
        }
    }
}

/// The outcome of one slice of work.
#[derive(Debug)]
pub enum Step {
    /// The stage goes on; [`Bounder::so_far`](super::Bounder::so_far) returns its current bound.
    More,
    /// A stage has a result.
    Result(Box<BoundResult>),
    /// There is nothing left to do for this problem, or the stop flag is set.
    Done,
}

/// The result of a stage. Costs are totals of the network.
#[derive(Clone, Debug)]
pub struct BoundResult {
    /// The problem that the stage bounded, perhaps an earlier and less reduced one than the last.
    pub reduced: ReducedProblem,
    /// Lower bound on the solutions below the `upper` of the step.
    pub lower: Cost,
    /// Whether `lower` is the optimum, or equals `upper` because no solution costs less.
    pub exact: bool,
    /// An assignment of the reduced problem, which may violate hard functions.
    pub assignment: Option<Vec<u32>>,
    /// `reduce`, `shift`, `jg(z)`, `mbe-mm(z)`, `be`, `mbe(z)`, `shift+mbe(z)`, `jg(z)+mbe(z)`, `shift+sparse-be`,
    /// `jg(z)+sparse-be`, `branch`, `branch+mbe`, `cores` or `linear`.
    pub source: String,
    /// Messages of an elimination of the reduced problem without preceding cost shifting; `None` for other stages.
    pub outcome: Option<Arc<Outcome>>,
    /// Sizes of the dense tables of an elimination; `None` for other stages.
    pub tables: Option<TableSizes>,
    /// For each variable and value a lower bound on the solutions with that value; `None` if the stage has none.
    pub value_bounds: Option<Vec<Vec<Cost>>>,
    /// The proof of the bound; `None` if the reductions kept no log or certificates cannot express the stage.
    pub proof: Option<Proof>,
}

/// The sizes of the dense tables of an elimination.
#[derive(Clone, Copy, Debug)]
pub struct TableSizes {
    /// Largest number of variables of a mini-bucket.
    pub z: u32,
    /// Entries of the largest message.
    pub largest_table: u64,
    /// Bytes of all messages together.
    pub table_bytes: u64,
    /// Combinations of the variables' values visited, over all mini-buckets.
    pub joint_entries: u64,
    /// Whether a device took part that could not hold all tables at once.
    pub streamed: bool,
    /// Bytes of messages in files.
    pub spilled_bytes: u64,
    /// Number of slices of the elimination, whose tables follow each other in the same memory; `joint_entries` covers
    /// all of them.
    pub slices: u64,
}

/// An event that is reported in addition to results.
#[derive(Debug)]
pub enum Notice {
    /// An exact elimination begins that keeps tables in files.
    Spilling(String),
    /// A plan has failed; the bounds continue with less memory or without files.
    PlanFailed(String),
    /// The requested method does not run, for this reason.
    Refused(Error),
    /// A device has failed, given by its index among the remaining arguments of [`Bounder::use_devices`]. The bounds
    /// continue on the other devices or on the CPU.
    ///
    /// [`Bounder::use_devices`]: super::Bounder::use_devices
    DeviceLost(usize, DeviceError),
}

impl BoundResult {
    pub(super) fn new(reduced: ReducedProblem, lower: Cost, source: String) -> Self {
        BoundResult {
            reduced,
            lower,
            exact: false,
            assignment: None,
            source,
            outcome: None,
            tables: None,
            value_bounds: None,
            proof: None,
        }
    }
}

impl TableSizes {
    pub(super) fn new(outcome: &Outcome, streamed: bool) -> Self {
        let (plan, spilled_bytes) = (outcome.plan(), outcome.spilled_bytes());
        TableSizes {
            z: plan.z,
            largest_table: plan.largest_table,
            table_bytes: plan.placement.table_bytes,
            joint_entries: plan.joint_entries,
            streamed,
            spilled_bytes,
            slices: plan.slices(),
        }
    }
}

/// Returns the result of the reductions alone if they solve the problem: it is infeasible below `upper`, or has no
/// variables left. Returns `None` otherwise.
pub(super) fn solved(reduced: &ReducedProblem, upper: Cost) -> Option<BoundResult> {
    let ReducedProblem { reducer, problem } = reduced;
    let (lower, assignment) = match (reducer.infeasible(), problem.variables()) {
        (true, _) => (upper, None),
        (false, 0) => (problem.constant.min(upper), Some(Vec::new())),
        _ => return None,
    };
    let result = BoundResult::new(reduced.clone(), lower, REDUCTIONS.into());
    Some(BoundResult { exact: true, assignment, proof: Proof::reductions(reducer), ..result })
}
