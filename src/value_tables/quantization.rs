//! How costs of 64 bits become entries of 32 bits: the unit of the rows, and what a forbidden entry costs.

use super::ROW_LIMIT;
use crate::error::Error;
use crate::model::{Cost, FORBIDDEN, Problem, Table};
use crate::stop::Stop;

/// A cost in the rows' units, rounded to the nearest; a forbidden one is `hard`.
#[inline(always)]
pub(super) fn quantize(cost: Cost, shift: u32, hard: i32) -> i32 {
    if cost >= FORBIDDEN {
        return hard;
    }
    let half = if shift == 0 { 0 } else { 1 << (shift - 1) };
    ((cost + half) >> shift).min(ROW_LIMIT) as i32
}

/// The least shift and the price under which no variable's row passes [`ROW_LIMIT`] and no violation pays for a
/// variable alone, unless the price asked for is so low.
pub(super) fn quantum(problem: &Problem, price: Cost, stop: &Stop) -> Result<(u32, i32), Error> {
    let n = problem.variables();
    let mut soft = vec![0 as Cost; n];
    let mut hard = vec![0 as Cost; n];
    let mut note = |scope: &[u32], costs: &mut dyn Iterator<Item = Cost>| {
        let (mut largest, mut forbids) = (0, 0);
        for cost in costs {
            if cost >= FORBIDDEN {
                forbids = 1;
            } else {
                largest = largest.max(cost);
            }
        }
        for &v in scope {
            soft[v as usize] = soft[v as usize].saturating_add(largest);
            hard[v as usize] += forbids;
        }
    };
    for item in stop.each(problem.unary.iter().enumerate()) {
        let (v, unary) = item?;
        note(&[v as u32], &mut unary.iter().copied());
    }
    for function in stop.each(&problem.functions) {
        let function = function?;
        match &function.table {
            Table::Dense(table) => note(&function.scope, &mut table.iter().copied()),
            Table::Sparse(table) => {
                note(&function.scope, &mut table.iter().map(|(_, cost)| cost).chain([table.default_cost()]));
            }
        }
    }
    let widest = soft.iter().copied().max().unwrap_or(0);
    let most = hard.iter().copied().max().unwrap_or(0);
    let dearest = ROW_LIMIT / 2 / most.max(1);
    // a violation that costs less than a variable's soft costs can pay, and the search would end among violations
    let wanted = if most == 0 { 0 } else { price.min(widest) };
    let mut shift = 0;
    while widest >> shift >= ROW_LIMIT / 2 || wanted >> shift > dearest {
        shift += 1;
    }
    let hard = (price >> shift).clamp(1, dearest.max(1));
    Ok((shift, hard as i32))
}
