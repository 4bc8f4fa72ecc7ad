//! Lower bounds beside the search: the ladder of plans, run in slices whose share of the work is counted, not timed.

use super::options::{BoundChoice, Options};
use crate::device::DeviceError;
use crate::inference::{Gpu, Ladder, Outcome, Progress, Run, Rung};
use crate::memory;
use crate::model::{Cost, Problem};
use crate::order::{Method, best_orders};
use crate::reduce::Reducer;
use crate::stop::Stop;
use std::sync::Arc;

/// Joint entries of a slice: some tenths of a second of one core.
const SLICE: u64 = 200_000_000;
/// Work up to which elimination is exact without mini-buckets before it.
const EXACT_WORK: u64 = 10_000_000_000;
/// The same on a device: about a second of a large one.
const DEVICE_EXACT_WORK: u64 = 500_000_000_000;
/// Work that an exact elimination may take before the search has its turn: less than a second of two cores.
const EXACT_FIRST: u64 = 1_000_000_000;
/// Combinations for each thread of the CPU from which on a plan goes to a device that searches: below, the CPU, which is
/// idle then, has it in a fraction of a second.
const DEVICE_WORK: f64 = 1e8;
/// Combinations that a device makes in the time of a unit of the search's work: about half of what an H200 did.
const DEVICE_SPEED: u64 = 1000;
/// The bounds' work for each unit of the search's.
const SHARE: f64 = 0.5;
/// The same once the search has found nothing better for half of its work.
const STALLED_SHARE: f64 = 2.0;
/// What becomes of the share after a rung that closed next to nothing of the gap.
const SLOW: f64 = 0.25;
/// Bytes of tables where a run must not depend on the machine's free memory.
const FIXED_MEMORY: u64 = 1 << 30;
/// Orders that mini-buckets of one z follow, one after the other.
const ORDERS: usize = 2;

/// The bound side of a run.
pub(crate) struct Bounds {
    choice: BoundChoice,
    z: Option<u32>,
    memory: u64,
    /// Where large plans run; none is the CPU.
    gpu: Option<Arc<Gpu>>,
    /// Why they have not run there since.
    trouble: Option<DeviceError>,
    ladder: Option<Ladder>,
    running: Option<Rising>,
    done: bool,
    work: u64,
    /// The work of turns on a device, as the search counts its own: what the CPU did beside it took no time from the search.
    turns: u64,
    induced_width: Option<u32>,
    best_z: Option<u32>,
    /// Work of the largest rung finished.
    highest: u64,
    /// The last rung closed next to nothing of the gap.
    slow: bool,
}

/// A rung on its way, with the core it belongs to.
struct Rising {
    source: String,
    run: Run,
    core: Core,
    state: State,
}

/// How far a rung is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// A device may not have its kernels yet.
    Begun,
    Running,
    Done,
}

/// A core and how it came from the network. A tighter core does not end a rung of the last one: its bound stays valid,
/// and its assignment goes back the way its own core came.
#[derive(Clone)]
pub(crate) struct Core {
    /// The reductions that led to it.
    pub reducer: Arc<Reducer>,
    /// The core.
    pub problem: Arc<Problem>,
}

/// A finished rung.
pub(crate) struct Step {
    /// The core it was made for.
    pub core: Core,
    /// The bound.
    pub lower: Cost,
    /// Its value assignment.
    pub assignment: Option<Vec<u32>>,
    /// `be` or `mbe(z)`.
    pub source: String,
    /// The messages, to guide construction.
    pub outcome: Arc<Outcome>,
}

