//! Tabu search with a table of evaluations (gamma). The cost of every value of every variable, given the values of the
//! others, is kept up to date. A step takes the best move of a variable in conflict that is not tabu, with random ties;
//! a tabu move is admitted if it leads to a new best (aspiration). Tenures react to repetition and grow with the number
//! of conflicts. The method is strongest if every difference is 0 or 1, as in graph coloring.
//!
//! This module has the host's part: the number of walks and of steps, and which results are kept. The moves of a walk
//! are in `walk`.

pub(crate) mod cpu;
pub(crate) mod cuda;
#[cfg(test)]
mod cuda_tests;
pub(crate) mod restarts;
pub(crate) mod walk;

use self::cpu::TabuWalk;
pub use self::cuda::sources;
use self::restarts::Restarts;
use self::walk::TabuProgress;
use super::constants::walks::{LEAST_STEPS, MOST_STEPS};
use super::walks::WalkDriver;
use crate::core::context::SearchContext;
use crate::core::driver::{Driver, Setup};
use crate::core::effort::Effort;
use crate::core::elite::Elite;
use crate::core::layout::{MoveLayout, energy};
use crate::core::pool::{POOL, Pool};
use crate::core::tuning::ROUND_WORK;
use crate::device::DeviceError;
use crate::error::Error;
use crate::rng::Rng;
use crate::stop::Stop;
use crate::tuning::tuning;
use crate::walks::search::{Limit, LocalSearch, Start, Turn, Walks};
use std::sync::Arc;

/// Makes the driver.
pub fn make(setup: &mut Setup<'_>) -> Option<Box<dyn Driver>> {
    Some(Box::new(Tabu::new(setup.stream(), setup.device.clone())))
}

pub(crate) type Tabu = WalkDriver<TabuSearch>;

#[derive(Default)]
pub(crate) struct TabuSearch {
    restarts: Restarts,
}

/// Returns the approximate time of one step of all resident walks on a device, in nanoseconds. It is an estimate: a
/// round with the host's part took twice as long on DSJC1000.1 (results/notes/tabu-cuda.md).
fn device_step_work(layout: &MoveLayout) -> u64 {
    (2000 + layout.moves() / 20 + 2 * layout.changed_quads()) as u64
}

/// Returns the work of one step of all walks. In walks that have not begun all variables count as in conflict.
fn step_work(turn: &Turn<TabuSearch>) -> u64 {
    let layout = turn.layout;
    if turn.on_device {
        return device_step_work(layout);
    }
    let variables = turn.context.variables();
    let conflicts = |walk: &TabuProgress| if walk.key == 0 { variables } else { walk.conflicts as usize };
    turn.progress.iter().map(|walk| layout.step_work(conflicts(walk))).sum()
}

impl LocalSearch for TabuSearch {
    const ROUND_WORK: u64 = ROUND_WORK;
    type Progress = TabuProgress;
    type Layout = MoveLayout;
    type Walk = TabuWalk;

    fn can_walk(&self, context: &SearchContext) -> bool {
        let moves = context.tables.moves();
        moves > 0 && moves <= tuning().tabu.most_moves && context.tables.all_copied() && !context.is_vast()
    }

    fn pays(&self, _: &SearchContext, _: &Pool) -> bool {
        true
    }

    fn share(&self, context: &SearchContext, _: &Pool) -> (f64, f64) {
        if context.is_coloring() && !context.climbs() {
            (tuning().tabu.two_parent_weight, tuning().tabu.two_parent_floor)
        } else {
            (1.0, 0.0)
        }
    }

    fn layout(&mut self, context: &SearchContext, stop: &Stop) -> Result<Arc<MoveLayout>, Error> {
        self.restarts = Restarts::new(context.interchangeable);
        Ok(context.layout(stop)?.cloned().unwrap_or_default())
    }

    fn count(&self, context: &SearchContext, device: Option<usize>) -> usize {
        let at_once = if context.portable { 2 } else { rayon::current_num_threads() };
        self.restarts.walks(device.unwrap_or(tuning().tabu.states), device.unwrap_or(at_once))
    }

    fn limit(&self, turn: &Turn<Self>) -> Limit {
        let work = if turn.on_device { tuning().walks.device_turn } else { ROUND_WORK };
        let steps = (work / step_work(turn).max(1)).clamp(LEAST_STEPS[usize::from(turn.on_device)], MOST_STEPS);
        Limit { steps: self.restarts.steps(steps as u32 >> turn.shorter), work: u64::MAX }
    }

    fn begin(
        &mut self,
        turn: &Turn<Self>,
        rng: &mut Rng,
        walks: &dyn Walks<TabuProgress>,
    ) -> Result<Vec<Start<TabuProgress>>, DeviceError> {
        let over = self.restarts.over(turn.progress);
        let bests = walks.bests(&over)?;
        Ok(self.restarts.begin(&turn.context.tables, rng.draw(), turn.progress, &over, bests, turn.pool.elites()))
    }

    /// Returns the slots with new assignments that fit into the pool.
    fn choose(&self, turn: &Turn<Self>, mut better: Vec<usize>) -> Vec<usize> {
        let elites = turn.pool.elites();
        let counted =
            |elite: &Elite| energy(&turn.context.tables, &elite.values, &Stop::new()).expect("no stop is set");
        let worst = elites.get(POOL - 1).map_or(i64::MAX, counted);
        let found = |slot: usize| (turn.progress[slot].best, turn.progress[slot].best_hash);
        better.retain(|&slot| found(slot).0 < worst && elites.iter().all(|elite| elite.hash != found(slot).1));
        better.sort_by_key(|&slot| found(slot));
        better.dedup_by_key(|slot| found(*slot).1);
        better.truncate(self.restarts.offers());
        better
    }

    fn verify(turn: &Turn<Self>, slot: usize, values: &[u16]) -> Result<(), DeviceError> {
        let (told, counted) =
            (turn.progress[slot].best, energy(&turn.context.tables, values, &Stop::new()).expect("no stop is set"));
        if told == counted {
            return Ok(());
        }
        // memory or a kernel of the device is faulty
        let cause = format!("a walk's best is {told}, counted again {counted}");
        Err(DeviceError::Failed { what: "comparing energies".into(), cause })
    }

    fn account(&self, turn: &Turn<Self>, steps: u32, begun: usize, effort: &mut Effort) {
        let conflicts = turn.progress.iter().map(|walk| walk.conflicts as usize).sum::<usize>();
        let rated = conflicts * turn.layout.moves() / turn.context.variables();
        effort.ratings = u64::from(steps) * rated as u64;
        // a device begins its walks in parallel
        let begun = if turn.on_device { 0 } else { begun as u64 };
        effort.work = u64::from(steps) * step_work(turn) + begun * turn.context.sweep_work;
    }
}
