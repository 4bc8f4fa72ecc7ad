//! The search on an NVIDIA device: the population annealing's herd (`kernels/anneal.cu`) and the tabu walkers
//! (`kernels/tabu.cu`). The host decides what a generation or a round does, the kernels do it, with the same results as the CPU.

mod arguments;
mod core;
mod herd;
mod team;
#[cfg(test)]
mod tests;
mod walkers;
#[cfg(test)]
mod walkers_tests;

pub(crate) use core::unfit;
pub(crate) use herd::CudaHerd;
pub(crate) use walkers::CudaWalkers;

/// Kernels of all drivers.
pub(crate) fn sources() -> Vec<crate::device::Source> {
    [team::sources(), walkers::sources()].concat()
}
