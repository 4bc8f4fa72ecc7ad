//! The ledger of a run: the best-known solution and bound, the counters, and the events that their changes make.
//!
//! All threads of a run share one ledger. A change and its event are made under one lock, so that events are in the
//! order of the changes, and their times do not fall. The publisher takes the events out and reports them.

use crate::annealing::state_bytes;
use crate::bounds::{BestKnown, Incumbent, LowerBound, Proof};
use crate::checkpoint::{Checkpoint, Resumed};
use crate::core::context::SearchContext;
use crate::core::driver::DriverState;
use crate::core::gap_watch::GapWatch;
use crate::core::picks::Picks;
use crate::event::{Event, EventKind, Facts, StoppedBy, gap};
use crate::model::{Cost, Network, Number};
use crate::options::Options;
use crate::reduce::{ReducedProblem, Reduction, Size};
use crate::stop::Stop;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The times of a run: those of its clock, for threads that share it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timer {
    pub origin: Instant,
    /// Seconds used by earlier runs.
    pub before: f64,
}

impl Timer {
    /// Returns the seconds since the origin, plus those that earlier runs have used.
    pub fn seconds(&self) -> f64 {
        self.before + self.origin.elapsed().as_secs_f64()
    }
}

/// A run's reaction to events and rounds: publishes them if the run has no thread for that.
pub(crate) type Pulse<'a> = &'a mut dyn FnMut();

/// The drivers' part of a checkpoint; the ledger has the rest.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunState {
    pub elites: Vec<Vec<u32>>,
    pub drivers: BTreeMap<String, DriverState>,
}

impl RunState {
    /// Returns the state of a resumed checkpoint, before the run begins.
    fn of(resumed: &Resumed) -> RunState {
        let Checkpoint { elites, drivers, .. } = &resumed.checkpoint;
        RunState { elites: elites.clone(), drivers: drivers.clone() }
    }
}

/// The best-known solution and bound of a run and its events; clones share them.
#[derive(Clone)]
pub(crate) struct Ledger(Arc<Shared>);

struct Shared {
    network: Network,
    timer: Timer,
    gap: GapWatch,
    state: Mutex<State>,
    /// Signals an event or the end of the work.
    news: Condvar,
}

/// The contents of a ledger.
pub(crate) struct State {
    pub known: BestKnown,
    /// The counters at the last event.
    pub totals: Totals,
    /// The counters since then, if they have changed.
    progress: Option<Totals>,
    /// The source of the last event.
    pub source: Arc<str>,
    /// Seconds until the search began.
    pub search_began: Option<f64>,
    facts: Option<Arc<Facts>>,
    /// The remaining devices, after one has failed.
    pub left: Option<String>,
    events: VecDeque<Event>,
    /// The last state for each keeper, and whether it is still to be sent.
    pub states: Vec<(RunState, bool)>,
    /// The time at which the work ended, which later writing and reporting do not change.
    ended: Option<f64>,
    /// Whether nothing works on the run any more.
    is_idle: bool,
}

impl Ledger {
    /// Begins with the constant bound of the network, or with a resumed checkpoint.
    pub fn new(network: &Network, timer: Timer, options: &Options, stop: &Stop) -> Ledger {
        let resumed = options.keeping.resumed();
        let mut known = BestKnown::new(network);
        if let Some(resumed) = resumed {
            resume(&mut known, network, resumed);
        }
        let state = resumed.map(RunState::of).unwrap_or_default();
        let source = if resumed.is_some() { "resume".into() } else { known.bound().source.clone() };
        let watch = GapWatch::new(known.upper().min(network.top()), stop);
        let state = State {
            known,
            totals: Totals::resumed(options),
            progress: None,
            source,
            search_began: None,
            facts: None,
            left: None,
            events: VecDeque::new(),
            states: vec![(state, false); options.keeping.keepers.len()],
            ended: None,
            is_idle: false,
        };
        let (network, state, news) = (network.clone(), Mutex::new(state), Condvar::new());
        Ledger(Arc::new(Shared { network, timer, gap: watch, state, news }))
    }

