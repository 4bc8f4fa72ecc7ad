//! Tabu search by single flips with path relinking, for networks of binary variables and functions of at most two
//! variables: quadratic forms, cuts, spins. Walks begin at random assignments until there are enough solutions, then on
//! paths between two of them. When these are exhausted, all but the best are dropped, and the patience of walks
//! doubles.

mod walk;

use self::walk::FlipWalk;
use crate::core::context::SearchContext;
use crate::core::driver::{Driver, Setup, shorter};
use crate::core::effort::Effort;
use crate::core::elite::Elite;
use crate::core::pool::{Pool, Translate};
use crate::core::quadratic::{AnyQuadratic, Quadratic, Weight, are_pairs, on_weights};
use crate::core::tuning::ROUND_WORK;
use crate::error::Error;
use crate::model::Cost;
use crate::rng::Rng;
use crate::stop::Stop;
use crate::threads;
use crate::tuning::tuning;

/// The form's value, and the values.
type Solution = (Cost, Vec<bool>);

/// Makes the driver.
pub fn make(setup: &mut Setup<'_>) -> Option<Box<dyn Driver>> {
    Some(Box::new(OneFlip::new(setup.stream())))
}

pub(crate) struct OneFlip {
    rng: Rng,
    rounds: u32,
    /// The form of the problem; `None` before the first round, `Some(None)` if it has no such form.
    form: Option<Option<AnyQuadratic>>,
    walkers: Vec<Walker>,
    /// Different solutions, best first.
    kept: Vec<Solution>,
    /// Number of walks since one improved on the worst of `kept`.
    failed: usize,
    /// Number of steps of a walk without improvement after which it ends, for each variable.
    patience: u64,
    /// The best value that was offered to the pool.
    told: Cost,
}

struct Walker {
    rng: Rng,
    /// The walk; `None` before the first round.
    walk: Option<FlipWalk>,
}

impl OneFlip {
    pub fn new(rng: Rng) -> Self {
        let (form, walkers, kept) = (None, Vec::new(), Vec::new());
        OneFlip {
            rng,
            rounds: 0,
            form,
            walkers,
            kept,
            failed: 0,
            patience: tuning().one_flip.patience,
            told: Cost::MAX,
        }
    }

    fn search(&mut self, context: &SearchContext, pool: &mut Pool, stop: &Stop) -> Result<Effort, Error> {
        if self.form.is_none() {
            let form = AnyQuadratic::of(&context.tables.problem, stop)?;
            let form = form.map(|form| form.with_rows(stop)).transpose()?;
            // the constant of the form depends on the reduced problem
            form.iter().for_each(|form| self.kept.iter_mut().for_each(|(value, values)| *value = form.value(values)));
            self.kept.sort();
            self.form = Some(form);
        }
        // without a form a round counts as a full one
        let Some(Some(form)) = &self.form else { return Ok(Effort { work: ROUND_WORK, ..Effort::default() }) };
        if self.walkers.is_empty() {
            let count = if context.portable { tuning().one_flip.portable } else { rayon::current_num_threads() };
            let walker = |_| Walker { rng: self.rng.split(), walk: None };
            self.walkers = (0..count).map(walker).collect();
        }
        if let Some(elite) = pool.allowed() {
            let values: Vec<bool> = elite.values.iter().map(|&value| value == 1).collect();
            let _ = keep(&mut self.kept, (form.value(&values), values));
        }
        let work = ROUND_WORK >> shorter(self.rounds);
        self.rounds += 1;
        let (kept, patience) = (&self.kept, self.patience * form.variables() as u64);
        let turns: Vec<(Effort, Vec<Solution>)> = on_weights!(form, form => {
            threads::map(&mut self.walkers, |walker| walker.turn(form, kept, work, patience, stop))
        });
        let mut effort = Effort::default();
        for (turn, found) in turns {
            effort.add(&turn);
            for found in found {
                self.failed += 1;
                if keep(&mut self.kept, found) {
                    self.failed = 0;
                }
            }
        }
        // a walk that ended may have been replaced within the round
        let ended = self.kept.first().map(|(value, values)| (*value, values));
        let walking = self.walkers.iter().filter_map(|walker| walker.walk.as_ref());
        let all = walking.map(|walk| (walk.best_value, &walk.best)).chain(ended);
        if let Some((value, best)) = all.min_by_key(|(value, _)| *value).filter(|(value, _)| *value < self.told) {
            let values = best.iter().map(|&one| u16::from(one)).collect();
            pool.offer(&Elite::until(&context.tables, values, stop)?);
            self.told = value;
        }
        if self.kept.len() >= tuning().one_flip.kept && self.failed > tuning().one_flip.kept * tuning().one_flip.kept {
            self.kept.truncate(1);
            (self.failed, self.patience) = (0, self.patience.saturating_mul(2));
        }
        Ok(effort)
    }
}

