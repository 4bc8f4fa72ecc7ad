//! Annealing as a driver of the portfolio.

use super::Annealing;
use super::cuda::first_kernels::first_kernels;
use super::cuda::wide::{is_shared, suits};
use super::phases::Phase;
use crate::core::context::SearchContext;
use crate::core::driver::{Driver, DriverState};
use crate::core::effort::Effort;
use crate::core::elite::Elite;
use crate::core::pool::{Pool, Translate};
use crate::core::tuning::leading::{LARGE_FLOOR, WEIGHT};
use crate::device::Source;
use crate::stop::Stop;
use crate::threads;
use crate::tuning::{CLIMBING_FLOOR, LONG_SWEEPS, MOST_SWEEPS, MOVED, VIOLATIONS_FLOOR};

impl Driver for Annealing {
    fn fits(&self, context: &SearchContext, _: &Pool) -> bool {
        // on large problems all offspring get longer anyway
        self.long.is_none() || !context.is_large()
    }

    fn needs_few_threads(&self) -> bool {
        self.long.is_some()
    }

    fn population(&self) -> usize {
        self.states
    }

    fn shares_devices(&self, context: &SearchContext) -> bool {
        self.partners.is_some() && is_shared(context)
    }

    fn weight(&self, _: &SearchContext, _: &Pool) -> f64 {
        if self.long.is_some() { 1.0 } else { WEIGHT }
    }

    fn floor(&self, context: &SearchContext, pool: &Pool) -> f64 {
        let one_state = self.keeps_climbing(context);
        let large = pool.solved && context.is_large() && (one_state || !context.is_coloring());
        match self.device {
            _ if !pool.solved && self.goes_among_violations(context) => VIOLATIONS_FLOOR,
            _ if !large || self.long.is_some() => 0.0,
            _ if context.is_quadratic() => LARGE_FLOOR / 2.0,
            _ if one_state => CLIMBING_FLOOR,
            _ => LARGE_FLOOR,
        }
    }

    fn kernels(&self, context: &SearchContext) -> Option<Source> {
        let opens = self.states == 0 || self.moved.is_some();
        first_kernels(self.device.as_ref().filter(|_| opens)?, context, self.partners.is_some())
    }

    fn round(&mut self, context: &SearchContext, pool: &mut Pool, stop: &Stop) -> Effort {
        let mut effort = Effort::default();
        if self.prepare(context, stop).is_err() {
            return effort;
        }
        if let Err(error) = self.advance(context, pool, stop, &mut effort) {
            self.go_on_on_the_host();
            effort.lost = Some(error);
        }
        effort.lost_partner = self.lost_partner.take();
        effort
    }

    fn ends_after(&mut self, work: u64) {
        self.left = Some(work);
    }

    fn state(&self) -> Option<DriverState<Elite>> {
        let population = match &self.moved {
            Some(elites) => elites.clone(),
            None if self.states == 0 => return None,
            // a device that fails here fails again in the next round, which reports it
            None => self.population.top(MOVED).ok()?,
        };
        let population = population.into_iter().filter(Elite::is_known).collect();
        let sweeps = match self.phase {
            // shorter climbs end before a resumed run would reach them
            Phase::Climb { sweeps } if sweeps > LONG_SWEEPS => sweeps,
            _ => self.long.unwrap_or(self.sweeps),
        };
        let epoch = self.epoch;
        Some(DriverState { population, archive: self.archive.clone(), epoch, sweeps })
    }

    fn resume(&mut self, context: &SearchContext, state: DriverState<Elite>) {
        let DriverState { population, archive, epoch, sweeps } = state;
        if population.is_empty() {
            return;
        }
        let sweeps = sweeps.clamp(1, MOST_SWEEPS);
        match &mut self.long {
            Some(long) => *long = sweeps,
            None => self.sweeps = sweeps,
        }
        (self.archive, self.epoch, self.moved) = (archive, epoch, Some(population));
        let is_wide = self.device.is_some() && suits(context) && !context.falls_into_parts();
        self.phase = if context.climbs() || is_wide { Phase::Climb { sweeps } } else { Phase::Evolve };
        self.large = context.is_large();
    }

    fn rebase(&mut self, _: &SearchContext, translate: &Translate<'_>) {
        let moved = |elites: Vec<Elite>| -> Vec<Elite> {
            let known = elites.iter().filter(|elite| elite.is_known());
            threads::map(known, |elite| translate(&elite.values)).into_iter().flatten().collect()
        };
        self.archive = moved(std::mem::take(&mut self.archive));
        self.temperatures.clear();
        let elites = match self.moved.take() {
            Some(elites) => Ok(elites),
            None if self.states == 0 => return,
            None => self.population.top(MOVED),
        };
        match elites {
            Ok(elites) => self.moved = Some(moved(elites)),
            // a device that fails here fails again in the next round, which reports it
            Err(_) => self.states = 0,
        }
    }
}
