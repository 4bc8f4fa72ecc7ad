//! A memetic algorithm with simulated annealing. Each elite makes a child in four steps: it copies a connected region
//! from a second parent, anneals for a few heat-bath sweeps from a temperature on the cold side of the schedule, makes
//! tree moves, and ends with a greedy sweep. The child replaces its own parent if it is new and not worse. When a pool
//! has converged, its best elite goes to the archive and a new pool begins; every few pools begin with elites of the
//! archive.
//!
//! This module chooses the next generation, on the host. The children are made where the population lives; see
//! `Population`.

mod cpu;
mod cuda;
pub mod divided;
mod driver;
mod generation;
mod heat_bath;
#[cfg(test)]
mod heat_bath_tests;
mod operators;
mod partition;
mod phases;
mod pools;
mod rating_cache;
pub mod speed;
mod state;
mod sweep;
#[cfg(test)]
mod tests;
mod tree_move;
mod tuning;

// other crates, under the names that all crates use for them
use fangs_base::{error, rng, stop, threads};
#[cfg(test)]
use fangs_bounds::reduce;
use fangs_device as device;
use fangs_elimination::value_tables;
use fangs_fang as fang;
#[cfg(test)]
use fangs_generate as generate;
use fangs_kernels as kernels;
#[cfg(test)]
use fangs_model::model;
use fangs_search_core as core;

pub use self::cpu::state_bytes;
pub use self::cuda::first_kernels::{first_kernels, has_first_kernels};
pub use self::cuda::lanes::sources;

use self::cpu::CpuPopulation;
use self::cuda::wide;
use self::generation::{Generation, Population, steps};
use self::operators::OperatorSelection;
use self::phases::Phase;
use crate::core::context::SearchContext;
use crate::core::driver::{Driver, Setup};
use crate::core::effort::{Effort, LostDevice};
use crate::core::elite::Elite;
use crate::core::pool::Pool;
use crate::core::tuning::ROUND_WORK;
use crate::core::tuning::schedule::ENDS;
use crate::core::tuning::size::{LARGE_CHILD_WORK, LEAST_SWEEPS};
use crate::device::{Cuda, DeviceError};
use crate::error::Error;
use crate::generation::{ALL_MOVE, Heat, among_violations};
use crate::rng::Rng;
use crate::stop::Stop;
use crate::tuning::{
    FIRST_SWEEPS, GREEDY_SWEEPS, HOTTEST_CLIMB, LEAST_SUBPOPULATION, LONG_SWEEPS, ROUND_SWEEPS, TREE_EVERY,
};
use std::sync::Arc;

/// Returns the work of a child that anneals for `sweeps` sweeps; the greedy sweeps are added here.
fn child_work(context: &SearchContext, sweeps: u32) -> u64 {
    u64::from(sweeps + GREEDY_SWEEPS + 1) * context.sweep_work
}

/// Makes the driver of a population, on the device of `setup` if there is one.
pub fn make(setup: &mut Setup<'_>) -> Option<Box<dyn Driver>> {
    let annealing = Annealing::new(setup.stream(), setup.device.clone());
    Some(Box::new(Annealing { partners: setup.partners.clone(), ..annealing }))
}

/// Makes the CPU driver that has few states and long anneals.
pub fn make_long(setup: &mut Setup<'_>) -> Option<Box<dyn Driver>> {
    Some(Box::new(Annealing::long(setup.stream())))
}

