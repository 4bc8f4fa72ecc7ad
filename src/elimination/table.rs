//! Functions of the problem as tables in the plan's layout.

use crate::algebra::{CostEntry, MinSum, Semiring};
use crate::model::{Cost, CostFunction, Table};
use crate::tensor::storage::Storage;
use crate::tensor::strides;

/// Whether any cost is not 0.
pub(crate) fn nonzero(costs: &[Cost]) -> bool {
    costs.iter().any(|&cost| cost != 0)
}

/// The costs of `function` over `scope`, capped, as [`lay_out`] lays them out.
pub(crate) fn costs<E: CostEntry>(function: &CostFunction, scope: &[u32], domains: &[u32], cap: Cost) -> Storage<E> {
    lay_out(function, scope, domains, MinSum { cap: E::from_cost(cap) }, |cost| E::from_cost(cost.min(cap)))
}

/// The table of `function` over `scope` (its variables, or some of them, in any order), of the entries that costs stand
/// for. Over variables that are missing from `scope` it is folded.
pub(crate) fn lay_out<S: Semiring>(
    function: &CostFunction,
    scope: &[u32],
    domains: &[u32],
    semiring: S,
    entry: impl Fn(Cost) -> S::Entry,
) -> Storage<S::Entry> {
    let sizes: Vec<usize> = scope.iter().map(|&v| domains[v as usize] as usize).collect();
    let total = sizes.iter().product();
    let steps = strides(&sizes);
    // where a step along each variable of the function leads to; nowhere if it is missing
    let target: Vec<usize> =
        function.scope.iter().map(|v| scope.iter().position(|u| u == v).map_or(0, |digit| steps[digit])).collect();
    let mut table = Storage::new(total);
    match &function.table {
        Table::Dense(costs) => {
            // in the layout wanted already, as most functions of a file are
            if scope == &function.scope[..] {
                table.iter_mut().zip(costs.iter()).for_each(|(slot, &cost)| *slot = entry(cost));
                return table;
            }
            table.fill(semiring.zero());
            let own: Vec<usize> = function.scope.iter().map(|&v| domains[v as usize] as usize).collect();
            let (&run, outer) = own.split_last().expect("functions have two variables and more");
            let step = target[outer.len()];
            let mut digits = vec![0usize; outer.len()];
            let mut base = 0;
            for costs in costs.chunks_exact(run) {
                for (value, &cost) in costs.iter().enumerate() {
                    let slot = &mut table[base + value * step];
                    *slot = semiring.fold(entry(cost), *slot);
                }
                for digit in (0..outer.len()).rev() {
                    digits[digit] += 1;
                    base += target[digit];
                    if digits[digit] < outer[digit] {
                        break;
                    }
                    base -= target[digit] * outer[digit];
                    digits[digit] = 0;
                }
            }
            table
        }
        Table::Sparse(sparse) => {
            // the default counts where not every completion of an entry is listed
            let completions = function
                .scope
                .iter()
                .filter(|v| !scope.contains(v))
                .fold(1u64, |product, &v| product.saturating_mul(u64::from(domains[v as usize])));
            let default = entry(sparse.default_cost());
            let index = |values: &[u32]| values.iter().zip(&target).map(|(&v, &step)| v as usize * step).sum::<usize>();
            if completions == 1 {
                table.fill(default);
                for (values, cost) in sparse.iter() {
                    table[index(values)] = entry(cost);
                }
                return table;
            }
            table.fill(semiring.zero());
            let mut listed = vec![0u32; total];
            for (values, cost) in sparse.iter() {
                let index = index(values);
                table[index] = semiring.fold(table[index], entry(cost));
                listed[index] += 1;
            }
            for (slot, &listed) in table.iter_mut().zip(&listed) {
                *slot = semiring.fold(semiring.repeat(default, completions - u64::from(listed)), *slot);
            }
            table
        }
    }
}
