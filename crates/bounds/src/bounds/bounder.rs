//! The bounding loop in slices: it chooses the next stage and its processor, and turns each slice into a step's result.

use super::methods::BoundChoice;
use super::schedule::{BoundSchedule, Stage};
use super::search::{Search, Steady};
use super::shifting::Shifting;
use super::step::{BoundResult, BounderOptions, Notice, Step, TableSizes, solved};
use super::{Attempt, DeviceUse, SizeSchedule, Spent, Strategies};
use crate::activity::Activity;
use crate::device::DeviceError;
use crate::elimination::{Gpu, Limits, Plan, Progress, Run, Slices, spill_folder};
use crate::error::Error;
use crate::model::{Cost, Problem};
use crate::order::{Method, Order, OrderSearch};
use crate::reduce::ReducedProblem;
use crate::stop::Stop;
use crate::tuning::tuning;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

/// Raises the lower bound of a reduced problem, one bounded slice of work after the other.
///
/// ```
/// use fangs_bounds::bounds::{Bounder, BounderOptions, Step};
/// use fangs_bounds::reduce::{ReducedProblem, Reducer};
/// use fangs_base::stop::Stop;
///
/// let stop = Stop::new();
/// let network = fangs_generate::generate("grid", &[("side", "4"), ("d", "3"), ("p2", "0")], 1)?;
/// let reduced = ReducedProblem::new(Reducer::new(&network, true, &stop)?, &stop)?;
/// let mut bounder = Bounder::new(BounderOptions::default());
/// let (mut bound, mut exact) = (network.least(), false);
/// while !exact {
///     match bounder.step(&reduced, network.top(), &stop) {
///         Step::More => {}
///         Step::Result(result) => (bound, exact) = (bound.max(result.lower), result.exact),
///         Step::Done => break,
///     }
/// }
/// assert!(exact && bound >= network.least());
/// # Ok::<(), fangs_base::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Bounder {
    options: BounderOptions,
    activity: Activity,
    gpu: Option<Arc<Gpu>>,
    /// Further devices, over which an elimination spreads its slices.
    others: Vec<Arc<Gpu>>,
    device_use: DeviceUse,
    notices: VecDeque<Notice>,
    /// Elimination orders given by the caller or found by a search; a schedule then follows them.
    orders: Vec<Order>,
    ordering: Option<OrderSearch>,
    schedule: Option<BoundSchedule>,
    running: Option<Running>,
    /// The search with a guaranteed share of the time that is at work; `None` during other stages.
    steady: Option<Steady>,
    spent: Spent,
    /// Searches without a schedule: they continue after the problem has changed.
    searches: Vec<Box<dyn Search>>,
    /// The reduced problems that searches began with.
    problems: Vec<ReducedProblem>,
    done: bool,
    work: u64,
    induced_width: Option<u32>,
    best_z: Option<u32>,
    /// Combinations of the largest finished elimination with dense tables.
    highest: u64,
    /// Highest bound that cost shifting has reported before its end.
    told: Cost,
}

#[derive(Debug)]
struct Running {
    work: Work,
    reduced: ReducedProblem,
}

#[derive(Debug)]
enum Work {
    Shift(Box<Shifting>),
    Run(Box<Attempt>, Box<Run>),
    Search(Turn),
}

#[derive(Debug)]
struct Turn {
    search: Box<dyn Search>,
    /// Work of the search, in total, at which the grant ends.
    end: u64,
    /// Lower bound when the grant began.
    before: Cost,
    told: Cost,
}

impl Bounder {
    /// Creates a bounder that has done no work yet.
    pub fn new(options: BounderOptions) -> Self {
        let bounder = Bounder { options, told: Cost::MIN, ..Bounder::default() };
        Bounder { done: bounder.strategies().are_none(), ..bounder }
    }

    /// Reports to `activity` what the bounder is doing.
    pub fn telling(mut self, activity: &Activity) -> Self {
        self.activity = activity.clone();
        self
    }

    /// Follows these elimination orders, the best first, instead of searching for orders, until [`Bounder::rebase`].
    pub fn follow(&mut self, orders: Vec<Order>) {
        self.orders = orders;
    }

