//! Thermal cycling on large problems (Möbius, Neklioudov, Díaz-Sánchez, Hoffmann, Fachat, Schreiber, "Optimization by
//! thermal cycling", 1997). Anneals begin at the best solution, warmed up again; afterwards each component of the
//! changes that lowers the cost is kept (partition crossover, as Whitley, Hains, Howe, 2009, for tours). Every thread
//! has a walk. Each walk takes the better components of the best solution of all walks.

mod walk;

use self::walk::{CyclingTables, CyclingWalk};
use super::constants::cycling::TOPS;
use crate::core::bandit::Bandit;
use crate::core::context::SearchContext;
use crate::core::driver::{Driver, Setup, shorter};
use crate::core::effort::Effort;
use crate::core::elite::Elite;
use crate::core::pool::{Pool, Translate};
use crate::core::tuning::ROUND_WORK;
use crate::core::tuning::leading::{LARGE_FLOOR, WEIGHT};
use crate::error::Error;
use crate::fang::boltzmann::Boltzmann;
use crate::rng::Rng;
use crate::stop::Stop;
use crate::threads;
use crate::tuning::tuning;

/// Variables between two checks of the stop flag and of the remaining work.
const TURN: usize = 1 << 12;

/// Makes the driver.
pub fn make(setup: &mut Setup<'_>) -> Option<Box<dyn Driver>> {
    Some(Box::new(Cycling::new(setup.stream())))
}

pub(crate) struct Cycling {
    rng: Rng,
    rounds: u32,
    walkers: Vec<Walker>,
    /// Work of a visit and of a move, in nanoseconds of one CPU core.
    work: (u64, u64),
    /// The lowest walk energy that was offered to the pool.
    told: i64,
}

struct Walker {
    rng: Rng,
    walk: CyclingWalk,
    /// The best assignment of this walk.
    known: Vec<u16>,
    /// The energy of `known`.
    energy: i64,
    /// The hash of the pool's best elite that was last merged.
    heard: u64,
    /// The present sweep.
    sweep: u32,
    /// Number of sweeps of the anneal, without greedy ones.
    sweeps: u32,
    /// The next variable of the sweep.
    at: usize,
    /// The moves before this sweep.
    before: u64,
    /// The index of the anneal's initial temperature, which is the highest one halved `top` times.
    top: usize,
    tops: Bandit,
    spent: u64,
    /// Number of anneals since the last improvement.
    in_vain: u32,
}

impl Cycling {
    pub fn new(rng: Rng) -> Self {
        Cycling { rng, rounds: 0, walkers: Vec::new(), work: (0, 0), told: i64::MAX }
    }

    fn search(&mut self, context: &SearchContext, pool: &mut Pool, stop: &Stop) -> Result<Effort, Error> {
        let none = Effort { work: ROUND_WORK, ..Effort::default() };
        let tables = &context.tables;
        let Some(layout) = context.layout(stop)? else { return Ok(none) };
        let core = CyclingTables { tables, layout };
        if pool.elites().is_empty() {
            let drawn = (0..tables.variables()).map(|v| self.rng.index(tables.domain(v).max(1)) as u16).collect();
            pool.offer(&Elite::until(tables, drawn, stop)?);
        }
        let Some(best) = pool.elites().first() else { return Ok(none) };
        if self.walkers.is_empty() {
            let count = if context.portable { tuning().cycling.portable } else { rayon::current_num_threads() };
            let rngs: Vec<Rng> = (0..count).map(|_| self.rng.split()).collect();
            let walk = CyclingWalk::new(core, best.values.clone(), stop)?;
            self.told = walk.kept.energy;
            let width = layout.moves() / tables.variables().max(1);
            self.work = (4 + width as u64 / 4, 8 + 4 * layout.changed_quads() as u64);
            let walker = |rng| Walker::new(walk.clone(), best.hash, rng);
            self.walkers = threads::map(rngs, walker);
        }
        let limit = ROUND_WORK >> shorter(self.rounds);
        self.rounds += 1;
        let (hot, work) = (context.schedule.hot, self.work);
        let turn = |walker| pulp::Arch::new().dispatch(Turn { walker, hot, core, best, work, limit, stop });
        let mut effort = Effort::default();
        threads::map(&mut self.walkers, turn).iter().for_each(|turn| effort.add(turn));
        let least = self.walkers.iter().min_by_key(|walker| walker.energy);
        if let Some(walker) = least.filter(|walker| walker.energy < self.told) {
            pool.offer(&Elite::until(tables, walker.known.clone(), stop)?);
            self.told = walker.energy;
        }
        Ok(effort)
    }
}

