//! The publisher of a run: owns the clock, receives the loop's messages, and reports events to the observer.

use super::clock::Clock;
use super::early::EarlyBounding;
use super::goal::reached;
use super::messages::{Ending, Message, RunState, Totals};
use super::rules::Record;
use crate::bounds::{CONSTANT, Proof, weaker};
use crate::checkpoint::{Checkpoint, Found, Proved, Resumed};
use crate::event::{Event, EventKind, Facts, Status, StoppedBy, Summary, gap};
use crate::model::{Cost, Network, Number};
use crate::options::Options;
use crate::reduce::{Reduction, Size};
use crate::stop::Stop;
use crate::tuning::run::PATIENCE;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Time between two checks for a tick or a stop while no message arrives.
const LOOK: Duration = Duration::from_millis(20);

/// The publisher and the state that it reports.
pub(crate) struct EventPublisher<'a> {
    network: &'a Network,
    options: &'a Options,
    clock: &'a Clock,
    /// The time at which the work ended, which later writing and reporting do not change.
    ended: Option<f64>,
    observe: &'a mut dyn FnMut(&Event),
    best: Option<(Number, Arc<[u32]>)>,
    /// The solution of least cost in the network's units. Rounding may rank it below `best` in the file's numbers.
    least: Option<(Cost, Arc<[u32]>)>,
    bound: Cost,
    /// The best bound proved here, and its source.
    proved: (Cost, Arc<str>),
    /// The best bound that has a proof.
    proof: (Cost, Proof),
    totals: Totals,
    source: Arc<str>,
    bound_source: Arc<str>,
    search_began: Option<f64>,
    best_at: Option<f64>,
    best_source: Arc<str>,
    /// The last state for each keeper, and whether the keeper has failed.
    states: Vec<(RunState, bool)>,
    /// The remaining devices, after one has failed.
    left: Option<String>,
    next_tick: f64,
    facts: Option<Arc<Facts>>,
    /// The record that the stop rules read, and the flag that they set.
    rules: Option<(Record, Stop)>,
    early: Option<EarlyBounding>,
}

impl<'a> EventPublisher<'a> {
    /// Begins with the bound that the functions' minima give, or with a resumed checkpoint.
    pub fn new(
        network: &'a Network,
        clock: &'a Clock,
        options: &'a Options,
        stop: &Stop,
        observe: &'a mut dyn FnMut(&Event),
    ) -> Self {
        let bound = network.least();
        let resumed = options.keeping.resumed();
        let state = resumed.map(RunState::of).unwrap_or_default();
        let rules = (!options.stop.is_empty()).then(|| (Record::new(&options.stop), stop.clone()));
        let mut publisher = EventPublisher {
            network,
            options,
            clock,
            ended: None,
            observe,
            best: None,
            least: None,
            bound,
            proved: (bound, CONSTANT.into()),
            proof: (bound, Proof::default()),
            totals: Totals::resumed(options),
            source: CONSTANT.into(),
            bound_source: CONSTANT.into(),
            search_began: None,
            best_at: None,
            best_source: CONSTANT.into(),
            states: vec![(state, false); options.keeping.keepers.len()],
            left: None,
            next_tick: clock.seconds().floor() + 1.0,
            facts: None,
            rules,
            early: None,
        };
        if let Some(resumed) = resumed {
            publisher.resume(resumed);
        }
        publisher.tell(EventKind::Start);
        publisher
    }

    /// Sets the bound that is being computed, whose message is taken when it arrives.
    pub fn expect(&mut self, early: Option<EarlyBounding>) {
        self.early = early;
    }

    /// Begins with the solution and the bound of a checkpoint.
    fn resume(&mut self, resumed: &Resumed) {
        let Checkpoint { solution, bound, .. } = &resumed.checkpoint;
        if let (Some(Found { value, source, time_s, values }), Some(upper)) = (solution, resumed.upper) {
            let values: Arc<[u32]> = values[..].into();
            (self.best, self.least) = (Some((*value, values.clone())), Some((upper, values)));
            (self.best_at, self.best_source) = (Some(*time_s), source[..].into());
            if let Some((record, _)) = &mut self.rules {
                record.better(self.clock.seconds(), value.as_f64());
            }
        }
        if bound.cost > self.bound {
            (self.bound, self.bound_source) = (bound.cost, bound.source[..].into());
        }
        self.source = "resume".into();
    }

