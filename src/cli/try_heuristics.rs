//! `fangs heuristics try`: compares heuristics by repeated runs.

use super::input::{Input, InputFlags};
use super::output::{self, Rows};
use super::{Exit, chosen, help, signals, values};
use clap::Args;
use fangs_base::Error;
use fangs_base::activity::Activity;
use fangs_base::stop::Stop;
use fangs_device::{Choice, Opening};
use fangs_model::model::Network;
use fangs_report::comparison::{Axis, Measured, Trace, median_curve, primal_integral, spread};
use fangs_report::plot::{Chart, PictureFile};
use fangs_report::{Console, Verbosity, end_progress};
use fangs_search::{self as search, DriverChoice, EventKind, Options};
use serde::Serialize;
use serde_json::json;
use std::path::PathBuf;
use std::time::{Duration, Instant};

#[derive(Args, Debug)]
pub struct TryFlags {
    #[command(flatten)]
    input: InputFlags,
    /// Wall-clock time of each run: 30, 500ms, 5m, 1h 30m
    #[arg(short, long, value_name = "DUR", default_value = "10s", value_parser = values::duration,
        help_heading = help::BUDGET)]
    time: Duration,
    /// Runs of each heuristic, with the seeds 1, 2 and so on
    #[arg(long, value_name = "K", default_value_t = 3, value_parser = values::positive::<u64>,
        help_heading = help::BUDGET)]
    seeds: u64,
    /// A heuristic or a file, or default for the search without one; give several to compare them with the first
    #[arg(long, value_name = "NAME|FILE", required = true, value_parser = parse, help_heading = help::SEARCH)]
    heuristic: Vec<Candidate>,
    /// Let each heuristic search alone, without the rest of the portfolio
    #[arg(long, help_heading = help::SEARCH)]
    alone: bool,
    /// Where to run: auto, cpu, cuda or cuda:I
    #[arg(long, value_name = "DEVICE", default_value = "cpu", value_parser = Choice::of_one,
        help_heading = help::SEARCH)]
    device: Choice,
    /// CPU threads [default: all]
    #[arg(long, value_name = "N", value_parser = values::threads, help_heading = help::SEARCH)]
    threads: Option<usize>,
    /// Draw the median curves into a picture, .svg, .png or .pdf
    #[arg(long, value_name = "FILE", help_heading = help::OUTPUT)]
    plot: Option<PathBuf>,
    /// Write a row for each run
    #[arg(long, value_name = "FILE", help_heading = help::OUTPUT)]
    csv: Option<PathBuf>,
    /// Print exactly one JSON object on standard output instead of text
    #[arg(long, help_heading = help::OUTPUT)]
    json: bool,
}

/// A heuristic to compare; `None` is the search without one.
type Candidate = Option<chosen::Chosen>;

fn parse(text: &str) -> Result<Candidate, String> {
    if text == "default" { Ok(None) } else { chosen::parse(text).map(Some) }
}

/// A run, as a row of the CSV.
#[derive(Clone, Debug, Serialize)]
struct Row {
    heuristic: String,
    seed: u64,
    cost: Option<f64>,
    time_to_best_s: Option<f64>,
    integral: f64,
    integral_by_ratings: f64,
    ratings_s: f64,
    picks: u64,
    changed: u64,
    improved: u64,
    proposed: u64,
    taken: u64,
    taken_changed: u64,
    taken_improved: u64,
    settled: u64,
    bytes: u64,
    compile_s: Option<f64>,
    cached: Option<bool>,
}

/// A summary of all runs of a heuristic.
#[derive(Serialize)]
struct Line {
    heuristic: String,
    runs: usize,
    solved: usize,
    best: Option<f64>,
    cost: Option<f64>,
    integral: f64,
    /// Mean primal integral over evaluations in place of time, up to the smallest number of evaluations of any run.
    integral_by_ratings: f64,
    /// Mean difference to the first heuristic's integrals, seed by seed; `error` is its standard error.
    difference: f64,
    error: f64,
    ratings_s: f64,
    /// Samples that gave the state a new best cost, per million samples that changed a value.
    improved_per_million: f64,
    taken_share: f64,
    megabytes: f64,
    /// Seconds to compile the kernel, on a device; `cached` says whether it came from the cache.
    compile_s: Option<f64>,
    cached: Option<bool>,
}

/// The ends of the primal integrals, in seconds and in evaluations.
#[derive(Clone, Copy)]
struct Ends {
    seconds: f64,
    ratings: f64,
}

/// The runs to compare.
struct Trials<'a> {
    network: &'a Network,
    candidates: &'a [Candidate],
    seeds: u64,
    alone: bool,
    time: Duration,
    threads: Option<usize>,
    device: Opening,
    activity: Activity,
}

