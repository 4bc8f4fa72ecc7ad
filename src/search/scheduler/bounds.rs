//! Lower bounds beside the search: shifting, the ladder of plans and searches over values, run in slices whose share of the work
//! is counted, not timed.

use super::driver::Core;
use crate::activity::Activity;
use crate::bounds::Proof;
use crate::bounds::{Attempt, Branch, Climb, DeviceGraphs, Ladder, Shifting, Spent, Stage, Style, what_fails};
use crate::device::DeviceError;
use crate::elimination::{Gpu, Outcome, Plan, Progress, Run, spill_folder, spill_room};
use crate::error::Error;
use crate::memory;
use crate::model::{Cost, Problem};
use crate::order::{Method, OrderSearch};
use crate::search::options::{BoundChoice, Options};
use crate::search::run::messages::Spilling;
use crate::stop::Stop;
use std::sync::Arc;
use std::time::Instant;

/// Joint entries of a slice: some tenths of a second of one core.
const SLICE: u64 = 200_000_000;
/// Entries of a slice of shifting: a tenth of a second of one core, and what each counts.
const SHIFT_SLICE: u64 = 50_000_000;
const SHIFT_WORK: u64 = 2;
/// Work of a slice of a search over values: a tenth of a second of one core.
const BRANCH_SLICE: u64 = 50_000_000;
/// Work up to which elimination is exact without mini-buckets before it.
const EXACT_WORK: u64 = 10_000_000_000;
/// The same on a device: less than a second of a large one.
const DEVICE_EXACT_WORK: u64 = 500_000_000_000;
/// Work that an exact elimination may take before the search has its turn: less than a second of two cores.
const EXACT_FIRST: u64 = 1_000_000_000;
/// The bounds' work for each unit of the search's.
const SHARE: f64 = 0.5;
/// The same once the search has found nothing better for half of its work.
const STALLED_SHARE: f64 = 2.0;
/// What becomes of the share after a rung that closed next to nothing of the gap.
const SLOW: f64 = 0.25;
/// The share of a stalled search's bounds while a search over values tells that it will end soon: what is left to do is the proof.
const ENDING_SHARE: f64 = 6.0;
/// Bytes of tables where a run must not depend on the machine's free memory.
const FIXED_MEMORY: u64 = 1 << 30;
/// Nanoseconds of bounds that take turns with the search in any case.
const FIRST_TURNS: u64 = 200_000_000;
/// Steps of a slice of the search for orders: less than a tenth of a second.
const ORDER_SLICE: u64 = 50_000_000;
/// Orders that mini-buckets of one z follow, one after the other.
const ORDERS: usize = 2;

/// The bound side of a run.
pub(crate) struct Bounds {
    choice: BoundChoice,
    activity: Activity,
    z: Option<u32>,
    memory: u64,
    /// Bytes that tables may take in files.
    spill: u64,
    /// Where exact plans run that pay there.
    gpu: Option<Arc<Gpu>>,
    /// Join graphs that run there, too.
    graphs: DeviceGraphs,
    trouble: Option<DeviceError>,
    /// What there is to say of tables in files, and whether they have failed.
    spilling: Option<Spilling>,
    /// The orders of the core, until there is a climb along them.
    ordering: Option<OrderSearch>,
    climb: Option<Climb>,
    running: Option<Rising>,
    /// Whether what is running is the light search.
    is_light: bool,
    spent: Spent,
    /// Whether what is spent is nanoseconds; work where a run must be repeated.
    timed: bool,
    /// Searches over values that go on when the core has changed, and the cores they are for.
    searches: Vec<Branch>,
    cores: Vec<Core>,
    done: bool,
    work: u64,
    induced_width: Option<u32>,
    best_z: Option<u32>,
    /// Work of the largest rung finished.
    highest: u64,
    pace: Pace,
    /// ThreadSplit of the gap that the turn on its way has closed.
    closed: f64,
}

/// How the bounds get on, as of the last rung or turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pace {
    /// It closed next to nothing of the gap.
    Slow,
    Steady,
    /// A search over values will end soon.
    Ending,
}

