//! Partially observable Markov decision processes, of one agent or of several agents whose actions are chosen jointly.

/// A sparse matrix, stored by rows.
#[derive(Clone, Debug, PartialEq)]
pub struct SparseRows {
    begin: Vec<usize>,
    entries: Vec<(u32, f64)>,
}

impl SparseRows {
    /// Builds the matrix from rows of pairs of column and number, in ascending order of columns.
    pub fn new<R: IntoIterator<Item = (u32, f64)>>(rows: impl IntoIterator<Item = R>) -> Self {
        let mut made = SparseRows { begin: vec![0], entries: Vec::new() };
        for row in rows {
            made.entries.extend(row);
            made.begin.push(made.entries.len());
        }
        made
    }

    /// Returns the pairs of column and number of a row.
    #[inline]
    pub fn row(&self, row: usize) -> &[(u32, f64)] {
        &self.entries[self.begin[row]..self.begin[row + 1]]
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.begin.len() - 1
    }

    /// Returns the number of entries of all rows.
    pub fn entries(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The actions and observations of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agent {
    /// The agent's name.
    pub name: String,
    /// Names of the agent's actions.
    pub actions: Vec<String>,
    /// Names of the agent's observations.
    pub observations: Vec<String>,
}

/// A partially observable Markov decision process.
///
/// If there are several agents, actions and observations are joint ones; the last agent's index varies fastest.
#[derive(Clone, Debug, PartialEq)]
pub struct Pomdp {
    /// The process's name: that of its file.
    pub name: String,
    /// Names of the states.
    pub states: Vec<String>,
    /// The agents; at least one.
    pub agents: Vec<Agent>,
    /// The discount factor between the rewards of consecutive steps.
    pub discount: f64,
    /// The probability of each state at the beginning.
    pub start: Vec<f64>,
    /// For each action and state, the probabilities of the next state.
    pub transitions: Vec<SparseRows>,
    /// For each action and next state, the probabilities of the observations.
    pub observations: Vec<SparseRows>,
    /// For each action, the expected reward of a step in each state; a file's costs are negated.
    pub rewards: Vec<Vec<f64>>,
}

impl Pomdp {
    /// Returns the number of joint actions.
    pub fn actions(&self) -> usize {
        self.transitions.len()
    }

    /// Returns the number of joint observations.
    pub fn observed(&self) -> usize {
        self.agents.iter().map(|agent| agent.observations.len()).product()
    }

    /// Returns the action of each agent in a joint action.
    pub fn action_of(&self, joint: usize) -> Vec<usize> {
        digits(joint, self.agents.iter().map(|agent| agent.actions.len()))
    }

    /// Returns the observation of each agent in a joint observation.
    pub fn observation_of(&self, joint: usize) -> Vec<usize> {
        digits(joint, self.agents.iter().map(|agent| agent.observations.len()))
    }

    /// Returns the name of a joint action: the agents' actions, separated by blanks.
    pub fn action_name(&self, joint: usize) -> String {
        let own = self.agents.iter().zip(self.action_of(joint));
        own.map(|(agent, action)| agent.actions[action].as_str()).collect::<Vec<_>>().join(" ")
    }

    /// Returns the name of a joint observation: the agents' observations, separated by blanks.
    pub fn observation_name(&self, joint: usize) -> String {
        let own = self.agents.iter().zip(self.observation_of(joint));
        own.map(|(agent, seen)| agent.observations[seen].as_str()).collect::<Vec<_>>().join(" ")
    }

    /// Returns the largest absolute reward.
    pub fn largest_reward(&self) -> f64 {
        self.rewards.iter().flatten().fold(0.0, |most: f64, reward| most.max(reward.abs()))
    }
}

/// Returns the digits of a mixed-radix number, the last one varying fastest.
fn digits(mut number: usize, sizes: impl DoubleEndedIterator<Item = usize>) -> Vec<usize> {
    let mut digits: Vec<usize> = sizes
        .rev()
        .map(|size| {
            let digit = number % size;
            number /= size;
            digit
        })
        .collect();
    digits.reverse();
    digits
}