impl Trials<'_> {
    /// Runs all candidates with all seeds, alternating the candidates so that other load of the machine affects all
    /// alike. Returns the runs of each candidate.
    fn run(&self, console: &Console, stop: &Stop) -> Result<Vec<Vec<Measured>>, Error> {
        let mut measured: Vec<Vec<Measured>> = vec![Vec::new(); self.candidates.len()];
        let mut told = Vec::new();
        for seed in 1..=self.seeds {
            for (heuristic, measured) in self.candidates.iter().zip(&mut measured) {
                let options = self.options(heuristic, seed, stop)?;
                let mut trace = Trace::default();
                let run = Stop::new();
                let summary = search::solve(self.network, &options, &run, &mut |event| {
                    if let (EventKind::Solution, Some(cost)) = (event.kind, event.cost) {
                        trace.push(event.time_s, event.ratings, cost.as_f64());
                    }
                    // each run would repeat the warnings
                    if let (EventKind::Warning, Some(message)) = (event.kind, &event.message)
                        && !told.contains(message)
                    {
                        console.warn(message);
                        told.push(message.clone());
                    }
                    if stop.is_set() {
                        run.set(fangs_base::stop::Cause::Signal);
                    }
                })?;
                if stop.is_set() {
                    return Err(Error::Stopped);
                }
                measured.push(Measured { seed, trace, summary });
            }
        }
        Ok(measured)
    }

    fn options(&self, heuristic: &Candidate, seed: u64, stop: &Stop) -> Result<Options, Error> {
        let driver = match (self.alone, heuristic) {
            (true, Some(_)) => DriverChoice::GUIDED,
            _ => DriverChoice::PORTFOLIO,
        };
        Ok(Options {
            time: Some(self.time),
            seed,
            driver,
            heuristic: heuristic.as_ref().map(|heuristic| heuristic.of(self.network, stop)).transpose()?,
            threads: self.threads,
            device: self.device.clone(),
            activity: self.activity.clone(),
            ..Options::default()
        })
    }
}

/// Compares heuristics, and prints a table or one JSON object.
pub fn run(flags: TryFlags, started: Instant) -> Result<Exit, Error> {
    let input = Input::try_from(flags.input)?;
    let files = chosen::reads(input.files()?, flags.heuristic.iter().flatten())?;
    let _ = files.writes("--plot", flags.plot.as_deref())?.writes("--csv", flags.csv.as_deref())?;
    let picture = flags.plot.as_deref().map(|path| output::as_usage(PictureFile::new(path))).transpose()?;
    let mut csv = Rows::create(flags.csv)?;
    let stop = signals::listen()?;
    values::use_threads(flags.threads)?;
    // opened once, before the runs
    let device = Opening::start(flags.device);
    let activity = Activity::default();
    activity.step("reading");
    let budget = flags.time.saturating_mul(flags.heuristic.len() as u32).saturating_mul(flags.seeds as u32);
    let console = Console::new(Verbosity::Normal).progress(&activity, started, Some(budget));
    let network = input.load(&console, &stop)?;
    let _ = device.wait(&stop)?;
    let trials = Trials {
        network: &network,
        candidates: &flags.heuristic,
        seeds: flags.seeds,
        alone: flags.alone,
        time: flags.time,
        threads: flags.threads,
        device,
        activity,
    };
    let measured = trials.run(&console, &stop)?;
    end_progress();
    let (seconds, maximise) = (flags.time.as_secs_f64(), network.units().maximise);
    let names: Vec<String> = flags.heuristic.iter().map(name).collect();
    let best = Measured::best(measured.iter().flatten(), maximise);
    let fewest = measured.iter().flatten().map(|run| run.summary.ratings).min().unwrap_or(0);
    let ends = Ends { seconds, ratings: fewest as f64 };
    let rows: Vec<Vec<Row>> = names
        .iter()
        .zip(&measured)
        .map(|(name, runs)| runs.iter().map(|run| row(name, run, best, ends)).collect())
        .collect();
    for row in rows.iter().flatten() {
        csv.push(row)?;
    }
    let lines: Vec<Line> = rows.iter().map(|own| line(own, &rows[0], maximise)).collect();
    if flags.json {
        output::print_json(&json!({
            "instance": network.name, "time_s": seconds, "seeds": flags.seeds, "best": best, "heuristics": lines,
        }))?;
    } else {
        table(&lines)?;
    }
    if let Some(mut picture) = picture {
        let median = |(name, runs): (&String, &Vec<Measured>)| median_curve(name, runs, seconds, maximise);
        let curves = names.iter().zip(&measured).map(median).collect();
        let title = format!("{}, median of {} runs", input.file_name(), flags.seeds);
        picture.save(&Chart { title, curves, ..Chart::default() }, &stop)?;
    }
    csv.finish(&stop)?;
    Ok(Exit::Done)
}

