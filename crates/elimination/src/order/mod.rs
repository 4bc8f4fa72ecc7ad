//! Elimination orders: the sequence of the variables, and its cost.
//!
//! Eliminating a variable joins all functions that read it into one over its neighbours, so the graph alone determines
//! the cost of an order. Finding the best order is NP-hard; greedy rules with random ties and restarts come close.
//! Orders are compared by the sum of all joint tables, not by width, because one wide bucket of small domains may be
//! cheaper than two narrower ones.

mod eliminate;
mod ordering;
mod pseudo_tree;
mod search;
mod sequence;
mod sweep;

use crate::error::Error;
use crate::graph::Graph;
use crate::model::Problem;
use crate::stop::Stop;
use eliminate::{EFFORT, Rule, eliminate};

pub use ordering::{Ordering, restarts};
pub use pseudo_tree::{PseudoTree, TreeSize, Visit};
pub use search::{OrderSearch, best_order, best_orders, promising_order};
pub use sequence::{Method, Order};

impl Order {
    /// Returns the order of one run of a rule, with ties broken by `seed`.
    pub fn greedy(problem: &Problem, method: Method, seed: u64, stop: &Stop) -> Order {
        let graph = Graph::new(problem, stop).unwrap_or_default();
        let order = search::ordered(&graph, &problem.domains, method, seed, f64::INFINITY, stop);
        order.0.expect("no order costs more than infinity")
    }

    /// Returns the order of one run of a rule in which the variables that `late` marks come after all others whose
    /// cliques have at most `most` entries: sums before maxima, as far as the size of tables permits. Independent parts
    /// may be interleaved, which changes no table.
    pub fn constrained(problem: &Problem, method: Method, seed: u64, late: &[bool], most: f64, stop: &Stop) -> Order {
        let graph = Graph::new(problem, stop).unwrap_or_default();
        let rule = Rule::Greedy { method, seed, late, most };
        let order = eliminate(&graph, &problem.domains, rule, f64::INFINITY, EFFORT, stop);
        order.0.expect("no order costs more than infinity")
    }

    /// Returns the order of one run of a rule that uses degrees alone after `effort` steps, and the number of steps.
    pub fn within(problem: &Problem, method: Method, seed: u64, effort: u64, stop: &Stop) -> (Order, u64) {
        let rule = Rule::Greedy { method, seed, late: &[], most: f64::INFINITY };
        let graph = Graph::new(problem, stop).unwrap_or_default();
        let (order, steps) = eliminate(&graph, &problem.domains, rule, f64::INFINITY, effort, stop);
        (order.expect("no order costs more than infinity"), steps)
    }

    /// Checks a given order and computes its cost.
    ///
    /// # Errors
    /// Returns an error if a variable is missing, unknown or listed twice.
    pub fn given(problem: &Problem, sequence: &[u32], stop: &Stop) -> Result<Order, Error> {
        let n = problem.variables();
        let mut seen = vec![false; n];
        for (place, &v) in sequence.iter().enumerate() {
            match seen.get_mut(v as usize) {
                None => {
                    return Err(Error::Usage(format!(
                        "order: entry {} is variable {v}, but there are {n} variables",
                        place + 1
                    )));
                }
                Some(true) => return Err(Error::Usage(format!("order: entry {} repeats variable {v}", place + 1))),
                Some(first) => *first = true,
            }
        }
        if let Some(missing) = seen.iter().position(|&seen| !seen) {
            return Err(Error::Usage(format!("order: variable {missing} is missing")));
        }
        let graph = Graph::new(problem, stop).unwrap_or_default();
        let (order, _) = eliminate(&graph, &problem.domains, Rule::Given(sequence), f64::INFINITY, EFFORT, stop);
        Ok(order.expect("no order costs more than infinity"))
    }
}

#[cfg(test)]
mod tests;
