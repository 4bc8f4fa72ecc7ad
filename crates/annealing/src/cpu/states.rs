//! The population on the CPU, and the children that it makes.

use super::shared_ratings::SharedRatings;
use crate::core::elite::Elite;
use crate::generation::{ChildPlan, Heat};
use crate::rating_cache::RatingCache;
use crate::state::AnnealState;
use crate::tuning::COLD_SHARES;

/// Elites and the offspring of the generation in progress.
#[derive(Debug, Default)]
pub(crate) struct CpuPopulation {
    /// Whether one is allowed is known of the best of them alone.
    pub(super) elites: Vec<Elite>,
    /// Theirs, on small cores.
    pub(super) ratings: Vec<RatingCache>,
    pub(super) offspring: Vec<Child>,
    pub(super) heat: Heat,
    /// Sweeps since a state was reported.
    pub(super) untold: u32,
    pub(super) best: i64,
    pub(super) best_allowed: i64,
    /// Moves that a child last made in its first sweep, by where its temperature began. They say no more than how to do
    /// the next.
    pub(super) first_moves: [u64; COLD_SHARES.len()],
    /// The child that all threads are making.
    pub(super) growing: Option<Growing>,
}

/// A child that is made.
#[derive(Clone, Debug)]
pub(super) struct Child {
    pub elite: Elite,
    pub ratings: RatingCache,
    pub plan: ChildPlan,
    pub first_moves: u64,
    pub moves: u64,
    pub rated: u64,
}

/// The ratings of a child in the making.
#[derive(Debug)]
pub(super) enum Kept {
    None,
    /// Of one thread alone.
    Alone(RatingCache),
    Shared(SharedRatings),
}

/// A child in the making.
#[derive(Debug)]
pub(super) struct Growing {
    pub plan: ChildPlan,
    pub state: AnnealState,
    /// Sweeps made.
    pub sweeps: u32,
    /// The energy, where nothing is rounded.
    pub total: Option<i64>,
    /// The state's ratings, as long as few visits change a value.
    pub ratings: Kept,
    /// Moves of the last sweep.
    pub last_moves: u64,
}

impl CpuPopulation {
    /// The best of these, and the best without violations, if those are better than all before.
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
