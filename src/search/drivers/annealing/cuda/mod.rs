//! A population in device memory.

#![allow(unsafe_code, reason = "kernel launches")]

pub(crate) mod arguments;
pub(crate) mod lanes;
pub(crate) mod launch_shape;
mod replay;
#[cfg(test)]
pub(crate) mod tests;

use self::arguments::{COUNTERS, PopulationArgument, PopulationSummary, SUMMARY, tally};
use self::launch_shape::{Block, LaunchShape, Overrides, saturating_states};
use super::cpu;
use super::generation::{Generation, Offspring, Population, Replacement, STEPS};
use super::state::Elite;
use crate::device::{CudaSlice, CudaStream, DeviceError, Kernel, PushKernelArg};
use crate::fang::boltzmann::Boltzmann;
use crate::search::context::cuda::{Device, DeviceCore, address};
use crate::search::context::value_tables::Energy;
use crate::search::scheduler::driver::SearchContext;
use crate::stop::Stop;
use replay::{RECORD_AFTER, Recorded};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// A population on a device.
pub(crate) struct CudaPopulation {
    cuda: Device,
    /// For what cannot wait for the kernels' stream.
    aside: Arc<CudaStream>,
    core: Option<DeviceCore>,
    states: Option<States>,
    steps: CudaSlice<u32>,
    best: i64,
    best_allowed: i64,
    /// Rounds are those of the CPU.
    portable: bool,
    /// States from which on there are enough of them to keep the lanes busy one by one.
    pub(crate) saturating_states: usize,
    /// Of blocks whose threads share their states.
    pub(crate) overrides: Overrides,
    /// Generations of a population before they are recorded.
    pub(crate) record_after: u32,
}

/// Kernels for a core, and how they are launched.
struct Program {
    make_offspring: Kernel,
    remember: Kernel,
    replace: Kernel,
    spread: Kernel,
    summarize: Kernel,
    launch_shape: LaunchShape,
    block: Block,
}

/// What depends on the number of states.
struct States {
    argument: PopulationArgument,
    program: Program,
    elites: CudaSlice<u8>,
    offspring: CudaSlice<u8>,
    totals: [CudaSlice<i64>; 3],
    hashes: [CudaSlice<u64>; 3],
    known: (CudaSlice<u64>, CudaSlice<u32>),
    violations: [CudaSlice<u32>; 3],
    counters: CudaSlice<u64>,
    /// The generation in hand.
    generation: CudaSlice<Generation>,
    /// Once generations were many.
    recorded: Option<Recorded>,
    /// Whole generations made.
    generations: u32,
    /// CachedRatings for their memory.
    _others: (CudaSlice<u8>, CudaSlice<u32>, CudaSlice<u32>, CudaSlice<i64>),
    /// Not 0 once offspring are to end early.
    stop: CudaSlice<u32>,
    summary_of_elites: PopulationSummary,
    /// Whether the elites' numbers stand in the second of their two places.
    swapped: bool,
}

impl States {
    /// The energies of the elites: of two places the one that the last generation wrote.
    fn totals_now(&self) -> &CudaSlice<i64> {
        &self.totals[usize::from(self.swapped)]
    }
}

impl CudaPopulation {
    /// A population without states.
    pub fn new(cuda: Device, portable: bool) -> Result<CudaPopulation, DeviceError> {
        // bounds use the device too
        let cuda = cuda.beside()?;
        let (steps, aside) = (cuda.zeros(2 * STEPS)?, cuda.fork()?);
        let saturating_states = saturating_states(&cuda.info);
        let (best, best_allowed) = (i64::MAX, i64::MAX);
        Ok(CudaPopulation {
            cuda,
            aside,
            core: None,
            states: None,
            steps,
            best,
            best_allowed,
            portable,
            saturating_states,
            overrides: Overrides::default(),
            record_after: RECORD_AFTER,
        })
    }

    fn upload(&mut self, context: &SearchContext) -> Result<(), DeviceError> {
        if self.core.is_none() {
            self.core = Some(DeviceCore::new(&self.cuda, context)?);
        }
        Ok(())
    }

