//! `fangs solve --parts`: a network that is divided among threads, or among processes that `mpirun` has started.

use super::{Config, Ending, Widths, record};
use crate::cli::{Exit, signals};
use fangs_base::Error;
use fangs_formats as formats;
use fangs_model::model::Network;
use fangs_report::SolveReport;
use fangs_search::{self as search, Clock, Event, Peers, Summary};
use std::time::Instant;

/// The processes that hold a part each; none if the parts are threads of this one.
#[cfg(feature = "mpi")]
type Ranks = fangs_report::PartRanks;
#[cfg(not(feature = "mpi"))]
type Ranks = search::ThreadPeers;

/// Returns the processes that a launcher has started.
fn join(parts: usize) -> Result<Option<Ranks>, Error> {
    #[cfg(feature = "mpi")]
    let ranks = Ranks::join()?;
    #[cfg(not(feature = "mpi"))]
    let ranks: Option<Ranks> = crate::cli::ranks::Ranks::join(&fangs_base::stop::Stop::new()).map(|_| None)?;
    match ranks.as_ref().map(|ranks| ranks.share().of) {
        Some(count) if count != parts => Err(Error::Usage(format!(
            "--parts {parts}: mpirun has started {count} processes, each of which takes a part: give --parts {count}"
        ))),
        _ => Ok(ranks),
    }
}

/// Returns the number of threads for this process if `--threads` does not give it.
fn threads_of(ranks: Option<&Ranks>) -> Option<usize> {
    #[cfg(feature = "mpi")]
    return ranks.map(Ranks::threads);
    #[cfg(not(feature = "mpi"))]
    ranks.and(None)
}

/// Searches a network in parts.
pub fn run(config: Config, parts: usize, started: Instant) -> Result<Exit, Error> {
    let stop = signals::listen()?;
    let mut ranks = join(parts)?;
    let threads = config.options.threads.or(threads_of(ranks.as_ref()));
    fangs_base::threads::share(threads).map_err(|error| Error::Usage(format!("--threads: {error}")))?;
    let is_first = ranks.as_ref().is_none_or(|ranks| ranks.share().place == 0);
    let config = if is_first { config } else { config.silent() };
    let clock = Clock::start(started, config.options.time, &stop);
    let mut recorder = record(&config, None, &Widths::default(), started)?;
    let mut seen = None;
    let loaded = match &ranks {
        Some(ranks) => config.input.load_share(ranks.share(), &stop),
        None => config.input.load_observed(recorder.console(), &stop).map(|(network, own)| {
            seen = own;
            network
        }),
    };
    let load_s = started.elapsed().as_secs_f64();
    let (network, functions) = agreed(loaded, ranks.as_mut())?;
    let mut observe = |event: &Event| {
        recorder.observe(event, |solution| formats::write_solution(&network, solution, config.output.solution_format));
    };
    let summary: Summary = match &mut ranks {
        Some(ranks) => search::solve_part(&clock, &network, ranks, &config.options, &stop, &mut observe),
        None => search::solve_in_parts(&clock, &network, parts, &config.options, &stop, &mut observe),
    }?;
    let ranks = ranks.map(|ranks| ranks.share().of);
    let report = SolveReport { ranks, functions: Some(functions), ..SolveReport::new(&network, &summary, load_s) };
    let ending = Ending {
        config: &config,
        network: &network,
        summary: &summary,
        seen: seen.as_ref(),
        several: None,
        stop: &stop,
    };
    let exit = ending.write(recorder, None, None, report)?;
    Ok(if is_first { exit } else { Exit::Done })
}

/// Returns the network, or this part of it, with the number of functions of all parts. If a process cannot read its
/// part, all of them end.
fn agreed(loaded: Result<Network, Error>, ranks: Option<&mut Ranks>) -> Result<(Network, usize), Error> {
    let Some(ranks) = ranks else {
        let network = loaded?;
        let functions = network.function_count();
        return Ok((network, functions));
    };
    let share = ranks.share();
    let counted = |network: &Network| {
        let variables = network.domains().len();
        network.functions().iter().filter(|function| share.counts(&function.scope, variables)).count() as i64
    };
    let [functions, failures] = search::sums(ranks, [loaded.as_ref().map_or(0, counted), i64::from(loaded.is_err())])?;
    match loaded {
        Ok(_) if failures > 0 => Err(Error::Usage("another process could not read its part of the network".into())),
        loaded => Ok((loaded?, functions as usize)),
    }
}
