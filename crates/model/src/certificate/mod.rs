//! Certificates of bounds: the steps that prove a bound, written so that an independent program can follow them.
//!
//! A certificate claims "no assignment of this network costs less than `bound`" and lists the steps from the network to
//! that number. Each [`Step`] changes the network in a way that can be checked from the tables alone: every assignment
//! that costs less than the current limit has a counterpart afterwards that costs no more. So the bound is the minimum
//! of the last network's least cost and of all limits. A limit needs no proof, because the bound never exceeds it.
//! [`Ending`] states how the last network is bounded. Messages are not stored: the checker computes them again.
//!
//! Variables and values are numbered as in the file, from 0; scopes ascend. Costs are integers in the units of the
//! network as read, so a certificate belongs to a file and to the options it was read with (precision, evidence,
//! colors); `network` identifies both. `check::replay` follows the steps with code of its own. `reduce` and `bounds`
//! log the steps while they run, and `bounds::Proof` collects them.

mod file;

pub use file::digest;

use crate::model::{Cost, Network, Scale};
use serde::{Deserialize, Serialize};

/// The format identifier that this program writes and reads.
const FORMAT: &str = "fangs certificate 1";

/// A bound and its proof.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Certificate {
    format: String,
    /// The instance's name, for display.
    pub instance: String,
    /// The network's identity, from [`digest`].
    pub network: String,
    /// How the file's numbers became costs; `None` if the file's numbers are integers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reading: Option<ReadAs>,
    /// The lower bound: no assignment costs less. [`FORBIDDEN`](crate::model::FORBIDDEN) if no assignment is feasible.
    pub bound: Cost,
    /// The incumbent and its cost. The bound does not depend on it; if both are equal, the incumbent is optimal.
    pub solution: Option<Solution>,
    /// The proof.
    pub proof: Branch,
}

/// How costs were made from the file's numbers: negated natural logarithms, rounded to the nearest unit of
/// 10^-`decimals`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadAs {
    /// The kind of the file's numbers.
    pub scale: Scale,
    /// Number of decimal digits of a cost.
    pub decimals: u32,
    /// An assignment better than every assignment that uses an entry forbidden only by the conversion to integer costs;
    /// `None` if the conversion forbids no entry (see [`Reading`](crate::model::Reading)).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub witness: Option<Box<[u32]>>,
}

impl ReadAs {
    /// Returns how a network was read; `None` if its costs are the file's own numbers.
    pub fn of(network: &Network) -> Option<ReadAs> {
        let (reading, decimals) = (network.reading()?, network.units().decimals);
        Some(ReadAs { scale: reading.scale, decimals, witness: reading.witness.clone() })
    }
}

/// A solution of the network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Solution {
    /// The cost of the solution.
    pub cost: Cost,
    /// The value of each variable.
    pub values: Vec<u32>,
}

/// A sequence of steps, and how the resulting network is bounded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Branch {
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// How the network after the last step is bounded.
    pub ending: Ending,
}

/// A step of a certificate: a change of the network.
///
/// Costs are kept by scope: one function for each scope, the unary costs, and the constant. Before each step (but not
/// within a run of `Move`s) the least cost of every function and of every variable is moved to the constant. A cost is
/// *too high* if it is at least the limit minus the constant: no cost is negative, so an assignment with such a cost
/// reaches the limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// From now on only assignments that cost less than this limit count; the certified bound is at most this limit.
    Limit(Cost),
    /// Every entry whose cost is too high becomes forbidden.
    Forbid,
    /// Values of a variable become forbidden because the cost of every tuple of one function with them is too high,
    /// unary costs included.
    Unsupported {
        /// The function.
        scope: Box<[u32]>,
        /// The variable.
        variable: u32,
        /// The values that become forbidden.
        values: Box<[u32]>,
    },
    /// Values of a variable are removed because their unary cost plus the least costs of the variable's functions with
    /// them is too high.
    TooDear {
        /// The variable.
        variable: u32,
        /// The values that are removed.
        values: Box<[u32]>,
    },
    /// Values of a variable are removed, each because another value is never worse, unless the cost of that value is
    /// too high.
    Dominated {
        /// The variable.
        variable: u32,
        /// Pairs of a removed value and the value that dominates it, in the order of removal.
        pairs: Box<[(u32, u32)]>,
    },
    /// A variable is eliminated: a function over its neighbours takes the minimum over its values. If the variable has
    /// one value left, its functions are conditioned on that value separately instead.
    Eliminate {
        /// The eliminated variable.
        variable: u32,
        /// The variable's neighbours; empty if one value is left.
        over: Box<[u32]>,
    },
    /// A variable is replaced because, for each value of another variable, all but one of its values cost too much.
    Substitute {
        /// The variable that is removed.
        variable: u32,
        /// The variable that determines it.
        by: u32,
        /// The value of the removed variable for each value of `by`, ascending.
        image: Box<[u32]>,
    },
    /// Two variables are merged into a new one, whose values are pairs of theirs; the costs of all other pairs are too
    /// high. The new variable gets the next unused number, and its values are numbered from 0.
    Merge {
        /// The merged variables, ascending.
        variables: [u32; 2],
        /// The pair for each value of the new variable.
        pairs: Box<[(u32, u32)]>,
    },
    /// Costs move from a function to one of its variables, which is then dropped from the scope: the remaining function
    /// takes the minimum over that variable's values.
    Separate {
        /// The function.
        scope: Box<[u32]>,
        /// The variable that is dropped from the scope.
        variable: u32,
        /// The cost that each of the variable's values receives, ascending.
        shares: Box<[Cost]>,
    },
    /// Every cost, limits included, is multiplied by this power of two, so that later moves can be finer.
    Scale(u32),
    /// Costs move from a function to the values of one of its variables (cost shifting).
    Move {
        /// The function; a missing function counts as one of cost 0.
        scope: Box<[u32]>,
        /// The variable.
        variable: u32,
        /// The amount that is added to each of the variable's values, ascending, and subtracted from the function.
        amounts: Box<[Cost]>,
    },
    /// Functions and unary costs are summed into larger tables, between which costs move.
    Graph(Graph),
    /// A lemma shows that some values occur in no assignment below the limit. It leaves the network unchanged; later
    /// steps refer to it.
    Lemma(Lemma),
    /// Values of a variable become forbidden by earlier lemmas.
    ByLemma {
        /// The variable.
        variable: u32,
        /// The values that become forbidden.
        values: Box<[u32]>,
    },
}

