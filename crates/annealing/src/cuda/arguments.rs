//! The structures that kernels of a population read and write.

#![allow(unsafe_code, reason = "structures that kernels take")]

use crate::core::elite::Elite;
use crate::device::ValidAsZeroBits;
use crate::device::shared::device_structs;
use crate::generation::Tally;

device_structs! {
    /// Mirrors `Population` in `kernels/anneal.cu`.
    #[derive(Clone, Copy, Debug, Default)]
    pub(crate) struct PopulationArgument as "Population" {
        pub states: u32,
        pub large: u32,
        pub domains: u64,
        pub elites: u64,
        pub offspring: u64,
        pub others: u64,
        pub standings: u64,
        pub next_standings: u64,
        pub child_standings: u64,
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

    /// Mirrors `Standing` in `kernels/anneal.cu`.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Standing as "Standing" {
        pub total: i64,
        pub hash: u64,
        pub violations: u32,
        pub plan: u32,
    }

    /// Mirrors `Summary` in `kernels/anneal.cu`.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub(crate) struct Summary as "Summary" {
        pub best: i64,
        pub allowed: i64,
        pub best_slot: u32,
        pub allowed_slot: u32,
        pub elite_slot: u32,
        pub at_best: u32,
    }

    /// Mirrors `Counters` in `kernels/anneal.cu`.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub(crate) struct Counters as "Counters" {
        pub moves: u64,
        pub ratings: u64,
        pub tally: Tally,
        pub offspring: Summary,
        pub elites: Summary,
    }
}

// SAFETY: all fields are numbers, for which zero bits are valid.
unsafe impl ValidAsZeroBits for Standing {}
// SAFETY: all fields are numbers, for which zero bits are valid.
unsafe impl ValidAsZeroBits for Counters {}

impl Standing {
    pub fn of(elite: &Elite) -> Standing {
        let Elite { energy, hash, .. } = *elite;
        Standing { total: energy.total, hash, violations: energy.violations, plan: 0 }
    }
}
