//! Partially observable Markov decision processes, of one agent or of several whose actions are chosen together.

/// Rows of numbers of which most are 0.
#[derive(Clone, Debug, PartialEq)]
pub struct SparseRows {
    begin: Vec<usize>,
    entries: Vec<(u32, f64)>,
}

impl SparseRows {
    /// Rows of pairs of column and number, ascending columns.
    pub fn new<R: IntoIterator<Item = (u32, f64)>>(rows: impl IntoIterator<Item = R>) -> Self {
        let mut made = SparseRows { begin: vec![0], entries: Vec::new() };
        for row in rows {
            made.entries.extend(row);
            made.begin.push(made.entries.len());
        }
        made
    }

    /// A row.
    #[inline]
    pub fn row(&self, row: usize) -> &[(u32, f64)] {
        &self.entries[self.begin[row]..self.begin[row + 1]]
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.begin.len() - 1
    }

    /// Number of entries of all rows.
    pub fn entries(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// What an agent may do and see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agent {
    /// Its name.
    pub name: String,
    /// Names of its actions.
    pub actions: Vec<String>,
    /// Names of its observations.
    pub observations: Vec<String>,
}

/// A partially observable Markov decision process.
///
/// Actions and observations of several agents are joint ones: the last agent's run fastest.
#[derive(Clone, Debug, PartialEq)]
pub struct Pomdp {
    /// Its name, as the file's.
    pub name: String,
    /// Names of the states.
    pub states: Vec<String>,
    /// Who acts; at least one.
    pub agents: Vec<Agent>,
    /// The factor by which a step's rewards count less than those of the step before.
    pub discount: f64,
    /// Probability of each state at the beginning.
    pub start: Vec<f64>,
    /// For each action and state, the probabilities of the next state.
    pub transitions: Vec<SparseRows>,
    /// For each action and next state, the probabilities of what is observed.
    pub observations: Vec<SparseRows>,
    /// For each action, the expected reward of a step in each state; costs of the file are negated.
    pub rewards: Vec<Vec<f64>>,
}

impl Pomdp {
    /// Number of actions, joint ones.
    pub fn actions(&self) -> usize {
        self.transitions.len()
    }

    /// Number of observations, joint ones.
    pub fn observed(&self) -> usize {
        self.agents.iter().map(|agent| agent.observations.len()).product()
    }

    /// What each agent does in a joint action.
    pub fn action_of(&self, joint: usize) -> Vec<usize> {
        digits(joint, self.agents.iter().map(|agent| agent.actions.len()))
    }

    /// What each agent sees of a joint observation.
    pub fn observation_of(&self, joint: usize) -> Vec<usize> {
        digits(joint, self.agents.iter().map(|agent| agent.observations.len()))
    }

    /// The name of an action: those of the agents, separated by blanks.
    pub fn action_name(&self, joint: usize) -> String {
        let own = self.agents.iter().zip(self.action_of(joint));
        own.map(|(agent, action)| agent.actions[action].as_str()).collect::<Vec<_>>().join(" ")
    }

    /// The name of an observation: those of the agents, separated by blanks.
    pub fn observation_name(&self, joint: usize) -> String {
        let own = self.agents.iter().zip(self.observation_of(joint));
        own.map(|(agent, seen)| agent.observations[seen].as_str()).collect::<Vec<_>>().join(" ")
    }

    /// The largest absolute reward.
    pub fn largest_reward(&self) -> f64 {
        self.rewards.iter().flatten().fold(0.0, |most: f64, reward| most.max(reward.abs()))
    }
}

/// The digits of a number of mixed radix, the last one running fastest.
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
