//! Backends of the guided search. The host decides the lengths and temperatures of trajectories and which states
//! restart. A backend makes the trajectories, with equal states on the CPU and on a device.

use super::round_context::RoundContext;
use super::state::GuidedState;
use super::trajectory::Trajectory;
use super::visit::{Scratch, Visit};
use crate::constants::guided::MOST_KEPT;
use crate::core::picks::Picks;
use crate::core::schedule::Schedule;
use crate::device::{Compiled, DeviceError};
use crate::fang::State as _;
use crate::rng::{Rng, mix};
use crate::stop::Stop;
use crate::threads;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Batch<'a> {
    /// The seed of the streams of all trajectories.
    pub draw: u64,
    pub schedule: Schedule,
    /// For each state, the arm of the bandit and its trajectory.
    pub trajectories: &'a [(usize, Trajectory)],
}

impl Batch<'_> {
    pub fn stream(&self, slot: usize) -> Rng {
        Rng::new(mix(self.draw, (1 << 32) + slot as u64))
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct TrajectoryResult {
    /// Whether the trajectory was completed, and not cut by a stop.
    pub complete: bool,
    /// Whether the state is better than before, possibly by a part of the trajectory.
    pub better: bool,
    /// Changed values, including those of the final pass.
    pub moves: u64,
    pub picks: Picks,
    /// A variable all of whose values had weight 0, and the value that it kept.
    pub weightless: Option<(usize, u16)>,
    pub senseless: Option<(u32, u16)>,
    /// A variable with a value whose weight is not a number, if the heuristic itself cannot report it.
    pub strange: Option<usize>,
    pub fault: Option<String>,
}

pub(crate) trait Backend: Send {
    /// Creates new states, one at each of the assignments.
    fn open(&mut self, round: &RoundContext<'_>, starts: Vec<Vec<u16>>) -> Result<(), DeviceError>;

    /// Restarts a state at an assignment. Its memory stays.
    fn begin(&mut self, round: &RoundContext<'_>, slot: usize, values: Vec<u16>) -> Result<(), DeviceError>;

    /// Makes a child of every state by a trajectory. The child replaces the state unless it is worse. Returns the
    /// result of each. A stop cuts trajectories short; of these only the best assignment is kept, if it is better.
    fn run(&mut self, visit: &Visit<'_>, batch: &Batch<'_>, stop: &Stop) -> Result<Vec<TrajectoryResult>, DeviceError>;

    fn energy(&self, slot: usize) -> i64;

    fn values(&self, slot: usize) -> Result<Vec<u16>, DeviceError>;

    fn bytes(&self) -> u64;

    /// Returns the compilation of the kernel, if it was compiled for this run.
    fn compiled(&self) -> Option<Compiled> {
        None
    }

    /// Returns the speed of trajectories relative to one core of the CPU.
    fn speed(&self) -> u64 {
        1
    }
}

/// The states on the CPU, and a child of each.
#[derive(Debug, Default)]
pub(crate) struct CpuBackend {
    pub states: Vec<GuidedState>,
    children: Vec<GuidedState>,
    /// Whether states keep the cost of each value up to date.
    keeps: bool,
}

impl CpuBackend {
    /// Returns the round's context with this backend's choice of keeping costs.
    fn round<'a>(&self, round: &RoundContext<'a>) -> RoundContext<'a> {
        RoundContext { keeps: self.keeps, ..*round }
    }
}

/// Returns whether `states` states keep the costs of all values up to date, instead of computing them at each visit.
pub(crate) fn keeps(round: &RoundContext<'_>, states: usize) -> bool {
    round.context.tables.all_copied() && round.layout.moves() * states <= MOST_KEPT
}

impl Backend for CpuBackend {
    fn open(&mut self, round: &RoundContext<'_>, starts: Vec<Vec<u16>>) -> Result<(), DeviceError> {
        self.keeps = keeps(round, 2 * starts.len());
        let round = self.round(round);
        let begin = |values| {
            let mut state = GuidedState::default();
            state.begin(&round, values);
            state
        };
        self.states = threads::map(starts, begin);
        self.children.clear();
        self.children.resize_with(self.states.len(), GuidedState::default);
        Ok(())
    }

    fn begin(&mut self, round: &RoundContext<'_>, slot: usize, values: Vec<u16>) -> Result<(), DeviceError> {
        let round = self.round(round);
        self.states[slot].begin(&round, values);
        Ok(())
    }

    fn run(&mut self, visit: &Visit<'_>, batch: &Batch<'_>, stop: &Stop) -> Result<Vec<TrajectoryResult>, DeviceError> {
        let visit = Visit { round: self.round(&visit.round), heuristic: visit.heuristic };
        if visit.round.guidance.is_some() {
            // states also keep their values in the form that mini-buckets read
            self.states.iter_mut().filter(|state| state.wide.is_empty()).for_each(GuidedState::widen);
        }
        let slots = self.states.iter_mut().zip(&mut self.children).zip(batch.trajectories).enumerate();
        let run = |(slot, ((state, child), &(_, trajectory))): (usize, ((&mut GuidedState, &mut GuidedState), _))| {
            let mut scratch = Scratch::default();
            child.clone_from(state);
            *child.rng() = batch.stream(slot);
            let trajectory: Trajectory = trajectory;
            let complete = trajectory.run(&visit, batch.schedule, child, &mut scratch, stop);
            if !complete && child.least() < state.energy {
                child.return_to_best(&visit.round, &mut scratch.row);
            }
            let result = TrajectoryResult {
                complete,
                better: child.energy < state.energy,
                moves: child.moves,
                picks: child.picks,
                weightless: child.weightless,
                senseless: child.senseless,
                strange: None,
                fault: child.fault.take(),
            };
            match complete {
                true if child.energy > state.energy => state.learn_from(child),
                false if child.energy >= state.energy => {}
                _ => std::mem::swap(state, child),
            }
            result
        };
        Ok(threads::map(slots, run))
    }

    fn energy(&self, slot: usize) -> i64 {
        self.states[slot].energy
    }

    fn values(&self, slot: usize) -> Result<Vec<u16>, DeviceError> {
        Ok(self.states[slot].values.clone())
    }

    fn bytes(&self) -> u64 {
        self.states.iter().chain(&self.children).map(GuidedState::bytes).sum()
    }
}
