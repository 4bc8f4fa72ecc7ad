//! Which stage comes next: elimination where it is exact at once, else cost shifting, then mini-buckets of growing z on
//! the original and on the shifted network, with turns of branch and bound between them. Shifting doubles the bound on
//! satellite schedules and lowers it on frequency assignment (results/notes/shifting.md), which only branch and bound
//! proves (results/notes/branch.md). So all strategies go on; those far from the lead get less work.

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
use super::tuning::schedule::{BEHIND, BEYOND, FIRST_TURN, FREE, LONG_EXACT, ROW, SEARCH_MEMORY};
use crate::elimination::{Gpu, Outcome, Plan};
use crate::error::Error;
use crate::model::{Cost, Problem};
use crate::stop::Stop;
pub use attempt::Attempt;
use attempt::{Base, SparseStrategy};
pub use branching::Spent;
pub use graphs::DeviceUse;
use graphs::GraphStrategy;
pub use sizes::SizeSchedule;
use std::sync::Arc;

/// The strategies for a better bound on one network, and whose turn it is.
#[derive(Debug)]
pub struct BoundSchedule {
    problem: Arc<Problem>,
    sizes: SizeSchedule,
    strategies: Strategies,
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
    searchers: Vec<&'static Searcher>,
    searches: Vec<(Box<dyn Search>, Cost)>,
    /// Why the last one that could not begin could not.
    refusal: Option<Error>,
    /// The plan or join graph that comes next once searches have had their turns.
    pending: Option<Stage>,
    /// Combinations of all plans so far, the next one included.
    work: u64,
    gpu: Option<Arc<Gpu>>,
    device_use: DeviceUse,
    best: Cost,
    /// The best bound of all but the search for cores, which rises fast at first: where join graphs give way to it,
    /// scen06 is at 1843 after 8 s, else at 2174 (one H100).
    rivals: Cost,
    /// Shifting between functions has gained something. Where it has not, as on frequency assignment, mini-buckets of
    /// what join graphs leave are weaker than those of the functions: 979 against 1208 on scen06 at z = 5.
    gains: bool,
    /// Bytes that shifting takes, and those of the shifted network.
    shift_bytes: (u64, u64),
    /// Bytes of memory that join graphs have.
    graph_bytes: u64,
    /// Work of the steps, and of bounds of values.
    forward: u64,
    backward: u64,
    /// Distance of the dearest value from the bound of its plan.
    reach: Option<Cost>,
}

/// Plans for a network.
#[derive(Debug)]
struct Strategy {
    base: Base,
    sizes: SizeSchedule,
    /// The best bound, and what the last steps gained; nothing is known before the first.
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
    /// To search for so much work ([`Search::advance`]), then [`BoundSchedule::searched`].
    Search(Box<dyn Search>, u64),
}

impl Stage {
    /// Whose turn it is, where a search has a part of the time.
    pub fn steady(&self) -> Option<Steady> {
        if let Stage::Search(search, _) = self { search.steady() } else { None }
    }

    /// What it does, in words.
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
    /// Strategies for `problem`, plans by copies of `sizes`. Shifting and the shifted network may each take a quarter
    /// of its memory, which the plans then have less.
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

    /// Searches may use a device, also those that have begun, and so may some join graphs.
    pub fn on(mut self, gpu: Option<&Arc<Gpu>>, device_use: DeviceUse) -> BoundSchedule {
        (self.gpu, self.device_use) = (gpu.cloned(), device_use);
        if let Some(gpu) = gpu {
            self.searches.iter_mut().for_each(|(search, _)| search.use_device(gpu));
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
    pub(super) fn resume(&mut self, searches: Vec<Box<dyn Search>>) {
        for search in searches {
            self.searchers.retain(|searcher| searcher.name != search.name());
            self.reserve(self.sizes.memory() / SEARCH_MEMORY);
            self.searches.push((search, 0));
        }
    }

    /// The searches that are not at work.
    pub(super) fn into_searches(self) -> Vec<Box<dyn Search>> {
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

    /// Why a search could not begin, told once.
    pub(super) fn take_refusal(&mut self) -> Option<Error> {
        self.refusal.take()
    }

    fn without_spill(&mut self) {
        self.spill = false;
        self.every_size(SizeSchedule::without_spill);
    }

    /// Leaves bytes to others than the plans.
    fn reserve(&mut self, bytes: u64) {
        self.every_size(|sizes| sizes.reserve(bytes));
    }

    fn every_size(&mut self, change: impl Fn(&mut SizeSchedule)) {
        change(&mut self.sizes);
        let strategies = [&mut self.plain, &mut self.shifted].into_iter().flatten();
        strategies.for_each(|strategy| change(&mut strategy.sizes));
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
        // what takes little comes first: an exact plan, and join graphs that grow on a device, which raise the bound
        // more than anything else in the time
        let (first, long) = match &self.pending {
            Some(Stage::Run(_, plan)) => {
                let first = self.sizes.affords(plan);
                (first, first && self.gpu.is_none() && plan.work() > LONG_EXACT)
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

    /// Plans of the shifted network go on with what the last graph left; whether the memory takes that.
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

    /// An exact plan with tables in files: it may take long, so all else comes first.
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

    /// The next join graph. It may take half of the memory, which the plans then have less.
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

    /// Whether shifting comes first: not where elimination is exact at once, nor where its tables take too much.
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

    /// Costs are shifted: what comes next works on what they left. Nothing does once `stop` is set.
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
                // the same network, where nothing was gained
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
                    strategy.sizes.follow(graphs.entries.saturating_mul(BEYOND));
                }
            }
        }
        self.reached(bound, false);
    }

    /// Something has come to a bound.
    fn reached(&mut self, bound: Cost, by_cores: bool) {
        self.best = self.best.max(bound);
        if !by_cores {
            self.rivals = self.rivals.max(bound);
        }
    }

    /// An attempt has come to a bound.
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
