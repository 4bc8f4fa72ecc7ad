//! FANG on a device: states stay there, heuristics are CUDA text, and picks equal those of the CPU's engine bit for
//! bit.
//!
//! To bring a domain to the device, once it is on the CPU (see `fang`):
//!
//! 1. Write its heuristics in CUDA: structs with the functions that `kernels/fang.cuh` lists, one for each type of
//!    variable, that read a state's words and a `Problem`. `heuristics/table.cuh` is the plainest example.
//! 2. Implement [`Domain`]: what the text is, which heuristics serve the types, what the problem holds, and how a state
//!    becomes words and comes back.
//! 3. Make a [`Population`] of states and call [`Population::expand`].
//!
//! The paper's section 3.7 needs 12 bytes of memory for each possibility of each state. Here a possibility takes none:
//! what is kept of it is in registers.

#![allow(unsafe_code, reason = "a domain promises what the device may touch")]

mod jumps;
pub mod launch;
mod manhattan;
pub(crate) mod population;

pub use launch::Shape;
pub use manhattan::ManhattanOnDevice;
pub use population::Population;

use super::{Active, State};
use crate::device::Source;
use crate::kernels;
use crate::rng::Rng;
use launch::Pass;
use manhattan::Plane;

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

/// Representative instances of every text of the engine, for tests without a device.
pub fn sources() -> Vec<Source> {
    let manhattan = |load| format!("ManhattanPacked<{load}>");
    vec![
        kernels::source("manhattan.cuh")
            .asserts::<Plane>()
            .asserts::<Pass>()
            .kernel(format!("pass<32, true, u32, Slot<{}, 10>>", manhattan(1)))
            .kernel(format!("pass<64, true, u32, Slot<{}, 18>>", manhattan(16)))
            .kernel(format!("pass<128, true, u64, Slot<{}, 0>>", manhattan(1)))
            .kernel("pass<8, true, u64, Slot<Manhattan, 0>>"),
        kernels::source("table.cuh")
            .asserts::<Pass>()
            .kernel("pass<4, true, u64, Slot<Table<STRAIGHT>, 2>, Slot<Table<TURNED>, 2>, Slot<Table<WAKING>, 2>>")
            .kernel("pass<1024, false, u64, Slot<Table<STRAIGHT>, 0>>"),
    ]
}
