//! Definitions that all local searches in synchronous cycles share: options, results, and finite costs for hard
//! constraints.

use crate::model::{Cost, FORBIDDEN, Problem};

/// The default limit of cycles.
pub const CYCLES: u64 = 1000;

/// The options of a local search.
#[derive(Clone, Copy, Debug)]
pub struct LocalOptions {
    /// The limit of cycles; `None` stands for [`CYCLES`], or for no limit if Max-sum runs on a network without cycles,
    /// because it terminates there.
    pub cycles: Option<u64>,
    /// The seed of initial values and choices.
    pub seed: u64,
    /// The probability with which an agent of DSA changes its value: 0.7, as in the paper's experiments and pyDCOP.
    pub probability: f64,
    /// The fraction of the last message that Max-sum keeps if the network has cycles: 0.5, as in pyDCOP.
    pub damping: f64,
}

impl Default for LocalOptions {
    fn default() -> Self {
        LocalOptions { cycles: None, seed: 1, probability: 0.7, damping: 0.5 }
    }
}

/// The result of a local search.
#[derive(Clone, Debug, PartialEq)]
pub struct LocalFound {
    /// The best assignment of all cycles.
    pub assignment: Vec<u32>,
    /// The cost of the assignment; [`FORBIDDEN`] if a tuple is forbidden.
    pub cost: Cost,
    /// The number of cycles until no agent had a reason to change, or the limit.
    pub cycles: u64,
    /// The number of messages.
    pub messages: u64,
    /// The number of values and costs in all messages.
    pub message_entries: u64,
}

/// The state of a local search at the end of a cycle.
#[derive(Clone, Copy, Debug)]
pub struct Cycle<'a> {
    /// The number of cycles so far, this one included.
    pub number: u64,
    /// The number of messages in all cycles so far.
    pub messages: u64,
    /// The number of values and costs in these messages.
    pub message_entries: u64,
    /// The values that the agents have chosen.
    pub values: &'a [u32],
}

/// Costs in which a finite amount replaces the cost of a forbidden tuple. The amount exceeds the sum of all finite
/// costs of any assignment, so that agents compare numbers of violations first.
pub(super) struct Penalties {
    /// The amount of a forbidden tuple.
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

    /// Returns the difference of a cost and `least`, or the amount of a forbidden tuple.
    fn beyond(&self, cost: Cost, least: Cost) -> i128 {
        match cost {
            FORBIDDEN.. => self.forbidden,
            _ => i128::from(cost - least),
        }
    }

    /// Returns the cost of a variable's value beyond the variable's least cost.
    pub fn value(&self, v: usize, cost: Cost) -> i128 {
        self.beyond(cost, self.unary[v])
    }

    /// Returns the cost of an entry of a function beyond the function's least cost.
    pub fn entry(&self, f: usize, cost: Cost) -> i128 {
        self.beyond(cost, self.least[f])
    }

    /// Returns a bound on the sum of all these amounts under any assignment.
    pub fn most(&self) -> i128 {
        self.forbidden.saturating_mul((self.unary.len() + self.least.len() + 1) as i128)
    }
}

impl LocalFound {
    /// Returns the state after the last cycle, in which the agents chose `values`.
    pub(super) fn cycle<'a>(&self, values: &'a [u32]) -> Cycle<'a> {
        let &LocalFound { cycles: number, messages, message_entries, .. } = self;
        Cycle { number, messages, message_entries, values }
    }

    /// Returns the state at the end of the search, with the best assignment of all cycles.
    pub fn end(&self) -> Cycle<'_> {
        self.cycle(&self.assignment)
    }

    /// Records an assignment if it costs less than the best one.
    pub(super) fn offer(&mut self, problem: &Problem, assignment: &[u32]) {
        let cost = problem.cost(assignment);
        if cost < self.cost {
            (self.cost, self.assignment) = (cost, assignment.to_vec());
        }
    }
}
