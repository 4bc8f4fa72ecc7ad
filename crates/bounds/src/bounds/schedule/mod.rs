//! The choice of the next stage: exact elimination if it is affordable at once, else cost shifting, then mini-buckets
//! of growing z on the unshifted and on the shifted problem, with branch and bound between them. Cost shifting doubles
//! the bound on satellite schedules and lowers it on frequency assignment (results/notes/shifting.md), which only
//! branch and bound proves (results/notes/branch.md). Therefore all strategies continue; those far from the lead get
//! less work.

mod attempt;
mod branching;
mod graphs;
mod orders;
mod rows;
pub(crate) mod sizes;
#[cfg(test)]
mod tests;

use super::cost_shifting::Shift;
use super::methods::constant_bound;
use super::search::{Search, Searcher, Steady};
use super::shifting::Between;
use super::shifting::Shifting;
use super::strategies::{Graphs, Strategies};
use crate::elimination::{Gpu, Outcome, Plan};
use crate::error::Error;
use crate::model::{Cost, Problem};
use crate::stop::Stop;
use crate::tuning::tuning;
pub use attempt::Attempt;
use attempt::{Base, SparseStrategy};
pub use branching::Spent;
pub use graphs::DeviceUse;
use graphs::GraphStrategy;
pub use sizes::SizeSchedule;
use std::sync::Arc;

/// The strategies for a better bound on one problem, and the choice among them.
#[derive(Debug)]
pub struct BoundSchedule {
    problem: Arc<Problem>,
    sizes: SizeSchedule,
    strategies: Strategies,
    journal: bool,
    begun: bool,
    /// Whether an exact plan with tables in files may still come after all strategies have ended.
    spill: bool,
    plain: Option<Strategy>,
    shifted: Option<Strategy>,
    graphs: Option<GraphStrategy>,
    /// Prefix of the names of plans on what the last graph left; `None` once plans have taken that up.
    left: Option<String>,
    rows: Option<SparseStrategy>,
    /// Searches that have not begun, the next one last.
    searchers: Vec<&'static Searcher>,
    /// Searches that are not at work, with the gain of their last stage.
    searches: Vec<(Box<dyn Search>, Cost)>,
    /// Why the last search that could not begin was refused.
    refusal: Option<Error>,
    /// The plan or join graph that follows once searches have had their work.
    pending: Option<Stage>,
    /// Combinations of all plans so far, including the next one.
    work: u64,
    gpu: Option<Arc<Gpu>>,
    device_use: DeviceUse,
    best: Cost,
    /// The best bound of all strategies but core-guided search, whose bound rises fast at first: if join graphs give
    /// way to it, scen06 is at 1843 after 8 s, otherwise at 2174 (one H100).
    rivals: Cost,
    /// Whether cost shifting between functions has gained something. If it has not, as on frequency assignment,
    /// mini-buckets of what join graphs leave are weaker than those of the functions: 979 against 1208 on scen06 at z =
    /// 5.
    gains: bool,
    /// Bytes that cost shifting takes, and those of the shifted problem.
    shift_bytes: (u64, u64),
    /// Bytes of memory that is reserved for join graphs.
    graph_bytes: u64,
    /// Work of the plans that value bounds could be made of.
    forward: u64,
    /// Work of the value bounds.
    backward: u64,
    /// Distance of the highest value bound from the bound of its plan, at the last time.
    reach: Option<Cost>,
}

/// The plans for one problem, and their success.
#[derive(Debug)]
struct Strategy {
    base: Base,
    sizes: SizeSchedule,
    /// The best bound, and the gain of the last steps; `None` before the first.
    reached: Option<(Cost, Cost)>,
}

impl Strategy {
    fn new(base: Base, sizes: &SizeSchedule) -> Strategy {
        Strategy { base, sizes: sizes.clone(), reached: None }
    }

    fn weight(&self, best: Cost) -> u64 {
        weight(self.sizes.work, self.reached, best)
    }
}

/// Returns the work of a strategy's last step, weighted by its distance from the lead.
fn weight(work: u64, reached: Option<(Cost, Cost)>, best: Cost) -> u64 {
    work.saturating_mul(if is_behind(reached, best) { tuning().schedule.behind } else { 1 })
}

/// Returns whether a strategy or search would not take the lead by gaining as much again as last time.
fn is_behind(reached: Option<(Cost, Cost)>, best: Cost) -> bool {
    reached.is_some_and(|(bound, gain)| bound.saturating_add(gain) < best)
}

