//! The command line: one file per command. [`Invocation`] is what the program and the Python package run. Raw flags
//! become a checked config (`TryFrom`); nothing below reads flags.

pub mod bench;
mod bench_fang;
mod bench_mbe;
mod bench_search;
pub mod bound;
pub mod check;
mod check_marginals;
mod check_policy;
mod chosen;
mod coloring;
pub mod compare;
pub mod convert;
pub mod dcop;
pub mod decide;
pub mod devices;
pub mod diff;
mod evidence;
pub mod explain;
pub mod generate;
pub mod guard;
mod help;
pub mod heuristics;
pub mod info;
mod input;
pub mod invocation;
mod leave;
mod long_runs;
pub mod manual;
pub mod marginals;
mod monochromatic;
mod orders;
mod output;
pub mod plot;
mod potentials;
mod ranks;
mod signals;
pub mod solve;
mod try_heuristics;
pub mod tune;
mod usage;
mod values;
mod worker;

use clap::{Parser, Subcommand};
use fangs_base::Error;
use fangs_base::stop::{Cause, Stop};
use fangs_base::terminal;
use fangs_base::threads;
use fangs_base::tuning::Setting;
use fangs_report::{Recorder, end_progress};
use fangs_search::{Checkpoint, Clock, Event, EventKind, StoppedBy};
use invocation::Invocation;
use leave::leave;
use std::time::Instant;