    /// Uses this device from now on for the stages that pay there; a running elimination restarts on it.
    pub fn use_device(&mut self, gpu: Arc<Gpu>, device_use: DeviceUse) {
        self.device_use = device_use;
        match self.running.as_mut().map(|running| &mut running.work) {
            Some(Work::Run(attempt, run)) if attempt.is_for_device(run.plan(), device_use) => {
                **run = run_on(Some(&gpu), &self.others, attempt, run.plan().clone());
            }
            Some(Work::Search(turn)) => turn.search.use_device(&gpu),
            _ => {}
        }
        self.searches.iter_mut().for_each(|search| search.use_device(&gpu));
        let exact_work = self.exact_work(true);
        let schedule = self.schedule.take();
        self.schedule = schedule.map(|schedule| schedule.on(Some(&gpu), device_use).exact_work(exact_work));
        // plans that were too large for the CPU may suit the device
        (self.gpu, self.done) = (Some(gpu), self.strategies().are_none());
    }

    /// Adds further devices, over which an elimination spreads its slices. Call it before [`Bounder::use_device`].
    pub fn share(&mut self, others: Vec<Arc<Gpu>>) {
        self.others = others;
    }

    /// Starts planning afresh after a change of the reduced problem: stages that have not begun are dropped.
    pub fn rebase(&mut self) {
        if let Some(schedule) = self.schedule.take() {
            self.searches.extend(schedule.into_searches());
        }
        (self.orders, self.ordering) = (Vec::new(), None);
        self.done = self.strategies().are_none();
    }

    /// Does one slice of work, which takes at most some tenths of a second. `upper` is the incumbent's cost, or the
    /// network's top; bounds hold for solutions below it. `reduced` may differ from that of the last call only after
    /// [`Bounder::rebase`].
    pub fn step(&mut self, reduced: &ReducedProblem, upper: Cost, stop: &Stop) -> Step {
        let (began, before) = (Instant::now(), self.work);
        let result = self.advance(reduced, upper, stop);
        let work = self.work - before;
        let units = if self.options.repeatable { work } else { began.elapsed().as_nanos() as u64 };
        self.spent.note(self.steady, units);
        match result {
            Some(result) => Step::Result(Box::new(result)),
            None if self.done => Step::Done,
            None => Step::More,
        }
    }

    /// Returns the current bound of running cost shifting; `None` if none runs or its bound is at most `above`.
    pub fn so_far(&self, upper: Cost, above: Cost) -> Option<BoundResult> {
        let Some(Running { work: Work::Shift(shift), reduced }) = &self.running else { return None };
        let lower = shift.lower_bound(upper.min(reduced.problem.top));
        let result = || BoundResult {
            proof: shift.proof(&reduced.reducer),
            ..BoundResult::new(reduced.clone(), lower, shift.name().into())
        };
        (lower > above).then(result)
    }

    /// Returns whether there is nothing left to do for this problem.
    pub fn is_done(&self) -> bool {
        self.done
    }

    /// Returns whether a stage is at work.
    pub fn is_at_work(&self) -> bool {
        self.running.is_some()
    }

    /// Returns whether an exact elimination with dense tables is at work.
    pub fn is_exact(&self) -> bool {
        let Some(Running { work: Work::Run(_, run), .. }) = &self.running else { return false };
        run.plan().exact && run.plan().placement.rows.is_none()
    }

    /// Returns whether the stage at work runs on a device.
    pub fn is_on_device(&self) -> bool {
        self.gpu.is_some()
            && match self.running.as_ref().map(|running| &running.work) {
                Some(Work::Search(turn)) => turn.search.is_on_device(),
                Some(Work::Run(attempt, run)) => attempt.is_for_device(run.plan(), self.device_use),
                Some(Work::Shift(_)) | None => false,
            }
    }

    /// Returns whether a branch and bound estimates that it is about to end.
    pub fn ends_soon(&self) -> bool {
        self.schedule.as_ref().is_some_and(BoundSchedule::ends_soon)
    }

    /// Returns what all steps have taken: nanoseconds, or work if runs must be repeatable.
    pub fn spent(&self) -> u64 {
        self.spent.total()
    }

    /// Returns z, the variables of a mini-bucket (i-bound + 1), of the last finished dense elimination.
    pub fn best_z(&self) -> Option<u32> {
        self.best_z
    }

    /// Returns the induced width of the best elimination order.
    pub fn induced_width(&self) -> Option<u32> {
        self.induced_width
    }

    /// Returns whether [`Bounder::take_notice`] has something to return.
    pub fn has_notices(&self) -> bool {
        !self.notices.is_empty()
    }