impl Bounds {
    /// What the options allow, on a device if there is one.
    pub fn new(options: &Options, gpu: Option<Arc<Gpu>>) -> Self {
        let memory = options
            .bound_memory
            .unwrap_or_else(|| if options.rounds.is_some() { FIXED_MEMORY } else { memory::available() / 2 });
        Bounds {
            choice: options.bound,
            z: options.z,
            memory,
            gpu,
            trouble: None,
            ladder: None,
            running: None,
            done: options.bound == BoundChoice::None,
            work: 0,
            turns: 0,
            induced_width: None,
            best_z: None,
            highest: 0,
            slow: false,
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

    /// Why bounds went from the device to the CPU, told once.
    pub fn take_trouble(&mut self) -> Option<DeviceError> {
        self.trouble.take()
    }

    /// Whether the next slice of work belongs to the bounds, given the search's work and whether it has stalled. An
    /// affordable exact elimination gets at least half of the work, the first second's worth of it at once.
    pub fn is_due(&self, search_work: u64, stalled: bool) -> bool {
        if self.done || search_work == 0 {
            return false;
        }
        let exact = self.running.as_ref().is_some_and(|rising| rising.run.plan().exact);
        let share = if stalled { STALLED_SHARE } else { SHARE } * if self.slow { SLOW } else { 1.0 };
        let first = if exact { EXACT_FIRST } else { 0 };
        let work = if self.takes_turns() { self.turns } else { self.work };
        work <= (search_work as f64 * if exact { share.max(1.0) } else { share }) as u64 + first
    }

    /// Whether the work at hand takes turns with the search on the device. Streamed tables do not: they wait for copies.
    pub fn takes_turns(&self) -> bool {
        let of_device = |rising: &Rising| rising.run.on_device() && !rising.run.streamed();
        self.running.as_ref().is_some_and(|rising| of_device(rising) && rising.state == State::Running)
    }

    /// A rung has closed `part` of the gap.
    pub fn note(&mut self, part: f64) {
        self.slow = part < 0.02;
    }

    /// One slice; `Some` when a rung is finished. `upper` is the best total known. A rung on a device begins and ends in
    /// slices of their own: what is to do then is the host's, and the search need not wait for it.
    pub fn slice(&mut self, core: &Core, upper: Cost, seed: u64, stop: &Stop) -> Option<Step> {
        if self.running.is_none() {
            self.begin(core, upper, seed, stop);
        }
        let rising = self.running.as_mut()?;
        let run = &mut rising.run;
        let on_device = run.on_device();
        let (before, was) = (run.work_done(), rising.state);
        rising.state = match was {
            State::Begun if on_device && !run.ready() => State::Begun,
            State::Begun if on_device => State::Running,
            State::Done => State::Done,
            State::Begun | State::Running => match run.advance(SLICE, stop) {
                Progress::More => State::Running,
                Progress::Done => State::Done,
            },
        };
        // a device that fails loses what it had done
        let work = run.work_done().saturating_sub(before);
        self.work += work.max(1);
        if on_device {
            self.turns += work / DEVICE_SPEED;
        }
        if let Some(error) = run.trouble()
            && self.gpu.take().is_some()
        {
            self.trouble = Some(error.clone());
        }
        if rising.state != State::Done || (on_device && was != State::Done) {
            return None;
        }
        let Rising { source, run, core, .. } = self.running.take()?;
        let outcome = Arc::new(run.finish()?);
        self.best_z = Some(outcome.plan().z);
        self.highest = self.highest.max(outcome.plan().joint_entries);
        Some(Step { core, lower: outcome.lower_bound(), assignment: outcome.assign(), source, outcome })
    }

    /// The core has changed: what has not begun is planned anew.
    pub fn rebase(&mut self) {
        self.ladder = None;
        self.done = self.choice == BoundChoice::None;
    }

    fn begin(&mut self, core: &Core, upper: Cost, seed: u64, stop: &Stop) {
        let problem = &core.problem;
        let ladder = self.ladder.get_or_insert_with(|| {
            let size = problem.variables() + problem.functions.len();
            let restarts = (50_000 / size.max(1)).min(32) as u32;
            let methods = [Method::MinFill, Method::WeightedMinFill, Method::MinDegree];
            let orders = best_orders(problem, &methods, seed, restarts, ORDERS, stop);
            self.induced_width = orders.first().map(|order| order.width);
            // ordering is not counted by itself; it costs about as much as a pass over the tables for each restart
            self.work += size as u64 * 1000;
            let exact = match self.choice {
                BoundChoice::Be => u64::MAX,
                BoundChoice::Mbe => 0,
                BoundChoice::Auto | BoundChoice::None if self.gpu.is_some() => DEVICE_EXACT_WORK,
                BoundChoice::Auto | BoundChoice::None => EXACT_WORK,
            };
            Ladder::new(orders, self.memory, self.z).exact_work(exact).above(self.highest / 2)
        });
        match ladder.next(problem, Some(upper)) {
            Some(Rung { name, work, plan, .. }) => {
                let large = work as f64 >= DEVICE_WORK * rayon::current_num_threads() as f64;
                let run = Run::on(self.gpu.as_ref().filter(|_| large), problem.clone(), plan);
                self.running = Some(Rising { source: name, run, core: core.clone(), state: State::Begun });
            }
            None => self.done = true,
        }
    }
}
