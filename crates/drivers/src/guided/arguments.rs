//! The structs that the kernel of trajectories reads and writes.

#![allow(unsafe_code, reason = "structures that kernels take")]

use crate::device::ValidAsZeroBits;
use crate::device::shared::device_structs;

device_structs! {
    /// The struct `TrajectoryProgress` of `kernels/trajectory.cuh`.
    #[derive(Clone, Copy, Debug, Default)]
    pub(super) struct TrajectoryProgress as "TrajectoryProgress" {
        pub energy: i64,
        pub record: i64,
        pub kept: i64,
        pub recounted: i64,
        pub fault: u32,
        pub proposed: u32,
        pub taken: u32,
        pub taken_changed: u32,
        pub taken_improved: u32,
        pub senseless: u32,
        pub beyond: u32,
        pub pass: u32,
        pub improved: u32,
        pub moves: u32,
        pub ratings: u32,
        pub drawn: u32,
        pub changed: u32,
        pub improvements: u32,
        pub weightless: u32,
        pub held: u32,
        pub strange: u32,
        pub outcome: u32,
    }
}

device_structs! {
    /// The struct `Batch` of `kernels/trajectory.cuh`.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct BatchArgument as "Batch" {
        pub states: u64,
        pub working: u64,
        pub bests: u64,
        pub progress: u64,
        pub trajectories: u64,
        pub temperatures: u64,
        pub order: u64,
        pub stop: u64,
        pub draw: u64,
        pub count: u32,
        pub words: u32,
        pub room: u32,
        pub unused: u32,
    }
}

// SAFETY: plain numbers.
unsafe impl ValidAsZeroBits for TrajectoryProgress {}
