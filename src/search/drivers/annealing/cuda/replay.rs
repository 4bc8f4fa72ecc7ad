//! The launches of a generation: one by one, or recorded once and given to the device together.

#![allow(unsafe_code, reason = "kernel launches")]

use super::arguments::{COUNTERS, PopulationArgument, SUMMARY};
use super::{CudaPopulation, States, missing};
use crate::device::{Cuda, DeviceError, Graph, Pinned, PushKernelArg};
use crate::search::context::cuda::DeviceCore;
use crate::search::cuda::watch;
use crate::search::drivers::annealing::generation::{GROUP, Generation};
use crate::stop::Stop;
use std::ops::Range;

/// Generations of a population that are launched one by one: to record takes about a millisecond, in which a small
/// network may be solved. What it saves is 5 to 15 us a generation (results/notes/search-cuda.md).
pub(crate) const RECORD_AFTER: u32 = 16;

/// Generations as graphs: one for each of the two places where the elites' numbers stand.
pub(crate) struct Recorded {
    /// What the next generation is.
    told: Pinned<Generation>,
    /// What the counters overrides after the last.
    seen: Pinned<u64>,
    graphs: [Option<Graph>; 2],
}

impl Recorded {
    /// None yet.
    pub fn new(cuda: &Cuda) -> Result<Recorded, DeviceError> {
        Ok(Recorded { told: cuda.pinned(1)?, seen: cuda.pinned(COUNTERS + 2 * SUMMARY)?, graphs: [None, None] })
    }
}

impl CudaPopulation {
    /// Makes the offspring of some slots; returns the counters.
    pub(crate) fn children_of(
        &mut self,
        generation: &Generation,
        slots: &Range<usize>,
        stop: &Stop,
    ) -> Result<Vec<u64>, DeviceError> {
        self.begin(generation, slots, stop)?;
        self.cuda.read(&self.parts()?.1.counters)
    }

    /// Selects; returns the counters.
    pub(crate) fn selection_of(&mut self, generation: &Generation) -> Result<Vec<u64>, DeviceError> {
        let Some(states) = &mut self.states else { return Err(missing()) };
        self.cuda.write(&[*generation], &mut states.generation)?;
        self.end()
    }

    /// A whole generation with one wait for the device: generations of few states are as short as some launches.
    pub(crate) fn whole(&mut self, generation: &Generation, stop: &Stop) -> Result<Vec<u64>, DeviceError> {
        let Some(states) = &mut self.states else { return Err(missing()) };
        let slots = 0..states.argument.states as usize;
        states.generations += 1;
        if states.argument.large > 0 || states.generations <= self.record_after {
            self.begin(generation, &slots, stop)?;
            return self.end();
        }
        let (Some(core), Some(states)) = (&self.core, &mut self.states) else { return Err(missing()) };
        let mut recorded = match states.recorded.take() {
            Some(recorded) => recorded,
            None => Recorded::new(&self.cuda)?,
        };
        recorded.told.items_mut()?[0] = *generation;
        let graph = &mut recorded.graphs[usize::from(states.swapped)];
        if graph.is_none() {
            let (told, seen) = (&recorded.told, &recorded.seen);
            // SAFETY: all that the launches use is the population's own and goes together with the graphs; `told` and
            // `seen` are left alone until the stream has come to the graph's end.
            *graph = Some(unsafe {
                self.cuda.capture(|| {
                    told.record_upload(self.cuda.stream(), &states.generation)?;
                    states.make(&self.cuda, core, &slots)?;
                    states.select(&self.cuda, core)?;
                    seen.record_download(self.cuda.stream(), &states.counters)
                })
            }?);
        }
        if let Some(graph) = graph {
            graph.launch()?;
        }
        states.swap_places();
        self.cuda.synchronize()?;
        let counters = recorded.seen.items()?.to_vec();
        states.recorded = Some(recorded);
        Ok(counters)
    }

