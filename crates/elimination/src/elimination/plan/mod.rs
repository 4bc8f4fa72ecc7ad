//! Plans: what is joined with what, decided once as plain data under a memory budget.
//!
//! All scopes are lists of *positions* in the elimination order, ascending, and tables are laid out in that order with
//! the last position running fastest. So the variable that a table is waiting for is always its slowest axis: for each
//! of its values the table holds one contiguous slice over the rest, which is what the kernel wants. The variables
//! eliminated last, which most messages share, run fastest.

mod planner;

use super::cutset::{Cutset, Slices};
use super::sparse::RowLimits;
use super::spill::Spill;
use crate::model::{Cost, Scope};
use crate::threads::Large;
pub(crate) use planner::{THREADS, temporary};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// What a plan may take: `Limits::new(1 << 30).with(|limits| limits.z = Some(4))`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most variables of a mini-bucket, the eliminated one included; a single function may be larger.
    pub z: Option<u32>,
    /// Bytes of all tables alive at a time.
    pub max_bytes: u64,
    /// Bytes of messages that files may take beyond that, for an exact plan that does not fit otherwise.
    pub spill: u64,
    /// Whether an exact plan that does not fit, or that several devices share, may be cut into slices.
    pub slices: Option<Slices>,
    /// Keep every message: needed to assign values or to rate partial assignments afterwards.
    pub keep_messages: bool,
    /// Only solutions below this are of interest, besides the problem's own `top`.
    pub ub: Option<Cost>,
}

impl Limits {
    /// Keeps messages within `max_bytes`.
    pub fn new(max_bytes: u64) -> Self {
        Limits { z: None, max_bytes, spill: 0, slices: None, keep_messages: true, ub: None }
    }

    /// These with a change.
    pub fn with(mut self, change: impl FnOnce(&mut Limits)) -> Limits {
        change(&mut self);
        self
    }
}

/// Where an input comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// The unary costs of the eliminated variable.
    Unary,
    /// A function of the problem.
    Function(u32),
    /// The message of an earlier step.
    Message(u32),
}

/// A table that is joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// Where it comes from.
    pub source: Source,
    /// Positions it reads, ascending; the first is the one eliminated.
    pub scope: Scope,
}

/// One mini-bucket: join the inputs, take the minimum over the variable at `position`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Position of the eliminated variable.
    pub position: u32,
    /// What is joined.
    pub inputs: Box<[Input]>,
    /// Positions of the message, ascending; the message goes to the bucket of the first. Empty for a constant.
    pub scope: Scope,
    /// Entries of the message.
    pub entries: u64,
    /// Combinations looked at: entries times the domain size of the eliminated variable.
    pub joint: u64,
    /// The only input is a function too large to lay out: the message is its minimum over all positions that
    /// are missing from `scope`, made from its own entries.
    pub lowered: bool,
}

/// What is eliminated, in which order and how: nothing of what entries are or where tables lie.
#[derive(Clone, Debug)]
pub struct EliminationPlan {
    /// The variables, the first eliminated first.
    pub sequence: Vec<u32>,
    /// Mini-buckets in the order of their execution; those of one variable follow each other.
    pub steps: Large<Step>,
    /// `steps[first[p]..first[p + 1]]` eliminate position `p`.
    pub first: Vec<u32>,
    /// Domain size at each position.
    pub domains: Vec<u32>,
    /// Most variables of a mini-bucket that was allowed; the most that there are where nothing was split.
    pub z: u32,
    /// No bucket was split and no function lowered: the result is that of the whole network.
    pub exact: bool,
    /// Work: value combinations of all mini-buckets together, in all slices.
    pub joint_entries: u64,
    /// Entries of the largest message.
    pub largest_table: u64,
}

impl EliminationPlan {
    /// `be` or `mbe(z)`.
    pub fn name(&self) -> String {
        if self.exact { "be".into() } else { format!("mbe({})", self.z) }
    }

