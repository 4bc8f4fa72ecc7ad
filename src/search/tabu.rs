//! Tabu search on gamma tables: the cost of every value of every variable under the others' values is kept up to date,
//! and a step is one FANG pass over all (variable, value) moves as the possibilities of one pseudo-variable.
//!
//! The best move that is not tabu is taken, ties at random; a tabu move is free where it gives a new best (aspiration).
//! Tenures react to repetition (Battiti and Tecchiolli's reactive tabu search). Best where every difference is 0 or 1,
//! as in graph coloring (ALGORITHMS.md, "Which for what").

use super::driver::{Driver, Effort, Field, Pool};
use super::heat_bath::Least;
use super::rows::{Incidence, Rows};
use super::state::{Elite, hash};
use crate::fang::{LocalHeuristic, Scratch, assign_variable};
use crate::rng::{Rng, mix};
use crate::stop::Stop;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

/// States that search side by side.
const STATES: usize = 8;
/// Possibilities rated by one state in a round.
const ROUND_RATINGS: u64 = 1_500_000;
/// Above this many moves in all a step costs more than it can give.
const MOST_MOVES: usize = 200_000;
/// What may not be picked.
const FORBIDDEN_MOVE: i32 = i32::MAX;
/// Steps without a new best after which a state starts again from an elite.
const PATIENCE: u64 = 20_000;

/// The tabu driver.
#[derive(Debug)]
pub(crate) struct Tabu {
    rng: Rng,
    walkers: Vec<Walker>,
    layout: Option<Layout>,
}

/// Where things stand in the flat tables of moves.
#[derive(Debug)]
struct Layout {
    /// First move of each variable, and the end.
    starts: Vec<u32>,
    /// For each variable the incidences of its neighbours that its moves change.
    affected: Vec<Vec<(u32, Incidence)>>,
}

/// One tabu search.
#[derive(Clone, Debug)]
struct Walker {
    values: Vec<u16>,
    rng: Rng,
    /// Cost of each value under the others' values.
    gamma: Vec<i32>,
    /// The step until which a value may not be taken again.
    tabu: Vec<u64>,
    step: u64,
    /// Energy in the rows' units, relative to where the walk began.
    energy: i64,
    best: i64,
    best_values: Vec<u16>,
    best_step: u64,
    hash: u64,
    tenure: f64,
    seen: FxHashMap<u64, u64>,
    last_repeat: u64,
}

impl Tabu {
    /// A driver that has not begun.
    pub fn new(rng: Rng) -> Self {
        Tabu { rng, walkers: Vec::new(), layout: None }
    }
}

impl Layout {
    fn new(rows: &Rows) -> Self {
        let mut starts = vec![0];
        let mut end = 0;
        for &width in &rows.width {
            end += width;
            starts.push(end);
        }
        let mut affected = vec![Vec::new(); rows.variables()];
        for group in rows.incidences_by_function().chunk_by(|a, b| a.0 == b.0) {
            for &(_, v, _) in group {
                let others = group.iter().filter(|other| other.1 != v);
                affected[v as usize].extend(others.map(|&(_, u, incidence)| (u, incidence)));
            }
        }
        Layout { starts, affected }
    }

    fn moves(&self) -> usize {
        self.starts[self.starts.len() - 1] as usize
    }

    fn range(&self, variable: usize) -> std::ops::Range<usize> {
        self.starts[variable] as usize..self.starts[variable + 1] as usize
    }
}

/// Rates all moves of a walker.
struct Moves<'a> {
    rows: &'a Rows,
    layout: &'a Layout,
}

impl LocalHeuristic<Walker> for Moves<'_> {
    type Rating = i32;
    type Aggregate = Least;

    fn possibilities(&self, _: &Walker, _: usize) -> usize {
        self.layout.moves()
    }

    fn rate(&self, walker: &Walker, _: usize, possibility: usize) -> i32 {
        let v = self.layout.starts.partition_point(|&start| start as usize <= possibility) - 1;
        let range = self.layout.range(v);
        let mut row = vec![0; range.len()];
        self.rate_variable(walker, v, &mut row);
        row[possibility - range.start]
    }

    #[inline(always)]
    fn rate_all(&self, walker: &Walker, _: usize, ratings: &mut [i32]) {
        for v in 0..self.rows.variables() {
            self.rate_variable(walker, v, &mut ratings[self.layout.range(v)]);
        }
    }

    #[inline(always)]
    fn accumulate(&self, aggregate: &mut Least, rating: i32) {
        aggregate.0 = aggregate.0.min(rating);
    }

    #[inline(always)]
    fn map(&self, rating: i32, aggregate: &Least) -> u32 {
        u32::from(rating == aggregate.0 && rating < super::rows::PADDING / 2)
    }

    fn assign(&self, walker: &mut Walker, _: usize, possibility: usize) {
        let v = self.layout.starts.partition_point(|&start| start as usize <= possibility) - 1;
        walker.take(self.rows, self.layout, v, possibility - self.layout.range(v).start);
    }

    /// Everything is tabu: time passes.
    fn could_not_assign(&self, walker: &mut Walker, _: usize) {
        walker.step += 1;
    }
}

