//! The search on an NVIDIA device: the population annealing's herd. The host decides what a generation does, the kernels of
//! `kernels/anneal.cu` make it, with the same results as the CPU.

mod arguments;
mod core;
mod herd;
mod team;
#[cfg(test)]
mod tests;

pub(crate) use core::unfit;
pub(crate) use herd::CudaHerd;
pub(crate) use team::sources;
