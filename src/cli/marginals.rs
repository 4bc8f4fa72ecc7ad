//! `fangs marginals`: sums over all assignments.

pub mod cases;
mod curves;
mod flags;
mod report;
mod table;

use super::output::{as_usage, print_json, print_report};
use super::{Exit, signals, values, worker};
use cases::Cases;
use curves::Curves;
use fangs_base::Error;
use fangs_base::stop::Stop;
use fangs_device::Opening;
use fangs_elimination::elimination::Gpu;
use fangs_elimination::order::Ordering;
use fangs_formats as formats;
use fangs_marginals::{Evidence, MapBounds, Marginals, Options, Prepared, PreparedMap, SumBounds, Sums, first_bound};
use fangs_model::model::{Names, Potentials};
use fangs_report::{Console, OutputContext, Recorder, ReplacedFile, Verbosity, seconds};
use fangs_search::{Clock, seek};
pub use flags::{Config, MarginalsFlags};
use rayon::prelude::*;
use report::{Assigned, Intervals, Observed, Posteriors, Report, Weighed};
use serde::Serialize;
use std::f64::consts::LN_10;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use table::Files;

/// Cases per thread that are read before the first of them are printed.
const BATCH: usize = 16;
/// Time beyond the limit in which a run may finish reading and compute its first bound.
const READING: Duration = Duration::from_millis(500);
/// Number of cases in a batch for a device.
const DEVICE_BATCH: usize = 1 << 12;

/// Computes the sum over all assignments and the posteriors.
pub fn run(config: Config, started: Instant) -> Result<Exit, Error> {
    let stop = signals::listen()?;
    let clock = Arc::new(Clock::start(started, None, &stop));
    let reading = Clock::start(started, config.time.map(|time| time + READING), &stop);
    values::use_threads(config.threads)?;
    let files = match &config.uai {
        Some(paths) => Some([as_usage(ReplacedFile::new(&paths[0]))?, as_usage(ReplacedFile::new(&paths[1]))?]),
        None => None,
    };
    config.activity.step("reading");
    let console = Console::new(config.verbosity).progress(&config.activity, started, config.time);
    let context = OutputContext { instance: config.input.name(), ..OutputContext::default() };
    let path = |name| config.bounds_csv.clone().filter(|_| name == "csv");
    let recorder = as_usage(Recorder::new(console.clone()).open(path, &context))?;
    let curves = Curves::new(recorder, clock.clone());
    let curves: Told = Arc::new(Mutex::new(Some(curves)));
    let printed = Printed::new(&config, &stop)?;
    let work = {
        let (config, stop, clock, curves) = (config.clone(), stop.clone(), clock.clone(), curves.clone());
        let printed = printed.clone();
        move || {
            let work = Work::new(config, &console, &clock, printed, &stop)?;
            work.first(&curves, &stop)?;
            drop(reading);
            let limit = Clock::start(started, work.config.time, &stop);
            let done = work.run(files, &curves, &clock, limit.deadline(), &stop);
            drop(limit);
            done
        }
    };
    let tick = || {
        if let Some(curves) = told(&curves).as_mut() {
            curves.tick();
        }
    };
    let ended = worker::run(&stop, work, tick);
    let ended = match ended {
        Err(error) if error.is_stop() => {
            let (potentials, evidence) = (Potentials::new(config.input.name()), Evidence::default());
            let asked = Asked { variables: config.variables.is_some(), none: false };
            let mut report = report(&config, asked, &potentials, &evidence);
            if config.maximize.is_some() {
                (report.task, report.order) = ("MMAP", "constrained".into());
            }
            report.time_s = seconds(clock.seconds());
            let last = told(&curves).as_ref().and_then(Curves::last);
            report.status = if last.is_some() { "bounds" } else { "stopped" };
            report.bounds = last.map(Into::into);
            report.assignment = told(&curves).as_ref().and_then(|curves| curves.assignment().cloned());
            report.checked = report.assignment.as_ref().map(|_| false);
            let exit = if last.is_some() { Exit::Done } else { Exit::NoSolution };
            if config.cases.is_none() { printed.print(&report, config.json, exit) } else { Ok(printed.end_cases(exit)) }
        }
        ended => ended,
    };
    let has_rows = told(&curves).take().is_none_or(|curves| curves.finish(&stop));
    ended.map(|exit| exit.written(has_rows || config.bounds_csv.is_none()))
}

