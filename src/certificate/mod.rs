//! Certificates of bounds: what a bound follows from, written down so that a program that trusts none of ours can follow it.
//!
//! A certificate says "no assignment of this network costs less than `bound`" and gives the steps from the network to that
//! number. Each [`Step`] changes the network in a way that can be seen to be right from the tables at hand alone: afterwards
//! there is an assignment that costs no more for each one before that cost less than the limit. So what the network that is
//! left costs at least, or the least of the limits that were used if that is less, is a bound. Limits need no reason: whoever
//! ends below one has proven no more than the limit. [`Ending`] says how the last network is bounded. There are no messages:
//! they are made again.
//!
//! Variables and values are those of the file, from 0, wherever a certificate names them; scopes ascend. Costs are integers in
//! the units of the network as it is read, so that a certificate belongs to a file and the options that it is read with
//! (precision, evidence, colors); `network` tells them apart. `check::replay` follows the steps with code of its own. The steps
//! themselves are logged by `reduce` and by `inference` as they go ([`Proof`] collects them).

mod file;

pub use file::digest;
#[cfg(test)]
pub(crate) use file::seal;

use crate::model::{Cost, Network, Scale};
use serde::{Deserialize, Serialize};

/// The format that is written and read.
const FORMAT: &str = "fangs certificate 1";

/// A bound and its proof.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Certificate {
    format: String,
    /// The instance's name; for people only.
    pub instance: String,
    /// What the network is known by: [`digest`].
    pub network: String,
    /// How the costs were made of the file's numbers; none where these are integers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reading: Option<ReadAs>,
    /// No assignment costs less. [`FORBIDDEN`](crate::model::FORBIDDEN): none is allowed.
    pub bound: Cost,
    /// The best solution known and its cost. The bound does not rest on it; where both meet it is optimal.
    pub solution: Option<Solution>,
    /// Why.
    pub proof: Branch,
}

/// How costs were made: minus natural logarithms, rounded to the nearest unit of 10^-`decimals`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadAs {
    /// What the file's numbers are.
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

/// Steps one after the other, and what follows from the network they lead to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Branch {
    /// What is done to the network.
    pub steps: Vec<Step>,
    /// How the network that is left is bounded.
    pub ending: Ending,
}

/// A change of the network.
///
/// Costs stand apart by scope: one function a scope, costs of single variables and the constant by themselves. Before each step
/// (but within a run of `Move`s) the least cost of every function and of every variable is moved to the constant. A cost is *too
/// dear* where it reaches the limit less the constant: nothing is negative then, so whoever pays it reaches the limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// From now on only assignments count that cost less; the bound will be at most this.
    Limit(Cost),
    /// Entries that are too dear become forbidden.
    Forbid,
    /// Values become forbidden because every combination of the function with them is too dear, with what its values cost.
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
    /// A variable leaves: a function over its neighbours holds the least over its values. Where it has one value left its
    /// functions stay apart instead.
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
        /// The function; one that is not there costs nothing.
        scope: Box<[u32]>,
        /// The variable.
        variable: u32,
        /// What each of its values, ascending, costs more, and the function less.
        amounts: Box<[Cost]>,
    },
    /// Functions, and costs of single variables, are summed up in larger tables, and costs move between these.
    Graph(Graph),
    /// No assignment that counts has some values. Nothing else changes: that is used later.
    Lemma(Lemma),
    /// Values become forbidden because lemmas say so.
    ByLemma {
        /// The variable.
        variable: u32,
        /// Its values.
        values: Box<[u32]>,
    },
}

/// Values that are too dear, as is shown on a copy of the network: by what tables take for them at least once costs have moved, by
/// mini-buckets, or by searches of whoever follows the certificate. Steps before and after a lemma keep what each assignment costs
/// that is left, so that it goes on to hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lemma {
    /// What is done to the copy: limits, and what neither replaces values nor variables.
    pub steps: Vec<Step>,
    /// Mini-buckets of the copy: what the rest costs at least is made on the way back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back: Option<Elimination>,
    /// Each variable and its values.
    pub values: Vec<(u32, Box<[u32]>)>,
    /// Entries that passes and searches may look at where that is not enough.
    pub work: u64,
    /// Bytes that nodes of these searches may take.
    pub bytes: u64,
}

/// A join graph (Ihler, Flerova, Dechter, Otten, "Join-graph based cost-shifting schemes", 2012). Which table takes which function, what
/// moves, and how far it comes, is up to whoever follows the certificate: an assignment costs the same whatever moves. What is
/// told here is where costs may move and how often; [`check::Replay`](crate::check::Replay) does it in the following way.
///
/// Each function, and the costs of each variable, go to the last cluster that has all of their variables, if there is one. Clusters
/// without `beside` begin a group; a pass goes through the groups. In each one the difference between a cluster and the one beside it
/// is halved, for all combinations of the variables that both have; then, on the way there, each gives what they cost at least to
/// the cluster that it leads to, and on the way back gets a share from it. What all combinations cost becomes constant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Graph {
    /// The tables.
    pub clusters: Vec<Cluster>,
    /// Passes there and back, the first there.
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
    /// By the least of what branches prove that each fix some values of a variable.
    Cases {
        /// The variable.
        variable: u32,
        /// Its values, all of them together, and what follows from each set.
        cases: Vec<(Vec<u32>, Branch)>,
    },
    /// By a search over values of whoever follows the certificate.
    Search(Search),
    /// By exact elimination with tables that list only what is not too dear.
    Rows(Rows),
}

/// An elimination by rows, to be done again: how long tables get shows only as it goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rows {
    /// The variables in the order in which they leave.
    pub order: Box<[u32]>,
    /// Rows that it may look at.
    pub work: u64,
    /// Bytes that rows may take at a time.
    pub bytes: u64,
}

/// A search over values, to be done again. At each node costs are shifted and what little is left is eliminated, or bounded by
/// mini-buckets; nothing of that is told but what was branched on and how much mini-buckets may take, and that decides only how long
/// it takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// Entries that it may look at.
    pub work: u64,
    /// Bytes that its nodes may take, with the tables of one.
    pub bytes: u64,
    /// Combinations that the mini-buckets of a node may have together; none where nodes have none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub mini: u64,
    /// What was branched on: the variable, and the fork before with the value that leads here from there (of the first one any).
    pub forks: Vec<(u32, u32, u32)>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A plan of mini-bucket elimination (Dechter and Rish 2003): functions, costs of single variables and messages are taken
/// together, each at most once; what is left over counts with its least cost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Elimination {
    /// The functions, by their scopes.
    pub functions: Vec<Box<[u32]>>,
    /// The mini-buckets, in the order of their execution.
    pub joins: Vec<Join>,
}

/// One mini-bucket: the sum of what is joined, at its least over the values of a variable, is a message.
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
    /// The variables of the message where those are fewer than all others: for a single function too large to be laid out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<Vec<u32>>,
}
