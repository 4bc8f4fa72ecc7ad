//! A complete run: the first solution, the reductions and the loop, each on separate threads.

use super::Run;
use super::clock::Clock;
use super::early::{EarlyBounding, early_bound};
use super::goal::settled;
use super::handover::DeviceHandover;
use super::initial::assignments;
use super::publisher::EventPublisher;
use crate::bounds::BoundChoice;
use crate::certificate::Certificate;
use crate::device::{Busy, Choice, Opening};
use crate::error::Error;
use crate::event::{Event, StoppedBy, Summary};
use crate::ledger::{Ending, Ledger, Pulse};
use crate::marginals::Seek;
use crate::model::Network;
use crate::options::{DriverChoice, MAX_THREADS, Options};
use crate::stop::Stop;
use crate::terminal::among;
use crate::threads::{caught, pool, pool_of_this, start_in};
use crate::tuning::tuning;
use rayon::ThreadPool;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// Solves a network. `observe` receives every event as it happens. Setting `stop` from any thread ends the run.
///
/// # Errors
/// Options that do not fit the network, threads that cannot be started, or a bug ([`Error::Internal`]). Solutions and
/// bounds found before an error have been reported to `observe`.
pub fn solve(
    network: &Network,
    options: &Options,
    stop: &Stop,
    observe: &mut dyn FnMut(&Event),
) -> Result<Summary, Error> {
    let clock = Clock::start(Instant::now(), options.time, stop).after(options.keeping.time_s());
    solve_by(&clock, network, options, stop, observe)
}

/// Like [`solve`], but takes a running clock; loading time, for example, then counts against the time budget.
///
/// # Errors
/// The errors of [`solve`].
pub fn solve_by(
    clock: &Clock,
    network: &Network,
    options: &Options,
    stop: &Stop,
    observe: &mut dyn FnMut(&Event),
) -> Result<Summary, Error> {
    let threads = checked(options)?;
    if options.certificate {
        Certificate::must_suit(network)?;
    }
    options.warm_starts.iter().try_for_each(|start| check_start(network, start))?;
    let mut publisher = EventPublisher::new(network, clock, options, stop, observe);
    options.activity.step("first solution");
    let first = first(network, options, stop, &mut publisher)?;
    let ledger = publisher.ledger().clone();
    let (threads, outcome) = if settled(network, options, &ledger) {
        (threads, missed(options, &ledger, stop))
    } else {
        let (network, own) = (network.clone(), options.clone());
        let work = move |stop: &Stop, pulse: Pulse<'_>| reduce(&network, &own, &ledger, first, stop, pulse);
        search(options, work, stop, &mut publisher)
    };
    summary(publisher, threads, stop, outcome)
}

/// Returns the local search that begins lower bounds of sums under a time limit.
pub fn seek(limit: Duration) -> Seek {
    Seek { search: assignment, time: tuning().seek.seeking.min(limit / 20) }
}

/// Searches on the CPU for `time` and returns the best feasible assignment, or `None` if none was found.
fn assignment(network: &Network, time: Duration, stop: &Stop) -> Option<Vec<u32>> {
    let options = Options {
        time: Some(time),
        threads: Some(rayon::current_num_threads()),
        bound: BoundChoice::None,
        device: Opening::new(Choice::Cpu),
        ..Options::default()
    };
    let mut best = None;
    let mut hear = |event: &Event| {
        if let Some(solution) = &event.solution {
            best = Some(solution.to_vec());
        }
    };
    let _ = solve(network, &options, &stop.below(), &mut hear);
    best
}

/// Checks whether the options fit together and returns the number of threads.
pub(crate) fn checked(options: &Options) -> Result<usize, Error> {
    let takes_heuristic = [DriverChoice::PORTFOLIO, DriverChoice::GUIDED].contains(&options.driver);
    match &options.heuristic {
        None if options.driver == DriverChoice::GUIDED => {
            return Err(Error::Usage("the driver guided needs a heuristic: see `fangs heuristics`".into()));
        }
        Some(heuristic) if !takes_heuristic => {
            let (name, driver) = (heuristic.name(), options.driver.name());
            return Err(Error::Usage(format!(
                "the driver {driver} has a heuristic of its own: {name} goes with the drivers portfolio and guided"
            )));
        }
        _ => {}
    }
    let threads = options.threads();
    if !(1..=MAX_THREADS).contains(&threads) {
        return Err(Error::Usage(format!("{threads} threads: expected 1 to {MAX_THREADS}")));
    }
    // a device that is known not to open is an error of the options
    let _ = options.device.poll()?;
    Ok(threads)
}

/// Ends the publishing of a run and returns its summary.
pub(crate) fn summary(
    publisher: EventPublisher<'_>,
    threads: usize,
    stop: &Stop,
    outcome: Result<Option<Ending>, Error>,
) -> Result<Summary, Error> {
    let stopped_by = stop.cause().map_or(StoppedBy::Time, StoppedBy::from);
    if stopped_by == StoppedBy::Memory {
        publisher.ledger().lose("memory", "out of memory: the run ends here".into());
    }
    let (ending, failure) = match outcome {
        Ok(ending) => (ending, None),
        Err(Error::Stopped) => (None, None),
        Err(error) => (None, Some(error)),
    };
    let summary = publisher.finish(threads, ending, stopped_by);
    match failure {
        Some(error) => Err(error),
        None if stopped_by == StoppedBy::Memory && summary.solution.is_none() => {
            Err(Error::Memory("there was no solution by then".into()))
        }
        None => Ok(summary),
    }
}