/// Work on its way, with the core it belongs to.
struct Rising {
    work: Work,
    core: Core,
}

enum Work {
    Shift(Box<Shifting>),
    Run(Attempt, Box<Run>),
    Branch(Turn),
}

/// A turn of a search over values.
struct Turn {
    branch: Box<Branch>,
    /// Work done at its end.
    end: u64,
    /// The bound at its beginning, and as it was told last.
    before: Cost,
    told: Cost,
}

/// A finished stage.
pub(crate) struct Step {
    /// The core it was made for.
    pub core: Core,
    /// The bound.
    pub lower: Cost,
    /// Its value assignment.
    pub assignment: Option<Vec<u32>>,
    /// `shift`, `jg(z)`, `mbe-mm(z)`, `be`, `mbe(z)`, `shift+mbe(z)`, `jg(z)+mbe(z)`, `shift+sparse-be`, `jg(z)+sparse-be`,
    /// `branch` or `branch+mbe`.
    pub source: String,
    /// The messages, to guide construction: those of the core as it is.
    pub outcome: Option<Arc<Outcome>>,
    /// What solutions with each value cost at least, where that is known.
    pub value_bounds: Option<Vec<Vec<Cost>>>,
    /// Why the bound is one, where the reductions kept a log and a certificate can tell.
    pub proof: Option<Proof>,
}

impl Bounds {
    /// What the options allow; a device takes exact plans that pay there.
    pub fn new(options: &Options, gpu: Option<Arc<Gpu>>) -> Self {
        let memory = options
            .bound_memory
            .unwrap_or_else(|| if options.rounds.is_some() { FIXED_MEMORY } else { memory::available() / 2 });
        Bounds {
            choice: options.bound,
            activity: options.activity.clone(),
            z: options.z,
            memory,
            gpu,
            spill: if options.rounds.is_some() { options.spill.unwrap_or(0) } else { spill_room(options.spill) },
            // a run that is to be the same anywhere does not depend on free memory
            graphs: if options.rounds.is_some() { DeviceGraphs::None } else { DeviceGraphs::Large },
            trouble: None,
            spilling: None,
            ordering: None,
            climb: None,
            running: None,
            is_light: false,
            spent: Spent::default(),
            timed: options.rounds.is_none(),
            searches: Vec::new(),
            cores: Vec::new(),
            done: options.bound == BoundChoice::None,
            work: 0,
            induced_width: None,
            best_z: None,
            highest: 0,
            pace: Pace::Steady,
            closed: 0.0,
        }
    }

    /// From now on a device takes exact plans that pay there, one at work too, which begins anew.
    pub fn board(&mut self, gpu: Arc<Gpu>) {
        match self.running.as_mut().map(|rising| &mut rising.work) {
            Some(Work::Run(attempt, run)) if is_for_devices(attempt, run.plan()) => {
                **run = Run::on(Some(&gpu), attempt.problem.clone(), run.plan().clone());
            }
            Some(Work::Branch(turn)) => turn.branch.board(&gpu),
            _ => {}
        }
        self.searches.iter_mut().for_each(|search| search.board(&gpu));
        self.climb = self.climb.take().map(|climb| climb.on(Some(&gpu), self.graphs).exact_work(self.exact_work(true)));
        // what was too much for the CPU may not be for it
        (self.gpu, self.done) = (Some(gpu), self.choice == BoundChoice::None);
    }

    /// Work up to which elimination is exact without mini-buckets before it.
    fn exact_work(&self, on_device: bool) -> u64 {
        match self.choice {
            BoundChoice::Be => u64::MAX,
            BoundChoice::Auto | BoundChoice::None if on_device => DEVICE_EXACT_WORK,
            BoundChoice::Auto | BoundChoice::None => EXACT_WORK,
            _ => 0,
        }
    }

    /// The z of the last finished rung.
    pub fn best_z(&self) -> Option<u32> {
        self.best_z
    }

    /// The induced width of the best order found.
    pub fn induced_width(&self) -> Option<u32> {
        self.induced_width
    }

    /// Whether there is nothing left to do for this core.
    pub fn is_done(&self) -> bool {
        self.done
    }

