//! Functions of the problem as tables in the plan's layout.

use crate::algebra::{CostEntry, MinSum, OfCosts, Semiring};
use crate::model::{Cost, CostFunction, Entry, Problem, Table, add, on_entries};
use crate::tensor::storage::Storage;
use crate::tensor::strides;

/// Returns whether any cost is not 0.
pub fn nonzero(costs: &[Cost]) -> bool {
    costs.iter().any(|&cost| cost != 0)
}

/// Returns the costs of `function` over `scope`, capped, in the layout of `lay_out`.
pub fn costs<E: CostEntry>(function: &CostFunction, scope: &[u32], domains: &[u32], cap: Cost) -> Storage<E> {
    lay_out(function, scope, domains, MinSum { cap: E::from_cost(cap) })
}

/// Returns the table of `function` over `scope`, with costs converted to entries of a semiring. `scope` has some or all
/// of the function's variables in any order, the last one running fastest; the function's other variables are folded.
pub(crate) fn lay_out<S: OfCosts>(
    function: &CostFunction,
    scope: &[u32],
    domains: &[u32],
    semiring: S,
) -> Storage<S::Entry> {
    let entry = |cost| semiring.of_cost(cost);
    let sizes: Vec<usize> = scope.iter().map(|&v| domains[v as usize] as usize).collect();
    let total = sizes.iter().product();
    let target = targets(&function.scope, scope, &sizes);
    match &function.table {
        Table::Dense(costs) => on_entries!(costs, entries => {
            scatter(entries, &function.scope, scope, domains, semiring, |given| entry(Entry::cost(given)))
        }),
        Table::Sparse(sparse) => {
            // the default counts if not every completion of an entry is listed
            let completions = function
                .scope
                .iter()
                .filter(|v| !scope.contains(v))
                .fold(1u64, |product, &v| product.saturating_mul(u64::from(domains[v as usize])));
            let default = entry(sparse.default_cost());
            let index = |values: &[u32]| values.iter().zip(&target).map(|(&v, &step)| v as usize * step).sum::<usize>();
            let mut table = Storage::new(total);
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

/// Returns the stride in a table over `scope` of each variable of a function; 0 if `scope` does not contain it.
fn targets(own: &[u32], scope: &[u32], sizes: &[usize]) -> Vec<usize> {
    let steps = strides(sizes);
    own.iter().map(|v| scope.iter().position(|u| u == v).map_or(0, |digit| steps[digit])).collect()
}

/// Returns a table over `scope`, in the layout of `lay_out`, from entries given over `own`, which has at least one
/// variable.
pub fn scatter<T: Copy, S: Semiring>(
    entries: &[T],
    own: &[u32],
    scope: &[u32],
    domains: &[u32],
    semiring: S,
    entry: impl Fn(T) -> S::Entry,
) -> Storage<S::Entry> {
    let size = |&v: &u32| domains[v as usize] as usize;
    let sizes: Vec<usize> = scope.iter().map(size).collect();
    let mut table = Storage::new(sizes.iter().product());
    // most functions of a file have this layout already
    if scope == own {
        table.iter_mut().zip(entries).for_each(|(slot, &given)| *slot = entry(given));
        return table;
    }
    let target = targets(own, scope, &sizes);
    table.fill(semiring.zero());
    let own: Vec<usize> = own.iter().map(size).collect();
    let (&run, outer) = own.split_last().expect("constants are no tables");
    let step = target[outer.len()];
    let mut digits = vec![0usize; outer.len()];
    let mut base = 0;
    for entries in entries.chunks_exact(run) {
        for (value, &given) in entries.iter().enumerate() {
            let slot = &mut table[base + value * step];
            *slot = semiring.fold(entry(given), *slot);
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

/// Adds the costs of each value of `variable` under an assignment of the other variables.
pub fn add_function(problem: &Problem, function: &CostFunction, variable: u32, assignment: &[u32], row: &mut [Cost]) {
    match &function.table {
        Table::Dense(costs) => {
            let (mut offset, mut stride, mut own) = (0, 1, 1);
            for &v in function.scope.iter().rev() {
                if v == variable {
                    own = stride;
                } else {
                    offset += stride * assignment[v as usize] as usize;
                }
                stride *= problem.domains[v as usize] as usize;
            }
            on_entries!(costs, entries => {
                for (sum, entry) in row.iter_mut().zip(entries[offset..].iter().step_by(own)) {
                    *sum = add(*sum, Entry::cost(*entry));
                }
            });
        }
        Table::Sparse(table) => {
            let mut values: Vec<u32> = function.scope.iter().map(|&v| assignment[v as usize]).collect();
            let place = function.scope.iter().position(|&v| v == variable);
            for (value, sum) in row.iter_mut().enumerate() {
                if let Some(place) = place {
                    values[place] = value as u32;
                }
                *sum = add(*sum, table.get(&values));
            }
        }
    }
}
