//! States of the guided search on a device. `kernels/trajectory.cuh` makes complete trajectories, with the rows of the
//! annealing kernels and moves equal to those of the CPU.

#![allow(unsafe_code, reason = "kernel arguments are laid out as the device reads them")]

use super::arguments::{BatchArgument, TrajectoryProgress};
use super::backend::{Backend, Batch, TrajectoryResult};
pub(crate) use super::network::unfit;
use super::network::{NetworkOnDevice, NetworkProblem};
use super::round_context::RoundContext;
use super::trajectory::Trajectory;
use super::visit::Visit;
use crate::constants::guided::{KEEP, LENGTHS, LONGEST, MANY, SPEED, STARTS};
use crate::core::picks::Picks;
use crate::core::population::most_states;
use crate::core::watch::watch;
use crate::device::{Blocks, Compiled, Cuda, CudaSlice, CudaStream, DeviceError, Kernel, PushKernelArg};
use crate::fang::cuda::{Heuristic, Shape};
use crate::heuristics::ValueHeuristic;
use crate::heuristics::cuda::{BETTER, STOPPED, expression};
use crate::stop::Stop;
use std::cmp::Reverse;
use std::sync::Arc;

/// Largest number of temperatures of a batch.
const TEMPERATURES: usize = LENGTHS.len() * STARTS.len() * LONGEST as usize;
const NONE: u32 = u32::MAX;

pub(crate) struct CudaBackend {
    cuda: Arc<Cuda>,
    /// A stream for telling long trajectories to end.
    aside: Arc<CudaStream>,
    network: NetworkOnDevice,
    shape: Shape,
    run: Kernel,
    /// Bytes of shared memory of a block.
    shared: u32,
    compiled: Compiled,
    portable: bool,
    states: Option<States>,
}

struct States {
    words: CudaSlice<u32>,
    working: CudaSlice<u64>,
    bests: CudaSlice<u32>,
    progress: CudaSlice<TrajectoryProgress>,
    trajectories: CudaSlice<u32>,
    temperatures: CudaSlice<f64>,
    order: CudaSlice<u32>,
    stop: CudaSlice<u32>,
    /// The last copy of `progress`.
    told: Vec<TrajectoryProgress>,
}

impl CudaBackend {
    /// Opens a device without states. `states` is their number, if it is known.
    pub fn new(
        cuda: &Arc<Cuda>,
        round: &RoundContext<'_>,
        heuristic: &dyn ValueHeuristic,
        states: Option<usize>,
    ) -> Result<CudaBackend, DeviceError> {
        let context = round.context;
        let network = NetworkOnDevice::new(cuda, round, heuristic)?;
        let possibilities = (0..context.variables()).map(|v| context.tables.domain(v)).max().unwrap_or(0);
        // the name is already the kernel's template argument
        let of_values =
            Heuristic { name: String::new(), possibilities, width: 1, parts: 1, keep: KEEP, largest_sum: u64::MAX };
        let shape =
            Shape::new(&[of_values], states.unwrap_or(MANY).min(u32::MAX as usize / 8), cuda.info.multiprocessors);
        let shared = shape.shared(context.variables(), network.working_words);
        let expression = expression(&shape, shared.is_some());
        let module = cuda.load(&network.source.clone().kernel(&expression))?;
        let shared = shared.unwrap_or(0);
        let (run, compiled) = (module.kernel(&expression, shared)?, module.compiled());
        let aside = cuda.fork()?;
        let (cuda, portable) = (cuda.clone(), context.portable);
        Ok(CudaBackend { cuda, aside, network, shape, run, shared, compiled, portable, states: None })
    }

    /// Returns the number of states that occupy the whole device.
    pub fn suitable(&self) -> Result<usize, DeviceError> {
        let threads = self.shape.threads * self.shape.groups();
        let blocks = self.run.blocks_per_multiprocessor(threads, self.shared)?;
        let resident = (blocks * self.shape.groups() * self.cuda.info.multiprocessors) as usize;
        Ok(resident.min(self.most()?))
    }