    /// What slices have taken: nanoseconds, or work where a run must be repeated.
    pub fn spent(&self) -> u64 {
        self.spent.total()
    }

    /// Whether slices have turns of their own where others would go on beside the search: the first ones, by which small networks are proved, and
    /// those that [lead](Self::lead).
    pub fn takes_turns(&self) -> bool {
        self.spent() < FIRST_TURNS || self.lead()
    }

    /// Whether they are to have most of the time, or of the threads: eliminations without mini-buckets, in which all threads take part, and searches near
    /// their end.
    pub fn lead(&self) -> bool {
        self.is_exact() || self.pace == Pace::Ending
    }

    /// Whether a device is at work on them.
    pub fn use_device(&self) -> bool {
        self.gpu.is_some()
            && match self.running.as_ref().map(|rising| &rising.work) {
                Some(Work::Branch(turn)) => turn.branch.style() == Style::Heavy,
                Some(Work::Run(attempt, run)) => is_for_devices(attempt, run.plan()),
                Some(Work::Shift(_)) | None => false,
            }
    }

    fn is_exact(&self) -> bool {
        let Some(Rising { work: Work::Run(_, run), .. }) = &self.running else { return false };
        run.plan().exact && run.plan().rows.is_none()
    }

    /// Whether the next slice belongs to the bounds, given what the search and they have spent, nanoseconds or work, and whether the search
    /// has stalled. An affordable exact elimination gets at least half, the first second at once.
    pub fn is_due(&self, [search, own]: [u64; 2], stalled: bool) -> bool {
        if self.done || search == 0 {
            return false;
        }
        let exact = self.is_exact();
        let even = if stalled { STALLED_SHARE } else { SHARE };
        let share = match self.pace {
            Pace::Slow => even * SLOW,
            Pace::Ending if stalled => ENDING_SHARE,
            Pace::Steady | Pace::Ending => even,
        };
        let first = if exact { EXACT_FIRST } else { 0 };
        own <= (search as f64 * if exact { share.max(1.0) } else { share }) as u64 + first
    }

    /// A step has closed `part` of the gap. A search takes several until its turn is over.
    pub fn note(&mut self, part: f64) {
        self.closed += part;
        if self.running.is_none() {
            let slow = std::mem::take(&mut self.closed) < 0.02;
            self.pace = match &self.climb {
                Some(climb) if climb.ends_soon() => Pace::Ending,
                _ if slow => Pace::Slow,
                _ => Pace::Steady,
            };
        }
    }

    /// One slice; `Some` when a rung is finished. `upper` is the best total known.
    pub fn slice(&mut self, core: &Core, upper: Cost, seed: u64, stop: &Stop) -> Option<Step> {
        let (began, before) = (Instant::now(), self.work);
        let step = self.advance(core, upper, seed, stop);
        let units = if self.timed { began.elapsed().as_nanos() as u64 } else { self.work - before };
        self.spent.note(self.is_light, units);
        step
    }

    fn advance(&mut self, core: &Core, upper: Cost, seed: u64, stop: &Stop) -> Option<Step> {
        if self.running.is_none() {
            if self.climb.is_none() && self.order(&core.problem, seed, stop) {
                return None;
            }
            self.begin(core, upper, stop);
        }
        let run = match &mut self.running.as_mut()?.work {
            Work::Shift(shift) => {
                shift.below(upper);
                let before = shift.work_done();
                let progress = shift.advance(SHIFT_SLICE, stop);
                self.work += (shift.work_done() - before).max(1) * SHIFT_WORK;
                return if progress == Progress::More { None } else { self.finish_shift(upper, stop) };
            }
            Work::Branch(turn) => {
                let before = turn.branch.work_done();
                turn.branch.tighten(upper);
                let progress = turn.branch.advance(BRANCH_SLICE, stop);
                self.work += (turn.branch.work_done() - before).max(1);
                let trouble = turn.branch.take_trouble();
                let _ = self.lose(trouble);
                return self.follow_turn(progress);
            }
            Work::Run(_, run) => run,
        };
        let before = run.work_done();
        let progress = run.advance(SLICE, stop);
        // a device that fails loses what it had done
        self.work += run.work_done().saturating_sub(before).max(1);
        let trouble = run.trouble().cloned();
        let failure = run.take_failure();
        if self.lose(trouble) && self.choice != BoundChoice::Be {
            // the plan may be too much for the CPU
            self.running = None;
            self.rebase();
            return None;
        }
        if let Some(error) = failure {
            return self.lose_plan(&error);
        }
        if progress == Progress::More { None } else { self.finish_run(upper, stop) }
    }

