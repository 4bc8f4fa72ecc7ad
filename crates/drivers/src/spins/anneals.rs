//! Where the assignments of thermal cycling live, and what is asked of them.

use super::walk::Rule;
use crate::device::DeviceError;
use crate::stop::Stop;

/// An anneal: where its draws come from, and how hot it begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Anneal {
    pub key: u64,
    pub top: usize,
}

/// What a round of an assignment came to: the value of the best that it knows, and the flips and sweeps made; no sweeps
/// where it was stopped, which leaves what it knew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cycled {
    pub value: i64,
    pub flips: u64,
    pub sweeps: u64,
}

/// Where assignments live.
pub(super) trait Anneals: Send {
    fn count(&self) -> usize;

    /// A guide for the next cycle.
    fn hear(&mut self, guide: &[bool]) -> Result<(), DeviceError>;

    /// What one of them knows is the guide for the next cycle.
    fn lead(&mut self, slot: usize) -> Result<(), DeviceError>;

    /// Each takes the better parts of a guide, if there is one, anneals from the best that it knows along the rules of
    /// its top, and keeps the better parts of both.
    fn cycle(&mut self, anneals: &[Anneal], rules: &[Vec<Rule>], stop: &Stop) -> Result<Vec<Cycled>, DeviceError>;

    /// The best that one knows.
    fn known(&self, slot: usize) -> Result<Vec<bool>, DeviceError>;
}
