//! Search steered by a plug-in heuristic: a population of states, each of which makes trajectories of FANG passes.
//!
//! A child of each state makes a trajectory. In its passes over all variables the heuristic computes weights of values
//! and FANG samples, while the temperature falls. Between passes, groups proposed by the heuristic's neighbourhood are
//! tried. A pass of lowest-cost values ends the trajectory. The child is the best assignment of its trajectory, and
//! replaces its parent unless it is worse, as in `anneal`. So states drift over plateaus, no better one is lost, and
//! heuristics may go uphill within a trajectory. (Metropolis' rule between parent and child would count the temperature
//! twice.) A bandit chooses the lengths and initial temperatures of trajectories by their gains.
//!
//! Costs of all values are kept up to date as in tabu search ([`MoveLayout`]), because passes of most heuristics change
//! few values. If tables are too large, and on a device, costs are computed at each visit.
//!
//! The host decides which trajectories come next and which states restart. The states belong to a `Backend`: on the
//! CPU, or on a device with equal states after every round.

mod arguments;
mod backend;
mod cuda;
#[cfg(test)]
mod cuda_tests;
mod guidance;
mod idle;
mod network;
mod report;
mod round_context;
#[cfg(test)]
mod satellite_tests;
pub mod speed;
mod state;
#[cfg(test)]
mod tests;
mod trajectory;
mod visit;

pub(crate) use crate::core::context::SearchContext;

pub use network::sources;

use crate::constants::guided::{LENGTHS, LONGEST, MOVED, OPENING_STATES, SHORTEST, STARTS};
use crate::core::bandit::Bandit;
use crate::core::driver::{Driver, Setup};
use crate::core::effort::Effort;
use crate::core::elite::Elite;
use crate::core::layout::MoveLayout;
use crate::core::picks::Picks;
use crate::core::pool::{POOL, Pool, Translate};
use crate::core::population::{clipped, most_states};
use crate::core::schedule::Schedule;
use crate::core::tuning::schedule::ENDS;
use crate::device::{Cuda, DeviceError, Opened};
use crate::elimination::Outcome;
use crate::heuristics::{Needs, ValueHeuristic};
use crate::rng::{Rng, mix};
use crate::stop::Stop;
use crate::threads;
use crate::tuning::tuning;
use backend::{Backend, Batch, CpuBackend, TrajectoryResult};
use cuda::CudaBackend;
use guidance::MiniBucketGuidance;
use round_context::RoundContext;
use state::GuidedState;
use std::sync::Arc;
use trajectory::Trajectory;
use visit::Visit;

/// Makes the driver, if a heuristic is given.
pub fn make(setup: &mut Setup<'_>) -> Option<Box<dyn Driver>> {
    let heuristic = setup.heuristic.clone()?;
    Some(Box::new(Guided::new(heuristic, setup.asserts, setup.device.clone(), setup.stream())))
}

/// The guided driver.
pub(crate) struct Guided {
    heuristic: Arc<dyn ValueHeuristic>,
    rng: Rng,
    asserts: bool,
    /// The device, while it works.
    device: Option<Arc<Cuda>>,
    backend: Box<dyn Backend>,
    /// For each state, the number of trajectories since the last improvement; empty before the first round.
    stalled: Vec<u32>,
    /// The layout of the problem, made when it is first needed.
    layout: Option<Arc<MoveLayout>>,
    schedule: Option<Schedule>,
    bandit: Bandit,
    guidance: Option<MiniBucketGuidance>,
    /// Number of mini-buckets that have guided so far.
    guidance_count: u64,
    /// Whether invalid behaviour of the heuristic was reported.
    reported: bool,
    /// Whether the heuristic has sampled a value or proposed a group.
    acted: bool,
}

