//! Bounds of a whole network by inference alone: reductions, an elimination order, the bounding loop, and further
//! reductions by values that the bounds exclude.

use super::best_known::{BestKnown, Incumbent, LowerBound};
use super::bounder::Bounder;
use super::methods::{BoundChoice, CONSTANT, REDUCTIONS, constant_bound};
use super::proof::Proof;
use super::step::{BoundResult, BounderOptions, Notice, Step, TableSizes};
use super::{DeviceUse, early};
use crate::activity::Activity;
use crate::certificate::Certificate;
use crate::check;
use crate::device::{Choice, Opened, Opening};
use crate::elimination::{Gpu, Limits, MOST_WORK, Plan};
use crate::error::Error;
use crate::model::{Cost, Network, Problem};
use crate::order::{Method, Order, Ordering};
use crate::reduce::{ReducedProblem, Reducer, ValueBounds};
use crate::stop::Stop;
use crate::threads;
use std::time::Instant;

/// The problem is reduced again when bounds exclude more than one in this many of its values.
const WORTH_TIGHTENING: usize = 32;

/// Options of [`Proving`]: what to prove, and how.
#[derive(Clone, Debug)]
pub struct ProvingOptions {
    /// Bound methods and limits.
    pub bounder: BounderOptions,
    /// How the elimination order is chosen.
    pub order: Ordering,
    /// Whether exact reductions run.
    pub reduce: bool,
    /// The device, which may already be opening in the background.
    pub device: Opening,
    /// Receives a description of the current work.
    pub activity: Activity,
}

impl Default for ProvingOptions {
    fn default() -> Self {
        ProvingOptions {
            bounder: BounderOptions::default(),
            order: Ordering::default(),
            reduce: true,
            device: Opening::default(),
            activity: Activity::default(),
        }
    }
}

impl ProvingOptions {
    /// Returns these options after `change` has been applied.
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}

/// The best-known solution and lower bound of a run, and how they came about.
#[derive(Clone, Debug)]
pub struct Proved {
    /// The incumbent, the lower bound and its proof, with the seconds since the run was created.
    pub known: BestKnown,
    /// Whether the bound is the optimum, or the network is proved infeasible.
    pub exact: bool,
    /// Name of the method that made the bound.
    pub method: String,
    /// Name of the method that last improved the bound or the incumbent.
    pub source: String,
    /// The induced width of the elimination order.
    pub induced_width: Option<u32>,
    /// The rule that made the order.
    pub order: Option<Method>,
    /// Table sizes of the last elimination that raised the bound or was exact; `None` before one.
    pub tables: Option<TableSizes>,
    /// Name of the device: `cpu` or `cuda:0`.
    pub device: String,
}

/// The kind of change that a run reports.
#[derive(Clone, Copy, Debug)]
pub enum News<'a> {
    /// The bound has risen.
    Bound,
    /// There is a better incumbent.
    Solution,
    /// The order, the tables or the device have changed.
    State,
    /// Something has failed; the text is a warning for the user.
    Warning(&'a str),
}