impl Walker {
    fn new(walk: CyclingWalk, heard: u64, rng: Rng) -> Walker {
        let mut walker = Walker {
            rng,
            known: walk.kept.values.clone(),
            energy: walk.kept.energy,
            heard,
            walk,
            sweep: 0,
            sweeps: tuning().cycling.first_sweeps,
            at: 0,
            before: 0,
            top: 0,
            tops: Bandit::new(TOPS, tuning().cycling.floor),
            spent: 0,
            in_vain: 0,
        };
        walker.warm();
        walker
    }

    /// Begins the next anneal.
    fn warm(&mut self) {
        (self.sweep, self.at, self.before, self.spent) = (0, 0, self.walk.moves, 0);
        self.top = self.tops.choose(self.rng.unit());
    }
}

/// A walker's slice of a round.
struct Turn<'a> {
    walker: &'a mut Walker,
    /// The highest initial temperature of anneals.
    hot: f64,
    core: CyclingTables<'a>,
    /// The best elite of the pool.
    best: &'a Elite,
    /// Work of a visit and of a move.
    work: (u64, u64),
    /// Work of the slice.
    limit: u64,
    stop: &'a Stop,
}

impl pulp::WithSimd for Turn<'_> {
    type Output = Effort;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(mut self, _: S) -> Effort {
        let mut effort = Effort::default();
        let (n, moves) = (self.walker.walk.kept.values.len(), self.walker.walk.moves);
        let ((visit, move_work), starts) = (self.work, &self.core.layout.starts);
        while effort.work < self.limit && !self.stop.is_set() {
            let Walker { walk, rng, sweep, sweeps, at, top, spent, .. } = &mut *self.walker;
            let part = *at..n.min(*at + TURN);
            let (count, before) = (part.len() as u64, walk.moves);
            let ratings = starts[part.end] - starts[part.start];
            *at = part.end;
            if *sweep < *sweeps {
                let left = 1.0 - f64::from(*sweep) / f64::from(*sweeps);
                let top = self.hot / f64::from(1u32 << *top);
                walk.sweep(self.core, part, Boltzmann::new(top * left), rng);
            } else {
                walk.descend(self.core, part);
            }
            let work = count * visit + (walk.moves - before) * move_work;
            effort.work += work;
            effort.ratings += u64::from(ratings);
            *spent += work;
            if *at == n {
                effort.work += self.end_sweep();
            }
        }
        effort.moves = self.walker.walk.moves - moves;
        effort
    }
}

