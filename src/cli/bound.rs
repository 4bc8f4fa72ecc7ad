//! `fangs bound`: inference alone.

mod flags;

use super::orders::Ordering;
use super::{Exit, output, record_unloaded, signals, values};
use fangs::certificate::{Proof, weaker};
use fangs::device::{Choice, DeviceError, Opened, Opening};
use fangs::formats;
use fangs::inference::{
    Attempt, Branch, Climb, DeviceGraphs, Gpu, Ladder, Limits, Outcome, Plan, Progress, Run, Spent, Stage,
    trivial_bound, what_fails,
};
use fangs::model::{Cost, Network, Number, Problem};
use fangs::order::Order;
use fangs::record::{BoundReport, Console, CsvFile, Recorder, ReplacedFile};
use fangs::reduce::{Reducer, ValueBounds};
use fangs::search::{BoundChoice, Clock, Event, EventKind, gap};
use fangs::stop::{Cause, Stop};
use fangs::{Error, check, record, threads};
pub use flags::{BoundFlags, Config};
use std::sync::Arc;
use std::time::Instant;

/// Bounds a network.
pub fn run(config: Config, started: Instant) -> Result<Exit, Error> {
    let stop = Stop::new();
    signals::listen(&stop)?;
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
    let recorder = Recorder::new(console, csv, solution, None);

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
    let load = || {
        let network = config.input.load(recorder.console(), &stop)?;
        let ordering = config.order.resolve(&network, &stop)?;
        Ok((network, ordering))
    };
    let (network, ordering) = match load() {
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
    let mut bounding = Bounding::new(&network, &config, &clock, recorder, report);
    bounding.tell(EventKind::Start);
    let work = || {
        threads::panic_on_purpose("bound");
        bounding.work(&device, &ordering, &stop)
    };
    match threads::caught(work).unwrap_or_else(|what| Err(Error::Internal(format!("the run ended ({what})")))) {
        Err(Error::Stopped) | Ok(()) => {
            if stop.cause() == Some(Cause::Memory) {
                bounding.recorder.warn("out of memory: the run ends here");
            }
            bounding.finish(certificate, &stop)
        }
        Err(error) => {
            // what was found so far stays in the files
            bounding.tell(EventKind::End);
            Err(error)
        }
    }
}

/// Joint entries between two looks at the clock: some tenths of a second of one core.
const SLICE: u64 = 200_000_000;
/// The same in entries of shifting.
const SHIFT_SLICE: u64 = 50_000_000;
/// The same in work of a search over values.
const BRANCH_SLICE: u64 = 20_000_000;
/// The part of the core's values that, forbidden by bounds, is worth climbing anew without them.
const WORTH_TIGHTENING: usize = 32;
/// Work up to which elimination on a device is exact right away: a few seconds of a large one.
const DEVICE_EXACT_WORK: u64 = 2_000_000_000_000;

/// What is proven and found so far.
struct Bounding<'a> {
    network: &'a Network,
    config: &'a Config,
    clock: &'a Clock,
    recorder: Recorder,
    /// The device, as long as it works; the CPU without one.
    device: Opened,
    report: BoundReport,
    /// Bytes that tables may take in files.
    spill: u64,
    lower: Cost,
    /// The best bound that has a proof, and the proof.
    proof: (Cost, Proof),
    best: Option<(Cost, Number, Vec<u32>)>,
    source: String,
    /// Work of the largest plan finished.
    highest: u64,
    /// Searches that wait for the next core, and what the cores that they began on came from.
    searches: Vec<Branch>,
    cores: Vec<(Arc<Problem>, Arc<Reducer>)>,
    spent: Spent,
    next_tick: f64,
}

impl<'a> Bounding<'a> {
    fn new(
        network: &'a Network,
        config: &'a Config,
        clock: &'a Clock,
        recorder: Recorder,
        mut report: BoundReport,
    ) -> Self {
        let lower = network.least();
        report.instance.clone_from(&network.name);
        report.method = "trivial".into();
        report.exact = lower >= network.top();
        report.maximise = network.units().maximise;
        Bounding {
            network,
            config,
            clock,
            recorder,
            device: Opened::default(),
            report,
            spill: config.spill,
            lower,
            proof: (lower, Proof::default()),
            best: None,
            source: "trivial".into(),
            highest: 0,
            searches: Vec::new(),
            cores: Vec::new(),
            spent: Spent::default(),
            next_tick: 1.0,
        }
    }

