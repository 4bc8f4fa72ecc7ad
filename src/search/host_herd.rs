//! The population on the CPU: children in parallel, one thread a child.

use super::boltzmann::Boltzmann;
use super::breed::{Bred, COLD_SHARES, GREEDY_SWEEPS, Generation, Herd, Plan, Settled, TREE_EVERY, Tally, decision};
use super::driver::Field;
use super::forest::{TreeScratch, tree_move};
use super::heat_bath::{AllFunctions, HeatBath};
use super::kept::{Kept, Ratings};
use super::merge::Merge;
use super::state::{Elite, State};
use super::sweep::sweep;
use crate::device::DeviceError;
use crate::fang::Scratch;
use crate::rng::{Rng, below, mix};
use crate::stop::Stop;
use rayon::prelude::*;
use rustc_hash::FxHashSet;
use std::cell::RefCell;
use std::ops::Range;

/// Elites and the children of the generation in progress.
#[derive(Debug, Default)]
pub(crate) struct HostHerd {
    elites: Vec<Elite>,
    children: Vec<Child>,
    steps: Vec<Boltzmann>,
    best: i64,
    best_allowed: i64,
    /// Moves that a child last made in its first sweep, by where its temperature began. They say no more than how to do the next.
    first_moves: [u64; COLD_SHARES.len()],
}

/// A finished child.
#[derive(Clone, Debug)]
struct Child {
    elite: Elite,
    plan: Plan,
    /// Of its first sweep.
    first_moves: u64,
    moves: u64,
    ratings: u64,
}

/// Storage of one thread.
#[derive(Default)]
struct Desk {
    scratch: Scratch<i32>,
    tree: TreeScratch,
    merge: Merge,
    ratings: RefCell<Ratings>,
    before: Vec<u16>,
}

/// Of the values that a sweep visits fewer than one in so many changed: ratings are kept in the next. A move changes rows of all
/// neighbours and a visit reads as many; at one in five frequency assignment took a third longer than with all rows made anew.
const COOL: u64 = 10;
/// The first sweep that keeps ratings makes all rows anew; it takes some more to pay.
const WORTH_KEEPING: u32 = 4;

impl HostHerd {
    #[inline(always)]
    fn make_child(
        &self,
        slot: usize,
        generation: &Generation,
        field: &Field,
        desk: &mut Desk,
        stop: &Stop,
    ) -> Option<Child> {
        if stop.is_set() {
            return None;
        }
        let rows = &field.rows;
        let (key, group) = (generation.key(slot), generation.group_key(slot));
        let plan = generation.plan(key);
        // a child's bits come from its key: the stream is never drawn from
        let mut state = State::new(field.variables(), Rng::new(0));
        if generation.opens() {
            let draw = mix(key, decision::VALUES);
            for (v, value) in state.values.iter_mut().enumerate() {
                *value = below(mix(draw, v as u64), rows.domain(v) as u64) as u16;
            }
        } else {
            state.values.copy_from_slice(&self.elites[slot].values);
            self.cross(slot, generation, key, field, &mut state, desk);
        }
        let sweeps = generation.sweeps;
        let layout = field.layout();
        let is_cool = |moves: u64| moves.saturating_mul(COOL) < field.variables() as u64;
        let (mut cool, mut known) = (!generation.opens() && is_cool(self.first_moves[plan.cold]), false);
        let mut first_moves = u64::MAX;
        for pass in 0..sweeps + GREEDY_SWEEPS {
            let greedy = pass >= sweeps;
            let boltzmann = if greedy { Boltzmann::GREEDY } else { self.steps[generation.step(plan, pass)] };
            let number = decision::PASSES + 2 * u64::from(pass);
            let draws = (mix(group, number), mix(mix(key, number), 0));
            let (moved, scratch) = (state.moves, &mut desk.scratch);
            let kept = layout.filter(|_| cool && (known || sweeps + GREEDY_SWEEPS - pass >= WORTH_KEEPING));
            let done = if let Some(layout) = kept {
                if !std::mem::replace(&mut known, true) {
                    desk.ratings.get_mut().forget(layout);
                }
                let source = Kept { layout, ratings: &desk.ratings };
                sweep(field, HeatBath { rows, boltzmann, source }, draws, &mut state, scratch, stop)
            } else {
                known = false;
                sweep(field, HeatBath { rows, boltzmann, source: AllFunctions }, draws, &mut state, scratch, stop)
            };
            if done.is_none() {
                break;
            }
            cool = is_cool(state.moves - moved);
            first_moves = first_moves.min(state.moves);
            if plan.tree && !greedy && pass % TREE_EVERY == sweeps.min(TREE_EVERY) - 1 {
                let forest = below(mix(group, number + 1), field.forests().len() as u64) as usize;
                let draw = mix(key, number + 1);
                desk.before.clone_from(&state.values);
                tree_move(&field.forests()[forest], rows, boltzmann, draw, &mut state, &mut desk.tree);
                if let Some(layout) = kept {
                    desk.ratings.get_mut().follow(rows, layout, &mut desk.before, &state.values);
                }
            }
        }
        // an anneal that was told to stop still gives what it has improved by components
        if field.is_large() && !generation.opens() {
            let draw = mix(key, decision::TIES_AFTER);
            desk.merge.take_better(rows, &mut state.values, &self.elites[slot].values, draw);
        }
        let State { values, moves, ratings, .. } = state;
        Some(Child { elite: Elite::new(rows, values), plan, first_moves, moves, ratings })
    }