    /// Begins the ledger of a run without options.
    #[cfg(test)]
    pub fn of(network: &Network, stop: &Stop) -> Ledger {
        Ledger::new(network, Timer { origin: Instant::now(), before: 0.0 }, &Options::default(), stop)
    }

    /// Locks the contents, which are complete even if a thread has panicked.
    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the clock of the run.
    pub fn timer(&self) -> Timer {
        self.0.timer
    }

    /// Returns the watch over the gap, for work that reports costs and bounds before they are checked.
    pub fn gap(&self) -> &GapWatch {
        &self.0.gap
    }

    /// Returns the least cost in the network's units with the best value in the file's convention, and the best lower
    /// bound, of this run or another.
    pub fn ends(&self) -> (Option<(Cost, Number)>, Cost) {
        let state = self.lock();
        (state.known.costs(), state.known.bound().cost)
    }

    /// Returns the least cost of a solution, in the network's units; `FORBIDDEN` before the first one.
    pub fn upper(&self) -> Cost {
        self.lock().known.upper()
    }

    /// Returns the cost that a better solution must stay below: that of the best one, or the network's top.
    pub fn limit(&self) -> Cost {
        self.upper().min(self.0.network.top())
    }

    /// Returns the best lower bound, of this run or another.
    pub fn bound(&self) -> Cost {
        self.lock().known.bound().cost
    }

    /// Returns the best lower bound that this run has proved.
    pub fn proved(&self) -> Cost {
        self.lock().known.proved().cost
    }

    /// Returns the least cost in the network's units and the best value in the file's convention.
    pub fn costs(&self) -> Option<(Cost, Number)> {
        self.lock().known.costs()
    }

    /// Takes a solution that the independent evaluator has checked. Returns whether it costs less than all before.
    pub fn offer(&self, cost: Cost, value: Number, assignment: &[u32], source: &str) -> bool {
        let Shared { network, gap, .. } = &*self.0;
        let mut state = self.lock();
        let Some(time_s) = self.time(&state) else { return false };
        let solution = Incumbent { cost, value, assignment: assignment.into(), source: source.into(), time_s };
        let Some(improved) = state.known.offer(network.units(), solution) else { return false };
        gap.found(cost);
        if let Some(LowerBound { cost: bound, source: from, .. }) = improved.refuted {
            let bound = network.bound(bound).map_or("it".into(), |bound| bound.to_string());
            let message =
                format!("the bound {bound} of another run ({from}) is refused: {source} has a solution of {value}");
            self.push(&mut state, EventKind::Warning, Some(message));
        }
        if improved.is_incumbent {
            state.source = source.into();
            self.push(&mut state, EventKind::Solution, None);
        }
        true
    }

    /// Takes a lower bound that this run has proved, with its proof if there is one.
    pub fn raise(&self, cost: Cost, source: &str, proof: Option<Proof>) {
        let mut state = self.lock();
        let Some(time_s) = self.time(&state) else { return };
        let _ = state.search_began.get_or_insert(time_s);
        self.0.gap.proved(cost);
        let bound = LowerBound { cost, source: source.into(), time_s };
        if state.known.raise(bound, proof) {
            state.source = source.into();
            self.push(&mut state, EventKind::Bound, None);
        }
    }

    /// Takes a lower bound of another run.
    pub fn adopt(&self, cost: Cost, source: &str) {
        let mut state = self.lock();
        let Some(time_s) = self.time(&state) else { return };
        if state.known.adopt(LowerBound { cost, source: source.into(), time_s }) {
            state.source = source.into();
            self.push(&mut state, EventKind::Bound, None);
        }
    }

    /// Sets the counters for the events that follow.
    pub fn count(&self, totals: Totals) {
        self.lock().totals = totals;
    }

