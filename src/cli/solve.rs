//! `fangs solve`: searches for solutions and proves bounds.

mod parts;
mod probability;
mod several;
mod solved;

use super::input::{Input, InputFlags};
use super::long_runs::{LongRunFlags, Widths};
use super::output::{self, OutputFlags};
use super::ranks::Ranks;
use super::{Exit, Known, chosen, help, record_unloaded, signals, stopped_by, ticks, values, worker};
use clap::Args;
use fangs_base::Error;
use fangs_base::stop::Stop;
use fangs_base::terminal;
use fangs_base::threads;
use fangs_check as check;
use fangs_device::{Choice, Opening};
use fangs_formats::{self as formats, Graph};
use fangs_heuristics::ValueHeuristic;
use fangs_model::model::{Network, Number, Observations};
use fangs_report::{
    self as record, CheckpointFile, Console, Keepers, OutputContext, Recorder, ReplacedFile, SolveReport, Verbosity,
};
use fangs_search::{
    self as search, Assertions, BoundChoice, Checkpoint, Clock, Event, Keeping, Options, Status, Summary,
};
use several::{Finished, Several, SeveralFlags};
use solved::Solved;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Size in bytes of a file above which several threads read it: one thread reads this size in about ten milliseconds.
const LARGE_FILE: u64 = 1 << 20;

/// Time budget if neither time nor rounds are given.
const DEFAULT_TIME: Duration = Duration::from_secs(60);

#[derive(Args, Debug)]
pub struct SolveFlags {
    #[command(flatten)]
    input: InputFlags,
    /// Start from this solution; repeat the option for several [default: none]
    ///
    /// If a solution has `-` in place of a value, or an object of names lacks a variable, greedy choices complete it.
    /// The search may change the given values; the result is never worse than the best start.
    #[arg(long, value_name = "SOL", help_heading = help::INPUT)]
    warm_start: Vec<PathBuf>,
    /// Stop after this wall-clock time, loading included [default: 60s, none with --rounds]
    ///
    /// Seconds such as 30 or 0.5, or a number with units: 500ms, 30s, 5m, 1h 30m.
    #[arg(short, long, value_name = "DUR", value_parser = values::duration, help_heading = help::BUDGET)]
    time: Option<Duration>,
    /// Stop after N rounds of drivers [default: no limit]
    ///
    /// The result then does not depend on the clock: the same seed gives the same result for any number of threads. No
    /// time limit applies without --time.
    #[arg(long, value_name = "N", value_parser = values::whole::<u64>, help_heading = help::BUDGET)]
    rounds: Option<u64>,
    /// Stop once a solution is at least as good as this cost [default: none]
    #[arg(long, value_name = "COST", value_parser = values::cost_of, allow_negative_numbers = true,
        help_heading = help::BUDGET)]
    target: Option<Number>,
    /// Stop at this relative gap between cost and bound, such as 0.05 or 5% [default: only when they meet]
    ///
    /// The gap is |cost - bound| / max(|cost|, |bound|). A bare number is a share of at most 1.
    #[arg(long, value_name = "REL", value_parser = values::relative, allow_negative_numbers = true,
        help_heading = help::BUDGET)]
    gap: Option<f64>,
    /// Seed of every random choice
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = values::whole::<u64>,
        help_heading = help::SEARCH)]
    seed: u64,
    /// Where to run: auto (a CUDA device if one works), cpu, cuda or cuda:I; several as cuda:0,1 or cuda:all
    ///
    /// Each of several devices has a population, and elites are exchanged after each round. Devices whose memories are
    /// connected share one state of a very large network.
    #[arg(long, value_name = "DEVICE", default_value = "auto", help_heading = help::SEARCH)]
    device: Choice,
    /// CPU threads [default: all]
    #[arg(long, value_name = "N", value_parser = values::threads, help_heading = help::SEARCH)]
    threads: Option<usize>,
    /// Size of the population in states [default: by memory and problem]
    #[arg(long, value_name = "N", value_parser = values::positive::<usize>, help_heading = help::SEARCH)]
    population: Option<usize>,
    /// Search method
    #[arg(long, value_name = "NAME", default_value = "portfolio", help_heading = help::SEARCH,
        value_parser = values::driver())]
    driver: values::Driver,
    /// Add a local heuristic to the portfolio, or let it search alone with --driver guided [default: none]
    ///
    /// A built-in heuristic (`fangs heuristics` lists them) or a file of your own, in TOML or CUDA.
    #[arg(long, value_name = "NAME|FILE", value_parser = chosen::parse, help_heading = help::SEARCH)]
    heuristic: Option<chosen::Chosen>,
    /// Skip the exact reductions before the search, except that variables in no function are removed
    #[arg(long, help_heading = help::SEARCH)]
    no_reduce: bool,
    /// Recompute the cost after each assignment of the heuristic and each round, to find faults; slow
    #[arg(long, help_heading = help::SEARCH)]
    assert: bool,
    /// Method that proves bounds
    #[arg(long, value_name = "METHOD", default_value = "auto", help_heading = help::BOUNDS,
        value_parser = values::method(true))]
    bound: BoundChoice,
    /// Largest number z of variables in a mini-bucket, the i-bound plus 1 [default: grows while time remains]
    #[arg(long, value_name = "N", value_parser = values::positive::<u32>, help_heading = help::BOUNDS)]
    z: Option<u32>,
    /// Memory for bound tables, such as 512M or 4G [default: half of free memory]
    #[arg(long, value_name = "SIZE", value_parser = values::size, help_heading = help::BOUNDS)]
    bound_memory: Option<u64>,
    /// Disk for tables of exact elimination that exceed it, such as 100G [default: half of the free space, 0 with
    /// --rounds]
    ///
    /// The tables are in unnamed files in the folder that TMPDIR names; 0 disables them.
    #[arg(long, value_name = "SIZE", value_parser = values::size, help_heading = help::BOUNDS)]
    spill: Option<u64>,
    /// Anneal one state in N parts, each on a thread or a process of mpirun with its own functions only [default: none]
    ///
    /// For networks that do not fit one machine: each process of mpirun reads its part of a .fangs file, which
    /// `fangs convert` writes. The CPU alone works, no bounds are computed, and --rounds counts anneals, whose results
    /// do not depend on N.
    #[arg(long, value_name = "N", value_parser = values::positive::<usize>, help_heading = help::SEARCH,
        conflicts_with_all = ["warm_start", "target", "gap", "population", "driver", "heuristic", "no_reduce", "assert",
        "bound", "z", "bound_memory", "spill", "certificate", "plot", "stop", "solutions_dir", "checkpoint", "resume",
        "exchange", "report", "all", "count", "best", "diverse"])]
    parts: Option<usize>,
    #[command(flatten)]
    several: SeveralFlags,
    #[command(flatten)]
    output: OutputFlags,
    /// Draw cost and bound over time into a picture, .svg, .png or .pdf
    #[arg(long, value_name = "FILE", help_heading = help::OUTPUT)]
    plot: Option<PathBuf>,
    /// Print only warnings on standard error, and no progress line
    #[arg(short, long, conflicts_with = "verbose", help_heading = help::OUTPUT)]
    quiet: bool,
    /// Print a line on standard error for each solution and bound
    #[arg(short, long, help_heading = help::OUTPUT)]
    verbose: bool,
    #[command(flatten)]
    long_run: LongRunFlags,
}

