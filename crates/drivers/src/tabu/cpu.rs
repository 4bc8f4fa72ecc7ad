//! Tabu walks on the CPU, with a thread for each walk. A step is one FANG assignment of a pseudo-variable whose
//! candidate values are all (variable, value) moves of the variables in conflict. The aggregate is the lowest
//! difference of a move that is not tabu; the map is 1 for moves with this difference.

use super::walk::{HELD, TabuProgress};
use crate::constants::{tabu::REMEMBERED, walks::LOOK_EVERY};
use crate::core::elite::hash;
use crate::core::layout::{MoveLayout, ValueMove, energy};
use crate::error::Error;
use crate::fang::boltzmann::Least;
use crate::fang::{Active, LocalHeuristic, Scratch, assign_variable};
use crate::rng::mix;
use crate::stop::Stop;
use crate::value_tables::ValueTables;
use crate::walks::search::{Limit, Walk};

/// The evaluation of a move that may not be selected.
const FORBIDDEN_MOVE: i32 = i32::MAX;
/// The state of a tabu walk.
#[derive(Clone, Debug, Default)]
pub(crate) struct TabuWalk {
    progress: TabuProgress,
    values: Vec<u16>,
    best: Vec<u16>,
    /// The cost of each value, given the values of the other variables, above the variable's floor.
    gamma: Vec<i32>,
    /// The step until which each value is tabu.
    until: Vec<u32>,
    /// Hashes of visited assignments.
    seen: Vec<u32>,
    /// The variables in conflict.
    in_conflict: Active,
}

/// The moves of a walk's variables in conflict, in their order.
struct Moves<'a> {
    tables: &'a ValueTables,
    layout: &'a MoveLayout,
}

impl Moves<'_> {
    #[inline(always)]
    fn rate_variable(&self, walk: &TabuWalk, v: usize, ratings: &mut [i32]) {
        let range = self.layout.range(v);
        let (gamma, until) = (&walk.gamma[range.clone()], &walk.until[range]);
        let current = gamma[usize::from(walk.values[v])];
        let (step, aspired) = (walk.progress.step, walk.progress.aspired());
        // rows consist of units of four: a loop over single moves would leave up to 15 of a row without vector
        // instructions
        let rated = ratings.as_chunks_mut::<4>().0.iter_mut();
        for ((ratings, costs), until) in rated.zip(gamma.as_chunks::<4>().0).zip(until.as_chunks::<4>().0) {
            for k in 0..4 {
                let delta = costs[k] - current;
                ratings[k] = if until[k] > step && delta >= aspired { FORBIDDEN_MOVE } else { delta };
            }
        }
    }

    /// Returns the variable and the value of a move.
    #[inline(always)]
    fn of(&self, walk: &TabuWalk, possibility: usize) -> (usize, u16) {
        let mut before = 0;
        let of = |v: usize| {
            let first = before;
            before += self.layout.range(v).len();
            (possibility < before).then(|| (v, (possibility - first) as u16))
        };
        walk.in_conflict.iter().find_map(of).unwrap_or_default()
    }
}

impl LocalHeuristic<TabuWalk> for Moves<'_> {
    type Rating = i32;
    type Aggregate = Least;

    #[inline(always)]
    fn possibilities(&self, walk: &TabuWalk, _: usize) -> usize {
        walk.in_conflict.iter().map(|v| self.layout.range(v).len()).sum()
    }

    fn rate(&self, walk: &TabuWalk, _: usize, possibility: usize) -> i32 {
        let (v, value) = self.of(walk, possibility);
        let mut row = vec![0; self.layout.range(v).len()];
        self.rate_variable(walk, v, &mut row);
        row[usize::from(value)]
    }

    #[inline(always)]
    fn rate_all(&self, walk: &TabuWalk, _: usize, ratings: &mut [i32]) {
        let mut left = ratings;
        for v in walk.in_conflict.iter() {
            let (row, behind) = left.split_at_mut(self.layout.range(v).len());
            self.rate_variable(walk, v, row);
            left = behind;
        }
    }

    #[inline(always)]
    fn accumulate(&self, aggregate: &mut Least, rating: i32) {
        aggregate.0 = aggregate.0.min(rating);
    }

    #[inline(always)]
    fn map(&self, rating: i32, aggregate: &Least) -> u32 {
        u32::from(rating == aggregate.0 && rating < FORBIDDEN_MOVE)
    }

    #[inline(always)]
    fn map_all(&self, ratings: &[i32], aggregate: &Least, weights: &mut [u32]) -> u64 {
        let mut total = 0;
        for (weight, &rating) in weights.iter_mut().zip(ratings) {
            *weight = self.map(rating, aggregate);
            // there are fewer moves than 2^32
            total += *weight;
        }
        u64::from(total)
    }

    fn assign(&self, walk: &mut TabuWalk, _: usize, possibility: usize) {
        let (v, value) = self.of(walk, possibility);
        walk.take(self.tables, self.layout, v, value);
    }

    /// Counts a step in which all moves are tabu.
    fn could_not_assign(&self, walk: &mut TabuWalk, _: usize) {
        walk.progress.step += 1;
    }
}