    /// Returns a checkpoint of everything known, with the loop's state for a keeper.
    fn checkpoint(&self, state: &RunState) -> Checkpoint {
        let Totals { rounds, moves, ratings, .. } = self.totals;
        let found = |(value, values): &(Number, Arc<[u32]>)| Found {
            value: *value,
            source: self.best_source.to_string(),
            time_s: self.best_at.unwrap_or_default(),
            values: values.to_vec(),
        };
        let source = self.bound_source.to_string();
        Checkpoint {
            maximise: self.network.units().maximise,
            seed: self.options.seed,
            time_s: self.seconds(),
            rounds,
            moves,
            ratings,
            solution: self.best.as_ref().map(found),
            bound: Proved { cost: self.bound, value: self.network.bound(self.bound), source },
            elites: state.elites.clone(),
            drivers: state.drivers.clone(),
            ..Checkpoint::new(&self.network.name, self.options.keeping.network())
        }
    }

    /// Sends a checkpoint to a keeper. A failure is reported once.
    fn keep(&mut self, place: usize, is_end: bool) {
        let checkpoint = self.checkpoint(&self.states[place].0);
        match self.options.keeping.keepers[place].keep(checkpoint, is_end) {
            Ok(()) => self.states[place].1 = false,
            Err(message) if is_end || !self.states[place].1 => {
                self.states[place].1 = true;
                self.tell_with(EventKind::Warning, Some(message.into()));
            }
            Err(_) => {}
        }
    }

    /// Receives messages until the loop ends (then `true`) or has not reacted to the stop flag for a while. Reports a
    /// tick every second, with the counters in `progress`.
    pub fn listen(&mut self, message: &Receiver<Message>, progress: &Mutex<Totals>, stop: &Stop) -> bool {
        let mut stopped = None;
        loop {
            let now = self.clock.seconds();
            if stop.is_set() && now - *stopped.get_or_insert(now) > PATIENCE {
                return false;
            }
            self.tick(now, || *progress.lock().unwrap_or_else(PoisonError::into_inner));
            match message.recv_timeout(LOOK) {
                Ok(message) => self.hear(message),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return true,
            }
        }
    }

    /// Like [`Self::listen`], for one message while the loop runs on this thread.
    pub fn hear_and_tick(&mut self, message: Message) {
        let totals = self.totals;
        self.hear(message);
        self.tick(self.clock.seconds(), || totals);
    }

    fn hear_early(&mut self) {
        if let Some(message) = self.early.as_mut().and_then(EarlyBounding::arrived) {
            self.hear(message);
        }
    }

    /// Reports a tick if one is due, with the present counters.
    fn tick(&mut self, now: f64, totals: impl FnOnce() -> Totals) {
        self.hear_early();
        if let Some((record, stop)) = &self.rules
            && let Some(cause) = record.ends(now)
        {
            stop.set(cause);
        }
        if now >= self.next_tick {
            let totals = totals();
            if totals.rounds > self.totals.rounds {
                self.totals = totals;
            }
            self.tell(EventKind::Tick);
            self.next_tick = now.floor() + 1.0;
        }
    }

    /// Returns the best bound so far, in the network's units.
    pub fn bound(&self) -> Cost {
        self.bound
    }

    pub fn hear(&mut self, message: Message) {
        let now = self.clock.seconds();
        // a first solution may come before the reductions
        if matches!(message, Message::Progress(_) | Message::Bound { .. }) {
            let _ = self.search_began.get_or_insert(now);
        }
        match message {
            Message::Progress(totals) => self.totals = totals,
            Message::State { keeper, state, totals } => {
                self.totals = totals;
                self.states[keeper].0 = *state;
                self.keep(keeper, false);
            }
            Message::Solution { cost, value, solution, source, totals } => {
                self.totals = totals;
                if cost < self.bound {
                    self.disbelieve(value, &source);
                }
                self.least = Some((cost, solution.clone()));
                let units = self.network.units();
                if self.best.as_ref().is_none_or(|(best, _)| units.is_better(value, *best)) {
                    self.best = Some((value, solution));
                    self.best_at = Some(now);
                    if let Some((record, _)) = &mut self.rules {
                        record.better(now, value.as_f64());
                    }
                    self.source = source.into();
                    self.best_source = self.source.clone();
                    self.tell(EventKind::Solution);
                }
            }
            Message::Bound { bound, source, totals, proof } => {
                self.totals = totals;
                if let Some(proof) = proof.filter(|_| bound > self.proof.0) {
                    self.proof = (bound, *proof);
                }
                let source: Arc<str> = source.into();
                if bound > self.proved.0 {
                    self.proved = (bound, source.clone());
                }
                self.raise(bound, source);
            }
            Message::Believed { bound, source } => self.raise(bound, source.into()),
            Message::Facts(facts) => {
                let Reduction { before, after, .. } = &facts.reduction;
                let size = |size: &Size| format!("{} variables with {} values", size.variables, size.values);
                let message = format!("{}; the reductions leave {}", size(before), size(after));
                self.facts = Some((*facts).into());
                self.tell_with(EventKind::Note, Some(message.into()));
            }
            Message::Note(message) => {
                self.tell_with(EventKind::Note, Some(message.into()));
            }
            Message::Nonsense(message) => {
                self.tell_with(EventKind::Warning, Some(message.into()));
            }
            Message::Lost { source, message } => {
                let before = std::mem::replace(&mut self.source, source.into());
                self.tell_with(EventKind::Warning, Some(message.into()));
                self.source = before;
            }
            Message::Warning(message) => {
                self.tell_with(EventKind::Warning, Some(message.into()));
            }
            Message::DeviceLost { message, left } => {
                self.left = Some(left);
                self.tell_with(EventKind::Warning, Some(message.into()));
            }
        }
    }