/// Handles a run whose goal was reached before there was anything to search. A device that was selected by number must
/// exist nevertheless.
fn missed(options: &Options, ledger: &Ledger, stop: &Stop) -> Result<Option<Ending>, Error> {
    ledger.note(DeviceHandover::missed(&options.device, stop)?);
    Ok(None)
}

/// Searches on separate threads, or on this one if the system allows no other. Returns their number, and how the search
/// ended; `None` if there was nothing to search.
pub(crate) fn search(
    options: &Options,
    work: impl FnOnce(&Stop, Pulse<'_>) -> Result<Option<Ending>, Error> + Send + 'static,
    stop: &Stop,
    publisher: &mut EventPublisher<'_>,
) -> (usize, Result<Option<Ending>, Error>) {
    let threads = options.threads();
    let workers = pool(threads).ok();
    let started = workers.as_ref().map_or(1, ThreadPool::current_num_threads);
    if started < threads {
        let message = format!("the system allows no more than {started} of {threads} threads");
        publisher.ledger().lose("threads", message);
    }
    let outcome = match workers {
        Some(workers) => beside(workers, work, stop, publisher),
        None => {
            // unless this thread belongs to a pool already
            let _pool = pool_of_this();
            let run = || work(stop, &mut || publisher.catch_up());
            caught(run).unwrap_or_else(|what| Err(ended(what)))
        }
    };
    (started, outcome)
}

/// Reduces the network and runs the loop.
fn reduce(
    network: &Network,
    options: &Options,
    ledger: &Ledger,
    first: Vec<Vec<u32>>,
    stop: &Stop,
    pulse: Pulse<'_>,
) -> Result<Option<Ending>, Error> {
    options.activity.step("reducing");
    match Run::new(network, options, ledger, first, stop, pulse)? {
        Some(run) => run.run().map(Some),
        None => missed(options, ledger, stop),
    }
}

/// Runs the loop on one of the `workers`, so that the run can end without it if a large network keeps it from checking
/// the stop flag.
fn beside(
    workers: ThreadPool,
    work: impl FnOnce(&Stop, Pulse<'_>) -> Result<Option<Ending>, Error> + Send + 'static,
    stop: &Stop,
    publisher: &mut EventPublisher<'_>,
) -> Result<Option<Ending>, Error> {
    let (outcome, end) = channel();
    workers.spawn({
        let (flag, working, busy) = (stop.clone(), publisher.ledger().begin_work(), Busy::new());
        move || {
            let run = || work(&flag, &mut || ());
            // no one waits once the run is over
            let _ = outcome.send(caught(run).unwrap_or_else(|what| Err(ended(what))));
            drop((working, busy));
        }
    });
    if !publisher.listen(stop) {
        return Err(Error::Stopped);
    }
    end.recv().unwrap_or_else(|_| Err(ended("its thread is gone".into())))
}

fn ended(what: String) -> Error {
    Error::Internal(format!("the search ended ({what})"))
}

/// Returns what the run begins with, found on a separate thread if there is one, because on large networks it takes
/// seconds, each with its tick. The bound of a large network is computed beside it and beside the search, or before the
/// search if it does not [suit](EarlyBounding::suits) that.
fn first(
    network: &Network,
    options: &Options,
    stop: &Stop,
    publisher: &mut EventPublisher<'_>,
) -> Result<Vec<Vec<u32>>, Error> {
    let ledger = publisher.ledger().clone();
    let lower = ledger.bound();
    let suits = EarlyBounding::suits(options);
    let beside = suits.then(|| EarlyBounding::start(network, options, &ledger, stop).ok()).flatten();
    let is_beside = beside.is_some();
    publisher.expect(beside);
    let begun = std::thread::scope(|scope| {
        let (working, own) = (ledger.begin_work(), &ledger);
        let work = move || {
            let _working = working;
            if !is_beside {
                early_bound(network, options, own, stop);
            }
            assignments(network, options, lower, own, stop)
        };
        let first = start_in(scope, "first", work).ok()?;
        let _ = publisher.listen(stop);
        let first = first.join();
        publisher.catch_up();
        Some(first.map_err(|_| Error::Internal("the thread of the first solution ended abnormally".into())))
    });
    begun.unwrap_or_else(|| {
        let first = assignments(network, options, lower, &ledger, stop);
        publisher.catch_up();
        Ok(first)
    })
}

pub(crate) fn check_start(network: &Network, start: &[Option<u32>]) -> Result<(), Error> {
    let (found, expected) = (start.len(), network.domains().len());
    if found != expected {
        return Err(Error::Usage(format!("the start has {found} values, the network {expected} variables")));
    }
    for (v, (value, &domain)) in start.iter().zip(network.domains()).enumerate() {
        if let Some(value) = value.filter(|&value| value >= domain) {
            let name = network.variable_name(v);
            return Err(Error::Usage(format!(
                "the start gives {name} the value {value}, expected one{}",
                among(domain)
            )));
        }
    }
    Ok(())
}
