//! The best solutions that the drivers of a run share.

use super::elite::Elite;
use crate::error::Error;
use crate::model::{Cost, Problem};
use crate::threads;

/// Turns an assignment of an old core into one of the new; none once the run is stopped.
pub type Translate<'a> = dyn Fn(&[u16]) -> Option<Elite> + Sync + 'a;

/// The best different assignments that any driver found, best first.
#[derive(Clone, Debug, Default)]
pub struct Pool {
    elites: Vec<Elite>,
    /// Whether an allowed assignment is known, here or elsewhere.
    pub solved: bool,
}

/// The most elites of a pool.
pub const POOL: usize = 32;

/// Values of all elites that move to another core, at most: each elite is lifted, projected and evaluated.
const MOVED_VALUES: usize = 1 << 22;

impl Pool {
    /// Without elites; `solved` where an allowed assignment is known elsewhere.
    pub fn new(solved: bool) -> Self {
        Pool { elites: Vec::new(), solved }
    }

    /// Best first.
    pub fn elites(&self) -> &[Elite] {
        &self.elites
    }

    /// The best that nothing forbids.
    pub fn allowed(&self) -> Option<&Elite> {
        self.elites.iter().find(|elite| elite.energy.violations == 0)
    }

    /// Energy of the best, larger than any where there is none.
    pub fn best(&self) -> Cost {
        self.elites.first().map_or(Cost::MAX, |elite| elite.energy.total)
    }

    /// Keeps what another pool has.
    pub fn take_in(&mut self, other: &Pool) {
        self.solved |= other.solved;
        other.elites.iter().for_each(|elite| self.offer(elite));
    }

    /// Moves its elites to another core.
    pub fn rebase(&mut self, translate: &Translate<'_>) {
        let mut elites = std::mem::take(&mut self.elites);
        let values = elites.first().map_or(1, |elite| elite.values.len().max(1));
        elites.truncate((MOVED_VALUES / values).max(1));
        let moved: Vec<Option<Elite>> = threads::map(&elites, |elite| translate(&elite.values));
        moved.iter().flatten().for_each(|elite| self.offer(elite));
    }

    /// The assertion ladder: energies of allowed elites against recomputed ones.
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
