//! The launch of a pass: arguments, group sizes, instances of the template.

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
        /// The active variables of the clones.
        pub target_active: u64,
        /// The streams of the clones before the pass.
        pub streams: u64,
        /// The memory for the streams of the clones after the pass.
        pub streams_after: u64,
        /// The memory for the streams of the next generation's clones.
        pub streams_next: u64,
        /// The linear map of a stream from one generation to the next.
        pub jumps: u64,
        /// The type of each variable; 0 if there is only one type.
        pub types: u64,
        /// The variables to assign; 0 for all.
        pub list: u64,
        /// The number of listed variables.
        pub listed: u32,
        /// Whether each state has its own order.
        pub permuted: u32,
        /// The number of clones of all states.
        pub clones: u32,
        /// The number of successors of a state.
        pub successors: u32,
        /// The number of words of a state.
        pub words: u32,
        /// The number of variables.
        pub variables: u32,
    }
}

/// Threads that keep a multiprocessor busy: a warp for each of its four schedulers. More threads for a state do not pay
/// if there are two warps already.
const BUSY: u32 = 128;

/// Largest number of threads of a group to keep ratings in registers: barriers and scans of larger groups cost more
/// than rating again.
const WIDEST: usize = 256;

/// Shared memory of a block in bytes, beyond which states stay in global memory so that only registers limit the number
/// of blocks.
const SHARED: usize = 16 << 10;

/// An instance of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The number of threads that share a state: a power of two up to 32, or a multiple of 32 up to 1024.
    pub threads: u32,
    /// For each heuristic, the number of packs that a thread keeps in registers; 0 rates twice.
    pub keep: Vec<usize>,
}

impl Shape {
    /// Returns the shape for a number of states and of multiprocessors. It has the fewest threads that keep all ratings
    /// in registers, or more if the states alone would leave the device idle. If that takes too many threads, ratings
    /// are computed twice.
    pub fn new(heuristics: &[Heuristic], states: usize, multiprocessors: u32) -> Self {
        let threads = |h: &Heuristic| h.possibilities.div_ceil(h.width).div_ceil(h.keep.max(1));
        let packs = |h: &Heuristic| h.possibilities.div_ceil(h.width);
        let most = heuristics.iter().map(packs).max().unwrap_or(0).clamp(1, 1024) as u32;
        let least = heuristics.iter().map(threads).max().unwrap_or(0).clamp(1, WIDEST) as u32;
        let busy = BUSY * multiprocessors / states.clamp(1, 1 << 20) as u32;
        // a warp costs as much as a smaller tile that other states' tiles must fill up to a warp
        let wanted = if most < 32 { most } else { least.max(32) }.max(busy.min(most));
        let threads = if wanted <= 32 { wanted.next_power_of_two() } else { wanted.next_multiple_of(32).min(1024) };
        Self::of(threads, heuristics)
    }

    /// Returns the shape with groups of `threads` threads, and with the packs that they can keep.
    pub fn of(threads: u32, heuristics: &[Heuristic]) -> Self {
        let parts = heuristics.iter().map(|h| h.parts).max().unwrap_or(1) as u32;
        let threads = threads.max(parts);
        let keep = |h: &Heuristic| {
            let most = h.possibilities.div_ceil(h.width * h.parts).div_ceil(threads as usize / h.parts);
            if most <= h.keep { most } else { 0 }
        };
        Shape { threads, keep: heuristics.iter().map(keep).collect() }
    }

    /// Returns the name of the instance. Sums have 64 bits only if they need them.
    pub(crate) fn expression(&self, heuristics: &[Heuristic], shared: bool) -> String {
        let wide = heuristics.iter().any(|h| h.largest_sum > u64::from(u32::MAX));
        let slots = heuristics.iter().zip(&self.keep).map(|(h, keep)| format!(", Slot<{}, {keep}>", h.name));
        let sum = if wide { "u64" } else { "u32" };
        format!("pass<{}, {shared}, {sum}{}>", self.threads, slots.collect::<String>())
    }

    /// Returns the number of groups of threads of a block.
    pub fn groups(&self) -> u32 {
        if self.threads > 32 { 1 } else { 128 / self.threads }
    }

    /// Returns the bytes of shared memory that a block needs for its states, or `None` if they are to stay in global
    /// memory.
    pub fn shared(&self, variables: usize, words: usize) -> Option<u32> {
        let bytes = self.groups() as usize * 8 * (variables.div_ceil(64) + words.div_ceil(2));
        (bytes <= SHARED).then_some(bytes as u32)
    }
}