    /// The plan of the bucket of position 0 alone, of the variables 0, 1, ...
    pub fn of_bucket(domains: Vec<u32>, steps: Vec<Step>) -> Self {
        let count = steps.len() as u32;
        EliminationPlan {
            sequence: (0..domains.len() as u32).collect(),
            first: std::iter::once(0).chain(domains.iter().map(|_| count)).collect(),
            domains,
            z: steps.iter().map(|step| step.scope.len() as u32 + 1).max().unwrap_or(1),
            exact: count <= 1,
            joint_entries: steps.iter().map(|step| step.joint).fold(0, u64::saturating_add),
            largest_table: steps.iter().map(|step| step.entries).max().unwrap_or(0),
            steps: steps.into(),
        }
    }

    /// All positions of a mini-bucket, ascending.
    pub fn scope(&self, step: usize) -> Vec<u32> {
        std::iter::once(self.steps[step].position).chain(self.steps[step].scope.iter().copied()).collect()
    }

    /// The steps that eliminate a position.
    pub fn bucket(&self, position: usize) -> &[Step] {
        &self.steps[self.first[position] as usize..self.first[position + 1] as usize]
    }
}

/// Where tables lie and how long they stay.
#[derive(Clone, Debug)]
pub struct Placement {
    /// Whether messages stay after they were consumed.
    pub keep_messages: bool,
    /// Bytes of all messages.
    pub table_bytes: u64,
    /// Bytes of memory alive at the worst moment: messages, the inputs of a step and scratch.
    pub peak_bytes: u64,
    /// Tables list only entries that a solution below the limit may use, within these limits. Entries, combinations and
    /// bytes of the plan are those of dense tables, which are not made then; an outcome's plan has those of the rows.
    pub rows: Option<RowLimits>,
    /// What lies in files.
    pub spill: Option<Arc<Spill>>,
    /// What has each of its values in turn. Tables, and all sizes but the combinations, are those of one slice.
    pub cutset: Option<Arc<Cutset>>,
}

impl Placement {
    /// Combinations of all mini-buckets, and what could be looked at while files are written and read.
    pub(crate) fn work(&self, plan: &EliminationPlan) -> u64 {
        plan.joint_entries.saturating_add(self.spill.as_ref().map_or(0, |spill| spill.work()))
    }
}

/// The entry type of all tables of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// 32-bit entries: five capped entries add up below 2^31.
    I32,
    /// 64-bit entries.
    I64,
}

impl Width {
    /// Bytes of an entry.
    pub fn bytes(self) -> u64 {
        match self {
            Width::I32 => 4,
            Width::I64 => 8,
        }
    }
}

/// Which costs matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CostRange {
    /// Entry type.
    pub width: Width,
    /// What entries are clamped to.
    pub cap: Cost,
    /// Solutions from here on are of no interest.
    pub limit: Cost,
}

/// A plan of bucket or mini-bucket elimination of costs.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What is eliminated.
    pub structure: EliminationPlan,
    /// Where its tables lie.
    pub placement: Placement,
    /// What their entries are.
    pub costs: CostRange,
}

impl Deref for Plan {
    type Target = EliminationPlan;

    fn deref(&self) -> &EliminationPlan {
        &self.structure
    }
}

impl DerefMut for Plan {
    fn deref_mut(&mut self) -> &mut EliminationPlan {
        &mut self.structure
    }
}

impl Plan {
    /// The largest value that entries are clamped to.
    pub fn cap(&self) -> Cost {
        self.costs.cap
    }

    /// Bytes of messages that lie in files.
    pub fn spilled_bytes(&self) -> u64 {
        self.placement.spill.as_ref().map_or(0, |spill| spill.bytes)
    }

    /// Combinations of all mini-buckets, and what could be looked at while files are written and read.
    pub fn work(&self) -> u64 {
        self.placement.work(&self.structure)
    }

    /// How many slices there are: one, but where variables have each of their values in turn.
    pub fn slices(&self) -> u64 {
        self.placement.cutset.as_ref().map_or(1, |cutset| cutset.slices())
    }
}
