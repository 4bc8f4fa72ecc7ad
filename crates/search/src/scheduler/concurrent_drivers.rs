//! Drivers concurrent with the alternating ones, with a separate pool: on the CPU those that have no device version,
//! and on each further device all that have one. They exchange assignments, kilobytes between rounds.

use super::background::BackgroundTask;
use super::portfolio::{Lost, Portfolio};
use super::threads::Threads;
use crate::core::context::SearchContext;
use crate::core::effort::Effort;
use crate::core::gap_watch::GapWatch;
use crate::core::pool::{Pool, Translate};
use crate::device::DeviceError;
use crate::elimination::Outcome;
use crate::faults;
use crate::stop::{Cause, Stop};
use crate::tuning::tuning;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub(super) struct ConcurrentDrivers {
    drivers: BackgroundTask<Portfolio, ()>,
    threads: Threads,
    pace: Pace,
    found: Arc<Mutex<Found>>,
    over: Stop,
}

/// How concurrent rounds relate to the alternating ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    /// Free-running, once the pool has an elite to start from.
    Follow,
    /// Free-running.
    Free,
    /// One round for each alternating round, with the pool at its beginning. A repeatable run then depends neither on
    /// threads nor on the speeds of devices.
    InStep,
}

/// What remains of drivers whose rounds have ended.
pub(super) struct Ended {
    /// The drivers; `None` if they did not return.
    pub drivers: Option<Portfolio>,
    pub effort: Effort,
    pub lost: Vec<Lost>,
    /// The failure of their device, if it failed.
    pub failed: Option<DeviceError>,
}

/// The shared pool, and what the drivers did since the last collection.
#[derive(Default)]
struct Found {
    pool: Pool,
    effort: Effort,
    source: &'static str,
    population: usize,
    lost: Vec<Lost>,
    /// The failure of the device, after which no round begins.
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

    /// Creates drivers of a device, with `threads` CPU threads for the work on the host, such as building forests.
    pub fn of_device(drivers: Portfolio, threads: usize, pace: Pace) -> Self {
        let threads = Threads::start(threads.max(1));
        let failed = || DeviceError::Unusable("the system has no thread for it".into());
        let failed = threads.is_none().then(failed);
        let drivers = ConcurrentDrivers::new(drivers, threads.unwrap_or_default(), pace);
        lock(&drivers.found).failed = failed;
        drivers
    }

    /// Begins rounds with the shared pool, unless some are running.
    pub fn begin(&mut self, context: &Arc<SearchContext>, pool: &Pool, gap: &GapWatch, stop: &Stop) {
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
        let (threads, gap, pace) = (self.threads.clone(), gap.clone(), self.pace);
        let own = threads.clone();
        let task = move |drivers: &mut Portfolio| threads.run(|| rounds(drivers, &context, &found, &gap, pace, &over));
        self.drivers.begin(&own, task);
    }

    /// Exchanges the elites of both sides. Waits for a round that is in step. Returns the driver that found the best
    /// elite and what was done.
    pub fn collect(&mut self, pool: &mut Pool) -> (&'static str, Effort) {
        if self.is_in_step() {
            let _ = self.drivers.wait(Duration::MAX);
        }
        let mut found = lock(&self.found);
        pool.take_in(&found.pool);
        found.pool.clone_from(pool);
        (found.source, std::mem::take(&mut found.effort))
    }

    /// Returns whether no round is running.
    #[cfg(test)]
    pub fn is_here(&mut self) -> bool {
        self.drivers.here().is_some()
    }

    /// Requests that running rounds end.
    pub fn recall(&self) {
        self.over.set(Cause::Time);
    }

    /// Ends the running rounds. Their elites stay in the separate pool.
    pub fn halt(&mut self) -> Option<&mut Portfolio> {
        self.recall();
        let _ = self.drivers.wait(tuning().portfolio.patience);
        self.drivers.here()
    }

    /// Ends the running rounds and returns the drivers, their effort and their failures.
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

    /// Returns why the device failed, if it did.
    pub fn failure(&self) -> Option<DeviceError> {
        lock(&self.found).failed.clone()
    }

    /// Returns whether each round belongs to an alternating one: together they take as long as the longest.
    pub fn is_in_step(&self) -> bool {
        self.pace == Pace::InStep
    }

    /// Returns the number of states after the last round.
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
    gap: &GapWatch,
    pace: Pace,
    over: &Stop,
) {
    let mut pool = lock(found).pool.clone();
    while !over.is_set() && !drivers.is_empty() {
        faults::panic_at("drivers");
        let (source, mut effort) = drivers.round(context, &mut pool, over);
        if drivers.is_empty() {
            // the other drivers continue
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
            gap.found(context.constant.saturating_add(elite.energy.total));
        }
    }
}

/// Locks `found`, whose contents are complete after each round, even if a later one panicked.
fn lock(found: &Mutex<Found>) -> MutexGuard<'_, Found> {
    found.lock().unwrap_or_else(PoisonError::into_inner)
}