    /// How so many states, 0 where the block says how many there are, are cut.
    fn cut(&self, context: &SearchContext, core: &DeviceCore, states: usize) -> (LaunchShape, Block) {
        let launch_shape = LaunchShape::of(context, core.shape);
        (
            launch_shape,
            launch_shape.block(&self.cuda.info, states as u32, states < self.saturating_states, self.overrides),
        )
    }

    /// The kernels for so many states, 0 where the block says how many there are, and how they are launched.
    fn program(&self, context: &SearchContext, core: &DeviceCore, states: usize) -> Result<Program, DeviceError> {
        let (launch_shape, block) = self.cut(context, core, states);
        if !block.fits(&self.cuda.info) {
            let n = context.variables();
            return Err(DeviceError::Unusable(format!("{n} variables of a state do not fit its shared memory")));
        }
        let module = self.cuda.load(&launch_shape.source(block))?;
        let bytes = launch_shape.bytes;
        Ok(Program {
            make_offspring: module.kernel(&block.lanes.kernel(bytes, block.together, block.keeps), block.shared)?,
            remember: module.kernel("remember", 0)?,
            replace: module.kernel(&format!("replace<u{}>", 8 * bytes), 0)?,
            spread: module.kernel(&format!("spread<u{}>", 8 * bytes), 0)?,
            summarize: module.kernel("summarize", 0)?,
            launch_shape,
            block,
        })
    }

    fn prepare(&mut self, context: &SearchContext, states: usize) -> Result<(), DeviceError> {
        let core = self.core.as_ref().ok_or_else(missing)?;
        let program = self.program(context, core, states)?;
        let cuda = &*self.cuda;
        let (n, pad) = (context.variables(), core.argument.pad as usize);
        let Program { launch_shape: LaunchShape { bytes, .. }, block, .. } = program;
        // blocks are whole: the last one's idle lane groups have storage too
        let places = states.next_multiple_of(block.states() as usize);
        let scratch_quads = 2 * u64::from(core.nodes) * u64::from(block.lanes.quads());
        let length = states * pad * bytes as usize;
        let elites = cuda.zeros::<u8>(length)?;
        let offspring = cuda.zeros::<u8>(length)?;
        let merged = if context.is_large() { places } else { 1 };
        let others = cuda.zeros::<u8>(merged * pad * bytes as usize)?;
        let scratch = cuda.zeros::<u32>((places * scratch_quads as usize * 4).max(4))?;
        let labels = cuda.zeros::<u32>(merged * n)?;
        let deltas = cuda.zeros::<i64>(merged * n)?;
        let stop = cuda.zeros::<u32>(1)?;
        let totals = [cuda.upload(&vec![i64::MAX; states])?, cuda.zeros(states)?, cuda.zeros(states)?];
        let hashes = [cuda.zeros(states)?, cuda.zeros(states)?, cuda.zeros(states)?];
        let violations = [cuda.zeros(states)?, cuda.zeros(states)?, cuda.zeros(states)?];
        // never more than half full
        let places_known = (4 * states).next_power_of_two();
        let known = (cuda.zeros(places_known)?, cuda.zeros(places_known)?);
        let counters = cuda.zeros(COUNTERS + 2 * SUMMARY)?;
        let argument = PopulationArgument {
            states: states as u32,
            large: u32::from(context.is_large()),
            domains: core.domains,
            elites: address(cuda, &elites),
            offspring: address(cuda, &offspring),
            others: address(cuda, &others),
            totals: address(cuda, &totals[0]),
            next_totals: address(cuda, &totals[1]),
            child_totals: address(cuda, &totals[2]),
            violations: address(cuda, &violations[0]),
            child_violations: address(cuda, &violations[1]),
            plans: address(cuda, &violations[2]),
            hashes: address(cuda, &hashes[0]),
            next_hashes: address(cuda, &hashes[1]),
            child_hashes: address(cuda, &hashes[2]),
            known: address(cuda, &known.0),
            known_by: address(cuda, &known.1),
            known_mask: places_known as u64 - 1,
            counters: address(cuda, &counters),
            steps: address(cuda, &self.steps),
            scratch: address(cuda, &scratch),
            scratch_quads,
            labels: address(cuda, &labels),
            deltas: address(cuda, &deltas),
            stop: address(cuda, &stop),
        };
        self.states = Some(States {
            argument,
            program,
            elites,
            offspring,
            totals,
            hashes,
            known,
            violations,
            counters,
            generation: cuda.zeros(1)?,
            recorded: None,
            generations: 0,
            _others: (others, scratch, labels, deltas),
            stop,
            summary_of_elites: PopulationSummary::default(),
            swapped: false,
        });
        Ok(())
    }

