//! An elimination plan of the bounder, and the meaning of its bound for the unshifted problem.

use super::graphs::DeviceUse;
use crate::bounds::cost_shifting::Shift;
use crate::bounds::proof::Proof;
use crate::certificate::Graph;
use crate::elimination::{Gpu, Outcome, Plan, Run};
use crate::model::{Cost, Problem};
use crate::reduce::Reducer;
use std::sync::Arc;

/// A problem that plans are made for, and how costs were moved from the unshifted problem to it.
#[derive(Clone, Debug)]
pub(super) struct Base {
    pub problem: Arc<Problem>,
    /// The cost shifting between functions; `None` for the unshifted problem.
    pub shift: Option<Arc<Shift>>,
    /// The join graphs that followed, in their order.
    pub graphs: Vec<Arc<Graph>>,
    /// Prefix of the names of plans.
    pub prefix: String,
}

impl Base {
    pub fn new(problem: &Arc<Problem>) -> Base {
        Base { problem: problem.clone(), shift: None, graphs: Vec::new(), prefix: String::new() }
    }

    /// Converts a cost of the unshifted problem into one of this problem.
    pub fn scaled(&self, cost: Cost) -> Cost {
        self.shift.as_ref().map_or(cost, |shift| shift.scaled(cost))
    }
}

/// A plan that is run, with its name, its work and its problem.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// Name of the plan, with a prefix such as `shift+` if it is for a shifted problem.
    pub name: String,
    /// Number of combinations that the plan visits.
    pub work: u64,
    pub(super) base: Base,
    pub(super) by_rows: bool,
}

impl Attempt {
    /// Returns whether a device should run the plan. Beside a search on the device, each of many small launches would
    /// wait for the search's, so mini-buckets and sparse tables stay on the CPU.
    pub(crate) fn is_for_device(&self, plan: &Plan, device_use: DeviceUse) -> bool {
        let large = plan.exact && plan.placement.rows.is_none();
        (large || device_use == DeviceUse::Exclusive) && Gpu::pays(self.work as f64)
    }

    /// Begins to run the plan, on these devices or, without any, on the CPU.
    pub(super) fn run(&self, gpus: &[Arc<Gpu>], plan: Plan) -> Run {
        Run::on_all(gpus, self.problem().clone(), plan)
    }

    /// Returns the problem that the plan was made for.
    pub fn problem(&self) -> &Arc<Problem> {
        &self.base.problem
    }

    /// Returns the bound of the outcome on the unshifted problem.
    pub fn lower_bound(&self, outcome: &Outcome) -> Cost {
        let bound = outcome.lower_bound();
        self.base.shift.as_ref().map_or(bound, |shift| shift.bound(bound))
    }

    /// Returns the proof of the bound, given the reductions that led to the problem; `None` if no log was kept.
    pub fn proof(&self, reducer: &Arc<Reducer>, outcome: &Outcome) -> Option<Proof> {
        let reduced = Proof::reductions(reducer)?;
        let shifted = match &self.base.shift {
            Some(shift) => reduced.shifted(shift)?,
            None => reduced,
        };
        let joined = shifted.joined(self.base.graphs.clone());
        let plan = outcome.plan();
        Some(if self.by_rows { joined.by_rows(plan) } else { joined.eliminated(plan, self.problem()) })
    }

    /// Returns whether the plan is for the unshifted problem: only then do its messages hold that problem's costs.
    pub fn is_plain(&self) -> bool {
        self.base.shift.is_none()
    }
}

/// The strategy of exact elimination with sparse tables, on the problem that cost shifting or the last join graph left.
#[derive(Debug)]
pub(super) struct SparseStrategy {
    pub base: Base,
    /// Constant before cost shifting.
    pub begin: Cost,
    /// Present constant.
    pub constant: Cost,
    /// Gap between limit and constant at the last attempt, and the work granted to it.
    pub tried: Option<(Cost, u64)>,
}

impl SparseStrategy {
    /// Returns whether an attempt is worthwhile with this gap and work. Tables shrink with powers of the gap, so a
    /// slightly smaller gap is no reason.
    pub(super) fn is_worthwhile(&self, gap: Cost, work: u64) -> bool {
        let closer = |last: Cost| gap < last && gap <= last - last / 4;
        self.tried.is_none_or(|(last, allowed)| allowed < u64::MAX && (closer(last) || work / 4 >= allowed))
    }
}
