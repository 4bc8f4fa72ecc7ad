//! The data of a population on the CPU and of its children.

use super::shared_ratings::SharedRatings;
use crate::core::elite::Elite;
use crate::generation::{ChildPlan, Heat};
use crate::rating_cache::RatingCache;
use crate::state::AnnealState;
use crate::tuning::COLD_SHARES;

/// The population on the CPU: its elites and the offspring of the generation in progress.
#[derive(Debug, Default)]
pub(crate) struct CpuPopulation {
    /// The violations are exact only for the best of the elites.
    pub(super) elites: Vec<Elite>,
    /// The evaluations of the elites, on small problems.
    pub(super) ratings: Vec<RatingCache>,
    pub(super) offspring: Vec<Child>,
    pub(super) heat: Heat,
    /// Sweeps since a state was last reported.
    pub(super) untold: u32,
    pub(super) best: i64,
    pub(super) best_allowed: i64,
    /// The moves that a recent child made in its first sweep, by the choice of its first temperature. They only decide
    /// whether the next child keeps evaluations.
    pub(super) first_moves: [u64; COLD_SHARES.len()],
    /// The child that all threads are making.
    pub(super) growing: Option<Growing>,
}

/// A finished child.
#[derive(Clone, Debug)]
pub(super) struct Child {
    pub elite: Elite,
    pub ratings: RatingCache,
    pub plan: ChildPlan,
    pub first_moves: u64,
    pub moves: u64,
    pub rated: u64,
}

/// The evaluations of a child in the making.
#[derive(Debug)]
pub(super) enum Kept {
    None,
    /// Evaluations used by one thread.
    Alone(RatingCache),
    Shared(SharedRatings),
}

/// A child in the making.
#[derive(Debug)]
pub(super) struct Growing {
    pub plan: ChildPlan,
    pub state: AnnealState,
    /// The number of sweeps made so far.
    pub sweeps: u32,
    /// The energy, if nothing is rounded.
    pub total: Option<i64>,
    /// The state's evaluations, as long as few visits change a value.
    pub ratings: Kept,
    /// Moves of the last sweep.
    pub last_moves: u64,
}

impl CpuPopulation {
    /// Returns the best elite, and the best one without violations, if they are better than all before.
    pub(super) fn better<'a>(&mut self, all: impl Iterator<Item = &'a Elite> + Clone) -> Vec<Elite> {
        let mut found = Vec::new();
        for (allowed, known) in [(false, &mut self.best), (true, &mut self.best_allowed)] {
            let all = all.clone().filter(|elite| !allowed || elite.energy.violations == 0);
            if let Some(best) = all.min_by_key(|elite| elite.energy.total).filter(|e| e.energy.total < *known) {
                *known = best.energy.total;
                found.push(best.clone());
            }
        }
        found
    }
}
