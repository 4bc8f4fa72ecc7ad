//! The strategy of sparse tables: exact elimination on the shifted problem, which lists only entries below the limit.

use super::attempt::Attempt;
use super::choice::Stage;
use super::plans::Plans;
use crate::elimination::{Plan, RowLimits};
use crate::model::{Cost, FORBIDDEN};
use crate::stop::Stop;
use crate::tuning::tuning;

impl Plans {
    /// Returns an elimination with sparse tables and at most `work` work, if the gap has become considerably smaller,
    /// or `work` much larger, since the last attempt. Returns `None` while the gap is large.
    pub(super) fn by_rows(&mut self, ub: Option<Cost>, work: u64, stop: &Stop) -> Option<Stage> {
        let strategy = self.rows.as_mut()?;
        // the network's costs are integers, so a scaled cost of interest is at most that of the next integer below `ub`
        let limit = ub.map(|ub| strategy.base.scaled(ub.saturating_sub(1)).saturating_add(1).min(FORBIDDEN));
        let top = strategy.base.problem.top;
        let gap = limit.map_or(top, |limit| limit.min(top)).saturating_sub(strategy.constant);
        // rows are few once the bound has closed the larger part of the gap; on frequency assignment it does not, and
        // attempts took half of the time without a result
        if work < u64::MAX && gap > strategy.constant - strategy.begin || !strategy.is_worthwhile(gap, work) {
            return None;
        }
        strategy.tried = Some((gap, work));
        if !self.follow_graphs(stop) {
            return None;
        }
        let base = self.rows.as_ref()?.base.clone();
        let bytes = if work < u64::MAX { tuning().schedule.sparse_memory } else { u64::MAX };
        let limits = RowLimits { bytes: bytes.min(self.sizes.memory()), work };
        let Some(plan) = Plan::by_rows(&base.problem, self.sizes.order()?, limit, limits, stop) else {
            self.rows = None;
            return None;
        };
        let name = format!("{}sparse-be", base.prefix);
        Some(Stage::Run(Box::new(Attempt { name, work, base, by_rows: true }), plan))
    }
}