impl Guided {
    /// Creates a driver without states. Its trajectories are made on the device, if there is one and the heuristic has
    /// a CUDA source. With `asserts` every assignment is verified.
    pub fn new(heuristic: Arc<dyn ValueHeuristic>, asserts: bool, device: Option<Arc<Cuda>>, rng: Rng) -> Self {
        Guided {
            heuristic,
            rng,
            asserts,
            device,
            backend: Box::new(CpuBackend::default()),
            stalled: Vec::new(),
            layout: None,
            schedule: None,
            bandit: Bandit::new(LENGTHS.len() * STARTS.len(), 0.2),
            guidance: None,
            guidance_count: 0,
            reported: false,
            acted: false,
        }
    }

    /// Returns a random assignment, or what the heuristic makes of it.
    fn start(heuristic: &dyn ValueHeuristic, context: &SearchContext, rng: &mut Rng) -> Vec<u16> {
        let mut values: Vec<u16> =
            (0..context.variables()).map(|v| rng.index(context.tables.domain(v)) as u16).collect();
        if let Some(start) = heuristic.start() {
            let shown = values.clone();
            start.start(&context.view(&shown), rng, &mut values);
            // values beyond a domain are invalid
            for (v, value) in values.iter_mut().enumerate() {
                *value = (*value).min(context.tables.domain(v) as u16 - 1);
            }
        }
        values
    }

    /// Returns the trajectories of a round.
    fn trajectories(&mut self, context: &SearchContext) -> Vec<(usize, Trajectory)> {
        let longest = (tuning().guided.round_work / (tuning().guided.states as u64 * context.sweep_work).max(1))
            .clamp(SHORTEST, LONGEST);
        let mut choose = |_| {
            let arm = self.bandit.choose(self.rng.unit());
            let passes = (longest / LENGTHS[arm / STARTS.len()]).max(2) as u32;
            (arm, Trajectory { passes, start: STARTS[arm % STARTS.len()] })
        };
        (0..self.stalled.len()).map(&mut choose).collect()
    }
}

/// Returns a trajectory for opening a run.
fn opening_trajectory(context: &SearchContext) -> Trajectory {
    let most = tuning().guided.opening_work / (OPENING_STATES as u64 * context.sweep_work).max(1);
    Trajectory { passes: most.clamp(1, tuning().guided.opening_passes) as u32, start: 1.0 }
}

/// Checks whether a heuristic that is for devices runs on the device. Returns a message for the user if it does not.
pub fn ready(
    context: &SearchContext,
    heuristic: &dyn ValueHeuristic,
    device: &Opened,
    asserts: bool,
) -> Result<(), String> {
    let Some(cuda) = &device.cuda else {
        return Err(format!("a heuristic in CUDA needs a device, and there is none: {device}"));
    };
    if let Some(what) = cuda::unfit(context, heuristic) {
        return Err(format!("{what}, and a heuristic in CUDA weighs nothing on the CPU"));
    }
    if context.variables() == 0 {
        return Ok(());
    }
    // compiled kernels are cached
    let layout = layout_of(context);
    let round = RoundContext::new(context, &layout, heuristic.needs(), asserts);
    let backend = CudaBackend::new(cuda, &round, heuristic, wanted(context));
    backend.map(|_| ()).map_err(|error| error.to_string())
}

/// Returns the number of states, if it does not depend on the device.
fn wanted(context: &SearchContext) -> Option<usize> {
    context.population.map(|wanted| wanted.max(1)).or(context.portable.then_some(tuning().guided.states))
}

/// Returns the layout of a problem's moves.
fn layout_of(context: &SearchContext) -> Arc<MoveLayout> {
    let no_stop = Stop::new();
    let layout = context.layout(&no_stop).expect("no stop is set").cloned();
    layout.unwrap_or_else(|| Arc::new(MoveLayout::new(&context.tables, &no_stop).expect("no stop is set")))
}

impl Driver for Guided {
    fn population(&self) -> usize {
        self.stalled.len()
    }

    fn weight(&self, _: &SearchContext, _: &Pool) -> f64 {
        tuning().guided.weight
    }

    fn begins(&self, _: &SearchContext) -> u64 {
        tuning().guided.begin
    }

