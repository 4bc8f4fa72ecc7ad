//! Population annealing (ALGORITHMS.md M): every elite makes a child by copying a connected region from a mate, a very
//! short heat-bath anneal from somewhere on the cold side of the schedule, a tree move and two greedy sweeps; the child
//! replaces its own parent if it is not worse and new. When a pool has converged its best goes to the archive and a new
//! pool begins; now and then the archive itself is the pool.

use super::arms::Arms;
use super::boltzmann::Boltzmann;
use super::driver::{Driver, Effort, Field, Pool};
use super::forest::{TreeScratch, tree_move};
use super::graph::Region;
use super::heat_bath::HeatBath;
use super::merge::Merge;
use super::schedule::Schedule;
use super::state::{Elite, State};
use super::sweep::sweep;
use crate::fang::Scratch;
use crate::rng::Rng;
use crate::stop::Stop;
use rayon::prelude::*;
use rustc_hash::FxHashSet;

/// Where on the schedule a child's anneal begins, as a share of it from the cold end.
const COLD_SHARES: [f64; 8] = [0.05, 0.12, 0.2, 0.3, 0.4, 0.5, 0.62, 0.75];
/// Largest share of the variables copied from the mate; the size is drawn between half of it and it.
const REGION_SHARES: [f64; 4] = [0.06, 0.15, 0.33, 0.66];
/// Work of a round at least, so that a round's overhead does not count: some 20 ms.
const ROUND_WORK: u64 = 20_000_000;
/// Work of a generation at most, where the population can be chosen: some 200 ms.
const GENERATION_WORK: u64 = 200_000_000;
/// States on a large core, whose parts improve independently: few, so that each comes far. On a random network of 1000
/// variables 4 states came to 126352 in the time in which 8 came to 127342 and 16 to 127941.
const LARGE_POPULATION: usize = 4;
/// Sweeps of the two anneals that begin a pool: the first shows a solution at once, the second is worth its time on SPOT5.
const FIRST_SWEEPS: u32 = 4;
const OPENING_SWEEPS: u32 = 128;
/// Generations without a new best of the pool after which it counts as converged if its median has come to the best.
const PATIENCE: u32 = 8;
/// How many times as long as the shortest a child's anneal may be on large cores. Which length gains most for its work
/// differs by two orders of magnitude between a grid and a random network, and grows as a run goes on.
const LENGTHS: [f64; 6] = [1.0, 4.0, 16.0, 64.0, 256.0, 1024.0];

/// Bests of converged pools that are kept, and how often a new pool begins with them.
const ARCHIVE: usize = 64;
const CROSS_EVERY: u32 = 4;

/// What a generation's children do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Anneals from random values.
    Open { sweeps: u32 },
    /// Children of elites.
    Breed,
}

/// The population annealing driver.
#[derive(Debug)]
pub(crate) struct Anneal {
    elites: Vec<Elite>,
    streams: Vec<Rng>,
    /// Children of the generation in progress, for the first slots.
    children: Vec<Child>,
    phase: Phase,
    sweeps: u32,
    cold: Arms,
    region: Arms,
    trees: Arms,
    before: Arms,
    length: Arms,
    rng: Rng,
    /// Work done in all.
    work: u64,
    best: i64,
    stalled: u32,
    epoch: u32,
    archive: Vec<Elite>,
    /// The field's schedule narrowed by the first settled assignments.
    schedule: Option<Schedule>,
}

/// A finished child.
#[derive(Clone, Debug)]
struct Child {
    elite: Elite,
    rng: Rng,
    plan: Plan,
    moves: u64,
    ratings: u64,
}

/// The choices of one child.
#[derive(Clone, Copy, Debug, Default)]
struct Plan {
    cold: usize,
    region: usize,
    tree: bool,
    merge_before: bool,
    length: usize,
}

/// Storage of one thread.
#[derive(Default)]
struct Desk {
    scratch: Scratch<i32>,
    tree: TreeScratch,
    region: Region,
    merge: Merge,
}

