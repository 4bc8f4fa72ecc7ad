//! Makes one child on the CPU: crossover, anneal and completion.

use super::states::{Child, CpuPopulation};
use crate::core::context::SearchContext;
use crate::core::crossover::PartitionCrossover;
use crate::core::elite::{Elite, hash};
use crate::core::layout::MoveLayout;
use crate::error::Error;
use crate::fang::Scratch;
use crate::fang::boltzmann::Boltzmann;
use crate::generation::{ChildPlan, Generation, decision};
use crate::heat_bath::{AllFunctions, HeatBath};
use crate::rating_cache::{CachedRatings, RatingCache};
use crate::rng::{Rng, below, mix};
use crate::state::AnnealState;
use crate::stop::Stop;
use crate::sweep::{SweepDraws, sweep};
use crate::tree_move::{TreeScratch, tree_move};
use crate::tuning::{COOL, GREEDY_SWEEPS, MOST_KEPT, TREE_EVERY, WORTH_KEEPING};
use crate::value_tables::Energy;
use std::cell::RefCell;

thread_local! {
    pub(super) static STORAGE: RefCell<ThreadStorage> = RefCell::default();
}

/// Scratch storage of one thread, kept as long as the thread lives. Allocating it anew for each generation took 4 to 10
/// % of the time on 505 and pedigree18.
#[derive(Default)]
pub(super) struct ThreadStorage {
    scratch: Scratch<i32>,
    tree: TreeScratch,
    merge: PartitionCrossover,
    ratings: RefCell<RatingCache>,
    before: Vec<u16>,
}

/// Returns whether elites keep their evaluations. Children of large problems are long enough to compute them again.
pub(super) fn keeps_ratings(context: &SearchContext) -> bool {
    let tables = &context.tables;
    !context.is_large() && tables.all_copied() && tables.moves() <= MOST_KEPT
}

/// The task of making a child, compiled for the vector units of the machine.
pub(super) struct MakeChild<'a> {
    pub population: &'a CpuPopulation,
    pub slot: usize,
    pub generation: &'a Generation,
    pub context: &'a SearchContext,
    pub storage: &'a mut ThreadStorage,
    pub stop: &'a Stop,
}

impl MakeChild<'_> {
    /// Copies the parent's evaluations for a child that begins with `values`. Returns `false` if there are none or if
    /// the child differs too much from its parent.
    #[inline(always)]
    fn inherits(&mut self, values: &[u16]) -> bool {
        let (context, storage) = (self.context, &mut *self.storage);
        let (parent, ratings) = (&self.population.elites[self.slot], &self.population.ratings[self.slot]);
        let differing = parent.values.iter().zip(values).filter(|(a, b)| a != b).count();
        let pays = !ratings.known.is_empty() && differing * COOL < values.len();
        if !pays {
            return false;
        }
        let Ok(Some(layout)) = context.layout(self.stop) else { return false };
        // entries are costs if nothing is rounded
        let total = (context.tables.shift == 0).then_some(parent.energy.total);
        let of_child = storage.ratings.get_mut();
        of_child.copy(ratings, total);
        storage.before.clone_from(&parent.values);
        of_child.follow(&context.tables, layout, &mut storage.before, values, self.stop).is_ok()
    }

    /// Returns the parent's values with a connected region copied from a second parent. The region gets random values
    /// if the second parent is a copy of the parent.
    fn cross(&mut self, key: u64, plan: ChildPlan) -> Result<Vec<u16>, Error> {
        let (elites, context) = (&self.population.elites, self.context);
        let total = |slot: usize| elites[slot].energy.total;
        let (second_parent, differs) =
            self.generation.second_parent(key, self.slot, elites.len(), total, |slot| elites[slot].hash);
        let n = context.variables();
        let regions = context.regions(self.stop)?;
        let shapes = regions.len() / n;
        let shape = below(mix(key, decision::SHAPE), shapes as u64) as usize;
        let members = &regions[shape * n..][..Generation::region_size(plan, key, n)];
        let mut values = elites[self.slot].values.clone();
        let draw = mix(key, decision::VALUES);
        for &v in members {
            values[v as usize] = match differs {
                true => elites[second_parent].values[v as usize],
                false => below(mix(draw, u64::from(v)), context.tables.domain(v as usize) as u64) as u16,
            };
        }
        if differs && plan.before && context.is_large() {
            let mut merged = elites[self.slot].values.clone();
            let draw = mix(key, decision::TIES_BEFORE);
            self.storage.merge.take_better(&context.tables, &mut merged, &values, draw, self.stop)?;
            values = merged;
        }
        Ok(values)
    }

    /// Makes a tree move of the state and updates the evaluations if they are kept.
    #[inline(always)]
    fn move_tree(
        &mut self,
        number: u64,
        boltzmann: Boltzmann,
        kept: Option<&MoveLayout>,
        state: &mut AnnealState,
    ) -> Result<(), Error> {
        let MakeChild { slot, generation, context, stop, .. } = *self;
        let (tables, storage, forests) = (&context.tables, &mut *self.storage, context.forests(stop)?);
        let forest = &forests[below(mix(generation.group_key(slot), number), forests.len() as u64) as usize];
        let draw = mix(generation.key(slot), number);
        storage.before.clone_from(&state.values);
        tree_move(forest, tables, boltzmann, draw, state, &mut storage.tree, stop)?;
        match kept {
            Some(layout) => storage.ratings.get_mut().follow(tables, layout, &mut storage.before, &state.values, stop),
            None => Ok(()),
        }
    }

    /// Returns the child that an anneal ends with, with its evaluations if they are `known`.
    #[inline(always)]
    fn finish(self, plan: ChildPlan, mut state: AnnealState, first_moves: u64, known: bool) -> Option<Child> {
        let MakeChild { population, slot, generation, context, storage, stop } = self;
        let tables = &context.tables;
        // an anneal that was stopped still yields the components that it has improved
        if context.is_large() && !generation.opens() {
            let draw = mix(generation.key(slot), decision::TIES_AFTER);
            let theirs = &population.elites[slot].values;
            storage.merge.take_better(tables, &mut state.values, theirs, draw, stop).ok()?;
        }
        let AnnealState { values, moves, ratings: rated, .. } = state;
        let ratings = if known { storage.ratings.take() } else { RatingCache::default() };
        let elite = match ratings.total {
            // whether it is feasible does not matter: better feasible states are known
            Some(total) if total >= population.best_allowed => {
                let hash = hash(&values);
                Elite { values, energy: Energy { total, violations: 0 }, hash }
            }
            _ => Elite::until(tables, values, stop).ok()?,
        };
        Some(Child { elite, ratings, plan, first_moves, moves, rated })
    }
}

