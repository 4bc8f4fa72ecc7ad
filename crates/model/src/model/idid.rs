//! Interactive dynamic influence diagrams of two agents.

use super::{Agent, Pomdp};

/// An interactive dynamic influence diagram: agent i decides while it models another agent, j, by the problems that j
/// may be solving.
#[derive(Clone, Debug, PartialEq)]
pub struct Idid {
    /// The diagram's name: that of its file.
    pub name: String,
    /// The state transitions, the observations of both agents and the rewards of i, by the actions of both. Agent 0 is
    /// i, agent 1 is j.
    pub frame: Pomdp,
    /// The problem that j solves; its states may differ.
    pub other: Other,
    /// The beliefs that j may have, over the states of the problem that it solves, each with its weight; the weights
    /// sum to 1.
    pub models: Vec<(Vec<f64>, f64)>,
    /// The number of steps that i decides.
    pub horizon: usize,
    /// The number of steps that j still has when i begins.
    pub other_horizon: usize,
    /// The initial belief of i, over the states.
    pub belief: Vec<f64>,
}

/// The problem that the other agent solves.
#[derive(Clone, Debug, PartialEq)]
pub enum Other {
    /// A POMDP: the other agent is unaware of the first.
    Alone(Pomdp),
    /// An interactive diagram, in which the other agent models the first. The belief of a model replaces the diagram's.
    Interactive(Box<Idid>),
}

impl Idid {
    /// Returns the level of the diagram: 1 if the other agent solves a POMDP, else one more than that of its diagram.
    pub fn level(&self) -> usize {
        match &self.other {
            Other::Alone(_) => 1,
            Other::Interactive(below) => 1 + below.level(),
        }
    }

    /// Sets the discount of all agents.
    pub fn set_discount(&mut self, discount: f64) {
        self.frame.discount = discount;
        match &mut self.other {
            Other::Alone(process) => process.discount = discount,
            Other::Interactive(below) => below.set_discount(discount),
        }
    }
}

impl Other {
    /// Returns the process whose states, actions and observations the problem uses.
    pub fn frame(&self) -> &Pomdp {
        match self {
            Other::Alone(process) => process,
            Other::Interactive(diagram) => &diagram.frame,
        }
    }

    /// Returns the agent that solves the problem.
    pub fn agent(&self) -> &Agent {
        &self.frame().agents[0]
    }
}
