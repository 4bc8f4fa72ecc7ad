//! What a domain tells of itself to a device.

#![allow(unsafe_code, reason = "a domain promises what the device may touch")]

use crate::device::Source;
use crate::rng::Rng;
use crate::{Active, State};

/// A heuristic in CUDA text and what its launches must know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heuristic {
    /// Its struct, template arguments included.
    pub name: String,
    /// Most possibilities of a variable that it serves.
    pub possibilities: usize,
    /// Possibilities that it rates together, `WIDTH`.
    pub width: usize,
    /// Parts that its cursors do not cross, `PARTS`.
    pub parts: usize,
    /// The most packs a thread keeps in registers; beyond that more threads share a state, or ratings are computed
    /// twice.
    pub keep: usize,
    /// No sum of a variable's weights is larger.
    pub largest_sum: u64,
}

/// A domain whose states live on a device.
///
/// # Safety
///
/// With the problem given and for states of `words` words, the heuristics must read and write nothing else on the
/// device.
pub unsafe trait Domain {
    /// The state on the CPU.
    type State: State;
    /// The `Problem` of the text, laid out as there: data that heuristics read beside a state.
    type Problem: Copy;

    /// The text that defines the heuristics.
    fn source(&self) -> Source;

    /// The heuristic of each type of variable.
    fn heuristics(&self) -> Vec<Heuristic>;

    /// The type of each variable; empty where there is one type.
    fn types(&self) -> &[u8] {
        &[]
    }

    /// How many variables a state has.
    fn variables(&self) -> usize;

    /// How many words a state takes on the device, beside its active set and its stream.
    fn words(&self) -> usize;

    /// The problem, with the addresses of its device memory.
    fn problem(&self) -> &Self::Problem;

    /// Writes a state's words.
    fn store(&self, state: &Self::State, words: &mut [u32]);

    /// A state of the words given.
    fn load(&self, words: &[u32], active: Active, rng: Rng) -> Self::State;
}