    fn parts(&self) -> Result<(&DeviceCore, &States), DeviceError> {
        Ok((self.core.as_ref().ok_or_else(missing)?, self.states.as_ref().ok_or_else(missing)?))
    }

    /// What the counters say of so many offspring, with those that are better than all before.
    fn offspring(&mut self, context: &SearchContext, counters: &[u64], made: usize) -> Result<Offspring, DeviceError> {
        let summary = PopulationSummary::new(&counters[COUNTERS..]);
        let mut offspring = Offspring { moves: counters[0], ratings: counters[1], made, best: Vec::new() };
        let found =
            [(summary.best, summary.best_slot, self.best), (summary.allowed, summary.allowed_slot, self.best_allowed)];
        for (total, slot, known) in found {
            if total < known {
                let values = self.fetch(&self.parts()?.1.offspring, slot..slot + 1)?.remove(0);
                let elite = Elite::new(&context.tables, values);
                if elite.energy.total != total {
                    return Err(disagreement(total, elite.energy.total));
                }
                offspring.best.push(elite);
            }
        }
        self.best = self.best.min(summary.best);
        self.best_allowed = self.best_allowed.min(summary.allowed);
        Ok(offspring)
    }

    /// What the counters say of a selection.
    fn replacement(&mut self, counters: &[u64]) -> Replacement {
        let summary = PopulationSummary::new(&counters[COUNTERS + SUMMARY..]);
        let replacement = Replacement { tally: tally(&counters[2..]), best: summary.best, at_best: summary.at_best };
        if let Some(states) = &mut self.states {
            states.summary_of_elites = summary;
        }
        replacement
    }

    /// The values of slots.
    fn fetch(&self, of: &CudaSlice<u8>, slots: Range<usize>) -> Result<Vec<Vec<u16>>, DeviceError> {
        let (core, states) = self.parts()?;
        let row = core.argument.pad as usize * states.program.launch_shape.bytes as usize;
        let bytes = self.cuda.read(&of.slice(slots.start * row..slots.end * row))?;
        let n = core.argument.variables as usize;
        let values = |bytes: &[u8]| -> Vec<u16> {
            match states.program.launch_shape.bytes {
                1 => bytes[..n].iter().map(|&value| u16::from(value)).collect(),
                _ => bytes[..2 * n].chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect(),
            }
        };
        Ok(bytes.chunks_exact(row).map(values).collect())
    }
}

/// Values as they stand in a row of so many bytes, each in one or two.
fn packed(values: &[u16], bytes: u32, row: usize) -> Vec<u8> {
    let mut packed: Vec<u8> = match bytes {
        1 => values.iter().map(|&value| value as u8).collect(),
        _ => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
    };
    packed.resize(row, 0);
    packed
}

fn missing() -> DeviceError {
    DeviceError::Unusable("a population was asked for before it was opened".into())
}

/// The device's energy of an assignment is not the host's: its memory or a kernel is wrong.
fn disagreement(device: i64, host: i64) -> DeviceError {
    DeviceError::Failed {
        what: "comparing energies".into(),
        cause: format!("the device says {device}, the host {host}"),
    }
}

/// Work that a device does in the time that a core of the CPU does one unit; cautious: an H200 made 700 to 1700 times
/// the visits of one core of its host (results/speed/h200-search.csv).
const SPEED: u64 = 400;
/// The same on small cores whose ratings are kept.
const CACHED_SPEED: u64 = 1200;
/// States of a first pool for each multiprocessor. Measured on an H200 with 2112 to 32768 states
/// (results/notes/search-cuda.md).
const FIRST_STATES: usize = 32;
/// States of a population, at most: what more would do was not measured.
const MOST_STATES: usize = 32768;