    /// Returns the number of states for which there is memory.
    pub fn most(&self) -> Result<usize, DeviceError> {
        let one = 4 * (self.network.words + self.network.variables) + 8 * self.room();
        let fitting = (self.cuda.free_memory()? as usize / 2 / one).min(u32::MAX as usize / 8);
        Ok(fitting.min(most_states(one)).max(1))
    }

    /// Returns the 64-bit words of a child: its active set and the state's words.
    fn room(&self) -> usize {
        self.network.variables.div_ceil(64) + self.network.working_words.div_ceil(2)
    }

    fn opened(&self) -> Result<&States, DeviceError> {
        self.states.as_ref().ok_or_else(missing)
    }
}

fn missing() -> DeviceError {
    DeviceError::Unusable("trajectories were asked for before there were states".into())
}

impl Backend for CudaBackend {
    fn open(&mut self, round: &RoundContext<'_>, starts: Vec<Vec<u16>>) -> Result<(), DeviceError> {
        // the old memory is freed before new memory is allocated
        self.states = None;
        let (cuda, network, count) = (&self.cuda, &self.network, starts.len());
        let mut words = vec![0; count * network.words];
        let mut told = Vec::with_capacity(count);
        for (words, values) in words.chunks_exact_mut(network.words.max(1)).zip(&starts) {
            network.begin(words, values);
            let energy = round.energy(values);
            told.push(TrajectoryProgress { energy, record: energy, ..TrajectoryProgress::default() });
        }
        self.states = Some(States {
            words: cuda.upload(&words)?,
            working: cuda.zeros(if self.shared > 0 { 1 } else { count * self.room() })?,
            bests: cuda.zeros(count * network.variables)?,
            progress: cuda.upload(&told)?,
            trajectories: cuda.zeros(2 * count)?,
            temperatures: cuda.zeros(TEMPERATURES)?,
            order: cuda.zeros(count)?,
            stop: cuda.zeros(1)?,
            told,
        });
        Ok(())
    }

    fn begin(&mut self, round: &RoundContext<'_>, slot: usize, values: Vec<u16>) -> Result<(), DeviceError> {
        let (first, n) = (slot * self.network.words, self.network.variables);
        let states = self.states.as_mut().ok_or_else(missing)?;
        let words: Vec<u32> = values.iter().map(|&value| u32::from(value)).collect();
        let energy = round.energy(&values);
        states.told[slot] = TrajectoryProgress { energy, record: energy, ..states.told[slot] };
        self.cuda.write(&words, &mut states.words.slice_mut(first..first + n))?;
        self.cuda.write(&states.told[slot..=slot], &mut states.progress.slice_mut(slot..=slot))
    }

