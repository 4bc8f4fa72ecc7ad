//! What all drivers look at: value tables and the constraint graph of the reduced problem.

pub(crate) mod cuda;
pub(crate) mod subproblem;
pub(crate) mod sums;

pub(crate) use crate::{graph, value_tables};
