//! The independent checker: it recomputes the cost of an assignment of a [`Network`] from tables and formulas, and
//! [`Replay`] follows the certificate of a bound.
//!
//! The checker shares only the plain data of the model with the search, the reductions and inference. It has its own
//! indexing, look-up of sparse tuples and summation; sums have 128 bits, so they cannot overflow or saturate.

mod buckets;
mod elimination;
mod globals;
#[cfg(test)]
mod globals_tests;
mod graph;
#[cfg(test)]
mod graph_tests;
mod lemma;
#[cfg(test)]
mod lemma_tests;
mod marginals;
mod policy;
mod potentials;
mod replay;
mod rows;
mod search;
#[cfg(test)]
mod search_tests;
mod state;
mod steps;
mod tables;
#[cfg(test)]
pub(crate) mod tests;
mod tuning;

// other crates, by the names that their areas have in all crates
#[cfg(test)]
use fangs_base::Error;
use fangs_base::{error, memory, stop};
#[cfg(test)]
use fangs_base::{files, rng};
#[cfg(test)]
use fangs_bounds::{bounds, reduce};
#[cfg(test)]
use fangs_elimination::order;
#[cfg(test)]
use fangs_formats as formats;
use fangs_model::{certificate, model};

pub use elimination::Effort;
pub use globals::global_cost;
pub use marginals::{MarginalsCheck, MarginalsClaim, check_marginals};
pub use policy::{best_in_idid, worth_in_diagram, worth_in_idid, worth_in_pomdp, worth_in_team};
pub use potentials::verify;
pub use replay::Replay;

use crate::model::{Cost, CostFunction, FORBIDDEN, Function, Network, SparseTable, Table};
use rayon::prelude::*;

/// The evaluation of an assignment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evaluation {
    /// Total cost; [`FORBIDDEN`] if an entry forbids the assignment.
    pub cost: Cost,
    /// Sum of the costs of the functions that are not violated.
    pub soft: Cost,
    /// Indices of the functions whose entry forbids the assignment, ascending.
    pub violated: Vec<usize>,
    /// The limit that the total must stay below.
    pub top: Cost,
}

impl Evaluation {
    /// Returns whether the assignment is a solution: its total is below `top`.
    pub fn is_solution(&self) -> bool {
        self.cost < self.top
    }
}

/// Returns the cost of an assignment (value indices in file order).
///
/// # Panics
/// Panics if the length of `assignment` is not the number of variables, or a value is outside its domain; readers of
/// files check this.
pub fn evaluate(network: &Network, assignment: &[u32]) -> Evaluation {
    evaluate_unless(network, assignment, || false).expect("it never gives up")
}

/// Number of functions between two calls of `gives_up`: about a millisecond.
const ASKED: usize = 1 << 12;

/// Like [`evaluate`], but returns `None` once `gives_up`, which is called now and then, returns `true`.
///
/// # Panics
/// Panics like [`evaluate`].
pub fn evaluate_unless(
    network: &Network,
    assignment: &[u32],
    gives_up: impl Fn() -> bool + Sync,
) -> Option<Evaluation> {
    assert_eq!(assignment.len(), network.domains().len(), "one value for every variable");
    let domains = network.domains();
    let part = |first: usize| {
        if gives_up() {
            return None;
        }
        let (mut sum, mut violated) = (0i128, Vec::new());
        for index in first..network.function_count().min(first + ASKED) {
            let function = network.function(index).expect("a number below that of all functions");
            match function_cost(function, domains, assignment) {
                FORBIDDEN.. => violated.push(index),
                cost => sum += i128::from(cost),
            }
        }
        Some((sum, violated))
    };
    let begins = 0..network.function_count().div_ceil(ASKED);
    // on other threads only within a pool: outside of one, a pool with a thread for each processor would start
    let parts: Option<Vec<(i128, Vec<usize>)>> = match rayon::current_thread_index() {
        Some(_) => begins.into_par_iter().map(|begin| part(begin * ASKED)).collect(),
        None => begins.map(|begin| part(begin * ASKED)).collect(),
    };
    let parts = parts?;
    let soft = saturate(parts.iter().map(|(sum, _)| sum).sum());
    let violated: Vec<usize> = parts.into_iter().flat_map(|(_, violated)| violated).collect();
    let cost = if violated.is_empty() { soft } else { FORBIDDEN };
    Some(Evaluation { cost, soft, violated, top: network.top() })
}

/// Returns the cost of one function of either kind under an assignment of all variables; forbidden from [`FORBIDDEN`]
/// on.
pub fn function_cost(function: Function<'_>, domains: &[u32], assignment: &[u32]) -> Cost {
    match function {
        Function::Table(function) => entry(function, domains, assignment),
        Function::Global(global) => global_cost(global, domains, assignment),
    }
}

/// Returns the edges whose ends have the same color.
pub fn monochromatic<'a>(edges: &'a [[u32; 2]], colors: &'a [u32]) -> impl Iterator<Item = [u32; 2]> + 'a {
    edges.iter().copied().filter(|&[u, v]| colors[u as usize] == colors[v as usize])
}

/// Returns the entry of one function under an assignment of all variables.
pub fn entry(function: &CostFunction, domains: &[u32], assignment: &[u32]) -> Cost {
    match &function.table {
        Table::Dense(costs) => {
            let (mut index, mut stride) = (0usize, 1usize);
            for &variable in function.scope.iter().rev() {
                let (domain, value) = (domains[variable as usize], assignment[variable as usize]);
                assert!(value < domain, "value {value} of variable {variable} is outside its domain");
                index += stride * value as usize;
                stride *= domain as usize;
            }
            costs.get(index)
        }
        Table::Sparse(table) => look_up(table, function.scope.iter().map(|&v| assignment[v as usize])),
    }
}

/// Returns the cost of a tuple by narrowing the range of sorted tuples one value at a time.
fn look_up(table: &SparseTable, values: impl Iterator<Item = u32>) -> Cost {
    let (tuples, arity) = (table.tuples(), table.arity());
    let mut range = 0..table.costs().len();
    for (column, value) in values.enumerate() {
        let at = |row: usize| tuples[row * arity + column];
        let start = first(range.clone(), |row| at(row) >= value);
        let end = first(start..range.end, |row| at(row) > value);
        range = start..end;
    }
    if range.is_empty() { table.default_cost() } else { table.costs()[range.end - 1] }
}

/// Returns the first row for which `holds` is true; it must stay true from there on.
fn first(range: std::ops::Range<usize>, holds: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (range.start, range.end);
    while low < high {
        let middle = low.midpoint(high);
        if holds(middle) { high = middle } else { low = middle + 1 }
    }
    low
}

fn saturate(sum: i128) -> Cost {
    sum.clamp(-i128::from(FORBIDDEN), i128::from(FORBIDDEN)) as Cost
}