/// The next stage of the bounding loop.
#[derive(Debug)]
pub enum Stage {
    /// Shift costs ([`Shifting::advance`]), then call [`BoundSchedule::shifted`].
    Shift(Box<Shifting>),
    /// Run a plan on the attempt's problem, then call [`BoundSchedule::note`].
    Run(Box<Attempt>, Plan),
    /// Search for this much work ([`Search::advance`]), then call [`BoundSchedule::searched`].
    Search(Box<dyn Search>, u64),
}

impl Stage {
    /// Returns which search with a guaranteed share of the time the stage belongs to, or `None`.
    pub fn steady(&self) -> Option<Steady> {
        if let Stage::Search(search, _) = self { search.steady() } else { None }
    }

    /// Returns a description of the stage.
    pub(super) fn doing(&self) -> &'static str {
        match self {
            Stage::Shift(shifting) if shifting.is_of_functions() => "cost shifting",
            Stage::Shift(_) => "join graph",
            Stage::Run(_, plan) if plan.placement.rows.is_some() => "sparse elimination",
            Stage::Run(_, plan) if plan.exact => "bucket elimination",
            Stage::Run(..) => "mini-buckets",
            Stage::Search(search, _) => search.doing(),
        }
    }
}

impl BoundSchedule {
    /// Creates the schedule for `problem`, whose plans follow copies of `sizes`. Cost shifting and the shifted problem
    /// may each take a quarter of its memory, which the plans then lack.
    pub fn new(problem: &Arc<Problem>, sizes: SizeSchedule, strategies: Strategies) -> BoundSchedule {
        BoundSchedule {
            problem: problem.clone(),
            strategies,
            journal: false,
            begun: false,
            spill: strategies.plain,
            plain: strategies.plain.then(|| Strategy::new(Base::new(problem), &sizes)),
            shifted: None,
            graphs: None,
            left: None,
            rows: None,
            // taken from the end
            searchers: strategies.searches.iter().rev().copied().collect(),
            searches: Vec::new(),
            refusal: None,
            pending: None,
            work: 0,
            gpu: None,
            device_use: DeviceUse::Shared,
            gains: false,
            shift_bytes: (0, 0),
            graph_bytes: 0,
            best: Cost::MIN,
            rivals: Cost::MIN,
            forward: 0,
            backward: 0,
            reach: None,
            sizes,
        }
    }

    /// Lets searches, including those that have begun, and some join graphs use a device.
    pub fn on(mut self, gpu: Option<&Arc<Gpu>>, device_use: DeviceUse) -> BoundSchedule {
        (self.gpu, self.device_use) = (gpu.cloned(), device_use);
        if let Some(gpu) = gpu {
            self.searches.iter_mut().for_each(|(search, _)| search.use_device(gpu));
        }
        self
    }

    /// Sets the work up to which elimination is exact without preceding mini-buckets.
    pub fn exact_work(mut self, work: u64) -> BoundSchedule {
        self.sizes = self.sizes.exact_work(work);
        self
    }

    /// Makes cost shifting and searches keep what a certificate needs, if `keep` is set.
    pub fn keep_journal(mut self, keep: bool) -> BoundSchedule {
        self.journal = keep;
        self
    }

    /// Continues searches that another schedule began. Their problem may differ if its solutions include all solutions
    /// of this problem that are better than the incumbent.
    pub(super) fn resume(&mut self, searches: Vec<Box<dyn Search>>) {
        for search in searches {
            self.searchers.retain(|searcher| searcher.name != search.name());
            self.reserve(self.sizes.memory() / tuning().schedule.search_memory);
            self.searches.push((search, 0));
        }
    }

    /// Returns the searches that are not at work.
    pub(super) fn into_searches(self) -> Vec<Box<dyn Search>> {
        self.searches.into_iter().map(|(search, _)| search).collect()
    }

    /// Continues after a failed plan: without files for tables, and with half of the memory if there was too little.
    pub fn after(&mut self, failure: &Error) {
        if matches!(failure, Error::Memory(_)) {
            self.reserve(self.sizes.memory() / 2);
        }
        self.without_spill();
    }

    /// Returns the error of a search that could not begin, once.
    pub(super) fn take_refusal(&mut self) -> Option<Error> {
        self.refusal.take()
    }

    fn without_spill(&mut self) {
        self.spill = false;
        self.every_size(SizeSchedule::without_spill);
    }

    /// Reserves memory that the plans then lack.
    fn reserve(&mut self, bytes: u64) {
        self.every_size(|sizes| sizes.reserve(bytes));
    }

    fn every_size(&mut self, change: impl Fn(&mut SizeSchedule)) {
        change(&mut self.sizes);
        let strategies = [&mut self.plain, &mut self.shifted].into_iter().flatten();
        strategies.for_each(|strategy| change(&mut strategy.sizes));
    }