impl Anneal {
    /// A driver without a population; the first round makes one.
    pub fn new(rng: Rng) -> Self {
        Anneal {
            elites: Vec::new(),
            streams: Vec::new(),
            children: Vec::new(),
            phase: Phase::Open { sweeps: FIRST_SWEEPS },
            sweeps: 5,
            cold: Arms::new(COLD_SHARES.len(), 0.15),
            region: Arms::new(REGION_SHARES.len(), 0.2),
            trees: Arms::new(2, 0.2),
            before: Arms::new(2, 0.2),
            length: Arms::with_priors(&[0.5, 0.3, 0.2, 0.0, 0.0, 0.0], 0.2),
            rng,
            work: 0,
            best: i64::MAX,
            stalled: 0,
            epoch: 0,
            archive: Vec::new(),
            schedule: None,
        }
    }

    fn open(&mut self, field: &Field) {
        let states = field.population.map(|wanted| wanted.max(1)).unwrap_or_else(|| match field.is_large() {
            true => rayon::current_num_threads().max(LARGE_POPULATION),
            false => {
                let child_work = u64::from(self.base_sweeps(field) + 4) * field.sweep_work;
                (GENERATION_WORK / child_work.max(1)).clamp(16, 256) as usize
            }
        });
        while self.streams.len() < states {
            self.streams.push(self.rng.split());
        }
        self.streams.truncate(states);
        self.elites.clear();
        self.children.clear();
        self.best = i64::MAX;
        self.stalled = 0;
    }

    fn schedule(&self, field: &Field) -> Schedule {
        self.schedule.unwrap_or(field.schedule)
    }

    fn base_sweeps(&self, field: &Field) -> u32 {
        if field.is_large() { 50 } else { 5 }
    }

    #[inline(always)]
    fn make_child(&self, slot: usize, field: &Field, desk: &mut Desk, stop: &Stop) -> Option<Child> {
        if stop.is_set() {
            return None;
        }
        let rows = &field.rows;
        let mut state = State::new(field.variables(), self.streams[slot].clone());
        let mut plan = Plan::default();
        let (from, sweeps) = match self.phase {
            Phase::Open { sweeps } => {
                state.randomize(rows);
                (0.0, sweeps)
            }
            Phase::Breed => {
                plan = self.choose(field, &mut state.rng);
                state.values.copy_from_slice(&self.elites[slot].values);
                self.cross(slot, plan, field, &mut state, desk);
                (1.0 - COLD_SHARES[plan.cold], self.sweeps * LENGTHS[plan.length] as u32)
            }
        };
        for pass in 0..sweeps + 2 {
            let progress = from + (1.0 - from) * f64::from(pass) / f64::from((sweeps - 1).max(1));
            let bath = if pass < sweeps {
                HeatBath::new(rows, self.schedule(field).at(progress))
            } else {
                HeatBath::greedy(rows)
            };
            if sweep(field, bath, &mut state, &mut desk.scratch, stop).is_none() {
                break;
            }
            if plan.tree && pass % 5 == 4 && pass < sweeps {
                let forest = &field.forests[state.rng.index(field.forests.len())];
                let boltzmann = Boltzmann::new(self.schedule(field).at(progress));
                tree_move(forest, rows, boltzmann, &mut state, &mut desk.tree);
            }
        }
        // an anneal that was told to stop still gives what it has improved by components
        if field.is_large() && self.phase == Phase::Breed {
            let draw = state.rng.draw();
            desk.merge.take_better(rows, &mut state.values, &self.elites[slot].values, draw);
        }
        let State { values, rng, moves, ratings, .. } = state;
        Some(Child { elite: Elite::new(rows, values), rng, plan, moves, ratings })
    }

    fn choose(&self, field: &Field, rng: &mut Rng) -> Plan {
        Plan {
            cold: self.cold.choose(rng.unit()),
            region: self.region.choose(rng.unit()),
            tree: self.trees.choose(rng.unit()) == 1 && !field.forests.is_empty(),
            merge_before: self.before.choose(rng.unit()) == 1 && field.is_large(),
            length: if field.is_large() { self.choose_length(field, rng) } else { 0 },
        }
    }

