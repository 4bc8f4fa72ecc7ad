//! `fangs bound`: inference alone.

mod flags;
mod found;

use super::orders::Ordering;
use super::{Exit, Known, output, record_unloaded, signals, ticks, values, worker};
use fangs::bounds::{BoundChoice, BoundResult, Bounder, BounderOptions, DeviceUse, Notice, Proof, Step, trivial_bound};
use fangs::device::{Choice, Opened, Opening};
use fangs::elimination::{Gpu, Limits, Plan};
use fangs::model::{Cost, Network, Problem};
use fangs::order::Order;
use fangs::record::{BoundReport, Console, CsvFile, Recorder, ReplacedFile};
use fangs::reduce::{ReducedProblem, Reducer, ValueBounds};
use fangs::search::{Clock, EventKind};
use fangs::stop::{Cause, Stop};
use fangs::{Error, check, record, threads};
pub use flags::{BoundFlags, Config};
use found::{Found, Told, with};
use std::mem::ManuallyDrop;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Bounds a network.
pub fn run(config: Config, started: Instant) -> Result<Exit, Error> {
    let stop = signals::listen()?;
    let clock = Clock::start(started, Some(config.time), &stop);
    values::use_threads(config.threads)?;
    let device = Opening::start(config.device.clone());
    let solution =
        config.output.solution.as_deref().map(|path| output::as_usage(ReplacedFile::new(path))).transpose()?;
    let certificate =
        config.output.certificate.as_deref().map(|path| output::as_usage(ReplacedFile::new(path))).transpose()?;
    let csv = config.output.csv.as_deref();
    let csv = csv.map(|path| output::as_usage(CsvFile::create(path, config.input.name(), None))).transpose()?;
    config.activity.step("reading");
    let console = Console::new(config.verbosity).progress(&config.activity, started, Some(config.time));
    let mut recorder = Recorder::new(console, csv, solution, None);

    let mut report = BoundReport {
        instance: config.input.name(),
        version: fangs::VERSION,
        method: "none".into(),
        z: None,
        order: config.order.name(),
        induced_width: None,
        exact: false,
        bound: None,
        cost: None,
        precision_slack: 0.0,
        largest_table: 0,
        table_bytes: 0,
        joint_entries: 0,
        streamed: false,
        spilled_bytes: 0,
        time_s: 0.0,
        device: "cpu".into(),
        maximise: false,
        objective: "cost",
        solution: None,
    };
    let load = {
        let (input, console, order) = (config.input.clone(), recorder.console().clone(), config.order.clone());
        let stop = stop.clone();
        move || {
            let network = input.load(&console, &stop)?;
            let ordering = order.resolve(network.variables().len(), &stop)?;
            Ok((network, ordering))
        }
    };
    let known = Known { maximise: config.input.maximises(), ..Known::default() };
    let (network, ordering) = match worker::run(&stop, load, ticks(&mut recorder, &clock, &known)) {
        Ok(loaded) => loaded,
        Err(error) if Error::is_stop(&error) => {
            report.time_s = record::seconds(clock.seconds());
            let _ = record_unloaded(recorder, &error, &stop, report.time_s, &known);
            output::print_report(&report, config.output.json)?;
            return Ok(Exit::NoSolution);
        }
        Err(error) => return Err(error),
    };
    // the process ends with the run: freeing a large network would only delay it
    let (network, config): (&Network, &Config) = (Box::leak(Box::new(network)), Box::leak(Box::new(config)));
    let mut found = Found::new(network, config, clock, recorder, report);
    found.tell(EventKind::Start);
    let found = Arc::new(Mutex::new(Some(found)));
    let bounding = Bounding::new(network, config, found.clone());
    let work = {
        let stop = stop.clone();
        move || {
            threads::panic_on_purpose("bound");
            // never freed either
            ManuallyDrop::new(bounding).work(&device, &ordering, &stop)
        }
    };
    let ended = worker::run(&stop, work, || drop(with(&found, Found::tick)));
    let found = found.lock().unwrap_or_else(PoisonError::into_inner).take();
    match (ended, found) {
        (Err(Error::Stopped) | Ok(()), Some(found)) => {
            if stop.cause() == Some(Cause::Memory) {
                found.recorder.warn("out of memory: the run ends here");
            }
            found.finish(certificate, &stop)
        }
        (Err(error), found) => {
            // the files keep the results so far
            if let Some(mut found) = found {
                found.tell(EventKind::End);
                let _ = found.recorder.finish(&stop);
            }
            Err(error)
        }
        (Ok(()), None) => Err(Error::Internal("what was found is gone".into())),
    }
}

/// Where bounds forbid this part of the reduced problem's values, it is reduced again.
const WORTH_TIGHTENING: usize = 32;

