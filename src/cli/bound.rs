//! `fangs bound`: inference alone.

mod flags;
mod found;

use super::orders::Ordering;
use super::{Exit, output, record_unloaded, signals, ticks, values, worker};
use fangs::bounds::Proof;
use fangs::bounds::{Attempt, Branch, Climb, DeviceGraphs, Ladder, Spent, Stage, trivial_bound, what_fails};
use fangs::device::{Choice, DeviceError, Opened, Opening};
use fangs::elimination::{Gpu, Limits, Outcome, Plan, Progress, Run};
use fangs::model::{Cost, Network, Problem};
use fangs::order::Order;
use fangs::record::{BoundReport, Console, CsvFile, Recorder, ReplacedFile};
use fangs::reduce::{Reducer, ValueBounds};
use fangs::search::{BoundChoice, Clock, EventKind};
use fangs::stop::{Cause, Stop};
use fangs::{Error, check, record, threads};
pub use flags::{BoundFlags, Config};
use found::{Found, Told, with};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Bounds a network.
pub fn run(config: Config, started: Instant) -> Result<Exit, Error> {
    let stop = signals::listen()?;
    let clock = Clock::start(started, Some(config.time), &stop);
    values::use_threads(config.threads)?;
    let device = Opening::start(config.device);
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
        solution: None,
    };
    let load = {
        let (input, console, order) = (config.input.clone(), recorder.console().clone(), config.order.clone());
        let stop = stop.clone();
        move || {
            let network = input.load(&console, &stop)?;
            let ordering = order.resolve(&network, &stop)?;
            Ok((network, ordering))
        }
    };
    let (network, ordering) = match worker::run(&stop, load, ticks(&mut recorder, &clock, config.input.maximises())) {
        Ok(loaded) => loaded,
        Err(error) if Error::is_stop(&error) => {
            report.time_s = record::seconds(clock.seconds());
            let maximise = config.input.maximises();
            record_unloaded(recorder, &error, &stop, report.time_s, maximise);
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
    let mut bounding = Bounding::new(network, config, found.clone());
    let work = {
        let stop = stop.clone();
        move || {
            threads::panic_on_purpose("bound");
            bounding.work(&device, &ordering, &stop)
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

/// Joint entries between two looks at the clock: some tenths of a second of one core.
const SLICE: u64 = 200_000_000;
/// The same for shifting, in entries.
const SHIFT_SLICE: u64 = 50_000_000;
/// The same for branch and bound, in work.
const BRANCH_SLICE: u64 = 20_000_000;
/// Where bounds forbid this part of the reduced problem's values, the bound schedule starts again without them.
const WORTH_TIGHTENING: usize = 32;
/// Work up to which elimination on a device is exact right away: a few seconds of a large one.
const DEVICE_EXACT_WORK: u64 = 2_000_000_000_000;

/// The bounding thread: separate, so that a run ends on time even while a step does not look at the stop flag.
struct Bounding {
    network: &'static Network,
    config: &'static Config,
    found: Told,
    /// The device, as long as it works; the CPU without one.
    device: Opened,
    /// Bytes that tables may take in files.
    spill: u64,
    /// Work of the largest plan finished.
    highest: u64,
    /// Searches to be continued on the next reduced problem, and the reducers of the problems they began on.
    searches: Vec<Branch>,
    cores: Vec<(Arc<Problem>, Arc<Reducer>)>,
    spent: Spent,
}

impl Bounding {
    fn new(network: &'static Network, config: &'static Config, found: Told) -> Self {
        Bounding {
            network,
            config,
            found,
            device: Opened::default(),
            spill: config.spill,
            highest: 0,
            searches: Vec::new(),
            cores: Vec::new(),
            spent: Spent::default(),
        }
    }

    fn work(&mut self, device: &Opening, ordering: &Ordering, stop: &Stop) -> Result<(), Error> {
        let _ = device.poll()?;
        self.config.activity.step("reducing");
        let reduced = || match self.config.output.certificate {
            Some(_) => Reducer::logged(self.network, self.config.reduce, stop),
            None => Reducer::new(self.network, self.config.reduce, stop),
        };
        let reducer = (!self.is_over(stop)).then(reduced).transpose()?;
        if device.choice() != Choice::Auto {
            self.opened(device.wait(stop)?)?;
        }
        let Some(mut reducer) = reducer.map(Arc::new) else { return Ok(()) };
        let mut values = ValueBounds::new(&reducer);
        self.config.activity.step("");
        while self.eliminate(&reducer, &mut values, device, ordering, stop)? {
            Arc::make_mut(&mut reducer).tighten_by(self.upper(), &values, stop);
            stop.check()?;
        }
        Ok(())
    }

    /// Runs the bound schedule on the reduced problem; returns whether enough values were forbidden to start it again.
    fn eliminate(
        &mut self,
        reducer: &Arc<Reducer>,
        values: &mut ValueBounds,
        device: &Opening,
        ordering: &Ordering,
        stop: &Stop,
    ) -> Result<bool, Error> {
        let problem = Arc::new(reducer.fitting_problem(stop)?);
        let reduced = || Proof::reductions(reducer);
        if reducer.infeasible() {
            self.conclude(self.upper(), true, "reduce", reduced)?;
            return Ok(false);
        }
        if problem.variables() == 0 {
            with(&self.found, |found| found.report.induced_width = Some(0))?;
            self.offer(reducer.lift(&[]), "reduce")?;
            self.conclude(problem.constant, true, "reduce", reduced)?;
            return Ok(false);
        }
        self.raise(trivial_bound(&problem), "trivial", reduced)?;
        if self.is_over(stop) {
            return Ok(false);
        }
        self.config.activity.bounds("ordering");
        let order = ordering.order(reducer, &problem, stop)?;
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
            self.opened(device.wait(stop)?)?;
        }
        let mut gpu = self.device.cuda.clone().map(Gpu::new);
        // tables that exceed the device's memory are streamed from the host
        let memory = self.config.memory;
        if self.config.method == BoundChoice::Be {
            self.must_fit(&problem, &order, stop)?;
        }
        let ladder = Ladder::new(vec![order], memory, self.config.z).spill(self.spill).above(self.highest / 2);
        let ladder = match self.config.method {
            BoundChoice::Be => ladder.exact_work(u64::MAX),
            BoundChoice::Auto | BoundChoice::None if gpu.is_some() => ladder.exact_work(DEVICE_EXACT_WORK),
            BoundChoice::Auto | BoundChoice::None => ladder,
            _ => ladder.exact_work(0),
        };
        let certified = self.config.output.certificate.is_some();
        let means = self.config.method.means();
        let mut climb =
            Climb::new(&problem, ladder, means).keep_journal(certified).on(gpu.as_ref(), DeviceGraphs::Most);
        climb.resume(std::mem::take(&mut self.searches));
        let mut begun = false;
        while let Some(stage) = climb.next(self.best()?, self.spent, stop) {
            begun = true;
            self.config.activity.bounds(stage.doing());
            let (start, is_light) = (Instant::now(), stage.is_light());
            let known = match stage {
                Stage::Shift(mut shift) => {
                    let name = shift.name().to_string();
                    shift.below(self.upper());
                    while shift.advance(SHIFT_SLICE, stop) == Progress::More && !self.is_over(stop) {
                        self.raise(shift.lower_bound(self.upper()), &name, || shift.proof(reducer))?;
                    }
                    self.raise(shift.lower_bound(self.upper()), &name, || shift.proof(reducer))?;
                    if stop.is_set() {
                        break;
                    }
                    let known = (shift.value_bounds(), shift.proof(reducer));
                    if let Some(error) = shift.take_trouble() {
                        self.lose_device(&error)?;
                        gpu = None;
                    }
                    climb.shifted(*shift, stop);
                    Some(known)
                }
                Stage::Branch(mut branch, work) => {
                    let (end, before) = (branch.work_done().saturating_add(work), branch.lower_bound());
                    if Arc::ptr_eq(branch.problem(), &problem)
                        && self.cores.iter().all(|core| !Arc::ptr_eq(&core.0, &problem))
                    {
                        self.cores.push((problem.clone(), reducer.clone()));
                    }
                    while self.search(&mut branch, stop)? && branch.work_done() < end && !self.is_over(stop) {}
                    climb.searched(branch, before);
                    None
                }
                Stage::Run(attempt, plan) => {
                    let device = gpu.as_ref().filter(|_| Gpu::pays(attempt.work as f64));
                    let mut run = Run::on(device, attempt.problem.clone(), plan);
                    while run.advance(SLICE, stop) == Progress::More && !stop.is_set() {
                        if gpu.is_some()
                            && let Some(error) = run.trouble()
                        {
                            self.lose_device(error)?;
                            gpu = None;
                            // the plan may be too much for the CPU
                            if self.config.method != BoundChoice::Be {
                                self.searches = climb.into_searches();
                                return Ok(true);
                            }
                        }
                    }
                    if let Some(error) = run.failure() {
                        self.lose_plan(error)?;
                        climb.after(error);
                        continue;
                    }
                    let streamed = run.streamed();
                    let Some(outcome) = run.finish() else { break };
                    climb.note(&attempt, attempt.lower_bound(&outcome));
                    self.finish_run(&attempt, &outcome, streamed, reducer, stop)?;
                    let known = climb.value_bounds(&attempt, &outcome, self.upper(), stop);
                    known.map(|known| (known, attempt.proof(reducer, &outcome)))
                }
            };
            self.spent.note(is_light, start.elapsed().as_nanos() as u64);
            if self.is_over(stop) {
                break;
            }
            if let Some((known, proof)) = known {
                values.learn(reducer, &known, proof);
            }
            // also where a better incumbent forbids more by what was known before
            let (removable, of) = values.removable(reducer, self.upper());
            if removable > of / WORTH_TIGHTENING {
                self.searches = climb.into_searches();
                return Ok(true);
            }
        }
        if !begun && self.config.method == BoundChoice::Branch && !stop.is_set() {
            return Err(Error::Usage(format!(
                "branch and bound does not fit into an eighth of {memory} bytes, or its costs are too large to be \
                 added in 64 bits (--bound-memory raises the limit, --method mbe takes any costs)"
            )));
        }
        Ok(false)
    }

    /// A slice of branch and bound; returns whether work is left.
    fn search(&mut self, branch: &mut Branch, stop: &Stop) -> Result<bool, Error> {
        branch.tighten(self.upper());
        let progress = branch.advance(BRANCH_SLICE, stop);
        let name = branch.style().name();
        if let Some(core) = branch.take_solution()
            && let Some((_, reducer)) = self.cores.iter().find(|known| Arc::ptr_eq(&known.0, branch.problem()))
        {
            let solution = reducer.lift(&core);
            self.offer(solution, name)?;
        }
        if let Some(error) = branch.take_trouble() {
            self.lose_device(&error)?;
        }
        let core = self.cores.iter().find(|known| Arc::ptr_eq(&known.0, branch.problem()));
        let reducer = core.map(|(_, reducer)| reducer.clone());
        self.raise(branch.lower_bound(), name, || branch.proof(&reducer?))?;
        Ok(progress == Progress::More)
    }

    /// Refuses exact elimination beyond the memory limit: it was requested at any cost but that.
    fn must_fit(&self, problem: &Problem, order: &Order, stop: &Stop) -> Result<(), Error> {
        let (limit, spill) = (self.config.memory, self.spill);
        if Plan::until(problem, order, &Limits { spill, ..Limits::new(limit) }, stop)?.exact {
            return Ok(());
        }
        Err(Error::Usage(format!(
            "bucket elimination does not fit into {limit} bytes and {spill} of files: induced width {}, {:.2e} joint \
             entries, the largest table has {:.2e} entries (--bound-memory and --spill raise the limits, --method mbe \
             splits buckets)",
            order.width, order.joint_entries, order.largest
        )))
    }

    fn finish_run(
        &mut self,
        attempt: &Attempt,
        outcome: &Outcome,
        streamed: bool,
        reducer: &Arc<Reducer>,
        stop: &Stop,
    ) -> Result<(), Error> {
        let (plan, lower) = (outcome.plan(), attempt.lower_bound(outcome));
        // sizes of dense tables do not predict those of sparse ones
        let dense = plan.placement.rows.is_none();
        if dense {
            self.highest = self.highest.max(plan.joint_entries);
        }
        with(&self.found, |Found { report, lower: known, .. }| {
            if dense && lower > *known || outcome.exact() {
                report.z = Some(plan.z);
                report.largest_table = plan.largest_table;
                report.table_bytes = plan.placement.table_bytes;
                report.joint_entries = plan.joint_entries;
                report.streamed = streamed;
                report.spilled_bytes = outcome.spilled_bytes();
            }
        })?;
        if let Some(core) = outcome.assign_until(stop) {
            self.offer(reducer.lift(&core), &attempt.name)?;
        }
        self.conclude(lower, outcome.exact(), &attempt.name, || attempt.proof(reducer, outcome))
    }

    /// The cost of the best solution.
    fn best(&self) -> Result<Option<Cost>, Error> {
        with(&self.found, |found| found.best.as_ref().map(|(cost, ..)| *cost))
    }

    /// The cost that a better solution must stay below.
    fn upper(&self) -> Cost {
        self.best().ok().flatten().unwrap_or(self.network.top())
    }

    /// Whether there is nothing left to prove, or no time.
    fn is_over(&self, stop: &Stop) -> bool {
        stop.is_set() || with(&self.found, |found| found.report.exact).unwrap_or(true)
    }

    /// Keeps an assignment if it is a solution and better.
    fn offer(&mut self, assignment: Vec<u32>, name: &str) -> Result<(), Error> {
        let evaluation = check::evaluate(self.network, &assignment);
        with(&self.found, |found| found.offer(evaluation, assignment, name))
    }

    fn raise(&mut self, bound: Cost, name: &str, proof: impl FnOnce() -> Option<Proof>) -> Result<(), Error> {
        self.conclude(bound, false, name, proof)
    }

    /// The same, with whether it is the optimum: in one step, as the run may end at any moment.
    fn conclude(
        &mut self,
        bound: Cost,
        exact: bool,
        name: &str,
        proof: impl FnOnce() -> Option<Proof>,
    ) -> Result<(), Error> {
        // also where more is known that has no proof
        let proof = if with(&self.found, |found| bound > found.proof.0)? { proof() } else { None };
        with(&self.found, |found| {
            found.report.exact |= exact;
            found.raise(bound, name, proof)
        })?
    }

    /// Takes the outcome of opening a device.
    fn opened(&mut self, device: Opened) -> Result<(), Error> {
        self.device = device;
        with(&self.found, |found| found.report.device = self.device.name())
    }

    /// Reports a failed device once; the run continues without it.
    fn lose_device(&mut self, error: &DeviceError) -> Result<(), Error> {
        let message = self.device.lose(error);
        with(&self.found, |found| {
            found.report.device = self.device.name();
            message.iter().for_each(|message| found.recorder.warn(message));
        })
    }

    /// Reports that files for tables, or memory for one, have failed; the run continues with less or without.
    fn lose_plan(&mut self, error: &Error) -> Result<(), Error> {
        if !matches!(error, Error::Memory(_)) {
            self.spill = 0;
        }
        with(&self.found, |found| found.recorder.warn(&what_fails(error)))
    }
}
