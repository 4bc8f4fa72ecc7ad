//! The interface of a domain for a device.

#![allow(unsafe_code, reason = "a domain promises what the device may touch")]

use crate::device::Source;
use crate::rng::Rng;
use crate::{Active, State};

/// A heuristic in CUDA source, and the parameters of its launches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heuristic {
    /// The name of its struct with template arguments.
    pub name: String,
    /// The largest number of possibilities of a variable of its type.
    pub possibilities: usize,
    /// The number of possibilities that it rates together, `WIDTH`.
    pub width: usize,
    /// The number of sections of a row that its cursors do not cross, `PARTS`.
    pub parts: usize,
    /// The largest number of packs that a thread keeps in registers. Beyond that, more threads share a state, or
    /// ratings are computed twice.
    pub keep: usize,
    /// An upper bound on the sum of a variable's weights.
    pub largest_sum: u64,
}

/// A domain whose states reside on a device.
///
/// # Safety
///
/// With the given problem and for states of `words` words, the heuristics must read and write nothing else on the
/// device.
pub unsafe trait Domain {
    /// The state on the CPU.
    type State: State;
    /// The `Problem` of the CUDA source, with the same layout: data that heuristics read besides a state.
    type Problem: Copy;

    /// Returns the source that defines the heuristics.
    fn source(&self) -> Source;

    /// Returns the heuristic of each type of variable.
    fn heuristics(&self) -> Vec<Heuristic>;

    /// Returns the type of each variable; empty if there is only one type.
    fn types(&self) -> &[u8] {
        &[]
    }

    /// Returns the number of variables of a state.
    fn variables(&self) -> usize;

    /// Returns the number of words of a state on the device, besides its active set and its stream.
    fn words(&self) -> usize;

    /// Returns the problem, with the addresses of its device memory.
    fn problem(&self) -> &Self::Problem;

    /// Writes the words of a state.
    fn store(&self, state: &Self::State, words: &mut [u32]);

    /// Returns the state with these words, active variables and random stream.
    fn load(&self, words: &[u32], active: Active, rng: Rng) -> Self::State;
}
