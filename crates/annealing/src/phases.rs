//! The phases of a pool: anneals from random values, anneals of increasing length from known solutions, and
//! generations.

use super::cpu::begins_with_few;
use super::{Annealing, child_work};
use crate::core::context::SearchContext;
use crate::core::tuning::size::LEAST_SWEEPS;
use crate::device::DeviceError;
use crate::generation::{Generation, Replacement};
use crate::tuning::device::{CLIMB_PART, CLIMB_WORK};
use crate::tuning::wide::{CLIMB_GROWTH, GROWTH};
use crate::tuning::{
    DOUBLINGS, FIRST_SWEEPS, IN_VAIN, LARGE_PATIENCE, LAST, LONG_SWEEPS, LONGEST_CLIMB, MOST_SWEEPS, OPENING_SWEEPS,
    PATIENCE, SHORT_OPENING_SWEEPS, SURE, TREE_EVERY,
};

/// The kind of a generation's offspring: anneals from random values, anneals from a known solution, or offspring by
/// crossover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Open {
        sweeps: u32,
    },
    /// Anneals from a known solution, each longer and hotter than the last; used if a child takes long.
    Climb {
        sweeps: u32,
    },
    Evolve,
}

impl Annealing {
    /// Returns the phase of the second anneal of a pool.
    pub(super) fn opening(&self, context: &SearchContext) -> Phase {
        let sweeps = match self.population.at_once() {
            true => SHORT_OPENING_SWEEPS,
            false if begins_with_few(context, self.epoch) => LONG_SWEEPS,
            false => OPENING_SWEEPS,
        };
        Phase::Open { sweeps: self.long.unwrap_or(sweeps) }
    }

    /// Returns whether the anneals get longer throughout the run where the children are made at present.
    pub(super) fn keeps_climbing(&self, context: &SearchContext) -> bool {
        self.population.is_together(context) && !context.falls_into_parts()
    }

    /// Returns whether all states of a device's population anneal longer and longer before there are generations.
    fn climbs_first(&self, context: &SearchContext) -> bool {
        self.population.at_once() && context.is_large() && !context.falls_into_parts()
    }

    /// Returns whether each anneal from known solutions is longer than the last, until long ones are made.
    pub(super) fn climbs(&self, context: &SearchContext) -> bool {
        self.keeps_climbing(context) || self.climbs_first(context)
    }

    /// Returns what follows anneals of all states: longer ones or, if these take too long, generations.
    fn after_climb(&mut self, context: &SearchContext, sweeps: u32) -> Phase {
        let longer = if sweeps < LONG_SWEEPS { 4 * sweeps } else { 2 * sweeps };
        let work = child_work(context, longer).saturating_mul(self.states as u64);
        if work / self.population.speed(context).max(1) <= CLIMB_WORK {
            return Phase::Climb { sweeps: longer };
        }
        self.sweeps = (sweeps / CLIMB_PART).max(self.base_sweeps(context));
        Phase::Evolve
    }

    /// Returns whether a whole device sweeps one state, or the CPU does in a portable run.
    pub(super) fn is_quick(&self, context: &SearchContext) -> bool {
        (self.device.is_some() || context.portable) && self.population.is_together(context)
    }

    /// Returns the length of an anneal of `sweeps` sweeps adapted to the time limit: shorter if the run ends before it,
    /// longer if the run ends soon after it. An unfinished anneal is still hot and improves nothing.
    pub(super) fn until_the_end(&self, context: &SearchContext, sweeps: u32) -> u32 {
        let Some(left) = self.left.filter(|_| self.keeps_climbing(context)) else { return sweeps };
        let of_sweeps = left as f64 * self.population.speed(context) as f64 / context.sweep_work.max(1) as f64;
        let left = SURE * of_sweeps;
        match f64::from(sweeps) {
            planned if left < LAST * planned => left.max(f64::from(FIRST_SWEEPS)) as u32,
            _ => sweeps,
        }
    }