    /// From now on the CPU does what the device was meant to; whether that is new.
    fn lose(&mut self, trouble: Option<DeviceError>) -> bool {
        let new = trouble.is_some() && self.gpu.take().is_some();
        if new {
            self.trouble = trouble;
        }
        new
    }

    /// Whether there is something to tell besides steps.
    pub fn has_news(&self) -> bool {
        self.trouble.is_some() || self.spilling.is_some()
    }

    /// Why bounds went from the device to the CPU, told once.
    pub fn take_trouble(&mut self) -> Option<DeviceError> {
        self.trouble.take()
    }

    /// What there is to say of tables in files, told once.
    pub fn take_spilling(&mut self) -> Option<Spilling> {
        self.spilling.take()
    }

    /// Goes on without the plan at work, and without files or with half of the memory.
    fn lose_plan(&mut self, error: &Error) -> Option<Step> {
        (self.running, self.spilling) = (None, Some(Spilling::Failed(what_fails(error))));
        match error {
            Error::Memory(_) => self.memory /= 2,
            _ => self.spill = 0,
        }
        self.climb.iter_mut().for_each(|climb| climb.after(error));
        None
    }

    fn finish_shift(&mut self, upper: Cost, stop: &Stop) -> Option<Step> {
        let Some(Rising { work: Work::Shift(mut shift), core }) = self.running.take() else { return None };
        let lower = shift.lower_bound(upper.min(core.problem.top));
        let (value_bounds, source) = (Some(shift.value_bounds()), shift.name().into());
        let proof = shift.proof(&core.reducer);
        let trouble = shift.take_trouble();
        let _ = self.lose(trouble);
        if let Some(climb) = &mut self.climb {
            climb.shifted(*shift, stop);
        }
        Some(Step { core, lower, assignment: None, source, outcome: None, value_bounds, proof })
    }

    /// What a slice of a search came to, and its end once its turn is over.
    fn follow_turn(&mut self, progress: Progress) -> Option<Step> {
        let Some(Rising { work: Work::Branch(turn), core }) = &mut self.running else { return None };
        let (lower, assignment) = (turn.branch.lower_bound(), turn.branch.take_solution());
        let news = lower > std::mem::replace(&mut turn.told, lower) || assignment.is_some();
        let over = progress == Progress::Done || turn.branch.work_done() >= turn.end;
        let source = turn.branch.style().name().into();
        let core = core.clone();
        let proof = turn.branch.proof(&core.reducer);
        let step = Step { core, lower, assignment, source, outcome: None, value_bounds: None, proof };
        if over && let Some(Rising { work: Work::Branch(turn), .. }) = self.running.take() {
            match &mut self.climb {
                Some(climb) => climb.searched(turn.branch, turn.before),
                None => self.searches.push(*turn.branch),
            }
        }
        (news || over).then_some(step)
    }

    fn finish_run(&mut self, upper: Cost, stop: &Stop) -> Option<Step> {
        let Some(Rising { work: Work::Run(attempt, run), core }) = self.running.take() else { return None };
        let outcome = Arc::new(run.finish()?);
        let lower = attempt.lower_bound(&outcome);
        if let Some(climb) = &mut self.climb {
            climb.note(&attempt, lower);
        }
        // what dense tables would have taken says nothing
        if outcome.plan().rows.is_none() {
            self.best_z = Some(outcome.plan().z);
            self.highest = self.highest.max(outcome.plan().joint_entries);
        }
        let assignment = outcome.assign_until(stop);
        let value_bounds = self.climb.as_mut().and_then(|climb| climb.value_bounds(&attempt, &outcome, upper, stop));
        self.work += value_bounds.as_ref().map_or(0, |_| outcome.value_bounds_work());
        let proof = attempt.proof(&core.reducer, &outcome);
        let outcome = attempt.is_plain().then_some(outcome);
        Some(Step { core, lower, assignment, source: attempt.name, outcome, value_bounds, proof })
    }

