//! Lower bounds beside the search: the ladder of plans, run in slices whose share of the work is counted, not timed.

use super::options::{BoundChoice, Options};
use crate::inference::{Ladder, Outcome, Progress, Run, Rung};
use crate::memory;
use crate::model::{Cost, Problem};
use crate::order::{Method, best_orders};
use crate::stop::Stop;
use std::sync::Arc;

/// Joint entries of a slice: some tenths of a second of one core.
const SLICE: u64 = 200_000_000;
/// Work up to which elimination is exact at once and goes before the search: some seconds of one core.
const EXACT_WORK: u64 = 3_000_000_000;
/// Bytes of tables where a run must not depend on the machine's free memory.
const FIXED_MEMORY: u64 = 1 << 30;
/// Orders that mini-buckets of one z follow, one after the other.
const ORDERS: usize = 2;

/// The bound side of a run.
pub(crate) struct Bounds {
    choice: BoundChoice,
    z: Option<u32>,
    memory: u64,
    ladder: Option<Ladder>,
    running: Option<(String, Run)>,
    done: bool,
    work: u64,
    induced_width: Option<u32>,
    best_z: Option<u32>,
}

/// A finished rung.
pub(crate) struct Step {
    /// The bound, of the core it was made for.
    pub lower: Cost,
    /// Its value assignment, of the same core.
    pub assignment: Option<Vec<u32>>,
    /// `be` or `mbe(z)`.
    pub source: String,
    /// The messages, to guide construction.
    pub outcome: Arc<Outcome>,
}

impl Bounds {
    /// What the options allow.
    pub fn new(options: &Options) -> Self {
        let memory = options
            .bound_memory
            .unwrap_or_else(|| if options.rounds.is_some() { FIXED_MEMORY } else { memory::available() / 2 });
        Bounds {
            choice: options.bound,
            z: options.z,
            memory,
            ladder: None,
            running: None,
            done: options.bound == BoundChoice::None,
            work: 0,
            induced_width: None,
            best_z: None,
        }
    }

    /// The z of the last finished rung.
    pub fn z(&self) -> Option<u32> {
        self.best_z
    }

    /// The induced width of the best order found.
    pub fn induced_width(&self) -> Option<u32> {
        self.induced_width
    }

    /// Whether a rung is on its way that soon ends.
    pub fn is_busy(&self) -> bool {
        self.running.as_ref().is_some_and(|(_, run)| run.plan().joint_entries <= 2 * EXACT_WORK)
    }

    /// Whether the next slice of work belongs to the bounds: an affordable exact elimination goes first, otherwise a
    /// third of the work is theirs.
    pub fn is_due(&self, search_work: u64) -> bool {
        if self.done {
            return false;
        }
        let exact = self.running.as_ref().is_some_and(|(_, run)| run.plan().exact && self.is_busy());
        search_work > 0 && (exact || self.work <= search_work / 2)
    }

    /// One slice; `Some` when a rung is finished. `upper` is the best total known.
    pub fn slice(&mut self, problem: &Arc<Problem>, upper: Cost, seed: u64, stop: &Stop) -> Option<Step> {
        if self.running.is_none() {
            self.begin(problem, upper, seed, stop);
        }
        let (_, run) = self.running.as_mut()?;
        let before = run.work_done();
        let progress = run.advance(SLICE, stop);
        self.work += (run.work_done() - before).max(1);
        if progress == Progress::More {
            return None;
        }
        let (source, run) = self.running.take()?;
        let outcome = Arc::new(run.finish()?);
        self.best_z = Some(outcome.plan().z);
        Some(Step { lower: outcome.lower_bound(), assignment: outcome.assign(), source, outcome })
    }

    /// The core has changed: orders and plans belong to the old one.
    pub fn rebase(&mut self) {
        self.ladder = None;
        self.running = None;
        self.done = self.choice == BoundChoice::None;
    }

    fn begin(&mut self, problem: &Arc<Problem>, upper: Cost, seed: u64, stop: &Stop) {
        let ladder = self.ladder.get_or_insert_with(|| {
            let size = problem.variables() + problem.functions.len();
            let restarts = (200_000 / size.max(1)).clamp(1, 64) as u32;
            let methods = [Method::MinFill, Method::WeightedMinFill, Method::MinDegree];
            let orders = best_orders(problem, &methods, seed, restarts, ORDERS, stop);
            self.induced_width = orders.first().map(|order| order.width);
            // ordering is not counted by itself; it costs about as much as a pass over the tables for each restart
            self.work += size as u64 * 1000;
            Ladder::new(orders, self.memory, self.z).exact_work(match self.choice {
                BoundChoice::Be => u64::MAX,
                BoundChoice::Mbe => 0,
                BoundChoice::Auto | BoundChoice::None => EXACT_WORK,
            })
        });
        match ladder.next(problem, Some(upper)) {
            Some(Rung { name, plan, .. }) => self.running = Some((name, Run::new(problem.clone(), plan))),
            None => self.done = true,
        }
    }
}