/// The bounds so far, shared with the thread at work; `None` once the run has ended.
type Told = Arc<Mutex<Option<Curves>>>;

fn told(curves: &Told) -> MutexGuard<'_, Option<Curves>> {
    curves.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The printed report and the files beside it. The thread at work prints it, or the command if that thread does not end
/// in time. The lock makes others wait for a report that is being printed.
#[derive(Clone)]
struct Printed {
    outputs: Arc<Mutex<Outputs>>,
    stop: Stop,
}

/// The exit code of the printed report, and the files, until they are complete.
struct Outputs {
    exit: Option<Exit>,
    files: Option<Files>,
}

impl Printed {
    /// Opens the files.
    fn new(config: &Config, stop: &Stop) -> Result<Self, Error> {
        let files = Files::create(config.csv.as_deref(), config.plot.as_deref(), config.input.file_name())?;
        Ok(Printed { outputs: Arc::new(Mutex::new(Outputs { exit: None, files: Some(files) })), stop: stop.clone() })
    }

    fn lock(&self) -> MutexGuard<'_, Outputs> {
        self.outputs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Prints a report and writes its files, unless one was printed already. Returns the exit code of the printed
    /// report.
    fn print(&self, report: &Report<'_>, json: bool, exit: Exit) -> Result<Exit, Error> {
        let mut outputs = self.lock();
        if let Some(exit) = outputs.exit {
            return Ok(exit);
        }
        let files = outputs.files.take().unwrap_or_default();
        let exit = exit.written(self.complete(files, Some(report)));
        outputs.exit = Some(exit);
        print_report(report, json)?;
        Ok(exit)
    }

    /// Prints the line of a case, and adds its rows to the table.
    fn print_case(&self, case: u64, report: Report<'_>) -> Result<(), Error> {
        if let Some(files) = &mut self.lock().files {
            files.push(&report, Some(case))?;
        }
        print_json(&Case { case, report })
    }

    /// Completes the files of all cases.
    fn end_cases(&self, exit: Exit) -> Exit {
        let files = self.lock().files.take().unwrap_or_default();
        exit.written(self.complete(files, None))
    }

    /// Adds a report to the files and completes them. Returns whether they could be written; a failure is a warning.
    fn complete(&self, mut files: Files, report: Option<&Report<'_>>) -> bool {
        let pushed = report.map_or(Ok(()), |report| files.push(report, None));
        match pushed.and_then(|()| files.finish(report, &self.stop)) {
            Ok(()) => true,
            Err(error) => {
                Console::new(Verbosity::Quiet).warn(&error.to_string());
                false
            }
        }
    }
}

/// The posteriors that the user asked for.
#[derive(Clone, Copy)]
struct Asked {
    /// Whether variables were named.
    variables: bool,
    /// Whether only the sum is wanted.
    none: bool,
}

/// Returns the report before anything is computed.
fn report<'a>(config: &Config, asked: Asked, potentials: &'a Potentials, evidence: &'a Evidence) -> Report<'a> {
    Report {
        instance: &potentials.name,
        version: fangs_base::VERSION,
        task: if asked.none { "PR" } else { "MAR" },
        status: "memory",
        ln_z: None,
        log10_z: None,
        error_bound: None,
        posterior_error: None,
        bounds: None,
        underflow: false,
        order: config.order.name(),
        tree: None,
        device: "cpu".into(),
        threads: rayon::current_num_threads(),
        load_s: 0.0,
        order_s: 0.0,
        collect_s: 0.0,
        distribute_s: 0.0,
        transfer_s: 0.0,
        kernels_s: 0.0,
        time_s: 0.0,
        temperature: config.input.temperature,
        evidence: Observed(potentials, evidence),
        soft: Weighed(potentials, evidence),
        marginals: None,
        intervals: None,
        assignment: None,
        checked: None,
    }
}

/// The model and the options of a run, after reading.
struct Work {
    config: Config,
    potentials: Potentials,
    evidence: Evidence,
    options: Options,
    asked: Asked,
    device: Opening,
    printed: Printed,
    load_s: f64,
}