impl TabuWalk {
    fn take(&mut self, tables: &ValueTables, layout: &MoveLayout, v: usize, value: u16) {
        let old = self.values[v];
        let [from, to] = [old, value].map(|value| layout.starts[v] as usize + usize::from(value));
        let delta = self.gamma[to] - self.gamma[from];
        let (mut conflicts, in_conflict) = (self.progress.conflicts, &mut self.in_conflict);
        let mut watch = |v: usize, before: i32, after: i32| match (before > 0, after > 0) {
            (false, true) => {
                in_conflict.activate(v);
                conflicts += 1;
            }
            (true, false) => {
                in_conflict.deactivate(v);
                conflicts -= 1;
            }
            _ => {}
        };
        watch(v, self.gamma[from], self.gamma[to]);
        self.until[from] = self.progress.until(tables.variables());
        self.until[to] = HELD;
        let moved = ValueMove { values: &self.values, variable: v, value };
        layout.update(tables, moved, &mut self.gamma, |cost| cost, Some(watch));
        self.values[v] = value;
        let progress = &mut self.progress;
        progress.step += 1;
        progress.moves += 1;
        progress.conflicts = conflicts;
        progress.energy += i64::from(delta);
        let [gone, come] = [old, value].map(|value| mix(u64::from(value), v as u64));
        progress.hash = progress.hash.wrapping_sub(gone).wrapping_add(come);
        let tag = (progress.hash >> 32) as u32;
        let known = std::mem::replace(&mut self.seen[progress.hash as usize % REMEMBERED], tag);
        progress.react(known == tag, tables.variables());
        if progress.energy < progress.best {
            (progress.best, progress.best_step, progress.best_hash) = (progress.energy, progress.step, progress.hash);
            self.best.copy_from_slice(&self.values);
        }
    }
}

/// A few steps, compiled for the vector instruction set of the machine.
struct Steps<'a> {
    moves: &'a Moves<'a>,
    walk: &'a mut TabuWalk,
    scratch: &'a mut Scratch<i32>,
    count: u32,
}

impl pulp::WithSimd for Steps<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        for _ in 0..self.count {
            let draw = self.walk.progress.draw();
            let _ = assign_variable(self.moves, self.walk, 0, draw, self.scratch);
        }
    }
}

impl Walk<TabuProgress, MoveLayout> for TabuWalk {
    fn begin(
        &mut self,
        tables: &ValueTables,
        layout: &MoveLayout,
        progress: TabuProgress,
        values: &[u16],
        _: &Stop,
    ) -> Result<(), Error> {
        self.gamma = vec![0; layout.moves()];
        self.until = vec![HELD; layout.moves()];
        self.seen = vec![0; REMEMBERED];
        for v in 0..tables.variables() {
            let range = layout.range(v);
            let gamma = &mut self.gamma[range.clone()];
            tables.rate(v, values, gamma, |_| true);
            gamma.iter_mut().for_each(|cost| *cost -= layout.floors[v]);
            let until = &mut self.until[range][..tables.domain(v)];
            until.fill(0);
            until[usize::from(values[v])] = HELD;
        }
        self.in_conflict = Active::new(tables.variables());
        let in_conflict = |v: &usize| self.gamma[layout.starts[*v] as usize + usize::from(values[*v])] > 0;
        (0..tables.variables()).filter(in_conflict).for_each(|v| self.in_conflict.activate(v));
        let conflicts = self.in_conflict.count() as u32;
        self.progress =
            progress.at_begin(energy(tables, values, &Stop::new()).expect("no stop is set"), hash(values), conflicts);
        self.best = values.to_vec();
        self.values = values.to_vec();
        Ok(())
    }

    fn walk(&mut self, tables: &ValueTables, layout: &MoveLayout, limit: Limit, stop: &Stop) -> u64 {
        let (moves, mut scratch) = (Moves { tables, layout }, Scratch::default());
        let mut left = limit.steps;
        while left > 0 && !stop.is_set() {
            let count = left.min(LOOK_EVERY);
            pulp::Arch::new().dispatch(Steps { moves: &moves, walk: self, scratch: &mut scratch, count });
            left -= count;
        }
        0
    }