/// The bounding thread: separate, so that a run ends on time even while a step does not look at the stop flag.
struct Bounding {
    network: &'static Network,
    config: &'static Config,
    found: Told,
    bounder: Bounder,
    /// The device, once it is known; the CPU where there is none, and once it has failed.
    /// Why the method does not run.
    refusal: Option<String>,
    device: Option<Opened>,
}

impl Bounding {
    fn new(network: &'static Network, config: &'static Config, found: Told) -> Self {
        let mut options = BounderOptions::default();
        (options.choice, options.z) = (config.method, config.z);
        (options.memory, options.spill) = (config.memory, config.spill);
        let bounder = Bounder::new(options);
        Bounding { network, config, found, bounder: bounder.telling(&config.activity), device: None, refusal: None }
    }

    fn work(&mut self, device: &Opening, ordering: &Ordering, stop: &Stop) -> Result<(), Error> {
        let _ = device.poll()?;
        self.config.activity.step("reducing");
        let reduced = || match self.config.output.certificate {
            Some(_) => Reducer::logged(self.network, self.config.reduce, stop),
            None => Reducer::new(self.network, self.config.reduce, stop),
        };
        let mut reducer = (!self.is_over(stop)).then(reduced).transpose()?;
        // an order of the user's names the network's variables
        if let (Some(reducer), Ordering::Promising | Ordering::Rule(_)) = (&mut reducer, ordering) {
            reducer.merge_ties(stop);
        }
        if *device.choice() != Choice::Auto {
            self.open(device, stop)?;
        }
        let Some(reducer) = reducer else { return Ok(()) };
        // never freed: the process ends with the run
        let mut values = ManuallyDrop::new(ValueBounds::new(&reducer, stop)?);
        self.config.activity.step("");
        let mut reduced = ManuallyDrop::new(ReducedProblem::new(reducer, stop)?);
        while self.bound(&reduced, &mut values, device, ordering, stop)? {
            let mut reducer = reduced.reducer.copy(stop)?;
            reducer.tighten_by(self.upper(), &values, stop);
            let old = std::mem::replace(&mut *reduced, ReducedProblem::new(reducer, stop)?);
            threads::free(old, self.network.domains().len());
            self.bounder.rebase();
        }
        Ok(())
    }

    /// Bounds a reduced problem; whether it is worth reducing again.
    fn bound(
        &mut self,
        reduced: &ReducedProblem,
        values: &mut ValueBounds,
        device: &Opening,
        ordering: &Ordering,
        stop: &Stop,
    ) -> Result<bool, Error> {
        let ReducedProblem { reducer, problem } = reduced;
        match (reducer.infeasible(), problem.variables()) {
            (true, _) => {}
            (false, 0) => with(&self.found, |found| found.report.induced_width = Some(0))?,
            _ => {
                self.raise(trivial_bound(problem), "trivial", Proof::reductions(reducer))?;
                if self.is_over(stop) {
                    return Ok(false);
                }
                self.plan(reduced, device, ordering, stop)?;
            }
        }
        let mut begun = false;
        loop {
            let step = self.bounder.step(reduced, self.upper(), stop);
            self.tell_notices()?;
            match step {
                Step::Done => break,
                Step::More => {
                    if let Some(result) = self.bounder.so_far(self.upper(), self.lower()?) {
                        self.raise(result.lower, &result.source, result.proof)?;
                    }
                }
                Step::Result(result) => {
                    self.follow(*result, values, stop)?;
                    // also where a better incumbent forbids more by what was known before
                    let (removable, of) = values.removable(reducer, self.upper(), stop);
                    if removable > of / WORTH_TIGHTENING && !self.is_over(stop) {
                        return Ok(true);
                    }
                }
            }
            begun = true;
            if self.is_over(stop) {
                return Ok(false);
            }
        }
        self.refusal.take().filter(|_| !begun).map_or(Ok(false), |text| Err(Error::Usage(text)))
    }

    /// The elimination order, and the device where it pays to wait for it.
    fn plan(
        &mut self,
        reduced: &ReducedProblem,
        device: &Opening,
        ordering: &Ordering,
        stop: &Stop,
    ) -> Result<(), Error> {
        self.config.activity.bounds("ordering");
        let order = ordering.order(&reduced.reducer, &reduced.problem, stop)?;
        // an interrupted order is not reported
        stop.check()?;
        with(&self.found, |found| {
            found.report.induced_width = Some(order.width);
            if let Some(method) = order.method {
                found.report.order = method.name().into();
            }
        })?;
        // a small network is done before a driver has started
        if Gpu::pays(order.joint_entries) {
            self.open(device, stop)?;
        }
        if self.config.method == BoundChoice::Be {
            self.must_fit(&reduced.problem, &order, stop)?;
        }
        self.bounder.follow(vec![order]);
        Ok(())
    }