impl Work {
    fn new(config: Config, console: &Console, clock: &Clock, printed: Printed, stop: &Stop) -> Result<Self, Error> {
        // a device that the user named opens while the file is read
        let choice = config.device.clone();
        let device = if choice.is_named() { Opening::start(choice) } else { Opening::new(choice) };
        let (potentials, evidence) = config.input.load(console, stop)?;
        let order = config.order.resolve(potentials.domains.len(), stop)?;
        let named = |names: &Vec<String>| formats::variables_named("--variables", names, &potentials.variables);
        let variables = config.variables.as_ref().map(named).transpose()?;
        let none = variables.as_ref().is_some_and(Vec::is_empty);
        let drawn = variables.clone().unwrap_or_else(|| (0..potentials.domains.len() as u32).collect());
        Files::refuse(config.plot.as_deref(), drawn.iter().map(|&v| potentials.domains[v as usize]))?;
        let asked = Asked { variables: variables.is_some(), none };
        let options = Options::default().with(|options| {
            (options.variables, options.order, options.memory) = (variables, order, Some(config.memory));
            options.seek = config.time.map(seek);
        });
        let load_s = seconds(clock.seconds());
        Ok(Work { config, potentials, evidence, options, asked, device, printed, load_s })
    }

    /// Computes a bound before orders and tables, which may take longer than the time limit.
    fn first(&self, curves: &Told, stop: &Stop) -> Result<(), Error> {
        if self.config.time.is_some() && self.config.cases.is_none() {
            // values of marginal MAP come with its lower bound
            let seek = self.options.seek.filter(|_| self.config.maximize.is_none());
            let options = self.options.clone().with(|options| options.seek = seek);
            let first = first_bound(&self.potentials, &self.evidence, &options, stop)?;
            told(curves).iter_mut().for_each(|curves| curves.step(&first));
        }
        Ok(())
    }

    fn run(
        self,
        files: Option<[ReplacedFile; 2]>,
        curves: &Told,
        clock: &Clock,
        until: Option<Instant>,
        stop: &Stop,
    ) -> Result<Exit, Error> {
        if let Some(path) = &self.config.cases {
            return self.cases(Cases::open(path, &self.potentials)?, clock, stop);
        }
        if let Some(maximised) = &self.config.maximize {
            let variables = maximised.variables(&self.potentials.variables, stop)?;
            return self.maximize(&variables, curves, clock, stop);
        }
        self.config.activity.step("ordering");
        let mut prepared = Prepared::new(&self.potentials, &self.evidence, &self.options, stop)?;
        self.open(&mut prepared, 1.0, stop)?;
        self.config.activity.step("summing");
        until.into_iter().for_each(|until| prepared.end_at(until));
        let mut tell = |bounds: &SumBounds| told(curves).iter_mut().for_each(|curves| curves.step(bounds));
        let Work { potentials, evidence, options, .. } = &self;
        let found = match prepared.run_within(potentials, evidence, options, stop, &mut tell) {
            Ok(Sums::Bounds(mut found)) => {
                let mut report = self.report(&self.evidence, &prepared, None, clock);
                let last = told(curves).as_ref().and_then(Curves::last);
                found.bounds = last.unwrap_or(found.bounds);
                let exit = report.bounded(found.bounds);
                if !self.asked.none && exit == Exit::Done {
                    let asked = self.options.variables.as_deref();
                    report.intervals = Some(Intervals::new(&self.potentials, &self.evidence, asked, &found));
                }
                return self.printed.print(&report, self.config.json, exit);
            }
            Ok(Sums::Exact(found)) => Ok(found),
            Err(error) => Err(error),
        };
        let (found, exit) = self.heard(found)?;
        let report = self.report(&self.evidence, &prepared, found.as_ref(), clock);
        if let (Some([mut pr, mut mar]), Some(found)) = (files, &found) {
            pr.write_to_end(format!("PR\n{}\n", found.ln_z / LN_10).into_bytes(), stop)?;
            if !self.asked.variables && found.ln_z > f64::NEG_INFINITY {
                mar.write_to_end(report::mar(found).into_bytes(), stop)?;
            }
        }
        if let (Some(found), Some(curves)) = (&found, told(curves).as_mut()) {
            curves.step(&found.into());
        }
        let exit = self.printed.print(&report, self.config.json, exit)?;
        if found.is_none() {
            let (bytes, allowed) = (prepared.tree().bytes, self.config.memory);
            Console::new(self.config.verbosity)
                .warn(&format!("tables would take {bytes} bytes, {allowed} are allowed (--bound-memory)"));
        }
        Ok(exit)
    }

