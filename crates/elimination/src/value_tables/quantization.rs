//! Conversion of 64-bit costs to 32-bit entries: the unit of the rows, and the cost of a forbidden entry.

use crate::error::Error;
use crate::model::{Cost, FORBIDDEN, Problem, Table};
use crate::stop::Stop;
use crate::threads;

/// Largest sum of a variable's row, so that evaluations and their differences fit i32.
const ROW_LIMIT: Cost = 1 << 28;

/// Number of functions or variables of a thread's slice, between two checks of the stop flag.
const TURN: usize = 1 << 12;

/// Returns a cost in the rows' units, rounded to the nearest; `hard` for a forbidden one.
#[inline(always)]
pub(super) fn quantize(cost: Cost, shift: u32, hard: i32) -> i32 {
    if cost >= FORBIDDEN {
        return hard;
    }
    let half = if shift == 0 { 0 } else { 1 << (shift - 1) };
    ((cost + half) >> shift).min(ROW_LIMIT) as i32
}

/// The unit of rows.
#[derive(Debug)]
pub(super) struct Quantum {
    /// Right shift from the problem's costs.
    pub shift: u32,
    /// The cost of a forbidden entry.
    pub hard: i32,
    pub forbidding: Forbidding,
    /// The largest cost of an entry of a function.
    pub most: i32,
}

/// The occurrence of forbidden tuples among the functions of a reduced problem.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Forbidding {
    /// Whether a dense function has a forbidden tuple.
    pub some: bool,
    /// Whether more than half of all functions are dense and have no other costs than 0 and forbidden.
    pub mostly: bool,
}

/// Returns the largest finite cost, at least 0, and whether any cost is forbidden.
fn look(costs: impl Iterator<Item = Cost>) -> (Cost, bool) {
    costs.fold((0, false), |(largest, forbids), cost| {
        let is_forbidden = cost >= FORBIDDEN;
        (largest.max(if is_forbidden { 0 } else { cost }), forbids | is_forbidden)
    })
}

/// Returns the least shift and the cost of a forbidden entry such that no variable's row exceeds [`ROW_LIMIT`] and a
/// violation costs at least the soft costs of any single variable, or the given price if that is lower. Also returns
/// which functions forbid tuples.
///
/// # Errors
/// Returns [`Error::Stopped`] if `stop` is set.
pub(super) fn quantum(problem: &Problem, price: Cost, stop: &Stop) -> Result<Quantum, Error> {
    let n = problem.variables();
    let mut soft = vec![0 as Cost; n];
    let mut hard = vec![0 as Cost; n];
    let of_unary = threads::try_map(problem.unary.chunks(TURN), |unary| {
        stop.check()?;
        Ok::<Vec<(Cost, bool)>, Error>(unary.iter().map(|costs| look(costs.iter().copied())).collect())
    })?;
    let of_functions = threads::try_map(problem.functions.chunks(TURN), |functions| {
        stop.check()?;
        Ok::<Vec<(Cost, bool)>, Error>(functions.iter().map(|function| look(function.table.costs())).collect())
    })?;
    for item in stop.each(of_unary.into_iter().flatten().enumerate()) {
        let (v, (largest, forbids)) = item?;
        (soft[v], hard[v]) = (largest, Cost::from(forbids));
    }
    let (mut some, mut pure) = (0, 0);
    let (mut dearest_entry, mut forbids_any) = (0, false);
    for item in stop.each(problem.functions.iter().zip(of_functions.into_iter().flatten())) {
        let (function, (largest, forbids)) = item?;
        (dearest_entry, forbids_any) = (largest.max(dearest_entry), forbids_any | forbids);
        for &v in &function.scope {
            soft[v as usize] = soft[v as usize].saturating_add(largest);
            hard[v as usize] += Cost::from(forbids);
        }
        if matches!(function.table, Table::Dense(_)) {
            some += usize::from(forbids);
            pure += usize::from(forbids && largest == 0);
        }
    }
    let widest = soft.iter().copied().max().unwrap_or(0);
    let most = hard.iter().copied().max().unwrap_or(0);
    let dearest = ROW_LIMIT / 2 / most.max(1);
    // a violation that costs less than a variable's soft costs may pay, so that the search would end among violations
    let wanted = if most == 0 { 0 } else { price.min(widest) };
    let mut shift = 0;
    while widest >> shift >= ROW_LIMIT / 2 || wanted >> shift > dearest {
        shift += 1;
    }
    let hard = (price >> shift).clamp(1, dearest.max(1)) as i32;
    let forbidding = Forbidding { some: some > 0, mostly: 2 * pure > problem.functions.len() };
    let most = quantize(dearest_entry, shift, hard).max(if forbids_any { hard } else { 0 });
    Ok(Quantum { shift, hard, forbidding, most })
}
