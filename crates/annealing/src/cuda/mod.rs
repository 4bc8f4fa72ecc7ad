//! A population in device memory.

#![allow(unsafe_code, reason = "kernel launches")]

pub(crate) mod arguments;
pub(crate) mod first_kernels;
pub(crate) mod lanes;
pub(crate) mod launch_shape;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod wide;
mod wide_growth;
mod wide_parts;
pub(crate) mod wide_program;
mod wide_ratings;
#[cfg(test)]
mod wide_tests;

use self::arguments::{Counters, PopulationArgument, Standing, Summary};
use self::launch_shape::{Block, LaunchShape, Overrides};
use super::cpu;
use super::generation::{Generation, Offspring, Population, Replacement};
use crate::core::context::SearchContext;
use crate::core::cuda::{Device, DeviceCore};
use crate::core::elite::Elite;
use crate::core::population::most_states;
use crate::core::watch::watch;
use crate::device::{Blocks, CudaSlice, CudaStream, DeviceError, Held, Kernel, PushKernelArg};
use crate::generation::{ALL_MOVE, Heat};
use crate::stop::Stop;
use crate::tuning::device::{CACHED_SPEED, FIRST_STATES, MOST_STATES, SPEED};
use crate::tuning::{GROUP, STEPS, TREE_SWEEPS};
use crate::value_tables::Energy;
use std::mem::offset_of;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// A population of many states on a device.
pub(crate) struct CudaPopulation {
    cuda: Device,
    /// A second stream, for work that cannot wait for the kernels' stream.
    aside: Arc<CudaStream>,
    core: DeviceCore,
    launch_shape: LaunchShape,
    states: Option<States>,
    steps: CudaSlice<u32>,
    best: i64,
    best_allowed: i64,
    /// Whether rounds equal those of the CPU.
    portable: bool,
    pub(crate) overrides: Overrides,
}

/// The kernels for a number of states.
struct Program {
    make_offspring: Kernel,
    remember: Kernel,
    replace: Kernel,
    summarize: Kernel,
    block: Block,
}

/// The states and all data whose size depends on their number.
struct States {
    argument: PopulationArgument,
    program: Program,
    elites: CudaSlice<u8>,
    offspring: CudaSlice<u8>,
    /// The standings of the elites, of the elites after the next replacement, and of the offspring.
    standings: [CudaSlice<Standing>; 3],
    known: (CudaSlice<u64>, CudaSlice<u32>),
    counters: CudaSlice<Counters>,
    _held: Held,
    /// Not 0 if the offspring should end early.
    stop: CudaSlice<u32>,
    summary_of_elites: Summary,
}

impl States {
    fn count(&self) -> usize {
        self.argument.states as usize
    }
}

impl CudaPopulation {
    /// Returns a population on a reduced problem, without states.
    pub fn new(cuda: &Device, context: &SearchContext) -> Result<CudaPopulation, DeviceError> {
        // a separate stream, because bounds use the device too
        let cuda = cuda.beside()?;
        let core = DeviceCore::new(&cuda, context)?;
        Ok(CudaPopulation {
            aside: cuda.fork()?,
            launch_shape: LaunchShape::of(context, core.shape),
            core,
            states: None,
            steps: cuda.zeros(2 * STEPS)?,
            best: i64::MAX,
            best_allowed: i64::MAX,
            portable: context.portable,
            overrides: Overrides::default(),
            cuda,
        })
    }

    /// Returns the block for `states` states; 0 means that the block determines how many there are.
    fn block(&self, states: usize) -> Block {
        self.launch_shape.block(&self.cuda.info, states as u32, self.overrides)
    }

    /// Loads the kernels for `states` states; 0 means that the block determines how many there are.
    fn program(&self, states: usize) -> Result<Program, DeviceError> {
        let block = self.block(states);
        if !block.fits(&self.cuda.info) {
            let n = self.core.argument.variables;
            return Err(DeviceError::Unusable(format!("{n} variables of a state do not fit its shared memory")));
        }
        let module = self.cuda.load(&self.launch_shape.source(block))?;
        let bytes = self.launch_shape.bytes;
        Ok(Program {
            make_offspring: module.kernel(&block.lanes.kernel(bytes, block.together, block.keeps), block.shared)?,
            remember: module.kernel("remember", 0)?,
            replace: module.kernel(&format!("replace<u{}>", 8 * bytes), 0)?,
            summarize: module.kernel("summarize", 0)?,
            block,
        })
    }

