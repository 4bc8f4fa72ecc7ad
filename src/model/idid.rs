//! Interactive dynamic influence diagrams of two agents.

use super::Pomdp;

/// What agent i decides who models another agent, j, by processes that j may be solving.
#[derive(Clone, Debug, PartialEq)]
pub struct Idid {
    /// Its name, as the file's.
    pub name: String,
    /// How the state changes, what both agents see and what i gains, by the actions of both: agents i and j.
    pub frame: Pomdp,
    /// The process that j solves, unaware of i; its states may be others.
    pub other: Pomdp,
    /// What j may believe, over the states of its own process, and the weight of each; weights sum to 1.
    pub models: Vec<(Vec<f64>, f64)>,
    /// Steps that i decides.
    pub horizon: usize,
    /// Steps that j has to go when i begins.
    pub other_horizon: usize,
    /// What i believes of the state at the beginning.
    pub belief: Vec<f64>,
}
