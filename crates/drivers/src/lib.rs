//! The drivers of the search, and what they share: each looks for better solutions in its own way, a round of bounded
//! work at a time.
//!
//! To add one: write its file, with a type that implements [`core::driver::Driver`], and its line in `list.rs`. The
//! choice by name, help and the portfolio follow from that.

mod annealing;
pub mod checkpoint;
pub mod core;
mod cycling;
mod ejection;
mod guided;
mod kept;
mod limited_discrepancy;
mod list;
mod lns;
pub mod measure;
mod one_flip;
pub mod options;
mod spins;
mod sums;
mod tabu;
#[cfg(test)]
mod tests;
mod tuning;
mod walks;
mod weighting;

// other crates, by the names that their areas have everywhere
use fangs_base::{VERSION, activity, error, files, memory, rng, stop, terminal, threads};
use fangs_bounds::{bounds, reduce};
use fangs_check as check;
use fangs_device as device;
#[cfg(test)]
use fangs_elimination::order;
use fangs_elimination::{elimination, value_tables};
use fangs_fang as fang;
#[cfg(test)]
use fangs_formats as formats;
#[cfg(test)]
use fangs_generate as generate;
use fangs_heuristics as heuristics;
use fangs_kernels as kernels;
use fangs_model::{certificate, globals, graph, model};

pub use annealing::cpu::state_bytes;
pub use annealing::cuda::first_kernels::{first_kernels, has_first_kernels};
pub use guided::ready;
pub use list::{Entry, Setup, sources};
pub use spins::{NAME as SPINS, alone};
