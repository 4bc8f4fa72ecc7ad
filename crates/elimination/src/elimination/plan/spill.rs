//! What of a plan lies in files.

use super::slices::Cut;
use super::structure::{EliminationPlan, Source};

/// Combinations that could be looked at while a byte is written and read back: two cores at 10^9 a second, a disk at
/// 1 GB/s.
pub(crate) const DISK_WORK: u64 = 4;

/// What of a plan lies in files.
#[derive(Debug)]
pub struct Spill {
    /// By step: whether its message does.
    pub files: Vec<bool>,
    /// By step: how it is cut, where it reads or makes such a message and does not fit as a whole.
    pub(crate) cuts: Vec<Option<Cut>>,
    /// Bytes of all of them.
    pub bytes: u64,
}

impl Spill {
    /// The work of writing and reading it, in combinations.
    pub fn work(&self) -> u64 {
        self.bytes.saturating_mul(DISK_WORK)
    }

    /// Whether a step reads or makes a message that lies in a file.
    pub(crate) fn concerns(&self, plan: &EliminationPlan, index: usize) -> bool {
        self.files[index] || plan.steps[index].inputs.iter().any(|input| self.reads(input.source))
    }

    pub(crate) fn reads(&self, source: Source) -> bool {
        matches!(source, Source::Message(from) if self.files[from as usize])
    }
}