/// The receiver of each change; if it returns an error, the work ends.
type Tell<'a> = &'a mut dyn FnMut(&Proved, News<'_>) -> Result<(), Error>;

impl Proved {
    /// Returns the state before any work: the constant bound, which is the sum of the functions' minima.
    pub fn new(network: &Network) -> Proved {
        Proved {
            known: BestKnown::new(network),
            exact: network.least() >= network.top(),
            method: CONSTANT.into(),
            source: CONSTANT.into(),
            induced_width: None,
            order: None,
            tables: None,
            device: "cpu".into(),
        }
    }

    /// Returns the cost that a better solution must stay below: the incumbent's cost, or the network's top.
    pub fn upper(&self, network: &Network) -> Cost {
        self.known.upper().min(network.top())
    }

    /// Returns the lower bound: no solution costs less.
    pub fn lower(&self) -> Cost {
        self.known.bound().cost
    }
}

/// A run that proves lower bounds of a network.
///
/// ```
/// use fangs_bounds::bounds::{Proving, ProvingOptions};
/// use fangs_base::stop::Stop;
///
/// let network = fangs_generate::generate("grid", &[("side", "4"), ("d", "3"), ("p2", "0")], 1)?;
/// let mut proving = Proving::new(&network, ProvingOptions::default());
/// proving.run(&Stop::new(), &mut |_, _| Ok(()))?;
/// let proved = proving.proved();
/// assert!(proved.exact && proved.lower() == proved.upper(&network));
/// # Ok::<(), fangs_base::Error>(())
/// ```
#[derive(Debug)]
pub struct Proving<'n> {
    network: &'n Network,
    options: ProvingOptions,
    bounder: Bounder,
    created: Instant,
    /// The device in use; `None` until it has been opened. It stands for the CPU if there is no device or it has
    /// failed.
    device: Option<Opened>,
    proved: Proved,
    /// Why the requested method does not run.
    refusal: Option<Error>,
    /// The last reduced problem with its value bounds, kept because freeing it may take a while.
    last: Option<(ReducedProblem, ValueBounds)>,
}

impl<'n> Proving<'n> {
    /// Creates a run that has done no work yet.
    pub fn new(network: &'n Network, options: ProvingOptions) -> Self {
        let bounder = Bounder::new(options.bounder.clone()).telling(&options.activity);
        let (proved, created) = (Proved::new(network), Instant::now());
        Proving { network, options, bounder, created, device: None, proved, refusal: None, last: None }
    }

    /// Returns the lower bound and the incumbent so far.
    pub fn proved(&self) -> &Proved {
        &self.proved
    }

    /// Works until nothing is left to prove or `stop` is set; `tell` receives each change.
    ///
    /// # Errors
    /// Returns [`Error::Memory`] if the requested method does not fit, and an error if a requested device is missing,
    /// if certificates are requested for a network that cannot have one, or if `tell` returns an error.
    pub fn run(&mut self, stop: &Stop, tell: Tell<'_>) -> Result<(), Error> {
        if self.options.bounder.certified {
            Certificate::must_suit(self.network)?;
        }
        let _ = self.options.device.poll()?;
        if let Some(early) = early::bound(self.network, &self.options.bounder, stop) {
            self.raise(early.lower, early::SOURCE, early.proof, tell)?;
        }
        self.options.activity.step("reducing");
        let reduced = || match self.options.bounder.certified {
            true => Reducer::logged(self.network, self.options.reduce, stop),
            false => Reducer::new(self.network, self.options.reduce, stop),
        };
        let mut reducer = (!self.is_over(stop)).then(reduced).transpose()?;
        // a user's order names the network's variables, so it does not suit merged ones
        if let (Some(reducer), Ordering::Promising | Ordering::Rule(_)) = (&mut reducer, &self.options.order) {
            reducer.merge_ties(stop);
        }
        if *self.options.device.choice() != Choice::Auto {
            self.open(stop, tell)?;
        }
        let Some(reducer) = reducer else { return Ok(()) };
        let mut values = ValueBounds::new(&reducer, stop)?;
        self.options.activity.step("");
        let mut reduced = ReducedProblem::new(reducer, stop)?;
        let ended = loop {
            match self.bound(&reduced, &mut values, stop, tell) {
                Ok(true) => {}
                ended => break ended,
            }
            let mut reducer = reduced.reducer.copy(stop)?;
            reducer.tighten_by(self.proved.upper(self.network), &values, stop);
            let old = std::mem::replace(&mut reduced, ReducedProblem::new(reducer, stop)?);
            threads::free(old, self.network.domains().len());
            self.bounder.rebase();
        };
        self.last = Some((reduced, values));
        ended.map(drop)
    }