impl Moves<'_> {
    #[inline(always)]
    fn rate_variable(&self, walker: &Walker, v: usize, ratings: &mut [i32]) {
        let range = self.layout.range(v);
        let gamma = &walker.gamma[range.clone()];
        let tabu = &walker.tabu[range];
        let value = usize::from(walker.values[v]);
        let current = gamma[value];
        // a rating below this gives a new best
        let aspired = (walker.best - walker.energy).clamp(i64::from(i32::MIN / 2), 0) as i32;
        for ((rating, &cost), &until) in ratings.iter_mut().zip(gamma).zip(tabu) {
            let delta = cost - current;
            *rating = if until > walker.step && delta >= aspired { FORBIDDEN_MOVE } else { delta };
        }
        ratings[value] = FORBIDDEN_MOVE;
    }
}

impl Walker {
    fn new(rows: &Rows, layout: &Layout, values: Vec<u16>, rng: Rng) -> Self {
        let mut walker = Walker {
            hash: hash(&values),
            best_values: values.clone(),
            values,
            rng,
            gamma: vec![0; layout.moves()],
            tabu: vec![0; layout.moves()],
            step: 0,
            energy: 0,
            best: 0,
            best_step: 0,
            tenure: 10.0,
            seen: FxHashMap::default(),
            last_repeat: 0,
        };
        for v in 0..rows.variables() {
            rows.rate(v, &walker.values, &mut walker.gamma[layout.range(v)], |_| true);
        }
        walker
    }

    fn take(&mut self, rows: &Rows, layout: &Layout, v: usize, value: usize) {
        let range = layout.range(v);
        let old = usize::from(self.values[v]);
        self.step += 1;
        self.energy += i64::from(self.gamma[range.start + value]) - i64::from(self.gamma[range.start + old]);
        self.tabu[range.start + old] = self.step + 1 + self.rng.below(self.tenure as u64 + 1) + self.tenure as u64 / 2;
        for &(u, incidence) in &layout.affected[v] {
            self.values[v] = old as u16;
            let before = rows.offset(&incidence, &self.values);
            self.values[v] = value as u16;
            let after = rows.offset(&incidence, &self.values);
            let gamma = &mut self.gamma[layout.range(u as usize)];
            let rows = rows.row(before, gamma.len()).iter().zip(rows.row(after, gamma.len()));
            for (total, (&gone, &come)) in gamma.iter_mut().zip(rows) {
                *total += come - gone;
            }
        }
        self.values[v] = value as u16;
        self.hash = self.hash.wrapping_sub(mix(old as u64, v as u64)).wrapping_add(mix(value as u64, v as u64));
        self.react(layout.starts.len());
        if self.energy < self.best {
            self.best = self.energy;
            self.best_step = self.step;
            self.best_values.copy_from_slice(&self.values);
        }
    }

    /// A repeated assignment lengthens tenures; a long time without one shortens them.
    fn react(&mut self, variables: usize) {
        let longest = (variables as f64 / 2.0).max(4.0);
        if self.seen.len() > 50_000 {
            self.seen.clear();
        }
        if self.seen.insert(self.hash, self.step).is_some() {
            self.tenure = (self.tenure * 1.1 + 1.0).min(longest);
            self.last_repeat = self.step;
        } else if self.step - self.last_repeat > 1000 {
            self.tenure = (self.tenure * 0.95).max(3.0);
            self.last_repeat = self.step;
        }
    }
}

/// A few steps, compiled for the vector units of the machine they run on.
struct Steps<'a> {
    moves: &'a Moves<'a>,
    walker: &'a mut Walker,
    scratch: &'a mut Scratch<i32>,
    count: u32,
}

impl pulp::WithSimd for Steps<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        for _ in 0..self.count {
            let draw = self.walker.rng.draw();
            let _ = assign_variable(self.moves, self.walker, 0, draw, self.scratch);
        }
    }
}