    fn raise(&mut self, bound: Cost, source: Arc<str>) {
        if bound > self.bound {
            self.bound = bound;
            (self.source, self.bound_source) = (source.clone(), source);
            self.tell(EventKind::Bound);
        }
    }

    /// Drops another run's bound that a solution refutes, and returns to the bound proved here. A solution below a
    /// bound proved here is an internal error, which ends the run elsewhere.
    fn disbelieve(&mut self, value: Number, source: &str) {
        let wrong = self.network.bound(self.bound).map_or("it".into(), |bound| bound.to_string());
        let message = format!(
            "the bound {wrong} of another run ({}) is refused: {source} has a solution of {value}",
            self.bound_source
        );
        (self.bound, self.bound_source) = self.proved.clone();
        self.tell_with(EventKind::Warning, Some(message.into()));
    }

    fn seconds(&self) -> f64 {
        self.ended.unwrap_or_else(|| self.clock.seconds())
    }

    fn tell(&mut self, kind: EventKind) {
        self.tell_with(kind, None);
    }

    fn tell_with(&mut self, kind: EventKind, message: Option<Arc<str>>) {
        let time_s = self.seconds();
        let units = self.network.units();
        let gap = self.gap();
        let with_solution = matches!(kind, EventKind::Solution | EventKind::End);
        (self.observe)(&Event {
            kind,
            time_s,
            cost: self.best.as_ref().map(|(value, _)| *value),
            bound: self.network.bound(self.bound),
            gap,
            maximise: Some(units.maximise),
            round: self.totals.rounds,
            moves: self.totals.moves,
            ratings: self.totals.ratings,
            source: self.source.clone(),
            solution: self.best.as_ref().filter(|_| with_solution).map(|(_, solution)| solution.clone()),
            message,
            facts: self.facts.clone(),
        });
    }

    fn gap(&self) -> Option<f64> {
        gap(self.network, self.found(), self.bound)
    }

    /// Returns the least cost in the network's units and the best value.
    fn found(&self) -> Option<(Cost, Number)> {
        Some((self.least.as_ref()?.0, self.best.as_ref()?.0))
    }

