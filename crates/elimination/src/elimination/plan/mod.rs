//! Plans: the joins of an elimination, decided once as plain data under a memory budget.
//!
//! All scopes are lists of *positions* in the elimination order, ascending, and tables are laid out in that order with
//! the last position running fastest. So the variable whose bucket a table waits in is always the table's slowest axis:
//! for each of its values the table has one contiguous slice over the rest, which is what the kernel reads. The
//! variables eliminated last, which most messages share, run fastest.

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

/// The placement of a plan's tables, and the memory that they take.
#[derive(Clone, Debug)]
pub struct Placement {
    /// Whether messages are kept after they were consumed.
    pub keep_messages: bool,
    /// Bytes of all messages.
    pub table_bytes: u64,
    /// Peak bytes of memory: messages, the inputs of a step and scratch.
    pub peak_bytes: u64,
    /// Limits of an elimination by rows, whose tables list only entries that a solution below the limit may use; `None`
    /// for dense tables. Entries, combinations and bytes of the plan are then those of the dense tables that are not
    /// made; an outcome's plan has those of the rows.
    pub rows: Option<RowLimits>,
    /// The messages that are stored in files; `None` if there are none.
    pub spill: Option<Arc<Spill>>,
    /// The cutset, if the plan is cut into slices. Tables and all sizes except the combinations are then those of one
    /// slice.
    pub cutset: Option<Arc<Cutset>>,
}

impl Placement {
    /// Returns the combinations of all mini-buckets, plus the combinations that take as long as writing and reading the
    /// files.
    pub(crate) fn work(&self, plan: &EliminationPlan) -> u64 {
        plan.joint_entries.saturating_add(self.spill.as_ref().map_or(0, |spill| spill.work()))
    }
}

/// The entry type of all tables of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// 32-bit entries: the sum of five capped entries is below 2^31.
    I32,
    /// 64-bit entries.
    I64,
}

impl Width {
    /// Returns the bytes of an entry.
    pub fn bytes(self) -> u64 {
        match self {
            Width::I32 => 4,
            Width::I64 => 8,
        }
    }
}

/// The range of costs that matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CostRange {
    /// The entry type.
    pub width: Width,
    /// The cost to which entries are clamped.
    pub cap: Cost,
    /// The upper bound: solutions of this cost or more are of no interest.
    pub limit: Cost,
}

/// A plan of bucket or mini-bucket elimination of costs.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The steps of the elimination.
    pub structure: EliminationPlan,
    /// The placement of the tables.
    pub placement: Placement,
    /// The entry type and the range of costs.
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
    /// Returns the cost to which entries are clamped.
    pub fn cap(&self) -> Cost {
        self.costs.cap
    }

    /// Returns the bytes of messages that are stored in files.
    pub fn spilled_bytes(&self) -> u64 {
        self.placement.spill.as_ref().map_or(0, |spill| spill.bytes)
    }

    /// Returns the combinations of all mini-buckets, plus the combinations that take as long as writing and reading the
    /// files.
    pub fn work(&self) -> u64 {
        self.placement.work(&self.structure)
    }

    /// Returns the number of slices of the cutset; 1 if there is no cutset.
    pub fn slices(&self) -> u64 {
        self.placement.cutset.as_ref().map_or(1, |cutset| cutset.slices())
    }
}
