//! Which stage comes next: elimination where it is exact at once, else cost shifting, then mini-buckets of growing z on
//! the original and on the shifted network, with turns of branch and bound between them. Shifting doubles the bound on
//! satellite schedules and lowers it on frequency assignment (results/notes/shifting.md), which only branch and bound
//! proves (results/notes/branch.md). So all strategies go on; those far from the lead get less work.

mod attempt;
mod branching;
mod rows;
pub(crate) mod sizes;
#[cfg(test)]
mod tests;

use super::branch::{Branch, Style};
use super::choice::Strategies;
use super::cost_shifting::Shift;
use super::join_graph::passes::Passes;
use super::join_graph::sequence::{DeviceUse, GraphStrategy, Graphs};
use super::shifting::{Between, Shifting};
use super::trivial_bound;
use crate::bounds::tuning::schedule::{BEHIND, BEYOND, FIRST_TURN, FREE, LONG_EXACT, ROW, SEARCH_MEMORY};
use crate::elimination::cuda::Gpu;
use crate::elimination::plan::Plan;
use crate::elimination::run::Outcome;
use crate::error::Error;
use crate::model::{Cost, Problem};
use crate::stop::Stop;
pub use attempt::Attempt;
pub use branching::Spent;
use rows::SparseStrategy;
pub use sizes::{SizeSchedule, SizeStep};
use std::sync::Arc;

/// The strategies for a better bound on one network, and whose turn it is.
#[derive(Debug)]
pub struct BoundSchedule {
    problem: Arc<Problem>,
    sizes: SizeSchedule,
    strategies: Strategies,
    /// Whether shifting keeps a journal.
    journal: bool,
    begun: bool,
    /// Whether an exact plan with tables in files may still come, once all strategies have ended.
    spill: bool,
    plain: Option<Strategy>,
    shifted: Option<Strategy>,
    graphs: Option<GraphStrategy>,
    /// The name, for plans, of what the last graph left, until they go on with that.
    left: Option<String>,
    rows: Option<SparseStrategy>,
    /// Searches not begun; those that wait for their turn, with what their last one gained.
    styles: Vec<Style>,
    searches: Vec<(Branch, Cost)>,
    /// The plan or join graph that comes next once searches have had their turns.
    pending: Option<Stage>,
    /// Combinations of all plans so far, the next one included.
    work: u64,
    gpu: Option<Arc<Gpu>>,
    device_use: DeviceUse,
    best: Cost,
    /// Shifting between functions has gained something. Where it has not, as on frequency assignment, mini-buckets of
    /// what join graphs leave are weaker than those of the functions: 979 against 1208 on scen06 at z = 5.
    gains: bool,
    /// Bytes of memory that join graphs have.
    graph_bytes: u64,
    /// Work of the steps, and of bounds of values.
    forward: u64,
    backward: u64,
    /// Distance of the dearest value from the bound of its plan.
    reach: Option<Cost>,
}

/// A network and the plans for it.
#[derive(Debug)]
struct Strategy {
    problem: Arc<Problem>,
    shift: Option<Arc<Shift>>,
    /// What was done over join graphs until there was the problem.
    graphs: Vec<Arc<Passes>>,
    /// Goes before the names of plans.
    prefix: String,
    sizes: SizeSchedule,
    /// The best bound, and what the last steps gained; nothing is known before the first.
    reached: Option<(Cost, Cost)>,
}

impl Strategy {
    /// The work of the last step, as it counts.
    fn weight(&self, best: Cost) -> u64 {
        weight(self.sizes.work(), self.reached, best)
    }

    /// Whether another step like the last would not lead.
    fn is_behind(&self, best: Cost) -> bool {
        is_behind(self.reached, best)
    }
}

/// The work of what was last done in a strategy, as it counts.
fn weight(work: u64, reached: Option<(Cost, Cost)>, best: Cost) -> u64 {
    work.saturating_mul(if is_behind(reached, best) { BEHIND } else { 1 })
}