impl pulp::WithSimd for MakeChild<'_> {
    type Output = Option<Child>;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(mut self, _: S) -> Option<Child> {
        let MakeChild { population, slot, generation, context, stop, .. } = self;
        if stop.is_set() {
            return None;
        }
        let tables = &context.tables;
        let (key, group) = (generation.key(slot), generation.group_key(slot));
        let plan = generation.plan(key);
        // the child's random bits come from its key, so this stream is never used
        let mut state = AnnealState::new(context.variables(), Rng::new(0));
        let is_cool = |moves: u64| moves.saturating_mul(COOL as u64) < context.variables() as u64;
        let (mut cool, mut known) = (!generation.opens() && is_cool(population.first_moves[plan.cold]), false);
        if generation.opens() {
            let draw = mix(key, decision::VALUES);
            for (v, value) in state.values.iter_mut().enumerate() {
                *value = below(mix(draw, v as u64), tables.domain(v) as u64) as u16;
            }
        } else {
            state.values = self.cross(key, plan).ok()?;
            known = cool && self.inherits(&state.values);
        }
        let sweeps = generation.sweeps;
        let (layout, keeps) = (context.layout(stop).ok()?, keeps_ratings(context));
        let (mut first_moves, least) = (u64::MAX, population.heat.least);
        for pass in 0..sweeps + GREEDY_SWEEPS {
            let greedy = pass >= sweeps;
            let boltzmann = if greedy { Boltzmann::GREEDY } else { population.heat.steps[generation.step(plan, pass)] };
            let number = decision::PASSES + 2 * u64::from(pass);
            let draws = SweepDraws { order: mix(group, number), values: mix(mix(key, number), 0) };
            let moved = state.moves;
            let kept = layout.filter(|_| cool && (known || keeps || sweeps + GREEDY_SWEEPS - pass >= WORTH_KEEPING));
            let storage = &mut *self.storage;
            let scratch = &mut storage.scratch;
            let done = if let Some(layout) = kept {
                if !std::mem::replace(&mut known, true) {
                    storage.ratings.get_mut().forget(layout);
                }
                let source = CachedRatings { layout, ratings: &storage.ratings };
                sweep(context, HeatBath { tables, boltzmann, least, source }, draws, &mut state, scratch, stop)
            } else {
                known = false;
                let source = AllFunctions;
                sweep(context, HeatBath { tables, boltzmann, least, source }, draws, &mut state, scratch, stop)
            };
            if done.is_none() {
                break;
            }
            cool = is_cool(state.moves - moved);
            first_moves = first_moves.min(state.moves);
            let is_due = plan.tree && !greedy && pass % TREE_EVERY == sweeps.min(TREE_EVERY) - 1;
            if is_due && self.move_tree(number + 1, boltzmann, kept.map(|layout| &**layout), &mut state).is_err() {
                known = false;
                break;
            }
        }
        self.finish(plan, state, first_moves, known && keeps)
    }
}