    /// Returns the next notice, each once.
    pub fn take_notice(&mut self) -> Option<Notice> {
        self.notices.pop_front()
    }

    /// Returns the work up to which elimination is exact without preceding mini-buckets.
    fn exact_work(&self, on_device: bool) -> u64 {
        self.strategies().exact_work[usize::from(on_device)]
    }

    fn advance(&mut self, reduced: &ReducedProblem, upper: Cost, stop: &Stop) -> Option<BoundResult> {
        if self.running.is_none() {
            if let Some(result) = solved(reduced, upper) {
                return (!std::mem::replace(&mut self.done, true)).then_some(result);
            }
            let follows = self.schedule.is_none() && self.orders.is_empty() && !self.is_vast(&reduced.problem);
            if follows && self.order(&reduced.problem, stop) {
                return None;
            }
            self.begin(reduced, upper, stop);
        }
        match &mut self.running.as_mut()?.work {
            Work::Shift(shift) => {
                shift.below(upper);
                let before = shift.work_done();
                let progress = shift.advance(tuning().general.slice, stop);
                self.work += (shift.work_done() - before).max(1) * tuning().general.shift_work;
                match progress {
                    Progress::More => self.shifted_so_far(upper),
                    _ => self.finish_shift(upper, stop),
                }
            }
            Work::Search(turn) => {
                let before = turn.search.work_done();
                turn.search.tighten(upper);
                let progress = turn.search.advance(tuning().general.slice, stop);
                self.work += (turn.search.work_done() - before).max(1);
                let trouble = turn.search.take_trouble();
                let _ = self.lose_device(trouble);
                self.follow_turn(progress)
            }
            Work::Run(_, run) => {
                let before = run.work_done();
                let progress = run.advance(tuning().general.elimination_slice, stop);
                // the work of a device that fails is lost, so the counter may fall
                self.work += run.work_done().saturating_sub(before).max(1);
                let (trouble, failure) = (run.trouble().cloned(), run.take_failure());
                run.take_lost().into_iter().for_each(|(place, error)| self.lose(place, error));
                if self.lose_device(trouble) && (self.gpu.is_some() || self.exact_work(false) < u64::MAX) {
                    // the plan may be too large for the CPU
                    let orders = std::mem::take(&mut self.orders);
                    self.running = None;
                    self.rebase();
                    self.orders = orders;
                    return None;
                }
                match failure {
                    Some(error) => {
                        self.lose_plan(&error);
                        None
                    }
                    None if progress == Progress::More => None,
                    None => self.finish_run(upper, stop),
                }
            }
        }
    }

    /// Replaces the first device by the next one, or by the CPU, after an error; returns whether there was an error and
    /// a device to lose.
    fn lose_device(&mut self, trouble: Option<DeviceError>) -> bool {
        trouble.filter(|_| self.gpu.is_some()).map(|error| self.lose(0, error)).is_some()
    }

    /// Removes a failed device, given by its index among the remaining ones.
    fn lose(&mut self, place: usize, error: DeviceError) {
        if let Some(other) = place.checked_sub(1) {
            let _ = self.others.remove(other);
        } else {
            self.gpu = (!self.others.is_empty()).then(|| self.others.remove(0));
            if self.gpu.is_some() {
                self.schedule = self.schedule.take().map(|own| own.on(self.gpu.as_ref(), self.device_use));
            }
        }
        self.notices.push_back(Notice::DeviceLost(place, error));
    }

    /// Drops the running plan after a failure, and excludes files, or half of the memory, from later plans.
    fn lose_plan(&mut self, error: &Error) {
        self.running = None;
        let goes_on = match error {
            Error::Memory(_) => {
                self.options.memory /= 2;
                "with half of the memory for tables"
            }
            _ => {
                self.options.spill = 0;
                "without tables in files"
            }
        };
        self.notices.push_back(Notice::PlanFailed(format!("{error}; going on {goes_on}")));
        self.schedule.iter_mut().for_each(|schedule| schedule.after(error));
    }

