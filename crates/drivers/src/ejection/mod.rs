//! Ejection chains, for networks with hard functions (after Glover, 1996, on ejection chains). A move changes a
//! variable. Then it repairs each hard function that this violates by changing another of its variables, whose
//! functions come next, and so on. Finally neighbours of all changed variables take values of lower cost. Simulated
//! annealing accepts or undoes the whole chain. The initial temperature follows from the costs of moves. Walks double
//! in length if they find nothing better.

mod kept;
mod walk;

use self::walk::{ChainTables, ChainWalk};
use super::constants::ejection::LOOK_WORK;
use crate::core::context::SearchContext;
use crate::core::driver::{Driver, Setup, shorter};
use crate::core::effort::Effort;
use crate::core::elite::Elite;
use crate::core::pool::{Pool, Translate};
use crate::core::tuning::ROUND_WORK;
use crate::error::Error;
use crate::rng::Rng;
use crate::stop::Stop;
use crate::threads;
use crate::tuning::tuning;

/// Makes the driver.
pub fn make(setup: &mut Setup<'_>) -> Option<Box<dyn Driver>> {
    Some(Box::new(Ejection::new(setup.stream())))
}

pub(crate) struct Ejection {
    rng: Rng,
    rounds: u32,
    walkers: Vec<Walker>,
    /// The variables that have more than one value and a function.
    free: Vec<u32>,
}

struct Walker {
    rng: Rng,
    /// The walk; `None` before the first round.
    walk: Option<ChainWalk>,
    /// Average cost of a move of earlier walks.
    climb: f64,
    /// The lowest energy that was offered to the pool.
    told: i64,
}

impl Ejection {
    pub fn new(rng: Rng) -> Self {
        Ejection { rng, rounds: 0, walkers: Vec::new(), free: Vec::new() }
    }

    fn search(&mut self, context: &SearchContext, pool: &mut Pool, stop: &Stop) -> Result<Effort, Error> {
        // without elites, or without a choice, a round counts as a full one, so that a driver alone leaves time to
        // bounds
        let none = Effort { work: ROUND_WORK, ..Effort::default() };
        let tables = &context.tables;
        let Some(layout) = context.layout(stop)? else { return Ok(none) };
        if self.walkers.is_empty() {
            let has_choice = |&v: &u32| tables.domain(v as usize) > 1 && tables.degree(v as usize) > 0;
            self.free = (0..context.variables() as u32).filter(has_choice).collect();
            let count = if context.portable { tuning().ejection.portable } else { rayon::current_num_threads() };
            let walker = |_| Walker { rng: self.rng.split(), walk: None, climb: 0.0, told: i64::MAX };
            self.walkers = (0..count).map(walker).collect();
        }
        if self.free.is_empty() {
            return Ok(none);
        }
        if pool.elites().is_empty() {
            let values = (0..context.variables()).map(|v| self.rng.index(tables.domain(v)) as u16).collect();
            pool.offer(&Elite::until(tables, values, stop)?);
        }
        let work = ROUND_WORK >> shorter(self.rounds);
        self.rounds += 1;
        let core = ChainTables { tables, layout, free: &self.free, longest: context.sweep_work.min(LOOK_WORK) };
        let elites = pool.elites();
        let turn = |walker: &mut Walker| walker.turn(core, elites, work, stop);
        let mut effort = Effort::default();
        for (turn, found) in threads::try_map(&mut self.walkers, turn)? {
            effort.add(&turn);
            for values in found {
                pool.offer(&Elite::until(tables, values, stop)?);
            }
        }
        Ok(effort)
    }
}

