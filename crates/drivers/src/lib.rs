//! The drivers of the search except annealing: each searches for better solutions by its own method, in rounds of
//! bounded work. [`driver`](fangs_search_core::driver) describes how to add one.

mod constants;
pub mod ejection;
pub mod guided;
pub mod limited_discrepancy;
pub mod lns;
pub mod one_flip;
pub mod spins;
pub mod sums;
pub mod tabu;
pub mod tuning;
mod walks;
pub mod weighting;

// the areas of other crates, under the names that they have everywhere in the workspace
use fangs_base::{error, rng, stop, threads};
use fangs_bounds::{bounds, reduce};
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
use fangs_model::{globals, model};
use fangs_search_core as core;
