//! What the bounding loop may do, and what its steps come to.

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

/// What a [`Bounder`](super::Bounder) may do and take.
#[derive(Clone, Debug)]
pub struct BounderOptions {
    /// The methods.
    pub choice: BoundChoice,
    /// Largest number of variables of a mini-bucket; grows while time remains where `None`.
    pub z: Option<u32>,
    /// Bytes that tables may take.
    pub memory: u64,
    /// Bytes that tables of an exact elimination may take in files beyond that.
    pub spill: u64,
    /// Seed of the search for elimination orders.
    pub seed: u64,
    /// Whether no decision reads the clock, so that the same calls come to the same results.
    pub repeatable: bool,
    /// What other processes leave to this one.
    pub part: Part,
}

impl Default for Part {
    /// That of a process alone.
    fn default() -> Self {
        Part { place: 0, of: 1 }
    }
}

impl Default for BounderOptions {
    /// All methods with half of free memory, and no files.
    fn default() -> Self {
        BounderOptions {
            choice: BoundChoice::Auto,
            z: None,
            memory: memory::available() / 2,
            spill: 0,
            seed: 1,
            repeatable: false,
            part: Part::default(),
        }
    }
}

/// What a slice of work came to.
#[derive(Debug)]
pub enum Step {
    /// The stage goes on; [`Bounder::so_far`](super::Bounder::so_far) tells its bound as it is.
    More,
    /// A stage has a result.
    Result(Box<BoundResult>),
    /// There is nothing left to do for this problem, or the stop flag is set.
    Done,
}

/// What a stage came to. Costs are totals of the network.
#[derive(Clone, Debug)]
pub struct BoundResult {
    /// The problem that it is a result for, perhaps one reduced less than the last.
    pub reduced: ReducedProblem,
    /// No solution below the `upper` of the step costs less.
    pub lower: Cost,
    /// Whether the bound is the optimum, or `upper` where nothing is below.
    pub exact: bool,
    /// An assignment of the reduced problem, which may violate hard functions.
    pub assignment: Option<Vec<u32>>,
    /// `reduce`, `shift`, `jg(z)`, `mbe-mm(z)`, `be`, `mbe(z)`, `shift+mbe(z)`, `jg(z)+mbe(z)`, `shift+sparse-be`,
    /// `jg(z)+sparse-be`, `branch`, `branch+mbe` or `cores`.
    pub source: String,
    /// The messages of an elimination of the reduced problem, where no costs were shifted before.
    pub outcome: Option<Arc<Outcome>>,
    /// What the tables of an elimination took; none where they were sparse.
    pub tables: Option<TableSizes>,
    /// What solutions with each value cost at least, where that is known.
    pub value_bounds: Option<Vec<Vec<Cost>>>,
    /// Why the bound is one, where the reductions kept a log and a certificate can tell.
    pub proof: Option<Proof>,
}

/// What the dense tables of an elimination took.
#[derive(Clone, Copy, Debug)]
pub struct TableSizes {
    /// Most variables of a mini-bucket.
    pub z: u32,
    /// Entries of the largest message.
    pub largest_table: u64,
    /// Bytes of all messages.
    pub table_bytes: u64,
    /// Combinations of all mini-buckets.
    pub joint_entries: u64,
    /// Whether a device worked that did not hold all tables.
    pub streamed: bool,
    /// Bytes of messages in files.
    pub spilled_bytes: u64,
    /// Slices that have such tables one after the other; the joint entries are those of all.
    pub slices: u64,
}

/// Something worth telling besides results.
#[derive(Debug)]
pub enum Notice {
    /// An exact elimination with tables in files begins.
    Spilling(String),
    /// A plan has failed, and bounds go on with less.
    PlanFailed(String),
    /// The method that was asked for does not run, and why.
    Refused(Error),
    /// A device has failed, by its place among those that were left: 0 is what [`Bounder::use_device`] was given.
    /// Bounds go on on the others, or on the CPU.
    ///
    /// [`Bounder::use_device`]: super::Bounder::use_device
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

/// What the reductions alone came to: no solution below `upper`, or the optimum of a problem without variables.
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
