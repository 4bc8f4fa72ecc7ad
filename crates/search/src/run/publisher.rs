//! The publisher of a run: reports the ledger's events to the observer, makes ticks, and sends checkpoints to keepers.

use super::clock::Clock;
use super::early::EarlyBounding;
use super::goal::decided;
use super::rules::Record;
use crate::bounds::{BestKnown, Incumbent, weaker};
use crate::checkpoint::{Checkpoint, Found, Proved};
use crate::event::{Event, EventKind, Status, StoppedBy, Summary, gap};
use crate::ledger::{Ending, Ledger, RunState, Totals};
use crate::model::Network;
use crate::options::Options;
use crate::stop::Stop;
use crate::tuning::run::PATIENCE;
use std::time::Duration;

/// Time between two checks for a tick or a stop while there is no event.
const LOOK: Duration = Duration::from_millis(20);

/// The publisher of a run's events.
pub(crate) struct EventPublisher<'a> {
    network: &'a Network,
    options: &'a Options,
    clock: &'a Clock,
    observe: &'a mut dyn FnMut(&Event),
    ledger: Ledger,
    /// Whether each keeper has failed.
    failed: Vec<bool>,
    next_tick: f64,
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
        let ledger = Ledger::new(network, clock.timer(), options, stop);
        let mut rules = (!options.stop.is_empty()).then(|| (Record::new(&options.stop), stop.clone()));
        if let Some((record, _)) = &mut rules
            && let Some(best) = ledger.lock().known.incumbent()
        {
            record.better(clock.seconds(), best.value.as_f64());
        }
        ledger.tell(EventKind::Start);
        let mut publisher = EventPublisher {
            network,
            options,
            clock,
            observe,
            failed: vec![false; options.keeping.keepers.len()],
            next_tick: clock.seconds().floor() + 1.0,
            rules,
            early: None,
            ledger,
        };
        publisher.publish();
        publisher
    }

    /// Returns the ledger of the run.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Keeps the computation of a first bound until the run ends.
    pub fn expect(&mut self, early: Option<EarlyBounding>) {
        self.early = early;
    }

    /// Reports events until the work has ended (then `true`) or has not reacted to the stop flag for a while.
    pub fn listen(&mut self, stop: &Stop) -> bool {
        let mut stopped = None;
        loop {
            let now = self.clock.seconds();
            if stop.is_set() && now - *stopped.get_or_insert(now) > PATIENCE {
                return false;
            }
            let has_ended = self.ledger.wait(LOOK);
            self.catch_up();
            if has_ended {
                return true;
            }
        }
    }

    /// Reports the events so far, and a tick if one is due. Sets the stop flag if a rule ends the run.
    pub fn catch_up(&mut self) {
        self.publish();
        let now = self.clock.seconds();
        if let Some((record, stop)) = &self.rules
            && let Some(cause) = record.ends(now)
        {
            stop.set(cause);
        }
        if now >= self.next_tick {
            self.next_tick = now.floor() + 1.0;
            self.ledger.tell(EventKind::Tick);
            self.publish();
        }
    }

    fn publish(&mut self) {
        for event in self.ledger.take_events() {
            if let Some((record, _)) = &mut self.rules
                && let (EventKind::Solution, Some(value)) = (event.kind, event.cost)
            {
                record.better(event.time_s, value.as_f64());
            }
            (self.observe)(&event);
        }
        for place in 0..self.failed.len() {
            if let Some(state) = self.ledger.take_state(place) {
                self.keep(place, &state, false);
            }
        }
    }

    /// Sends a checkpoint to a keeper. A failure is reported once.
    fn keep(&mut self, place: usize, state: &RunState, is_end: bool) {
        let checkpoint = self.checkpoint(state);
        let had_failed = self.failed[place];
        let kept = self.options.keeping.keepers[place].keep(checkpoint, is_end);
        self.failed[place] = kept.is_err();
        if let Err(message) = kept
            && (is_end || !had_failed)
        {
            self.ledger.warn(message);
            self.publish();
        }
    }

    /// Returns a checkpoint of everything known, with the drivers' state for a keeper.
    fn checkpoint(&self, state: &RunState) -> Checkpoint {
        let ledger = self.ledger.lock();
        let Totals { rounds, moves, ratings, .. } = ledger.totals;
        let found = |Incumbent { value, source, time_s, assignment, .. }: &Incumbent| Found {
            value: *value,
            source: source.to_string(),
            time_s: *time_s,
            values: assignment.to_vec(),
        };
        let bound = ledger.known.bound();
        Checkpoint {
            maximise: self.network.units().maximise,
            seed: self.options.seed,
            time_s: self.ledger.seconds(&ledger),
            rounds,
            moves,
            ratings,
            solution: ledger.known.incumbent().map(found),
            bound: Proved { cost: bound.cost, value: self.network.bound(bound.cost), source: bound.source.to_string() },
            elites: state.elites.clone(),
            drivers: state.drivers.clone(),
            ..Checkpoint::new(&self.network.name, self.options.keeping.network())
        }
    }

    /// Reports the end and returns the summary. `ending` is `None` if the loop stopped before it began, or did not
    /// react to the stop.
    pub fn finish(mut self, threads: usize, ending: Option<Ending>, stopped_by: StoppedBy) -> Summary {
        let (options, units) = (self.options, self.network.units());
        self.publish();
        let time_s = self.ledger.end();
        let (bound, proof) = {
            let mut state = self.ledger.lock();
            if let Some(ending) = &ending {
                state.totals = ending.totals;
                state.source = state.known.bound().source.clone();
            }
            (state.known.bound().cost, state.known.proof().0)
        };
        if options.certificate && proof < bound {
            self.ledger.warn(weaker(self.network, proof, bound));
        }
        for place in 0..self.failed.len() {
            let state = self.ledger.lock().states[place].0.clone();
            self.keep(place, &state, true);
        }
        self.ledger.tell(EventKind::End);
        self.publish();
        let mut state = self.ledger.lock();
        let known = std::mem::replace(&mut state.known, BestKnown::new(self.network));
        // also if the loop did not check
        let stopped_by = decided(self.network, options, known.costs(), bound)
            .unwrap_or(ending.as_ref().map_or(stopped_by, |ending| ending.stopped_by));
        // a loop that did not react in time worked on the available device
        let device = match (&ending, &state.left, options.device.poll()) {
            (Some(ending), ..) => ending.device.clone(),
            (None, Some(left), _) => left.clone(),
            (None, None, Ok(Some(opened))) if state.search_began.is_some() => opened.name(),
            _ => "cpu".into(),
        };
        let best = known.incumbent();
        let status = match (stopped_by, best) {
            (StoppedBy::Optimal, _) => Status::Optimal,
            (StoppedBy::Infeasible, _) => Status::Infeasible,
            (_, Some(_)) => Status::Feasible,
            (_, None) => Status::Unknown,
        };
        let (cost, best_at) = (best.map(|best| best.value), best.map(|best| best.time_s));
        let number = self.network.bound(bound);
        Summary {
            status,
            stopped_by,
            cost,
            bound: number,
            gap: gap(self.network, known.costs(), bound),
            precision_slack: units.precision_slack(cost.zip(number).filter(|_| status == Status::Optimal)),
            time_s,
            time_to_best_s: best_at,
            search_to_best_s: best_at.map(|at| (at - state.search_began.unwrap_or(at)).max(0.0)),
            seed: options.seed,
            device,
            threads,
            driver: options.driver.name(),
            heuristic: options.heuristic_name().map(String::from),
            picks: state.totals.picks,
            population: state.totals.population,
            rounds: state.totals.rounds,
            moves: state.totals.moves,
            ratings: state.totals.ratings,
            bound_method: known.bound().source.to_string(),
            z: ending.as_ref().and_then(|ending| ending.z),
            induced_width: ending.as_ref().and_then(|ending| ending.induced_width),
            values: ending.as_ref().and_then(|ending| ending.values),
            values_forbidden: ending.as_ref().and_then(|ending| ending.values_forbidden),
            solution: best.map(|best| best.assignment.to_vec()),
            least: known.least().map(|least| least.assignment.to_vec()),
            proof: (proof, known.into_proof()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounds::Proof;
    use crate::checkpoint::{Extent, Keeper, Keeping};
    use crate::model::{ModelError, Number};
    use std::sync::{Arc, Mutex, PoisonError};

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
        let publisher = EventPublisher::new(&network, &clock, &options, &Stop::new(), &mut observe);
        let ledger = publisher.ledger();
        ledger.note("on cuda:0".into());
        ledger.lose_device("cuda:0: it broke; going on on cuda:1".into(), "cuda:1".into());
        assert_eq!(ledger.lock().search_began, None, "the search begins with its own news");
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
        let publisher = EventPublisher::new(&network, &clock, &options, &Stop::new(), &mut observe);
        publisher.ledger().raise(3, "test", Some(Proof::default()));
        publisher.ledger().raise(5, "test", None);
        let summary = publisher.finish(1, None, StoppedBy::Time);
        assert_eq!((summary.bound, summary.proof.0), (Some(Number::Integer(5)), 3));
        assert_eq!(told, ["the certificate proves the bound 3: how the bound 5 came about was not kept".into()]);
    }
}
