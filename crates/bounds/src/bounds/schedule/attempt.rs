//! An elimination plan of the schedule, and what its bound means for the original network.

use super::graphs::DeviceUse;
use crate::bounds::cost_shifting::Shift;
use crate::bounds::proof::Proof;
use crate::certificate::Graph;
use crate::elimination::{Gpu, Outcome, Plan};
use crate::model::{Cost, Problem};
use crate::reduce::Reducer;
use std::sync::Arc;

/// A network that plans are made for, and how costs were moved from the original one to it.
#[derive(Clone, Debug)]
pub(super) struct Base {
    pub problem: Arc<Problem>,
    /// None for the original network.
    pub shift: Option<Arc<Shift>>,
    /// The join graphs after that.
    pub graphs: Vec<Arc<Graph>>,
    /// Goes before the names of plans.
    pub prefix: String,
}

impl Base {
    pub fn new(problem: &Arc<Problem>) -> Base {
        Base { problem: problem.clone(), shift: None, graphs: Vec::new(), prefix: String::new() }
    }

    /// A cost of the original network as one of this.
    pub fn scaled(&self, cost: Cost) -> Cost {
        self.shift.as_ref().map_or(cost, |shift| shift.scaled(cost))
    }
}

/// A plan that is run, by what it is known.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// The plan's name, after `shift+` where it is for the shifted network.
    pub name: String,
    /// Combinations it looks at.
    pub work: u64,
    pub(super) base: Base,
    pub(super) by_rows: bool,
}

impl Attempt {
    /// Whether a device should run its plan. Beside a search there, many small launches would each wait for the
    /// search's, so that mini-buckets and sparse tables stay on the CPU.
    pub(crate) fn is_for_device(&self, plan: &Plan, device_use: DeviceUse) -> bool {
        let large = plan.exact && plan.placement.rows.is_none();
        (large || device_use == DeviceUse::Exclusive) && Gpu::pays(self.work as f64)
    }

    /// What the plan was made for.
    pub fn problem(&self) -> &Arc<Problem> {
        &self.base.problem
    }

    /// The bound on the original network.
    pub fn lower_bound(&self, outcome: &Outcome) -> Cost {
        let bound = outcome.lower_bound();
        self.base.shift.as_ref().map_or(bound, |shift| shift.bound(bound))
    }

    /// Why the bound is one, given the reductions that led to the network; `None` where no log was kept.
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

    /// Whether it is for the original network: only its messages speak of that network's costs.
    pub fn is_plain(&self) -> bool {
        self.base.shift.is_none()
    }
}

/// What shifting, or the last join graph, left for exact elimination with sparse tables.
#[derive(Debug)]
pub(super) struct SparseStrategy {
    pub base: Base,
    /// What of its cost was constant at first, and what has become so.
    pub begin: Cost,
    pub constant: Cost,
    /// How far the limit was above the constant when it was tried last, and what work that was allowed.
    pub tried: Option<(Cost, u64)>,
}

impl SparseStrategy {
    /// Whether to try with a gap and an allowance. Tables shrink with the gap by powers of it, so that one a little
    /// smaller is no reason.
    pub(super) fn is_worthwhile(&self, gap: Cost, work: u64) -> bool {
        let closer = |last: Cost| gap < last && gap <= last - last / 4;
        self.tried.is_none_or(|(last, allowed)| allowed < u64::MAX && (closer(last) || work / 4 >= allowed))
    }
}
