//! The plans and join graphs for one problem, and their success. Cost shifting doubles the bound on satellite schedules
//! and lowers it on frequency assignment (results/notes/shifting.md), which only branch and bound proves
//! (results/notes/branch.md). Therefore all strategies continue; those far from the lead get less work.

use super::attempt::{Attempt, Base, SparseStrategy};
use super::choice::Stage;
use super::graphs::{DeviceUse, GraphStrategy};
use super::sizes::SizeSchedule;
use crate::bounds::methods::constant_bound;
use crate::bounds::search::Searcher;
use crate::bounds::shifting::{Between, Shifting};
use crate::bounds::strategies::{Graphs, Strategies};
use crate::elimination::{Gpu, Outcome};
use crate::error::Error;
use crate::model::{Cost, Problem};
use crate::stop::Stop;
use crate::tuning::tuning;
use std::sync::Arc;

/// The strategies for a better bound on one problem.
#[derive(Debug)]
pub(super) struct Plans {
    pub problem: Arc<Problem>,
    pub sizes: SizeSchedule,
    pub strategies: Strategies,
    pub journal: bool,
    pub begun: bool,
    /// Whether an exact plan with tables in files may still come after all strategies have ended.
    pub spill: bool,
    pub plain: Option<Strategy>,
    pub shifted: Option<Strategy>,
    pub graphs: Option<GraphStrategy>,
    /// Prefix of the names of plans on what the last graph left; `None` once plans have taken that up.
    pub left: Option<String>,
    pub rows: Option<SparseStrategy>,
    /// Searches that have not begun, the next one last.
    pub searchers: Vec<&'static Searcher>,
    /// The plan or join graph that follows once searches have had their work.
    pub pending: Option<Stage>,
    /// Combinations of all plans so far, including the next one.
    pub work: u64,
    pub best: Cost,
    /// The best bound of all strategies but core-guided search, whose bound rises fast at first: if join graphs give
    /// way to it, scen06 is at 1843 after 8 s, otherwise at 2174 (one H100).
    pub rivals: Cost,
    /// Whether cost shifting between functions has gained something. If it has not, as on frequency assignment,
    /// mini-buckets of what join graphs leave are weaker than those of the functions: 979 against 1208 on scen06 at z =
    /// 5.
    pub gains: bool,
    /// Bytes that cost shifting takes, and those of the shifted problem.
    pub shift_bytes: (u64, u64),
    /// Bytes of memory that is reserved for join graphs.
    pub graph_bytes: u64,
    /// Work of the plans that value bounds could be made of.
    pub forward: u64,
    /// Work of the value bounds.
    pub backward: u64,
    /// Distance of the highest value bound from the bound of its plan, at the last time.
    pub reach: Option<Cost>,
}

/// Plans of growing z for one problem, and their success.
#[derive(Debug)]
pub(super) struct Strategy {
    pub base: Base,
    pub sizes: SizeSchedule,
    /// The best bound, and the gain of the last steps; `None` before the first.
    pub reached: Option<(Cost, Cost)>,
}

impl Strategy {
    fn new(base: Base, sizes: &SizeSchedule) -> Strategy {
        Strategy { base, sizes: sizes.clone(), reached: None }
    }

    pub fn weight(&self, best: Cost) -> u64 {
        weight(self.sizes.work, self.reached, best)
    }
}

/// Returns the work of a strategy's last step, weighted by its distance from the lead.
pub(super) fn weight(work: u64, reached: Option<(Cost, Cost)>, best: Cost) -> u64 {
    work.saturating_mul(if is_behind(reached, best) { tuning().schedule.behind } else { 1 })
}

/// Returns whether a strategy or search would not take the lead by gaining as much again as last time.
pub(super) fn is_behind(reached: Option<(Cost, Cost)>, best: Cost) -> bool {
    reached.is_some_and(|(bound, gain)| bound.saturating_add(gain) < best)
}

impl Plans {
    /// Creates the strategies for `problem`, whose plans follow copies of `sizes`. Cost shifting and the shifted
    /// problem may each take a quarter of its memory, which the plans then lack. With `journal`, cost shifting and
    /// searches keep what a certificate needs.
    pub fn new(problem: &Arc<Problem>, sizes: SizeSchedule, strategies: Strategies, journal: bool) -> Plans {
        Plans {
            problem: problem.clone(),
            strategies,
            journal,
            begun: false,
            spill: strategies.plain,
            plain: strategies.plain.then(|| Strategy::new(Base::new(problem), &sizes)),
            shifted: None,
            graphs: None,
            left: None,
            rows: None,
            // taken from the end
            searchers: strategies.searches.iter().rev().copied().collect(),
            pending: None,
            work: 0,
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

    /// Continues after a failed plan: without files for tables, and with half of the memory if there was too little.
    pub fn after(&mut self, failure: &Error) {
        if matches!(failure, Error::Memory(_)) {
            self.reserve(self.sizes.memory() / 2);
        }
        self.without_spill();
    }

    fn without_spill(&mut self) {
        self.spill = false;
        self.every_size(SizeSchedule::without_spill);
    }

    /// Reserves memory that the plans then lack.
    pub fn reserve(&mut self, bytes: u64) {
        self.every_size(|sizes| sizes.reserve(bytes));
    }

    fn every_size(&mut self, change: impl Fn(&mut SizeSchedule)) {
        change(&mut self.sizes);
        let strategies = [&mut self.plain, &mut self.shifted].into_iter().flatten();
        strategies.for_each(|strategy| change(&mut strategy.sizes));
    }

    /// Takes up the result of cost shifting, on which later stages work: join graphs on the device, if there is one.
    /// Once `stop` is set, none do.
    pub fn shifted(&mut self, shifting: Shifting, gpu: Option<&Arc<Gpu>>, device_use: DeviceUse, stop: &Stop) {
        let bound = shifting.lower_bound(self.problem.top);
        let (prefix, work) = (format!("{}+", shifting.name), shifting.work_done());
        match shifting.between {
            Between::Functions(shift) => {
                let gpu = gpu.filter(|_| !shift.has_lost_device());
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
                    let (graphs, journal) = (self.strategies.graphs, self.journal);
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
    pub fn reached(&mut self, bound: Cost, by_cores: bool) {
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
