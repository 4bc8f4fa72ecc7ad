//! The problem: a [`Network`] holds a file's variables and cost functions in fixed-point integers; a
//! [`Problem`] is the reduced problem that search and inference work on. [`Potentials`] hold the functions of
//! probabilities and the like as doubles.

mod agents;
mod costs;
mod diagram;
mod function;
mod global;
mod idid;
mod network;
mod number;
mod policy;
mod pomdp;
mod potentials;
mod problem;
mod reach;
mod reading;
pub mod rounding;
mod scaled;
mod scope;
mod tables;
mod units;

pub use crate::error::ModelError;
pub use agents::Agents;
pub use costs::{Costs, CostsIter};
pub use costs::{Entry, Slice, on_entries};
pub use diagram::{Diagram, DiagramKind, Node, Potential};
pub use function::Odometer;
pub use function::{CostFunction, SparseTable, Table};
pub use global::{
    Arithmetic, Automaton, CountCost, Counting, Grammar, Linear, Measure, Part, Parts, Price, Repair, Same, Target,
    ValueCount,
};
pub use idid::{Idid, Other};
pub use network::{Builder, Function, Global, GlobalKind, Network, Notation, Variable};
pub use number::Number;
pub use policy::{DecisionRule, JointPolicy, Policy, PolicyFile, PolicyGraph, PolicyNode, Rules};
pub use pomdp::{Agent, Pomdp, SparseRows};
pub use potentials::{Factor, LEAST_EXPONENT, MOST_EXPONENTS, Potentials};
pub use problem::{Problem, Readers};
pub use reach::{Reach, near_a_witness};
pub use reading::{Decimal, Numbers, Reading, Scale, Stated};
pub use scaled::{ROUNDOFF, Scaled, scale};
pub use scope::Scope;
pub use tables::Tables;
pub use units::Units;

/// A cost in fixed-point units (see [`Units`]).
pub type Cost = i64;

/// The cost of a forbidden tuple. Sums with it stay forbidden: they saturate here (see [`add`]).
/// Finite entries are below [`COST_LIMIT`], so that a forbidden entry can always be told from a sum.
pub const FORBIDDEN: Cost = 1 << 60;

/// Finite table entries and constants stay below this in absolute value; the builder checks it.
pub const COST_LIMIT: Cost = 1 << 58;

/// The sum over the functions of their largest absolute cost stays below this, so that no sum of costs comes near
/// [`FORBIDDEN`].
pub const SUM_LIMIT: f64 = (1u64 << 57) as f64;

/// Adds two costs, saturating at [`FORBIDDEN`]. Finite costs of either sign are fine.
#[inline]
pub fn add(a: Cost, b: Cost) -> Cost {
    if a >= FORBIDDEN || b >= FORBIDDEN { FORBIDDEN } else { a.saturating_add(b).min(FORBIDDEN) }
}