impl Turn<'_> {
    /// Ends a sweep, and the anneal if a greedy sweep has changed nothing. Returns the work of merging.
    #[inline(always)]
    fn end_sweep(&mut self) -> u64 {
        let walker = &mut *self.walker;
        let was_greedy = walker.sweep >= walker.sweeps;
        let changes = walker.walk.moves > std::mem::replace(&mut walker.before, walker.walk.moves);
        (walker.at, walker.sweep) = (0, walker.sweep + 1);
        if !was_greedy || changes {
            return 0;
        }
        let mut changed = walker.walk.take_better(self.core, &walker.known, self.stop);
        let own = walker.walk.kept.energy;
        if self.best.hash != walker.heard {
            changed += walker.walk.take_better(self.core, &self.best.values, self.stop);
        }
        let work = walker.known.len() as u64 + 2 * changed as u64 * self.work.1;
        // a merge that was cut short may be worse than the walk's best
        if self.stop.is_set() {
            return work;
        }
        walker.heard = self.best.hash;
        walker.tops.note(walker.top, (walker.energy - own).max(0) as f64, walker.spent as f64);
        walker.tops.update();
        walker.in_vain = if own < walker.energy { 0 } else { walker.in_vain + 1 };
        walker.energy = walker.walk.kept.energy;
        walker.known.copy_from_slice(&walker.walk.kept.values);
        if walker.in_vain >= tuning().cycling.patience {
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
        // if all threads make one anneal together, separate walks found no more (results/scale)
        context.is_large() && !context.is_vast() && context.tables.all_copied() && !context.is_for_sums()
    }

    fn weight(&self, context: &SearchContext, _: &Pool) -> f64 {
        if context.suits_cycling() { WEIGHT } else { 1.0 }
    }

    fn floor(&self, context: &SearchContext, pool: &Pool) -> f64 {
        if pool.solved && !context.is_coloring() && context.suits_cycling() { LARGE_FLOOR / 2.0 } else { 0.0 }
    }

    fn can_move(&self, context: &SearchContext) -> bool {
        context.tables.all_copied()
    }

    fn round(&mut self, context: &SearchContext, pool: &mut Pool, stop: &Stop) -> Effort {
        self.search(context, pool, stop).unwrap_or_default()
    }

    fn rebase(&mut self, _: &SearchContext, _: &Translate<'_>) {
        // walks begin again at the best elite of the pool
        self.walkers.clear();
        self.told = i64::MAX;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::generate;
    use crate::reduce::Reducer;
    use fangs_testing::cores::price;
    use std::sync::Arc;

    #[test]
    fn rounds_improve_the_pool_and_repeat_for_any_number_of_threads() {
        for (family, settings) in [
            ("ising", vec![("side", "30")]),
            ("potts", vec![("side", "20"), ("d", "5")]),
            ("large-sparse", vec![("n", "500"), ("d", "4"), ("functions", "1500")]),
        ] {
            let network = generate(family, &settings, 3).expect("a family");
            let problem = Arc::new(Reducer::unreduced(&network, &Stop::new()).expect("no limit").1);
            let run = |threads: usize| {
                let mut context = SearchContext::new(&problem, price(&problem), None, &mut Rng::new(1));
                context.portable = true;
                let (mut driver, mut pool) = (Cycling::new(Rng::new(5)), Pool::default());
                let threads = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
                threads.install(|| {
                    let mut effort = Effort::default();
                    for round in 0..4 {
                        let before = pool.best();
                        effort.add(&driver.round(&context, &mut pool, &Stop::new()));
                        assert!(pool.best() <= before, "{family}");
                        if round == 2 {
                            driver.rebase(&context, &|values| Some(Elite::new(&context.tables, values.to_vec())));
                            assert_eq!(driver.population(), 0);
                        }
                    }
                    pool.assert_energies(&problem).expect("they are the costs");
                    (pool.elites().iter().map(|elite| elite.values.clone()).collect::<Vec<_>>(), effort.moves)
                })
            };
            let (elites, moves) = run(1);
            assert_eq!(run(3), (elites.clone(), moves), "{family}");
            let energy = |values: &[u16]| problem.cost(&values.iter().map(|&v| u32::from(v)).collect::<Vec<_>>());
            // the first elite was drawn at random
            let (first, last) = (elites.first().expect("one"), elites.last().expect("one"));
            assert!(moves > 1000 && energy(first) < energy(last), "{family}: {moves}");
        }
    }

    #[test]
    fn a_stop_leaves_what_is_known() {
        let network = generate("ising", &[("side", "30")], 3).expect("a family");
        let problem = Arc::new(Reducer::unreduced(&network, &Stop::new()).expect("no limit").1);
        let mut context = SearchContext::new(&problem, price(&problem), None, &mut Rng::new(1));
        context.portable = true;
        let (mut driver, mut pool, stop) = (Cycling::new(Rng::new(5)), Pool::default(), Stop::new());
        let _ = driver.round(&context, &mut pool, &stop);
        stop.set(crate::stop::Cause::Signal);
        let before = pool.best();
        let _ = driver.round(&context, &mut pool, &stop);
        assert_eq!(pool.best(), before);
        let layout = context.layout(&Stop::new()).expect("no stop is set").expect("all rows are copied");
        let core = CyclingTables { tables: &context.tables, layout };
        for walker in &driver.walkers {
            let again = CyclingWalk::new(core, walker.known.clone(), &Stop::new()).expect("no stop is set");
            assert_eq!(walker.energy, again.kept.energy);
        }
    }
}
