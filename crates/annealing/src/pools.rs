//! The beginning of pools: the first one, later ones, one on another reduced problem, and one on the CPU after a device
//! failed.

use super::cpu::{CpuPopulation, begins_with_few};
use super::cuda::CudaPopulation;
use super::cuda::first_kernels::population_kernels;
use super::cuda::wide::{self, WidePopulation};
use super::generation::steps;
use super::phases::Phase;
use super::{Annealing, child_work};
use crate::core::context::SearchContext;
use crate::core::cuda::{Device, unfit};
use crate::core::effort::LostDevice;
use crate::core::elite::Elite;
use crate::core::pool::Pool;
use crate::core::population::clipped;
use crate::device::DeviceError;
use crate::stop::Stop;
use crate::tuning::wide::ONE_STATE_TIME;
use crate::tuning::{ARCHIVE, CROSS_EVERY, FIRST_SWEEPS, LONG_WORK};
use std::time::Duration;

impl Annealing {
    /// Begins the first pool. Returns the reason if it is not on the device although there is one.
    pub(super) fn begin(&mut self, context: &SearchContext, pool: &Pool) -> Result<Option<String>, DeviceError> {
        let note = self.choose_backend(context)?;
        // the elites that the CPU found while the device opened; on large problems they are adopted later
        let boards = self.device.is_some() && !context.portable && !context.is_large();
        let goes_on = self.long.is_none() && !self.population.at_once() && begins_with_few(context, 0);
        let climbs = (goes_on || self.population.is_together(context)) && !pool.elites().is_empty();
        self.begin_kind(context, if boards || climbs { pool.elites() } else { &[] }, climbs)?;
        if climbs {
            self.phase = Phase::Climb { sweeps: FIRST_SWEEPS };
        }
        Ok(note)
    }

    /// Begins a pool that contains `seeds` and, if `fill` is set, copies of them in all other slots.
    fn open(&mut self, context: &SearchContext, seeds: &[Elite], fill: bool) -> Result<(), DeviceError> {
        self.states = match (self.long, context.population) {
            // a reproducible run does not depend on the number of threads
            (Some(_), None) if !context.portable => rayon::current_num_threads(),
            (Some(_), _) => 1,
            (None, Some(wanted)) => clipped(wanted, self.population.most_states(context)?, &mut self.clipped),
            (None, None) => self.population.suitable_states(context, self.base_sweeps(context), self.epoch)?,
        };
        self.reopen(context, seeds, fill)
    }

    /// Begins a pool with the present number of states, of which `seeds` take the first slots or, if `fill` is set,
    /// all.
    fn reopen(&mut self, context: &SearchContext, seeds: &[Elite], fill: bool) -> Result<(), DeviceError> {
        self.made = 0;
        self.generation = None;
        (self.best, self.adopted) = (i64::MAX, i64::MAX);
        (self.stalled, self.in_vain, self.joined) = (0, 0, false);
        let slots = if fill { self.states } else { self.states.min(seeds.len()) };
        let seeds: Vec<Elite> = seeds.iter().cycle().take(slots).cloned().collect();
        self.population.open(context, self.states, &seeds)?;
        if self.temperatures.is_empty() {
            self.population.heat(steps(context.schedule))?;
        }
        Ok(())
    }

    /// Begins a pool with parameters that suit the size of the problem. It begins the first pool and those of problems
    /// that became large or small, because the offspring of one kind are too long for the other, and too few or too
    /// many.
    fn begin_kind(&mut self, context: &SearchContext, seeds: &[Elite], fill: bool) -> Result<(), DeviceError> {
        (self.large, self.together) = (context.is_large(), self.population.is_together(context));
        self.epoch = 0;
        self.sweeps = self.base_sweeps(context);
        if self.phase != Phase::Evolve {
            self.phase = Phase::Open { sweeps: FIRST_SWEEPS };
        }
        self.open(context, seeds, fill)
    }

    /// Begins on a reduced problem that replaces the last one, with the best states of the last one.
    pub(super) fn follow_core(&mut self, context: &SearchContext, elites: &[Elite]) -> Result<(), DeviceError> {
        let _ = self.choose_backend(context)?;
        // copies fill the pool: a child whose second parent is a copy of its parent takes random values instead
        if self.states == 0 {
            // a run resumed from a checkpoint
            self.open(context, elites, true)
        } else if (self.large, self.together) == (context.is_large(), self.population.is_together(context)) {
            self.reopen(context, elites, true)
        } else {
            self.begin_kind(context, elites, true)
        }
    }

