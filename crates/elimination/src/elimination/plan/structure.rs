//! The steps of an elimination in the order of their execution.

use crate::model::Scope;
use crate::threads::Large;

/// The origin of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// The unary costs of the eliminated variable.
    Unary,
    /// The function of the problem with this index.
    Function(u32),
    /// The message of the earlier step with this index.
    Message(u32),
}

/// A table that a step joins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// The origin of the table.
    pub source: Source,
    /// Positions that the table reads, ascending; the first is the eliminated one.
    pub scope: Scope,
}

/// One mini-bucket: the inputs are joined and the variable at `position` is eliminated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Position of the eliminated variable.
    pub position: u32,
    /// The tables that are joined.
    pub inputs: Box<[Input]>,
    /// Positions of the message, ascending; the message goes to the bucket of the first. Empty for a constant.
    pub scope: Scope,
    /// Number of entries of the message.
    pub entries: u64,
    /// Number of combinations: entries times the domain size of the eliminated variable.
    pub joint: u64,
    /// Whether the only input is a function too large for a table. The message is then folded over all positions that
    /// are missing from `scope`, directly from the function's own entries.
    pub lowered: bool,
}

/// The steps of an elimination in their order, independent of the entry type and of the placement of tables.
#[derive(Clone, Debug)]
pub struct EliminationPlan {
    /// The variables in elimination order.
    pub sequence: Vec<u32>,
    /// Mini-buckets in the order of their execution; those of one variable are adjacent.
    pub steps: Large<Step>,
    /// `steps[first[p]..first[p + 1]]` eliminate position `p`.
    pub first: Vec<u32>,
    /// Domain size at each position.
    pub domains: Vec<u32>,
    /// z, the largest number of variables that a mini-bucket may have (i-bound + 1). In an exact plan, the largest
    /// number that occurs.
    pub z: u32,
    /// Whether no bucket was split and no function lowered, so that the result is that of the whole network.
    pub exact: bool,
    /// Work: combinations of all mini-buckets together, in all slices.
    pub joint_entries: u64,
    /// Entries of the largest message.
    pub largest_table: u64,
}

impl EliminationPlan {
    /// Returns the name of the method: `be` or `mbe(z)`.
    pub fn name(&self) -> String {
        if self.exact { "be".into() } else { format!("mbe({})", self.z) }
    }

    /// Creates a plan that eliminates only position 0, over the variables 0, 1, ...
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

    /// Returns all positions of a mini-bucket, ascending.
    pub fn scope(&self, step: usize) -> Vec<u32> {
        std::iter::once(self.steps[step].position).chain(self.steps[step].scope.iter().copied()).collect()
    }

    /// Returns the steps that eliminate a position.
    pub fn bucket(&self, position: usize) -> &[Step] {
        &self.steps[self.first[position] as usize..self.first[position + 1] as usize]
    }
}
