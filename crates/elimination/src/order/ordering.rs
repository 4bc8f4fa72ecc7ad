//! Where an elimination order comes from.

use super::{Method, Order, best_order, promising_order};
use crate::error::Error;
use crate::model::Problem;
use crate::stop::Stop;

/// Where an elimination order comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Ordering {
    /// The best of some runs of all rules where elimination may be exact, else of min-fill.
    #[default]
    Promising,
    /// The best of some runs of one rule.
    Rule(Method),
    /// A place for each variable of the network.
    Given(Vec<usize>),
}

impl Ordering {
    /// The order for a problem that has these variables of the network.
    ///
    /// # Errors
    /// [`Error::Stopped`], where the order is given.
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

/// Restarts of a rule with other tie breaks: good orders are worth some time, and large graphs take it.
pub fn restarts(problem: &Problem) -> u32 {
    let size = problem.variables() + problem.functions.len();
    (200_000 / size.max(1)).clamp(1, 64) as u32
}
