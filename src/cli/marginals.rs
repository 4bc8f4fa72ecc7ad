//! `fangs marginals`: sums over all assignments.

pub mod cases;
mod flags;
mod report;

use super::orders::Ordering;
use super::output::{as_usage, print_json, print_report};
use super::{Exit, signals, values, worker};
use cases::Cases;
use fangs::Error;
use fangs::marginals::{Evidence, Marginals, Options, OrderChoice, Prepared};
use fangs::model::Potentials;
use fangs::record::{Console, ReplacedFile, seconds};
use fangs::search::Clock;
use fangs::stop::Stop;
pub use flags::{Config, MarginalsFlags};
use rayon::prelude::*;
use report::{Observed, Posteriors, Report, Weighed};
use serde::Serialize;
use std::f64::consts::LN_10;
use std::sync::Arc;
use std::time::Instant;

/// Cases that are read before the first of them are printed, for each thread.
const BATCH: usize = 16;

/// Computes the sum and the posteriors.
pub fn run(config: Config, started: Instant) -> Result<Exit, Error> {
    let stop = signals::listen()?;
    let clock = Arc::new(Clock::start(started, config.time, &stop));
    values::use_threads(config.threads)?;
    let files = match &config.uai {
        Some(paths) => Some([as_usage(ReplacedFile::new(&paths[0]))?, as_usage(ReplacedFile::new(&paths[1]))?]),
        None => None,
    };
    let console = Console::new(config.verbosity);
    let work = {
        let (config, stop, clock) = (config.clone(), stop.clone(), clock.clone());
        move || Work::new(config, &console, &clock, &stop).and_then(|work| work.run(files, &clock, &stop))
    };
    match worker::run(&stop, work, || ()) {
        Err(error) if error.is_stop() => {
            let (potentials, evidence) = (Potentials::new(config.input.name()), Evidence::default());
            let asked = Asked { variables: config.variables.is_some(), none: false };
            let mut report = report(&config, asked, &potentials, &evidence);
            (report.status, report.time_s) = ("stopped", seconds(clock.seconds()));
            if config.cases.is_none() {
                print_report(&report, config.json)?;
            }
            Ok(Exit::NoSolution)
        }
        ended => ended,
    }
}

/// What is wanted of posteriors.
#[derive(Clone, Copy)]
struct Asked {
    /// Variables were named.
    variables: bool,
    /// Only the sum is wanted.
    none: bool,
}

/// The object before anything is known.
fn report<'a>(config: &Config, asked: Asked, potentials: &'a Potentials, evidence: &'a Evidence) -> Report<'a> {
    Report {
        instance: &potentials.name,
        version: fangs::VERSION,
        task: if asked.none { "PR" } else { "MAR" },
        status: "memory",
        ln_z: None,
        log10_z: None,
        error_bound: None,
        posterior_error: None,
        underflow: false,
        order: config.order.name(),
        tree: None,
        device: "cpu",
        threads: rayon::current_num_threads(),
        load_s: 0.0,
        order_s: 0.0,
        collect_s: 0.0,
        distribute_s: 0.0,
        transfer_s: 0.0,
        time_s: 0.0,
        temperature: config.input.temperature,
        evidence: Observed(potentials, evidence),
        soft: Weighed(potentials, evidence),
        marginals: None,
    }
}

/// What was read.
struct Work {
    config: Config,
    potentials: Potentials,
    evidence: Evidence,
    options: Options,
    asked: Asked,
    load_s: f64,
}

impl Work {
    fn new(config: Config, console: &Console, clock: &Clock, stop: &Stop) -> Result<Self, Error> {
        let (potentials, evidence) = config.input.load(console, stop)?;
        let order = match config.order.resolve(potentials.domains.len(), stop)? {
            Ordering::Promising => OrderChoice::Best,
            Ordering::Rule(method) => OrderChoice::Rule(method),
            Ordering::Given(places) => OrderChoice::Given(places),
        };
        let find = |name: &String| {
            let found = potentials.find_variable(name);
            found.ok_or_else(|| Error::Usage(format!("--variables: there is no variable `{name}`")))
        };
        let variables = config.variables.as_ref().map(|names| names.iter().map(find).collect()).transpose()?;
        let none = variables.as_ref().is_some_and(Vec::is_empty);
        let asked = Asked { variables: variables.is_some(), none };
        let options = Options::default().with(|options| {
            (options.variables, options.order, options.memory) = (variables, order, Some(config.memory));
        });
        Ok(Work { load_s: seconds(clock.seconds()), config, potentials, evidence, options, asked })
    }