/// A checked configuration of `fangs solve`.
pub struct Config {
    input: Input,
    options: Options,
    heuristic: Option<chosen::Chosen>,
    warm_starts: Vec<PathBuf>,
    several: SeveralFlags,
    output: OutputFlags,
    plot: Option<PathBuf>,
    long_run: LongRunFlags,
    /// The number of parts of the network, if it is divided.
    parts: Option<usize>,
    verbosity: Verbosity,
    /// Whether this process reports, that is, it is the first rank or the only process.
    reports: bool,
}

impl Config {
    /// Adapts the configuration to this process, if it is one of several ranks.
    fn among(mut self, ranks: &Ranks) -> Result<Config, Error> {
        if ranks.count().is_some() && self.input.is_graph() {
            return Err(Error::Usage("mpirun needs --colors: without, there is no network yet".into()));
        }
        if let (Some(_), Some(option)) = (ranks.count(), self.several.named()) {
            return Err(Error::Usage(format!("{option} is for a single process: leave mpirun out")));
        }
        ranks.share_out(&mut self.options)?;
        Ok(if ranks.is_first() { self } else { self.silent() })
    }

    /// Of a process that does not report.
    fn silent(self) -> Config {
        let output = OutputFlags { solution: None, certificate: None, csv: None, ..self.output };
        let (long_run, verbosity) = (self.long_run.without_files(), Verbosity::Quiet);
        Config { output, plot: None, long_run, verbosity, reports: false, ..self }
    }
}

impl TryFrom<Box<SolveFlags>> for Config {
    type Error = Error;

