//! Elimination orders: the sequence of the variables, and its cost.
//!
//! Eliminating a variable joins all functions that read it into one over its neighbours, so what an order
//! costs is known from the graph alone. Finding the best order is NP-hard; greedy rules with random ties
//! and restarts come close, and the sum of all joint tables decides between them (not the width: one wide
//! bucket of small domains may be cheaper than two narrower ones).

mod eliminate;
mod ordering;
mod pseudo_tree;
mod search;
mod sweep;

use crate::error::Error;
use crate::graph::Graph;
use crate::model::Problem;
use crate::stop::Stop;
use eliminate::{EFFORT, Rule, eliminate};

pub use ordering::{Ordering, restarts};
pub use pseudo_tree::{PseudoTree, TreeSize, Visit};
pub use search::{OrderSearch, best_order, best_orders, promising_order};

/// Rules for the next variable to eliminate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Method {
    /// Fewest edges to add between its neighbours.
    MinFill,
    /// The same, an edge counting the product of its ends' domain sizes.
    WeightedMinFill,
    /// Fewest neighbours.
    MinDegree,
    /// Sweep: the neighbour of the eliminated ones that adds the fewest others.
    Sweep,
}

impl Method {
    /// All methods with their names.
    pub const ALL: [(&'static str, Method); 4] = [
        ("min-fill", Method::MinFill),
        ("weighted-min-fill", Method::WeightedMinFill),
        ("min-degree", Method::MinDegree),
        ("sweep", Method::Sweep),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, method)| *method == self).map_or("", |(name, _)| name)
    }
}

/// An elimination order and the size of bucket elimination along it.
#[derive(Clone, Debug, PartialEq)]
pub struct Order {
    /// The variables, the first eliminated first.
    pub sequence: Vec<u32>,
    /// The rule that made it, if any.
    pub method: Option<Method>,
    /// Induced width: most neighbours that a variable has when it is eliminated. Only an upper bound
    /// where `joint_entries` is infinite.
    pub width: u32,
    /// Sum over all buckets of the number of value combinations of the variable and its neighbours.
    /// Infinite where counting was given up because the graph fills in beyond any use.
    pub joint_entries: f64,
    /// Entries of the largest message: value combinations of the neighbours of one variable.
    pub largest: f64,
}

impl Order {
    /// One run of a rule, ties broken by `seed`.
    pub fn greedy(problem: &Problem, method: Method, seed: u64, stop: &Stop) -> Order {
        let graph = Graph::new(problem, stop).unwrap_or_default();
        let order = search::ordered(&graph, &problem.domains, (method, seed), f64::INFINITY, stop);
        order.0.expect("no order costs more than infinity")
    }

    /// The same where the variables that `late` names come after all others whose cliques have at most `most` entries:
    /// sums before maxima, as far as tables allow. Independent parts may be interleaved, which changes no table.
    pub fn constrained(
        problem: &Problem,
        (method, seed): (Method, u64),
        late: &[bool],
        most: f64,
        stop: &Stop,
    ) -> Order {
        let graph = Graph::new(problem, stop).unwrap_or_default();
        let rule = Rule::Greedy { method, seed, late, most };
        let order = eliminate(&graph, &problem.domains, rule, f64::INFINITY, EFFORT, stop);
        order.0.expect("no order costs more than infinity")
    }

    /// The same, but by degrees alone after `effort` steps; and the steps it took.
    pub fn within(problem: &Problem, method: Method, seed: u64, effort: u64, stop: &Stop) -> (Order, u64) {
        let rule = Rule::Greedy { method, seed, late: &[], most: f64::INFINITY };
        let graph = Graph::new(problem, stop).unwrap_or_default();
        let (order, steps) = eliminate(&graph, &problem.domains, rule, f64::INFINITY, effort, stop);
        (order.expect("no order costs more than infinity"), steps)
    }

    /// Accepts and rates a given order.
    ///
    /// # Errors
    /// A variable that is missing, unknown or listed twice.
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

    /// Reads the variable indices of an order file: separated by blanks, `#` starts a comment.
    ///
    /// # Errors
    /// A word that is not a variable index.
    pub fn parse_sequence(text: &str) -> Result<Vec<u32>, Error> {
        let words = text.lines().flat_map(|line| line.split('#').next().unwrap_or("").split_whitespace());
        words
            .enumerate()
            .map(|(place, word)| {
                let message = |_| {
                    Error::Usage(format!("order: entry {} is {word:?}, expected the index of a variable", place + 1))
                };
                word.parse::<u32>().map_err(message)
            })
            .collect()
    }

    /// The given sequence, or an arbitrary one, without its size: the result once the flag is set.
    fn uncounted(sequence: Option<&[u32]>, variables: usize) -> Order {
        Order {
            sequence: sequence.map_or_else(|| (0..variables as u32).collect(), <[u32]>::to_vec),
            method: None,
            // each may neighbour all remaining ones
            width: variables.saturating_sub(1) as u32,
            joint_entries: f64::INFINITY,
            largest: f64::INFINITY,
        }
    }

    /// Whether one order is cheaper than another.
    fn rank(&self) -> (f64, u32) {
        (self.joint_entries, self.width)
    }
}

#[cfg(test)]
mod tests;