/// Whether as much again as a strategy, or a search, gained last would not bring it into the lead.
fn is_behind(reached: Option<(Cost, Cost)>, best: Cost) -> bool {
    reached.is_some_and(|(bound, gain)| bound.saturating_add(gain) < best)
}

/// What to do next.
#[derive(Debug)]
pub enum Stage {
    /// To shift costs ([`Shifting::advance`]), then [`BoundSchedule::shifted`].
    Shift(Box<Shifting>),
    /// To run a plan on the attempt's network, then [`BoundSchedule::note`].
    Run(Box<Attempt>, Plan),
    /// To search for so much work ([`Branch::advance`]), then [`BoundSchedule::searched`].
    Branch(Box<Branch>, u64),
}

impl BoundSchedule {
    /// Strategies for `problem`, plans by copies of `sizes`. Shifting and the shifted network may each take a quarter
    /// of its memory, which the plans then have less.
    pub fn new(problem: &Arc<Problem>, sizes: SizeSchedule, strategies: Strategies) -> BoundSchedule {
        let strategy = || Strategy {
            problem: problem.clone(),
            shift: None,
            graphs: Vec::new(),
            prefix: String::new(),
            sizes: sizes.clone(),
            reached: None,
        };
        let plain = strategies.plain.then(strategy);
        // taken from the end
        let styles = strategies.branch.iter().rev().copied().collect();
        let (problem, best) = (problem.clone(), Cost::MIN);
        BoundSchedule {
            problem,
            sizes,
            strategies,
            journal: false,
            begun: false,
            spill: strategies.plain,
            plain,
            shifted: None,
            graphs: None,
            left: None,
            rows: None,
            styles,
            searches: Vec::new(),
            pending: None,
            work: 0,
            gpu: None,
            device_use: DeviceUse::Shared,
            gains: false,
            graph_bytes: 0,
            best,
            forward: 0,
            backward: 0,
            reach: None,
        }
    }

    /// Searches may use a device, also those that have begun, and so may some join graphs.
    pub fn on(mut self, gpu: Option<&Arc<Gpu>>, device_use: DeviceUse) -> BoundSchedule {
        (self.gpu, self.device_use) = (gpu.cloned(), device_use);
        if let Some(gpu) = gpu {
            self.searches.iter_mut().for_each(|(search, _)| search.board(gpu));
        }
        self
    }

    /// Elimination is exact up to so much work without mini-buckets before it.
    pub fn exact_work(mut self, work: u64) -> BoundSchedule {
        self.sizes = self.sizes.exact_work(work);
        self
    }

    /// Shifting keeps a journal and searches what they branch on, for a certificate.
    pub fn keep_journal(mut self, keep: bool) -> BoundSchedule {
        self.journal = keep;
        self
    }

    /// Goes on with searches that another schedule began, perhaps on a network whose solutions include all better ones
    /// of this.
    pub fn resume(&mut self, searches: Vec<Branch>) {
        for search in searches {
            self.styles.retain(|&style| style != search.style());
            self.reserve(self.sizes.memory() / SEARCH_MEMORY);
            self.searches.push((search, 0));
        }
    }

    /// The searches that are not at work.
    pub fn into_searches(self) -> Vec<Branch> {
        self.searches.into_iter().map(|(search, _)| search).collect()
    }

    /// Goes on after a plan that failed: without files for tables or, where there was no memory for one, with half of
    /// it.
    pub fn after(&mut self, failure: &Error) {
        if matches!(failure, Error::Memory(_)) {
            self.reserve(self.sizes.memory() / 2);
        }
        self.without_spill();
    }

    fn without_spill(&mut self) {
        self.spill = false;
        self.sizes.without_spill();
        for strategy in [&mut self.plain, &mut self.shifted].into_iter().flatten() {
            strategy.sizes.without_spill();
        }
    }

