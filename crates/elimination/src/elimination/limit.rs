//! The cost to which entries are clamped.

use crate::error::Error;
use crate::model::{Cost, FORBIDDEN, Problem, Table, add};
use crate::stop::Stop;

/// Returns the largest entry that makes a difference. A sum that reaches it means that there is no solution below the
/// limit, either because the sum reaches the limit or because it exceeds all finite costs together.
///
/// Clamping entries to this cap only lowers them, so bounds stay valid. If a clamped sum is below the cap, none of its
/// entries was clamped.
///
/// # Errors
/// Returns [`Error::Stopped`] if `stop` is set.
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

/// Returns the largest finite cost, or 0 if there is none.
fn dearest(costs: impl Iterator<Item = Cost>) -> Cost {
    costs.filter(|&cost| cost < FORBIDDEN).max().unwrap_or(0)
}
