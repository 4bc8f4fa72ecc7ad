//! Certificates of bounds: the steps that prove a bound, written so that an independent program can follow them.
//!
//! A certificate says "no assignment of this network costs less than `bound`" and gives the steps from the network to
//! that number. Each [`Step`] changes the network in a way that can be checked from the tables alone: every assignment
//! that cost less than the limit has a counterpart afterwards that costs no more. So the bound is the least cost of the
//! last network or the least of the limits, whichever is less. A limit needs no proof, since the bound never exceeds
//! it. [`Ending`] says how the last network is bounded. Messages are not stored: the checker computes them again.
//!
//! Variables and values are numbered as in the file, from 0; scopes ascend. Costs are integers in the units of the
//! network as read, so a certificate belongs to a file and to the options it was read with (precision, evidence,
//! colors); `network` identifies both. `check::replay` follows the steps with code of its own. `reduce` and `bounds`
//! log the steps while they run, and `bounds::Proof` collects them.

mod file;

pub use file::digest;

use crate::model::{Cost, Network, Scale};
use serde::{Deserialize, Serialize};

/// The format that is written and read.
const FORMAT: &str = "fangs certificate 1";

/// A bound and its proof.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Certificate {
    format: String,
    /// The instance's name, for display.
    pub instance: String,
    /// The network's identity: [`digest`].
    pub network: String,
    /// How the file's numbers became costs; none where they are integers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reading: Option<ReadAs>,
    /// No assignment costs less. [`FORBIDDEN`](crate::model::FORBIDDEN): none is feasible.
    pub bound: Cost,
    /// The best solution known and its cost. The bound does not rest on it; where both meet it is optimal.
    pub solution: Option<Solution>,
    /// The proof.
    pub proof: Branch,
}

/// How costs were made: minus natural logarithms, rounded to the nearest unit of 10^-`decimals`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadAs {
    /// The kind of the file's numbers.
    pub scale: Scale,
    /// Digits behind the point.
    pub decimals: u32,
    /// The assignment that is better than any with an entry that only the reading forbids.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub witness: Option<Box<[u32]>>,
}

impl ReadAs {
    /// How a network was read.
    pub fn of(network: &Network) -> Option<ReadAs> {
        let (reading, decimals) = (network.reading()?, network.units().decimals);
        Some(ReadAs { scale: reading.scale, decimals, witness: reading.witness.clone() })
    }
}

/// A solution of the network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Solution {
    /// What it costs.
    pub cost: Cost,
    /// The value of each variable.
    pub values: Vec<u32>,
}

/// A sequence of steps, and how the network they lead to is bounded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Branch {
    /// The steps.
    pub steps: Vec<Step>,
    /// How the network that is left is bounded.
    pub ending: Ending,
}

/// A change of the network.
///
/// Costs are kept by scope: one function for each scope, the unary costs, and the constant. Before each step (but not
/// within a run of `Move`s) the least cost of every function and of every variable is moved to the constant. A cost is
/// *too dear* where it reaches the limit less the constant: no cost is negative, so an assignment with it reaches the
/// limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// From now on only assignments that cost less count; the bound is at most this.
    Limit(Cost),
    /// Entries that are too dear become forbidden.
    Forbid,
    /// Values become forbidden because every tuple of the function with them is too dear, unary costs included.
    Unsupported {
        /// The function.
        scope: Box<[u32]>,
        /// The variable.
        variable: u32,
        /// Its values.
        values: Box<[u32]>,
    },
    /// Values leave because they are too dear, with the least of each function of the variable.
    TooDear {
        /// The variable.
        variable: u32,
        /// Its values.
        values: Box<[u32]>,
    },
    /// Values leave, each because another one of the variable is never worse where it is not too dear.
    Dominated {
        /// The variable.
        variable: u32,
        /// Each value and the one that dominates it, in the order in which they leave.
        pairs: Box<[(u32, u32)]>,
    },
    /// A variable leaves: a function over its neighbours holds the least cost over its values. A variable with one
    /// value left leaves its functions separate instead.
    Eliminate {
        /// The variable.
        variable: u32,
        /// Its neighbours; none where it has one value left.
        over: Box<[u32]>,
    },
    /// A variable leaves because each value of another one leaves it one value that is not too dear.
    Substitute {
        /// The variable that leaves.
        variable: u32,
        /// The one that decides.
        by: u32,
        /// The value for each value of `by`, ascending.
        image: Box<[u32]>,
    },
    /// Two variables leave for a new one, whose values are pairs of theirs: all other pairs are too dear. Its number is
    /// the next one that no variable has had, and its values are numbered from 0.
    Merge {
        /// The variables that leave, ascending.
        variables: [u32; 2],
        /// The pair for each value.
        pairs: Box<[(u32, u32)]>,
    },
    /// Costs move from a function to one of its variables, which its scope then lacks: the least over its values stays.
    Separate {
        /// The function.
        scope: Box<[u32]>,
        /// The variable.
        variable: u32,
        /// The cost for each of its values, ascending.
        shares: Box<[Cost]>,
    },
    /// Every cost, limits included, is multiplied by this power of two, so that smaller parts can move.
    Scale(u32),
    /// Costs move from a function to the values of one of its variables.
    Move {
        /// The function; an absent one costs nothing.
        scope: Box<[u32]>,
        /// The variable.
        variable: u32,
        /// What each of its values, ascending, costs more, and the function less.
        amounts: Box<[Cost]>,
    },
    /// Functions and unary costs are added up in larger tables, and costs move between these.
    Graph(Graph),
    /// Some values are in no assignment below the limit. The network stays as it is: later steps use this.
    Lemma(Lemma),
    /// Values become forbidden by lemmas.
    ByLemma {
        /// The variable.
        variable: u32,
        /// Its values.
        values: Box<[u32]>,
    },
}

