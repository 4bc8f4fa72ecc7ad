//! A subproblem of a problem: some variables have a choice of values, all others keep theirs.

use crate::model::{Cost, CostFunction, FORBIDDEN, Odometer, Problem, Readers, Scope, SparseTable, Table, add};
use crate::value_tables::ValueTables;
use std::sync::Arc;

/// A variable of the problem and the values, all different, that it may take.
pub type Choice = (u32, Vec<u16>);

/// The problem from which subproblems are made.
#[derive(Debug)]
pub struct Whole<'a> {
    /// The problem's tables.
    pub tables: &'a ValueTables,
    /// The functions of each variable.
    pub incidence: &'a Readers,
}

/// The values of the variables outside a subproblem.
#[derive(Clone, Copy, Debug)]
pub struct Base<'a> {
    /// The value of each variable.
    pub values: &'a [u16],
    /// The cost of the values.
    pub total: Cost,
    /// The cost of a forbidden entry: its price if the values use some, so that their number can be minimised.
    pub forbidden: Cost,
}

/// The network of some variables of a problem.
#[derive(Clone, Debug)]
pub struct Subproblem {
    /// The subproblem, whose costs equal the problem's without its constant.
    pub problem: Arc<Problem>,
    choices: Vec<Choice>,
    /// The work of building it.
    pub work: u64,
}

/// Largest number of tuples for which a sparse function becomes a dense table.
const WRITTEN_OUT: u64 = 1 << 10;
/// Number of entries that take as much time as the overhead of a function.
const FUNCTION_WORK: u64 = 16;

impl Subproblem {
    /// Builds the subproblem of these choices. Omits values that are in no assignment of cost below `ub`, if all other
    /// variables take their lowest costs, but never all values of a variable. `places` maps each variable of the
    /// problem to its index in the subproblem; it contains `u32::MAX` everywhere before and after the call.
    pub fn new(whole: &Whole, base: Base, mut choices: Vec<Choice>, ub: Cost, places: &mut [u32]) -> Subproblem {
        choices.sort_unstable_by_key(|(v, _)| *v);
        for (place, (v, _)) in (0..).zip(&choices) {
            places[*v as usize] = place;
        }
        let core = &whole.tables.problem;
        let charge = |cost: Cost| if cost >= FORBIDDEN { base.forbidden } else { cost };
        let mut constant = base.total;
        let mut work = 0;
        let mut inner: Vec<&CostFunction> = Vec::new();
        let mut unary: Vec<Vec<Cost>> = Vec::with_capacity(choices.len());
        for (v, values) in &choices {
            let own = &core.unary[*v as usize];
            constant -= charge(own[usize::from(base.values[*v as usize])]);
            let mut costs: Vec<Cost> = values.iter().map(|&value| charge(own[usize::from(value)])).collect();
            for &index in &whole.incidence[*v as usize] {
                let function = &core.functions[index as usize];
                let mut free = function.scope.iter().filter(|&&u| places[u as usize] != u32::MAX);
                // the first of its free variables handles a function
                if free.next() != Some(v) {
                    continue;
                }
                work += FUNCTION_WORK;
                constant -= charge(whole.tables.entry(function, base.values));
                if free.next().is_some() {
                    inner.push(function);
                    continue;
                }
                work += values.len() as u64;
                for (cost, &value) in costs.iter_mut().zip(values) {
                    let at = |u: u32| u32::from(if u == *v { value } else { base.values[u as usize] });
                    *cost = add(*cost, charge(function.cost_at(&core.domains, at)));
                }
            }
            unary.push(costs);
        }
        // tables become small without values that are too expensive even if all others take their lowest costs
        let lowest = |costs: &[Cost]| costs.iter().copied().min().unwrap_or(0);
        let least = unary.iter().fold(constant, |sum, costs| add(sum, lowest(costs)));
        for (costs, (_, values)) in unary.iter_mut().zip(&mut choices) {
            let own = lowest(costs);
            let stays = |cost: Cost| cost == own || (cost < FORBIDDEN && (cost - own).saturating_add(least) < ub);
            let mut of_value = costs.iter();
            values.retain(|_| of_value.next().is_some_and(|&cost| stays(cost)));
            costs.retain(|&cost| stays(cost));
        }
        let mut functions = Vec::with_capacity(inner.len());
        for function in inner {
            let (function, looked_at) = restricted(function, core, base, &choices, places);
            work += FUNCTION_WORK + looked_at;
            functions.push(function);
        }
        for (v, _) in &choices {
            places[*v as usize] = u32::MAX;
        }
        let domains = unary.iter().map(|costs| costs.len() as u32).collect();
        Subproblem { problem: Arc::new(Problem { domains, unary, functions, constant, top: FORBIDDEN }), choices, work }
    }

    /// Writes an assignment of the subproblem into one of the problem.
    pub fn write(&self, assignment: &[u32], values: &mut [u16]) {
        for ((v, choices), &value) in self.choices.iter().zip(assignment) {
            values[*v as usize] = choices[value as usize];
        }
    }
}

