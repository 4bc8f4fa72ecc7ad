//! Detection of problems whose values are all interchangeable, as colors are.

use crate::error::Error;
use crate::model::{CostFunction, Costs, Odometer, Problem, Table};
use crate::stop::Stop;
use rustc_hash::FxHashSet;

/// Returns the number of values if all are interchangeable: permuting the values of all variables in the same way
/// changes no cost. The exchange of the first two values and the cycle of all generate all permutations. Returns `None`
/// for two values: only their names can be exchanged, and a child would inherit nothing from its second parent.
///
/// # Errors
/// [`Error::Stopped`].
/// [`Error::Stopped`].
pub fn interchangeable(problem: &Problem, stop: &Stop) -> Result<Option<usize>, Error> {
    let values = problem.domains.first().copied().unwrap_or(0);
    let equal = |costs: &[i64]| costs.iter().all(|&cost| cost == costs[0]);
    if values < 3 || problem.domains.iter().any(|&d| d != values) {
        return Ok(None);
    }
    for costs in stop.each(&problem.unary) {
        if !equal(costs?) {
            return Ok(None);
        }
    }
    let mut known = FxHashSet::default();
    let mut symmetric = |function: &CostFunction| match &function.table {
        Table::Dense(table) => {
            !known.insert((table.address(), function.scope.len()))
                || is_symmetric(table, values as usize, function.scope.len())
        }
        Table::Sparse(_) => false,
    };
    for function in stop.each(&problem.functions) {
        if !symmetric(function?) {
            return Ok(None);
        }
    }
    Ok(Some(values as usize))
}

/// Returns whether a table is unchanged if all its variables exchange their first two values, or take the next value.
fn is_symmetric(table: &Costs, values: usize, arity: usize) -> bool {
    let mut odometer = Odometer::new(vec![values; arity]);
    let place = |digits: &[usize], to: fn(usize, usize) -> usize| {
        digits.iter().fold(0, |place, &digit| place * values + to(digit, values))
    };
    table.iter().all(|cost| {
        let exchanged = place(&odometer.digits, |digit, _| if digit < 2 { 1 - digit } else { digit });
        let turned = place(&odometer.digits, |digit, values| (digit + 1) % values);
        let _ = odometer.advance();
        table.get(exchanged) == cost && table.get(turned) == cost
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::generate;
    use crate::model::FORBIDDEN;
    use crate::reduce::Reducer;

    #[test]
    fn colors_are_interchangeable_and_costs_of_values_are_not() {
        let network = generate("coloring", &[("n", "30"), ("p", "0.5"), ("k", "4")], 1).expect("a graph is generated");
        let stop = Stop::new();
        let reducer = Reducer::new(&network, false, &stop).expect("no stop is set");
        let mut problem = reducer.problem(&stop).expect("no stop is set");
        assert_eq!(interchangeable(&problem, &Stop::new()).expect("no stop"), Some(4));
        let mut dearer = problem.clone();
        dearer.unary[3][2] += 1;
        assert_eq!(interchangeable(&dearer, &Stop::new()).expect("no stop"), None);
        let mut distance = (0..16i64).map(|entry| i64::from((entry / 4 - entry % 4).abs() < 2)).collect::<Vec<_>>();
        problem.functions[0].table = Table::dense(distance.clone());
        assert_eq!(
            interchangeable(&problem, &Stop::new()).expect("no stop"),
            None,
            "neighbouring values are not all values"
        );
        distance = (0..16i64).map(|entry| if entry / 4 == entry % 4 { FORBIDDEN } else { 7 }).collect();
        problem.functions[0].table = Table::dense(distance);
        assert_eq!(interchangeable(&problem, &Stop::new()).expect("no stop"), Some(4));
    }
}