impl Walker {
    /// Walks for `work`. Returns the best solutions of walks that ended.
    fn turn<W: Weight>(
        &mut self,
        form: &Quadratic<W>,
        kept: &[Solution],
        work: u64,
        patience: u64,
        stop: &Stop,
    ) -> (Effort, Vec<Solution>) {
        let (mut effort, mut found) = (Effort::default(), Vec::new());
        let (n, step_work) = (form.variables() as u64, walk::step_work(form));
        while effort.work < work && !stop.is_set() {
            let mut steps = 0;
            let walk = match &mut self.walk {
                Some(walk) if !walk.is_over(patience) => walk,
                over => {
                    let (walk, way) = begin(form, kept, &mut self.rng);
                    steps = way as u64;
                    effort.work += n * form.degree() as u64;
                    over.insert(walk)
                }
            };
            let most = ((work - effort.work.min(work)) / step_work).clamp(1, patience.min(walk::LONGEST.into()));
            steps += u64::from(walk.advance(form, most as u32, &mut self.rng, stop));
            if walk.is_over(patience) {
                found.push((walk.best_value, walk.best.clone()));
            }
            effort.work += steps * step_work;
            effort.moves += steps;
            effort.ratings += steps * n;
        }
        (effort, found)
    }
}

/// Returns a walk from a random assignment, or from the path between two solutions if there are enough; and its steps.
fn begin<W: Weight>(form: &Quadratic<W>, kept: &[Solution], rng: &mut Rng) -> (FlipWalk, usize) {
    if kept.len() < tuning().one_flip.kept {
        return (FlipWalk::new(form, (0..form.variables()).map(|_| rng.below(2) == 1).collect()), 0);
    }
    let from = rng.index(kept.len());
    let to = (from + 1 + rng.index(kept.len() - 1)) % kept.len();
    let mut guide = kept[to].1.clone();
    let mut walk = FlipWalk::new(form, kept[from].1.clone());
    let apart = distance(&walk.values, &guide);
    if form.symmetric && 2 * apart > guide.len() {
        guide.iter_mut().for_each(|value| *value = !*value);
    }
    let way = walk.relink(form, &guide);
    (walk, way)
}

fn distance(a: &[bool], b: &[bool]) -> usize {
    a.iter().zip(b).filter(|(a, b)| a != b).count()
}

/// Keeps a solution if it is new and among the best.
fn keep(kept: &mut Vec<Solution>, found: Solution) -> bool {
    let at = kept.partition_point(|known| known.0 < found.0);
    let known = kept[at..].iter().take_while(|known| known.0 == found.0).any(|known| known.1 == found.1);
    if known || at >= tuning().one_flip.kept {
        return false;
    }
    kept.insert(at, found);
    kept.truncate(tuning().one_flip.kept);
    true
}

impl Driver for OneFlip {
    fn population(&self) -> usize {
        self.walkers.len()
    }

    fn fits(&self, context: &SearchContext, _: &Pool) -> bool {
        self.can_move(context)
    }

    fn can_move(&self, context: &SearchContext) -> bool {
        match &self.form {
            _ if context.is_for_sums() => false,
            Some(form) => form.is_some(),
            None => are_pairs(&context.tables.problem.domains, &context.tables.problem.functions),
        }
    }

    fn reads_tables(&self) -> bool {
        false
    }

    fn round(&mut self, context: &SearchContext, pool: &mut Pool, stop: &Stop) -> Effort {
        self.search(context, pool, stop).unwrap_or_default()
    }

    fn rebase(&mut self, _: &SearchContext, translate: &Translate<'_>) {
        (self.form, self.told) = (None, Cost::MAX);
        self.walkers.clear();
        let kept = std::mem::take(&mut self.kept);
        let translated = kept.into_iter().filter_map(|(value, values)| {
            let elite = translate(&values.iter().map(|&one| u16::from(one)).collect::<Vec<_>>())?;
            Some((value, elite.values.iter().map(|&value| value == 1).collect()))
        });
        self.kept = translated.collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fangs_testing::cores::pairs as random;
    use fangs_testing::cores::price;
    use std::sync::Arc;

    #[test]
    fn the_pool_is_told_of_the_best_and_threads_change_nothing() {
        let mut rng = Rng::new(9);
        for n in [2, 9, 14] {
            let problem = Arc::new(random(n, &mut rng));
            let mut context = SearchContext::new(&problem, price(&problem), None, &mut rng);
            context.portable = true;
            let run = |threads: usize| {
                let workers = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
                workers.install(|| {
                    let (mut pool, mut driver) = (Pool::default(), OneFlip::new(Rng::new(3)));
                    let rounds: Vec<_> =
                        (0..3).map(|_| driver.round(&context, &mut pool, &Stop::new()).moves).collect();
                    assert_eq!(driver.kept.first().map(|kept| kept.0), Some(driver.told));
                    (rounds, pool.best(), driver.kept)
                })
            };
            let one = run(1);
            let cost = |bits: u32| problem.cost(&(0..n).map(|v| bits >> v & 1).collect::<Vec<_>>());
            let optimum = (0..1u32 << n).map(cost).min();
            assert_eq!(Some(one.1 + problem.constant), optimum);
            assert!(one == run(3) && one.0.iter().all(|&moves| moves > 0));
        }
    }
}
