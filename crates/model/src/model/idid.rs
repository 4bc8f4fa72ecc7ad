//! Interactive dynamic influence diagrams of two agents.

use super::{Agent, Pomdp};

/// What agent i decides who models another agent, j, by what j may be solving.
#[derive(Clone, Debug, PartialEq)]
pub struct Idid {
    /// Its name, as the file's.
    pub name: String,
    /// How the state changes, what both agents see and what i gains, by the actions of both: agents i and j.
    pub frame: Pomdp,
    /// What j solves; its states may be others.
    pub other: Other,
    /// What j may believe, over the states of what it solves, and the weight of each; weights sum to 1.
    pub models: Vec<(Vec<f64>, f64)>,
    /// Steps that i decides.
    pub horizon: usize,
    /// Steps that j has to go when i begins.
    pub other_horizon: usize,
    /// What i believes of the state at the beginning.
    pub belief: Vec<f64>,
}

/// What the other agent solves.
#[derive(Clone, Debug, PartialEq)]
pub enum Other {
    /// A process, unaware of the first agent.
    Alone(Pomdp),
    /// An interactive diagram, whose second agent is the first one as this agent models it. The belief of a model takes
    /// the place of the diagram's.
    Interactive(Box<Idid>),
}

impl Idid {
    /// 1 where the other agent solves a process, one more than the level of the diagram that it solves.
    pub fn level(&self) -> usize {
        match &self.other {
            Other::Alone(_) => 1,
            Other::Interactive(below) => 1 + below.level(),
        }
    }

    /// Gives all agents a discount.
    pub fn set_discount(&mut self, discount: f64) {
        self.frame.discount = discount;
        match &mut self.other {
            Other::Alone(process) => process.discount = discount,
            Other::Interactive(below) => below.set_discount(discount),
        }
    }
}

impl Other {
    /// What its states are, and what both or it alone do and see.
    pub fn frame(&self) -> &Pomdp {
        match self {
            Other::Alone(process) => process,
            Other::Interactive(diagram) => &diagram.frame,
        }
    }

    /// What it does and sees itself.
    pub fn agent(&self) -> &Agent {
        &self.frame().agents[0]
    }
}
