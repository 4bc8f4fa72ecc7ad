//! Sums under a time limit: bounds first, then exact tables if memory and time suffice, else more bounds.

use super::bounds::bound;
use super::evidence::Evidence;
use super::found::SumBounds;
use super::intervals::Bounded;
use super::options::Options;
use super::prepared::{Marginals, Prepared};
use super::tuning;
use crate::error::Error;
use crate::model::Potentials;
use crate::stop::Stop;
use std::time::{Duration, Instant};

/// The result of a sum under a time limit.
#[derive(Clone, Debug)]
pub enum Sums {
    /// The sum and the requested posteriors.
    Exact(Marginals),
    /// Bounds on the sum and on the posteriors.
    Bounds(Bounded),
}

impl Prepared {
    /// Computes the sum within the time that [`Self::end_at`] sets. Bounds take an eighth of the time of the exact
    /// tables; they take the rest of the time if the tables do not fit or would take too long. `tell` receives all
    /// improved bounds. The arguments are those of [`Self::new`]. Without a time limit this calls [`Self::run`].
    ///
    /// # Errors
    /// Returns [`Error::Memory`] if the tables do not fit and there is no time limit, or if there is no memory for a
    /// planned table; [`Error::Stopped`] if `stop` is set before there is a bound.
    pub fn run_within(
        &self,
        potentials: &Potentials,
        evidence: &Evidence,
        options: &Options,
        stop: &Stop,
        tell: &mut dyn FnMut(&SumBounds),
    ) -> Result<Sums, Error> {
        let Some(until) = self.until else { return self.run(stop).map(Sums::Exact) };
        let mut last = Bounded::from(SumBounds::NONE);
        let mut bounds = |stop: &Stop| {
            let mut hear = |found: &SumBounds| {
                last.bounds = last.bounds.and(*found);
                tell(&last.bounds);
            };
            match bound(potentials, evidence, options, stop, &mut hear) {
                Err(error) if !error.is_stop() || last.bounds == SumBounds::NONE => return Err(error),
                Err(_) => {}
                Ok(found) => {
                    last = Bounded { bounds: last.bounds.and(found.bounds), part: found.part.or(last.part.take()) }
                }
            }
            Ok(last.clone())
        };
        let left = until.saturating_duration_since(Instant::now());
        let needed = self.seconds();
        let share = needed.min(left.as_secs_f64()) * tuning::BOUNDS_FIRST;
        if share >= tuning::WORTH_BOUNDS {
            let limit = stop.below();
            limit.set_at(Instant::now() + Duration::from_secs_f64(share));
            match bounds(&limit) {
                Ok(first) if first.bounds.open_parts == 0 && self.only_z => return Ok(Sums::Bounds(first)),
                Err(error) if !error.is_stop() => return Err(error),
                _ => {}
            }
        }
        if needed <= left.as_secs_f64() * tuning::HOPE {
            match self.run(stop) {
                Err(Error::Memory(_)) => {}
                Err(error) if error.is_stop() => return Ok(Sums::Bounds(bounds(stop)?)),
                found => return found.map(Sums::Exact),
            }
        }
        bounds(stop).map(Sums::Bounds)
    }

    /// Returns an estimate of the seconds that exact tables take.
    fn seconds(&self) -> f64 {
        let entries = self.tree().clique_entries as f64;
        match self.gpu {
            Some(_) => entries * tuning::SECONDS_OF_AN_ENTRY_ON_A_DEVICE,
            None => entries * tuning::SECONDS_OF_AN_ENTRY / rayon::current_num_threads() as f64,
        }
    }
}