    /// A length whose generation takes no longer than all generations before: solutions keep coming.
    fn choose_length(&self, field: &Field, rng: &mut Rng) -> usize {
        let shortest = (u64::from(self.sweeps + 3) * field.sweep_work * self.streams.len() as u64) as f64;
        let allowed = LENGTHS.iter().take_while(|&&length| length * shortest <= self.work as f64).count();
        self.length.choose_by_cost(rng.unit(), &LENGTHS, allowed)
    }

    /// Copies a connected region of a mate into the state; where the mate is a copy of the parent, random values.
    fn cross(&self, slot: usize, plan: Plan, field: &Field, state: &mut State, desk: &mut Desk) {
        let mut mate = slot;
        for _ in 0..4 {
            let (a, b) = (state.rng.index(self.elites.len()), state.rng.index(self.elites.len()));
            mate = if self.elites[b].energy.total < self.elites[a].energy.total { b } else { a };
            if self.elites[mate].hash != self.elites[slot].hash {
                break;
            }
        }
        let duplicate = self.elites[mate].hash == self.elites[slot].hash;
        let share = REGION_SHARES[plan.region] * (0.5 + 0.5 * state.rng.unit());
        let size = ((share * field.variables() as f64) as usize).max(1);
        let members = desk.region.grow(&field.graph, size, &mut state.rng);
        if duplicate {
            for &v in members {
                state.values[v as usize] = state.rng.index(field.rows.domain(v as usize)) as u16;
            }
            return;
        }
        for &v in members {
            state.values[v as usize] = self.elites[mate].values[v as usize];
        }
        if plan.merge_before {
            let draw = state.rng.draw();
            let mut merged = self.elites[slot].values.clone();
            desk.merge.take_better(&field.rows, &mut merged, &state.values, draw);
            state.values = merged;
        }
    }

    /// The generation is complete: children replace their parents where they are not worse and new.
    fn select(&mut self, field: &Field) {
        let children = std::mem::take(&mut self.children);
        for (slot, child) in children.iter().enumerate() {
            self.streams[slot] = child.rng.clone();
        }
        if let Phase::Open { sweeps } = self.phase {
            self.phase = if sweeps == FIRST_SWEEPS { Phase::Open { sweeps: OPENING_SWEEPS } } else { Phase::Breed };
            for (slot, child) in children.into_iter().enumerate() {
                match self.elites.get_mut(slot) {
                    None => self.elites.push(child.elite),
                    Some(elite) if child.elite.energy.total < elite.energy.total => *elite = child.elite,
                    Some(_) => {}
                }
            }
            if self.schedule.is_none() {
                let settled: Vec<&[u16]> = self.elites.iter().take(4).map(|elite| &elite.values[..]).collect();
                self.schedule = Some(field.schedule.settled(&field.rows, &settled));
            }
            return;
        }
        let mut hashes: FxHashSet<u64> = self.elites.iter().map(|elite| elite.hash).collect();
        for (slot, child) in children.into_iter().enumerate() {
            let parent = &mut self.elites[slot];
            let gain = child.elite.energy.total < parent.energy.total;
            let accepted = child.elite.energy.total <= parent.energy.total && hashes.insert(child.elite.hash);
            let won = match accepted && gain {
                false => 0.0,
                // on a large core nearly every child gains a little; what counts is how much
                true if field.is_large() => (parent.energy.total - child.elite.energy.total) as f64,
                true => 1.0,
            };
            let length = LENGTHS[child.plan.length];
            self.cold.note(child.plan.cold, won, length);
            self.region.note(child.plan.region, won, length);
            self.trees.note(usize::from(child.plan.tree), won, if child.plan.tree { 1.25 * length } else { length });
            self.before.note(usize::from(child.plan.merge_before), won, length);
            self.length.note(child.plan.length, won, length);
            if accepted {
                *parent = child.elite;
            }
        }
        for arms in [&mut self.cold, &mut self.region, &mut self.trees, &mut self.before, &mut self.length] {
            arms.settle();
        }
        self.adapt(field);
    }

