//! The messages of a plan that are stored in files.

use super::slices::Cut;
use super::structure::{EliminationPlan, Source};

/// Combinations that take as long as writing and reading a byte: two cores at 10^9 a second, a disk at 1 GB/s.
pub(crate) const DISK_WORK: u64 = 4;

/// The messages of a plan that are stored in files.
#[derive(Debug)]
pub struct Spill {
    /// By step: whether its message is stored in a file.
    pub files: Vec<bool>,
    /// By step: how it is cut, if it reads or makes a message in a file and does not fit as a whole.
    pub(crate) cuts: Vec<Option<Cut>>,
    /// Bytes of all messages in files.
    pub bytes: u64,
}

impl Spill {
    /// Returns the work of writing and reading the files, in combinations.
    pub fn work(&self) -> u64 {
        self.bytes.saturating_mul(DISK_WORK)
    }

    /// Returns whether a step reads or makes a message that is stored in a file.
    pub(crate) fn concerns(&self, plan: &EliminationPlan, index: usize) -> bool {
        self.files[index] || plan.steps[index].inputs.iter().any(|input| self.reads(input.source))
    }

    pub(crate) fn reads(&self, source: Source) -> bool {
        matches!(source, Source::Message(from) if self.files[from as usize])
    }
}