    /// Copies a connected region of a mate into the state; where the mate is a copy of the parent, random values.
    fn cross(&self, slot: usize, generation: &Generation, key: u64, field: &Field, state: &mut State, desk: &mut Desk) {
        let plan = generation.plan(key);
        let total = |slot: usize| self.elites[slot].energy.total;
        let (mate, differs) = generation.mate(key, slot, self.elites.len(), total, |slot| self.elites[slot].hash);
        let n = field.variables();
        let shapes = field.regions().len() / n;
        let shape = below(mix(key, decision::SHAPE), shapes as u64) as usize;
        let members = &field.regions()[shape * n..][..Generation::region_size(plan, key, n)];
        let draw = mix(key, decision::VALUES);
        for &v in members {
            state.values[v as usize] = match differs {
                true => self.elites[mate].values[v as usize],
                false => below(mix(draw, u64::from(v)), field.rows.domain(v as usize) as u64) as u16,
            };
        }
        if differs && plan.before && field.is_large() {
            let mut merged = self.elites[slot].values.clone();
            desk.merge.take_better(&field.rows, &mut merged, &state.values, mix(key, decision::TIES_BEFORE));
            state.values = merged;
        }
    }
}

/// Making a child, compiled for the vector units of the machine it runs on.
struct MakeChild<'a> {
    herd: &'a HostHerd,
    slot: usize,
    generation: &'a Generation,
    field: &'a Field,
    desk: &'a mut Desk,
    stop: &'a Stop,
}

impl pulp::WithSimd for MakeChild<'_> {
    type Output = Option<Child>;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> Option<Child> {
        self.herd.make_child(self.slot, self.generation, self.field, self.desk, self.stop)
    }
}

/// Work of a generation at most: some 200 ms.
const GENERATION_WORK: u64 = 200_000_000;
/// States of a first pool at most; later ones have twice as many each. With 256 from the beginning good solutions came later: scen07's
/// mean distance from the best known one over 10 s of one core was 0.20, with 32 it is 0.06 (results/notes/cpu.md).
const FIRST_STATES: usize = 32;
/// States on a large core, whose parts improve independently: few, so that each comes far, for one thread and for more. On a random network
/// of 1000 variables 4 states came to 126352 in the time in which 8 came to 127342 and 16 to 127941; two threads bring 8 in 60 s to
/// 292386 on a grid on which 4 come to 292893. A first pool has a state for each thread: that is far ahead in the first seconds, and the best of it
/// joins later pools (one core, 8 s, ten networks: -0.20 +- 0.05 of the integral's logarithm; results/notes/cpu.md).
const LARGE_POPULATION: [usize; 2] = [4, 8];

/// A tree move takes about as long as so many sweeps.
pub(super) const TREE_SWEEPS: f64 = 1.25;

/// Whether a pool on the CPU has a state for each thread: the first on a large core, unless somebody says how many there are or the run must be repeated.
pub(super) fn begins_with_few(field: &Field, epoch: u32) -> bool {
    epoch == 0 && field.is_large() && !field.portable && field.population.is_none()
}

/// States that suit a core on the CPU.
pub(super) fn suitable_states(field: &Field, base_sweeps: u32, epoch: u32) -> usize {
    if field.is_large() {
        // a run that must be repeated does not depend on threads
        let threads = if field.portable { 1 } else { rayon::current_num_threads() };
        let least = if begins_with_few(field, epoch) { 1 } else { LARGE_POPULATION[usize::from(threads > 1)] };
        return threads.max(least);
    }
    let child_work = u64::from(base_sweeps + GREEDY_SWEEPS + 2) * field.sweep_work;
    let most = (GENERATION_WORK / child_work.max(1)).clamp(16, 256) as usize;
    (FIRST_STATES << epoch.min(8)).min(most)
}