    fn prepare(&self, context: &SearchContext, states: usize) -> Result<States, DeviceError> {
        let (program, cuda) = (self.program(states)?, &*self.cuda);
        let (n, block) = (context.variables(), program.block);
        // blocks are whole, so idle lane groups of the last one need storage too
        let places = states.next_multiple_of(block.states() as usize);
        let scratch_quads = 2 * u64::from(self.core.nodes) * u64::from(block.lanes.quads());
        let merged = if context.is_large() { places } else { 1 };
        let values = |count: usize| cuda.zeros::<u8>(count * self.row());
        let (elites, offspring, mut held) = (values(states)?, values(states)?, Held::default());
        let standings = [cuda.zeros(states)?, cuda.zeros(states)?, cuda.zeros(states)?];
        // the hash table is at most half full
        let places_known = (4 * states).next_power_of_two();
        let known = (cuda.zeros(places_known)?, cuda.zeros(places_known)?);
        let (counters, stop) = (cuda.zeros(1)?, cuda.zeros(1)?);
        let argument = PopulationArgument {
            states: states as u32,
            large: u32::from(context.is_large()),
            domains: self.core.domains,
            elites: cuda.address(&elites),
            offspring: cuda.address(&offspring),
            others: held.keep(cuda, values(merged)?),
            standings: cuda.address(&standings[0]),
            next_standings: cuda.address(&standings[1]),
            child_standings: cuda.address(&standings[2]),
            known: cuda.address(&known.0),
            known_by: cuda.address(&known.1),
            known_mask: places_known as u64 - 1,
            counters: cuda.address(&counters),
            steps: cuda.address(&self.steps),
            scratch: held.keep(cuda, cuda.zeros::<u32>((places * scratch_quads as usize * 4).max(4))?),
            scratch_quads,
            labels: held.keep(cuda, cuda.zeros::<u32>(merged * n)?),
            deltas: held.keep(cuda, cuda.zeros::<i64>(merged * n)?),
            stop: cuda.address(&stop),
        };
        Ok(States {
            argument,
            program,
            elites,
            offspring,
            standings,
            known,
            counters,
            _held: held,
            stop,
            summary_of_elites: Summary::default(),
        })
    }

    fn full(&self) -> usize {
        FIRST_STATES * self.cuda.info.multiprocessors as usize
    }

    fn states(&self) -> Result<&States, DeviceError> {
        self.states.as_ref().ok_or_else(missing)
    }

    /// Returns the bytes of a state's values.
    fn row(&self) -> usize {
        self.core.argument.pad as usize * self.launch_shape.bytes as usize
    }

    /// Launches the making of offspring and their summary. Waits only if a stop may cut blocks short.
    fn make(&self, generation: &Generation, slots: &Range<usize>, stop: &Stop) -> Result<(), DeviceError> {
        let (cuda, core, states) = (&*self.cuda, &self.core, self.states()?);
        let (first, last) = (slots.start as u32, slots.end as u32);
        let block = states.program.block;
        // states that share a block belong to one group, even if the slots begin inside one
        let together = if block.is_shared() { block.together } else { GROUP as u32 };
        let begin = first / together * together;
        let count = (last - begin).div_ceil(block.states());
        let blocks = Blocks { count, threads: block.threads, shared: block.shared };
        cuda.set_bytes(&states.counters, 0)?;
        // SAFETY: the arguments are the kernel's, and all memory that it writes to was allocated for this number of
        // states.
        unsafe {
            states.program.make_offspring.launch(cuda.stream(), blocks, |arguments| {
                let arguments = arguments.arg(&core.argument).arg(generation).arg(&states.argument);
                arguments.arg(&first).arg(&last)
            })?;
        }
        self.summarize(slots, &states.standings[2], offset_of!(Counters, offspring))?;
        if states.argument.large > 0 {
            watch(cuda, &self.aside, &states.stop, stop)?;
        }
        Ok(())
    }

    /// Launches the replacement and a summary of the elites after it. Returns the counters.
    fn select(&mut self, generation: &Generation) -> Result<Counters, DeviceError> {
        let (cuda, core, states) = (&*self.cuda, &self.core, self.states()?);
        cuda.set_bytes(&states.known.0, 0)?;
        cuda.set_bytes(&states.known.1, 0xFF)?;
        let (program, count) = (&states.program, states.argument.states);
        // SAFETY: the arguments are the kernels', and all memory that they write to was allocated for this number of
        // states.
        unsafe {
            program.remember.launch(cuda.stream(), Blocks::new((2 * count).div_ceil(256), 256), |arguments| {
                arguments.arg(&states.argument)
            })?;
            program.replace.launch(cuda.stream(), Blocks::new(count.div_ceil(8), 256), |arguments| {
                arguments.arg(&core.argument).arg(generation).arg(&states.argument)
            })?;
        }
        self.summarize(&(0..count as usize), &states.standings[1], offset_of!(Counters, elites))?;
        let Some(states) = &mut self.states else { return Err(missing()) };
        let argument = &mut states.argument;
        std::mem::swap(&mut argument.standings, &mut argument.next_standings);
        states.standings.swap(0, 1);
        self.counters()
    }