    /// Chooses where offspring are made from now on. Returns the reason if it is not the device although there is one.
    fn choose_backend(&mut self, context: &SearchContext) -> Result<Option<String>, DeviceError> {
        let Some(device) = &self.device else { return Ok(None) };
        if let Some(what) = unfit(context) {
            self.population = Box::new(CpuPopulation::default());
            return Ok(Some(format!("{}: {what} are searched on the CPU", device.label())));
        }
        self.population = match wide::suits(context) {
            true => Box::new(self.wide(device.clone(), context)?),
            false => Box::new(CudaPopulation::new(device, context)?),
        };
        Ok(None)
    }

    /// Replaces the one state of a device by a population if it is time for that. Many states combined by components
    /// reach better costs in the end, but one state is far ahead at first. The kernels of the population are compiled
    /// meanwhile.
    pub(super) fn leave_one_state(&mut self, context: &SearchContext, stop: &Stop) -> Result<(), DeviceError> {
        let Some(device) = self.device.as_ref().filter(|_| self.population.is_together(context)) else { return Ok(()) };
        let time = self.work / self.population.speed(context).max(1);
        let is_due = self.phase == Phase::Evolve && time >= ONE_STATE_TIME * context.variables() as u64;
        if !is_due || context.portable || !context.falls_into_parts() {
            return Ok(());
        }
        let Some(source) = population_kernels(device, context) else { return Ok(()) };
        let is_ready = device.poll(&source, Duration::ZERO)?.is_some();
        if !is_ready || context.regions(stop).is_err() || context.forests(stop).is_err() {
            return Ok(());
        }
        self.population = Box::new(CudaPopulation::new(device, context)?);
        self.temperatures.clear();
        self.phase = Phase::Open { sweeps: FIRST_SWEEPS };
        self.begin_kind(context, &[], false)
    }

    /// Makes a population of one state on the device and its partners, without partners that fail.
    fn wide(&mut self, device: Device, context: &SearchContext) -> Result<WidePopulation, DeviceError> {
        loop {
            let mut devices = vec![device.clone()];
            devices.extend(self.partners.iter().flatten().cloned());
            match WidePopulation::new(&devices, context) {
                Ok(population) => return Ok(population),
                Err(lost) if lost.ordinal == device.info.ordinal => return Err(lost.error),
                Err(lost) => self.lose_partner(lost),
            }
        }
    }

    /// Removes a partner that has failed.
    pub(super) fn lose_partner(&mut self, lost: LostDevice) {
        self.partners.iter_mut().for_each(|partners| partners.retain(|cuda| cuda.info.ordinal != lost.ordinal));
        self.lost_partner = Some(lost);
    }

    /// Continues on the CPU with a new population after the device has failed. The incumbents are in the pool and the
    /// archive.
    pub(super) fn go_on_on_the_host(&mut self) {
        self.device = None;
        self.partners = None;
        self.population = Box::new(CpuPopulation::default());
        (self.states, self.moved) = (0, None);
        self.phase = Phase::Open { sweeps: FIRST_SWEEPS };
        self.temperatures.clear();
    }

    pub(super) fn begin_epoch(&mut self, context: &SearchContext) -> Result<(), DeviceError> {
        if let Some(best) = self.population.best(context)?
            && self.archive.iter().all(|kept| kept.hash != best.hash)
        {
            self.archive.push(best);
            self.archive.sort_by_key(|elite| (elite.energy.total, elite.hash));
            self.archive.truncate(ARCHIVE);
        }
        self.epoch += 1;
        self.long =
            self.long.map(|sweeps| if child_work(context, 2 * sweeps) <= LONG_WORK { 2 * sweeps } else { sweeps });
        self.phase = self.opening(context);
        let large = context.is_large();
        // the sweeps of later epochs follow the ruler sequence, because the best length differs: every other epoch
        // anneals twice as long, every fourth four times. On large problems they grow within an epoch
        self.sweeps = self.base_sweeps(context) << if large { 0 } else { self.epoch.trailing_zeros().min(4) };
        // every few epochs the best elites of earlier pools form half of a pool and new states the rest; on large
        // problems they join every pool at its end
        let crossed = if !large && self.epoch.is_multiple_of(CROSS_EVERY) { self.states / 2 } else { 0 };
        let seeds: Vec<Elite> = self.archive.iter().take(crossed).cloned().collect();
        self.open(context, &seeds, false)
    }
}
