//! Local search on a network whose global functions are linear sums. It moves the network's own variables and keeps the
//! total of each sum up to date, whereas other drivers move the variables that represent the sums in tables. A violated
//! sum has a price that rises while it stays violated. All prices fall when no sum is violated (strategic oscillation;
//! Yagiura, Ibaraki, Glover, "A path relinking approach with ejection chains for the generalized assignment problem",
//! 2006).
//!
//! This module has the host's part: where walks begin, and which results are kept. The moves of a walk are in `walk`.

mod cuda;
#[cfg(test)]
mod cuda_tests;
mod progress;
#[cfg(test)]
mod tests;
mod walk;

pub use self::cuda::sources;
use self::progress::{Ground, SumProgress, decision};
use self::walk::SumWalk;
use super::constants::sums::TRIED;
use super::constants::walks::{LEAST_STEPS, MOST_STEPS};
use super::walks::WalkDriver;
use crate::core::context::SearchContext;
use crate::core::driver::{Driver, Setup};
use crate::core::effort::{Effort, Found};
use crate::core::elite::Elite;
use crate::core::pool::Pool;
use crate::core::sum_space::SumSpace;
use crate::core::tuning::ROUND_WORK;
use crate::device::DeviceError;
use crate::error::Error;
use crate::model::Cost;
use crate::rng::{Rng, mix};
use crate::stop::Stop;
use crate::threads;
use crate::tuning::tuning;
use crate::value_tables::ValueTables;
use crate::walks::search::{Limit, LocalSearch, Progress, Shown, Start, Turn, Walks};
use std::sync::Arc;

/// The driver's name.
pub const NAME: &str = "sums";

/// Makes the driver.
pub fn make(setup: &mut Setup<'_>) -> Option<Box<dyn Driver>> {
    Some(Box::new(Sums::new(setup.stream(), setup.device.clone())))
}

pub(crate) type Sums = WalkDriver<SumSearch>;

/// The local search on the sums of a network.
#[derive(Default)]
pub(crate) struct SumSearch {
    /// The lowest cost found.
    best: Option<i64>,
    /// The best assignment known, at which walks begin.
    start: Option<Vec<u16>>,
    /// The energy of `start` in the reduced problem; `None` if the problem cannot represent it.
    seen: Option<Cost>,
    /// Average costs of moves of walks on an earlier problem, by slot.
    climbs: Vec<f64>,
}

/// Returns the approximate work of a step on the CPU, or the time of one step of all walks on a device, in nanoseconds.
/// The latter is an estimate.
fn step_work(space: &SumSpace, on_device: bool) -> u64 {
    let values = space.values.iter().map(Vec::len).sum::<usize>().max(1);
    let mean = values / space.values.len().max(1);
    // a window of random length, a power of two, and the terms of two values
    let tried = (mean / (mean.max(1).ilog2() as usize + 1)).max(1);
    let terms = 2 * space.sums.terms.len() / values;
    let rows = space.layout.affected.len() / space.values.len().max(1);
    if on_device {
        return (8000 + 500 * (tried + 4) * (1 + terms) + 100 * rows) as u64;
    }
    (200 + (1 + TRIED) * tried * (10 + 6 * terms) + 8 * rows) as u64
}

/// Returns the number of steps of a slice, and the work of one. The walks end at about the same time.
fn steps(turn: &Turn<SumSearch>) -> (u64, u64) {
    let space = &*turn.layout.space;
    let (step, work) = (
        step_work(space, turn.on_device),
        if turn.on_device { tuning().walks.device_turn } else { tuning().sums.turn_work },
    );
    let most = turn.progress.iter().map(|progress| progress.remaining(space)).max().unwrap_or(0);
    let steps = (work / step).clamp(LEAST_STEPS[usize::from(turn.on_device)], MOST_STEPS) >> turn.shorter;
    (steps.min(most), step)
}

impl SumSearch {
    /// Takes the pool's best elite as the start of walks, if it is new. If the problem is relaxed and something was
    /// found, its elites are no guide to better solutions.
    ///
    /// # Errors
    /// [`Error::Stopped`].
    fn look_at_pool(&mut self, turn: &Turn<Self>) -> Result<(), Error> {
        let space = &*turn.layout.space;
        let (Some(elite), Some(origin)) = (turn.pool.elites().first(), &turn.context.origin) else { return Ok(()) };
        let is_new = self.seen.is_none_or(|seen| elite.energy.total < seen);
        if is_new && !(space.is_relaxed && self.best.is_some()) {
            self.start = Some(space.of_core(origin, &elite.values, turn.stop)?);
            self.seen = Some(elite.energy.total);
        }
        Ok(())
    }

    /// Returns the next walk of a slot, from the best assignment or from the end of the last walk.
    fn next(&self, turn: &Turn<Self>, slot: usize, key: u64) -> Start<SumProgress> {
        let (space, last) = (&*turn.layout.space, &turn.progress[slot]);
        let drawn = |number: u64| mix(mix(key, decision::BEGINNING), number);
        let began = last.key != 0;
        let goes_on = began && (self.start.is_none() || drawn(decision::GOES_ON) >> 63 == 0);
        let any = || {
            let mut rng = Rng::new(key);
            let mut any = |values: &Vec<u16>| values.get(rng.index(values.len().max(1))).copied().unwrap_or(0);
            space.values.iter().map(&mut any).collect()
        };
        let values = if goes_on { Vec::new() } else { self.start.clone().unwrap_or_else(any) };
        let climb = if began { last.climb() } else { self.climbs.get(slot).copied().unwrap_or(0.0) };
        Start { slot, progress: last.next(key, goes_on, climb, space), values }
    }
}

