//! The strategy of sparse tables: exact elimination of what shifting left, listing only entries below the limit.

use super::attempt::Attempt;
use super::{BoundSchedule, Stage};
use crate::bounds::tuning::schedule::SPARSE_MEMORY;
use crate::elimination::{Plan, RowLimits};
use crate::model::{Cost, FORBIDDEN};
use crate::stop::Stop;

impl BoundSchedule {
    /// Elimination with sparse tables, with as much work as all plans and searches so far, where the gap has become a
    /// good deal smaller.
    pub(super) fn by_rows(&mut self, ub: Option<Cost>, work: u64, stop: &Stop) -> Option<Stage> {
        let strategy = self.rows.as_mut()?;
        // costs of the network are whole: what is of interest costs no more than the next one below
        let limit = ub.map(|ub| strategy.base.scaled(ub.saturating_sub(1)).saturating_add(1).min(FORBIDDEN));
        let top = strategy.base.problem.top;
        let gap = limit.map_or(top, |limit| limit.min(top)).saturating_sub(strategy.constant);
        // rows are few once bounds have come the larger part of the way: on frequency assignment, where they do not,
        // tries took half of the time for nothing
        if work < u64::MAX && gap > strategy.constant - strategy.begin || !strategy.is_worthwhile(gap, work) {
            return None;
        }
        strategy.tried = Some((gap, work));
        if !self.follow_graphs(stop) {
            return None;
        }
        let base = self.rows.as_ref()?.base.clone();
        let bytes = if work < u64::MAX { SPARSE_MEMORY } else { u64::MAX };
        let limits = RowLimits { bytes: bytes.min(self.sizes.memory()), work };
        let Some(plan) = Plan::by_rows(&base.problem, self.sizes.order()?, limit, limits, stop) else {
            self.rows = None;
            return None;
        };
        let name = format!("{}sparse-be", base.prefix);
        Some(Stage::Run(Box::new(Attempt { name, work, base, by_rows: true }), plan))
    }
}
