//! Networks whose size decides how they are searched.

use super::elite::LONGEST;
use super::quadratic::is_form;
use crate::model::{Network, Problem};
use crate::tuning::size::{DENSE, VAST};

/// Whether a network is so large that its first solution is to come from passes.
pub fn suits_passes(network: &Network) -> bool {
    let mut places = network.functions().iter().map(|function| function.scope.len()).scan(0, |sum, arity| {
        *sum += arity;
        Some(*sum)
    });
    let is_free = || network.domains().len() >= VAST[0] || is_form(network);
    network.globals().len() == 0 && places.any(|sum| sum >= VAST[1]) && is_free()
}

/// Whether a network is a form of so many terms that it is searched as one, without tables.
pub fn is_dense(network: &Network) -> bool {
    let is_large = network.functions().len() >= DENSE * network.domains().len() && suits_passes(network);
    is_large && is_form(network) && !network.forbids()
}

/// Whether local search has room for the values of all variables.
pub fn fits_search(problem: &Problem) -> bool {
    problem.domains.iter().all(|&domain| domain <= LONGEST)
}

/// Whether a network is searched as a quadratic form before there are tables: with a thread for it.
pub fn opens_as_form(network: &Network, threads: usize) -> bool {
    threads > 1 && is_form(network)
}
