//! Tabu search of single flips with path relinking, for networks of binary variables and functions of two: quadratic
//! forms, cuts, spins. Walks begin at random places until there are enough solutions, then on the ways between two of
//! them. Where these are used up all but the best begin anew, with walks of twice the patience.

mod quadratic;
mod walk;

use self::quadratic::{Quadratic, is_binary};
use self::walk::Walk;
use super::annealing::state::Elite;
use super::tuning::ROUND_WORK;
use super::tuning::one_flip::{KEPT, PATIENCE, PORTABLE};
use crate::error::Error;
use crate::model::Cost;
use crate::rng::Rng;
use crate::search::scheduler::driver::{Driver, Effort, Pool, SearchContext, Translate, shorter};
use crate::stop::Stop;
use rayon::prelude::*;

/// The form's value, and the values.
type Solution = (Cost, Vec<bool>);

pub(crate) struct OneFlip {
    rng: Rng,
    rounds: u32,
    /// Of the core; none before it was asked for, and none within where there is no such form.
    form: Option<Option<Quadratic>>,
    walkers: Vec<Walker>,
    /// Different solutions, the best first.
    kept: Vec<Solution>,
    /// Walks since one of them was better than the worst of these.
    failed: usize,
    /// Steps of a walk without anything better, for each variable.
    patience: u64,
}

struct Walker {
    rng: Rng,
    /// None before its first round.
    walk: Option<Walk>,
    /// The best value that the pool was told of.
    told: Cost,
}

impl OneFlip {
    pub fn new(rng: Rng) -> Self {
        let (form, walkers, kept) = (None, Vec::new(), Vec::new());
        OneFlip { rng, rounds: 0, form, walkers, kept, failed: 0, patience: PATIENCE }
    }

    fn search(&mut self, context: &SearchContext, pool: &mut Pool, stop: &Stop) -> Result<Effort, Error> {
        if self.form.is_none() {
            let form = Quadratic::of(&context.tables.problem, stop)?;
            // values of another core have another constant
            form.iter().for_each(|form| self.kept.iter_mut().for_each(|(value, values)| *value = form.value(values)));
            self.kept.sort();
            self.form = Some(form);
        }
        // without a form a round counts as a whole one: alone, it is the bounds' turn
        let Some(Some(form)) = &self.form else { return Ok(Effort { work: ROUND_WORK, ..Effort::default() }) };
        if self.walkers.is_empty() {
            let count = if context.portable { PORTABLE } else { rayon::current_num_threads() };
            let walker = |_| Walker { rng: self.rng.split(), walk: None, told: Cost::MAX };
            self.walkers = (0..count).map(walker).collect();
        }
        if let Some(elite) = pool.allowed() {
            let values: Vec<bool> = elite.values.iter().map(|&value| value == 1).collect();
            let _ = keep(&mut self.kept, (form.value(&values), values));
        }
        let work = ROUND_WORK >> shorter(self.rounds);
        self.rounds += 1;
        let (kept, patience) = (&self.kept, self.patience * form.variables() as u64);
        let turn = |walker: &mut Walker| walker.turn(form, kept, (work, patience), stop);
        let turns: Vec<(Effort, Vec<Solution>)> = self.walkers.par_iter_mut().map(turn).collect();
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
        for walker in &mut self.walkers {
            let Some(walk) = walker.walk.as_ref().filter(|walk| walk.best_value < walker.told) else { continue };
            walker.told = walk.best_value;
            let values = walk.best.iter().map(|&one| u16::from(one)).collect();
            pool.offer(&Elite::until(&context.tables, values, stop)?);
        }
        if self.kept.len() >= KEPT && self.failed > KEPT * KEPT {
            self.kept.truncate(1);
            (self.failed, self.patience) = (0, self.patience.saturating_mul(2));
        }
        Ok(effort)
    }
}

impl Walker {
    /// Walks for so much work. Returns the bests of walks that came to their end.
    fn turn(
        &mut self,
        form: &Quadratic,
        kept: &[Solution],
        (work, patience): (u64, u64),
        stop: &Stop,
    ) -> (Effort, Vec<Solution>) {
        let (mut effort, mut found) = (Effort::default(), Vec::new());
        let (n, step_work) = (form.variables() as u64, walk::step_work(form));
        while effort.work < work && !stop.is_set() {
            let mut steps = 0;
            let walk = match &mut self.walk {
                Some(walk) if walk.idle < patience => walk,
                over => {
                    let (walk, way) = begin(form, kept, &mut self.rng);
                    (steps, self.told) = (way as u64, Cost::MAX);
                    effort.work += n * form.degree() as u64;
                    over.insert(walk)
                }
            };
            let most = ((work - effort.work.min(work)) / step_work).clamp(1, patience.min(u64::from(u32::MAX / 2)));
            steps += u64::from(walk.advance(form, most as u32, &mut self.rng, stop));
            if walk.idle >= patience {
                found.push((walk.best_value, walk.best.clone()));
            }
            effort.work += steps * step_work;
            effort.moves += steps;
            effort.ratings += steps * n;
        }
        (effort, found)
    }
}

/// A walk from a random place, or from the way between two of the solutions where there are enough; and steps of it.
fn begin(form: &Quadratic, kept: &[Solution], rng: &mut Rng) -> (Walk, usize) {
    if kept.len() < KEPT {
        return (Walk::new(form, (0..form.variables()).map(|_| rng.below(2) == 1).collect()), 0);
    }
    let from = rng.index(kept.len());
    let to = (from + 1 + rng.index(kept.len() - 1)) % kept.len();
    let mut guide = kept[to].1.clone();
    let mut walk = Walk::new(form, kept[from].1.clone());
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
    if known || at >= KEPT {
        return false;
    }
    kept.insert(at, found);
    kept.truncate(KEPT);
    true
}

impl Driver for OneFlip {
    fn population(&self) -> usize {
        self.walkers.len()
    }

    fn fits(&self, context: &SearchContext, _: &Pool) -> bool {
        match &self.form {
            Some(form) => form.is_some(),
            None => is_binary(&context.tables.problem),
        }
    }

    fn round(&mut self, context: &SearchContext, pool: &mut Pool, stop: &Stop) -> Effort {
        self.search(context, pool, stop).unwrap_or_default()
    }

    fn rebase(&mut self, _: &SearchContext, translate: &Translate<'_>) {
        self.form = None;
        self.walkers.clear();
        let kept = std::mem::take(&mut self.kept);
        let translated = kept.into_iter().filter_map(|(value, values)| {
            let elite = translate(&values.iter().map(|&one| u16::from(one)).collect::<Vec<_>>())?;
            Some((value, elite.values.iter().map(|&value| value == 1).collect()))
        });
        self.kept = translated.collect();
    }
}
