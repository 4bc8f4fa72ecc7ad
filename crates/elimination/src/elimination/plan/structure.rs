//! What is eliminated, in which order and how.

use crate::model::Scope;
use crate::threads::Large;

/// Where an input comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// The unary costs of the eliminated variable.
    Unary,
    /// A function of the problem.
    Function(u32),
    /// The message of an earlier step.
    Message(u32),
}

/// A table that is joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// Where it comes from.
    pub source: Source,
    /// Positions it reads, ascending; the first is the one eliminated.
    pub scope: Scope,
}

/// One mini-bucket: join the inputs, take the minimum over the variable at `position`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Position of the eliminated variable.
    pub position: u32,
    /// What is joined.
    pub inputs: Box<[Input]>,
    /// Positions of the message, ascending; the message goes to the bucket of the first. Empty for a constant.
    pub scope: Scope,
    /// Entries of the message.
    pub entries: u64,
    /// Combinations looked at: entries times the domain size of the eliminated variable.
    pub joint: u64,
    /// The only input is a function too large to lay out: the message is its minimum over all positions that
    /// are missing from `scope`, made from its own entries.
    pub lowered: bool,
}

/// What is eliminated, in which order and how: nothing of what entries are or where tables lie.
#[derive(Clone, Debug)]
pub struct EliminationPlan {
    /// The variables, the first eliminated first.
    pub sequence: Vec<u32>,
    /// Mini-buckets in the order of their execution; those of one variable follow each other.
    pub steps: Large<Step>,
    /// `steps[first[p]..first[p + 1]]` eliminate position `p`.
    pub first: Vec<u32>,
    /// Domain size at each position.
    pub domains: Vec<u32>,
    /// Most variables of a mini-bucket that was allowed; the most that there are where nothing was split.
    pub z: u32,
    /// No bucket was split and no function lowered: the result is that of the whole network.
    pub exact: bool,
    /// Work: value combinations of all mini-buckets together, in all slices.
    pub joint_entries: u64,
    /// Entries of the largest message.
    pub largest_table: u64,
}

impl EliminationPlan {
    /// `be` or `mbe(z)`.
    pub fn name(&self) -> String {
        if self.exact { "be".into() } else { format!("mbe({})", self.z) }
    }

    /// The plan of the bucket of position 0 alone, of the variables 0, 1, ...
    pub fn of_bucket(domains: Vec<u32>, steps: Vec<Step>) -> Self {
        let count = steps.len() as u32;
        EliminationPlan {
            sequence: (0..domains.len() as u32).collect(),
            first: std::iter::once(0).chain(domains.iter().map(|_| count)).collect(),
            domains,
            z: steps.iter().map(|step| step.scope.len() as u32 + 1).max().unwrap_or(1),
            exact: count <= 1,
            joint_entries: steps.iter().map(|step| step.joint).fold(0, u64::saturating_add),
            largest_table: steps.iter().map(|step| step.entries).max().unwrap_or(0),
            steps: steps.into(),
        }
    }

    /// All positions of a mini-bucket, ascending.
    pub fn scope(&self, step: usize) -> Vec<u32> {
        std::iter::once(self.steps[step].position).chain(self.steps[step].scope.iter().copied()).collect()
    }

    /// The steps that eliminate a position.
    pub fn bucket(&self, position: usize) -> &[Step] {
        &self.steps[self.first[position] as usize..self.first[position + 1] as usize]
    }
}
