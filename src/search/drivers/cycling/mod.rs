//! Thermal cycling (Möbius, Neklioudov, Díaz-Sánchez, Hoffmann, Fachat, Schreiber, "Optimization by thermal cycling",
//! 1997) on large cores: anneals that begin at the best solution, warmed up again, after which each part of it that has
//! become cheaper is kept (partition crossover, as Whitley, Hains, Howe, 2009, of tours). Every thread has a walk; each
//! takes the better parts of what the best of them has found.

mod walk;

use self::walk::{Core, Walk};
use super::annealing::state::Elite;
use super::tuning::ROUND_WORK;
use super::tuning::annealing::{LARGE_FLOOR, WEIGHT};
use super::tuning::cycling::{FIRST_SWEEPS, FLOOR, PATIENCE, PORTABLE, TOPS};
use crate::error::Error;
use crate::fang::boltzmann::Boltzmann;
use crate::rng::Rng;
use crate::search::scheduler::bandit::Bandit;
use crate::search::scheduler::driver::{Driver, Effort, Pool, SearchContext, Translate, shorter};
use crate::stop::Stop;
use rayon::prelude::*;

/// Variables between two looks at the stop flag and at the work that is left.
const TURN: usize = 1 << 12;

pub(crate) struct Cycling {
    rng: Rng,
    rounds: u32,
    walkers: Vec<Walker>,
    /// The least sum of entries that the pool was told of.
    told: i64,
    /// On a core that has changed since: where walks go on.
    moved: Option<Vec<u16>>,
}

struct Walker {
    rng: Rng,
    walk: Walk,
    /// The best that it knows, and the hash of the pool's best that is part of it.
    known: Option<(i64, Vec<u16>)>,
    heard: u64,
    /// Where it is: the sweep, of how many, and the next variable.
    sweep: u32,
    sweeps: u32,
    at: usize,
    /// Where the anneal began.
    top: usize,
    tops: Bandit,
    spent: u64,
    /// Anneals since one found something.
    in_vain: u32,
}

impl Cycling {
    pub fn new(rng: Rng) -> Self {
        Cycling { rng, rounds: 0, walkers: Vec::new(), told: i64::MAX, moved: None }
    }

    fn search(&mut self, context: &SearchContext, pool: &mut Pool, stop: &Stop) -> Result<Effort, Error> {
        let none = Effort { work: ROUND_WORK, ..Effort::default() };
        let tables = &context.tables;
        let Some(layout) = context.layout_until(stop)? else { return Ok(none) };
        let core = Core { tables, layout };
        if self.walkers.is_empty() {
            let count = if context.portable { PORTABLE } else { rayon::current_num_threads() };
            let rngs: Vec<Rng> = (0..count).map(|_| self.rng.split()).collect();
            let moved = self.moved.take();
            let walker = |rng| Walker::new(core, moved.clone(), rng, stop);
            self.walkers = rngs.into_par_iter().map(walker).collect::<Result<_, Error>>()?;
        }
        let work = ROUND_WORK >> shorter(self.rounds);
        self.rounds += 1;
        let best = pool.elites().first();
        let turn = |walker| pulp::Arch::new().dispatch(Turn { walker, context, core, best, work, stop });
        let efforts: Vec<Effort> = self.walkers.par_iter_mut().map(turn).collect();
        let mut effort = Effort::default();
        efforts.iter().for_each(|turn| effort.add(turn));
        let known = self.walkers.iter().filter_map(|walker| walker.known.as_ref());
        let least = known.min_by_key(|(energy, _)| *energy).filter(|(energy, _)| *energy < self.told);
        if let Some((energy, values)) = least {
            pool.offer(&Elite::until(tables, values.clone(), stop)?);
            self.told = *energy;
        }
        Ok(effort)
    }
}

impl Walker {
    fn new(core: Core<'_>, values: Option<Vec<u16>>, mut rng: Rng, stop: &Stop) -> Result<Walker, Error> {
        let drawn = |rng: &mut Rng| {
            (0..core.tables.variables()).map(|v| rng.index(core.tables.domain(v).max(1)) as u16).collect::<Vec<_>>()
        };
        let known = values.is_some();
        let values = values.unwrap_or_else(|| drawn(&mut rng));
        let walk = Walk::new(core, values, stop)?;
        let known = known.then(|| (walk.energy, walk.values.clone()));
        let mut walker = Walker {
            rng,
            walk,
            known,
            heard: 0,
            sweep: 0,
            sweeps: FIRST_SWEEPS,
            at: 0,
            top: 0,
            tops: Bandit::new(TOPS, FLOOR),
            spent: 0,
            in_vain: 0,
        };
        walker.warm();
        Ok(walker)
    }

