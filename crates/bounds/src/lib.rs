//! Reductions of weighted constraint networks, and lower bounds with their proofs.

pub mod bounds;
pub mod reduce;
pub mod tuning;

// other crates, by the names that their areas have in all crates
use fangs_base::{Error, activity, error, memory, rng, stop, threads};
use fangs_check as check;
use fangs_device as device;
use fangs_elimination::{algebra, elimination, order, tensor};
#[cfg(test)]
use fangs_formats as formats;
#[cfg(test)]
use fangs_generate as generate;
use fangs_kernels as kernels;
use fangs_model::{certificate, graph, model};