    /// Refuses exact elimination beyond the memory limit: it was requested at any cost but that.
    fn must_fit(&self, problem: &Problem, order: &Order, stop: &Stop) -> Result<(), Error> {
        let (limit, spill) = (self.config.memory, self.config.spill);
        if Plan::until(problem, order, &Limits::new(limit).with(|limits| limits.spill = spill), stop)?.exact {
            return Ok(());
        }
        Err(Error::Usage(format!(
            "bucket elimination does not fit into {limit} bytes and {spill} of files: induced width {}, {:.2e} joint \
             entries, the largest table has {:.2e} entries (--bound-memory and --spill raise the limits, --method mbe \
             splits buckets)",
            order.width, order.joint_entries, order.largest
        )))
    }

    /// What follows from a result.
    fn follow(&mut self, result: BoundResult, values: &mut ValueBounds, stop: &Stop) -> Result<(), Error> {
        let BoundResult { reduced, lower, exact, assignment, source, tables, value_bounds, proof, .. } = result;
        if let Some(tables) = tables {
            with(&self.found, |Found { report, lower: known, .. }| {
                if lower > *known || exact {
                    report.z = Some(tables.z);
                    report.largest_table = tables.largest_table;
                    report.table_bytes = tables.table_bytes;
                    report.joint_entries = tables.joint_entries;
                    report.streamed = tables.streamed;
                    report.spilled_bytes = tables.spilled_bytes;
                }
            })?;
        }
        if let Some(assignment) = assignment {
            // once the run is over nobody waits for one more, but for a first one
            let is_first = with(&self.found, |found| found.best.is_none())?;
            let flag = if is_first { stop.unheeded() } else { stop.clone() };
            if let Ok(solution) = reduced.reducer.lift_until(&assignment, &flag)
                && let Some(evaluation) = check::evaluate_unless(self.network, &solution, || flag.is_set())
            {
                with(&self.found, |found| found.offer(evaluation, solution, &source))?;
            }
        }
        let reason = proof.as_ref().filter(|_| value_bounds.is_some()).cloned();
        with(&self.found, |found| {
            found.report.exact |= exact && !self.network.is_relaxed();
            found.raise(lower, &source, proof)
        })??;
        if let Some(value_bounds) = value_bounds {
            values.learn(&reduced.reducer, &value_bounds, reason, stop);
            threads::free(value_bounds, reduced.problem.variables());
        }
        Ok(())
    }

    /// The cost that a better solution must stay below.
    fn upper(&self) -> Cost {
        with(&self.found, |found| found.upper()).unwrap_or(self.network.top())
    }

    /// The best bound that has what is wanted of one: a proof where there will be a certificate.
    fn lower(&self) -> Result<Cost, Error> {
        let certified = self.config.output.certificate.is_some();
        with(&self.found, |found| if certified { found.proof.0 } else { found.lower })
    }

    /// Whether there is nothing left to prove, or no time.
    fn is_over(&self, stop: &Stop) -> bool {
        stop.is_set() || with(&self.found, |found| found.report.exact).unwrap_or(true)
    }

    fn raise(&mut self, bound: Cost, name: &str, proof: Option<Proof>) -> Result<(), Error> {
        with(&self.found, |found| found.raise(bound, name, proof))?
    }

    /// Waits until it is known whether there is a device, once.
    fn open(&mut self, device: &Opening, stop: &Stop) -> Result<(), Error> {
        if self.device.is_some() {
            return Ok(());
        }
        let opened = device.wait(stop)?;
        if let Some(cuda) = &opened.cuda {
            self.bounder.use_device(Gpu::new(cuda.clone()), DeviceUse::Exclusive);
        }
        with(&self.found, |found| found.report.device = opened.name())?;
        self.device = Some(opened);
        Ok(())
    }

    /// Warns of what has failed, and goes on without.
    fn tell_notices(&mut self) -> Result<(), Error> {
        while let Some(notice) = self.bounder.take_notice() {
            let message = match notice {
                Notice::PlanFailed(text) => Some(text),
                Notice::Refused(text) => {
                    self.refusal = Some(text);
                    None
                }
                Notice::DeviceLost(error) => self.device.as_mut().and_then(|device| device.lose(&error)),
                // the report says so
                _ => None,
            };
            with(&self.found, |found| {
                if let Some(device) = &self.device {
                    found.report.device = device.name();
                }
                message.iter().for_each(|message| found.recorder.warn(message));
            })?;
        }
        Ok(())
    }
}