    /// Makes trajectories on the CPU from the first solution, by temporary states: before a device is open, and in a
    /// repeatable run, whose result must not depend on the device.
    fn open_run(&mut self, context: &SearchContext, pool: &mut Pool, stop: &Stop) -> Option<Effort> {
        let may = !self.heuristic.is_for_devices() && (self.device.is_none() || context.portable);
        let first = pool.elites().first().filter(|_| may && context.variables() > 0)?.values.clone();
        let layout = layout_of(context);
        let round = RoundContext::new(context, &layout, self.heuristic.needs(), self.asserts);
        let mut start = |slot: usize| match self.heuristic.start() {
            // every second one begins at the heuristic's own start, if it has one
            Some(_) if slot % 2 == 1 => Self::start(&*self.heuristic, context, &mut self.rng.split()),
            _ => first.clone(),
        };
        let starts = (0..OPENING_STATES).map(&mut start).collect();
        let trajectories = [(0, opening_trajectory(context)); OPENING_STATES];
        let visit = Visit { round: RoundContext { incumbent: Some(&first), ..round }, heuristic: &*self.heuristic };
        let batch = Batch { draw: self.rng.draw(), schedule: context.schedule, trajectories: &trajectories };
        let (mut backend, mut effort) = (CpuBackend::default(), Effort::default());
        // trajectories on the CPU do not fail
        backend.open(&round, starts).ok()?;
        let results = backend.run(&visit, &batch, stop).ok()?;
        self.account(context, &backend, &trajectories, &results, &mut effort);
        effort.nonsense = self.report(&round, &results, stop);
        backend.states.iter().for_each(|state| pool.offer(&Elite::new(&context.tables, state.values.clone())));
        self.layout = Some(layout);
        Some(effort)
    }

    fn round(&mut self, context: &SearchContext, pool: &mut Pool, stop: &Stop) -> Effort {
        // without a device a heuristic in CUDA has nothing to do
        if context.variables() == 0 || self.heuristic.is_for_devices() && self.device.is_none() {
            return Effort { work: 1_000_000, ..Effort::default() };
        }
        let layout = self.layout.take().unwrap_or_else(|| layout_of(context));
        let guidance = self.guidance.take();
        let incumbent = pool.elites().first().map(|elite| elite.values.clone());
        let reduced = context.reduced();
        let round = RoundContext {
            incumbent: incumbent.as_deref(),
            reduced: reduced.as_ref().map(|reduced| &reduced[..]),
            guidance: guidance.as_ref().and_then(MiniBucketGuidance::shown),
            ..RoundContext::new(context, &layout, self.heuristic.needs(), self.asserts)
        };
        let mut effort = Effort::default();
        if let Err(error) = self.advance(&round, pool, stop, &mut effort) {
            // the pool has the elites, and new states begin on the CPU
            self.device = None;
            self.stalled.clear();
            effort.lost = Some(error);
        }
        self.layout = Some(layout);
        self.guidance = guidance;
        effort
    }

    fn guide(&mut self, outcome: &Arc<Outcome>) {
        if !self.heuristic.needs().any(Needs::H) {
            return;
        }
        self.guidance_count += 1;
        if let Some(guidance) = MiniBucketGuidance::new(outcome, self.guidance_count) {
            if !guidance.is_dense() && self.device.is_some() {
                // the pool has the elites of the device's states, and new states begin on the CPU
                self.stalled.clear();
            }
            self.guidance = Some(guidance);
        }
    }