    /// Launches the making of offspring; nothing is waited for but the end of blocks that a stop may cut short.
    fn begin(&mut self, generation: &Generation, slots: &Range<usize>, stop: &Stop) -> Result<(), DeviceError> {
        let (Some(core), Some(states)) = (&self.core, &mut self.states) else { return Err(missing()) };
        self.cuda.write(&[*generation], &mut states.generation)?;
        states.make(&self.cuda, core, slots)?;
        if states.argument.large > 0 {
            watch(&self.cuda, &self.aside, &states.stop, stop)?;
        }
        Ok(())
    }

    /// Selects among the offspring that were made; returns the counters.
    fn end(&mut self) -> Result<Vec<u64>, DeviceError> {
        let (Some(core), Some(states)) = (&self.core, &mut self.states) else { return Err(missing()) };
        states.select(&self.cuda, core)?;
        states.swap_places();
        self.cuda.read(&states.counters)
    }
}

impl States {
    /// Launches the making of offspring, and their survey.
    fn make(&self, cuda: &Cuda, core: &DeviceCore, slots: &Range<usize>) -> Result<(), DeviceError> {
        let program = &self.program;
        let (first, last) = (slots.start as u32, slots.end as u32);
        let block = program.block;
        // states that go together are of one group, also where the slots begin amid one
        let together = if block.is_shared() { block.together } else { GROUP as u32 };
        let begin = first / together * together;
        let grid = (last - begin).div_ceil(block.states());
        cuda.set_bytes(&self.counters, 0)?;
        // SAFETY: the arguments are the kernel's; every place that it writes to was allocated for this many states.
        unsafe {
            program.make_offspring.launch(cuda.stream(), (grid, block.threads, block.shared), |arguments| {
                let arguments = arguments.arg(&core.argument).arg(&self.generation).arg(&self.argument);
                let _ = arguments.arg(&first).arg(&last);
            })?;
        }
        let PopulationArgument { child_totals, child_violations, child_hashes, .. } = self.argument;
        self.summarize(cuda, slots, [child_totals, child_violations, child_hashes], COUNTERS)
    }

    /// Launches the selection, and a survey of the elites after it.
    fn select(&self, cuda: &Cuda, core: &DeviceCore) -> Result<(), DeviceError> {
        cuda.set_bytes(&self.known.0, 0)?;
        cuda.set_bytes(&self.known.1, 0xFF)?;
        let count = self.argument.states;
        // SAFETY: as above.
        unsafe {
            self.program.remember.launch(cuda.stream(), ((2 * count).div_ceil(256), 256, 0), |arguments| {
                let _ = arguments.arg(&self.argument);
            })?;
            self.program.replace.launch(cuda.stream(), (count.div_ceil(8), 256, 0), |arguments| {
                let _ = arguments.arg(&core.argument).arg(&self.generation).arg(&self.argument);
            })?;
        }
        let PopulationArgument { next_totals, violations, next_hashes, .. } = self.argument;
        self.summarize(cuda, &(0..count as usize), [next_totals, violations, next_hashes], COUNTERS + SUMMARY)
    }

    /// Launches a survey of the states whose totals, violations and hashes are given; it goes `to` the counters.
    fn summarize(&self, cuda: &Cuda, slots: &Range<usize>, of: [u64; 3], to: usize) -> Result<(), DeviceError> {
        let (first, last) = (slots.start as u32, slots.end as u32);
        let found = self.counters.slice(to..);
        // SAFETY: the arguments are the kernel's; the slots are below the number of states.
        unsafe {
            self.program.summarize.launch(cuda.stream(), (1, 1024, 0), |arguments| {
                let _ = arguments.arg(&of[0]).arg(&of[1]).arg(&of[2]).arg(&first).arg(&last).arg(&found);
            })
        }
    }

    /// The elites' numbers stand in the other place now.
    fn swap_places(&mut self) {
        let argument = &mut self.argument;
        std::mem::swap(&mut argument.totals, &mut argument.next_totals);
        std::mem::swap(&mut argument.hashes, &mut argument.next_hashes);
        self.swapped = !self.swapped;
    }
}
