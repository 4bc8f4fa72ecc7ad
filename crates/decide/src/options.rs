//! Options of the solvers.

use super::device::Device;
use crate::memory;
use std::sync::Arc;

/// The method that solves a problem.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// The first method that fits the problem and has room.
    #[default]
    Auto,
    /// Elimination on pairs; processes become flat influence diagrams.
    Eliminate,
    /// A belief tree of the reachable beliefs.
    BeliefTree,
    /// Linear functions of beliefs, backwards from the horizon.
    Alpha,
    /// Single policy updating of decisions without perfect recall.
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

    /// Returns the name of the method.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, method)| *method == self).map_or("", |(name, _)| name)
    }
}

/// Options and limits of the solvers.
#[derive(Clone, Debug)]
pub struct Options {
    /// The method.
    pub method: Method,
    /// The number of steps of a process.
    pub horizon: Option<usize>,
    /// The initial belief of a process, which replaces the file's.
    pub belief: Option<Vec<f64>>,
    /// The discount of a process, which replaces the file's.
    pub discount: Option<f64>,
    /// Observed variables of a diagram and their values.
    pub observe: Vec<(u32, u32)>,
    /// Bytes of tables and trees.
    pub memory: u64,
    /// The largest number of beliefs of a step, and of vectors.
    pub nodes: usize,
    /// The largest number of policies that a search enumerates.
    pub exact_limit: f64,
    /// The device to use.
    pub device: Arc<Device>,
}

impl Default for Options {
    /// Returns the automatic method with half of the free memory, and limits of about a million nodes and policies.
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