/// Returns a function restricted to the choices of its variables, and the number of entries read.
fn restricted(
    function: &CostFunction,
    core: &Problem,
    base: Base,
    choices: &[Choice],
    places: &[u32],
) -> (CostFunction, u64) {
    let charge = |cost: Cost| if cost >= FORBIDDEN { base.forbidden } else { cost };
    // variables outside the subproblem have one value
    let list = |&v: &u32| match choices.get(places[v as usize] as usize) {
        Some((_, values)) => &values[..],
        None => std::slice::from_ref(&base.values[v as usize]),
    };
    let lists: Vec<&[u16]> = function.scope.iter().map(list).collect();
    let is_free = |v: &u32| places[*v as usize] != u32::MAX;
    let scope: Scope = function.scope.iter().filter(|v| is_free(v)).map(|&v| places[v as usize]).collect();
    let combinations = lists.iter().fold(1u64, |product, list| product.saturating_mul(list.len() as u64));
    match &function.table {
        Table::Sparse(table) if combinations > WRITTEN_OUT => {
            let (mut tuples, mut costs) = (Vec::new(), Vec::new());
            let mut places: Vec<usize> = Vec::with_capacity(lists.len());
            for (tuple, cost) in table.iter() {
                let place = |(list, &value): (&&[u16], &u32)| list.iter().position(|&own| u32::from(own) == value);
                places.clear();
                places.extend(lists.iter().zip(tuple).map_while(place));
                if places.len() == lists.len() {
                    let free = function.scope.iter().zip(&places).filter(|(v, _)| is_free(v));
                    tuples.extend(free.map(|(_, &place)| place as u32));
                    costs.push(charge(cost));
                }
            }
            let kept = SparseTable::new(scope.len(), charge(table.default_cost()), tuples, costs);
            (CostFunction { scope, table: Table::Sparse(kept.into()) }, table.tuples().len() as u64)
        }
        table => {
            let mut odometer = Odometer::new(lists.iter().map(|list| list.len()).collect());
            let mut values: Vec<u32> = lists.iter().map(|list| u32::from(list[0])).collect();
            let mut costs = Vec::with_capacity(combinations as usize);
            loop {
                let index = |index: usize, (&v, &value): (&u32, &u32)| {
                    index * core.domains[v as usize] as usize + value as usize
                };
                costs.push(charge(match table {
                    Table::Dense(entries) => entries.get(function.scope.iter().zip(&values).fold(0, index)),
                    Table::Sparse(table) => table.get(&values),
                }));
                let Some(first) = odometer.advance() else { break };
                for (k, value) in values.iter_mut().enumerate().skip(first) {
                    *value = u32::from(lists[k][odometer.digits[k]]);
                }
            }
            (CostFunction { scope, table: Table::dense(costs) }, combinations)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use crate::stop::Stop;
    use fangs_testing::cores::{assignment, price, random};

    #[test]
    fn a_part_costs_what_the_core_does() {
        let mut rng = Rng::new(5);
        let (mut allowed, mut violating, mut left_out) = (0, 0, 0);
        for case in 0..3000 {
            let problem = Arc::new(random(&mut rng));
            let tables = ValueTables::new(&problem, price(&problem));
            let incidence = problem.incidence(&Stop::new()).expect("no stop is set");
            let whole = Whole { tables: &tables, incidence: &incidence };
            let values = assignment(&problem, &mut rng);
            let energy = tables.energy(&values);
            let forbidden = if energy.violations == 0 { FORBIDDEN } else { tables.price() };
            let mut choices: Vec<Choice> = (0..problem.variables() as u32)
                .map(|v| (v, (0..problem.domains[v as usize] as u16).filter(|_| rng.below(4) > 0).collect()))
                .collect();
            choices.retain(|(_, values)| !values.is_empty() && rng.below(3) > 0);
            rng.shuffle(&mut choices);
            if choices.iter().map(|(_, values)| values.len()).product::<usize>() > 5000 {
                continue;
            }
            let ub = energy.total.saturating_add(rng.below(40) as Cost - 20);
            let base = Base { values: &values, total: energy.total, forbidden };
            let mut places = vec![u32::MAX; problem.variables()];
            let part = Subproblem::new(&whole, base, choices.clone(), ub, &mut places);
            assert!(places.iter().all(|&place| place == u32::MAX));
            // every combination of the choices, in the whole problem
            let mut best = (FORBIDDEN, FORBIDDEN);
            let mut odometer = Odometer::new(choices.iter().map(|(_, values)| values.len()).collect());
            loop {
                let mut chosen = values.clone();
                for ((v, list), &digit) in choices.iter().zip(&odometer.digits) {
                    chosen[*v as usize] = list[digit];
                }
                let energy = tables.energy(&chosen);
                let cost = if energy.violations > 0 && forbidden == FORBIDDEN { FORBIDDEN } else { energy.total };
                best.0 = best.0.min(cost);
                if odometer.advance().is_none() {
                    break;
                }
            }
            let mut odometer = Odometer::new(part.problem.domains.iter().map(|&domain| domain as usize).collect());
            loop {
                let own: Vec<u32> = odometer.digits.iter().map(|&digit| digit as u32).collect();
                let mut chosen = values.clone();
                part.write(&own, &mut chosen);
                let energy = tables.energy(&chosen);
                let cost = part.problem.cost(&own);
                if forbidden == FORBIDDEN && energy.violations > 0 {
                    assert_eq!(cost, FORBIDDEN, "case {case}");
                } else {
                    assert_eq!(cost, energy.total, "case {case}");
                }
                best.1 = best.1.min(cost);
                if odometer.advance().is_none() {
                    break;
                }
            }
            // omitted values are in no assignment below the limit
            assert!(best.0 == best.1 || best.0 >= ub, "case {case}: {best:?} {ub}");
            let count = |domains: &mut dyn Iterator<Item = usize>| domains.sum::<usize>();
            let before = count(&mut choices.iter().map(|(_, values)| values.len()));
            left_out += before - count(&mut part.problem.domains.iter().map(|&domain| domain as usize));
            *(if forbidden == FORBIDDEN { &mut allowed } else { &mut violating }) += 1;
        }
        assert!(allowed > 300 && violating > 300 && left_out > 1000, "{allowed} {violating} {left_out}");
    }
}
