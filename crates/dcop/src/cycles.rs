//! What all local searches in synchronous cycles share: what is asked for, what is found, and finite costs.

use crate::model::{Cost, FORBIDDEN, Problem};

/// Cycles at most, unless a limit is given.
pub const CYCLES: u64 = 1000;

/// The choices of a local search.
#[derive(Clone, Copy, Debug)]
pub struct LocalOptions {
    /// Cycles at most; `None` stands for [`CYCLES`], and for no limit where Max-sum runs on a network without cycles,
    /// because it ends there by itself.
    pub cycles: Option<u64>,
    /// Seed of first values and choices.
    pub seed: u64,
    /// With which probability an agent of DSA changes its value: 0.7, as in the paper's experiments and pyDCOP.
    pub probability: f64,
    /// The share of the last message that Max-sum keeps where the network has cycles: 0.5, as pyDCOP.
    pub damping: f64,
}

impl Default for LocalOptions {
    fn default() -> Self {
        LocalOptions { cycles: None, seed: 1, probability: 0.7, damping: 0.5 }
    }
}

/// What a local search found.
#[derive(Clone, Debug, PartialEq)]
pub struct LocalFound {
    /// The best assignment that all agents together had.
    pub assignment: Vec<u32>,
    /// Its cost; [`FORBIDDEN`] where an entry forbids it.
    pub cost: Cost,
    /// Cycles until no agent had a reason to change, or the limit.
    pub cycles: u64,
    /// Messages.
    pub messages: u64,
    /// Values and costs in all messages.
    pub message_entries: u64,
}

/// Costs with a finite amount in place of what is forbidden: more than all finite costs of an assignment together, so
/// that the number of violations counts first.
pub(super) struct Penalties {
    forbidden: i128,
    /// The least cost of each variable's values.
    unary: Vec<Cost>,
    /// The least cost of each function.
    least: Vec<Cost>,
}

impl Penalties {
    pub fn new(problem: &Problem) -> Self {
        let least_of = |costs: &Vec<Cost>| costs.iter().copied().min().unwrap_or(0);
        let unary: Vec<Cost> = problem.unary.iter().map(least_of).collect();
        let least: Vec<Cost> = problem.functions.iter().map(|function| function.min(&problem.domains)).collect();
        let range = |costs: &mut dyn Iterator<Item = Cost>, least: Cost| match least {
            FORBIDDEN.. => 0,
            _ => i128::from(costs.filter(|&cost| cost < FORBIDDEN).max().unwrap_or(least).max(least) - least),
        };
        let of_values =
            problem.unary.iter().zip(&unary).map(|(costs, &least)| range(&mut costs.iter().copied(), least));
        let functions = problem.functions.iter().zip(&least);
        let of_functions = functions.map(|(function, &least)| range(&mut function.table.costs(), least));
        Penalties { forbidden: 1 + of_values.chain(of_functions).sum::<i128>(), unary, least }
    }

    /// What a cost adds beyond `least`.
    fn beyond(&self, cost: Cost, least: Cost) -> i128 {
        match cost {
            FORBIDDEN.. => self.forbidden,
            _ => i128::from(cost - least),
        }
    }

    /// What a value of a variable costs beyond the variable's least cost.
    pub fn value(&self, v: usize, cost: Cost) -> i128 {
        self.beyond(cost, self.unary[v])
    }

    /// What an entry of a function costs beyond the function's least cost.
    pub fn entry(&self, f: usize, cost: Cost) -> i128 {
        self.beyond(cost, self.least[f])
    }

    /// A bound on the sum of all these amounts under any assignment.
    pub fn most(&self) -> i128 {
        self.forbidden.saturating_mul((self.unary.len() + self.least.len() + 1) as i128)
    }
}

impl LocalFound {
    /// Takes an assignment that costs less.
    pub(super) fn offer(&mut self, problem: &Problem, assignment: &[u32]) {
        let cost = problem.cost(assignment);
        if cost < self.cost {
            (self.cost, self.assignment) = (cost, assignment.to_vec());
        }
    }
}
