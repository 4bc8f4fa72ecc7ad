//! Bucket elimination in any semiring: algebra, tables, orders, plans, and their execution on processors and devices.

pub mod algebra;
pub mod elimination;
pub mod order;
pub mod tensor;
pub mod value_tables;

// other crates, by the names that their areas have everywhere
use fangs_base::{error, memory, rng, stop, threads};
#[cfg(test)]
use fangs_bounds::{bounds, reduce};
use fangs_device as device;
#[cfg(test)]
use fangs_generate as generate;
use fangs_kernels as kernels;
use fangs_model::{graph, model};