    /// The next anneal begins.
    fn warm(&mut self) {
        (self.sweep, self.at, self.spent) = (0, 0, 0);
        self.top = if self.known.is_some() { self.tops.choose(self.rng.unit()) } else { 0 };
    }
}

/// A walker's part of a round.
struct Turn<'a> {
    walker: &'a mut Walker,
    context: &'a SearchContext,
    core: Core<'a>,
    /// The pool's best.
    best: Option<&'a Elite>,
    work: u64,
    stop: &'a Stop,
}

impl pulp::WithSimd for Turn<'_> {
    type Output = Effort;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(mut self, _: S) -> Effort {
        let mut effort = Effort::default();
        let (n, moves) = (self.walker.walk.values.len(), self.walker.walk.moves);
        let width = self.core.layout.moves() / n.max(1);
        let changed = 8 + self.core.layout.changed_quads() as u64 * 4;
        while effort.work < self.work && !self.stop.is_set() {
            let Walker { walk, rng, sweep, sweeps, at, top, .. } = &mut *self.walker;
            let part = *at..n.min(*at + TURN);
            let (count, before) = (part.len() as u64, walk.moves);
            *at = part.end;
            let ends = part.end == n;
            let anneals = *sweep < *sweeps;
            let goes_on = if anneals {
                let left = 1.0 - f64::from(*sweep) / f64::from(*sweeps);
                let top = self.context.schedule.hot / f64::from(1u32 << *top);
                walk.sweep(self.core, part, Boltzmann::new(top * left), rng);
                true
            } else {
                walk.descend(self.core, part)
            };
            let work = count * (4 + width as u64 / 4) + (walk.moves - before) * changed;
            effort.work += work;
            effort.ratings += count * width as u64;
            self.walker.spent += work;
            if ends {
                let walker = &mut *self.walker;
                (walker.at, walker.sweep) = (0, walker.sweep + 1);
                // a greedy sweep whose last part changes something has another one after it, within reason
                if !anneals && (!goes_on || walker.sweep >= walker.sweeps + 8) {
                    effort.work += self.end();
                }
            }
        }
        effort.moves = self.walker.walk.moves - moves;
        effort
    }
}

impl Turn<'_> {
    /// An anneal is over. Returns what merging took.
    #[inline(always)]
    fn end(&mut self) -> u64 {
        let walker = &mut *self.walker;
        let changed = 8 + self.core.layout.changed_quads() as u64 * 4;
        let mut work = walker.walk.values.len() as u64;
        let before = walker.known.as_ref().map(|(energy, _)| *energy);
        if let Some((_, known)) = &walker.known {
            work += changed * 2 * walker.walk.take_better(self.core, known).1 as u64;
        }
        let own = walker.walk.energy;
        if let Some(best) = self.best.filter(|best| best.hash != walker.heard) {
            work += changed * 2 * walker.walk.take_better(self.core, &best.values).1 as u64;
            walker.heard = best.hash;
        }
        if let Some(before) = before {
            walker.tops.note(walker.top, (before - own).max(0) as f64, walker.spent as f64);
            walker.tops.update();
            walker.in_vain = if own < before { 0 } else { walker.in_vain + 1 };
        }
        match &mut walker.known {
            Some((energy, known)) => {
                *energy = walker.walk.energy;
                known.copy_from_slice(&walker.walk.values);
            }
            none => *none = Some((walker.walk.energy, walker.walk.values.clone())),
        }
        if walker.in_vain >= PATIENCE {
            (walker.sweeps, walker.in_vain) = (walker.sweeps.saturating_mul(2), 0);
        }
        walker.warm();
        work
    }
}

impl Driver for Cycling {
    fn population(&self) -> usize {
        self.walkers.len()
    }

    fn fits(&self, context: &SearchContext, _: &Pool) -> bool {
        context.is_large() && context.tables.all_copied() && !context.is_for_sums()
    }

    fn weight(&self, _: &SearchContext, _: &Pool) -> f64 {
        WEIGHT
    }

    fn floor(&self, context: &SearchContext, pool: &Pool) -> f64 {
        if pool.solved && !context.is_coloring() { LARGE_FLOOR / 2.0 } else { 0.0 }
    }

    fn round(&mut self, context: &SearchContext, pool: &mut Pool, stop: &Stop) -> Effort {
        self.search(context, pool, stop).unwrap_or_default()
    }

    fn rebase(&mut self, _: &SearchContext, translate: &Translate<'_>) {
        let known = self.walkers.drain(..).filter_map(|walker| walker.known);
        let best = known.min_by_key(|(energy, _)| *energy).map(|(_, values)| values).or_else(|| self.moved.take());
        self.moved = best.and_then(|values| Some(translate(&values)?.values));
        self.told = i64::MAX;
    }
}