    /// Moves the work to the device. If the user named none, takes one that works, if the work pays or if the CPU's
    /// memory does not suffice. `times` is the number of repetitions of the work.
    fn open(&self, prepared: &mut Prepared, times: f64, stop: &Stop) -> Result<(), Error> {
        let tree = prepared.tree();
        let (entries, needed) = (tree.clique_entries as f64 * times, tree.bytes > self.config.memory);
        Gpu::of(&self.device, entries, needed, stop)?.into_iter().for_each(|gpu| prepared.use_device(gpu));
        Ok(())
    }

    /// Computes marginal MAP: the values of some variables for which the sum over the others is largest. If the tables
    /// do not fit and there is a time limit, computes bounds until it is over.
    fn maximize(&self, variables: &[u32], curves: &Told, clock: &Clock, stop: &Stop) -> Result<Exit, Error> {
        self.config.activity.step("maximizing");
        let prepared = PreparedMap::new(&self.potentials, &self.evidence, variables, &self.options, stop)?;
        let mut report = report(&self.config, self.asked, &self.potentials, &self.evidence);
        (report.task, report.order, report.tree) = ("MMAP", "constrained".into(), prepared.tree());
        (report.load_s, report.order_s) = (self.load_s, seconds(prepared.order_s));
        let assigned = |values: &[u32]| Assigned::new(&self.potentials, variables, values);
        let exit = match prepared.run(stop) {
            Ok(found) if found.ln_value == f64::NEG_INFINITY => {
                report.status = "impossible evidence";
                Exit::Infeasible
            }
            Ok(found) => {
                report.exact(found.ln_value, found.error_bound);
                report.collect_s = seconds(found.collect_s);
                report.assignment = Some(assigned(&found.values));
                if let Some(curves) = told(curves).as_mut() {
                    curves.step(&found.into());
                }
                Exit::Done
            }
            Err(Error::Memory(_)) if self.config.time.is_some() => {
                let mut tell = |found: &MapBounds| {
                    if let Some(curves) = told(curves).as_mut() {
                        let known = !found.values.is_empty();
                        curves.values(&found.bounds, known.then(|| assigned(&found.values)));
                    }
                };
                let last = prepared.bound(stop, &mut tell)?;
                if !last.values.is_empty() {
                    (report.assignment, report.checked) = (Some(assigned(&last.values)), Some(last.checked));
                }
                report.bounded(last.bounds)
            }
            Err(Error::Memory(what)) => {
                Console::new(self.config.verbosity).warn(&format!("{what} (with -t it is bounded)"));
                Exit::NoSolution
            }
            Err(error) => return Err(error),
        };
        report.time_s = seconds(clock.seconds());
        self.printed.print(&report, self.config.json, exit)
    }

    /// Returns the result and its exit code; `None` if the tables exceed the memory.
    fn heard(&self, found: Result<Marginals, Error>) -> Result<(Option<Marginals>, Exit), Error> {
        let told = |found: &Marginals| {
            if let Some(trouble) = &found.trouble {
                Console::new(self.config.verbosity).warn(trouble);
            }
        };
        match found.inspect(told) {
            Ok(found) if found.ln_z == f64::NEG_INFINITY => Ok((Some(found), Exit::Infeasible)),
            Ok(found) => Ok((Some(found), Exit::Done)),
            Err(Error::Memory(_)) => Ok((None, Exit::NoSolution)),
            Err(error) => Err(error),
        }
    }

