//! What the kernels of a population take and tell.

#![allow(unsafe_code, reason = "structures that kernels take")]

use crate::device::ValidAsZeroBits;
use crate::device::shared::device_structs;
use crate::search::drivers::annealing::generation::{Generation, Tally};

device_structs! {
    /// `kernels/anneal.cu`: Population.
    #[derive(Clone, Copy, Debug, Default)]
    pub(crate) struct PopulationArgument as "Population" {
        pub states: u32,
        pub large: u32,
        pub domains: u64,
        pub elites: u64,
        pub offspring: u64,
        pub others: u64,
        pub totals: u64,
        pub next_totals: u64,
        pub child_totals: u64,
        pub violations: u64,
        pub child_violations: u64,
        pub plans: u64,
        pub hashes: u64,
        pub next_hashes: u64,
        pub child_hashes: u64,
        pub known: u64,
        pub known_by: u64,
        pub known_mask: u64,
        pub counters: u64,
        pub steps: u64,
        pub scratch: u64,
        pub scratch_quads: u64,
        pub labels: u64,
        pub deltas: u64,
        pub stop: u64,
    }
}

/// `kernels/anneal.cu`: PopulationSummary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PopulationSummary {
    pub best: i64,
    pub allowed: i64,
    pub best_slot: usize,
    pub allowed_slot: usize,
    pub elite_slot: usize,
    pub at_best: usize,
}

impl PopulationSummary {
    pub fn new(words: &[u64]) -> PopulationSummary {
        let (low, high) = (|word: u64| word as u32 as usize, |word: u64| (word >> 32) as usize);
        PopulationSummary {
            best: words[0] as i64,
            allowed: words[1] as i64,
            best_slot: low(words[2]),
            allowed_slot: high(words[2]),
            elite_slot: low(words[3]),
            at_best: high(words[3]),
        }
    }
}

// SAFETY: as above.
unsafe impl ValidAsZeroBits for Generation {}

/// Moves and ratings; then a gain and a work for each of 16 choices.
pub(crate) const COUNTERS: usize = 2 + 2 * 16;
/// Words of a [`PopulationSummary`], behind the counters.
pub(crate) const SUMMARY: usize = 4;

/// What the counters behind the first two say of the choices.
pub(crate) fn tally(counters: &[u64]) -> Tally {
    fn arms<const N: usize>(counters: &[u64], first: usize) -> [(u64, u64); N] {
        std::array::from_fn(|arm| (counters[2 * (first + arm)], counters[2 * (first + arm) + 1]))
    }
    Tally { cold: arms(counters, 0), region: arms(counters, 8), tree: arms(counters, 12), before: arms(counters, 14) }
}
