//! Elimination on pairs of probabilities and utilities.
//!
//! Two sets of functions are kept: probabilities, and utilities, which are expectations and not multiplied by
//! probabilities. A chance variable v takes its probabilities to phi = sum over v of their product, and each group of
//! its utilities to (sum over v of product times utility) / phi. As expectations are linear, utilities that share v
//! stay apart where that is cheaper than to add them up. A decision takes the largest sum of its utilities.
//!
//! (Adoe, Chen, Doshi, section 2.1, have the same division; Jensen, Jensen, Dittmer, "From influence diagrams to
//! junction trees", 1994.) The sums are those of [`SumProduct`](crate::algebra::SumProduct) in the kernel of bucket
//! elimination, on tables laid out by [plans](plan::Plan) as there: by positions in the elimination order, the
//! eliminated first.

mod execute;
mod plan;

pub(super) use execute::{Outcome, execute};
pub(super) use plan::{Plan, plan};

use crate::model::Potential;

/// Functions over variables, and the order of blocks in which they are eliminated.
#[derive(Clone, Debug, Default)]
pub(super) struct Pairs {
    /// Domain sizes.
    pub domains: Vec<u32>,
    /// Probabilities.
    pub probabilities: Vec<Potential>,
    /// Utilities.
    pub utilities: Vec<Potential>,
    /// Variables in the order of elimination, and whether they are decisions, over which the largest is taken. What is
    /// in no block is left.
    pub blocks: Vec<(bool, Vec<u32>)>,
}
