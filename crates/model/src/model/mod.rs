//! The types of problems. A [`Network`] holds a file's variables and cost functions in fixed-point integers. A
//! [`Problem`] is the reduced problem that search and inference work on. [`Potentials`] hold nonnegative functions,
//! such as probabilities, in floating point.

mod agents;
mod cost;
mod costs;
mod diagram;
mod function;
mod global;
mod idid;
mod impossible;
mod names;
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
mod sums;
mod tables;
mod units;

pub use crate::error::ModelError;
pub use agents::Agents;
pub use cost::{COST_LIMIT, Cost, FORBIDDEN, SUM_LIMIT, add};
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
pub use impossible::Impossible;
pub use names::{Names, Observation, Observations, Unknown};
pub use network::{Builder, Function, Global, GlobalKind, Network, Notation, Share, Variable};
pub use number::Number;
pub use policy::{DecisionRule, JointPolicy, Policy, PolicyFile, PolicyGraph, PolicyNode, Rules};
pub use pomdp::{Agent, Pomdp, SparseRows};
pub use potentials::{Factor, LEAST_EXPONENT, MOST_EXPONENTS, Potentials};
pub use problem::{Problem, Readers};
pub use reach::{Reach, near_a_witness};
pub use reading::{Decimal, Numbers, Reading, Scale, Stated};
pub use scaled::{ROUNDOFF, Scaled, scale};
pub use scope::Scope;
pub use sums::Sums;
pub use tables::Tables;
pub use units::Units;
