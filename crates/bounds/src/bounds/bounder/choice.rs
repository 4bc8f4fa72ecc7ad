//! The choice of the next stage: exact elimination if it is affordable at once, else cost shifting, then mini-buckets
//! of growing z on the unshifted and on the shifted problem, with branch and bound between them.

use super::Bounder;
use super::attempt::{Attempt, Base};
use super::graphs::DeviceUse;
use super::plans::{Plans, Strategy, weight};
use super::sizes::SizeSchedule;
use crate::bounds::cost_shifting::Shift;
use crate::bounds::methods::BoundChoice;
use crate::bounds::search::{Search, Steady};
use crate::bounds::shifting::{Between, Shifting};
use crate::elimination::{Limits, Plan};
use crate::model::{Cost, Problem};
use crate::order::OrderSearch;
use crate::stop::Stop;
use crate::tuning::tuning;
use std::sync::Arc;

/// The next stage of the bounding loop.
#[derive(Debug)]
pub enum Stage {
    /// Shift costs ([`Shifting::advance`]), then call [`Bounder::shifted`].
    Shift(Box<Shifting>),
    /// Run a plan on the attempt's problem, then call [`Bounder::eliminated`].
    Run(Box<Attempt>, Plan),
    /// Search for this much work ([`Search::advance`]), then call [`Bounder::searched`].
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

impl Bounder {
    /// Chooses the next stage for `problem`, which may differ from that of the last call only after
    /// [`Bounder::rebase`]. Returns `None` once there is none or `stop` is set. `ub` is the incumbent's cost.
    pub fn choose(&mut self, problem: &Arc<Problem>, ub: Option<Cost>, stop: &Stop) -> Option<Stage> {
        let mut plans = self.plans.take().unwrap_or_else(|| self.plans_for(problem));
        let stage = if stop.is_set() { None } else { self.choose_from(&mut plans, ub, stop) };
        self.plans = Some(plans);
        stage
    }

    /// Makes the strategies for a problem, which searches that have begun take part in.
    fn plans_for(&mut self, problem: &Arc<Problem>) -> Box<Plans> {
        let searched = self.ordering.take().map(OrderSearch::into_orders);
        let orders = if self.orders.is_empty() { searched.unwrap_or_default() } else { self.orders.clone() };
        self.induced_width = orders.first().map(|order| order.width);
        let Limits { max_bytes, spill, slices, .. } = self.limits();
        let mut sizes = SizeSchedule::new(orders, max_bytes, self.options.z);
        (sizes.exact_work, sizes.spill, sizes.slices) = (self.exact_work(), spill, slices);
        sizes.work = self.highest / 2;
        let strategies = self.strategies();
        let strategies = if self.is_vast(problem) { strategies.shifting_alone() } else { strategies };
        let mut plans = Plans::new(problem, sizes, strategies, self.options.certified);
        if (self.network.is_none() || self.is_linear_tried) && self.options.choice == BoundChoice::Auto {
            plans.searchers.retain(|searcher| searcher.steady != Some(Steady::Linear));
        }
        // their problem may differ, but its solutions include all that are better than the incumbent
        for (search, gain) in &mut self.searches {
            *gain = 0;
            plans.searchers.retain(|searcher| searcher.name != search.name());
            plans.reserve(plans.sizes.memory() / tuning().schedule.search_memory);
        }
        plans.into()
    }

    fn choose_from(&mut self, plans: &mut Plans, ub: Option<Cost>, stop: &Stop) -> Option<Stage> {
        if plans.searchers.last().is_some_and(|searcher| searcher.steady == Some(Steady::Linear))
            && let Some(stage) = self.begin_search(plans, ub, stop)
        {
            return Some(stage);
        }
        if !std::mem::replace(&mut plans.begun, true)
            && plans.shifts(stop)
            && let Some(shifting) = self.first_shift(plans, ub, stop)
        {
            if plans.strategies.shift {
                return Some(Stage::Shift(Box::new(shifting)));
            }
            plans.shifted(shifting, self.gpus.first(), self.device_use, stop);
        }
        if let Some(stage) = self.owed(plans, ub) {
            return Some(stage);
        }
        if plans.pending.is_none() {
            plans.pending = plans.next_plan(ub, stop);
        }
        // stages that take little come first: an exact plan, and join graphs that grow on a device, which raise the
        // bound more than anything else in the time
        let (first, long) = match &plans.pending {
            Some(Stage::Run(_, plan)) => {
                let first = plans.sizes.affords(plan);
                (first, first && self.gpus.is_empty() && plan.work() > tuning().schedule.long_exact)
            }
            Some(Stage::Shift(shifting)) => {
                let grows =
                    shifting.is_brief() || plans.graphs.as_ref().is_some_and(|graphs| graphs.is_brief(plans.rivals));
                (grows, grows)
            }
            _ => (false, false),
        };
        if long && let Some(stage) = self.light_search(plans, ub, stop) {
            return Some(stage);
        }
        let searched = self.searches.iter().map(|(search, _)| search.work_done());
        let so_far = searched.fold(plans.work, u64::saturating_add).max(tuning().schedule.first_turn);
        if !first && let Some(stage) = plans.by_rows(ub, so_far / tuning().schedule.row, stop) {
            return Some(stage);
        }
        if !first && let Some(stage) = self.search(plans, ub, stop) {
            return Some(stage);
        }
        // without a limit of work once nothing else is left
        plans.pending.take().or_else(|| plans.by_rows(ub, u64::MAX, stop)).filter(|_| !stop.is_set())
    }

    /// Returns the cost shifting between functions that comes before all strategies that build on it.
    fn first_shift(&self, plans: &Plans, ub: Option<Cost>, stop: &Stop) -> Option<Shifting> {
        let order: Vec<u32> = (0..plans.problem.variables() as u32).collect();
        let mut shift = Shift::new(&plans.problem, ub, &order, stop)?;
        if plans.journal {
            shift.keep_journal();
        }
        // beside a search on the device, each of many small launches would wait for the search's
        // (results/notes/bounds-cuda.md)
        let gpu = self.gpus.first().filter(|_| self.device_use == DeviceUse::Exclusive);
        let alone = !plans.strategies.go_on_from_shifting() && plans.strategies.searches.is_empty();
        let shift = shift.on(gpu, alone && plans.strategies.shift && !plans.strategies.plain);
        Some(Shifting { name: "shift".into(), between: Between::Functions(shift) })
    }
}

impl Plans {
    /// Returns the next plan or join graph, of the strategy with the least weighted work.
    pub fn next_plan(&mut self, ub: Option<Cost>, stop: &Stop) -> Option<Stage> {
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
    pub fn follow_graphs(&mut self, stop: &Stop) -> bool {
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
}