    /// Leaves bytes to others than the plans.
    fn reserve(&mut self, bytes: u64) {
        self.sizes.reserve(bytes);
        for strategy in [&mut self.plain, &mut self.shifted].into_iter().flatten() {
            strategy.sizes.reserve(bytes);
        }
    }

    /// The next stage; `None` once there is none or `stop` is set. `ub` is the cost of the best solution known.
    pub fn next(&mut self, ub: Option<Cost>, spent: Spent, stop: &Stop) -> Option<Stage> {
        if stop.is_set() {
            return None;
        }
        if !std::mem::replace(&mut self.begun, true) && self.shifts(stop) {
            let order: Vec<u32> = (0..self.problem.variables() as u32).collect();
            if let Some(mut shift) = Shift::new(&self.problem, ub, &order, stop) {
                if self.journal {
                    shift.keep_journal();
                }
                // beside a search each of many small launches would wait for the search's
                // (results/notes/bounds-cuda.md)
                let gpu = self.gpu.as_ref().filter(|_| self.device_use == DeviceUse::Exclusive);
                let shift = shift.on(gpu, self.strategies == Strategies::SHIFT);
                let shifting = Shifting { name: "shift".into(), between: Between::Functions(shift) };
                if self.strategies.shift {
                    return Some(Stage::Shift(Box::new(shifting)));
                }
                self.shifted(shifting, stop);
            }
        }
        if let Some(stage) = self.owed(ub, spent) {
            return Some(stage);
        }
        if self.pending.is_none() {
            self.pending = self.next_plan(ub, stop);
        }
        // what takes little comes first: an exact plan, and join graphs that grow on a device, which raise the bound
        // more than anything else in the time
        let (first, long) = match &self.pending {
            Some(Stage::Run(_, plan)) => {
                let first = self.sizes.affords(plan);
                (first, first && self.gpu.is_none() && plan.work() > LONG_EXACT)
            }
            Some(Stage::Shift(shifting)) => {
                let grows =
                    shifting.is_brief() || self.graphs.as_ref().is_some_and(|graphs| graphs.is_brief(self.best));
                (grows, grows)
            }
            _ => (false, false),
        };
        if long && let Some(stage) = self.light_search(ub, stop) {
            return Some(stage);
        }
        let searched = self.searches.iter().map(|(search, _)| search.work_done());
        let so_far = searched.fold(self.work, u64::saturating_add).max(FIRST_TURN);
        if !first && let Some(stage) = self.by_rows(ub, so_far / ROW, stop) {
            return Some(stage);
        }
        if !first && let Some(stage) = self.search(ub, stop) {
            return Some(stage);
        }
        // whatever it takes once nothing else is left
        self.pending.take().or_else(|| self.by_rows(ub, u64::MAX, stop)).filter(|_| !stop.is_set())
    }

    /// The next plan or join graph of the strategy that is next.
    fn next_plan(&mut self, ub: Option<Cost>, stop: &Stop) -> Option<Stage> {
        while !stop.is_set() {
            let weight_of = |strategy: &Option<Strategy>| strategy.as_ref().map(|strategy| strategy.weight(self.best));
            let graphs = self.graphs.as_ref().map(|strategy| weight(strategy.work, strategy.reached, self.best));
            let others = [weight_of(&self.shifted), weight_of(&self.plain)];
            let brief = self.graphs.as_ref().is_some_and(|graphs| graphs.is_brief(self.best));
            if brief || graphs.is_some_and(|graphs| others.iter().flatten().all(|&other| graphs <= other)) {
                match self.next_graph(ub, stop) {
                    Some(shifting) => return Some(Stage::Shift(Box::new(shifting))),
                    None => {
                        let _ = self.follow_graphs();
                        self.graphs = None;
                    }
                }
                continue;
            }
            let plain = match others {
                [None, None] => return self.spilled(ub, stop),
                [Some(shifted), Some(plain)] => plain < shifted,
                [shifted, _] => shifted.is_none(),
            };
            if !plain && self.gains {
                let _ = self.follow_graphs();
            }
            let strategy_slot = if plain { &mut self.plain } else { &mut self.shifted };
            let strategy = strategy_slot.as_mut()?;
            let limit = match (&strategy.shift, ub) {
                (Some(shift), Some(ub)) => Some(shift.scaled(ub)),
                (_, ub) => ub,
            };
            match strategy.sizes.next(&strategy.problem, limit, stop).ok()? {
                Some(SizeStep { name, work, plan, .. }) => {
                    self.work = self.work.saturating_add(work);
                    let name = strategy.prefix.clone() + &name;
                    let (problem, shift, graphs) =
                        (strategy.problem.clone(), strategy.shift.clone(), strategy.graphs.clone());
                    let attempt = Attempt { name, work, problem, shift, graphs, by_rows: false };
                    return Some(Stage::Run(Box::new(attempt), plan));
                }
                None => *strategy_slot = None,
            }
        }
        None
    }