impl Walker {
    /// Walks for `work`. Returns the assignments that are better than before.
    fn turn(
        &mut self,
        core: ChainTables<'_>,
        elites: &[Elite],
        work: u64,
        stop: &Stop,
    ) -> Result<(Effort, Vec<Vec<u16>>), Error> {
        let (mut effort, mut found) = (Effort::default(), Vec::new());
        while effort.work < work && !stop.is_set() {
            let walk = match self.walk.take() {
                Some(walk) if !walk.is_over() => walk,
                last => {
                    effort.work += core.layout.moves() as u64;
                    self.begin(core, elites, last, stop)?
                }
            };
            let walk = self.walk.insert(walk);
            let before = (walk.work, walk.ratings, walk.moves);
            walk.advance(core, work - effort.work.min(work), &mut self.rng, stop);
            effort.work += walk.work - before.0;
            effort.ratings += walk.ratings - before.1;
            effort.moves += walk.moves - before.2;
            if walk.best_energy < self.told {
                self.told = walk.best_energy;
                found.push(walk.best.clone());
            }
        }
        Ok((effort, found))
    }

    /// Returns the next walk, which begins at an elite.
    fn begin(
        &mut self,
        core: ChainTables<'_>,
        elites: &[Elite],
        last: Option<ChainWalk>,
        stop: &Stop,
    ) -> Result<ChainWalk, Error> {
        self.climb = last.as_ref().and_then(ChainWalk::climb).unwrap_or(self.climb);
        let length = last.map_or(tuning().ejection.first_length * core.free.len() as u64, |last| last.next_length());
        // the best elite, or any
        let elite = &elites[if self.rng.below(2) == 0 { 0 } else { self.rng.index(elites.len()) }];
        let warmth = self.climb / f64::from(1u32 << self.rng.below(tuning().ejection.cooler));
        let allowed = elite.energy.violations == 0;
        ChainWalk::new(core, elite.values.clone(), allowed, warmth, length, stop)
    }
}

impl Driver for Ejection {
    fn population(&self) -> usize {
        self.walkers.len()
    }

    fn fits(&self, context: &SearchContext, _: &Pool) -> bool {
        let pays = context.tables.forbidding.some && !context.is_coloring() && !context.is_vast();
        pays && context.tables.all_copied()
    }

    fn can_move(&self, context: &SearchContext) -> bool {
        context.tables.all_copied()
    }

    fn round(&mut self, context: &SearchContext, pool: &mut Pool, stop: &Stop) -> Effort {
        self.search(context, pool, stop).unwrap_or_default()
    }

