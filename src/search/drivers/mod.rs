//! The drivers: each looks for better solutions in its own way, a round of bounded work at a time.

pub(crate) mod annealing;
pub(crate) mod guided;
pub(crate) mod limited_discrepancy;
pub(crate) mod lns;
pub(crate) mod tabu;
pub(crate) mod tuning;
pub(crate) mod walks;
pub(crate) mod weighting;
