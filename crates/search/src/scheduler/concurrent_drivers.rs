//! Drivers beside those that take turns, with a pool of their own: on the CPU those that no device has, and on each
//! further device of a list all that a device has. What they exchange are assignments, kilobytes between rounds.

use super::background::BackgroundTask;
use super::portfolio::{Lost, Portfolio};
use super::threads::Threads;
use crate::core::context::SearchContext;
use crate::core::effort::Effort;
use crate::core::incumbent::SharedIncumbent;
use crate::core::pool::{Pool, Translate};
use crate::device::DeviceError;
use crate::elimination::Outcome;
use crate::stop::{Cause, Stop};
use crate::threads;
use crate::tuning::portfolio::PATIENCE;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub(super) struct ConcurrentDrivers {
    drivers: BackgroundTask<Portfolio, ()>,
    threads: Threads,
    pace: Pace,
    found: Arc<Mutex<Found>>,
    over: Stop,
}

/// How their rounds go with those of the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    /// One after the other, once there is something to build on.
    Follow,
    /// One after the other.
    Free,
    /// One for each of theirs, with what was known when that began: a run that must be repeated depends neither on
    /// threads nor on which device is faster.
    InStep,
}

/// What is left of drivers whose rounds have ended.
pub(super) struct Ended {
    /// None where they did not come back.
    pub drivers: Option<Portfolio>,
    pub effort: Effort,
    pub lost: Vec<Lost>,
    /// Why their device is gone.
    pub failed: Option<DeviceError>,
}

/// What both sides know, and what the drivers did since they were last asked.
#[derive(Default)]
struct Found {
    pool: Pool,
    effort: Effort,
    source: &'static str,
    population: usize,
    lost: Vec<Lost>,
    /// The device has failed: no round begins any more.
    failed: Option<DeviceError>,
}

impl Drop for ConcurrentDrivers {
    fn drop(&mut self) {
        self.over.set(Cause::Time);
    }
}

impl ConcurrentDrivers {
    pub fn new(drivers: Portfolio, threads: Threads, pace: Pace) -> Self {
        let drivers = BackgroundTask::new(drivers);
        ConcurrentDrivers { drivers, threads, pace, found: Arc::default(), over: Stop::new() }
    }

    /// On a device, whose work on the host, as forests, `threads` of the CPU share.
    pub fn of_device(drivers: Portfolio, threads: usize, pace: Pace) -> Self {
        let threads = Threads::start(threads.max(1));
        let failed = || DeviceError::Unusable("the system has no thread for it".into());
        let failed = threads.is_none().then(failed);
        let drivers = ConcurrentDrivers::new(drivers, threads.unwrap_or_default(), pace);
        lock(&drivers.found).failed = failed;
        drivers
    }

    /// Begins rounds with what both sides know, where none are under way.
    pub fn begin(&mut self, context: &Arc<SearchContext>, pool: &Pool, incumbent: &SharedIncumbent, stop: &Stop) {
        if self.drivers.here().is_none_or(|drivers| drivers.is_empty()) {
            return;
        }
        let mut found = lock(&self.found);
        let follows = self.pace == Pace::Follow && !context.is_for_sums();
        if found.failed.is_some() || follows && pool.elites().is_empty() {
            return;
        }
        found.pool.take_in(pool);
        drop(found);
        self.over = stop.below();
        let (context, found, over) = (context.clone(), self.found.clone(), self.over.clone());
        let (threads, incumbent, pace) = (self.threads.clone(), incumbent.clone(), self.pace);
        let own = threads.clone();
        let task =
            move |drivers: &mut Portfolio| threads.run(|| rounds(drivers, &context, &found, &incumbent, pace, &over));
        self.drivers.begin(&own, task);
    }

    /// Lets both sides know what the other has found; a round that is in step is waited for. Returns which driver found
    /// the best and what was done.
    pub fn collect(&mut self, pool: &mut Pool) -> (&'static str, Effort) {
        if self.is_in_step() {
            let _ = self.drivers.wait(Duration::MAX);
        }
        let mut found = lock(&self.found);
        pool.take_in(&found.pool);
        found.pool.clone_from(pool);
        (found.source, std::mem::take(&mut found.effort))
    }

    /// Whether no round is under way.
    #[cfg(test)]
    pub fn is_here(&mut self) -> bool {
        self.drivers.here().is_some()
    }

    /// Tells rounds under way to end.
    pub fn recall(&self) {
        self.over.set(Cause::Time);
    }

    /// Ends the rounds under way. What they found stays where it is.
    pub fn halt(&mut self) -> Option<&mut Portfolio> {
        self.recall();
        let _ = self.drivers.wait(PATIENCE);
        self.drivers.here()
    }

    /// Ends the rounds under way, and is no more.
    pub fn end(mut self, pool: &mut Pool) -> Ended {
        let _ = self.halt();
        let (_, effort) = self.collect(pool);
        let mut lost = Vec::new();
        self.collect_lost(&mut lost);
        Ended { drivers: self.drivers.take(), effort, lost, failed: self.failure() }
    }

    pub fn collect_lost(&mut self, lost: &mut Vec<Lost>) {
        lost.append(&mut lock(&self.found).lost);
        lost.extend(self.drivers.take_lost().map(|what| Lost { source: "drivers", what }));
    }

    /// Why the device is gone.
    pub fn failure(&self) -> Option<DeviceError> {
        lock(&self.found).failed.clone()
    }

    /// Whether its rounds are those of the others: together they take as long as the longest.
    pub fn is_in_step(&self) -> bool {
        self.pace == Pace::InStep
    }

    /// States after the last round.
    pub fn population(&self) -> usize {
        lock(&self.found).population
    }

    pub fn guide(&mut self, outcome: &Arc<Outcome>) {
        if let Some(drivers) = self.halt() {
            drivers.guide(outcome.clone());
        }
    }

    pub fn rebase(&mut self, context: &SearchContext, translate: &Translate<'_>) {
        if let Some(drivers) = self.halt() {
            drivers.rebase(context, translate);
        }
        lock(&self.found).pool.rebase(translate);
    }
}

fn rounds(
    drivers: &mut Portfolio,
    context: &SearchContext,
    found: &Mutex<Found>,
    incumbent: &SharedIncumbent,
    pace: Pace,
    over: &Stop,
) {
    let mut pool = lock(found).pool.clone();
    while !over.is_set() && !drivers.is_empty() {
        threads::panic_on_purpose("drivers");
        let (source, mut effort) = drivers.round(context, &mut pool, over);
        if drivers.is_empty() {
            // the others go on
            effort.fault = None;
        }
        let mut found = lock(found);
        found.lost.append(&mut drivers.take_lost());
        if pool.best() < found.pool.best() {
            found.source = source;
        }
        found.failed = effort.lost.take();
        found.population = drivers.population();
        found.effort.add(&effort);
        found.pool.take_in(&pool);
        pool.clone_from(&found.pool);
        let ends = pace == Pace::InStep || found.failed.is_some();
        drop(found);
        if ends {
            return;
        }
        if let Some(elite) = pool.allowed().filter(|_| !context.is_relaxed()) {
            incumbent.found(context.constant.saturating_add(elite.energy.total));
        }
    }
}

/// What was found is whole after each round, whatever became of a later one.
fn lock(found: &Mutex<Found>) -> MutexGuard<'_, Found> {
    found.lock().unwrap_or_else(PoisonError::into_inner)
}