/// Values that are too dear, as shown on a copy of the network: by the least costs of tables after costs have moved, by
/// mini-buckets, or by searches of the checker. The steps before and after a lemma keep the cost of every assignment
/// that is left, so the lemma stays true.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lemma {
    /// The steps on the copy: limits, and steps that replace neither values nor variables.
    pub steps: Vec<Step>,
    /// Mini-buckets of the copy, with a backward pass that bounds the rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back: Option<Elimination>,
    /// Each variable and its values.
    pub values: Vec<(u32, Box<[u32]>)>,
    /// Entries that passes and searches may visit where that is not enough.
    pub work: u64,
    /// Bytes that nodes of these searches may take.
    pub bytes: u64,
}

/// A join graph (Ihler, Flerova, Dechter, Otten, "Join-graph based cost-shifting schemes", 2012). It states where costs
/// may move and how often. The checker chooses the rest, because no move changes the cost of an assignment;
/// `check::Replay` does the following.
///
/// Each function and each unary cost goes to the last cluster that has all of its variables, if there is one. Clusters
/// without `beside` begin a group, and a pass visits the groups in turn. In each group the difference between a cluster
/// and the one beside it is halved for all combinations of their common variables. Then, in the forward pass, each
/// cluster sends its least costs to the cluster `to`; in the backward pass it receives a share. The least cost of a
/// cluster becomes constant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Graph {
    /// The tables.
    pub clusters: Vec<Cluster>,
    /// Forward and backward passes, a forward pass first.
    pub passes: u32,
    /// Passes after them in which differences are halved along all edges.
    pub even: u32,
}

/// A table of a join graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cluster {
    /// Its variables, ascending.
    pub over: Box<[u32]>,
    /// A later cluster: costs move there first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<u32>,
    /// An earlier cluster of the same group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<u32>,
}

/// How a network is bounded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// By its constant, once all minima have moved there.
    Constant,
    /// By mini-bucket elimination.
    Elimination(Elimination),
    /// By cases: branches that each fix some values of a variable; the bound is the least of theirs.
    Cases {
        /// The variable.
        variable: u32,
        /// Sets of its values, together all of them, and the branch of each set.
        cases: Vec<(Vec<u32>, Branch)>,
    },
    /// By a branch and bound search of the checker.
    Search(Search),
    /// By sparse bucket elimination: exact, with tables that list only the tuples that are not too dear.
    Rows(Rows),
}

/// A sparse elimination that the checker repeats: the length of its tables shows only during the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rows {
    /// The variables in the order in which they leave.
    pub order: Box<[u32]>,
    /// Rows that it may visit.
    pub work: u64,
    /// Bytes that rows may take at a time.
    pub bytes: u64,
}

/// A branch and bound search that the checker repeats. It shifts costs at each node and eliminates the residual
/// problem, or bounds it by mini-buckets. Only the branching trace and the size of the mini-buckets are stored; they
/// decide only how long the search takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// Entries that it may visit.
    pub work: u64,
    /// Bytes of its nodes, with the tables of one.
    pub bytes: u64,
    /// Combinations of all mini-buckets of a node together; 0 where nodes have none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub mini: u64,
    /// The branching trace: variable, parent entry, and the parent's value that leads here (any value for the first
    /// entry).
    pub forks: Vec<(u32, u32, u32)>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A plan of mini-bucket elimination (Dechter and Rish 2003): functions, unary costs and messages are joined, each at
/// most once; those that are not joined count with their least cost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Elimination {
    /// The functions, by their scopes.
    pub functions: Vec<Box<[u32]>>,
    /// The mini-buckets, in the order of their execution.
    pub joins: Vec<Join>,
}

/// One mini-bucket: its message is the joined sum, minimised over a variable.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Join {
    /// The variable that is eliminated.
    pub variable: u32,
    /// Whether its own costs are joined.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unary: bool,
    /// Functions, by their place in the list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub functions: Vec<u32>,
    /// Messages, by the place of the join that made them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<u32>,
    /// The variables of the message where it has fewer than all others: for a single function too large for a dense
    /// table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<Vec<u32>>,
}