    /// Returns the limits of an exact plan. A certified plan has no slices, because the replay of a certificate knows
    /// none.
    pub(super) fn limits(&self, certified: bool) -> Limits {
        let BounderOptions { memory, spill, repeatable, .. } = self.options;
        // free device memory differs from run to run
        let room = self.gpu.as_ref().filter(|_| !repeatable).and_then(|gpu| gpu.budget().ok());
        let devices = self.gpu.iter().chain(&self.others).count() as u32;
        let slices = (!certified).then_some(Slices { bytes: room.unwrap_or(memory), devices });
        Limits { spill, slices, ..Limits::new(memory) }
    }

    fn strategies(&self) -> Strategies {
        self.options.choice.strategies().part(self.options.part)
    }

    /// Returns whether the problem is so large that only cost shifting runs: orders and plans would take longer than
    /// most runs.
    fn is_vast(&self, problem: &Problem) -> bool {
        self.options.choice.strategies().shift && problem.variables() + problem.functions.len() >= tuning().general.vast
    }

    /// Returns the current bound of running cost shifting if it has risen by a hundredth of the gap since the last
    /// report: a run may be over before long passes end.
    fn shifted_so_far(&mut self, upper: Cost) -> Option<BoundResult> {
        let Some(Running { reduced, .. }) = &self.running else { return None };
        let above = self.told.max(reduced.problem.constant);
        let result = self.so_far(upper, above.saturating_add((upper - above) / tuning().general.shift_steps))?;
        self.told = result.lower;
        Some(result)
    }

    fn finish_shift(&mut self, upper: Cost, stop: &Stop) -> Option<BoundResult> {
        let Some(Running { work: Work::Shift(mut shift), reduced }) = self.running.take() else { return None };
        let lower = shift.lower_bound(upper.min(reduced.problem.top));
        let (value_bounds, proof) = (shift.value_bounds(stop).ok(), shift.proof(&reduced.reducer));
        let result = BoundResult::new(reduced, lower, shift.name().into());
        let trouble = shift.take_trouble();
        let _ = self.lose_device(trouble);
        if let Some(schedule) = &mut self.schedule {
            schedule.shifted(*shift, stop);
        }
        Some(BoundResult { value_bounds, proof, ..result })
    }

    /// Returns the result of a slice of a search if it has news or the work granted is used up; the search then returns
    /// to the schedule.
    fn follow_turn(&mut self, progress: Progress) -> Option<BoundResult> {
        let Some(Running { work: Work::Search(turn), reduced }) = &mut self.running else { return None };
        let (lower, assignment) = (turn.search.lower_bound(), turn.search.take_solution());
        let news = lower > std::mem::replace(&mut turn.told, lower) || assignment.is_some();
        let over = progress == Progress::Done || turn.search.work_done() >= turn.end;
        if !news && !over {
            return None;
        }
        let result = BoundResult::new(reduced.clone(), lower, turn.search.name().into());
        let result = BoundResult { assignment, proof: turn.search.proof(&reduced.reducer), ..result };
        if over && let Some(Running { work: Work::Search(turn), .. }) = self.running.take() {
            match &mut self.schedule {
                Some(schedule) => schedule.searched(turn.search, turn.before),
                None => self.searches.push(turn.search),
            }
        }
        Some(result)
    }

    fn finish_run(&mut self, upper: Cost, stop: &Stop) -> Option<BoundResult> {
        let Some(Running { work: Work::Run(attempt, run), reduced }) = self.running.take() else { return None };
        let streamed = run.streamed();
        let outcome = Arc::new(run.finish()?);
        let lower = attempt.lower_bound(&outcome);
        if let Some(schedule) = &mut self.schedule {
            schedule.note(&attempt, lower);
        }
        // the size of dense tables does not describe sparse ones
        let tables = outcome.plan().placement.rows.is_none().then(|| TableSizes::new(&outcome, streamed));
        if let Some(tables) = &tables {
            self.best_z = Some(tables.z);
            self.highest = self.highest.max(tables.joint_entries);
        }
        let assignment = outcome.assign(stop);
        let schedule = self.schedule.as_mut();
        let value_bounds = schedule.and_then(|schedule| schedule.value_bounds(&attempt, &outcome, upper, stop));
        self.work += value_bounds.as_ref().map_or(0, |_| outcome.value_bounds_work());
        Some(BoundResult {
            lower,
            exact: outcome.exact(),
            assignment,
            proof: attempt.proof(&reduced.reducer, &outcome),
            reduced,
            outcome: attempt.is_plain().then_some(outcome),
            source: attempt.name,
            tables,
            value_bounds,
        })
    }