    fn run(&mut self, visit: &Visit<'_>, batch: &Batch<'_>, stop: &Stop) -> Result<Vec<TrajectoryResult>, DeviceError> {
        let room = self.room() as u32;
        let cuda = &self.cuda;
        self.network.look(cuda, &visit.round)?;
        let states = self.states.as_mut().ok_or_else(missing)?;
        let mut temperatures: Vec<f64> = Vec::new();
        let mut known: Vec<(Trajectory, u32)> = Vec::new();
        let mut trajectories: Vec<u32> = Vec::with_capacity(2 * batch.trajectories.len());
        for &(_, trajectory) in batch.trajectories {
            let first = known.iter().find(|(other, _)| *other == trajectory).map(|&(_, first)| first);
            let first = first.unwrap_or_else(|| {
                let first = temperatures.len() as u32;
                temperatures.extend((0..trajectory.passes).map(|pass| trajectory.temperature(batch.schedule, pass)));
                known.push((trajectory, first));
                first
            });
            trajectories.extend([first, trajectory.passes]);
        }
        // long trajectories begin first, because a launch ends with its last one
        let mut order: Vec<u32> = (0..batch.trajectories.len() as u32).collect();
        order.sort_by_key(|&slot| Reverse(batch.trajectories[slot as usize].1.passes));
        cuda.write(&trajectories, &mut states.trajectories)?;
        cuda.write(&order, &mut states.order)?;
        cuda.write(&temperatures, &mut states.temperatures.slice_mut(..temperatures.len()))?;
        let argument = BatchArgument {
            states: cuda.address(&states.words),
            working: cuda.address(&states.working),
            bests: cuda.address(&states.bests),
            progress: cuda.address(&states.progress),
            trajectories: cuda.address(&states.trajectories),
            temperatures: cuda.address(&states.temperatures),
            order: cuda.address(&states.order),
            stop: cuda.address(&states.stop),
            draw: batch.draw,
            count: order.len() as u32,
            words: self.network.words as u32,
            room,
            unused: 0,
        };
        let groups = self.shape.groups();
        let (count, threads) = (argument.count.div_ceil(groups), self.shape.threads * groups);
        let blocks = Blocks { count, threads, shared: self.shared };
        let problem: &NetworkProblem = &self.network.problem;
        // SAFETY: the arguments are the kernel's; all memory that it reads and writes was allocated for this problem
        // and number of states.
        unsafe {
            self.run.launch(cuda.stream(), blocks, |arguments| arguments.arg(&argument).arg(problem))?;
        }
        watch(cuda, &self.aside, &states.stop, stop)?;
        states.told = cuda.read(&states.progress)?;
        let results = states.told.iter().enumerate().map(|(slot, progress)| landed(visit, slot, progress));
        Ok(results.collect())
    }

    fn energy(&self, slot: usize) -> i64 {
        self.states.as_ref().map_or(i64::MAX, |states| states.told[slot].energy)
    }

    fn values(&self, slot: usize) -> Result<Vec<u16>, DeviceError> {
        let first = slot * self.network.words;
        let words = self.cuda.read(&self.opened()?.words.slice(first..first + self.network.variables))?;
        Ok(words.into_iter().map(|value| value as u16).collect())
    }

    fn bytes(&self) -> u64 {
        self.states
            .as_ref()
            .map_or(0, |states| 4 * (states.words.len() + states.bests.len()) as u64 + 8 * states.working.len() as u64)
    }

    fn compiled(&self) -> Option<Compiled> {
        Some(self.compiled)
    }

    fn speed(&self) -> u64 {
        if self.portable { 1 } else { SPEED }
    }
}

/// Returns the result of a state's trajectory on a device; an empty one if the trajectory was cut by a stop.
fn landed(visit: &Visit<'_>, slot: usize, progress: &TrajectoryProgress) -> TrajectoryResult {
    if progress.outcome == STOPPED {
        return TrajectoryResult::default();
    }
    let picks = Picks {
        ratings: progress.ratings.into(),
        drawn: progress.drawn.into(),
        changed: progress.changed.into(),
        improved: progress.improvements.into(),
        proposed: progress.proposed.into(),
        taken: progress.taken.into(),
        taken_changed: progress.taken_changed.into(),
        taken_improved: progress.taken_improved.into(),
        ..Picks::default()
    };
    let fault = |v: usize| {
        let (name, shown) = (visit.heuristic.name(), vec![0; visit.round.context.variables()]);
        let variable = visit.round.context.view(&shown).origin(v);
        let TrajectoryProgress { kept, recounted, .. } = progress;
        format!(
            "heuristic {name}: after variable {variable} was assigned state {slot}'s cost is {kept} as kept, \
             {recounted} recomputed"
        )
    };
    let variable = |v: u32| Some(v as usize).filter(|_| v != NONE);
    TrajectoryResult {
        complete: true,
        better: progress.outcome == BETTER,
        moves: progress.moves.into(),
        picks,
        weightless: variable(progress.weightless).map(|v| (v, progress.held as u16)),
        senseless: (progress.beyond != NONE).then_some((progress.senseless, progress.beyond as u16)),
        strange: variable(progress.strange),
        fault: variable(progress.fault).map(fault),
    }
}