/// A lemma: values whose cost is too high, shown on a copy of the network by the least costs of tables after cost
/// shifting, by mini-buckets, or by searches of the checker. The steps around a lemma keep the cost of every remaining
/// assignment, so the lemma stays true.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lemma {
    /// The steps on the copy: limits, and steps that replace neither values nor variables.
    pub steps: Vec<Step>,
    /// A mini-bucket elimination of the copy, whose backward pass bounds each value; `None` if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back: Option<Elimination>,
    /// Each variable with its values that cost too much.
    pub values: Vec<(u32, Box<[u32]>)>,
    /// The number of table entries that backward passes and searches may visit if the steps alone do not prove the
    /// lemma.
    pub work: u64,
    /// The number of bytes that the nodes of these searches may take.
    pub bytes: u64,
}

/// A join graph (Ihler, Flerova, Dechter, Otten, "Join-graph based cost-shifting schemes", 2012). It states where costs
/// may move and how often. The checker chooses the rest, because no move changes the cost of an assignment;
/// `check::Replay` does the following.
///
/// Each function and each unary cost is assigned to the last cluster that contains all of its variables, if there is
/// one. Clusters without `beside` begin a group, and a pass visits the groups in order. In each group the difference
/// between a cluster and the one beside it is halved for all combinations of their common variables. Then, in the
/// forward pass, each cluster sends its least costs to the cluster `to`; in the backward pass it receives a share. The
/// least cost of a cluster moves to the constant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Graph {
    /// The clusters.
    pub clusters: Vec<Cluster>,
    /// The total number of forward and backward passes, which alternate; the first is a forward pass.
    pub passes: u32,
    /// The number of final passes, in which differences are halved along all edges.
    pub even: u32,
}

/// A cluster of a join graph: a table over some variables.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cluster {
    /// The variables of the table, ascending.
    pub over: Box<[u32]>,
    /// The index of a later cluster, to which costs move first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<u32>,
    /// The index of an earlier cluster of the same group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<u32>,
}

/// How the last network of a branch is bounded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// By the network's constant, after all minima have moved there.
    Constant,
    /// By mini-bucket elimination.
    Elimination(Elimination),
    /// By cases: each branch restricts a variable to some of its values, and the bound is the minimum over the
    /// branches.
    Cases {
        /// The branching variable.
        variable: u32,
        /// Sets of values, which together cover the domain, and the branch of each set.
        cases: Vec<(Vec<u32>, Branch)>,
    },
    /// By a branch-and-bound search that the checker runs.
    Search(Search),
    /// By sparse bucket elimination, which is exact: its tables list only the tuples whose costs are not too high.
    Rows(Rows),
}

/// A sparse elimination that the checker repeats, because the length of its tables is known only during the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rows {
    /// The variables in elimination order.
    pub order: Box<[u32]>,
    /// The number of rows that the elimination may visit.
    pub work: u64,
    /// The number of bytes that rows may take at a time.
    pub bytes: u64,
}

/// A branch-and-bound search that the checker repeats. It shifts costs at each node and eliminates the residual
/// problem, or bounds it by mini-buckets. Only the branching trace and the size of the mini-buckets are stored; they
/// affect only the duration of the search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// The number of table entries that the search may visit.
    pub work: u64,
    /// The number of bytes that its nodes may take, including the tables of one node.
    pub bytes: u64,
    /// The number of combinations in all mini-buckets of a node together; 0 if nodes have no mini-buckets.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub mini: u64,
    /// The branching trace: branching variable, index of the parent entry, and the parent's value that leads to this
    /// entry (any value for the first entry).
    pub forks: Vec<(u32, u32, u32)>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A plan of mini-bucket elimination (Dechter and Rish 2003). Functions, unary costs and messages are joined, each at
/// most once; those that are not joined contribute their least cost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Elimination {
    /// The functions, identified by their scopes.
    pub functions: Vec<Box<[u32]>>,
    /// The mini-buckets, in execution order.
    pub joins: Vec<Join>,
}

/// A mini-bucket: its message is the sum of what it joins, minimised over a variable.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Join {
    /// The variable that is eliminated.
    pub variable: u32,
    /// Whether the unary costs of the variable are joined.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unary: bool,
    /// The joined functions, as indices into the plan's list of functions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub functions: Vec<u32>,
    /// The joined messages, as indices of the mini-buckets that produced them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<u32>,
    /// The variables of the message, if a single table is joined that is too large for a dense table and is projected
    /// to some of its variables; `None` if the message has all joined variables but the eliminated one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<Vec<u32>>,
}
