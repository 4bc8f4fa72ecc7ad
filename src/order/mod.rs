//! Elimination orders: who is eliminated first, and what that costs.
//!
//! Eliminating a variable joins all functions that read it into one over its neighbours, so what an order
//! costs is known from the graph alone. Finding the best order is NP-hard; greedy rules with random ties
//! and restarts come close, and the sum of all joint tables decides between them (not the width: one wide
//! bucket of small domains may be cheaper than two narrower ones).

mod eliminate;
mod sweep;

use crate::error::Error;
use crate::model::Problem;
use crate::rng::mix;
use crate::stop::Stop;
use eliminate::{Rule, eliminate};
use rayon::prelude::*;

/// Rules for the next variable to eliminate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Method {
    /// Fewest edges to add between its neighbours.
    MinFill,
    /// The same, an edge counting the product of its ends' domain sizes.
    WeightedMinFill,
    /// Fewest neighbours.
    MinDegree,
    /// Beside those gone, the one that leads on to the fewest others.
    Sweep,
}

impl Method {
    /// All methods with the names they go by.
    pub const ALL: [(&'static str, Method); 4] = [
        ("min-fill", Method::MinFill),
        ("weighted-min-fill", Method::WeightedMinFill),
        ("min-degree", Method::MinDegree),
        ("sweep", Method::Sweep),
    ];

    /// The name it goes by.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, method)| *method == self).map_or("", |(name, _)| name)
    }
}

/// An elimination order and what bucket elimination along it would take.
#[derive(Clone, Debug, PartialEq)]
pub struct Order {
    /// The variables, the first eliminated first.
    pub sequence: Vec<u32>,
    /// The rule that made it, if one did.
    pub method: Option<Method>,
    /// Induced width: most neighbours that a variable has when it is eliminated. Only an upper bound
    /// where `joint_entries` is infinite.
    pub width: u32,
    /// Sum over all buckets of the number of value combinations of the variable and its neighbours.
    /// Infinite where counting was given up because the graph fills in beyond any use.
    pub joint_entries: f64,
    /// Value combinations of the neighbours of one variable, at most: entries of the largest message.
    pub largest: f64,
}

/// Basic steps after which one run of a rule gives up following fill edges. Some tenths of a second; what is
/// left then is a core too dense for bucket elimination, and only its rough order matters to mini-buckets.
const EFFORT: u64 = 140_000_000;

/// Restarts that run at the same time and share one limit. Fixed, so that threads cannot change the result.
const BATCH: u32 = 8;

impl Order {
    /// One run of a rule, ties broken by `seed`.
    pub fn greedy(problem: &Problem, method: Method, seed: u64, stop: &Stop) -> Order {
        ordered(&problem.neighbours(), &problem.domains, method, seed, f64::INFINITY, stop)
            .expect("no order costs more than infinity")
    }

    /// Accepts and rates an order from outside.
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
        let neighbours = problem.neighbours();
        Ok(eliminate(&neighbours, &problem.domains, Rule::Given(sequence), f64::INFINITY, EFFORT, stop)
            .expect("no order costs more than infinity"))
    }

    /// Reads the variable indices of an order file: separated by blanks, `#` starts a comment.
    ///
    /// # Errors
    /// What is not a variable index.
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

    /// Whether one order is cheaper than another.
    fn rank(&self) -> (f64, u32) {
        (self.joint_entries, self.width)
    }
}

/// One run of a rule; `None` where it costs more than `limit`.
fn ordered(
    neighbours: &[Vec<u32>],
    domains: &[u32],
    method: Method,
    seed: u64,
    limit: f64,
    stop: &Stop,
) -> Option<Order> {
    let sequence = (method == Method::Sweep).then(|| sweep::sweep(neighbours, seed));
    let rule = sequence.as_ref().map_or(Rule::Greedy { method, seed }, |sequence| Rule::Given(sequence));
    let order = eliminate(neighbours, domains, rule, limit, EFFORT, stop)?;
    Some(Order { method: Some(method), ..order })
}

/// The best order that `methods` find: each runs once, then `restarts` times with other ties.
pub fn best_order(problem: &Problem, methods: &[Method], seed: u64, restarts: u32, stop: &Stop) -> Order {
    let mut orders = best_orders(problem, methods, seed, restarts, 1, stop);
    orders.swap_remove(0)
}

/// Joint entries up to which elimination may yet be exact, by values left out or on a device.
const HOPEFUL: f64 = 1e13;

/// The `keep` best orders of all rules, as [`best_orders`] has them, where elimination along them may be exact. Else those of
/// `greedy` ones: what counts for mini-buckets are the first buckets, which greedy rules keep small, and not the sum of all (of
/// scen06, mini-buckets of z = 5 come to 1214 by min-fill, and to 983 by the sweep).
pub fn promising_orders(
    problem: &Problem,
    greedy: &[Method],
    seed: u64,
    restarts: u32,
    keep: usize,
    stop: &Stop,
) -> Vec<Order> {
    let all = Method::ALL.map(|(_, method)| method);
    let orders = best_orders(problem, &all, seed, restarts / all.len() as u32, keep, stop);
    if orders[0].joint_entries <= HOPEFUL { orders } else { best_orders(problem, greedy, seed, restarts, keep, stop) }
}

/// The `keep` best different orders, best first; at least one.
///
/// Runs that already cost more than the worst order kept are given up early. Setting `stop` ends the
/// restarts; what was found until then is returned.
pub fn best_orders(
    problem: &Problem,
    methods: &[Method],
    seed: u64,
    restarts: u32,
    keep: usize,
    stop: &Stop,
) -> Vec<Order> {
    let neighbours = problem.neighbours();
    let methods = if methods.is_empty() { &[Method::MinFill] } else { methods };
    let mut best: Vec<Order> = Vec::new();
    let insert = |best: &mut Vec<Order>, order: Order| {
        if best.iter().any(|known| known.sequence == order.sequence) {
            return;
        }
        let place = best.partition_point(|known| known.rank() <= order.rank());
        best.insert(place, order);
        best.truncate(keep.max(1));
    };
    let run = |index: u32, limit: f64| {
        let method = methods[index as usize % methods.len()];
        ordered(&neighbours, &problem.domains, method, mix(seed, u64::from(index)), limit, stop)
    };
    let runs = (methods.len() as u32).saturating_mul(restarts.saturating_add(1));
    let mut next = 0;
    while next < runs && (best.is_empty() || !stop.is_set()) {
        // where counting was given up, restarts would only be given up again
        if next >= methods.len() as u32 && best.iter().all(|order| order.joint_entries.is_infinite()) {
            break;
        }
        let end = if next == 0 { methods.len() as u32 } else { runs.min(next + BATCH) };
        let limit = if best.len() < keep.max(1) { f64::INFINITY } else { best[best.len() - 1].joint_entries };
        let found: Vec<Option<Order>> = (next..end).into_par_iter().map(|index| run(index, limit)).collect();
        for order in found.into_iter().flatten() {
            insert(&mut best, order);
        }
        next = end;
    }
    best
}

#[cfg(test)]
mod tests;