    /// Bounds a reduced problem; returns whether it is worth reducing it again.
    fn bound(
        &mut self,
        reduced: &ReducedProblem,
        values: &mut ValueBounds,
        stop: &Stop,
        tell: Tell<'_>,
    ) -> Result<bool, Error> {
        let ReducedProblem { reducer, problem } = reduced;
        match (reducer.infeasible(), problem.variables()) {
            (true, _) => {}
            (false, 0) => {
                self.proved.induced_width = Some(0);
                tell(&self.proved, News::State)?;
            }
            _ => {
                let name = if self.options.reduce { REDUCTIONS } else { CONSTANT };
                self.raise(constant_bound(problem), name, Proof::reductions(reducer), tell)?;
                if self.is_over(stop) {
                    return Ok(false);
                }
                self.plan(reduced, stop, tell)?;
            }
        }
        let mut begun = false;
        loop {
            let step = self.bounder.step(reduced, self.proved.upper(self.network), stop);
            self.tell_notices(tell)?;
            match step {
                Step::Done => break,
                Step::More => {
                    // for a certificate only bounds with a proof count
                    let is_certified = self.options.bounder.certified;
                    let above = if is_certified { self.proved.known.proof().0 } else { self.proved.lower() };
                    if let Some(result) = self.bounder.so_far(self.proved.upper(self.network), above) {
                        self.raise(result.lower, &result.source, result.proof, tell)?;
                    }
                }
                Step::Result(result) => {
                    self.follow(*result, values, stop, tell)?;
                    // after each result, because a better incumbent may exclude more values by older bounds
                    let (removable, of) = values.removable(reducer, self.proved.upper(self.network), stop);
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
        self.refusal.take().filter(|_| !begun).map_or(Ok(false), Err)
    }

    /// Computes the elimination order, and opens the device if waiting for it pays.
    fn plan(&mut self, reduced: &ReducedProblem, stop: &Stop, tell: Tell<'_>) -> Result<(), Error> {
        self.options.activity.bounds("ordering");
        let order = self.options.order.order(reduced.reducer.variables(), &reduced.problem, stop)?;
        // an interrupted order is not reported
        stop.check()?;
        self.proved.induced_width = Some(order.width);
        self.proved.order = order.method;
        tell(&self.proved, News::State)?;
        // a small network is bounded before a device driver has started
        if Gpu::pays(order.joint_entries) {
            self.open(stop, tell)?;
        }
        if self.options.bounder.choice == BoundChoice::Be {
            self.must_fit(&reduced.problem, &order, stop)?;
        }
        self.bounder.follow(vec![order]);
        Ok(())
    }

    /// Returns [`Error::Memory`] if exact elimination exceeds the limits of memory and disk. The method `be` may take
    /// any time, but no more memory or disk.
    fn must_fit(&self, problem: &Problem, order: &Order, stop: &Stop) -> Result<(), Error> {
        let limits = self.bounder.limits();
        if Plan::until(problem, order, &limits, stop)?.exact {
            return Ok(());
        }
        let Limits { max_bytes, spill, slices, .. } = limits;
        let slices =
            slices.map_or(String::new(), |_| format!(", nor into slices of {MOST_WORK} times the work in all"));
        Err(Error::Memory(format!(
            "bucket elimination does not fit into {max_bytes} bytes and {spill} of files{slices}: induced width {}, \
             {:.2e} joint entries, the largest table has {:.2e} entries",
            order.width, order.joint_entries, order.largest
        )))
    }

    /// Takes up a result: its table sizes, its assignment, its bound and its value bounds.
    fn follow(
        &mut self,
        result: BoundResult,
        values: &mut ValueBounds,
        stop: &Stop,
        tell: Tell<'_>,
    ) -> Result<(), Error> {
        let BoundResult { reduced, lower, exact, assignment, source, tables, value_bounds, proof, .. } = result;
        if tables.is_some() && (lower > self.proved.lower() || exact) {
            self.proved.tables = tables;
        }
        if let Some(assignment) = assignment {
            // the first solution is evaluated even if the stop flag is set meanwhile
            let flag = if self.proved.known.incumbent().is_none() { stop.unheeded() } else { stop.clone() };
            if let Ok(solution) = reduced.reducer.lift(&assignment, &flag)
                && let Some(evaluation) = check::evaluate_unless(self.network, &solution, || flag.is_set())
            {
                self.offer(&evaluation, solution, &source, tell)?;
            }
        }
        let reason = proof.as_ref().filter(|_| value_bounds.is_some()).cloned();
        self.proved.exact |= exact && !self.network.is_relaxed();
        self.raise(lower, &source, proof, tell)?;
        if let Some(value_bounds) = value_bounds {
            values.learn(&reduced.reducer, &value_bounds, reason, stop);
            threads::free(value_bounds, reduced.problem.variables());
        }
        Ok(())
    }

    /// Makes an assignment the incumbent if it is a solution and better than the current one.
    fn offer(
        &mut self,
        evaluation: &check::Evaluation,
        solution: Vec<u32>,
        source: &str,
        tell: Tell<'_>,
    ) -> Result<(), Error> {
        if !evaluation.is_solution() || evaluation.cost >= self.proved.upper(self.network) {
            return Ok(());
        }
        let Some(value) = evaluation.value(self.network, &solution) else { return Ok(()) };
        let (cost, time_s) = (evaluation.cost, self.created.elapsed().as_secs_f64());
        let solution = Incumbent { cost, value, assignment: solution.into(), source: source.into(), time_s };
        let Some(improved) = self.proved.known.offer(self.network.units(), solution) else { return Ok(()) };
        self.proved.exact |= self.proved.lower() >= cost;
        self.proved.source = source.into();
        tell(&self.proved, if improved.is_incumbent { News::Solution } else { News::State })
    }

    /// Returns whether nothing is left to prove, or the stop flag is set.
    fn is_over(&self, stop: &Stop) -> bool {
        stop.is_set() || self.proved.exact
    }

    /// Takes up a bound of the method `name`, with its proof if it has one, and reports the change.
    fn raise(&mut self, bound: Cost, name: &str, proof: Option<Proof>, tell: Tell<'_>) -> Result<(), Error> {
        // without a solution, a bound can at most prove infeasibility
        let (upper, bound) = (self.proved.upper(self.network), bound.min(self.network.top()));
        if bound > upper {
            return Err(Error::Internal(format!("{name}: the bound {bound} is above {upper}")));
        }
        let time_s = self.created.elapsed().as_secs_f64();
        let has_risen = self.proved.known.raise(LowerBound { cost: bound, source: name.into(), time_s }, proof);
        if has_risen || self.proved.exact {
            self.proved.method = name.into();
            self.proved.source = name.into();
        }
        self.proved.exact |= self.proved.lower() >= upper;
        tell(&self.proved, if has_risen { News::Bound } else { News::State })
    }

    /// Waits, once, until the device has opened or turned out to be missing.
    fn open(&mut self, stop: &Stop, tell: Tell<'_>) -> Result<(), Error> {
        if self.device.is_some() {
            return Ok(());
        }
        let opened = self.options.device.wait(stop)?;
        if let Some(cuda) = &opened.cuda {
            let gpus = std::iter::once(cuda).chain(opened.others.iter().flatten()).cloned().map(Gpu::new);
            self.bounder.use_devices(gpus.collect(), DeviceUse::Exclusive);
        }
        self.proved.device = opened.name();
        self.device = Some(opened);
        tell(&self.proved, News::State)
    }

    /// Reports failures as warnings; the work goes on without what has failed.
    fn tell_notices(&mut self, tell: Tell<'_>) -> Result<(), Error> {
        while let Some(notice) = self.bounder.take_notice() {
            let message = match notice {
                Notice::PlanFailed(text) => text,
                Notice::DeviceLost(place, error) => {
                    let Some(device) = &mut self.device else { continue };
                    let text = match place.checked_sub(1) {
                        Some(other) => Some(device.lose_other(other, &error)),
                        None => device.lose(&error),
                    };
                    let Some(text) = text else { continue };
                    self.proved.device = device.name();
                    text
                }
                Notice::Refused(why) => {
                    self.refusal = Some(why);
                    continue;
                }
                // `TableSizes` counts spilled bytes
                Notice::Spilling(_) => continue,
            };
            tell(&self.proved, News::Warning(&message))?;
        }
        Ok(())
    }
}
