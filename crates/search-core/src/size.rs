//! Predicates on the size of networks, which decide how they are searched.

use super::elite::LONGEST;
use super::quadratic::is_form;
use crate::model::{Network, Problem};
use crate::tuning::size::VAST;
use crate::tuning::tuning;

/// Returns whether a network is so large that its first solution comes from passes over all functions.
pub fn suits_passes(network: &Network) -> bool {
    let mut places = network.functions().iter().map(|function| function.scope.len()).scan(0, |sum, arity| {
        *sum += arity;
        Some(*sum)
    });
    let is_free = || network.domains().len() >= VAST[0] || is_form(network);
    network.globals().len() == 0 && places.any(|sum| sum >= VAST[1]) && is_free()
}

/// Returns whether a network is a quadratic form with enough terms to be searched as one, without tables.
pub fn is_dense(network: &Network) -> bool {
    let is_large = network.functions().len() >= tuning().size.dense * network.domains().len() && suits_passes(network);
    is_large && is_form(network) && !network.forbids()
}

/// Returns whether local search supports the sizes of all domains.
pub fn fits_search(problem: &Problem) -> bool {
    problem.domains.iter().all(|&domain| domain <= LONGEST)
}

/// Returns whether a network is searched as a quadratic form before there are tables, which needs a second thread.
pub fn opens_as_form(network: &Network, threads: usize) -> bool {
    threads > 1 && is_form(network)
}
