//! Local search on a network whose global functions are sums: it moves the network's own variables and keeps what each
//! sum adds up to, where other drivers move the variables that hold the sums in tables. A violated sum has a price that
//! rises while it stays violated, and all prices fall where none is (strategic oscillation; Yagiura, Ibaraki, Glover,
//! "A path relinking approach with ejection chains for the generalized assignment problem", 2006).

#[cfg(test)]
mod tests;
mod walk;

use self::walk::Walk;
use super::annealing::state::Elite;
use super::tuning::ROUND_WORK;
use super::tuning::sums::{COOLER, FIRST_LENGTH, OPENING, OWN_SHARE, PORTABLE};
use crate::error::Error;
use crate::model::Cost;
use crate::rng::Rng;
use crate::search::context::sums::SumSpace;
use crate::search::scheduler::driver::{Driver, Effort, Found, Pool, SearchContext, Translate, shorter};
use crate::stop::Stop;
use rayon::prelude::*;

/// The driver's name.
pub(crate) const NAME: &str = "sums";

pub(crate) struct SumSearch {
    rng: Rng,
    rounds: u32,
    walkers: Vec<Walker>,
    /// The best found of all, in the space.
    best: Option<(i64, Vec<u16>)>,
    /// Energy of the best of the pool that was looked at.
    seen: Cost,
}

struct Walker {
    rng: Rng,
    walk: Option<Walk>,
    /// What moves of earlier walks cost on average, and the prices of sums that they came to.
    climb: f64,
    prices: Vec<f64>,
    /// The best that earlier walks found.
    best: Option<(i64, Vec<u16>)>,
}

impl SumSearch {
    pub fn new(rng: Rng) -> Self {
        SumSearch { rng, rounds: 0, walkers: Vec::new(), best: None, seen: Cost::MAX }
    }

    fn search(&mut self, context: &SearchContext, pool: &mut Pool, stop: &Stop) -> Result<Effort, Error> {
        let (Some(space), Some(origin)) = (&context.sums, &context.origin) else {
            return Ok(Effort { work: ROUND_WORK, ..Effort::default() });
        };
        if self.walkers.is_empty() {
            let count = if context.portable { PORTABLE } else { rayon::current_num_threads() };
            let walker = |_| Walker { rng: self.rng.split(), walk: None, climb: 0.0, prices: Vec::new(), best: None };
            self.walkers = (0..count).map(walker).collect();
        }
        let start = match pool.elites().first().filter(|elite| elite.energy.total < self.seen) {
            Some(elite) => {
                self.seen = elite.energy.total;
                Some(space.of_core(origin, &elite.values, stop)?)
            }
            None => None,
        };
        let work = ROUND_WORK >> shorter(self.rounds);
        self.rounds += 1;
        let best = self.best.as_ref().map(|best| &best.1);
        let start = start.as_ref().or(best);
        let turn = |walker: &mut Walker| walker.turn(space, start, work, stop);
        let turns: Vec<Effort> = self.walkers.par_iter_mut().map(turn).collect();
        let mut effort = Effort::default();
        turns.iter().for_each(|turn| effort.add(turn));
        let found = self.walkers.iter().filter_map(Walker::found).min_by_key(|found| found.0);
        if let Some(found) = found.filter(|found| self.best.as_ref().is_none_or(|best| found.0 < best.0)) {
            let own = space.own(&found.1);
            self.best = Some(found.clone());
            let cost = space.tables.problem.constant.saturating_add(found.0);
            // also where the rest of the round is dropped
            if !space.is_relaxed
                && let Ok(values) = origin.project_until(&own, stop)
                && let Ok(elite) =
                    Elite::until(&context.tables, values.into_iter().map(|value| value as u16).collect(), stop)
            {
                pool.offer(&elite);
            }
            effort.found = Some(Found { source: NAME, cost, values: own });
        }
        Ok(effort)
    }
}

impl Walker {
    /// The best of all its walks.
    fn found(&self) -> Option<&(i64, Vec<u16>)> {
        let now = self.walk.as_ref().and_then(|walk| walk.best.as_ref());
        self.best.iter().chain(now).min_by_key(|found| found.0)
    }

    /// Walks for so much work.
    fn turn(&mut self, space: &SumSpace, start: Option<&Vec<u16>>, work: u64, stop: &Stop) -> Effort {
        let mut effort = Effort::default();
        while effort.work < work && !stop.is_set() {
            let walk = match self.walk.take() {
                Some(walk) if !walk.is_over() => walk,
                last => {
                    effort.work += space.layout.moves() as u64;
                    let Ok(walk) = self.begin(space, start, last, stop) else { break };
                    walk
                }
            };
            let walk = self.walk.insert(walk);
            let before = (walk.work, walk.ratings, walk.moves);
            walk.advance(space, work - effort.work.min(work), &mut self.rng, stop);
            effort.work += walk.work - before.0;
            effort.ratings += walk.ratings - before.1;
            effort.moves += walk.moves - before.2;
        }
        effort
    }

    /// The next walk, from the best of all or from where the last one ended.
    fn begin(
        &mut self,
        space: &SumSpace,
        start: Option<&Vec<u16>>,
        last: Option<Walk>,
        stop: &Stop,
    ) -> Result<Walk, Error> {
        let length = last.as_ref().map_or(FIRST_LENGTH * space.free.len() as u64, Walk::next_length);
        let rests = last.map(|last| self.end(last));
        let goes_on = self.rng.below(2) == 0;
        let values = match (rests, start) {
            (Some(values), None) => values,
            (Some(values), _) if goes_on => values,
            (_, Some(start)) => start.clone(),
            (None, None) => {
                let mut any = |values: &Vec<u16>| values.get(self.rng.index(values.len().max(1))).copied().unwrap_or(0);
                space.values.iter().map(&mut any).collect()
            }
        };
        let warmth = self.climb / f64::from(1u32 << self.rng.below(COOLER));
        Walk::new(space, values, self.prices.clone(), (warmth, length), stop)
    }

    /// Learns from a walk; returns where it is.
    fn end(&mut self, walk: Walk) -> Vec<u16> {
        self.climb = walk.climb().unwrap_or(self.climb);
        self.prices = walk.prices;
        self.best = self.best.take().into_iter().chain(walk.best).min_by_key(|found| found.0);
        walk.values
    }
}

impl Driver for SumSearch {
    fn population(&self) -> usize {
        self.walkers.len()
    }

    fn fits(&self, context: &SearchContext, _: &Pool) -> bool {
        context.sums.is_some()
    }

    fn keeps_sums(&self) -> bool {
        true
    }

    /// It opens runs: others move the variables that hold the sums one by one.
    fn weight(&self, context: &SearchContext, _: &Pool) -> f64 {
        if context.sums.is_some() { OPENING } else { 1.0 }
    }

    fn floor(&self, context: &SearchContext, _: &Pool) -> f64 {
        if context.sums.is_some() { OWN_SHARE } else { 0.0 }
    }

    fn round(&mut self, context: &SearchContext, pool: &mut Pool, stop: &Stop) -> Effort {
        self.search(context, pool, stop).unwrap_or_default()
    }

    /// Fewer values are left: walks begin again.
    fn rebase(&mut self, _: &SearchContext, _: &Translate<'_>) {
        for walker in &mut self.walkers {
            let _ = walker.walk.take().map(|walk| walker.end(walk));
        }
        self.seen = Cost::MAX;
    }
}