    /// Plans of the shifted network go on with what the last graph left; whether the memory takes that.
    fn follow_graphs(&mut self) -> bool {
        let (Some(prefix), Some(graphs)) = (self.left.take(), &self.graphs) else { return true };
        let Some(problem) = graphs.problem(self.sizes.memory() / 4).map(Arc::new) else { return false };
        if let Some(strategy) = &mut self.rows {
            (strategy.problem, strategy.graphs, strategy.prefix) = (problem.clone(), graphs.passes(), prefix.clone());
        }
        if let Some(strategy) = self.shifted.as_mut().filter(|_| self.gains) {
            (strategy.problem, strategy.graphs, strategy.prefix) = (problem, graphs.passes(), prefix);
        }
        true
    }

    /// An exact plan with tables in files: it may take long, so all else comes first.
    fn spilled(&mut self, ub: Option<Cost>, stop: &Stop) -> Option<Stage> {
        let last = std::mem::take(&mut self.spill).then(|| self.sizes.last(&self.problem, ub, stop));
        let SizeStep { name, work, plan, .. } = last??;
        self.work = self.work.saturating_add(work);
        let attempt =
            Attempt { name, work, problem: self.problem.clone(), shift: None, graphs: Vec::new(), by_rows: false };
        Some(Stage::Run(Box::new(attempt), plan))
    }

    /// The next join graph. It may take half of the memory, which the plans then have less.
    fn next_graph(&mut self, ub: Option<Cost>, stop: &Stop) -> Option<Shifting> {
        if self.graphs.as_ref().is_some_and(GraphStrategy::begins_again) {
            let _ = self.follow_graphs();
        }
        let held = self.graph_bytes;
        let (shifting, bytes) = self.graphs.as_mut()?.next(ub, (self.sizes.memory() + held) / 2, stop)?;
        self.reserve(bytes.saturating_sub(held));
        self.graph_bytes = bytes.max(held);
        Some(shifting)
    }

    /// Whether shifting comes first: not where elimination is exact at once, nor where its tables take too much.
    fn shifts(&self, stop: &Stop) -> bool {
        let exact = self.strategies.plain && self.sizes.affordable();
        let wanted = self.strategies.shift || self.strategies.graphs != Graphs::None || self.strategies.rows;
        wanted && !exact && Shift::bytes(&self.problem, stop).is_ok_and(|(own, _)| own <= self.sizes.memory() / 4)
    }