    fn work(&mut self, device: &Opening, ordering: &Ordering, stop: &Stop) -> Result<(), Error> {
        let _ = device.poll()?;
        self.config.activity.step("reducing");
        let reduced = || match self.config.output.certificate {
            Some(_) => Reducer::logged(self.network, self.config.reduce, stop),
            None => Reducer::new(self.network, self.config.reduce, stop),
        };
        let reducer = (!self.report.exact).then(reduced).transpose()?;
        if device.choice() != Choice::Auto {
            self.device = device.wait(stop)?;
        }
        let Some(mut reducer) = reducer.map(Arc::new) else { return Ok(()) };
        let mut values = ValueBounds::new(&reducer);
        self.config.activity.step("");
        while self.eliminate(&reducer, &mut values, device, ordering, stop)? {
            Arc::make_mut(&mut reducer).tighten_by(self.upper(), &values, stop);
        }
        Ok(())
    }

    /// Climbs on the core as it is; whether values have been forbidden without which it is worth climbing anew.
    fn eliminate(
        &mut self,
        reducer: &Arc<Reducer>,
        values: &mut ValueBounds,
        device: &Opening,
        ordering: &Ordering,
        stop: &Stop,
    ) -> Result<bool, Error> {
        let problem = Arc::new(reducer.fitting_problem()?);
        let reduced = || Proof::reductions(reducer);
        if reducer.infeasible() {
            self.report.exact = true;
            self.raise(self.upper(), "reduce", reduced)?;
            return Ok(false);
        }
        if problem.variables() == 0 {
            self.report.exact = true;
            self.report.induced_width = Some(0);
            self.offer(reducer.lift(&[]), "reduce");
            self.raise(problem.constant, "reduce", reduced)?;
            return Ok(false);
        }
        self.raise(trivial_bound(&problem), "trivial", reduced)?;
        if self.report.exact {
            return Ok(false);
        }
        self.config.activity.bounds("ordering");
        let order = ordering.order(reducer, &problem, stop)?;
        self.report.induced_width = Some(order.width);
        if let Some(method) = order.method {
            self.report.order = method.name().into();
        }
        // a small network is done before a driver has started
        if Gpu::pays(order.joint_entries) {
            self.device = device.wait(stop)?;
        }
        let mut gpu = self.device.cuda.clone().map(Gpu::new);
        // what the device does not hold is streamed from the host
        let memory = self.config.memory;
        if self.config.method == BoundChoice::Be {
            self.must_fit(&problem, &order)?;
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
        while let Some(stage) = climb.next(self.best.as_ref().map(|(cost, ..)| *cost), self.spent) {
            begun = true;
            self.config.activity.bounds(stage.doing());
            let (start, is_light) = (Instant::now(), stage.is_light());
            let known = match stage {
                Stage::Shift(mut shift) => {
                    let name = shift.name().to_string();
                    shift.below(self.upper());
                    while shift.advance(SHIFT_SLICE, stop) == Progress::More && !self.is_over(stop) {
                        self.raise(shift.lower_bound(self.upper()), &name, || shift.proof(reducer))?;
                        self.tick();
                    }
                    self.raise(shift.lower_bound(self.upper()), &name, || shift.proof(reducer))?;
                    if stop.is_set() {
                        break;
                    }
                    let known = (shift.value_bounds(), shift.proof(reducer));
                    if let Some(error) = shift.take_trouble() {
                        self.lose_device(&error);
                        gpu = None;
                    }
                    climb.shifted(*shift);
                    Some(known)
                }
                Stage::Branch(mut branch, work) => {
                    let (end, before) = (branch.work_done().saturating_add(work), branch.lower_bound());
                    if Arc::ptr_eq(branch.problem(), &problem)
                        && self.cores.iter().all(|core| !Arc::ptr_eq(&core.0, &problem))
                    {
                        self.cores.push((problem.clone(), reducer.clone()));
                    }
                    while self.search(&mut branch, stop)? && branch.work_done() < end && !self.is_over(stop) {
                        self.tick();
                    }
                    climb.searched(branch, before);
                    None
                }
                Stage::Run(attempt, plan) => {
                    let device = gpu.as_ref().filter(|_| Gpu::pays(attempt.work as f64));
                    let mut run = Run::on(device, attempt.problem.clone(), plan);
                    while run.advance(SLICE, stop) == Progress::More && !stop.is_set() {
                        self.tick();
                        if gpu.is_some()
                            && let Some(error) = run.trouble()
                        {
                            self.lose_device(error);
                            gpu = None;
                            // the plan may be too much for the CPU
                            if self.config.method != BoundChoice::Be {
                                self.searches = climb.into_searches();
                                return Ok(true);
                            }
                        }
                    }
                    if let Some(error) = run.failure() {
                        self.lose_plan(error);
                        climb.after(error);
                        continue;
                    }
                    let streamed = run.streamed();
                    let Some(outcome) = run.finish() else { break };
                    climb.note(&attempt, attempt.lower_bound(&outcome));
                    self.finish_run(&attempt, &outcome, streamed, reducer)?;
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
        if !begun && self.config.method == BoundChoice::Branch {
            return Err(Error::Usage(format!(
                "a search over values does not fit into {memory} bytes, or its costs are too large to be added in 64 bits \
                 (--bound-memory raises the limit, --method mbe takes any costs)"
            )));
        }
        Ok(false)
    }

    /// A slice of a search over values; whether any is left.
    fn search(&mut self, branch: &mut Branch, stop: &Stop) -> Result<bool, Error> {
        branch.tighten(self.upper());
        let progress = branch.advance(BRANCH_SLICE, stop);
        let name = branch.style().name();
        if let Some(core) = branch.take_solution()
            && let Some((_, reducer)) = self.cores.iter().find(|known| Arc::ptr_eq(&known.0, branch.problem()))
        {
            let solution = reducer.lift(&core);
            self.offer(solution, name);
        }
        if let Some(error) = branch.take_trouble() {
            self.lose_device(&error);
        }
        let core = self.cores.iter().find(|known| Arc::ptr_eq(&known.0, branch.problem()));
        let reducer = core.map(|(_, reducer)| reducer.clone());
        self.raise(branch.lower_bound(), name, || branch.proof(&reducer?))?;
        Ok(progress == Progress::More)
    }

    /// Bucket elimination is asked for whatever it costs, but not beyond the memory limit.
    fn must_fit(&self, problem: &Problem, order: &Order) -> Result<(), Error> {
        let (limit, spill) = (self.config.memory, self.spill);
        if Plan::new(problem, order, &Limits { spill, ..Limits::new(limit) }).exact {
            return Ok(());
        }
        Err(Error::Usage(format!(
            "bucket elimination does not fit into {limit} bytes and {spill} of files: induced width {}, {:.2e} joint entries, the largest \
             table has {:.2e} entries (--bound-memory and --spill raise the limits, --method mbe splits buckets)",
            order.width, order.joint_entries, order.largest
        )))
    }

    fn finish_run(
        &mut self,
        attempt: &Attempt,
        outcome: &Outcome,
        streamed: bool,
        reducer: &Arc<Reducer>,
    ) -> Result<(), Error> {
        let (plan, lower) = (outcome.plan(), attempt.lower_bound(outcome));
        // what dense tables would have taken says nothing about rows
        let dense = plan.rows.is_none();
        if dense {
            self.highest = self.highest.max(plan.joint_entries);
        }
        if dense && lower > self.lower || outcome.exact() {
            self.report.z = Some(plan.z);
            self.report.largest_table = plan.largest_table;
            self.report.table_bytes = plan.table_bytes;
            self.report.joint_entries = plan.joint_entries;
            self.report.streamed = streamed;
            self.report.spilled_bytes = outcome.spilled_bytes();
        }
        if let Some(core) = outcome.assign() {
            self.offer(reducer.lift(&core), &attempt.name);
        }
        self.report.exact |= outcome.exact();
        self.raise(lower, &attempt.name, || attempt.proof(reducer, outcome))
    }

    /// What no solution worth finding reaches.
    fn upper(&self) -> Cost {
        self.best.as_ref().map_or(self.network.top(), |(cost, ..)| *cost)
    }

    /// Whether there is nothing left to prove, or no time.
    fn is_over(&self, stop: &Stop) -> bool {
        self.report.exact || stop.is_set()
    }

    /// Keeps an assignment if it is a solution and better.
    fn offer(&mut self, assignment: Vec<u32>, name: &str) {
        let evaluation = check::evaluate(self.network, &assignment);
        if evaluation.is_solution()
            && evaluation.cost < self.upper()
            && let Some(value) = check::value(self.network, &assignment)
        {
            self.report.exact |= self.lower >= evaluation.cost;
            self.best = Some((evaluation.cost, value, assignment));
            self.source = name.into();
            self.tell(EventKind::Solution);
        }
    }

    fn raise(&mut self, bound: Cost, name: &str, proof: impl FnOnce() -> Option<Proof>) -> Result<(), Error> {
        // without a solution a bound may only say that there is none
        let (upper, bound) = (self.upper(), bound.min(self.network.top()));
        if bound > upper {
            return Err(Error::Internal(format!("{name}: the bound {bound} is above {upper}")));
        }
        if bound > self.lower || self.report.exact {
            self.report.method = name.into();
            self.source = name.into();
        }
        if bound > self.lower {
            self.lower = bound;
            self.tell(EventKind::Bound);
        }
        // also where more is known that has no proof
        if bound > self.proof.0
            && let Some(proof) = proof()
        {
            self.proof = (bound, proof);
        }
        self.report.exact |= self.lower >= upper;
        Ok(())
    }

    /// The device has failed: says so once, and the run goes on without it.
    fn lose_device(&mut self, error: &DeviceError) {
        if let Some(message) = self.device.lose(error) {
            self.recorder.warn(&message);
        }
    }

    /// Files for tables have failed, or there was no memory for one: says so, and the run goes on without, or with less.
    fn lose_plan(&mut self, error: &Error) {
        if !matches!(error, Error::Memory(_)) {
            self.spill = 0;
        }
        self.recorder.warn(&what_fails(error));
    }

    fn tick(&mut self) {
        let now = self.clock.seconds();
        if now >= self.next_tick {
            self.next_tick = now.floor() + 1.0;
            self.tell(EventKind::Tick);
        }
    }

    fn tell(&mut self, kind: EventKind) {
        let units = self.network.units();
        let time_s = self.clock.seconds();
        self.report.time_s = record::seconds(time_s);
        let event = Event {
            kind,
            time_s,
            cost: self.best.as_ref().map(|(_, value, _)| *value),
            bound: self.network.bound(self.lower),
            gap: gap(self.network, self.best.as_ref().map(|(cost, value, _)| (*cost, *value)), self.lower),
            maximise: units.maximise,
            round: 0,
            moves: 0,
            ratings: 0,
            source: self.source.as_str().into(),
            solution: self.best.as_ref().map(|(.., solution)| solution[..].into()),
            message: None,
        };
        let format = self.config.output.solution_format;
        self.recorder.observe(&event, |solution| formats::write_solution(self.network, solution, format));
    }

    fn finish(mut self, certificate: Option<ReplacedFile>, stop: &Stop) -> Result<Exit, Error> {
        self.tell(EventKind::End);
        let mut written = true;
        if let Some(file) = certificate {
            let solution = self.best.as_ref().map(|(.., solution)| &solution[..]);
            let (bound, proof) = &self.proof;
            if *bound < self.lower {
                self.recorder.warn(&weaker(self.network, *bound, self.lower));
            }
            if let Err(error) = output::certificate(file, self.network, *bound, solution, proof, stop) {
                written = false;
                self.recorder.warn(&error.to_string());
            }
        }
        let Bounding { mut report, recorder, .. } = self;
        report.device = self.device.name();
        let ended = recorder.finish(stop);
        report.bound = self.network.bound(self.lower);
        report.cost = self.best.as_ref().map(|(_, value, _)| *value);
        let proved = report.cost.zip(report.bound).filter(|_| report.exact);
        report.precision_slack = self.network.units().precision_slack(proved);
        report.solution = self.best.filter(|_| !ended.has_solution).map(|(.., solution)| solution);
        let format = self.config.output.solution_format;
        let lost = report.solution.as_deref().map(|lost| formats::write_solution(self.network, lost, format));
        output::print_run(&report, self.config.output.json, lost)?;
        let infeasible = report.cost.is_none() && self.lower >= self.network.top();
        let exit = if infeasible { Exit::Infeasible } else { Exit::Done };
        Ok(exit.written(written && ended.has_solution && ended.has_rows))
    }
}
