//! What all drivers look at: value tables and the constraint graph of the reduced problem.

pub(crate) mod cuda;
pub(crate) mod graph;
mod quantization;
pub(crate) mod subproblem;
pub(crate) mod value_tables;
