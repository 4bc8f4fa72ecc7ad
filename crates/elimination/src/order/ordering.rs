//! The choice of an elimination order.

use super::{Method, Order, best_order, promising_order};
use crate::error::Error;
use crate::model::Problem;
use crate::stop::Stop;

/// The way in which an elimination order is chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Ordering {
    /// The best of some runs of all rules if elimination may be exact, otherwise of min-fill.
    #[default]
    Promising,
    /// The best of some runs of one rule.
    Rule(Method),
    /// A given order: for each variable of the network its place.
    Given(Vec<usize>),
}

impl Ordering {
    /// Returns the order for a problem. `variables` has the network's variable of each variable of the problem.
    ///
    /// # Errors
    /// Returns [`Error::Usage`] if a given order is not valid for the problem.
    pub fn order(&self, variables: &[u32], problem: &Problem, stop: &Stop) -> Result<Order, Error> {
        match self {
            Ordering::Promising => Ok(promising_order(problem, &[Method::MinFill], 1, restarts(problem), stop)),
            Ordering::Rule(method) => Ok(best_order(problem, &[*method], 1, restarts(problem), stop)),
            Ordering::Given(places) => {
                let mut sequence: Vec<u32> = (0..variables.len() as u32).collect();
                sequence.sort_by_key(|&v| places[variables[v as usize] as usize]);
                Order::given(problem, &sequence, stop)
            }
        }
    }
}

/// Returns the number of restarts of a rule with other random ties: good orders are worth some time, and runs on large
/// graphs take more.
pub fn restarts(problem: &Problem) -> u32 {
    let size = problem.variables() + problem.functions.len();
    (200_000 / size.max(1)).clamp(1, 64) as u32
}
