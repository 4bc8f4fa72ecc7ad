//! The backend of thermal cycling on quadratic forms.

use super::walk::Rule;
use crate::device::DeviceError;
use crate::stop::Stop;

/// An anneal: the seed of its draws, and the index of its initial temperature.
#[derive(Clone, Copy, Debug)]
pub(super) struct Anneal {
    pub key: u64,
    pub top: usize,
}

/// The result of an assignment's round: the value of its best, the flips and the sweeps. Without sweeps it was stopped,
/// and its best is unchanged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cycled {
    pub value: i64,
    pub flips: u64,
    pub sweeps: u64,
}

/// A backend, which owns the assignments.
pub(super) trait Anneals: Send {
    fn count(&self) -> usize;

    /// Sets the guide of the next cycle.
    fn hear(&mut self, guide: &[bool]) -> Result<(), DeviceError>;

    /// Makes the best of one assignment the guide of the next cycle.
    fn lead(&mut self, slot: usize) -> Result<(), DeviceError>;

    /// Makes a cycle of each assignment: takes over the better components of the guide, if there is one, anneals from
    /// the best by the rules of its initial temperature, and keeps the better components of both.
    fn cycle(&mut self, anneals: &[Anneal], rules: &[Vec<Rule>], stop: &Stop) -> Result<Vec<Cycled>, DeviceError>;

    /// Returns the best of one assignment.
    fn known(&self, slot: usize) -> Result<Vec<bool>, DeviceError>;
}
