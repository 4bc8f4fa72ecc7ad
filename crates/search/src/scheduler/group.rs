//! The drivers of a run. On few threads of the CPU they alternate. Beside a device, drivers without a device version
//! run concurrently: alternating with the device they kept it waiting a quarter of the time, and had little time
//! themselves (results/notes/search-cuda.md). On many threads, drivers that leave most of them idle also run
//! concurrently. With several devices, the first one's drivers alternate here, and each further device has separate
//! drivers.

use super::concurrent_drivers::{ConcurrentDrivers, Ended, Pace};
use super::portfolio::{Lost, Portfolio};
use super::threads::Threads;
use crate::core::context::SearchContext;
use crate::core::effort::{Effort, LostDevice};
use crate::core::gap_watch::GapWatch;
use crate::core::pool::{Pool, Translate};
use crate::device::{DeviceError, Opened};
use crate::elimination::Outcome;
use crate::options::Options;
use crate::rng::Rng;
use crate::stop::Stop;
use std::sync::Arc;

/// The alternating and the concurrent drivers of a run.
pub(crate) struct DriverGroup {
    pub turns: Portfolio,
    concurrent: Option<ConcurrentDrivers>,
    /// The drivers of further devices, in the order of the device list.
    others: Vec<ConcurrentDrivers>,
    /// The numbers of the further devices; `None` is the CPU.
    ordinals: Vec<Option<usize>>,
    /// Further devices that failed while they shared the first one's work, not yet reported.
    failed: Vec<LostDevice>,
    /// The watch on the gap, which receives the solutions of concurrent rounds.
    gap: GapWatch,
    /// Drivers that ended by an internal error, with its message.
    lost: Vec<Lost>,
    /// Effort of drivers that have ended since the last round.
    done: Effort,
}

impl DriverGroup {
    /// Creates the drivers that the options select. With `threads`, some of them run concurrently with a device.
    pub fn new(options: &Options, device: &Opened, threads: Option<Threads>, gap: GapWatch, rng: &mut Rng) -> Self {
        let turns = Portfolio::sharing(options, device, threads.is_some(), rng);
        let concurrent =
            threads.map(|threads| ConcurrentDrivers::new(Portfolio::concurrent(options, rng), threads, Pace::Follow));
        let pace = if options.rounds.is_some() { Pace::InStep } else { Pace::Free };
        let each = rayon::current_num_threads() / (1 + device.others.len());
        // drivers without a device version exist once
        let drivers = device.others.iter().map(|cuda| Portfolio::new(options, cuda.clone(), true, rng));
        let others = drivers.map(|drivers| ConcurrentDrivers::of_device(drivers, each, pace)).collect();
        let ordinals = device.others.iter().map(|cuda| cuda.as_ref().map(|cuda| cuda.info.ordinal)).collect();
        let (failed, lost, done) = (Vec::new(), Vec::new(), Effort::default());
        DriverGroup { turns, concurrent, others, ordinals, failed, gap, lost, done }
    }

    /// Makes the drivers that need few threads concurrent from now on, on `threads`.
    pub fn split(&mut self, threads: Threads) {
        self.concurrent = Some(ConcurrentDrivers::new(self.turns.split(), threads, Pace::Follow));
    }

    /// Replaces the drivers by those of the device. The elites are in the pool; the last guidance is repeated.
    pub fn hand_over(
        &mut self,
        options: &Options,
        device: &Opened,
        threads: Option<Threads>,
        pool: &mut Pool,
        rng: &mut Rng,
    ) {
        let told = self.turns.told();
        if let Some(concurrent) = self.concurrent.take() {
            drop(self.end(concurrent, pool));
        }
        let (lost, done) = (self.take_lost(), std::mem::take(&mut self.done));
        *self = DriverGroup { lost, done, ..DriverGroup::new(options, device, threads, self.gap.clone(), rng) };
        if let Some(outcome) = told {
            self.guide(outcome);
        }
    }

    /// Handles the failure of the device: the next device's drivers alternate here, with those that have no device
    /// version. Without another device all drivers alternate. Returns the failure of the next device, if it has failed
    /// as well.
    pub fn lose_device(&mut self, pool: &mut Pool) -> Option<DeviceError> {
        if self.others.is_empty() {
            let concurrent = self.concurrent.take()?;
            if let (Some(drivers), _) = self.end(concurrent, pool) {
                self.turns.join(drivers);
            }
            return None;
        }
        let next = self.others.remove(0);
        let _ = self.ordinals.remove(0);
        let (drivers, failed) = self.end(next, pool);
        if let Some(drivers) = drivers {
            let before = std::mem::replace(&mut self.turns, drivers);
            self.turns.join(before.without_device());
        }
        failed
    }