    fn rebase(&mut self, context: &SearchContext, translate: &Translate<'_>) {
        self.guidance = None;
        self.schedule = None;
        self.layout = None;
        let mut slots: Vec<usize> = (0..std::mem::take(&mut self.stalled).len()).collect();
        slots.sort_by_key(|&slot| (self.backend.energy(slot), slot));
        slots.truncate(MOVED);
        slots.sort_unstable();
        if slots.is_empty() || context.variables() == 0 {
            return;
        }
        let layout = layout_of(context);
        let round = RoundContext::new(context, &layout, self.heuristic.needs(), self.asserts);
        let moved = slots.iter().map(|&slot| self.backend.values(slot)).collect::<Result<Vec<_>, _>>();
        // the memory of states refers to the old problem's values. A device that fails now fails again in the next
        // round, which reports it
        if let Ok(moved) = moved
            && let Ok(count) = self.choose(&round, &mut Effort::default())
        {
            let moved = threads::map(&moved, |values| translate(values).map(|elite| elite.values));
            let Some(moved) = moved.into_iter().collect::<Option<Vec<Vec<u16>>>>() else { return };
            let starts = moved.iter().cycle().take(count).cloned().collect();
            if self.backend.open(&round, starts).is_ok() {
                self.stalled = vec![0; count];
            }
        }
        self.layout = Some(layout);
    }
}

impl Guided {
    /// Chooses the backend of the next trajectories and returns the number of states. `effort` receives the reason if
    /// it is not the device although there is one, or if there are fewer states than requested.
    fn choose(&mut self, round: &RoundContext<'_>, effort: &mut Effort) -> Result<usize, DeviceError> {
        let context = round.context;
        let wanted = wanted(context);
        let on_host = |told: &mut Option<String>| match context.population {
            // its values, and lists of numbers for variables and for values; twice, for its child
            Some(wanted) => {
                let state = size_of::<GuidedState>() + 24 * context.variables() + 4 * context.tables.moves();
                clipped(wanted, most_states(2 * state), told)
            }
            None => tuning().guided.states,
        };
        let Some(device) = &self.device else {
            self.backend = Box::new(CpuBackend::default());
            return Ok(on_host(&mut effort.clipped));
        };
        let lists = round.guidance.as_ref().is_some_and(|guidance| !guidance.to_go.is_dense());
        let lists = || lists.then(|| "the mini-buckets' messages are lists, which devices do not look up".to_string());
        if let Some(what) = cuda::unfit(context, &*self.heuristic).or_else(lists) {
            effort.note = Some(format!("{}: {what}: its trajectories are made on the CPU", device.label()));
            self.backend = Box::new(CpuBackend::default());
            return Ok(on_host(&mut effort.clipped));
        }
        // the old memory is freed before new memory is allocated
        self.backend = Box::new(CpuBackend::default());
        let backend = CudaBackend::new(device, round, &*self.heuristic, wanted)?;
        let count = match wanted {
            Some(wanted) => clipped(wanted, backend.most()?, &mut effort.clipped),
            None => backend.suitable()?,
        };
        self.backend = Box::new(backend);
        Ok(count)
    }

    /// Creates the first states.
    fn open(
        &mut self,
        round: &RoundContext<'_>,
        pool: &mut Pool,
        draw: u64,
        effort: &mut Effort,
    ) -> Result<(), DeviceError> {
        let count = self.choose(round, effort)?;
        let heuristic = &*self.heuristic;
        let start = |slot| Self::start(heuristic, round.context, &mut Rng::new(mix(draw, slot as u64)));
        self.backend.open(round, threads::map(0..count, start))?;
        self.stalled = vec![0; count];
        self.offer(round, pool, (0..count).collect())
    }