struct Annealing {
    population: Box<dyn Population>,
    device: Option<Arc<Cuda>>,
    /// Further devices that share the work on large reduced problems.
    partners: Option<Vec<Arc<Cuda>>>,
    /// The latest of the partners that has failed, until it is reported.
    lost_partner: Option<LostDevice>,
    /// The message that a requested number of states was reduced.
    clipped: Option<String>,
    /// The number of states; 0 before the first round.
    states: usize,
    /// The elites of a reduced problem that has changed since, which the next round begins with.
    moved: Option<Vec<Elite>>,
    /// Whether the reduced problem was large when the pool began.
    large: bool,
    /// Whether all threads or a whole device made one child together when the pool began.
    together: bool,
    /// Sweeps of the anneals that begin a population, if the driver is [long](Annealing::long).
    long: Option<u32>,
    /// The number of children made in the generation in progress; they are those of the first slots.
    made: usize,
    generation: Option<Generation>,
    phase: Phase,
    sweeps: u32,
    operators: OperatorSelection,
    rng: Rng,
    work: u64,
    /// The driver's work until the time limit, estimated from its pace; `None` without a limit.
    left: Option<u64>,
    best: i64,
    /// The least energy taken over from the common pool, or that the common pool had when this pool began.
    adopted: i64,
    stalled: u32,
    /// Doublings of the sweeps since the last improvement; used on large problems.
    in_vain: u32,
    /// Whether the elites of the archive have joined the pool; used on large problems.
    joined: bool,
    epoch: u32,
    archive: Vec<Elite>,
    /// The temperatures that a generation chooses from, one set for each end temperature. They follow from settled
    /// assignments, and are empty until there are such.
    temperatures: Vec<Heat>,
    /// The index of the current temperatures.
    end: usize,
}

impl Annealing {
    /// Returns a driver without a population; the first round makes one.
    pub fn new(rng: Rng, device: Option<Arc<Cuda>>) -> Self {
        Annealing {
            population: Box::new(CpuPopulation::default()),
            device,
            partners: None,
            lost_partner: None,
            clipped: None,
            states: 0,
            moved: None,
            large: false,
            together: false,
            long: None,
            made: 0,
            generation: None,
            phase: Phase::Open { sweeps: FIRST_SWEEPS },
            sweeps: 5,
            operators: OperatorSelection::new(),
            rng,
            work: 0,
            left: None,
            best: i64::MAX,
            adopted: i64::MAX,
            stalled: 0,
            in_vain: 0,
            joined: false,
            epoch: 0,
            archive: Vec::new(),
            temperatures: Vec::new(),
            end: 0,
        }
    }

    /// Returns a driver on the CPU that has one state for each thread and anneals longer from pool to pool. Long
    /// anneals find replacements between distant parts of a problem, such as which of many variables take one value,
    /// that neither short anneals nor regions of second parents still find (results/notes/cpu.md).
    pub fn long(rng: Rng) -> Self {
        Annealing { long: Some(LONG_SWEEPS), ..Annealing::new(rng, None) }
    }

    /// Returns the sweeps of the first offspring of the first pool, greedy ones not counted.
    fn base_sweeps(&self, context: &SearchContext) -> u32 {
        match context.is_large() {
            true => (LARGE_CHILD_WORK / context.sweep_work.max(1)).clamp(LEAST_SWEEPS.into(), 200) as u32,
            false => 2,
        }
    }

    /// Computes the move layout and the regions that offspring need, if they need them.
    fn prepare(&self, context: &SearchContext, stop: &Stop) -> Result<(), Error> {
        // before the first round the population is the CPU's
        let is_wide = self.device.is_some() && wide::suits(context);
        if is_wide || self.device.is_none() && self.population.is_together(context) {
            return Ok(());
        }
        let on_host = self.device.is_none();
        let layout = || if on_host { context.layout(stop).map(drop) } else { Ok(()) };
        let (layout, regions) = rayon::join(layout, || context.regions(stop).map(drop));
        layout.and(regions)
    }

    /// Makes children anneal at the `end`-th temperatures from now on.
    fn heat(&mut self, end: usize) -> Result<(), DeviceError> {
        self.end = end;
        self.population.heat(self.temperatures[end].clone())
    }

    /// Returns the number of states that take second parents from each other.
    fn subpopulation(&self, context: &SearchContext) -> usize {
        if !context.is_large() || self.joined || context.falls_into_parts() {
            return self.states;
        }
        let longer = (self.sweeps / self.base_sweeps(context)).max(1) as usize;
        self.states.div_ceil((self.states / (LEAST_SUBPOPULATION * longer)).max(1))
    }

