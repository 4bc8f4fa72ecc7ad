//! Policies: what to do, by what was seen.

use serde::{Deserialize, Serialize};

/// A policy of a sequence of steps: each node says what to do and where each observation leads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PolicyGraph {
    /// Number of steps.
    pub horizon: usize,
    /// Names of the actions.
    pub actions: Vec<String>,
    /// Names of the observations.
    pub observations: Vec<String>,
    /// The nodes; the first one is where the policy begins.
    pub nodes: Vec<PolicyNode>,
}

/// A node of a policy graph.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PolicyNode {
    /// The step, from 0.
    pub step: usize,
    /// What is done, an index of the actions.
    pub action: usize,
    /// The node that each observation leads to; none where the step is the last, or the observation cannot be made.
    pub next: Vec<Option<usize>>,
}

/// What a decision of a diagram chooses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DecisionRule {
    /// The decision.
    pub decision: u32,
    /// Its name.
    pub name: String,
    /// The variables that the choice depends on, the last one running fastest.
    pub sees: Vec<u32>,
    /// The choice for each combination of their values.
    pub choices: Vec<u32>,
    /// Whether the choice is better than any other by more than the arithmetic can be wrong.
    pub certain: Vec<bool>,
}

/// The rules of a diagram's decisions, first decided first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rules {
    /// The rules.
    pub decisions: Vec<DecisionRule>,
}

/// What each agent of a team does, by what it has seen itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JointPolicy {
    /// The policy of each agent, over its own actions and observations.
    pub agents: Vec<PolicyGraph>,
}

/// A policy as a file has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Policy {
    /// Of steps with observations.
    Graph(PolicyGraph),
    /// Of agents that do not share their observations.
    Joint(JointPolicy),
    /// Of a diagram.
    Rules(Rules),
}

/// A policy with what it was made for and what it is said to be worth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PolicyFile {
    /// The instance.
    pub instance: String,
    /// `id`, `limid`, `pomdp` or `idid`.
    pub kind: String,
    /// The expected utility that it is said to have.
    pub meu: Option<f64>,
    /// How far that may be from the exact one.
    #[serde(default)]
    pub error_bound: f64,
    /// The discount of a process, where it is not the file's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discount: Option<f64>,
    /// The belief at the beginning of a process, where it is not the file's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub belief: Option<Vec<f64>>,
    /// Observed variables of a diagram and their values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub observe: Vec<(u32, u32)>,
    /// What is done.
    #[serde(flatten)]
    pub policy: Policy,
}