    /// Walks begin again from the pool.
    fn rebase(&mut self, _: &SearchContext, _: &Translate<'_>) {
        self.walkers.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::layout::{MoveLayout, energy};
    use crate::model::{CostFunction, FORBIDDEN, Problem, Table};
    use fangs_testing::cores::{assignment, price, random_dense};
    use std::sync::Arc;

    fn context(problem: &Problem, rng: &mut Rng) -> SearchContext {
        SearchContext::new(&Arc::new(problem.clone()), price(problem), None, rng)
    }

    /// Returns a problem of sums of binary variables. Each sum is the last one plus a variable, so that no single
    /// variable may change. Each sum follows its variable.
    fn sums(n: u32, target: u32, rng: &mut Rng) -> Problem {
        let domains: Vec<u32> = (0..n).flat_map(|k| [2, k + 2]).collect();
        let mut unary: Vec<Vec<i64>> = domains.iter().map(|&domain| vec![0; domain as usize]).collect();
        (0..n as usize).for_each(|k| unary[2 * k][1] = rng.below(100) as i64);
        let last = &mut unary[2 * n as usize - 1];
        (0..n + 1).filter(|&sum| sum != target).for_each(|sum| last[sum as usize] = FORBIDDEN);
        let sum_of = |k: u32| {
            let (scope, before) = if k == 0 { (vec![0, 1], 1) } else { (vec![2 * k - 1, 2 * k, 2 * k + 1], k + 1) };
            let sums = (0..before).flat_map(|sum| (0..2).flat_map(move |x| (0..k + 2).map(move |to| (sum + x, to))));
            let table = sums.map(|(sum, to)| if sum == to { 0 } else { FORBIDDEN }).collect();
            CostFunction { scope: scope.into(), table: Table::dense(table) }
        };
        let functions = (0..n).map(sum_of).collect();
        Problem { unary, functions, constant: 0, top: FORBIDDEN, domains }
    }

    #[test]
    fn moves_are_whole_or_undone_and_costs_are_kept() {
        let mut rng = Rng::new(71);
        let (mut undone, mut compound, mut from_allowed) = (0, 0, 0);
        for _ in 0..300 {
            let problem = random_dense(&mut rng);
            let context = context(&problem, &mut rng);
            let tables = &context.tables;
            let layout = MoveLayout::new(tables, &Stop::new()).expect("no stop is set");
            let choice = |&v: &u32| tables.domain(v as usize) > 1 && tables.degree(v as usize) > 0;
            let free: Vec<u32> = (0..context.variables() as u32).filter(choice).collect();
            if free.is_empty() {
                continue;
            }
            let core = ChainTables { tables, layout: &layout, free: &free, longest: 100_000 };
            let values = assignment(&problem, &mut rng);
            let mut allowed = tables.energy(&values).violations == 0;
            let mut walk = ChainWalk::new(core, values, allowed, 3.0, 60, &Stop::new()).expect("no stop is set");
            while !walk.is_over() {
                let before = walk.clone();
                walk.advance(core, 1, &mut rng, &Stop::new());
                let (values, costs) = walk.state();
                assert_eq!(walk.energy(), energy(tables, values, &Stop::new()).expect("no stop is set"));
                for v in 0..values.len() {
                    let mut row = vec![0; layout.range(v).len()];
                    tables.rate(v, values, &mut row, |_| true);
                    assert_eq!(row, costs[layout.range(v)]);
                }
                let differing = values.iter().zip(before.state().0).filter(|(a, b)| a != b).count();
                undone += u32::from(differing == 0);
                compound += u32::from(differing > 1);
                // prices may be so low that soft costs outweigh a violation
                if allowed && i64::from(tables.hard) > 2 * walk.energy().abs().max(before.energy().abs()) {
                    allowed = tables.energy(values).violations == 0;
                    assert!(allowed);
                    from_allowed += 1;
                }
                allowed &= tables.energy(values).violations == 0;
            }
            assert!(walk.best_energy <= energy(tables, walk.state().0, &Stop::new()).expect("no stop is set"));
            assert_eq!(walk.best_energy, energy(tables, &walk.best, &Stop::new()).expect("no stop is set"));
        }
        assert!(undone > 100 && compound > 100 && from_allowed > 100, "{undone} {compound} {from_allowed}");
    }

    #[test]
    fn chains_go_through_sums() {
        let mut rng = Rng::new(72);
        for (n, target) in [(5, 2), (8, 3), (10, 6)] {
            let problem = sums(n, target, &mut rng);
            let mut context = context(&problem, &mut rng);
            context.portable = true;
            // the selection of highest cost first
            let mut order: Vec<u32> = (0..n).collect();
            let cost = |k: u32| problem.unary[2 * k as usize][1];
            order.sort_by_key(|&k| std::cmp::Reverse(cost(k)));
            let mut values = vec![0u16; 2 * n as usize];
            order[..target as usize].iter().for_each(|&k| values[2 * k as usize] = 1);
            let mut sum = 0;
            for pair in values.chunks_exact_mut(2) {
                sum += pair[0];
                pair[1] = sum;
            }
            let first = Elite::new(&context.tables, values);
            assert_eq!(first.energy.violations, 0);
            order.reverse();
            let optimum: i64 = order[..target as usize].iter().map(|&k| cost(k)).sum();
            let run = |threads: usize| {
                let workers = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
                workers.install(|| {
                    let (mut pool, mut driver) = (Pool::default(), Ejection::new(Rng::new(5)));
                    pool.offer(&first);
                    assert!(driver.fits(&context, &pool));
                    let efforts: Vec<_> = (0..2)
                        .map(|_| {
                            let effort = driver.round(&context, &mut pool, &Stop::new());
                            (effort.work, effort.moves, effort.ratings)
                        })
                        .collect();
                    (pool.elites().iter().map(|elite| elite.values.clone()).collect::<Vec<_>>(), pool.best(), efforts)
                })
            };
            let one = run(1);
            assert_eq!(one.1, optimum, "{n} {target}");
            assert!(one == run(3) && one.2.iter().all(|effort| effort.1 > 0));
        }
    }
}