impl Population for CudaPopulation {
    fn suitable_states(&mut self, context: &SearchContext, base_sweeps: u32, epoch: u32) -> Result<usize, DeviceError> {
        if self.portable {
            return Ok(cpu::suitable_states(context, base_sweeps, epoch));
        }
        let fitting = self.most_states(context)?;
        let core = self.core.as_ref().ok_or_else(missing)?;
        let wanted = if context.is_large() {
            let program = self.program(context, core, 0)?;
            let Block { threads, shared, .. } = program.block;
            let blocks = program.make_offspring.blocks_per_multiprocessor(threads, shared)?;
            (program.block.states() * blocks * self.cuda.info.multiprocessors) as usize
        } else {
            // generations of few states follow each other sooner; pools that converged on too little are followed by
            // larger ones
            let pool = |epoch: u32| (FIRST_STATES * self.cuda.info.multiprocessors as usize) << epoch.min(8);
            if epoch > 0 {
                // whose kernels may be others: they are compiled meanwhile
                let (launch_shape, block) = self.cut(context, core, pool(epoch + 1));
                drop(self.cuda.poll(&launch_shape.source(block), Duration::ZERO));
            }
            pool(epoch)
        };
        Ok(wanted.min(MOST_STATES).min(fitting).max(1))
    }

    fn most_states(&mut self, context: &SearchContext) -> Result<usize, DeviceError> {
        self.upload(context)?;
        let core = self.core.as_ref().ok_or_else(missing)?;
        // three populations of values, and what tree moves and merges keep
        let n = context.variables() as u64;
        let merges = if context.is_large() { 14 * n } else { 0 };
        let trees = 32 * u64::from(core.nodes) * u64::from(core.shape.quads.next_power_of_two());
        let state = 6 * n + merges + trees + 64;
        // its memory, the host's, and indices of 32 bits
        let fitting = (self.cuda.free_memory()? / 2 / state.max(1)).min(u64::from(u32::MAX / 8));
        Ok((fitting as usize).min(cpu::most_states(state as usize)).max(1))
    }

    fn tree_sweeps(&self, context: &SearchContext) -> f64 {
        let states = self.states.as_ref().filter(|_| !self.portable);
        states.and_then(|states| states.program.block.tree_sweeps(context)).unwrap_or(cpu::TREE_SWEEPS)
    }

    fn speed(&self) -> u64 {
        let whole = FIRST_STATES * self.cuda.info.multiprocessors as usize;
        match &self.states {
            _ if self.portable => 1,
            // fewer states than the device has room for take as long
            Some(states) if states.argument.large == 0 => {
                let speed = if states.program.block.keeps { CACHED_SPEED } else { SPEED };
                (speed * u64::from(states.argument.states) / whole as u64).clamp(1, speed)
            }
            _ => SPEED,
        }
    }

    fn at_once(&self) -> bool {
        !self.portable
    }

    fn open(&mut self, context: &SearchContext, states: usize, seeds: &[Elite], fill: bool) -> Result<(), DeviceError> {
        self.upload(context)?;
        (self.best, self.best_allowed) = (i64::MAX, i64::MAX);
        if self.states.as_ref().is_none_or(|known| known.argument.states as usize != states) {
            self.states = None;
            self.prepare(context, states)?;
        }
        let pad = self.core.as_ref().map_or(0, |core| core.argument.pad as usize);
        let Some(known) = &mut self.states else { return Err(missing()) };
        let seeds = &seeds[..seeds.len().min(states)];
        let row = pad * known.program.launch_shape.bytes as usize;
        let values = seeds
            .iter()
            .flat_map(|seed| packed(&seed.values, known.program.launch_shape.bytes, row))
            .collect::<Vec<u8>>();
        let numbers = |number: &dyn Fn(&Elite) -> i64, none: i64| -> Vec<i64> {
            let known = seeds.iter().map(number);
            known.chain(std::iter::repeat(none)).take(states).collect()
        };
        let totals = numbers(&|seed| seed.energy.total, i64::MAX);
        let hashes: Vec<u64> = numbers(&|seed| seed.hash as i64, 0).into_iter().map(|hash| hash as u64).collect();
        let violations = numbers(&|seed| i64::from(seed.energy.violations), 0);
        let violations: Vec<u32> = violations.into_iter().map(|count| count as u32).collect();
        // whichever of the two is the population's now
        for place in 0..2 {
            self.cuda.write(&totals, &mut known.totals[place])?;
            self.cuda.write(&hashes, &mut known.hashes[place])?;
        }
        self.cuda.write(&violations, &mut known.violations[0])?;
        self.cuda.write(&values, &mut known.elites)?;
        if fill && !seeds.is_empty() && seeds.len() < states {
            let count = seeds.len() as u32;
            let (core, states) = self.parts()?;
            let grid = states.argument.states.div_ceil(8);
            // SAFETY: the arguments are the kernel's; the first `count` slots hold elites.
            unsafe {
                states.program.spread.launch(self.cuda.stream(), (grid, 256, 0), |arguments| {
                    let _ = arguments.arg(&core.argument).arg(&states.argument).arg(&count);
                })?;
            }
        }
        Ok(())
    }

