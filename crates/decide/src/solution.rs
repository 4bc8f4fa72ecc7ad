//! The result of a solver.

use super::first::Interval;
use super::options::Method;
use crate::model::Policy;

/// The result of a solver with its statistics; fields that do not apply are `None`.
#[derive(Clone, Debug)]
pub struct Solution {
    /// The kind of problem: `id`, `limid`, `pomdp` or `idid`.
    pub kind: &'static str,
    /// The method that found the value.
    pub method: Method,
    /// The expected utility of the policy; `None` before there is a policy.
    pub meu: Option<f64>,
    /// An upper bound on the value of the best policy, up to `error_bound`.
    pub bound: Option<f64>,
    /// A lower bound on the value of the best policy; with `bound` it gives an interval before there is a policy.
    pub lower: Option<f64>,
    /// Whether no policy is better.
    pub exact: bool,
    /// The absolute error of the value against exact arithmetic, at most.
    pub error_bound: f64,
    /// The product of the constants of the probabilities: 1 up to rounding in the file, or the probability of the
    /// observation.
    pub normaliser: Option<f64>,
    /// Whether the value is conditional on the observation.
    pub conditional: bool,
    /// The number of steps of a process.
    pub horizon: Option<usize>,
    /// The first decisions and their values, by name, if they depend on nothing.
    pub first_decision: Vec<(String, String)>,
    /// The number of decisions of a diagram.
    pub decisions: Option<usize>,
    /// The number of unobserved chance variables of a diagram.
    pub chance: Option<usize>,
    /// The number of utilities of a diagram.
    pub utilities: Option<usize>,
    /// The largest number of variables of a joint table besides the eliminated one.
    pub width: Option<usize>,
    /// Entries of the largest joint table.
    pub largest_table: Option<f64>,
    /// Entries of all joint tables.
    pub joint_entries: Option<f64>,
    /// Mean entries of the joint tables of probabilities.
    pub mean_probability_factor: Option<f64>,
    /// Mean entries of the joint tables of probabilities and utilities.
    pub mean_utility_factor: Option<f64>,
    /// The number of the other agent's models at each step; models with equal beliefs are one.
    pub models_per_step: Option<Vec<usize>>,
    /// The number of the other agent's models at each step; models of equal behavior are one.
    pub classes_per_step: Option<Vec<usize>>,
    /// The number of beliefs of the tree, or of vectors.
    pub nodes: Option<u64>,
    /// The seconds to solve the other agent's models.
    pub level0_s: Option<f64>,
    /// The seconds to expand the other agent's models.
    pub expand_s: Option<f64>,
    /// Bytes that exact tables would have taken.
    pub needed_bytes: Option<f64>,
    /// The policy.
    pub policy: Option<Policy>,
}

impl Solution {
    pub(super) fn new(kind: &'static str) -> Self {
        Solution {
            kind,
            method: Method::Auto,
            meu: None,
            bound: None,
            lower: None,
            exact: false,
            error_bound: 0.0,
            normaliser: None,
            conditional: false,
            horizon: None,
            first_decision: Vec::new(),
            decisions: None,
            chance: None,
            utilities: None,
            width: None,
            largest_table: None,
            joint_entries: None,
            mean_probability_factor: None,
            mean_utility_factor: None,
            models_per_step: None,
            classes_per_step: None,
            nodes: None,
            level0_s: None,
            expand_s: None,
            needed_bytes: None,
            policy: None,
        }
    }

    /// Returns the solution with bounds from an interval that contains the value of the best policy.
    pub(super) fn within(self, interval: Option<Interval>) -> Self {
        Solution { lower: interval.map(|own| own.least), bound: interval.map(|own| own.most), ..self }
    }
}