    fn report<'a>(
        &'a self,
        evidence: &'a Evidence,
        prepared: &Prepared,
        found: Option<&'a Marginals>,
        clock: &Clock,
    ) -> Report<'a> {
        let mut report = report(&self.config, self.asked, &self.potentials, evidence);
        report.order = prepared.rule().map_or_else(|| self.config.order.name(), |rule| rule.name().into());
        report.tree = Some(prepared.tree());
        (report.load_s, report.order_s) = (self.load_s, seconds(prepared.order_s));
        report.time_s = seconds(clock.seconds());
        let Some(found) = found else { return report };
        (report.collect_s, report.distribute_s) = (seconds(found.collect_s), seconds(found.distribute_s));
        (report.transfer_s, report.kernels_s) = (seconds(found.transfer_s), seconds(found.kernels_s));
        report.device = found.device.clone().unwrap_or(report.device);
        if found.ln_z == f64::NEG_INFINITY {
            report.status = "impossible evidence";
            return report;
        }
        report.exact(found.ln_z, found.error_bound);
        report.underflow = found.underflow;
        if !self.asked.none {
            report.posterior_error = Some(found.posterior_error);
            let observed = (!self.asked.variables).then_some(evidence);
            report.marginals = Some(Posteriors { potentials: &self.potentials, found, observed });
        }
        report
    }

    /// Solves all cases along one elimination order, a batch at a time.
    fn cases(&self, mut cases: Cases, clock: &Clock, stop: &Stop) -> Result<Exit, Error> {
        self.config.activity.step("cases");
        let mut whole = Prepared::new(&self.potentials, &self.evidence, &self.options, stop)?;
        self.open(&mut whole, DEVICE_BATCH as f64, stop)?;
        let options = self.options.clone().with(|options| options.order = Ordering::Given(whole.places()));
        let threads = rayon::current_num_threads();
        let share = self.config.memory / threads as u64;
        let names = Names::new(&self.potentials.variables);
        let mut exit = Exit::Done;
        loop {
            let most = if whole.has_device() { DEVICE_BATCH } else { BATCH * threads };
            let mut batch = Vec::new();
            while batch.len() < most
                && let Some(case) = cases.next(&self.potentials, &names, stop)?
            {
                batch.push(case);
            }
            if batch.is_empty() {
                return Ok(self.printed.end_cases(exit));
            }
            let (lines, own): (Vec<u64>, Vec<Evidence>) = batch.into_iter().unzip();
            let (done, trouble) = whole.run_cases(&self.potentials, &self.evidence, &own, stop)?;
            if let Some(trouble) = trouble {
                Console::new(self.config.verbosity).warn(&trouble);
                whole.leave_device();
            }
            let mut cases = lines.into_iter().zip(own);
            for (found, case) in done.iter().zip(cases.by_ref()) {
                let evidence = self.with_common(case.1);
                self.printed.print_case(case.0, self.report(&evidence, &whole, Some(found), clock))?;
            }
            let left: Vec<(u64, Evidence)> = cases.map(|(line, own)| (line, self.with_common(own))).collect();
            let solve = |(_, evidence): &(u64, Evidence), alone: bool| {
                let prepared = Prepared::new(&self.potentials, evidence, &options, stop)?;
                if !alone && prepared.tree().bytes > share {
                    return Ok(None);
                }
                let (found, exit) = self.heard(prepared.run(stop))?;
                Ok::<_, Error>(Some((prepared, found, exit)))
            };
            // a case that exceeds a thread's share of the memory waits and runs alone
            let solved: Vec<_> = left.par_iter().map(|case| solve(case, false)).collect::<Result<_, _>>()?;
            for (case, solved) in left.iter().zip(solved) {
                let solved = if solved.is_none() { solve(case, true)? } else { solved };
                let Some((prepared, found, own)) = solved else { continue };
                let report = self.report(&case.1, &prepared, found.as_ref(), clock);
                self.printed.print_case(case.0, report)?;
                if exit == Exit::Done && own == Exit::NoSolution {
                    exit = own;
                }
            }
        }
    }

    /// Adds the evidence of all cases to that of one.
    fn with_common(&self, mut case: Evidence) -> Evidence {
        case.values.extend_from_slice(&self.evidence.values);
        case.weights.extend_from_slice(&self.evidence.weights);
        case
    }
}

/// The JSON line of a case.
#[derive(Serialize)]
struct Case<'a> {
    /// Line number in the file, from 1.
    case: u64,
    #[serde(flatten)]
    report: Report<'a>,
}
