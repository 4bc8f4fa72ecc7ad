//! The search: one loop owns time, stopping and recording; drivers make bounded rounds.

mod account;
mod anneal;
mod arms;
mod beside;
mod boarding;
pub(crate) mod boltzmann;
mod bounds;
mod breed;
mod choices;
mod clock;
mod construct;
mod couples;
mod crew;
mod cuda;
mod dives;
mod driver;
mod errand;
mod event;
mod first;
mod forest;
mod goal;
mod graph;
mod greedy;
pub(crate) mod guided;
mod heat_bath;
mod host_herd;
mod host_walkers;
mod islands;
mod kept;
pub mod measure;
mod merge;
mod news;
mod options;
mod part;
mod portfolio;
mod recorder;
mod rows;
mod run;
mod schedule;
mod session;
mod shares;
mod state;
mod sweep;
mod tabu;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod threads;
#[cfg(test)]
mod top_tests;
mod walk;
mod weigh;
mod weighers;
mod weights;

pub use clock::Clock;
pub(crate) use cuda::sources;
pub use driver::Picks;
pub use event::{Event, EventKind, Status, StoppedBy, Summary, gap};
pub use options::{Assertions, BoundChoice, DriverChoice, MAX_THREADS, Options};
pub use session::{Session, start};

use crate::device::Busy;
use crate::error::Error;
use crate::model::Network;
use crate::stop::Stop;
use boarding::Boarding;
use first::First;
use goal::settled;
use news::{Ending, News, Totals};
use recorder::Recorder;
use run::Run;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};

/// Solves a network: `observe` sees every event as it happens; setting `stop` from anywhere ends the run.
///
/// # Errors
/// Options that do not fit the network, threads that cannot be started, or a bug ([`Error::Internal`]). What was found
/// before an error has been told to `observe`.
pub fn solve(
    network: &Network,
    options: &Options,
    stop: &Stop,
    observe: &mut dyn FnMut(&Event),
) -> Result<Summary, Error> {
    if options.driver == DriverChoice::Construct && !options.bound.means().plain {
        return Err(Error::Usage(format!(
            "the driver construct builds on the messages of mini-buckets, which bound {} leaves out",
            options.bound.name()
        )));
    }
    match (&options.heuristic, options.driver) {
        (None, DriverChoice::Guided) => {
            return Err(Error::Usage("the driver guided needs a heuristic: see `fangs heuristics`".into()));
        }
        (
            Some(heuristic),
            DriverChoice::Anneal
            | DriverChoice::Deep
            | DriverChoice::Tabu
            | DriverChoice::Construct
            | DriverChoice::Islands
            | DriverChoice::Dives
            | DriverChoice::Weights,
        ) => {
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
    // a device that is known not to open is a matter of the options
    let _ = options.device.poll()?;
    if let Some(start) = &options.warm_start {
        check_assignment(network, start)?;
    }
    if let Some(&domain) = network.domains().iter().find(|&&domain| domain > u32::from(u16::MAX)) {
        return Err(Error::Usage(format!("a domain of {domain} values: the search takes up to {}", u16::MAX)));
    }
    let clock = Clock::start(options.started, options.time, stop);
    let mut recorder = Recorder::new(network, &clock, observe);
    options.activity.step("first solution");
    let first = First::new(network, options, recorder.bound(), stop, &mut |news| recorder.hear(news));
    let outcome = if settled(network, options, first.found(), recorder.bound()) {
        missed(options, stop, &mut |news| recorder.hear(news))
    } else {
        search(network, options, first, stop, &mut recorder)
    };
    let stopped_by = stop.cause().map_or(StoppedBy::Time, StoppedBy::from);
    let (ending, failure) = match outcome {
        Ok(ending) => (ending, None),
        Err(Error::Stopped) => (None, None),
        Err(error) => (None, Some(error)),
    };
    let summary = recorder.finish(options, threads, ending, stopped_by);
    failure.map_or(Ok(summary), Err)
}

/// The goal was reached before there was anything to search: a device that was asked for by its number has to be there all the same.
fn missed(options: &Options, stop: &Stop, tell: &mut dyn FnMut(News)) -> Result<Option<Ending>, Error> {
    tell(News::Note(Boarding::missed(&options.device, stop)?));
    Ok(None)
}

/// The search on threads of its own; no ending where there was nothing left to search.
fn search(
    network: &Network,
    options: &Options,
    first: First,
    stop: &Stop,
    recorder: &mut Recorder<'_>,
) -> Result<Option<Ending>, Error> {
    let threads = options.threads();
    let workers = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|error| Error::Usage(format!("cannot start {threads} threads: {error}")))?;
    // rounds may be as short as microseconds: their accounts are looked at, not queued
    let progress = Arc::new(Mutex::new(Totals::default()));
    let (sender, news) = channel();
    // a thread of its own: where a large network keeps it from looking at the stop flag, the run ends without it
    let worker = std::thread::spawn({
        let (network, options, stop, progress) = (network.clone(), options.clone(), stop.clone(), progress.clone());
        let busy = Busy::new();
        move || {
            let _busy = busy;
            let mut tell = |message| match message {
                News::Progress(totals) => *progress.lock().unwrap_or_else(PoisonError::into_inner) = totals,
                // a recorder that has gone away only means that nobody listens any more
                message => drop(sender.send(message)),
            };
            options.activity.step("reducing");
            workers.install(|| match Run::new(&network, &options, first, &stop, &mut tell)? {
                Some(run) => run.run().map(Some),
                None => missed(&options, &stop, &mut tell),
            })
        }
    });
    if !recorder.listen(&news, &progress, stop) {
        return Err(Error::Stopped);
    }
    worker.join().unwrap_or_else(|_| Err(Error::Internal("the search thread ended abnormally".into())))
}

fn check_assignment(network: &Network, assignment: &[u32]) -> Result<(), Error> {
    let (found, expected) = (assignment.len(), network.domains().len());
    if found != expected {
        return Err(Error::Usage(format!("the start has {found} values, the network {expected} variables")));
    }
    match assignment.iter().zip(network.domains()).position(|(value, domain)| value >= domain) {
        Some(v) => Err(Error::Usage(format!(
            "the start gives {} the value {}, its domain is 0..{}",
            network.variable_name(v),
            assignment[v],
            network.domains()[v]
        ))),
        None => Ok(()),
    }
}