    fn try_from(flags: Box<SolveFlags>) -> Result<Self, Error> {
        let verbosity = match (flags.quiet, flags.verbose) {
            (true, _) => Verbosity::Quiet,
            (_, true) => Verbosity::Verbose,
            _ => Verbosity::Normal,
        };
        if let Some((old, now)) = flags.driver.renamed {
            Console::new(verbosity).warn(&format!("--driver {old}: {now}"));
        }
        values::doubt_threads(flags.threads);
        let mut options = Options {
            time: flags.time.or_else(|| flags.rounds.is_none().then_some(DEFAULT_TIME)),
            rounds: flags.rounds,
            seed: flags.seed,
            device: flags.device.into(),
            threads: flags.threads,
            population: flags.population,
            driver: flags.driver.choice,
            assertions: if flags.assert { Assertions::Assignment } else { Assertions::Incumbent },
            bound: flags.bound,
            z: flags.z,
            bound_memory: flags.bound_memory,
            spill: flags.spill,
            reduce: !flags.no_reduce,
            target: flags.target,
            gap: flags.gap,
            certificate: flags.output.certificate.is_some(),
            ..Options::default()
        };
        flags.long_run.rules(&mut options)?;
        let input = Input::or_graph(flags.input)?;
        let needs_colors = [
            ("--certificate", flags.output.certificate.is_some()),
            ("a heuristic of a file", matches!(flags.heuristic, Some(chosen::Chosen::File(_)))),
        ];
        let named = needs_colors.iter().find(|(_, given)| *given).map(|(name, _)| *name).or(flags.several.named());
        if let Some(what) = named.or(flags.long_run.needs_colors()).filter(|_| input.is_graph()) {
            return Err(Error::Usage(format!("{what} needs --colors: without, there is no network yet")));
        }
        let OutputFlags { solution, certificate, csv, .. } = &flags.output;
        let starts = || flags.warm_start.iter().map(PathBuf::as_path);
        let files = starts().try_fold(input.files()?, |files, path| files.reads("--warm-start", Some(path)))?;
        let files = chosen::reads(files, flags.heuristic.iter())?.writes("--solution", solution.as_deref())?;
        let files = files.writes("--certificate", certificate.as_deref())?.writes("--csv", csv.as_deref())?;
        let _ = flags.long_run.files(files.writes("--plot", flags.plot.as_deref())?)?;
        let (heuristic, warm_starts, parts) = (flags.heuristic, flags.warm_start, flags.parts);
        if let (Some(_), Some(what)) = (parts, undivided(&input, options.device.choice())) {
            return Err(Error::Usage(format!("--parts: {what}")));
        }
        let SolveFlags { several, output, plot, long_run, .. } = *flags;
        let reports = true;
        Ok(Config {
            input,
            options,
            heuristic,
            warm_starts,
            several,
            output,
            plot,
            long_run,
            parts,
            verbosity,
            reports,
        })
    }
}

/// Returns why a run cannot be divided into parts, if it cannot.
fn undivided(input: &Input, device: &Choice) -> Option<&'static str> {
    match device {
        _ if input.is_graph() => Some("a .col graph needs --colors"),
        Choice::Auto | Choice::Cpu => None,
        _ => Some("parts are annealed on the CPU: leave --device out"),
    }
}

/// Solves a network.
pub fn run(config: Config, started: Instant) -> Result<Exit, Error> {
    if let Some(parts) = config.parts {
        return parts::run(config, parts, started);
    }
    let stop = signals::listen()?;
    let ranks = Ranks::join(&stop)?;
    let exit = solve(config.among(&ranks)?, &ranks, &stop, started)?;
    ranks.leave();
    Ok(if ranks.is_first() { exit } else { Exit::Done })
}