    /// Ends concurrent rounds. Returns the drivers, and the failure of their device.
    fn end(&mut self, beside: ConcurrentDrivers, pool: &mut Pool) -> (Option<Portfolio>, Option<DeviceError>) {
        let Ended { drivers, effort, lost, failed } = beside.end(pool);
        self.done.add(&effort);
        self.lost.extend(lost);
        (drivers, failed)
    }

    /// Removes a further device that has failed. Returns its index among the further devices and the error.
    pub fn take_failed(&mut self, pool: &mut Pool) -> Option<(usize, DeviceError)> {
        let shared = self.failed.pop().and_then(|LostDevice { ordinal, error }| {
            Some((self.ordinals.iter().position(|&other| other == Some(ordinal))?, error))
        });
        let failures = self.others.iter().map(ConcurrentDrivers::failure).enumerate();
        let (place, error) = shared.or_else(|| failures.filter_map(|(place, error)| Some((place, error?))).next())?;
        let _ = self.ordinals.remove(place);
        let other = self.others.remove(place);
        drop(self.end(other, pool));
        Some((place, error))
    }

    /// Returns the drivers that have ended by an internal error, once.
    pub fn take_lost(&mut self) -> Vec<Lost> {
        self.lost.extend(self.turns.take_lost());
        for beside in self.concurrent.iter_mut().chain(&mut self.others) {
            beside.collect_lost(&mut self.lost);
        }
        std::mem::take(&mut self.lost)
    }

    /// Makes one round of one driver and collects the concurrent work. Returns the driver that found the best elite, or
    /// else made the round, and the total effort.
    pub fn round(&mut self, context: &Arc<SearchContext>, pool: &mut Pool, stop: &Stop) -> (&'static str, Effort) {
        if !self.turns.shares_devices(context) {
            self.others.iter_mut().for_each(|other| other.begin(context, pool, &self.gap, stop));
        }
        let (mut source, mut effort) = self.turns.round(context, pool, stop);
        self.failed.extend(effort.lost_partner.take());
        effort.add(&std::mem::take(&mut self.done));
        for beside in self.concurrent.iter_mut().chain(&mut self.others) {
            let before = pool.best();
            let (other, mut more) = beside.collect(pool);
            if pool.best() < before {
                source = other;
            }
            if beside.is_in_step() {
                more.work = more.work.saturating_sub(effort.work);
            }
            effort.add(&more);
        }
        if let Some(concurrent) = &mut self.concurrent {
            concurrent.begin(context, pool, &self.gap, stop);
        }
        (source, effort)
    }

    /// Ends the rounds at the end of the run. Returns the driver that found the best elite among those that arrived,
    /// and the effort up to then.
    pub fn finish(&mut self, pool: &mut Pool) -> (Option<&'static str>, Effort) {
        self.recall();
        let mut source = None;
        let mut done = std::mem::take(&mut self.done);
        for beside in self.concurrent.iter_mut().chain(&mut self.others) {
            let _ = beside.halt();
            let before = pool.best();
            let (other, effort) = beside.collect(pool);
            if source.is_none() || pool.best() < before {
                source = Some(other);
            }
            done.add(&effort);
        }
        (source, done)
    }

    /// Requests that running rounds end.
    fn recall(&self) {
        self.concurrent.iter().chain(&self.others).for_each(ConcurrentDrivers::recall);
    }

    /// Returns the number of states on all devices.
    pub fn population(&self) -> usize {
        self.turns.population() + self.others.iter().map(ConcurrentDrivers::population).sum::<usize>()
    }

    pub fn guide(&mut self, outcome: Arc<Outcome>) {
        self.recall();
        for beside in self.concurrent.iter_mut().chain(&mut self.others) {
            beside.guide(&outcome);
        }
        self.turns.guide(outcome);
    }

    pub fn rebase(&mut self, context: &SearchContext, translate: &Translate<'_>) {
        self.recall();
        for beside in self.concurrent.iter_mut().chain(&mut self.others) {
            beside.rebase(context, translate);
        }
        self.turns.rebase(context, translate);
    }
}

#[cfg(test)]
#[path = "group_tests.rs"]
mod tests;