    /// Costs are shifted: what comes next works on what they left. Nothing does once `stop` is set.
    pub fn shifted(&mut self, shifting: Shifting, stop: &Stop) {
        let bound = shifting.lower_bound(self.problem.top);
        let (prefix, work) = (format!("{}+", shifting.name), shifting.work_done());
        match shifting.between {
            Between::Functions(shift) => {
                if shift.has_lost_device() {
                    self.gpu = None;
                }
                let Ok((own, shifted)) = Shift::bytes(&self.problem, stop) else { return };
                let goes_on = self.strategies.shifted || self.strategies.graphs != Graphs::None || self.strategies.rows;
                if !goes_on || shifted > self.sizes.memory() / 4 {
                    return;
                }
                self.reserve(own + shifted);
                self.gains = bound > trivial_bound(&self.problem);
                let Ok(problem) = shift.problem(stop) else { return };
                let (problem, shift) = (Arc::new(problem), Arc::new(shift));
                if self.strategies.rows {
                    let (begin, constant) = (shift.scaled(trivial_bound(&self.problem)), problem.constant);
                    let (problem, shift, prefix) = (problem.clone(), shift.clone(), prefix.clone());
                    self.rows = Some(SparseStrategy {
                        problem,
                        shift,
                        graphs: Vec::new(),
                        prefix,
                        begin,
                        constant,
                        tried: None,
                    });
                }
                if self.strategies.graphs != Graphs::None {
                    let gpu = self.gpu.as_ref();
                    let strategy =
                        GraphStrategy::new(&problem, &shift, &self.sizes, self.strategies.graphs, gpu, self.device_use);
                    self.graphs = strategy.map(|strategy| strategy.checked(self.journal));
                }
                // the same network, where nothing was gained
                if self.strategies.shifted && self.gains {
                    let (sizes, shift) = (self.sizes.clone(), Some(shift));
                    self.shifted = Some(Strategy { problem, shift, graphs: Vec::new(), prefix, sizes, reached: None });
                }
            }
            Between::MiniBuckets(graph, shift) => {
                let Some(graphs) = &mut self.graphs else { return };
                self.work = self.work.saturating_add(work);
                if graphs.note(graph, work, bound) {
                    self.left = Some(prefix);
                    if let Some(strategy) = &mut self.rows {
                        strategy.constant = shift.scaled(bound);
                    }
                }
                if let Some(strategy) = self.shifted.as_mut().filter(|_| self.gains) {
                    strategy.sizes.follow(graphs.entries().saturating_mul(BEYOND));
                }
            }
        }
        self.best = self.best.max(bound);
    }

    /// An attempt has come to a bound.
    pub fn note(&mut self, attempt: &Attempt, bound: Cost) {
        if attempt.by_rows {
            self.best = self.best.max(bound);
            return;
        }
        let strategy = if attempt.is_plain() { &mut self.plain } else { &mut self.shifted };
        if let Some(strategy) = strategy {
            // of several orders at one z the best counts
            let (before, gain) = strategy.reached.unwrap_or((self.problem.constant, 0));
            strategy.reached = Some((before.max(bound), (bound - before).max(gain / 2)));
        }
        self.best = self.best.max(bound);
    }

    /// What solutions with each value cost at least, by an attempt that is done. Only where that may forbid some below
    /// `ub`, as the last time tells, within the memory of a plan and about as much work as the attempts took.
    pub fn value_bounds(
        &mut self,
        attempt: &Attempt,
        outcome: &Outcome,
        ub: Cost,
        stop: &Stop,
    ) -> Option<Vec<Vec<Cost>>> {
        if attempt.by_rows {
            return None;
        }
        self.forward = self.forward.saturating_add(attempt.work);
        let (work, plan) = (outcome.value_bounds_work(), outcome.plan());
        let gap = ub.saturating_sub(attempt.lower_bound(outcome));
        let hopeless = self.reach.is_some_and(|reach| gap / 2 > reach);
        let dear = self.backward.saturating_add(work) > self.forward.saturating_add(FREE);
        if plan.exact
            || hopeless
            || dear
            || plan.placement.table_bytes + plan.placement.peak_bytes > self.sizes.memory()
        {
            return None;
        }
        self.backward += work;
        let bounds = outcome.value_bounds(stop)?;
        let bounds = if let Some(shift) = &attempt.shift { shift.values(bounds) } else { bounds };
        let dearest = bounds.iter().flatten().copied().max().unwrap_or(0).min(ub);
        self.reach = Some(dearest.saturating_sub(attempt.lower_bound(outcome)));
        Some(bounds)
    }
}