impl Driver for Tabu {
    fn name(&self) -> &'static str {
        "tabu"
    }

    fn population(&self) -> usize {
        self.walkers.len()
    }

    fn round(&mut self, field: &Field, pool: &mut Pool, stop: &Stop) -> Effort {
        let rows = &field.rows;
        let layout = self.layout.get_or_insert_with(|| Layout::new(rows));
        if layout.moves() > MOST_MOVES || !rows.all_copied() || field.variables() == 0 {
            return Effort { work: 1_000_000, ..Effort::default() };
        }
        let fresh = |elites: &[Elite], rng: &mut Rng| {
            let mut values = match elites.len() {
                0 => vec![0; rows.variables()],
                count => elites[rng.index(count)].values.clone(),
            };
            // one variable in twenty at random, so that two walks from one elite differ
            for _ in 0..values.len().div_ceil(20) {
                let v = rng.index(values.len());
                values[v] = rng.index(rows.domain(v)) as u16;
            }
            Walker::new(rows, layout, values, rng.split())
        };
        while self.walkers.len() < STATES {
            self.walkers.push(fresh(pool.elites(), &mut self.rng));
        }
        let steps = (ROUND_RATINGS / layout.moves() as u64).clamp(16, 20_000);
        let moves = Moves { rows, layout };
        self.walkers.par_iter_mut().for_each(|walker| {
            let mut scratch = Scratch::default();
            let until = walker.step + steps;
            while walker.step < until && !stop.is_set() {
                pulp::Arch::new().dispatch(Steps { moves: &moves, walker, scratch: &mut scratch, count: 16 });
            }
        });
        for walker in &mut self.walkers {
            pool.offer(&Elite::new(rows, walker.best_values.clone()));
            if walker.step - walker.best_step > PATIENCE {
                *walker = fresh(pool.elites(), &mut self.rng);
            }
        }
        let made = steps * STATES as u64;
        let degree = field.sweep_work / (field.variables() as u64 * 10).max(1);
        Effort {
            moves: made,
            ratings: made * layout.moves() as u64,
            work: made * (2 * layout.moves() as u64 + 20 * degree),
            ..Effort::default()
        }
    }

    fn rebase(&mut self, _: &Field, _: &(dyn Fn(&[u16]) -> Vec<u16> + Sync)) {
        // the shared pool carries over what the walks found
        self.layout = None;
        self.walkers.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::testing::{assignment, price, random_dense};
    use std::sync::Arc;

    /// Compares everything that a walker keeps up to date with what is computed anew.
    fn verify(walker: &Walker, rows: &Rows, layout: &Layout, began: i64) {
        let fresh = Walker::new(rows, layout, walker.values.clone(), walker.rng.clone());
        assert_eq!(walker.gamma, fresh.gamma);
        assert_eq!(walker.hash, fresh.hash);
        if rows.shift == 0 {
            assert_eq!(walker.energy, rows.energy(&walker.values).total - began);
            assert_eq!(walker.best, rows.energy(&walker.best_values).total - began);
        }
        assert!(walker.best <= walker.energy.min(0));
    }

    #[test]
    fn walkers_stay_equal_to_recomputed_ones() {
        let mut rng = Rng::new(1);
        for _ in 0..300 {
            let problem = Arc::new(random_dense(&mut rng));
            let rows = Rows::new(&problem, price(&problem));
            let layout = Layout::new(&rows);
            let mut walker = Walker::new(&rows, &layout, assignment(&problem, &mut rng), rng.split());
            let began = rows.energy(&walker.values).total;
            for _ in 0..40 {
                let v = rng.index(rows.variables());
                let value = rng.index(rows.domain(v));
                if value != usize::from(walker.values[v]) {
                    walker.take(&rows, &layout, v, value);
                }
                verify(&walker, &rows, &layout, began);
            }
        }
    }

    #[test]
    fn steps_take_a_best_move_that_is_free() {
        let mut rng = Rng::new(2);
        for _ in 0..300 {
            let problem = Arc::new(random_dense(&mut rng));
            let rows = Rows::new(&problem, price(&problem));
            let layout = Layout::new(&rows);
            let moves = Moves { rows: &rows, layout: &layout };
            let mut walker = Walker::new(&rows, &layout, assignment(&problem, &mut rng), rng.split());
            let began = rows.energy(&walker.values).total;
            let mut scratch = Scratch::default();
            for _ in 0..40 {
                let mut ratings = vec![0; layout.moves()];
                moves.rate_all(&walker, 0, &mut ratings);
                let single: Vec<i32> = (0..layout.moves()).map(|p| moves.rate(&walker, 0, p)).collect();
                assert_eq!(ratings, single);
                let before = walker.clone();
                let picked = assign_variable(&moves, &mut walker, 0, rng.draw(), &mut scratch);
                verify(&walker, &rows, &layout, began);
                assert_eq!(walker.step, before.step + 1);
                let Some(picked) = picked else {
                    assert_eq!(walker.values, before.values);
                    continue;
                };
                assert_eq!(ratings.iter().min(), Some(&ratings[picked]));
                assert_eq!(i64::from(ratings[picked]), walker.energy - before.energy);
                let changed = before.values.iter().zip(&walker.values).filter(|(a, b)| a != b).count();
                assert_eq!(changed, 1);
                let free = before.tabu[picked] <= before.step || walker.best < before.best;
                assert!(free, "a tabu move that leads to no new best");
            }
        }
    }

    #[test]
    fn rounds_offer_what_the_walkers_found() {
        let mut rng = Rng::new(3);
        let stop = Stop::new();
        for _ in 0..4 {
            let problem = Arc::new(random_dense(&mut rng));
            let field = Field::new(&problem, price(&problem), None, &mut rng, &stop);
            let mut tabu = Tabu::new(rng.split());
            let mut pool = Pool::default();
            let effort = tabu.round(&field, &mut pool, &stop);
            assert!(effort.work > 0 && tabu.population() == STATES);
            let best = tabu.walkers.iter().map(|walker| field.rows.energy(&walker.best_values).total).min();
            assert!(best.is_some_and(|best| pool.best() <= best));
        }
    }
}
