//! What was found, and what it took.

use super::first::Interval;
use super::options::Method;
use crate::model::Policy;

/// What was found, and what it took; what does not apply is not there.
#[derive(Clone, Debug)]
pub struct Solution {
    /// `id`, `limid`, `pomdp` or `idid`.
    pub kind: &'static str,
    /// The method that found the value.
    pub method: Method,
    /// The expected utility of the policy.
    pub meu: Option<f64>,
    /// What no policy exceeds, but for `error_bound`.
    pub bound: Option<f64>,
    /// What the best policy is worth at least: with `bound`, an interval before there is a policy.
    pub lower: Option<f64>,
    /// Whether no policy is better.
    pub exact: bool,
    /// How far the value may be from that of exact arithmetic.
    pub error_bound: f64,
    /// The product of the constants of probabilities: 1, but for rounding of the file, or the probability of what is
    /// observed.
    pub normaliser: Option<f64>,
    /// Whether the value is given the observation.
    pub conditional: bool,
    /// Steps.
    pub horizon: Option<usize>,
    /// The first decisions and their values, by name, where they depend on nothing.
    pub first_decision: Vec<(String, String)>,
    /// Number of decisions, chance variables and utilities of a diagram.
    pub decisions: Option<usize>,
    /// The same.
    pub chance: Option<usize>,
    /// The same.
    pub utilities: Option<usize>,
    /// Most variables of a joint table, besides the one eliminated.
    pub width: Option<usize>,
    /// Entries of the largest joint table.
    pub largest_table: Option<f64>,
    /// Entries of all joint tables.
    pub joint_entries: Option<f64>,
    /// Mean entries of the joint tables of probabilities.
    pub mean_probability_factor: Option<f64>,
    /// Mean entries of the joint tables of probabilities and utilities.
    pub mean_utility_factor: Option<f64>,
    /// Models of the other agent at each step, equal beliefs being one.
    pub models_per_step: Option<Vec<usize>>,
    /// The same where those that act alike are one.
    pub classes_per_step: Option<Vec<usize>>,
    /// Beliefs of the tree, or vectors.
    pub nodes: Option<u64>,
    /// Seconds to solve the other agent's models.
    pub level0_s: Option<f64>,
    /// Seconds to expand them.
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

    /// Takes an interval that holds the value of the best policy.
    pub(super) fn within(self, interval: Option<Interval>) -> Self {
        Solution { lower: interval.map(|own| own.least), bound: interval.map(|own| own.most), ..self }
    }
}