    /// The core has changed: what has not begun is planned anew.
    pub fn rebase(&mut self) {
        if let Some(climb) = self.climb.take() {
            self.searches.extend(climb.into_searches());
        }
        self.ordering = None;
        self.done = self.choice == BoundChoice::None;
    }

    /// Searches for orders; whether there is more to do.
    fn order(&mut self, problem: &Problem, seed: u64, stop: &Stop) -> bool {
        let ordering = self.ordering.get_or_insert_with(|| {
            let size = problem.variables() + problem.functions.len();
            let restarts = (50_000 / size.max(1)).min(32) as u32;
            let greedy = [Method::MinFill, Method::WeightedMinFill, Method::MinDegree];
            OrderSearch::promising(problem, &greedy, seed, restarts, ORDERS, stop)
        });
        self.activity.bounds("ordering");
        let before = ordering.steps();
        let more = ordering.advance(ORDER_SLICE, stop);
        self.work += (ordering.steps() - before).max(1);
        more
    }

    fn begin(&mut self, core: &Core, upper: Cost, stop: &Stop) {
        let problem = &core.problem;
        let exact = self.exact_work(self.gpu.is_some());
        let (searches, ordering) = (&mut self.searches, &mut self.ordering);
        let climb = self.climb.get_or_insert_with(|| {
            let orders = ordering.take().map(OrderSearch::into_orders).unwrap_or_default();
            self.induced_width = orders.first().map(|order| order.width);
            let ladder =
                Ladder::new(orders, self.memory, self.z).spill(self.spill).exact_work(exact).above(self.highest / 2);
            let certified = core.reducer.steps().is_some();
            let climb = Climb::new(problem, ladder, self.choice.means()).keep_journal(certified);
            let mut climb = climb.on(self.gpu.as_ref(), self.graphs);
            climb.resume(std::mem::take(searches));
            climb
        });
        let stage = climb.next(Some(upper), self.spent, stop);
        (self.is_light, self.done) = (stage.as_ref().is_some_and(Stage::is_light), stage.is_none());
        self.activity.bounds(stage.as_ref().map_or("", Stage::doing));
        let work = match stage {
            Some(Stage::Shift(shift)) => Work::Shift(shift),
            Some(Stage::Run(attempt, plan)) => {
                if let spilled @ 1.. = plan.spilled_bytes() {
                    let (name, all, folder) = (&attempt.name, plan.table_bytes, spill_folder());
                    let text =
                        format!("{name}: tables of {all} bytes, {spilled} of them in files in {}", folder.display());
                    self.spilling = Some(Spilling::Begun(text));
                }
                let gpu = self.gpu.as_ref().filter(|_| is_for_devices(&attempt, &plan));
                let run = Box::new(Run::on(gpu, attempt.problem.clone(), plan));
                Work::Run(*attempt, run)
            }
            Some(Stage::Branch(branch, work)) => {
                let known = self.cores.iter().find(|core| Arc::ptr_eq(&core.problem, branch.problem()));
                let core = known.unwrap_or(core).clone();
                if known.is_none() {
                    self.cores.push(core.clone());
                }
                let (end, bound) = (branch.work_done().saturating_add(work), branch.lower_bound());
                let turn = Turn { branch, end, before: bound, told: bound };
                self.running = Some(Rising { work: Work::Branch(turn), core });
                return;
            }
            None => return,
        };
        self.running = Some(Rising { work, core: core.clone() });
    }
}

/// Whether a device that searches should run a plan: many small launches would each wait for the search's, so that mini-buckets and rows
/// stay on the CPU.
fn is_for_devices(attempt: &Attempt, plan: &Plan) -> bool {
    plan.exact && plan.rows.is_none() && Gpu::pays(attempt.work as f64)
}