    /// Launches a summary of a range of states, which is written at an offset in the counters.
    fn summarize(&self, slots: &Range<usize>, of: &CudaSlice<Standing>, to: usize) -> Result<(), DeviceError> {
        let states = self.states()?;
        let (first, last) = (slots.start as u32, slots.end as u32);
        let summary = states.argument.counters + to as u64;
        // SAFETY: the arguments are the kernel's; the slots are below the number of states.
        unsafe {
            states.program.summarize.launch(self.cuda.stream(), Blocks::new(1, 1024), |arguments| {
                arguments.arg(of).arg(&first).arg(&last).arg(&summary)
            })
        }
    }

    fn counters(&self) -> Result<Counters, DeviceError> {
        Ok(self.cuda.read(&self.states()?.counters)?[0])
    }

    /// Returns the offspring that the counters describe, with the elites that are better than all before.
    fn offspring(
        &mut self,
        context: &SearchContext,
        counters: &Counters,
        made: usize,
    ) -> Result<Offspring, DeviceError> {
        let Counters { moves, ratings, offspring: summary, .. } = *counters;
        let mut offspring = Offspring { moves, ratings, made, ..Offspring::default() };
        let found =
            [(summary.best, summary.best_slot, self.best), (summary.allowed, summary.allowed_slot, self.best_allowed)];
        for (total, slot, known) in found {
            if total < known {
                let elite = Elite::new(&context.tables, self.fetch_one(&self.states()?.offspring, slot as usize)?);
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

    fn replacement(&mut self, Counters { tally, elites, .. }: Counters) -> Replacement {
        if let Some(states) = &mut self.states {
            states.summary_of_elites = elites;
        }
        Replacement { tally, best: elites.best, at_best: elites.at_best as usize }
    }

    fn fetch(&self, of: &CudaSlice<u8>, slots: Range<usize>) -> Result<Vec<Vec<u16>>, DeviceError> {
        let (row, n) = (self.row(), self.core.argument.variables as usize);
        let bytes = self.cuda.read(&of.slice(slots.start * row..slots.end * row))?;
        Ok(bytes.chunks_exact(row).map(|bytes| unpacked(bytes, n, self.launch_shape.bytes)).collect())
    }

    fn fetch_one(&self, of: &CudaSlice<u8>, slot: usize) -> Result<Vec<u16>, DeviceError> {
        Ok(self.fetch(of, slot..slot + 1)?.concat())
    }

    /// Returns values as they are stored in a row.
    fn packed(&self, values: &[u16]) -> Vec<u8> {
        let mut packed = packed(values, self.launch_shape.bytes);
        packed.resize(self.row(), 0);
        packed
    }
}

/// Returns values stored in one or two bytes each.
fn packed(values: &[u16], bytes: u32) -> Vec<u8> {
    match bytes {
        1 => values.iter().map(|&value| value as u8).collect(),
        _ => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
    }
}

/// Returns the first `n` values of a [`packed`] row.
fn unpacked(row: &[u8], n: usize, bytes: u32) -> Vec<u16> {
    match bytes {
        1 => row[..n].iter().map(|&value| u16::from(value)).collect(),
        _ => row[..2 * n].chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect(),
    }
}

fn missing() -> DeviceError {
    DeviceError::Unusable("a population was asked for before it was opened".into())
}

/// Returns the error that the device's energy of an assignment differs from the host's: its memory or a kernel is
/// faulty.
fn disagreement(device: i64, host: i64) -> DeviceError {
    DeviceError::Failed {
        what: "comparing energies".into(),
        cause: format!("the device says {device}, the host {host}"),
    }
}

impl Population for CudaPopulation {
    fn suitable_states(&mut self, context: &SearchContext, base_sweeps: u32, epoch: u32) -> Result<usize, DeviceError> {
        if self.portable {
            return Ok(cpu::suitable_states(context, base_sweeps, epoch));
        }
        let wanted = if context.is_large() {
            let Program { make_offspring, block, .. } = self.program(0)?;
            let blocks = make_offspring.blocks_per_multiprocessor(block.threads, block.shared)?;
            (block.states() * blocks * self.cuda.info.multiprocessors) as usize
        } else {
            // generations of few states are shorter; pools that converge too soon are followed by larger ones
            let pool = |epoch: u32| self.full() << epoch.min(8);
            if epoch > 0 {
                // the next pool may need other kernels, which are compiled meanwhile
                let source = self.launch_shape.source(self.block(pool(epoch + 1)));
                drop(self.cuda.poll(&source, Duration::ZERO));
            }
            pool(epoch)
        };
        Ok(wanted.min(MOST_STATES).min(self.most_states(context)?).max(1))
    }

    fn most_states(&self, context: &SearchContext) -> Result<usize, DeviceError> {
        // three populations of values, and the storage of tree moves and combinations
        let n = context.variables() as u64;
        let merges = if context.is_large() { 14 * n } else { 0 };
        let trees = 32 * u64::from(self.core.nodes) * u64::from(self.core.shape.quads.next_power_of_two());
        let state = 6 * n + merges + trees + 64;
        // limited by the device's memory, the host's, and 32-bit indices
        let fitting = (self.cuda.free_memory()? / 2 / state.max(1)).min(u64::from(u32::MAX / 8));
        Ok((fitting as usize).min(most_states(state as usize)).max(1))
    }

    fn tree_sweeps(&self, context: &SearchContext) -> f64 {
        let states = self.states.as_ref().filter(|_| !self.portable);
        states.and_then(|states| states.program.block.tree_sweeps(context)).unwrap_or(TREE_SWEEPS)
    }

    fn speed(&self, _: &SearchContext) -> u64 {
        match &self.states {
            _ if self.portable => 1,
            // fewer states than the device has room for take equally long
            Some(states) if states.argument.large == 0 => {
                let speed = if states.program.block.keeps { CACHED_SPEED } else { SPEED };
                (speed * states.count() as u64 / self.full() as u64).clamp(1, speed)
            }
            _ => SPEED,
        }
    }

    fn at_once(&self) -> bool {
        !self.portable
    }

    fn open(&mut self, context: &SearchContext, states: usize, seeds: &[Elite]) -> Result<(), DeviceError> {
        (self.best, self.best_allowed) = (i64::MAX, i64::MAX);
        if self.states.as_ref().is_none_or(|known| known.count() != states) {
            // memory is freed before more is allocated
            self.states = None;
            self.states = Some(self.prepare(context, states)?);
        }
        let values: Vec<u8> = seeds.iter().flat_map(|seed| self.packed(&seed.values)).collect();
        let mut standings: Vec<Standing> = seeds.iter().map(Standing::of).collect();
        standings.resize(states, Standing::of(&Elite::none()));
        let Some(known) = &mut self.states else { return Err(missing()) };
        self.cuda.write(&standings, &mut known.standings[0])?;
        self.cuda.write(&values, &mut known.elites)
    }

    fn heat(&mut self, Heat { steps, least }: Heat) -> Result<(), DeviceError> {
        debug_assert_eq!(least, ALL_MOVE, "states of a population have no other");
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
        self.make(generation, &slots, stop)?;
        let counters = self.counters()?;
        self.offspring(context, &counters, slots.len())
    }

    fn replace(&mut self, _: &SearchContext, generation: &Generation) -> Result<Replacement, DeviceError> {
        let counters = self.select(generation)?;
        Ok(self.replacement(counters))
    }

    /// Makes a generation with one wait for the device, because generations of few states are as short as a few
    /// launches.
    fn make_generation(
        &mut self,
        context: &SearchContext,
        generation: &Generation,
        states: usize,
        stop: &Stop,
    ) -> Result<(Offspring, Option<Replacement>), DeviceError> {
        self.make(generation, &(0..states), stop)?;
        let counters = self.select(generation)?;
        Ok((self.offspring(context, &counters, states)?, Some(self.replacement(counters))))
    }

    fn adopt(&mut self, elite: &Elite) -> Result<(), DeviceError> {
        let (row, states) = (self.row(), self.states()?);
        let all = self.fetch(&states.elites, 0..states.count())?;
        let Some(slot) = elite.nearest(all.iter().map(|values| &values[..])) else { return Ok(()) };
        let packed = self.packed(&elite.values);
        let Some(states) = &mut self.states else { return Err(missing()) };
        self.cuda.write(&packed, &mut states.elites.slice_mut(slot * row..(slot + 1) * row))?;
        self.cuda.write(&[Standing::of(elite)], &mut states.standings[0].slice_mut(slot..slot + 1))
    }

    fn top(&self, count: usize) -> Result<Vec<Elite>, DeviceError> {
        let states = self.states()?;
        let total: Vec<i64> = self.cuda.read(&states.standings[0])?.iter().map(|of| of.total).collect();
        let mut slots: Vec<usize> = (0..total.len()).filter(|&slot| total[slot] < i64::MAX).collect();
        slots.sort_by_key(|&slot| total[slot]);
        slots.truncate(count);
        let elite = |slot: usize| {
            let energy = Energy { total: total[slot], violations: 0 };
            Ok(Elite { values: self.fetch_one(&states.elites, slot)?, energy, hash: 0 })
        };
        slots.into_iter().map(elite).collect()
    }

    fn best(&self, context: &SearchContext) -> Result<Option<Elite>, DeviceError> {
        let states = self.states()?;
        let values = self.fetch_one(&states.elites, states.summary_of_elites.elite_slot as usize)?;
        Ok(Some(Elite::new(&context.tables, values)))
    }
}