    /// Notes the counters after a round. Rounds may be as short as microseconds, so they make no event.
    pub fn progress(&self, totals: Totals) {
        let mut state = self.lock();
        state.progress = Some(totals);
        if state.search_began.is_none() {
            state.search_began = self.time(&state);
        }
    }

    /// Returns the counters noted since the last call or tick.
    pub fn take_progress(&self) -> Option<Totals> {
        self.lock().progress.take()
    }

    /// Makes an event of this kind with the present numbers.
    pub fn tell(&self, kind: EventKind) {
        let mut state = self.lock();
        if let Some(progress) = state.progress.take_if(|_| kind == EventKind::Tick)
            && progress.rounds > state.totals.rounds
        {
            state.totals = progress;
        }
        self.push(&mut state, kind, None);
    }

    /// Reports a note for the user.
    pub fn note(&self, message: String) {
        self.push(&mut self.lock(), EventKind::Note, Some(message));
    }

    /// Reports a failure that the run survives.
    pub fn warn(&self, message: String) {
        self.push(&mut self.lock(), EventKind::Warning, Some(message));
    }

    /// Reports that a part of the run, such as a driver, ended by an internal error; the rest continues.
    pub fn lose(&self, part: &str, message: String) {
        let mut state = self.lock();
        let source = std::mem::replace(&mut state.source, part.into());
        self.push(&mut state, EventKind::Warning, Some(message));
        state.source = source;
    }

    /// Reports that a device failed; the run continues on the remaining ones, `left`.
    pub fn lose_device(&self, message: String, left: String) {
        let mut state = self.lock();
        state.left = Some(left);
        self.push(&mut state, EventKind::Warning, Some(message));
    }

    /// Reports the sizes and memory of the run.
    pub fn facts(&self, facts: Facts) {
        let Reduction { before, after, .. } = &facts.reduction;
        let size = |size: &Size| format!("{} variables with {} values", size.variables, size.values);
        let message = format!("{}; the reductions leave {}", size(before), size(after));
        let mut state = self.lock();
        state.facts = Some(facts.into());
        self.push(&mut state, EventKind::Note, Some(message));
    }

    /// Keeps the drivers' state for a keeper, given by its index.
    pub fn keep(&self, keeper: usize, run_state: RunState) {
        self.lock().states[keeper] = (run_state, true);
        self.0.news.notify_all();
    }

    /// Returns the drivers' state for a keeper if it has not been sent.
    pub fn take_state(&self, keeper: usize) -> Option<RunState> {
        let (state, is_due) = &mut self.lock().states[keeper];
        std::mem::take(is_due).then(|| state.clone())
    }

    /// Returns the events since the last call, in their order.
    pub fn take_events(&self) -> VecDeque<Event> {
        std::mem::take(&mut self.lock().events)
    }

    /// Waits for an event or the end of the work, at most for `time`. Returns whether the work has ended.
    pub fn wait(&self, time: Duration) -> bool {
        let nothing = |state: &mut State| {
            state.events.is_empty() && !state.is_idle && state.states.iter().all(|(_, is_due)| !is_due)
        };
        let waited = self.0.news.wait_timeout_while(self.lock(), time, nothing);
        waited.unwrap_or_else(PoisonError::into_inner).0.is_idle
    }

    /// Begins work on the run, which ends when the guard is dropped.
    pub fn begin_work(&self) -> Work {
        self.lock().is_idle = false;
        Work(self.clone())
    }

    /// Ends the run: later solutions and bounds do not count. Returns the time.
    pub fn end(&self) -> f64 {
        *self.lock().ended.get_or_insert_with(|| self.0.timer.seconds())
    }

    /// Returns the time, which stands still once the run has ended.
    pub fn seconds(&self, state: &State) -> f64 {
        state.ended.unwrap_or_else(|| self.0.timer.seconds())
    }