    /// Reports the end and returns the summary. `ending` is `None` if the loop stopped before it began, or did not
    /// react to the stop.
    pub fn finish(mut self, threads: usize, ending: Option<Ending>, stopped_by: StoppedBy) -> Summary {
        self.hear_early();
        let (options, units) = (self.options, self.network.units());
        let time_s = self.clock.seconds();
        self.ended = Some(time_s);
        if let Some(ending) = &ending {
            self.totals = ending.totals;
            self.source = self.bound_source.clone();
        }
        if options.certificate && self.proof.0 < self.bound {
            let message = weaker(self.network, self.proof.0, self.bound);
            self.tell_with(EventKind::Warning, Some(message.into()));
        }
        (0..self.states.len()).for_each(|place| self.keep(place, true));
        self.tell(EventKind::End);
        // also if the loop did not check
        let stopped_by = reached(self.network, options, self.found(), self.bound)
            .unwrap_or(ending.as_ref().map_or(stopped_by, |ending| ending.stopped_by));
        // a loop that did not react in time worked on the available device
        let device = match (&ending, &self.left, options.device.poll()) {
            (Some(ending), ..) => ending.device.clone(),
            (None, Some(left), _) => left.clone(),
            (None, None, Ok(Some(opened))) if self.search_began.is_some() => opened.name(),
            _ => "cpu".into(),
        };
        let cost = self.best.as_ref().map(|(value, _)| *value);
        let bound = self.network.bound(self.bound);
        let status = match (stopped_by, &self.best) {
            (StoppedBy::Optimal, _) => Status::Optimal,
            (StoppedBy::Infeasible, _) => Status::Infeasible,
            (_, Some(_)) => Status::Feasible,
            (_, None) => Status::Unknown,
        };
        Summary {
            status,
            stopped_by,
            cost,
            bound,
            gap: self.gap(),
            precision_slack: units.precision_slack(cost.zip(bound).filter(|_| status == Status::Optimal)),
            time_s,
            time_to_best_s: self.best_at,
            search_to_best_s: self.best_at.map(|at| (at - self.search_began.unwrap_or(at)).max(0.0)),
            seed: options.seed,
            device,
            threads,
            driver: options.driver.name(),
            heuristic: options.heuristic_name().map(String::from),
            picks: self.totals.picks,
            population: self.totals.population,
            rounds: self.totals.rounds,
            moves: self.totals.moves,
            ratings: self.totals.ratings,
            bound_method: self.bound_source.to_string(),
            z: ending.as_ref().and_then(|ending| ending.z),
            induced_width: ending.as_ref().and_then(|ending| ending.induced_width),
            values: ending.as_ref().and_then(|ending| ending.values),
            values_forbidden: ending.as_ref().and_then(|ending| ending.values_forbidden),
            solution: self.best.map(|(_, solution)| solution.to_vec()),
            least: self.least.map(|(_, solution)| solution.to_vec()),
            proof: self.proof,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::{Extent, Keeper, Keeping};
    use crate::model::ModelError;

    #[test]
    fn messages_are_told_and_change_nothing() -> Result<(), ModelError> {
        let mut builder = Network::builder("one");
        let v = builder.variable(2)?;
        let _ = builder.dense(&[v], vec![3, 4])?;
        let network = builder.build();
        let clock = Clock::start(std::time::Instant::now(), None, &Stop::new());
        let options = Options::default();
        let mut told: Vec<(EventKind, Option<Arc<str>>)> = Vec::new();
        let mut observe = |event: &Event| told.push((event.kind, event.message.clone()));
        let mut publisher = EventPublisher::new(&network, &clock, &options, &Stop::new(), &mut observe);
        publisher.hear(Message::Note("on cuda:0".into()));
        let message = "cuda:0: it broke; going on on cuda:1".into();
        publisher.hear(Message::DeviceLost { message, left: "cuda:1".into() });
        assert_eq!(publisher.search_began, None, "the search begins with its own news");
        let summary = publisher.finish(1, None, StoppedBy::Time);
        assert_eq!((summary.device.as_str(), summary.status), ("cuda:1", Status::Unknown));
        let expected = [
            (EventKind::Start, None),
            (EventKind::Note, Some("on cuda:0".into())),
            (EventKind::Warning, Some("cuda:0: it broke; going on on cuda:1".into())),
            (EventKind::End, None),
        ];
        assert_eq!(told, expected);
        Ok(())
    }

    /// A keeper that writes slowly.
    #[derive(Debug, Default)]
    struct SlowDisk(Mutex<Option<f64>>);

    impl Keeper for SlowDisk {
        fn extent(&self) -> Extent {
            Extent { elites: 0, drivers: false, time: Duration::ZERO }
        }

        fn is_due(&self) -> bool {
            false
        }

        fn keep(&self, checkpoint: Checkpoint, _is_end: bool) -> Result<(), String> {
            std::thread::sleep(Duration::from_millis(5));
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(checkpoint.time_s);
            Ok(())
        }
    }

    #[test]
    fn a_run_that_goes_on_from_a_slow_disk_does_not_go_back_in_time() {
        let network = Network::builder("empty").build();
        let clock = Clock::start(std::time::Instant::now(), None, &Stop::new());
        let disk = Arc::new(SlowDisk::default());
        let options = Options { keeping: Keeping::of(&network).keep(disk.clone()), ..Options::default() };
        let mut told = 0.0;
        let mut observe = |event: &Event| told = event.time_s;
        let publisher = EventPublisher::new(&network, &clock, &options, &Stop::new(), &mut observe);
        let summary = publisher.finish(1, None, StoppedBy::Time);
        let kept = *disk.0.lock().unwrap_or_else(PoisonError::into_inner);
        assert_eq!((kept, told), (Some(summary.time_s), summary.time_s));
    }

    #[test]
    fn a_bound_without_a_proof_leaves_the_last_one_that_has_one() {
        let network = Network::builder("empty").build();
        let clock = Clock::start(std::time::Instant::now(), None, &Stop::new());
        let options = Options { certificate: true, ..Options::default() };
        let mut told = Vec::new();
        let mut observe = |event: &Event| told.extend(event.message.clone());
        let mut publisher = EventPublisher::new(&network, &clock, &options, &Stop::new(), &mut observe);
        for (bound, proof) in [(3, Some(Box::default())), (5, None)] {
            publisher.hear(Message::Bound { bound, source: "test".into(), totals: Totals::default(), proof });
        }
        let summary = publisher.finish(1, None, StoppedBy::Time);
        assert_eq!((summary.bound, summary.proof.0), (Some(Number::Integer(5)), 3));
        assert_eq!(told, ["the certificate proves the bound 3: how the bound 5 came about was not kept".into()]);
    }
}