fn name(candidate: &Candidate) -> String {
    candidate.as_ref().map_or_else(|| "default".into(), chosen::Chosen::name)
}

fn row(name: &str, run: &Measured, best: Option<f64>, ends: Ends) -> Row {
    let picks = run.summary.picks;
    Row {
        heuristic: name.into(),
        seed: run.seed,
        cost: run.summary.cost.map(|cost| cost.as_f64()),
        time_to_best_s: run.summary.time_to_best_s,
        integral: primal_integral(&run.trace, best, Axis::Time, ends.seconds),
        integral_by_ratings: primal_integral(&run.trace, best, Axis::Ratings, ends.ratings),
        ratings_s: run.summary.ratings as f64 / run.summary.time_s.max(1e-9),
        picks: picks.drawn,
        changed: picks.changed,
        improved: picks.improved,
        proposed: picks.proposed,
        taken: picks.taken,
        taken_changed: picks.taken_changed,
        taken_improved: picks.taken_improved,
        settled: picks.settled,
        bytes: picks.bytes,
        compile_s: picks.compiled.map(|compiled| compiled.seconds),
        cached: picks.compiled.map(|compiled| compiled.cached),
    }
}

fn line(rows: &[Row], first: &[Row], maximise: bool) -> Line {
    let mut costs: Vec<f64> = rows.iter().filter_map(|row| row.cost).collect();
    costs.sort_by(f64::total_cmp);
    if maximise {
        costs.reverse();
    }
    let mean = |of: &dyn Fn(&Row) -> f64| rows.iter().map(of).sum::<f64>() / rows.len() as f64;
    let sum = |of: &dyn Fn(&Row) -> u64| rows.iter().map(of).sum::<u64>() as f64;
    let differences: Vec<f64> = rows.iter().zip(first).map(|(row, first)| row.integral - first.integral).collect();
    let (difference, error) = spread(&differences);
    let seconds = |row: &&Row| row.compile_s.unwrap_or(-1.0);
    let slowest = rows.iter().max_by(|a, b| seconds(a).total_cmp(&seconds(b)));
    Line {
        heuristic: rows[0].heuristic.clone(),
        runs: rows.len(),
        solved: costs.len(),
        best: costs.first().copied(),
        cost: costs.get(rows.len() / 2).copied(),
        integral: mean(&|row| row.integral),
        integral_by_ratings: mean(&|row| row.integral_by_ratings),
        difference,
        error,
        ratings_s: mean(&|row| row.ratings_s),
        improved_per_million: 1e6 * sum(&|row| row.improved) / sum(&|row| row.changed).max(1.0),
        taken_share: sum(&|row| row.taken) / sum(&|row| row.proposed).max(1.0),
        megabytes: rows.iter().map(|row| row.bytes).max().unwrap_or(0) as f64 / 1e6,
        compile_s: slowest.and_then(|row| row.compile_s),
        cached: slowest.and_then(|row| row.cached),
    }
}

fn table(lines: &[Line]) -> Result<(), Error> {
    output::print(&format_args!(
        "heuristic       solved        best      median  integral %  difference      +-  by ratings %  M ratings/s  \
         improved/M  groups %     MB  compile s\n"
    ))?;
    for line in lines {
        // c marks a kernel that was compiled in an earlier run
        let of_cache = if line.cached == Some(true) { " c" } else { "" };
        let compile = line.compile_s.map_or("-".into(), |seconds| format!("{seconds:.2}{of_cache}"));
        let number = |number: Option<f64>| number.map_or("none".into(), |number| format!("{number}"));
        output::print(&format_args!(
            "{:<14}  {:>2} of {:>2}  {:>10}  {:>10}  {:>10.3}  {:>+10.3}  {:>6.3}  {:>12.3}  {:>11.1}  {:>10.0}  \
             {:>8.1}  {:>5.1}  {compile:>9}\n",
            line.heuristic,
            line.solved,
            line.runs,
            number(line.best),
            number(line.cost),
            100.0 * line.integral,
            100.0 * line.difference,
            100.0 * line.error,
            100.0 * line.integral_by_ratings,
            line.ratings_s / 1e6,
            line.improved_per_million,
            100.0 * line.taken_share,
            line.megabytes,
        ))?;
    }
    Ok(())
}
