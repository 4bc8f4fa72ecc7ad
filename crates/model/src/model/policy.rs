//! Policies: actions or choices as functions of observations.

use serde::{Deserialize, Serialize};

/// A finite-horizon policy as a graph: each node has an action and a successor for each observation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PolicyGraph {
    /// Number of steps.
    pub horizon: usize,
    /// Names of the actions.
    pub actions: Vec<String>,
    /// Names of the observations.
    pub observations: Vec<String>,
    /// The nodes; the policy starts at the first.
    pub nodes: Vec<PolicyNode>,
}

/// A node of a policy graph.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PolicyNode {
    /// The step, from 0.
    pub step: usize,
    /// The index of the node's action.
    pub action: usize,
    /// The successor for each observation; `None` in the last step, or if the observation is impossible.
    pub next: Vec<Option<usize>>,
}

/// The rule of a decision of an influence diagram.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DecisionRule {
    /// The index of the decision variable.
    pub decision: u32,
    /// The name of the decision variable.
    pub name: String,
    /// The variables that the choice depends on, the last one varying fastest.
    pub sees: Vec<u32>,
    /// The choice for each combination of the values of `sees`.
    pub choices: Vec<u32>,
    /// For each combination, whether the choice is better than any other by more than the numerical error.
    pub certain: Vec<bool>,
}

/// The decision rules of an influence diagram, in temporal order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rules {
    /// One rule for each decision.
    pub decisions: Vec<DecisionRule>,
}

/// The policies of a team of agents, each of which depends only on the agent's own observations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JointPolicy {
    /// The policy of each agent, over its own actions and observations.
    pub agents: Vec<PolicyGraph>,
}

/// A policy as stored in a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Policy {
    /// A policy of a single agent over several steps.
    Graph(PolicyGraph),
    /// A policy of a team of agents that do not share their observations.
    Joint(JointPolicy),
    /// The decision rules of an influence diagram.
    Rules(Rules),
}

/// A stored policy with the problem that it solves and its claimed value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PolicyFile {
    /// The name of the instance.
    pub instance: String,
    /// The kind of problem: `id`, `limid`, `pomdp` or `idid`.
    pub kind: String,
    /// The claimed maximum expected utility.
    pub meu: Option<f64>,
    /// A bound on the error of `meu`.
    #[serde(default)]
    pub error_bound: f64,
    /// The discount of the process, if it differs from the file's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discount: Option<f64>,
    /// The initial belief of the process, if it differs from the file's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub belief: Option<Vec<f64>>,
    /// Observed variables of the diagram and their values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub observe: Vec<(u32, u32)>,
    /// The policy itself.
    #[serde(flatten)]
    pub policy: Policy,
}