    /// Searches for elimination orders; returns whether the search has more to do.
    fn order(&mut self, problem: &Problem, stop: &Stop) -> bool {
        let ordering = self.ordering.get_or_insert_with(|| {
            let size = problem.variables() + problem.functions.len();
            let restarts = (tuning().general.order_restarts / size.max(1)).min(tuning().general.most_restarts) as u32;
            let greedy = [Method::MinFill, Method::WeightedMinFill, Method::MinDegree];
            OrderSearch::promising(problem, &greedy, self.options.seed, restarts, tuning().general.orders, stop)
        });
        self.activity.bounds("ordering");
        let before = ordering.steps();
        let more = ordering.advance(tuning().general.slice, stop);
        self.work += (ordering.steps() - before).max(1);
        more
    }

    fn begin(&mut self, reduced: &ReducedProblem, upper: Cost, stop: &Stop) {
        if self.schedule.is_none() {
            self.schedule = Some(self.schedule(reduced));
        }
        let stage = self.schedule.as_mut().and_then(|schedule| schedule.next(Some(upper), self.spent, stop));
        let refusal = self.schedule.as_mut().and_then(BoundSchedule::take_refusal);
        // if all methods may run, it is not worth a notice that one does not
        let refusal = refusal.filter(|_| self.options.choice != BoundChoice::Auto);
        self.notices.extend(refusal.map(Notice::Refused));
        (self.steady, self.done) = (stage.as_ref().and_then(Stage::steady), stage.is_none());
        self.activity.bounds(stage.as_ref().map_or("", Stage::doing));
        let (work, reduced) = match stage {
            Some(Stage::Shift(shift)) => (Work::Shift(shift), reduced.clone()),
            Some(Stage::Run(attempt, plan)) => {
                if let spilled @ 1.. = plan.spilled_bytes() {
                    let (name, all, folder) = (&attempt.name, plan.placement.table_bytes, spill_folder());
                    let text =
                        format!("{name}: tables of {all} bytes, {spilled} of them in files in {}", folder.display());
                    self.notices.push_back(Notice::Spilling(text));
                }
                let gpu = self.gpu.as_ref().filter(|_| attempt.is_for_device(&plan, self.device_use));
                let run = run_on(gpu, &self.others, &attempt, plan);
                (Work::Run(attempt, Box::new(run)), reduced.clone())
            }
            Some(Stage::Search(search, work)) => {
                let known = self.problems.iter().find(|known| Arc::ptr_eq(&known.problem, search.problem()));
                let of_search = known.unwrap_or(reduced).clone();
                if known.is_none() {
                    self.problems.push(of_search.clone());
                }
                let (end, bound) = (search.work_done().saturating_add(work), search.lower_bound());
                (Work::Search(Turn { search, end, before: bound, told: bound }), of_search)
            }
            None => return,
        };
        self.running = Some(Running { work, reduced });
    }

    fn schedule(&mut self, reduced: &ReducedProblem) -> BoundSchedule {
        let searched = self.ordering.take().map(OrderSearch::into_orders);
        let orders = if self.orders.is_empty() { searched.unwrap_or_default() } else { self.orders.clone() };
        self.induced_width = orders.first().map(|order| order.width);
        let certified = reduced.reducer.steps().is_some();
        let Limits { max_bytes, spill, slices, .. } = self.limits(certified);
        let exact_work = self.exact_work(self.gpu.is_some());
        let mut sizes = SizeSchedule::new(orders, max_bytes, self.options.z).exact_work(exact_work);
        (sizes.spill, sizes.slices, sizes.work) = (spill, slices, self.highest / 2);
        let strategies = self.strategies();
        let strategies = if self.is_vast(&reduced.problem) { strategies.shifting_alone() } else { strategies };
        let schedule = BoundSchedule::new(&reduced.problem, sizes, strategies).keep_journal(certified);
        let mut schedule = schedule.on(self.gpu.as_ref(), self.device_use);
        schedule.resume(std::mem::take(&mut self.searches));
        schedule
    }
}

fn run_on(gpu: Option<&Arc<Gpu>>, others: &[Arc<Gpu>], attempt: &Attempt, plan: Plan) -> Run {
    let gpus: Vec<Arc<Gpu>> = gpu.into_iter().flat_map(|gpu| std::iter::once(gpu).chain(others)).cloned().collect();
    Run::on_all(&gpus, attempt.problem().clone(), plan)
}
