//! What to do, and within which limits.

use super::device::Device;
use crate::memory;
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
            memory: memory::available() / 2,
            nodes: 1 << 20,
            exact_limit: 1e6,
            device: Arc::default(),
        }
    }
}
