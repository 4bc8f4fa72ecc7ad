//! The scheduler of the bounds: it chooses the next stage and its processor, and works on it in slices.
//!
//! `choice` selects the next stage: elimination plans and join graphs of the strategies in `plans`, or work on one of
//! the `searches`. `stages` works on the stage and turns what it reaches into results.

mod attempt;
mod choice;
mod graphs;
mod orders;
mod pace;
mod plans;
#[cfg(test)]
mod progress_tests;
mod rows;
mod searches;
mod sizes;
mod stages;
#[cfg(test)]
mod tests;

use super::search::{Search, Steady};
use super::step::{BounderOptions, Notice, Step};
use super::strategies::Strategies;
use crate::activity::Activity;
use crate::device::DeviceError;
use crate::elimination::{Gpu, Limits, Slices};
use crate::error::Error;
use crate::model::{Cost, Network, Problem};
use crate::order::{Method, Order, OrderSearch};
use crate::reduce::ReducedProblem;
use crate::stop::Stop;
use crate::tuning::tuning;
pub use attempt::Attempt;
pub use choice::Stage;
pub use graphs::DeviceUse;
pub use pace::Pace;
use plans::Plans;
use searches::Spent;
use stages::{Running, Work};
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
    /// The devices. An elimination spreads its slices over all of them, other stages use the first one.
    gpus: Vec<Arc<Gpu>>,
    device_use: DeviceUse,
    notices: VecDeque<Notice>,
    /// Elimination orders given by the caller or found by a search; plans then follow them.
    orders: Vec<Order>,
    ordering: Option<OrderSearch>,
    /// The strategies of the present problem; `None` until its first stage is chosen.
    plans: Option<Box<Plans>>,
    /// Searches that are not at work, with the gain of their last stage. They continue after the problem has changed.
    searches: Vec<(Box<dyn Search>, Cost)>,
    /// The network, if it has global functions; `None` until the first stage is chosen.
    network: Option<Network>,
    /// Whether linear programming has begun, or cannot run.
    is_linear_tried: bool,
    /// Whether the reductions have solved a problem whose sums have coarse chains.
    is_relaxation_solved: bool,
    /// The reduced problems that searches began with.
    problems: Vec<ReducedProblem>,
    running: Option<Running>,
    /// The search with a guaranteed share of the time that is at work; `None` during other stages.
    steady: Option<Steady>,
    spent: Spent,
    pace: Pace,
    /// Parts of the gap that the current stage has closed.
    closed: f64,
    done: bool,
    work: u64,
    induced_width: Option<u32>,
    best_z: Option<u32>,
    /// Combinations of the largest finished elimination with dense tables.
    highest: u64,
    /// Highest bound that cost shifting has reported before its end.
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

    /// Uses these devices from now on for the stages that pay there; a running elimination restarts on them.
    pub fn use_devices(&mut self, gpus: Vec<Arc<Gpu>>, device_use: DeviceUse) {
        (self.gpus, self.device_use) = (gpus, device_use);
        if let Some(Running { work: Work::Run(attempt, run), .. }) = &mut self.running
            && attempt.is_for_device(run.plan(), device_use)
        {
            **run = attempt.run(&self.gpus, run.plan().clone());
        }
        self.pass_on_device();
        let exact_work = self.exact_work();
        self.plans.iter_mut().for_each(|plans| plans.sizes.exact_work = exact_work);
        // plans that were too large for the CPU may suit the device
        self.done = self.strategies().are_none();
    }

    /// Lets all searches use the first device.
    fn pass_on_device(&mut self) {
        let Some(gpu) = self.gpus.first() else { return };
        if let Some(Running { work: Work::Search(turn), .. }) = &mut self.running {
            turn.search.use_device(gpu);
        }
        self.searches.iter_mut().for_each(|(search, _)| search.use_device(gpu));
    }

    /// Starts planning afresh after a change of the reduced problem: stages that have not begun are dropped.
    pub fn rebase(&mut self) {
        (self.plans, self.orders, self.ordering) = (None, Vec::new(), None);
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
        self.charge(self.steady, units);
        match result {
            Some(result) => Step::Result(Box::new(result)),
            None if self.done => Step::Done,
            None => Step::More,
        }
    }

    /// Counts the time or work of a slice of a stage, given which search with a guaranteed share it belongs to.
    pub fn charge(&mut self, whose: Option<Steady>, units: u64) {
        self.spent.note(whose, units);
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
        !self.gpus.is_empty()
            && match self.running.as_ref().map(|running| &running.work) {
                Some(Work::Search(turn)) => turn.search.is_on_device(),
                Some(Work::Run(attempt, run)) => attempt.is_for_device(run.plan(), self.device_use),
                Some(Work::Shift(_)) | None => false,
            }
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

    fn strategies(&self) -> Strategies {
        self.options.choice.strategies().part(self.options.part)
    }

    /// Returns the work up to which elimination is exact without preceding mini-buckets.
    fn exact_work(&self) -> u64 {
        let of_method = self.strategies().exact_work[usize::from(!self.gpus.is_empty())];
        self.options.exact_work.unwrap_or(of_method)
    }

    /// Returns the limits of an exact plan. A certified plan has no slices, because the replay of a certificate knows
    /// none.
    pub(super) fn limits(&self) -> Limits {
        let BounderOptions { memory, spill, repeatable, certified, .. } = self.options;
        // free device memory differs from run to run
        let room = self.gpus.first().filter(|_| !repeatable).and_then(|gpu| gpu.budget().ok());
        let slices = (!certified).then_some(Slices { bytes: room.unwrap_or(memory), devices: self.gpus.len() as u32 });
        Limits { spill, slices, ..Limits::new(memory) }
    }

    /// Returns whether the problem is so large that only cost shifting runs: orders and plans would take longer than
    /// most runs.
    fn is_vast(&self, problem: &Problem) -> bool {
        self.options.choice.strategies().shift && problem.variables() + problem.functions.len() >= tuning().general.vast
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

    /// Removes the first device after an error; returns whether there was an error and a device to lose.
    fn lose_device(&mut self, trouble: Option<DeviceError>) -> bool {
        trouble.filter(|_| !self.gpus.is_empty()).map(|error| self.lose(0, error)).is_some()
    }

    /// Removes a failed device, given by its index among the remaining ones.
    fn lose(&mut self, place: usize, error: DeviceError) {
        if place < self.gpus.len() {
            let _ = self.gpus.remove(place);
        }
        if place == 0 {
            self.pass_on_device();
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
        self.plans.iter_mut().for_each(|plans| plans.after(error));
    }
}