    /// Returns the parameters of the next generation.
    fn next_generation(&mut self, context: &SearchContext) -> Result<Generation, DeviceError> {
        let draw = self.rng.draw();
        let narrows = match self.phase {
            // the anneal that opens a pool shows where temperatures should end
            Phase::Open { .. } => false,
            Phase::Climb { .. } => true,
            Phase::Evolve => self.population.is_together(context),
        };
        if self.temperatures.is_empty() && narrows {
            self.narrow(context)?;
        }
        let (mut cold, mut region) = (self.operators.cold.thresholds(), self.operators.region.thresholds());
        let (subpopulation, sweeps) = match self.phase {
            Phase::Open { sweeps } => (0, sweeps),
            Phase::Climb { sweeps } => {
                let steps = if self.climbs(context) { 2 } else { 1 };
                let choice = (steps * (sweeps / FIRST_SWEEPS).max(1).ilog2() as usize).min(HOTTEST_CLIMB);
                cold = std::array::from_fn(|k| if k < choice { 0 } else { u32::MAX });
                // the smallest regions: the states are copies of each other, so the region gets random values
                region = [u32::MAX; 4];
                (self.states, self.until_the_end(context, sweeps))
            }
            Phase::Evolve => (self.subpopulation(context), self.sweeps),
        };
        if subpopulation > 0 && self.temperatures.len() > 1 {
            let end = match self.phase {
                Phase::Evolve => self.operators.end.choose(self.rng.unit()),
                // long anneals gain by the lower one (results/notes/search-cuda.md)
                Phase::Open { .. } | Phase::Climb { .. } => 0,
            };
            if end != self.end {
                self.heat(end)?;
            }
        }
        let never = [u32::MAX; 2];
        Ok(Generation {
            draw,
            subpopulation: subpopulation as u32,
            sweeps,
            cold,
            region,
            // the forests are not needed before the first pool has opened
            tree: if self.phase != Phase::Evolve || !self.makes_tree_moves(context) {
                never
            } else {
                self.operators.tree.thresholds()
            },
            before: if context.is_large() { self.operators.before.thresholds() } else { never },
            starts: Generation::starts(),
        })
    }

    /// Makes offspring until the work of a round is done or a better state is found.
    fn advance(
        &mut self,
        context: &SearchContext,
        pool: &mut Pool,
        stop: &Stop,
        effort: &mut Effort,
    ) -> Result<(), DeviceError> {
        if let Some(elites) = self.moved.take() {
            self.follow_core(context, &elites)?;
        } else if self.states == 0 {
            effort.note = self.begin(context, pool)?;
            effort.clipped = self.clipped.take();
        }
        let least = if self.population.is_together(context) { ROUND_SWEEPS * context.sweep_work } else { 0 };
        let round_work = ROUND_WORK.max(least) * self.population.speed(context);
        // a reproducible run does not depend on the number of threads
        let threads = if context.portable { 1 } else { rayon::current_num_threads() as u64 };
        let mut work = 0;
        loop {
            if self.generation.is_none() {
                self.leave_one_state(context, stop)?;
                self.look_at_violations(context, pool)?;
            }
            if self.phase == Phase::Evolve && !self.population.is_together(context) && context.forests(stop).is_err() {
                return Ok(());
            }
            let generation = match self.generation {
                Some(begun) => begun,
                None => self.next_generation(context)?,
            };
            self.generation = Some(generation);
            let child_work = child_work(context, generation.sweeps);
            let (offspring, replacement) = if self.population.at_once() {
                self.population.make_generation(context, &generation, self.states, stop)?
            } else {
                // parts of equal size, because a few remaining offspring take as long as one for each thread
                let slots = (threads * round_work / child_work.max(1)).max(16) as usize;
                let parts = ((self.states + slots / 2) / slots).max(1);
                let last = (self.made + self.states.div_ceil(parts)).min(self.states);
                let offspring = self.population.make_offspring(context, &generation, self.made..last, stop)?;
                let complete = self.made + offspring.made == self.states;
                let replacement = if complete { Some(self.population.replace(context, &generation)?) } else { None };
                (offspring, replacement)
            };
            for elite in &offspring.best {
                pool.offer(elite);
            }
            if let Some(lost) = offspring.lost {
                self.lose_partner(lost);
                return Ok(());
            }
            self.made += offspring.made;
            let together = self.population.is_together(context);
            let of_sweeps = u64::from(offspring.sweeps) * context.sweep_work;
            work += if together { of_sweeps } else { child_work * offspring.made as u64 };
            effort.moves += offspring.moves;
            effort.ratings += offspring.ratings;
            effort.work = work / self.population.speed(context);
            if let Some(replacement) = replacement {
                // a child that all threads make takes many rounds
                self.work += if together { child_work } else { work };
                self.made = 0;
                self.generation = None;
                self.follow(context, &generation, &replacement)?;
                self.adopt(context, pool)?;
            }
            // better states of the long driver are reported at the end of a round: its rounds take milliseconds
            let tells = self.long.is_none() && !offspring.best.is_empty();
            if work >= round_work || tells || stop.is_set() {
                return Ok(());
            }
        }
    }