    fn run(self, files: Option<[ReplacedFile; 2]>, clock: &Clock, stop: &Stop) -> Result<Exit, Error> {
        if let Some(path) = &self.config.cases {
            return self.cases(Cases::open(path, &self.potentials)?, clock, stop);
        }
        let prepared = Prepared::new(&self.potentials, &self.evidence, &self.options, stop)?;
        let (found, exit) = self.solve(&prepared, stop)?;
        let report = self.report(&self.evidence, &prepared, found.as_ref(), clock);
        if let (Some([mut pr, mut mar]), Some(found)) = (files, &found) {
            pr.write_to_end(format!("PR\n{}\n", found.ln_z / LN_10).into_bytes(), stop)?;
            if !self.asked.variables && found.ln_z > f64::NEG_INFINITY {
                mar.write_to_end(report::mar(found).into_bytes(), stop)?;
            }
        }
        print_report(&report, self.config.json)?;
        if found.is_none() {
            let (bytes, allowed) = (prepared.tree().bytes, self.config.memory);
            Console::new(self.config.verbosity)
                .warn(&format!("tables would take {bytes} bytes, {allowed} are allowed (--bound-memory)"));
        }
        Ok(exit)
    }

    /// The result, where memory takes the tables.
    fn solve(&self, prepared: &Prepared, stop: &Stop) -> Result<(Option<Marginals>, Exit), Error> {
        if prepared.tree().bytes > self.config.memory {
            return Ok((None, Exit::NoSolution));
        }
        match prepared.run(stop) {
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
        if found.ln_z == f64::NEG_INFINITY {
            report.status = "impossible evidence";
            return report;
        }
        report.status = "exact";
        (report.ln_z, report.log10_z) = (Some(found.ln_z), Some(found.ln_z / LN_10));
        (report.error_bound, report.underflow) = (Some(found.error_bound), found.underflow);
        if !self.asked.none {
            report.posterior_error = Some(found.posterior_error);
            let observed = (!self.asked.variables).then_some(evidence);
            report.marginals = Some(Posteriors { potentials: &self.potentials, found, observed });
        }
        report
    }

    /// All cases along one order, some at a time.
    fn cases(&self, mut cases: Cases, clock: &Clock, stop: &Stop) -> Result<Exit, Error> {
        let whole = Prepared::new(&self.potentials, &self.evidence, &self.options, stop)?;
        let options = self.options.clone().with(|options| options.order = OrderChoice::Given(whole.places()));
        let threads = rayon::current_num_threads();
        let share = self.config.memory / threads as u64;
        let mut exit = Exit::Done;
        loop {
            let mut batch = Vec::new();
            while batch.len() < BATCH * threads
                && let Some((line, mut evidence)) = cases.next(&self.potentials, stop)?
            {
                evidence.values.extend_from_slice(&self.evidence.values);
                evidence.weights.extend_from_slice(&self.evidence.weights);
                batch.push((line, evidence));
            }
            if batch.is_empty() {
                return Ok(exit);
            }
            let solve = |(_, evidence): &(u64, Evidence), alone: bool| {
                let prepared = Prepared::new(&self.potentials, evidence, &options, stop)?;
                if !alone && prepared.tree().bytes > share {
                    return Ok(None);
                }
                let (found, exit) = self.solve(&prepared, stop)?;
                Ok::<_, Error>(Some((prepared, found, exit)))
            };
            // what takes more than a thread's share of memory waits and runs alone
            let solved: Vec<_> = batch.par_iter().map(|case| solve(case, false)).collect::<Result<_, _>>()?;
            for (case, solved) in batch.iter().zip(solved) {
                let solved = if solved.is_none() { solve(case, true)? } else { solved };
                let Some((prepared, found, own)) = solved else { continue };
                let report = self.report(&case.1, &prepared, found.as_ref(), clock);
                print_json(&Case { case: case.0, report })?;
                if exit == Exit::Done && own == Exit::NoSolution {
                    exit = own;
                }
            }
        }
    }
}

/// The line of a case.
#[derive(Serialize)]
struct Case<'a> {
    /// The line of the file, from 1.
    case: u64,
    #[serde(flatten)]
    report: Report<'a>,
}
