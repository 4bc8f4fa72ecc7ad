//! What entries are clamped to.

use crate::error::Error;
use crate::model::{Cost, FORBIDDEN, Problem, Table, add};
use crate::stop::Stop;

/// The largest entry that makes a difference. Sums from here on mean that there is no solution below the
/// limit, either because they reach it or because they are beyond all finite costs together.
///
/// Clamping entries to it from above lowers them, hence is always valid; and where the clamped sum stays
/// below it, nothing was clamped on the way.
pub fn cap(problem: &Problem, limit: Cost, stop: &Stop) -> Result<Cost, Error> {
    let most = if limit >= FORBIDDEN { FORBIDDEN } else { limit.saturating_sub(problem.constant).max(0) };
    let of_unary = problem.unary.iter().map(|costs| dearest(costs.iter().copied()));
    let of_functions = problem.functions.iter().map(|function| match &function.table {
        Table::Dense(costs) => dearest(costs.iter()),
        Table::Sparse(table) => dearest(table.costs().iter().copied()).max(dearest([table.default_cost()].into_iter())),
    });
    let mut finite: Cost = 1;
    for cost in stop.each(of_unary.chain(of_functions)) {
        finite = add(finite, cost?);
        if finite >= most {
            return Ok(most);
        }
    }
    Ok(finite)
}

/// The largest finite cost; 0 where there is none.
fn dearest(costs: impl Iterator<Item = Cost>) -> Cost {
    costs.filter(|&cost| cost < FORBIDDEN).max().unwrap_or(0)
}
