//! Statistics of the reductions.

use crate::error::Error;
use crate::graph::Graph;
use crate::model::{Network, Problem, Table};
use crate::stop::Stop;
use serde::Serialize;

/// The size of a network.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Size {
    /// Number of variables.
    pub variables: usize,
    /// Number of values of all variables.
    pub values: u64,
    /// Size of the largest domain.
    pub max_domain: u32,
    /// Number of functions by arity, constants first.
    pub functions: Vec<usize>,
    /// Number of entries of all tables, listed tuples for sparse ones; global functions count as 0.
    pub entries: u64,
}

impl Size {
    /// Returns the size of a network as given.
    pub fn of(network: &Network) -> Self {
        let mut size = Size::over(network.domains().iter().copied());
        for function in network.functions() {
            size.count(function.scope.len(), &function.table);
        }
        network.globals().for_each(|global| size.of_arity(global.scope.len()));
        size
    }

    /// Returns the number of functions.
    pub fn functions(&self) -> usize {
        self.functions.iter().sum()
    }

    pub(super) fn over(domains: impl Iterator<Item = u32>) -> Self {
        let mut size = Size::default();
        for domain in domains {
            size.variables += 1;
            size.values += u64::from(domain);
            size.max_domain = size.max_domain.max(domain);
        }
        size
    }

    fn of_arity(&mut self, arity: usize) {
        if arity >= self.functions.len() {
            self.functions.resize(arity + 1, 0);
        }
        self.functions[arity] += 1;
    }

    pub(super) fn count(&mut self, arity: usize, table: &Table) {
        self.of_arity(arity);
        self.entries += match table {
            Table::Dense(costs) => costs.len() as u64,
            Table::Sparse(sparse) => sparse.len() as u64,
        };
    }
}

/// Returns the share of all pairs of variables that share a function.
///
/// # Errors
/// Returns [`Error::Stopped`] once `stop` is set.
pub fn density(problem: &Problem, stop: &Stop) -> Result<f64, Error> {
    let (n, linked) = (problem.variables() as f64, Graph::new(problem, stop)?.arrays().1.len());
    Ok(if n < 2.0 { 0.0 } else { linked as f64 / (n * (n - 1.0)) })
}

/// The statistics of the reductions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Reduction {
    /// Size of the network.
    pub before: Size,
    /// Size of the reduced problem.
    pub after: Size,
    /// Number of functions added to another one of the same scope.
    pub merged: usize,
    /// Number of variables eliminated, including those with one remaining value.
    pub eliminated: usize,
    /// Number of variables replaced by a function of another one.
    pub substituted: usize,
    /// Number of pairs of variables merged into one.
    pub tied: usize,
    /// Number of functions split into costs of one variable and a function of the others.
    pub separated: usize,
    /// Number of values removed because no solution has them.
    pub inconsistent: usize,
    /// Number of values removed because another one is never worse.
    pub dominated: usize,
    /// Number of connected components of the reduced problem.
    pub components: usize,
}