fn solve(mut config: Config, ranks: &Ranks, stop: &Stop, started: Instant) -> Result<Exit, Error> {
    let keepers = config.long_run.keepers(ranks, stop)?;
    let (resumed, checkpoint) = (keepers.resumed().cloned(), keepers.checkpoint());
    let before = resumed.as_ref().map_or(0.0, |checkpoint| checkpoint.time_s);
    let clock = Clock::start(started, config.options.time, stop).after(before);
    config.options.device = Opening::start(config.options.device.choice().clone());

    let certificate =
        config.output.certificate.as_deref().map(|path| output::as_usage(ReplacedFile::new(path))).transpose()?;
    let widths = Widths::default();
    let mut recorder = record(&config, resumed.as_ref(), &widths, started)?;
    let known = Known { maximise: config.input.maximises(), resumed };
    let loading = Loading {
        input: config.input.clone(),
        heuristic: config.heuristic.take(),
        warm_starts: config.warm_starts.clone(),
        keepers,
        threads: config.options.threads(),
        console: recorder.console().clone(),
        started,
    };
    let loading_stop = stop.clone();
    let load = move || loading.load(&loading_stop);
    let Loaded { network, seen, graph, load_s, heuristic, starts, keeping } =
        match worker::run(stop, load, ticks(&mut recorder, &clock, &known)) {
            Ok(loaded) => loaded,
            Err(error) if Error::is_stop(&error) => {
                let time_s = clock.seconds();
                let report = SolveReport::unloaded(config.input.name(), &config.options, stopped_by(stop), time_s);
                record_unloaded(&mut recorder, &error, stop, time_s, &known);
                let _ = recorder.finish(stop, Some(&|_| report.summary()));
                if config.reports {
                    output::print_report(&report, config.output.json)?;
                }
                return Ok(Exit::NoSolution);
            }
            Err(error) => return Err(error),
        };
    let options = &mut config.options;
    (options.heuristic, options.warm_starts, options.keeping) = (heuristic, starts, keeping);
    config.several.check(&network)?;
    options.target = config.several.target(&network).or(options.target);
    config.long_run.widths(&network, &widths);
    // the process ends with the run: freeing a large network would only delay it
    std::mem::forget(network.clone());
    warn_of_starts(&config, &network, graph.as_ref(), &recorder);

    let format = config.output.solution_format;
    let mut observe = |event: &Event| {
        recorder.observe(event, |solution| formats::write_solution(&network, solution, format));
    };
    let solved = match &graph {
        Some(graph) => search::color_by(&clock, graph, &config.options, stop, &mut observe),
        None => search::solve_by(&clock, &network, &config.options, stop, &mut observe),
    };
    let mut summary = match solved {
        Ok(summary) => summary,
        Err(error) => {
            // the files keep the results so far
            let _ = recorder.finish(stop, None);
            return Err(error);
        }
    };
    let deadline = clock.deadline();
    let finished = Finished { network: &network, summary: &summary, options: &config.options, stop, deadline };
    let several = config.several.find(&finished, |warning| recorder.warn(warning));
    if let Some(several) = &several {
        summary.time_s = clock.seconds();
        if !several.is_complete() && stop.is_set() {
            summary.stopped_by = stopped_by(stop);
        }
    }
    let resumed_s = known.resumed.map(|checkpoint| record::seconds(checkpoint.time_s));
    let report = SolveReport { resumed_s, ranks: ranks.count(), ..SolveReport::new(&network, &summary, load_s) };
    let functions = graph.as_ref().map_or(report.functions, |graph| Some(graph.edges.len()));
    let report = SolveReport { functions, ..report };
    let ending = Ending { config: &config, network: &network, summary: &summary, seen: seen.as_ref(), several, stop };
    ending.write(recorder, certificate, checkpoint, report)
}

/// Opens the outputs; the page reads induced widths from `widths`.
fn record(config: &Config, resumed: Option<&Checkpoint>, widths: &Widths, started: Instant) -> Result<Recorder, Error> {
    let Config { input, options, output, plot, long_run, .. } = config;
    options.activity.step("reading");
    let context = OutputContext {
        instance: input.name(),
        seed: Some(options.seed),
        resumed_s: resumed.map(|checkpoint| checkpoint.time_s),
        settings: long_run.settings(input, options, widths),
    };
    let path = |name: &'static str| match name {
        "plot" => plot.clone(),
        name => output.output(name).or_else(|| long_run.output(name)),
    };
    let console = Console::new(config.verbosity).progress(&options.activity, started, options.time);
    output::as_usage(Recorder::new(console).open(path, &context))
}

/// The input of a run, before reading.
struct Loading {
    input: Input,
    heuristic: Option<chosen::Chosen>,
    warm_starts: Vec<PathBuf>,
    keepers: Keepers,
    threads: usize,
    console: Console,
    started: Instant,
}

/// The input of a run, after reading.
struct Loaded {
    network: Network,
    /// The observations; `None` if no evidence is given.
    seen: Option<Observations>,
    /// The graph whose number of colors is minimised, if the input is one.
    graph: Option<Graph>,
    load_s: f64,
    heuristic: Option<Arc<dyn ValueHeuristic>>,
    starts: Vec<Vec<Option<u32>>>,
    keeping: Keeping,
}