impl LocalSearch for SumSearch {
    const ROUND_WORK: u64 = ROUND_WORK;
    const KEEPS_SUMS: bool = true;
    type Progress = SumProgress;
    type Layout = Ground;
    type Walk = SumWalk;

    fn tables(context: &SearchContext) -> &ValueTables {
        context.sums.as_ref().map_or(&context.tables, |space| &space.tables)
    }

    fn can_walk(&self, context: &SearchContext) -> bool {
        context.sums.is_some()
    }

    fn pays(&self, _: &SearchContext, _: &Pool) -> bool {
        true
    }

    /// The driver opens runs, because others move the variables that represent the sums one by one.
    fn share(&self, context: &SearchContext, _: &Pool) -> (f64, f64) {
        if context.sums.is_some() { (tuning().sums.opening, tuning().sums.own_share) } else { (1.0, 0.0) }
    }

    fn layout(&mut self, context: &SearchContext, _: &Stop) -> Result<Arc<Ground>, Error> {
        let space = context.sums.clone().ok_or_else(|| Error::Internal("walks on sums where there are none".into()))?;
        Ok(Arc::new(Ground::new(space)))
    }

    fn count(&self, context: &SearchContext, device: Option<usize>) -> usize {
        device.unwrap_or(if context.portable { tuning().sums.portable } else { rayon::current_num_threads() })
    }

    fn limit(&self, turn: &Turn<Self>) -> Limit {
        turn.pause(steps(turn).0 as u32, tuning().sums.turn_work)
    }

    fn begin(
        &mut self,
        turn: &Turn<Self>,
        rng: &mut Rng,
        _: &dyn Walks<SumProgress>,
    ) -> Result<Vec<Start<SumProgress>>, DeviceError> {
        let over: Vec<usize> = (0..turn.progress.len()).filter(|&slot| turn.progress[slot].is_over()).collect();
        if over.is_empty() || self.look_at_pool(turn).is_err() && turn.stop.is_set() {
            return Ok(Vec::new());
        }
        let draw = rng.draw();
        Ok(threads::map(over, |slot| self.next(turn, slot, mix(draw, slot as u64) | 1)))
    }

    /// Returns the slot with the lowest cost, if that is lower than all before.
    fn choose(&self, turn: &Turn<Self>, mut better: Vec<usize>) -> Vec<usize> {
        better.retain(|&slot| self.best.is_none_or(|best| turn.progress[slot].best < best));
        better.into_iter().min_by_key(|&slot| turn.progress[slot].quality()).into_iter().collect()
    }

    fn verify(turn: &Turn<Self>, slot: usize, values: &[u16]) -> Result<(), DeviceError> {
        let (told, counted) = (turn.progress[slot].best, turn.layout.space.cost(values));
        if Some(told) == counted {
            return Ok(());
        }
        // memory or a kernel of the device is faulty
        let cause = format!("a walk's best is {told}, counted again {counted:?}");
        Err(DeviceError::Failed { what: "comparing costs".into(), cause })
    }

    fn show(&mut self, turn: &Turn<Self>, bests: Vec<(usize, Vec<u16>)>) -> Result<Shown, DeviceError> {
        let space = &*turn.layout.space;
        let Some((slot, values)) = bests.into_iter().next() else { return Ok(Shown::default()) };
        Self::verify(turn, slot, &values)?;
        let (best, own) = (turn.progress[slot].best, space.own(&values));
        self.best = Some(best);
        let project = |own: &[u32]| {
            let core = turn.context.origin.as_ref()?.project(own, turn.stop).ok()?;
            let core = core.into_iter().map(|value| value as u16).collect();
            Elite::until(&turn.context.tables, core, turn.stop).ok()
        };
        let elite = if space.is_relaxed { None } else { project(&own) };
        let energy = elite.as_ref().map(|elite| elite.energy.total);
        if energy.is_none() || self.seen.is_none() || energy < self.seen {
            (self.start, self.seen) = (Some(values), energy);
        }
        let cost = space.tables.problem.constant.saturating_add(best);
        let found = Found { source: NAME, cost, values: own };
        Ok(Shown { elites: elite.into_iter().collect(), found: Some(found) })
    }

    /// Restarts all walks from the best assignment after values were removed from domains.
    fn rebase(&mut self, progress: &[SumProgress]) {
        self.seen = None;
        if !progress.is_empty() {
            self.climbs = progress.iter().map(SumProgress::climb).collect();
        }
    }

    fn account(&self, turn: &Turn<Self>, limit: u32, _: usize, effort: &mut Effort) {
        let step = step_work(&turn.layout.space, turn.on_device);
        if turn.on_device {
            effort.work = u64::from(limit) * step;
        } else if turn.context.portable {
            effort.work = turn.progress.len() as u64 * u64::from(limit) * step;
        }
    }
}
