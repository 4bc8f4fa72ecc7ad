//! What entries are clamped to.

use crate::model::{Cost, FORBIDDEN, Problem, add};

/// The largest entry that makes a difference. Sums from here on mean that there is no solution below the
/// limit, either because they reach it or because they are beyond all finite costs together.
///
/// Clamping entries to it from above lowers them, hence is always valid; and where the clamped sum stays
/// below it, nothing was clamped on the way.
pub(crate) fn cap(problem: &Problem, limit: Cost) -> Cost {
    let mut finite: Cost = 1;
    let mut include = |costs: &mut dyn Iterator<Item = Cost>| {
        finite = add(finite, costs.filter(|&cost| cost < FORBIDDEN).max().unwrap_or(0));
    };
    for unary in &problem.unary {
        include(&mut unary.iter().copied());
    }
    for function in &problem.functions {
        match &function.table {
            crate::model::Table::Dense(costs) => include(&mut costs.iter().copied()),
            crate::model::Table::Sparse(table) => {
                include(&mut table.iter().map(|(_, cost)| cost).chain([table.default_cost()]));
            }
        }
    }
    if limit >= FORBIDDEN { finite } else { finite.min(limit.saturating_sub(problem.constant).max(0)) }
}