    /// Returns the factor from an anneal that starts at the incumbent to the next one.
    fn climb_growth(&self, context: &SearchContext) -> u32 {
        if self.is_quick(context) { CLIMB_GROWTH } else { 2 }
    }

    /// Chooses the next phase after a generation, or begins a new pool.
    pub(super) fn follow(
        &mut self,
        context: &SearchContext,
        generation: &Generation,
        replacement: &Replacement,
    ) -> Result<(), DeviceError> {
        if let Phase::Open { sweeps } = self.phase {
            self.phase = match sweeps {
                // each anneal is as long as all before it together: better states are reported at its end
                _ if self.population.is_together(context) && sweeps < LONG_SWEEPS => Phase::Open { sweeps: 2 * sweeps },
                _ if self.climbs(context) => Phase::Climb { sweeps: 2 * sweeps },
                FIRST_SWEEPS => self.opening(context),
                _ => Phase::Evolve,
            };
            return if self.temperatures.is_empty() { self.narrow(context) } else { Ok(()) };
        }
        if let Phase::Climb { sweeps } = self.phase {
            self.best = self.best.min(replacement.best);
            let (together, keeps) = (self.population.is_together(context), self.keeps_climbing(context));
            self.phase = match sweeps {
                LONG_SWEEPS.. if together && !keeps => Phase::Evolve,
                _ if self.climbs_first(context) => self.after_climb(context, sweeps),
                LONGEST_CLIMB.. if !together => self.opening(context),
                ..LONG_SWEEPS if keeps => Phase::Climb { sweeps: 4 * sweeps },
                _ => Phase::Climb { sweeps: (self.climb_growth(context) * sweeps).min(MOST_SWEEPS) },
            };
            // the first climbs begin at an assignment that has not settled
            let settles = self.climbs(context) && sweeps <= LONG_SWEEPS;
            return if settles { self.narrow(context) } else { Ok(()) };
        }
        let tree_factor = 1.0 + self.population.tree_sweeps(context) / f64::from(generation.sweeps.min(TREE_EVERY));
        self.operators.note(&replacement.tally, tree_factor, self.end);
        if replacement.best < self.best {
            self.best = replacement.best;
            (self.stalled, self.in_vain) = (0, 0);
        } else {
            self.stalled += 1;
        }
        if context.is_large() {
            return self.follow_on_large(context);
        }
        let converged = replacement.at_best > self.states / 2;
        if (converged && self.stalled >= PATIENCE) || self.stalled >= 8 * PATIENCE {
            self.begin_epoch(context)?;
        }
        Ok(())
    }

    /// Chooses the next step on a large problem: longer offspring, then elites of the archive, then a new pool.
    fn follow_on_large(&mut self, context: &SearchContext) -> Result<(), DeviceError> {
        if self.is_quick(context) {
            let sweeps = self.work / context.sweep_work.max(1) / GROWTH;
            self.sweeps = sweeps.clamp(LEAST_SWEEPS.into(), MOST_SWEEPS.into()) as u32;
            return Ok(());
        }
        // no generation takes longer than all before it together, so that better states are reported steadily
        let longer = child_work(context, 2 * self.sweeps).saturating_mul(self.states as u64);
        if self.stalled < LARGE_PATIENCE || longer > self.work {
            return Ok(());
        }
        self.stalled = 0;
        let base = self.base_sweeps(context);
        if self.in_vain < IN_VAIN[usize::from(context.falls_into_parts())] {
            self.in_vain += 1;
            self.sweeps = (2 * self.sweeps).min(base << DOUBLINGS);
        } else if self.joined || self.archive.is_empty() {
            self.begin_epoch(context)?;
        } else {
            self.joined = true;
            self.in_vain = 0;
            self.sweeps = base;
            self.archive.iter().try_for_each(|elite| self.population.adopt(elite))?;
        }
        Ok(())
    }
}
