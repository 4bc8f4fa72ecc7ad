//! The best solutions that the drivers of a run share.

use super::elite::Elite;
use crate::error::Error;
use crate::model::{Cost, Problem};
use crate::threads;

/// Translates an assignment of the previous reduced problem to the new one. Returns `None` once the run is stopped.
pub type Translate<'a> = dyn Fn(&[u16]) -> Option<Elite> + Sync + 'a;

/// The best different assignments of all drivers, best first.
#[derive(Clone, Debug, Default)]
pub struct Pool {
    elites: Vec<Elite>,
    /// Whether a feasible assignment is known, here or elsewhere.
    pub solved: bool,
}

/// Largest number of elites of a pool.
pub const POOL: usize = 32;

/// Largest total number of values of the elites that move to another reduced problem: each elite is lifted, projected
/// and evaluated.
const MOVED_VALUES: usize = 1 << 22;

impl Pool {
    /// Returns an empty pool; `solved` states whether a feasible assignment is known elsewhere.
    pub fn new(solved: bool) -> Self {
        Pool { elites: Vec::new(), solved }
    }

    /// Returns the elites, best first.
    pub fn elites(&self) -> &[Elite] {
        &self.elites
    }

    /// Returns the best feasible elite; `None` if there is none.
    pub fn allowed(&self) -> Option<&Elite> {
        self.elites.iter().find(|elite| elite.energy.violations == 0)
    }

    /// Returns the total energy of the best elite; `Cost::MAX` if there is none.
    pub fn best(&self) -> Cost {
        self.elites.first().map_or(Cost::MAX, |elite| elite.energy.total)
    }

    /// Takes in the elites of another pool.
    pub fn take_in(&mut self, other: &Pool) {
        self.solved |= other.solved;
        other.elites.iter().for_each(|elite| self.offer(elite));
    }

    /// Moves the elites to another reduced problem.
    pub fn rebase(&mut self, translate: &Translate<'_>) {
        let mut elites = std::mem::take(&mut self.elites);
        let values = elites.first().map_or(1, |elite| elite.values.len().max(1));
        elites.truncate((MOVED_VALUES / values).max(1));
        let moved: Vec<Option<Elite>> = threads::map(&elites, |elite| translate(&elite.values));
        moved.iter().flatten().for_each(|elite| self.offer(elite));
    }

    /// Checks the energies of feasible elites against recomputed costs.
    pub fn assert_energies(&self, problem: &Problem) -> Result<(), Error> {
        for elite in self.elites.iter().filter(|elite| elite.energy.violations == 0) {
            let values: Vec<u32> = elite.values.iter().map(|&value| u32::from(value)).collect();
            let total = problem.constant.saturating_add(elite.energy.total);
            let recomputed = problem.cost(&values);
            if total != recomputed {
                return Err(Error::Internal(format!("an elite's energy says {total}, its cost is {recomputed}")));
            }
        }
        Ok(())
    }

    /// Keeps an assignment if it is new and among the best.
    pub fn offer(&mut self, elite: &Elite) {
        self.solved |= elite.energy.violations == 0;
        let key = |elite: &Elite| (elite.energy.total, elite.hash);
        let at = self.elites.partition_point(|kept| key(kept) < key(elite));
        if at < POOL && self.elites.get(at).is_none_or(|kept| kept.hash != elite.hash) {
            self.elites.insert(at, elite.clone());
            self.elites.truncate(POOL);
        }
    }
}