    /// Returns the time of a change; `None` once the run has ended.
    fn time(&self, state: &State) -> Option<f64> {
        state.ended.is_none().then(|| self.0.timer.seconds())
    }

    fn push(&self, state: &mut State, kind: EventKind, message: Option<String>) {
        let network = &self.0.network;
        let with_solution = matches!(kind, EventKind::Solution | EventKind::End);
        let (known, totals) = (&state.known, &state.totals);
        let event = Event {
            kind,
            time_s: self.seconds(state),
            cost: known.incumbent().map(|best| best.value),
            bound: network.bound(known.bound().cost),
            gap: gap(network, known.costs(), known.bound().cost),
            maximise: Some(network.units().maximise),
            round: totals.rounds,
            moves: totals.moves,
            ratings: totals.ratings,
            source: state.source.clone(),
            solution: known.incumbent().filter(|_| with_solution).map(|best| best.assignment.clone()),
            message: message.map(Into::into),
            facts: state.facts.clone(),
        };
        state.events.push_back(event);
        self.0.news.notify_all();
    }
}

/// Work on a run. Dropping it tells [`Ledger::wait`] that the work has ended.
pub(crate) struct Work(Ledger);

impl Drop for Work {
    fn drop(&mut self) {
        self.0.lock().is_idle = true;
        self.0.0.news.notify_all();
    }
}

/// Begins with the solution and the bound of a checkpoint.
fn resume(known: &mut BestKnown, network: &Network, resumed: &Resumed) {
    let Checkpoint { solution, bound, time_s, .. } = &resumed.checkpoint;
    if let (Some(found), Some(cost)) = (solution, resumed.upper) {
        let (assignment, source) = (found.values[..].into(), found.source[..].into());
        let solution = Incumbent { cost, value: found.value, assignment, source, time_s: found.time_s };
        let _ = known.offer(network.units(), solution);
    }
    let _ = known.adopt(LowerBound { cost: bound.cost, source: bound.source[..].into(), time_s: *time_s });
}

/// What a run reports its sizes and memory from.
pub(crate) struct RunFacts<'a> {
    pub core: &'a ReducedProblem,
    pub context: &'a SearchContext,
    pub options: &'a Options,
}

impl RunFacts<'_> {
    pub fn facts(&self) -> Facts {
        Facts {
            reduction: self.core.report(),
            table_bytes: self.context.tables.bytes(),
            state_bytes: state_bytes(self.context) as u64,
            bound_bytes: self.options.bounder().memory,
        }
    }
}

/// The counters of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    pub rounds: u64,
    pub moves: u64,
    pub ratings: u64,
    pub population: usize,
    pub picks: Picks,
}

impl Totals {
    /// Returns the counters of the runs that this run continues.
    pub fn resumed(options: &Options) -> Totals {
        let Some(resumed) = options.keeping.resumed() else { return Totals::default() };
        let Checkpoint { rounds, moves, ratings, .. } = resumed.checkpoint;
        Totals { rounds, moves, ratings, ..Totals::default() }
    }

    /// Adds the counters of a later run, whose number of states replaces this one.
    pub fn and(&self, later: &Totals) -> Totals {
        let mut picks = self.picks;
        picks.add(&later.picks);
        Totals {
            rounds: self.rounds + later.rounds,
            moves: self.moves + later.moves,
            ratings: self.ratings + later.ratings,
            population: later.population,
            picks,
        }
    }
}

/// How a run ended, for the summary.
#[derive(Clone, Debug)]
pub(crate) struct Ending {
    pub stopped_by: StoppedBy,
    pub totals: Totals,
    pub z: Option<u32>,
    pub induced_width: Option<u32>,
    /// Number of values of the first reduced problem.
    pub values: Option<usize>,
    /// Number of values that bounds have excluded from all better solutions.
    pub values_forbidden: Option<usize>,
    pub device: String,
}