impl Herd for HostHerd {
    fn suitable_states(&mut self, field: &Field, base_sweeps: u32, epoch: u32) -> Result<usize, DeviceError> {
        Ok(suitable_states(field, base_sweeps, epoch))
    }

    fn open(&mut self, _: &Field, states: usize, seeds: &[Elite], fill: bool) -> Result<(), DeviceError> {
        self.children.clear();
        self.elites.clear();
        self.elites.extend(seeds.iter().cycle().take(if fill { states } else { seeds.len().min(states) }).cloned());
        self.elites.resize(states, Elite::none());
        (self.best, self.best_allowed) = (i64::MAX, i64::MAX);
        Ok(())
    }

    fn heat(&mut self, steps: Vec<Boltzmann>) -> Result<(), DeviceError> {
        self.steps = steps;
        Ok(())
    }

    fn breed(
        &mut self,
        field: &Field,
        generation: &Generation,
        slots: Range<usize>,
        stop: &Stop,
    ) -> Result<Bred, DeviceError> {
        // made here: a thread that made them amid children might be given another child, which would wait for them for ever
        let _ = (field.regions(), field.layout());
        let herd = &*self;
        let children: Vec<Option<Child>> = slots
            .into_par_iter()
            .map_init(Desk::default, |desk, slot| {
                pulp::Arch::new().dispatch(MakeChild { herd, slot, generation, field, desk, stop })
            })
            .collect();
        let children: Vec<Child> = children.into_iter().map_while(|child| child).collect();
        let mut bred = Bred { children: children.len(), ..Bred::default() };
        for child in &children {
            bred.moves += child.moves;
            bred.ratings += child.ratings;
            if !generation.opens() {
                self.first_moves[child.plan.cold] = child.first_moves;
            }
        }
        let mut better = |allowed: bool, known: &mut i64| {
            let all = children.iter().map(|child| &child.elite);
            let best = all.filter(|elite| !allowed || elite.energy.violations == 0).min_by_key(|e| e.energy.total);
            if let Some(best) = best.filter(|best| best.energy.total < *known) {
                *known = best.energy.total;
                bred.best.push(best.clone());
            }
        };
        better(false, &mut self.best);
        better(true, &mut self.best_allowed);
        self.children.extend(children);
        Ok(bred)
    }

    fn settle(&mut self, field: &Field, generation: &Generation) -> Result<Settled, DeviceError> {
        let mut tally = Tally::default();
        // new: unlike all elites before, and the children of lower slots
        let mut hashes: FxHashSet<u64> = self.elites.iter().map(|elite| elite.hash).collect();
        for (slot, Child { elite, plan, .. }) in std::mem::take(&mut self.children).into_iter().enumerate() {
            let parent = &mut self.elites[slot];
            let gain = parent.energy.total.saturating_sub(elite.energy.total);
            let new = hashes.insert(elite.hash);
            let accepted = gain >= 0 && (generation.opens() || new);
            if !generation.opens() {
                // on a large core nearly every child gains a little; what counts is how much
                let won = match accepted && gain > 0 {
                    false => 0,
                    true if field.is_large() => gain as u64,
                    true => 1,
                };
                let arms: [&mut (u64, u64); 4] = [
                    &mut tally.cold[plan.cold],
                    &mut tally.region[plan.region],
                    &mut tally.tree[usize::from(plan.tree)],
                    &mut tally.before[usize::from(plan.before)],
                ];
                for arm in arms {
                    *arm = (arm.0 + won, arm.1 + 1);
                }
            }
            if accepted {
                *parent = elite;
            }
        }
        let best = self.elites.iter().map(|elite| elite.energy.total).min().unwrap_or(i64::MAX);
        let at_best = self.elites.iter().filter(|elite| elite.energy.total == best).count();
        Ok(Settled { tally, best, at_best })
    }

    fn adopt(&mut self, elite: &Elite) -> Result<(), DeviceError> {
        if let Some(nearest) = elite.nearest(self.elites.iter().map(|kept| &kept.values[..])) {
            self.elites[nearest] = elite.clone();
        }
        Ok(())
    }

    fn top(&self, count: usize) -> Result<Vec<Elite>, DeviceError> {
        let mut known: Vec<&Elite> = self.elites.iter().filter(|elite| elite.is_known()).collect();
        known.sort_by_key(|elite| elite.energy.total);
        Ok(known.into_iter().take(count).cloned().collect())
    }

    fn best(&self, _: &Field) -> Result<Option<Elite>, DeviceError> {
        let known = self.elites.iter().filter(|elite| elite.is_known());
        Ok(known.min_by_key(|elite| (elite.energy.total, elite.hash)).cloned())
    }
}
