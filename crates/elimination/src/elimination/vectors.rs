//! Vector instructions for loops over tables.
//!
//! These loops are limited by memory: registers of 512 bits gained nothing over 256 (results/notes/crates.md), and each
//! set of instructions compiles every loop of every semiring once more.

use pulp::{Simd, WithSimd};

/// Does `work` with vectors of at most 256 bits, if the processor has them.
#[cfg(target_arch = "x86_64")]
pub fn dispatch<W: WithSimd>(work: W) -> W::Output {
    match pulp::x86::V3::try_new() {
        Some(simd) => Simd::vectorize(simd, work),
        None => work.with_simd(pulp::Scalar::new()),
    }
}

/// Does `work` with the widest vectors that the processor has.
#[cfg(not(target_arch = "x86_64"))]
pub fn dispatch<W: WithSimd>(work: W) -> W::Output {
    pulp::Arch::new().dispatch(work)
}
