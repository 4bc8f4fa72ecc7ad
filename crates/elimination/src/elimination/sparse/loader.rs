//! Functions of the problem as rows.

use super::key::{Key, Row, shifts};
use crate::elimination::plan::{Input, Plan, Source, Step};
use crate::model::{Cost, CostFunction, Problem, Table};

/// Returns the least cost of a table of the problem.
pub(crate) fn least(problem: &Problem, plan: &Plan, step: &Step, input: &Input) -> Cost {
    match input.source {
        Source::Function(f) => problem.functions[f as usize].min(&problem.domains),
        _ => problem.unary[plan.sequence[step.position as usize] as usize].iter().copied().min().unwrap_or(0),
    }
}

/// Returns the entries below `limit` of a table of the problem, sorted by key. `None` if all combinations must be
/// visited and they are more than `room`; a sparse table whose default cost reaches the limit needs no such visit.
pub(crate) fn rows<K: Key>(
    problem: &Problem,
    plan: &Plan,
    step: &Step,
    input: &Input,
    limit: Cost,
    room: u64,
) -> Option<Vec<Row<K>>> {
    let Source::Function(f) = input.source else {
        let costs = &problem.unary[plan.sequence[step.position as usize] as usize];
        let values = (0..).zip(costs).filter(|&(_, &cost)| cost < limit);
        return Some(values.map(|(value, &cost)| (K::value(value), cost)).collect());
    };
    let function = &problem.functions[f as usize];
    // the shift of the field of each of its variables, in the function's own order
    let by_position = shifts(&input.scope, &plan.domains);
    let field = |v: &u32| {
        let place = input.scope.iter().position(|&p| plan.sequence[p as usize] == *v);
        place.map_or(0, |place| by_position[place])
    };
    let fields: Vec<u32> = function.scope.iter().map(field).collect();
    let mut rows = match &function.table {
        Table::Sparse(table) if table.default_cost() >= limit => {
            let key = |values: &[u32]| fields_of(values, &fields);
            table.iter().filter(|&(_, cost)| cost < limit).map(|(values, cost)| (key(values), cost)).collect()
        }
        _ if function.combinations(&problem.domains) > room => return None,
        _ => entries(function, &problem.domains, &fields, limit),
    };
    // most functions are in this order already
    if !rows.is_sorted() {
        rows.sort_unstable();
    }
    Some(rows)
}

fn fields_of<K: Key>(values: &[u32], fields: &[u32]) -> K {
    values.iter().zip(fields).fold(K::ZERO, |key, (&value, &shift)| key | K::value(value) << shift)
}

/// Returns the rows below `limit`, in the order of the function's entries.
fn entries<K: Key>(function: &CostFunction, domains: &[u32], fields: &[u32], limit: Cost) -> Vec<Row<K>> {
    let sizes: Vec<u32> = function.scope.iter().map(|&v| domains[v as usize]).collect();
    let mut digits = vec![0u32; sizes.len()];
    let mut rows = Vec::new();
    for cost in function.entries(domains) {
        if cost < limit {
            rows.push((fields_of(&digits, fields), cost));
        }
        for (digit, &size) in digits.iter_mut().zip(&sizes).rev() {
            *digit += 1;
            if *digit < size {
                break;
            }
            *digit = 0;
        }
    }
    rows
}