    fn heat(&mut self, steps: Vec<Boltzmann>) -> Result<(), DeviceError> {
        let numbers: Vec<u32> = steps.iter().flat_map(|step| step.numbers()).collect();
        self.cuda.write(&numbers, &mut self.steps)
    }

    fn make_offspring(
        &mut self,
        context: &SearchContext,
        generation: &Generation,
        slots: Range<usize>,
        stop: &Stop,
    ) -> Result<Offspring, DeviceError> {
        let counters = self.children_of(generation, &slots, stop)?;
        self.offspring(context, &counters, slots.len())
    }

    fn replace(&mut self, _: &SearchContext, generation: &Generation) -> Result<Replacement, DeviceError> {
        let counters = self.selection_of(generation)?;
        Ok(self.replacement(&counters))
    }

    /// With one wait for the device: generations of few states are as short as some launches.
    fn make_generation(
        &mut self,
        context: &SearchContext,
        generation: &Generation,
        states: usize,
        stop: &Stop,
    ) -> Result<(Offspring, Option<Replacement>), DeviceError> {
        let counters = self.whole(generation, stop)?;
        Ok((self.offspring(context, &counters, states)?, Some(self.replacement(&counters))))
    }

    fn adopt(&mut self, elite: &Elite) -> Result<(), DeviceError> {
        let (core, states) = self.parts()?;
        let row = core.argument.pad as usize * states.program.launch_shape.bytes as usize;
        let all = self.fetch(&states.elites, 0..states.argument.states as usize)?;
        let Some(slot) = elite.nearest(all.iter().map(|values| &values[..])) else { return Ok(()) };
        let Some(states) = &mut self.states else { return Err(missing()) };
        let packed = packed(&elite.values, states.program.launch_shape.bytes, row);
        self.cuda.write(&packed, &mut states.elites.slice_mut(slot * row..(slot + 1) * row))?;
        let place = usize::from(states.swapped);
        self.cuda.write(&[elite.energy.total], &mut states.totals[place].slice_mut(slot..slot + 1))?;
        self.cuda.write(&[elite.hash], &mut states.hashes[place].slice_mut(slot..slot + 1))
    }

    fn top(&self, count: usize) -> Result<Vec<Elite>, DeviceError> {
        let (_, states) = self.parts()?;
        let totals = self.cuda.read(states.totals_now())?;
        let mut slots: Vec<usize> = (0..totals.len()).filter(|&slot| totals[slot] < i64::MAX).collect();
        slots.sort_by_key(|&slot| totals[slot]);
        slots.truncate(count);
        let elite = |slot: usize| {
            let values = self.fetch(&states.elites, slot..slot + 1)?.remove(0);
            let energy = Energy { total: totals[slot], violations: 0 };
            Ok(Elite { values, energy, hash: 0 })
        };
        slots.into_iter().map(elite).collect()
    }

    fn best(&self, context: &SearchContext) -> Result<Option<Elite>, DeviceError> {
        let (_, states) = self.parts()?;
        let slot = states.summary_of_elites.elite_slot;
        let values = self.fetch(&states.elites, slot..slot + 1)?.pop();
        Ok(values.map(|values| Elite::new(&context.tables, values)))
    }
}