    /// Returns the next stage; `None` once there is none or `stop` is set. `ub` is the incumbent's cost.
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
                // beside a search on the device, each of many small launches would wait for the search's
                // (results/notes/bounds-cuda.md)
                let gpu = self.gpu.as_ref().filter(|_| self.device_use == DeviceUse::Exclusive);
                let alone = !self.strategies.go_on_from_shifting() && self.strategies.searches.is_empty();
                let shift = shift.on(gpu, alone && self.strategies.shift && !self.strategies.plain);
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
        // stages that take little come first: an exact plan, and join graphs that grow on a device, which raise the
        // bound more than anything else in the time
        let (first, long) = match &self.pending {
            Some(Stage::Run(_, plan)) => {
                let first = self.sizes.affords(plan);
                (first, first && self.gpu.is_none() && plan.work() > tuning().schedule.long_exact)
            }
            Some(Stage::Shift(shifting)) => {
                let grows =
                    shifting.is_brief() || self.graphs.as_ref().is_some_and(|graphs| graphs.is_brief(self.rivals));
                (grows, grows)
            }
            _ => (false, false),
        };
        if long && let Some(stage) = self.light_search(ub, stop) {
            return Some(stage);
        }
        let searched = self.searches.iter().map(|(search, _)| search.work_done());
        let so_far = searched.fold(self.work, u64::saturating_add).max(tuning().schedule.first_turn);
        if !first && let Some(stage) = self.by_rows(ub, so_far / tuning().schedule.row, stop) {
            return Some(stage);
        }
        if !first && let Some(stage) = self.search(ub, stop) {
            return Some(stage);
        }
        // without a limit of work once nothing else is left
        self.pending.take().or_else(|| self.by_rows(ub, u64::MAX, stop)).filter(|_| !stop.is_set())
    }

    /// Returns the next plan or join graph, of the strategy with the least weighted work.
    fn next_plan(&mut self, ub: Option<Cost>, stop: &Stop) -> Option<Stage> {
        while !stop.is_set() {
            let weight_of = |strategy: &Option<Strategy>| strategy.as_ref().map(|strategy| strategy.weight(self.best));
            let graphs = self.graphs.as_ref().map(|strategy| weight(strategy.work, strategy.reached, self.best));
            let others = [weight_of(&self.shifted), weight_of(&self.plain)];
            let brief = self.graphs.as_ref().is_some_and(|graphs| graphs.is_brief(self.rivals));
            if brief || graphs.is_some_and(|graphs| others.iter().flatten().all(|&other| graphs <= other)) {
                match self.next_graph(ub, stop) {
                    Some(shifting) => return Some(Stage::Shift(Box::new(shifting))),
                    None => {
                        let _ = self.follow_graphs(stop);
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
                let _ = self.follow_graphs(stop);
            }
            let strategy_slot = if plain { &mut self.plain } else { &mut self.shifted };
            let Strategy { base, sizes, .. } = strategy_slot.as_mut()?;
            match sizes.next(&base.problem, ub.map(|ub| base.scaled(ub)), stop).ok()? {
                Some(plan) => {
                    let base = base.clone();
                    return Some(self.run(base, plan));
                }
                None => *strategy_slot = None,
            }
        }
        None
    }

    /// Makes plans of the shifted problem use what the last graph left; returns whether that fits in memory.
    fn follow_graphs(&mut self, stop: &Stop) -> bool {
        let (Some(prefix), Some(graphs)) = (self.left.take(), &self.graphs) else { return true };
        let Some(problem) = graphs.problem(self.sizes.memory() / 4, stop).map(Arc::new) else { return false };
        let rows = self.rows.as_mut().map(|strategy| &mut strategy.base);
        let shifted = self.shifted.as_mut().filter(|_| self.gains).map(|strategy| &mut strategy.base);
        for base in [rows, shifted].into_iter().flatten() {
            let (problem, shift) = (problem.clone(), base.shift.clone());
            *base = Base { problem, shift, graphs: graphs.graphs(), prefix: prefix.clone() };
        }
        true
    }

    /// Returns an exact plan with tables in files, which comes last because it may take long.
    fn spilled(&mut self, ub: Option<Cost>, stop: &Stop) -> Option<Stage> {
        let last = std::mem::take(&mut self.spill).then(|| self.sizes.last(&self.problem, ub, stop));
        let base = Base::new(&self.problem);
        Some(self.run(base, last??))
    }

    fn run(&mut self, base: Base, plan: Plan) -> Stage {
        let (name, work) = (base.prefix.clone() + &plan.name(), plan.work());
        self.work = self.work.saturating_add(work);
        Stage::Run(Box::new(Attempt { name, work, base, by_rows: false }), plan)
    }

    /// Returns the next join graph, which may take half of the memory; the plans then lack it.
    fn next_graph(&mut self, ub: Option<Cost>, stop: &Stop) -> Option<Shifting> {
        if self.graphs.as_ref().is_some_and(|graphs| graphs.along.is_some()) {
            let _ = self.follow_graphs(stop);
        }
        let held = self.graph_bytes;
        let (shifting, bytes) = self.graphs.as_mut()?.next(ub, (self.sizes.memory() + held) / 2, stop)?;
        self.reserve(bytes.saturating_sub(held));
        self.graph_bytes = bytes.max(held);
        Some(shifting)
    }

    /// Returns whether cost shifting comes first: not if elimination is exact at once, nor if its tables take too much.
    fn shifts(&mut self, stop: &Stop) -> bool {
        let exact = self.strategies.plain && self.sizes.affordable();
        let wanted = self.strategies.shift || self.strategies.go_on_from_shifting();
        if !wanted || exact {
            return false;
        }
        let Ok(bytes) = Shift::bytes(&self.problem, stop) else { return false };
        self.shift_bytes = bytes;
        bytes.0 <= self.sizes.memory() / 4
    }

    /// Takes up the result of cost shifting, on which later stages work. Once `stop` is set, none do.
    pub fn shifted(&mut self, shifting: Shifting, stop: &Stop) {
        let bound = shifting.lower_bound(self.problem.top);
        let (prefix, work) = (format!("{}+", shifting.name), shifting.work_done());
        match shifting.between {
            Between::Functions(shift) => {
                if shift.has_lost_device() {
                    self.gpu = None;
                }
                let (own, shifted) = self.shift_bytes;
                if !self.strategies.go_on_from_shifting() || shifted > self.sizes.memory() / 4 {
                    return;
                }
                self.reserve(own + shifted);
                let begin = constant_bound(&self.problem);
                self.gains = bound > begin;
                let Ok(problem) = shift.problem(stop) else { return };
                let (problem, shift) = (Arc::new(problem), Arc::new(shift));
                let base = Base { shift: Some(shift.clone()), prefix, ..Base::new(&problem) };
                if self.strategies.rows {
                    let (base, begin, constant) = (base.clone(), shift.scaled(begin), problem.constant);
                    self.rows = Some(SparseStrategy { base, begin, constant, tried: None });
                }
                if self.strategies.graphs != Graphs::None {
                    let (graphs, gpu) = (self.strategies.graphs, self.gpu.as_ref());
                    let (device_use, journal) = (self.device_use, self.journal);
                    self.graphs = GraphStrategy::new(&problem, &shift, &self.sizes, graphs, gpu, device_use, journal);
                }
                // without a gain it would be the same problem
                self.shifted = (self.strategies.shifted && self.gains).then(|| Strategy::new(base, &self.sizes));
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
                    strategy.sizes.follow(graphs.entries.saturating_mul(tuning().schedule.beyond));
                }
            }
        }
        self.reached(bound, false);
    }

    /// Records a bound of some stage.
    fn reached(&mut self, bound: Cost, by_cores: bool) {
        self.best = self.best.max(bound);
        if !by_cores {
            self.rivals = self.rivals.max(bound);
        }
    }

    /// Records the bound of an attempt.
    pub fn note(&mut self, attempt: &Attempt, bound: Cost) {
        if attempt.by_rows {
            self.reached(bound, false);
            return;
        }
        let strategy = if attempt.is_plain() { &mut self.plain } else { &mut self.shifted };
        if let Some(strategy) = strategy {
            // of several orders at one z the best counts
            let (before, gain) = strategy.reached.unwrap_or((self.problem.constant, 0));
            strategy.reached = Some((before.max(bound), (bound - before).max(gain / 2)));
        }
        self.reached(bound, false);
    }

    /// Returns for each variable and value a lower bound on the solutions with that value, by a finished attempt.
    /// Returns `None` unless the bounds may exclude values below `ub`, judging by the last ones, they fit in the memory
    /// of a plan, and their work stays near that of the attempts.
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
        let dear = self.backward.saturating_add(work) > self.forward.saturating_add(tuning().schedule.free);
        let large = plan.placement.table_bytes + plan.placement.peak_bytes > self.sizes.memory();
        if plan.exact || hopeless || dear || large {
            return None;
        }
        self.backward += work;
        let bounds = outcome.value_bounds(stop)?;
        let bounds = if let Some(shift) = &attempt.base.shift { shift.values(bounds, stop).ok()? } else { bounds };
        let dearest = bounds.iter().flatten().copied().max().unwrap_or(0).min(ub);
        self.reach = Some(dearest.saturating_sub(attempt.lower_bound(outcome)));
        Some(bounds)
    }
}
