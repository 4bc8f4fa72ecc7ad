//! Runs that anneal one state of a network whose parts lie in several threads or processes.

use crate::annealing::divided::{DividedState, Limits, Peers, Reached, ThreadPeers};
use crate::bounds::{BestKnown, Incumbent};
use crate::check;
use crate::core::picks::Picks;
use crate::error::Error;
use crate::event::{Event, EventKind, Status, StoppedBy, Summary};
use crate::model::{Network, Number, Share};
use crate::options::{MAX_THREADS, Options};
use crate::reduce::Reducer;
use crate::run::clock::Clock;
use crate::stop::Stop;
use crate::threads;
use std::sync::Arc;

/// The source of the solutions in events.
const SOURCE: &str = "parts";

/// Anneals a network in `parts` parts, each on a thread that reads only the part's functions. Of the options it follows
/// the seed, the time and the rounds, which count anneals: with rounds the result does not depend on the number of
/// parts.
///
/// # Errors
/// [`Error::Usage`] for a network that cannot be divided; [`Error::Internal`] if the evaluation of the whole network
/// differs from that of its parts.
pub fn solve_in_parts(
    clock: &Clock,
    network: &Network,
    parts: usize,
    options: &Options,
    stop: &Stop,
    tell: &mut dyn FnMut(&Event),
) -> Result<Summary, Error> {
    if !(1..=MAX_THREADS).contains(&parts) {
        return Err(Error::Usage(format!("{parts} parts: expected 1 to {MAX_THREADS}")));
    }
    check_divisible(network)?;
    let mut all = ThreadPeers::connected(parts).into_iter();
    let first = all.next();
    let summary = std::thread::scope(|scope| {
        let begin = |mut peers: ThreadPeers| {
            let work = move || {
                let own = network.share(peers.share());
                solve_part(clock, &own, &mut peers, options, stop, &mut |_| ()).map(drop)
            };
            threads::start_in(scope, "part", work)
                .map_err(|error| Error::Internal(format!("starting a thread: {error}")))
        };
        let others = all.map(begin).collect::<Result<Vec<_>, Error>>()?;
        let summary = match first {
            Some(mut peers) => solve_part(clock, &network.share(peers.share()), &mut peers, options, stop, tell),
            None => Err(Error::Internal("no part".into())),
        };
        let ended = |_| Error::Internal("a thread with a part of the network has ended".into());
        let failures = others.into_iter().filter_map(|other| other.join().map_err(ended).and_then(|own| own).err());
        // a part that fails ends the exchange of all others, which fail internally: its own error is the cause
        match failures.reduce(|one, other| if matches!(one, Error::Internal(_)) { other } else { one }) {
            Some(cause) if summary.is_ok() || !matches!(cause, Error::Internal(_)) => Err(cause),
            _ => summary,
        }
    })?;
    let Some(solution) = &summary.solution else { return Ok(summary) };
    let evaluation = check::evaluate(network, solution);
    if evaluation.is_solution() && Some(network.units().number(evaluation.cost)) == summary.cost {
        return Ok(summary);
    }
    Err(Error::Internal("the costs that the parts evaluate are not those of the network".into()))
}

/// Checks that a network can be divided.
fn check_divisible(network: &Network) -> Result<(), Error> {
    let what = match () {
        () if network.globals().len() > 0 => "global cost functions",
        () if network.reading().is_some() => "probabilities or other real numbers of its own",
        () => return Ok(()),
    };
    Err(Error::Usage(format!("a network with {what} cannot be divided into parts: leave --parts out")))
}

/// Anneals the part of a network that `peers` names, together with all other parts. `network` has all variables, and
/// the functions of this part. The first part reports.
///
/// # Errors
/// [`Error::Usage`] for a network that cannot be divided; those of the exchange; [`Error::Stopped`].
pub fn solve_part(
    clock: &Clock,
    network: &Network,
    peers: &mut dyn Peers,
    options: &Options,
    stop: &Stop,
    tell: &mut dyn FnMut(&Event),
) -> Result<Summary, Error> {
    check_divisible(network)?;
    let mut record = Record {
        clock,
        network,
        share: peers.share(),
        known: BestKnown::new(network),
        begun_s: 0.0,
        last: Reached::default(),
        anneals: 0,
    };
    tell(&record.event(EventKind::Start));
    let problem = Arc::new(Reducer::unreduced(network, &Stop::new())?.1);
    let mut state = DividedState::new(network, &problem, peers, &Stop::new())?;
    record.begun_s = clock.seconds();
    let limits = Limits { deadline: clock.deadline(), anneals: options.rounds };
    state.run(options.seed, limits, stop, &mut |reached| {
        if let Some(event) = record.take(reached) {
            tell(&event);
        }
    })?;
    tell(&record.event(EventKind::End));
    Ok(record.summary(options, stop))
}

/// What a run has reached so far.
struct Record<'a> {
    clock: &'a Clock,
    network: &'a Network,
    share: Share,
    known: BestKnown,
    /// When the first anneal began.
    begun_s: f64,
    last: Reached,
    anneals: u64,
}

impl Record<'_> {
    /// Takes the end of an anneal, and returns an event if it is a better solution.
    fn take(&mut self, mut reached: Reached) -> Option<Event> {
        self.anneals += 1;
        let assignment = reached.assignment.take();
        let is_solution = reached.violated == 0 && reached.cost < self.network.top();
        let cost = reached.cost;
        self.last = reached;
        let assignment = assignment.filter(|_| is_solution && self.share.place == 0)?.into();
        let (units, time_s) = (self.network.units(), self.clock.seconds());
        let solution = Incumbent { cost, value: units.number(cost), assignment, source: SOURCE.into(), time_s };
        let _ = self.known.offer(units, solution)?;
        Some(self.event(EventKind::Solution))
    }

    fn cost(&self) -> Option<Number> {
        self.known.incumbent().map(|best| best.value)
    }

    fn event(&self, kind: EventKind) -> Event {
        Event {
            kind,
            time_s: self.clock.seconds(),
            cost: self.cost(),
            bound: None,
            gap: None,
            maximise: Some(self.network.units().maximise),
            round: self.anneals,
            moves: self.last.moves,
            ratings: self.last.ratings,
            source: SOURCE.into(),
            solution: self.known.incumbent().map(|best| best.assignment.clone()),
            message: None,
            facts: None,
        }
    }

    fn summary(&self, options: &Options, stop: &Stop) -> Summary {
        let stopped_by = match stop.cause() {
            Some(cause) => cause.into(),
            None if options.rounds.is_some() => StoppedBy::Rounds,
            None => StoppedBy::Time,
        };
        Summary {
            status: if self.known.incumbent().is_some() { Status::Feasible } else { Status::Unknown },
            stopped_by,
            cost: self.cost(),
            bound: None,
            gap: None,
            precision_slack: 0.0,
            time_s: self.clock.seconds(),
            time_to_best_s: self.known.incumbent().map(|best| best.time_s),
            search_to_best_s: self.known.incumbent().map(|best| best.time_s - self.begun_s),
            seed: options.seed,
            device: "cpu".into(),
            threads: rayon::current_num_threads(),
            driver: SOURCE,
            heuristic: None,
            picks: Picks::default(),
            population: 1,
            rounds: self.anneals,
            moves: self.last.moves,
            ratings: self.last.ratings,
            bound_method: "none".into(),
            z: None,
            induced_width: None,
            values: None,
            values_forbidden: None,
            solution: self.known.incumbent().map(|best| best.assignment.to_vec()),
            least: None,
            proof: Default::default(),
        }
    }
}