    fn progress(&self) -> TabuProgress {
        self.progress
    }

    fn best(&self) -> &[u16] {
        &self.best
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use fangs_testing::cores::{assignment, price, random_dense};
    use std::sync::Arc;

    fn begun(tables: &ValueTables, layout: &MoveLayout, values: Vec<u16>, key: u64) -> TabuWalk {
        let mut walk = TabuWalk::default();
        walk.begin(tables, layout, TabuProgress::new(key, 0), &values, &Stop::new()).expect("no stop is set");
        walk
    }

    /// Compares all data that a walk keeps up to date with recomputed ones.
    fn verify(walk: &TabuWalk, tables: &ValueTables, layout: &MoveLayout) {
        let fresh = begun(tables, layout, walk.values.clone(), 1);
        assert_eq!(walk.gamma, fresh.gamma);
        assert_eq!(walk.progress.hash, fresh.progress.hash);
        assert_eq!(walk.progress.conflicts, fresh.progress.conflicts);
        assert_eq!(walk.in_conflict, fresh.in_conflict);
        assert!((0..tables.variables()).all(|v| walk.gamma[layout.range(v)].iter().all(|&cost| cost >= 0)));
        assert_eq!(walk.progress.energy, fresh.progress.energy);
        assert_eq!(walk.progress.best, energy(tables, &walk.best, &Stop::new()).expect("no stop is set"));
        assert_eq!(walk.progress.best_hash, hash(&walk.best));
        if tables.shift == 0 && tables.price() == i64::from(tables.hard) {
            assert_eq!(walk.progress.energy, tables.energy(&walk.values).total);
        }
        assert!(walk.progress.best <= walk.progress.energy);
        for v in 0..tables.variables() {
            let (until, value) = (&walk.until[layout.range(v)], usize::from(walk.values[v]));
            assert!((0..until.len()).all(|k| (until[k] == HELD) == (k == value || k >= tables.domain(v))));
        }
    }

    #[test]
    fn walks_stay_equal_to_recomputed_ones() {
        let mut rng = Rng::new(1);
        for _ in 0..300 {
            let problem = Arc::new(random_dense(&mut rng));
            let tables = ValueTables::new(&problem, price(&problem));
            let layout = MoveLayout::new(&tables, &Stop::new()).expect("no stop is set");
            let mut walk = begun(&tables, &layout, assignment(&problem, &mut rng), rng.draw());
            for _ in 0..40 {
                let v = rng.index(tables.variables());
                let value = rng.index(tables.domain(v)) as u16;
                if value != walk.values[v] {
                    walk.take(&tables, &layout, v, value);
                }
                verify(&walk, &tables, &layout);
            }
        }
    }

    #[test]
    fn steps_take_a_best_move_that_is_free() {
        let mut rng = Rng::new(2);
        for _ in 0..300 {
            let problem = Arc::new(random_dense(&mut rng));
            let tables = ValueTables::new(&problem, price(&problem));
            let layout = MoveLayout::new(&tables, &Stop::new()).expect("no stop is set");
            let moves = Moves { tables: &tables, layout: &layout };
            let mut walk = begun(&tables, &layout, assignment(&problem, &mut rng), rng.draw());
            let mut scratch = Scratch::default();
            for _ in 0..40 {
                let mut ratings = vec![0; moves.possibilities(&walk, 0)];
                moves.rate_all(&walk, 0, &mut ratings);
                let single: Vec<i32> = (0..ratings.len()).map(|p| moves.rate(&walk, 0, p)).collect();
                assert_eq!(ratings, single);
                let before = walk.clone();
                let picked = assign_variable(&moves, &mut walk, 0, rng.draw(), &mut scratch);
                verify(&walk, &tables, &layout);
                assert_eq!(walk.progress.step, before.progress.step + 1);
                let Some(picked) = picked else {
                    assert_eq!(walk.values, before.values);
                    continue;
                };
                assert_eq!(ratings.iter().min(), Some(&ratings[picked]));
                assert_eq!(i64::from(ratings[picked]), walk.progress.energy - before.progress.energy);
                let changed = before.values.iter().zip(&walk.values).filter(|(a, b)| a != b).count();
                assert_eq!(changed, 1);
                let (v, value) = moves.of(&before, picked);
                let place = layout.range(v).start + usize::from(value);
                let free = before.until[place] <= before.progress.step || walk.progress.best < before.progress.best;
                assert!(free, "a tabu move that leads to no new best");
            }
        }
    }
}