    /// Returns whether offspring make tree moves. They do not if a tree move takes longer than the sweeps between two
    /// of them, because the gain of a generation is misleading then (rnd1000; results/notes/search-cuda.md).
    fn makes_tree_moves(&self, context: &SearchContext) -> bool {
        !self.population.is_together(context)
            && !context.forests(&Stop::new()).expect("no stop is set").is_empty()
            && self.population.tree_sweeps(context) < f64::from(TREE_EVERY)
    }

    /// Returns whether the driver anneals one state among violations until a feasible assignment is found.
    fn goes_among_violations(&self, context: &SearchContext) -> bool {
        let has_one = if self.device.is_some() { wide::suits(context) } else { context.has_one_state() };
        has_one && self.long.is_none() && context.tables.forbidding.some
    }

    /// Returns whether the current temperatures are those of violations.
    fn is_among_violations(&self) -> bool {
        self.temperatures.first().is_some_and(|heat| heat.least > ALL_MOVE)
    }

    /// Switches between the two kinds of anneals: until a feasible assignment is found, only variables in violated
    /// functions move, at temperatures of violations.
    fn look_at_violations(&mut self, context: &SearchContext, pool: &Pool) -> Result<(), DeviceError> {
        let is_among = !pool.solved && self.goes_among_violations(context) && self.population.is_together(context);
        if is_among == self.is_among_violations() {
            return Ok(());
        }
        if is_among {
            self.temperatures = vec![among_violations(&context.tables)];
            return self.heat(0);
        }
        self.temperatures.clear();
        self.phase = Phase::Climb { sweeps: LONG_SWEEPS };
        pool.elites().first().map_or(Ok(()), |elite| self.population.adopt(elite))
    }

    /// Narrows the temperatures to those at which the best states have settled.
    fn narrow(&mut self, context: &SearchContext) -> Result<(), DeviceError> {
        if self.is_among_violations() {
            return Ok(());
        }
        let samples = self.population.top(4)?;
        let samples: Vec<&[u16]> = samples.iter().map(|elite| &elite.values[..]).collect();
        let steps_to = |&end: &f64| steps(context.schedule.narrowed(&context.tables, &samples, end));
        let ends = if context.is_large() { ENDS.len() } else { 1 };
        self.temperatures = ENDS[..ends].iter().map(steps_to).collect();
        self.heat(0)
    }

    /// Takes over the best elite of the common pool if it is better than the best one here. In pools after the first,
    /// only elites found since the pool began count. This happens only on large problems, whose states are combined by
    /// components; populations of small problems would converge too soon (results/notes/cpu.md).
    fn adopt(&mut self, context: &SearchContext, pool: &Pool) -> Result<(), DeviceError> {
        if !context.is_large() {
            return Ok(());
        }
        let climbs_on = matches!(self.phase, Phase::Climb { sweeps } if sweeps > LONG_SWEEPS);
        if self.phase != Phase::Evolve && !climbs_on {
            if self.epoch > 0 {
                self.adopted = pool.best();
            }
            return Ok(());
        }
        let better = |elite: &&Elite| elite.energy.total < self.best.min(self.adopted);
        if let Some(elite) = pool.elites().first().filter(better) {
            (self.best, self.adopted) = (elite.energy.total, elite.energy.total);
            self.population.adopt(elite)?;
        }
        Ok(())
    }
}