    /// Lengthens anneals or begins a new pool when the pool stalls.
    fn adapt(&mut self, field: &Field) {
        let mut energies: Vec<i64> = self.elites.iter().map(|elite| elite.energy.total).collect();
        energies.sort_unstable();
        let (best, median) = (energies[0], energies[energies.len() / 2]);
        if best < self.best {
            self.best = best;
            self.stalled = 0;
        } else {
            self.stalled += 1;
        }
        let converged = best == median && self.stalled >= PATIENCE;
        if converged || self.stalled >= 8 * PATIENCE {
            self.begin_epoch(field);
        }
    }

    fn begin_epoch(&mut self, field: &Field) {
        let best = self.elites.iter().min_by_key(|elite| (elite.energy.total, elite.hash));
        if let Some(best) = best.filter(|best| self.archive.iter().all(|kept| kept.hash != best.hash)) {
            self.archive.push(best.clone());
            self.archive.sort_by_key(|elite| (elite.energy.total, elite.hash));
            self.archive.truncate(ARCHIVE);
        }
        self.epoch += 1;
        // every other epoch breeds twice, then four times as long (the ruler sequence): which length pays differs
        self.sweeps = self.base_sweeps(field) << self.epoch.trailing_zeros().min(4);
        self.open(field);
        self.phase = Phase::Open { sweeps: OPENING_SWEEPS };
        if self.epoch.is_multiple_of(CROSS_EVERY) {
            // the best of earlier pools meet, among as many new states
            self.elites.extend(self.archive.iter().take(self.streams.len() / 2).cloned());
        }
    }
}

/// Making a child, compiled for the vector units of the machine it runs on.
struct MakeChild<'a> {
    driver: &'a Anneal,
    slot: usize,
    field: &'a Field,
    desk: &'a mut Desk,
    stop: &'a Stop,
}

impl pulp::WithSimd for MakeChild<'_> {
    type Output = Option<Child>;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> Option<Child> {
        self.driver.make_child(self.slot, self.field, self.desk, self.stop)
    }
}

impl Driver for Anneal {
    fn name(&self) -> &'static str {
        "anneal"
    }

    fn population(&self) -> usize {
        self.streams.len()
    }

    fn round(&mut self, field: &Field, pool: &mut Pool, stop: &Stop) -> Effort {
        if self.streams.is_empty() {
            self.sweeps = self.base_sweeps(field);
            self.open(field);
        }
        let sweeps = match self.phase {
            Phase::Open { sweeps } => sweeps,
            Phase::Breed => self.sweeps,
        };
        let child_work = u64::from(sweeps + 3) * field.sweep_work;
        let slots = (ROUND_WORK / child_work.max(1)).max(16) as usize;
        let first = self.children.len();
        let last = (first + slots).min(self.streams.len());
        let children: Vec<Option<Child>> = (first..last)
            .into_par_iter()
            .map_init(Desk::default, |desk, slot| {
                pulp::Arch::new().dispatch(MakeChild { driver: self, slot, field, desk, stop })
            })
            .collect();
        let mut effort = Effort::default();
        for child in children.iter().flatten() {
            effort.moves += child.moves;
            effort.ratings += child.ratings;
            effort.work += child_work * LENGTHS[child.plan.length] as u64;
            pool.offer(&child.elite);
        }
        self.work += effort.work;
        self.children.extend(children.into_iter().map_while(|child| child));
        if self.children.len() == self.streams.len() {
            self.select(field);
        }
        effort
    }

    fn rebase(&mut self, field: &Field, translate: &dyn Fn(&[u16]) -> Vec<u16>) {
        self.children.clear();
        for elite in self.elites.iter_mut().chain(&mut self.archive) {
            *elite = Elite::new(&field.rows, translate(&elite.values));
        }
        self.best = i64::MAX;
        self.schedule = None;
    }
}