impl Loading {
    fn load(self, stop: &Stop) -> Result<Loaded, Error> {
        let Loading { input, console, .. } = &self;
        let graph = input.graph(console, stop)?;
        let size = input.path().and_then(|path| Some(path.metadata().ok()?.len())).unwrap_or(0);
        let is_large = graph.is_none() && size >= LARGE_FILE;
        let pool = if is_large { threads::pool(self.threads).ok() } else { None };
        let (network, seen) = match (&graph, pool) {
            (Some(graph), _) => (graph.palette(stop)?, None),
            (None, Some(pool)) => pool.install(|| input.load_observed(console, stop))?,
            (None, None) => input.load_observed(console, stop)?,
        };
        let load_s = self.started.elapsed().as_secs_f64();
        let heuristic = self.heuristic.map(|heuristic| heuristic.of(&network, stop)).transpose()?;
        let starts = self.warm_starts.iter().map(|path| formats::read_start(path, &network, stop));
        let starts = starts.collect::<Result<Vec<_>, Error>>()?;
        let keeping = output::as_usage(self.keepers.of(&network))?;
        Ok(Loaded { network, seen, graph, load_s, heuristic, starts, keeping })
    }
}

/// Warns of complete starts that are infeasible.
fn warn_of_starts(config: &Config, network: &Network, graph: Option<&Graph>, recorder: &Recorder) {
    for (path, start) in config.warm_starts.iter().zip(&config.options.warm_starts) {
        let Some(start) = start.iter().copied().collect::<Option<Vec<u32>>>() else { continue };
        let is_solution = match graph {
            Some(graph) => graph.loops.is_empty() && check::monochromatic(&graph.edges, &start).next().is_none(),
            None => check::evaluate(network, &start).is_solution(),
        };
        if !is_solution {
            recorder.warn(&format!("{}: no solution (see `fangs check`)", terminal::path(path)));
        }
    }
}

/// The results of a finished run, to be written.
struct Ending<'a> {
    config: &'a Config,
    network: &'a Network,
    summary: &'a Summary,
    /// The observations; `None` if no evidence is given.
    seen: Option<&'a Observations>,
    /// Several solutions, if they are asked for.
    several: Option<Several<'a>>,
    stop: &'a Stop,
}

impl Ending<'_> {
    /// Writes the certificate, and returns the line that seals it.
    fn certify(&self, file: ReplacedFile) -> Result<String, Error> {
        let (bound, proof) = &self.summary.proof;
        output::certificate(file, self.network, *bound, self.summary.least.as_deref(), proof, self.stop)
    }

    /// Writes all files and the report.
    fn write(
        mut self,
        mut recorder: Recorder,
        certificate: Option<ReplacedFile>,
        checkpoint: Option<Arc<CheckpointFile>>,
        report: SolveReport<'_>,
    ) -> Result<Exit, Error> {
        let several = self.several.take();
        let Ending { config, network, summary, seen, stop, .. } = self;
        let (mut written, mut seal) = (true, None);
        match certificate.map(|file| self.certify(file)).transpose() {
            Ok(line) => seal = line,
            Err(error) => {
                written = false;
                recorder.warn(&error.to_string());
            }
        }
        let solution_file = |complete: bool| config.output.solution.clone().filter(|_| complete);
        let with_file = |complete: bool| SolveReport { solution_file: solution_file(complete), ..report.clone() };
        let results = |incomplete: &[&'static str]| {
            let mut results = with_file(record::has_solution(incomplete)).summary();
            results.rows.extend(seal.iter().map(|seal| ("certificate".into(), seal.clone())));
            results
        };
        let ended = recorder.finish(stop, Some(&results));
        written &= ended.is_complete() && checkpoint.is_none_or(|file| file.is_written());
        let lost = summary.solution.as_deref().filter(|_| !ended.has_solution());
        let lost = lost.map(|solution| formats::write_solution(network, solution, config.output.solution_format));
        let report = with_file(ended.has_solution());
        if config.reports {
            // a process that holds a part of the functions cannot compute a probability
            let values = summary.solution.as_deref().filter(|_| config.parts.is_none());
            if let Some(several) = several.as_ref().filter(|_| !config.output.json) {
                output::print_lines(&several.lines())?;
            }
            let solved = Solved::new(report, network, seen, values, stop).with(several);
            output::print_run(&solved, config.output.json, lost)?;
        }
        let exit = match summary.status {
            Status::Optimal | Status::Feasible => Exit::Done,
            Status::Infeasible => Exit::Infeasible,
            Status::Unknown => Exit::NoSolution,
        };
        Ok(exit.written(written))
    }
}
