//! Plans: what is joined with what, decided once as plain data under a memory budget.
//!
//! All scopes are lists of *positions* in the elimination order, ascending, and tables are laid out in that order with
//! the last position running fastest. So the variable that a table is waiting for is always its slowest axis: for each
//! of its values the table holds one contiguous slice over the rest, which is what the kernel wants. The variables
//! eliminated last, which most messages share, run fastest.

mod cutset;
mod limits;
pub(crate) mod slices;
pub(crate) mod spill;
mod structure;

use crate::model::Cost;
pub use cutset::Cutset;
pub use limits::{Limits, RowLimits, Slices};
pub use spill::Spill;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
pub use structure::{EliminationPlan, Input, Source, Step};

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