/// Optimize weighted constraint networks: find good solutions, prove bounds, stop when they meet
///
/// Reads cost function networks, Markov and Bayesian networks, graphs to color and to cut, clauses, quadratic sums,
/// distributed problems and more.
#[derive(Debug, Parser)]
#[command(name = "fangs", version, propagate_version = true)]
#[command(after_help = format!("{}\n\n{}\n\n{}", help::examples(&help::FANGS), help::formats(), help::EXIT_CODES))]
pub struct Flags {
    #[command(subcommand)]
    pub command: Command,
    // no doc comment, because no help shows it
    #[arg(long, global = true, hide = true, value_name = "NAME=VALUE", value_parser = tune::setting)]
    pub tune: Vec<Setting>,
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum Command {
    /// Search for solutions and bounds until optimal or out of time
    ///
    /// Local search brings better and better solutions, inference brings better and better bounds on what any solution
    /// can reach. When they meet, the solution is proved optimal. Ctrl-C ends a run early with all its results and exit
    /// code 130.
    #[command(after_help = help::examples(&help::SOLVE))]
    Solve(Box<solve::SolveFlags>),
    /// Prove a bound on the optimum by inference alone, without local search
    ///
    /// Bucket and mini-bucket elimination, cost shifting and branch and bound, in growing steps. The values that
    /// elimination assigns are a solution too, if they are feasible.
    #[command(after_help = help::examples(&help::BOUND))]
    Bound(Box<bound::BoundFlags>),
    /// Describe a network: its size, its reductions, and the cost of its elimination
    #[command(after_help = help::examples(&help::INFO))]
    Info(info::InfoFlags),
    /// Check a solution or a certificate with code that the search does not use
    ///
    /// Recomputes the cost of a solution and lists the functions that it violates; verifies the certificate of a bound
    /// step by step.
    #[command(after_help = help::examples(&help::CHECK))]
    Check(check::CheckFlags),
    /// Write a network in another format
    ///
    /// Before the file is replaced, the written text is read again and compared with the network: entry by entry, or at
    /// up to 1000 assignments if the format has other functions. If the format cannot express the network, an error
    /// says why.
    #[command(after_help = help::examples(&help::CONVERT))]
    Convert(convert::ConvertFlags),
    /// List the functions by their costs, or find functions that have no common solution
    ///
    /// With a solution: the functions by their costs, the violated ones first. Without one, for an infeasible network:
    /// a small set of functions that have no common solution.
    #[command(after_help = help::examples(&help::EXPLAIN))]
    Explain(explain::ExplainFlags),
    /// Compare two solutions: the variables and the costs that differ
    #[command(after_help = help::examples(&help::DIFF))]
    Diff(diff::DiffFlags),
    /// Compare settings of the search, and other solvers, on several networks with several seeds
    ///
    /// Each run is a process of its own with the same time limit. Tables have medians and quartiles over seeds: cost,
    /// gap, primal integral, time to the best solution, and for each setting the instances that it wins. CSVs of
    /// earlier runs in place of networks are compared as they are.
    #[command(after_help = help::examples(&help::COMPARE))]
    Compare(Box<compare::CompareFlags>),
    /// Sum over all assignments: the partition function, posteriors
    ///
    /// Computes the logarithm of the partition function of a Markov network, or of the probability of the evidence of a
    /// Bayesian network, and the posterior of each variable. Results are exact up to the rounding of doubles, which is
    /// stated.
    #[command(after_help = help::examples(&help::MARGINALS))]
    Marginals(Box<marginals::MarginalsFlags>),
    /// Find the policy of the largest expected utility: influence diagrams, POMDPs, two agents
    ///
    /// Influence diagrams and LIMIDs are eliminated on probabilities and utilities; processes are solved along their
    /// reachable beliefs. In an interactive diagram (.idid) one agent models what another one does.
    #[command(after_help = help::examples(&help::DECIDE))]
    Decide(Box<decide::DecideFlags>),
    /// Generate a random network of a kind, such as a grid or a graph to color
    #[command(after_help = help::examples(&help::GENERATE))]
    Generate(generate::GenerateFlags),
    /// Plot the convergence of solutions and bounds of one or several runs
    #[command(after_help = help::examples(&help::PLOT))]
    Plot(plot::PlotFlags),
    /// List the local heuristics, describe or check one, compare some, or create a new one
    #[command(after_help = help::examples(&help::HEURISTICS))]
    Heuristics(heuristics::HeuristicsFlags),
    /// Solve a distributed problem as its agents would: DPOP and ADPOP, messages counted, time simulated
    ///
    /// Agents own variables and send each other tables along a pseudo-tree, which is bucket elimination; with tables of
    /// limited size, mini-bucket elimination. Reads what `solve` reads; .yaml of pyDCOP and .xml of FRODO name agents.
    #[command(after_help = help::examples(&help::DCOP))]
    Dcop(Box<dcop::DcopFlags>),
    /// Run agents for `fangs dcop --agents-over tcp`, which starts it
    #[command(hide = true)]
    DcopAgent,
    /// List the CPU threads and CUDA devices of this machine
    #[command(after_help = help::examples(&help::DEVICES))]
    Devices(devices::DevicesFlags),
    /// Measure how fast the inner loops run on this machine
    #[command(after_help = help::examples(&help::BENCH))]
    Bench(bench::BenchFlags),
    /// Print a script that completes commands and options in a shell
    #[command(after_help = help::examples(&help::COMPLETIONS))]
    Completions(manual::CompletionsFlags),
    /// Print the manual page, or write a page for each command
    #[command(after_help = help::examples(&help::MAN))]
    Man(manual::ManFlags),
}

/// The outcome of a command that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The command did its work.
    Done,
    /// There is no solution within the budget.
    NoSolution,
    /// The network is infeasible, or the checked solution is.
    Infeasible,
    /// The command did its work, but a requested file could not be written.
    Incomplete,
}

impl Exit {
    /// Returns the exit code of the process.
    pub fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::NoSolution => 3,
            Exit::Infeasible => 4,
            Exit::Incomplete => 1,
        }
    }

    /// Returns `Incomplete` in place of `Done` if not all files were written: an outcome about the network has
    /// priority.
    pub fn written(self, all: bool) -> Exit {
        if self == Exit::Done && !all { Exit::Incomplete } else { self }
    }
}

/// Runs the command that the process was started with and ends the process.
fn main(started: Instant) -> ! {
    guard::prepare();
    #[allow(unsafe_code, reason = "a setting of the driver")]
    // SAFETY: no other thread of this process reads its environment yet.
    unsafe {
        fangs_device::want_few_queues();
    }
    let code = match threads::caught(|| run(flags(), started)) {
        Ok(Ok(exit)) => exit.code(),
        Ok(Err(error)) => fail(&error),
        // already reported by the panic hook
        Err(_) => 1,
    };
    end(code)
}

