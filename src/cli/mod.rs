//! The command line: one file a command. Raw flags become a checked config (`TryFrom`); nothing below reads flags.

pub mod bench;
mod bench_mbe;
mod bench_search;
pub mod bound;
pub mod check;
pub mod devices;
pub mod generate;
pub mod heuristics;
pub mod info;
mod input;
mod leave;
mod orders;
mod output;
pub mod plot;
mod signals;
pub mod solve;
mod try_heuristics;
mod values;

use clap::{Args, Parser, Subcommand};
use fangs::Error;
use fangs::record::Recorder;
use fangs::search::{Event, EventKind, StoppedBy};
use fangs::stop::{Cause, Stop};

pub use leave::leave;

/// Closes in on the optimum of a weighted constraint network from both sides: solutions come down, bounds come up.
#[derive(Debug, Parser)]
#[command(name = "fangs", version, propagate_version = true, after_help = EXIT_CODES)]
pub struct Flags {
    #[command(subcommand)]
    pub command: Command,
}

const EXIT_CODES: &str = "\
Exit codes: 0 done (a solution was found), 2 bad usage or bad input, 3 no solution within the budget,
4 proven infeasible (check: the total reaches top), 1 anything else (check: a certificate is refused).";

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum Command {
    /// Search from above and prove from below, until optimal or out of budget
    Solve(Box<solve::SolveFlags>),
    /// Only inference: bucket and mini-bucket elimination
    Bound(Box<bound::BoundFlags>),
    /// Describe a network, its reductions, and what elimination would take
    Info(info::InfoFlags),
    /// Recompute the cost of a solution and list what it violates
    Check(check::CheckFlags),
    /// Make a random network
    Generate(generate::GenerateFlags),
    /// Draw the convergence curves of one or several runs
    Plot(plot::PlotFlags),
    /// List the local heuristics, describe one, compare some, or begin a new one
    Heuristics(heuristics::HeuristicsFlags),
    /// What there is to compute with
    Devices(devices::DevicesFlags),
    /// Measure the inner loops on this machine
    Bench(bench::BenchFlags),
    /// Reserved for a later version
    #[command(hide = true)]
    Convert(Reserved),
    /// Reserved for a later version
    #[command(hide = true)]
    Explain(Reserved),
    /// Reserved for a later version
    #[command(hide = true)]
    Diff(Reserved),
}

/// Whatever follows a reserved command.
#[derive(Args, Debug)]
pub struct Reserved {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _arguments: Vec<std::ffi::OsString>,
}

/// The answer to names that are kept for later.
pub fn reserved<T>(what: &str) -> Result<T, Error> {
    Err(Error::Usage(format!("{what} is reserved for a later version")))
}

/// How a command ends when nothing failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It did its work.
    Done,
    /// No solution within the budget.
    NoSolution,
    /// There is none, or the one checked is none.
    Infeasible,
}

impl Exit {
    /// The exit code.
    pub fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::NoSolution => 3,
            Exit::Infeasible => 4,
        }
    }
}

/// Says what failed; input and usage are exit code 2.
pub fn fail(error: &Error) -> u8 {
    use std::io::Write;
    // nobody to tell where standard error is closed
    drop(writeln!(std::io::stderr(), "fangs: {error}"));
    match error {
        Error::Stopped => 3,
        error if error.is_input() => 2,
        _ => 1,
    }
}

/// What ended a run that the stop flag ended.
fn stopped_by(stop: &Stop) -> StoppedBy {
    if stop.cause() == Some(Cause::Signal) { StoppedBy::Signal } else { StoppedBy::Time }
}

/// The start and the end of a run that was stopped while it was loading.
fn record_unloaded(mut recorder: Recorder, time_s: f64, maximise: bool) {
    for kind in [EventKind::Start, EventKind::End] {
        let event = Event {
            kind,
            time_s,
            cost: None,
            bound: None,
            gap: None,
            maximise,
            round: 0,
            moves: 0,
            ratings: 0,
            source: "load".into(),
            solution: None,
            message: None,
        };
        recorder.observe(&event, |_| String::new());
    }
    let _ = recorder.finish();
}
