//! Decisions under uncertainty: influence diagrams, POMDPs and interactive dynamic influence diagrams of two agents.
//!
//! Diagrams are eliminated on pairs (`pairs`) of probabilities and utilities; processes are solved along the beliefs
//! that can be reached (`tree`), by linear functions of beliefs (`alpha`), or as the diagram that they stand for
//! (`flat`). The other agent of an interactive diagram is solved first, all its models at once, and becomes a part of
//! the state (`idid`). Where nothing of that has room, a policy gives a value from below and a relaxation one from
//! above.

mod alpha;
mod beliefs;
mod device;
#[cfg(test)]
mod device_tests;
mod diagram;
mod first;
#[cfg(test)]
mod first_tests;
mod flat;
mod front;
mod idid;
#[cfg(test)]
mod level_tests;
mod limid;
mod magnitude;
#[cfg(test)]
mod observation_tests;
pub mod pairs;
mod process;
mod solve;
mod team;
#[cfg(test)]
pub(crate) mod tests;
mod tree;
mod tuning;

// other crates, by the names that their areas have everywhere
use fangs_base::{error, memory, rng, stop};
use fangs_check as check;
use fangs_elimination::{algebra, elimination, tensor};
#[cfg(test)]
use fangs_formats as formats;
#[cfg(test)]
use fangs_generate as generate;
use fangs_kernels as kernels;
use fangs_model::model;

pub use beliefs::sources;
pub use device::Device;
pub use diagram::pairs_of;
pub use diagram::solve_diagram;
pub use flat::{flat_idid, flat_pomdp};
pub use solve::{solve_idid, solve_pomdp};

use crate::model::Policy;
use first::Interval;
use std::sync::Arc;

/// How a problem is solved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// What fits the problem and has room.
    #[default]
    Auto,
    /// Elimination on pairs; of processes as flat diagrams.
    Eliminate,
    /// Along reachable beliefs.
    BeliefTree,
    /// Linear functions of beliefs, backwards from the horizon.
    Alpha,
    /// Single policy updating of decisions that forget.
    Spu,
    /// Branch and bound over the joint policies of agents that do not share their observations.
    Team,
}

impl Method {
    /// All methods with their names.
    pub const ALL: [(&'static str, Method); 6] = [
        ("auto", Method::Auto),
        ("eliminate", Method::Eliminate),
        ("belief-tree", Method::BeliefTree),
        ("alpha", Method::Alpha),
        ("spu", Method::Spu),
        ("team", Method::Team),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, method)| *method == self).map_or("", |(name, _)| name)
    }
}

/// What to do, and within which limits.
#[derive(Clone, Debug)]
pub struct Options {
    /// The method.
    pub method: Method,
    /// Steps of a process.
    pub horizon: Option<usize>,
    /// The belief at the beginning of a process, in place of the file's.
    pub belief: Option<Vec<f64>>,
    /// The discount of a process, in place of the file's.
    pub discount: Option<f64>,
    /// Observed variables of a diagram and their values.
    pub observe: Vec<(u32, u32)>,
    /// Bytes of tables and trees.
    pub memory: u64,
    /// Most beliefs of a step, and most vectors.
    pub nodes: usize,
    /// Most policies that a search tries.
    pub exact_limit: f64,
    /// Where to run.
    pub device: Arc<Device>,
}

impl Default for Options {
    /// Half of the memory that is free, a million of each.
    fn default() -> Self {
        Options {
            method: Method::Auto,
            horizon: None,
            belief: None,
            discount: None,
            observe: Vec::new(),
            memory: crate::memory::available() / 2,
            nodes: 1 << 20,
            exact_limit: 1e6,
            device: Arc::default(),
        }
    }
}

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
    fn new(kind: &'static str) -> Self {
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
    fn within(self, interval: Option<Interval>) -> Self {
        Solution { lower: interval.map(|own| own.least), bound: interval.map(|own| own.most), ..self }
    }
}