    fn advance(
        &mut self,
        round: &RoundContext<'_>,
        pool: &mut Pool,
        stop: &Stop,
        effort: &mut Effort,
    ) -> Result<(), DeviceError> {
        let context = round.context;
        let draw = self.rng.draw();
        if self.stalled.is_empty() {
            self.open(round, pool, draw, effort)?;
        }
        let schedule = self.schedule.unwrap_or(context.schedule);
        let trajectories = self.trajectories(context);
        let visit = Visit { round: *round, heuristic: &*self.heuristic };
        let batch = Batch { draw, schedule, trajectories: &trajectories };
        let results = self.backend.run(&visit, &batch, stop)?;
        self.account(context, &*self.backend, &trajectories, &results, effort);
        let better = (0..results.len()).filter(|&slot| results[slot].better).collect();
        if results.iter().any(|result| !result.complete) {
            // the run is over: results count, and nothing else begins
            effort.nonsense = self.report(round, &results, stop);
            return self.offer(round, pool, better);
        }
        if self.schedule.is_none() {
            let samples =
                (0..self.stalled.len().min(4)).map(|slot| self.backend.values(slot)).collect::<Result<Vec<_>, _>>()?;
            let samples: Vec<&[u16]> = samples.iter().map(|values| &values[..]).collect();
            self.schedule = Some(context.schedule.narrowed(&context.tables, &samples, ENDS[0]));
        }
        for ((result, &(arm, trajectory)), stalled) in results.iter().zip(&trajectories).zip(&mut self.stalled) {
            self.bandit.note(arm, if result.better { 1.0 } else { 0.0 }, f64::from(trajectory.passes));
            *stalled = if result.better { 0 } else { *stalled + 1 };
        }
        self.bandit.update();
        self.offer(round, pool, better)?;
        let begun = self.renew(round, pool)?;
        // random assignments are useless to other drivers
        if self.heuristic.start().is_some() {
            self.offer(round, pool, begun)?;
        }
        effort.nonsense = self.report(round, &results, stop);
        Ok(())
    }

    /// Adds up the results of trajectories.
    fn account(
        &self,
        context: &SearchContext,
        backend: &dyn Backend,
        trajectories: &[(usize, Trajectory)],
        results: &[TrajectoryResult],
        effort: &mut Effort,
    ) {
        let mut picks = Picks { rounds: 1, bytes: backend.bytes(), compiled: backend.compiled(), ..Picks::default() };
        results.iter().for_each(|result| picks.add(&result.picks));
        let n = context.variables() as u64;
        let passes: u64 = trajectories.iter().map(|(_, trajectory)| u64::from(trajectory.passes) + 1).sum();
        let moves: u64 = results.iter().map(|result| result.moves).sum();
        // a visit reads its row, and a change reads its neighbours' rows, twice
        let change = 2 * context.sweep_work / n.max(1);
        picks.settled = moves.saturating_sub(picks.changed + picks.taken_changed);
        effort.moves = moves;
        effort.ratings = picks.ratings;
        effort.work = (40 * n * passes + 4 * picks.ratings + change * moves) / backend.speed();
        effort.fault = results.iter().find_map(|result| result.fault.clone());
        effort.picks = picks;
    }

    /// Offers the best of some states to the pool.
    fn offer(&self, round: &RoundContext<'_>, pool: &mut Pool, mut slots: Vec<usize>) -> Result<(), DeviceError> {
        slots.sort_by_key(|&slot| (self.backend.energy(slot), slot));
        slots.truncate(POOL);
        for slot in slots {
            let values = self.backend.values(slot)?;
            let (told, counted) = (self.backend.energy(slot), round.energy(&values));
            if told != counted && self.device.is_some() && round.exact() {
                // memory or a kernel of the device is faulty; `--assert` covers the states of the CPU
                let cause = format!("a state's cost is {told}, counted again {counted}");
                return Err(DeviceError::Failed { what: "comparing energies".into(), cause });
            }
            pool.offer(&Elite::new(&round.context.tables, values));
        }
        Ok(())
    }

    /// Restarts states that have stagnated, at an elite of the pool or at the heuristic's start. Returns those of the
    /// latter kind.
    fn renew(&mut self, round: &RoundContext<'_>, pool: &Pool) -> Result<Vec<usize>, DeviceError> {
        let mut begun = Vec::new();
        for slot in 0..self.stalled.len() {
            if self.stalled[slot] < tuning().guided.patience {
                continue;
            }
            let mut rng = Rng::new(self.rng.draw());
            let elites = pool.elites();
            let values = match elites.get(rng.index(elites.len().max(1))) {
                Some(elite) if rng.below(2) == 0 => elite.values.clone(),
                _ => {
                    begun.push(slot);
                    Self::start(&*self.heuristic, round.context, &mut rng)
                }
            };
            self.backend.begin(round, slot, values)?;
            self.stalled[slot] = 0;
        }
        Ok(begun)
    }
}
