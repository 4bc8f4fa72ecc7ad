//! How a pass is launched: arguments, group sizes, instances of the template.

use super::domain::Heuristic;
use crate::device::shared::device_structs;

device_structs! {
    /// The arguments of a pass: `Pass` of `kernels/fang.cuh`, with device addresses.
    #[derive(Clone, Copy, Debug)]
    pub struct Pass as "Pass" {
        /// The words of the states that are cloned.
        pub source: u64,
        /// The words of the clones.
        pub target: u64,
        /// The active variables of the states.
        pub source_active: u64,
        /// Those of the clones.
        pub target_active: u64,
        /// The streams of the clones before the pass.
        pub streams: u64,
        /// Where the pass leaves them.
        pub streams_after: u64,
        /// Those of the next generation's clones.
        pub streams_next: u64,
        /// What each bit of a stream becomes from one generation to the next.
        pub jumps: u64,
        /// The type of each variable; 0 where there is one only.
        pub types: u64,
        /// The variables to take; 0 for all.
        pub list: u64,
        /// How many of them.
        pub listed: u32,
        /// Whether each state has an order of its own.
        pub permuted: u32,
        /// Clones of all states.
        pub clones: u32,
        /// Successors of a state.
        pub successors: u32,
        /// Words of a state.
        pub words: u32,
        /// Variables.
        pub variables: u32,
    }
}

/// Least threads for a multiprocessor: a warp for each of its four schedulers. More threads for a state do not pay
/// where there are two warps already.
const BUSY: u32 = 128;

/// Most threads of a group that are taken for the sake of registers: barriers and scans of wider groups cost more than
/// rating again.
const WIDEST: usize = 256;

/// Shared memory of a block beyond which states stay in global memory, so that as many blocks as registers allow fit.
const SHARED: usize = 16 << 10;

/// An instance of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Threads that hold a state: a power of two up to 32, or a multiple of 32 up to 1024.
    pub threads: u32,
    /// Packs that a thread keeps in registers, for each heuristic; 0 rates twice.
    pub keep: Vec<usize>,
}

impl Shape {
    /// The launch shape for a number of states and of multiprocessors: the fewest threads that keep all ratings in
    /// registers (where these are too many, ratings are computed twice), or more where the states alone would leave the
    /// device idle.
    pub fn new(heuristics: &[Heuristic], states: usize, multiprocessors: u32) -> Self {
        let threads = |h: &Heuristic| h.possibilities.div_ceil(h.width).div_ceil(h.keep.max(1));
        let packs = |h: &Heuristic| h.possibilities.div_ceil(h.width);
        let most = heuristics.iter().map(packs).max().unwrap_or(0).clamp(1, 1024) as u32;
        let least = heuristics.iter().map(threads).max().unwrap_or(0).clamp(1, WIDEST) as u32;
        let busy = BUSY * multiprocessors / states.clamp(1, 1 << 20) as u32;
        // a warp costs as much as a tile of one that has to be filled by other states' tiles
        let wanted = if most < 32 { most } else { least.max(32) }.max(busy.min(most));
        let threads = if wanted <= 32 { wanted.next_power_of_two() } else { wanted.next_multiple_of(32).min(1024) };
        Self::of(threads, heuristics)
    }

    /// Groups of `threads` threads, with what they can keep.
    pub fn of(threads: u32, heuristics: &[Heuristic]) -> Self {
        let parts = heuristics.iter().map(|h| h.parts).max().unwrap_or(1) as u32;
        let threads = threads.max(parts);
        let keep = |h: &Heuristic| {
            let most = h.possibilities.div_ceil(h.width * h.parts).div_ceil(threads as usize / h.parts);
            if most <= h.keep { most } else { 0 }
        };
        Shape { threads, keep: heuristics.iter().map(keep).collect() }
    }

    /// The instance's name. Sums take 64 bits only where they must.
    pub(crate) fn expression(&self, heuristics: &[Heuristic], shared: bool) -> String {
        let wide = heuristics.iter().any(|h| h.largest_sum > u64::from(u32::MAX));
        let slots = heuristics.iter().zip(&self.keep).map(|(h, keep)| format!(", Slot<{}, {keep}>", h.name));
        let sum = if wide { "u64" } else { "u32" };
        format!("pass<{}, {shared}, {sum}{}>", self.threads, slots.collect::<String>())
    }

    /// The number of groups of threads.
    pub fn groups(&self) -> u32 {
        if self.threads > 32 { 1 } else { 128 / self.threads }
    }

    /// Bytes of shared memory that a block needs for its states, none where they are to stay in global memory.
    pub fn shared(&self, variables: usize, words: usize) -> Option<u32> {
        let bytes = self.groups() as usize * 8 * (variables.div_ceil(64) + words.div_ceil(2));
        (bytes <= SHARED).then_some(bytes as u32)
    }
}