fn run(flags: Flags, started: Instant) -> Result<Exit, Error> {
    if tune::apply(&flags.tune)? {
        return Ok(Exit::Done);
    }
    match flags.command {
        Command::Solve(flags) => solve::run(flags.try_into()?, started),
        Command::Bound(flags) => bound::run(flags.try_into()?, started),
        Command::Info(flags) => info::run(flags.try_into()?, started),
        Command::Check(flags) => check::run(flags.try_into()?, started),
        Command::Convert(flags) => convert::run(flags.try_into()?, started),
        Command::Explain(flags) => explain::run(flags.try_into()?, started),
        Command::Diff(flags) => diff::run(flags.try_into()?, started),
        Command::Compare(flags) => compare::run(*flags, started),
        Command::Marginals(flags) => marginals::run((*flags).try_into()?, started),
        Command::Decide(flags) => decide::run(flags.try_into()?, started),
        Command::Generate(flags) => generate::run(flags, started),
        Command::Plot(flags) => plot::run(flags),
        Command::Heuristics(flags) => heuristics::run(flags, started),
        Command::Dcop(flags) => dcop::run(flags.try_into()?, started),
        Command::DcopAgent => dcop::serve(),
        Command::Devices(flags) => devices::run(flags),
        Command::Bench(flags) => bench::run(flags, started),
        Command::Completions(flags) => manual::completions(flags),
        Command::Man(flags) => manual::man(flags),
    }
}

/// Ends the process when all files are written and closed.
fn end(code: u8) -> ! {
    end_progress();
    signals::tell_gaps();
    signals::end(code)
}

/// Prints an error and returns its exit code: 2 for input and usage, 3 if stopped, otherwise 1.
fn fail(error: &Error) -> u8 {
    use std::io::Write;
    end_progress();
    // a closed standard error cannot be reported
    drop(writeln!(std::io::stderr(), "fangs: {}", terminal::text(&error.to_string())));
    match error {
        error if error.is_stop() => 3,
        error if error.is_input() => 2,
        _ => 1,
    }
}

/// Returns the reason why a stop flag ended a run.
fn stopped_by(stop: &Stop) -> StoppedBy {
    stop.cause().map_or(StoppedBy::Time, StoppedBy::from)
}

/// Parses the command line; ends the process on errors and after help.
fn flags() -> Flags {
    let arguments = usage::joined(Invocation::arguments());
    Flags::try_parse_from(&arguments).unwrap_or_else(|error| usage::refuse(&error, &arguments))
}

/// Records the start and the end of a run that stopped while it was loading, with the error `cause`.
fn record_unloaded(recorder: &mut Recorder, cause: &Error, stop: &Stop, time_s: f64, known: &Known) {
    if let Error::Waiting(_) = cause {
        recorder.warn(&cause.to_string());
    }
    if stop.cause() == Some(Cause::Memory) {
        recorder.warn("out of memory: the run ends here");
    }
    for kind in [EventKind::Start, EventKind::End] {
        record_loading(recorder, kind, time_s, known);
    }
}

/// Returns a function that records a tick for every second of loading.
fn ticks<'r>(recorder: &'r mut Recorder, clock: &'r Clock, known: &'r Known) -> impl FnMut() + 'r {
    let mut next = clock.seconds().floor() + 1.0;
    move || {
        let now = clock.seconds();
        if now >= next {
            next = now.floor() + 1.0;
            record_loading(recorder, EventKind::Tick, now, known);
        }
    }
}

/// Properties of a run that are known before its network is read.
#[derive(Debug, Default)]
struct Known {
    /// Whether the network is maximised; `None` if unknown.
    maximise: Option<bool>,
    /// The checkpoint that the run resumes from.
    resumed: Option<Checkpoint>,
}

/// Records an event without any result of this process.
fn record_loading(recorder: &mut Recorder, kind: EventKind, time_s: f64, known: &Known) {
    let resumed = known.resumed.as_ref();
    let event = Event {
        kind,
        time_s,
        cost: resumed.and_then(|resumed| Some(resumed.solution.as_ref()?.value)),
        bound: resumed.and_then(|resumed| resumed.bound.value),
        gap: None,
        maximise: resumed.map(|resumed| resumed.maximise).or(known.maximise),
        round: resumed.map_or(0, |resumed| resumed.rounds),
        moves: resumed.map_or(0, |resumed| resumed.moves),
        ratings: resumed.map_or(0, |resumed| resumed.ratings),
        source: "load".into(),
        solution: None,
        message: None,
        facts: None,
    };
    recorder.observe(&event, |_| String::new());
}
