//! Operations of the replay on single tables. Dense tables are rearranged by [`gather`], sparse ones tuple by tuple.

use super::tuning::{MEDIUM, MOST_ENTRIES, SMALL};
use crate::model::{Cost, Costs, FORBIDDEN, SparseTable, Table};

/// Returns the sum of two costs; forbidden costs stay forbidden.
#[inline(always)]
pub(super) fn sum(a: Cost, b: Cost) -> Cost {
    if a >= FORBIDDEN || b >= FORBIDDEN { FORBIDDEN } else { (a + b).min(FORBIDDEN) }
}

/// Returns a difference of costs; forbidden costs stay forbidden.
pub(super) fn less(cost: Cost, amount: Cost) -> Cost {
    if cost >= FORBIDDEN { FORBIDDEN } else { cost - amount }
}

/// Returns the number of combinations, saturating.
pub(super) fn combinations(sizes: &[usize]) -> u64 {
    sizes.iter().fold(1, |product: u64, &size| product.saturating_mul(size as u64))
}

/// Returns the offset of each value of each variable in a dense table.
pub(super) fn axes(sizes: &[usize]) -> Vec<Vec<usize>> {
    let mut stride = 1;
    let mut axes: Vec<Vec<usize>> = Vec::with_capacity(sizes.len());
    for &size in sizes.iter().rev() {
        axes.push((0..size).map(|value| value * stride).collect());
        stride *= size;
    }
    axes.reverse();
    axes
}

/// Returns the sums of one term from each axis, the last axis running fastest.
pub(super) fn sums<T: Copy>(axes: &[Vec<T>], zero: T, add: impl Fn(T, T) -> T) -> Vec<T> {
    axes.iter().fold(vec![zero], |sums, axis| {
        let mut next = Vec::with_capacity(sums.len() * axis.len());
        for &sum in &sums {
            next.extend(axis.iter().map(|&term| add(sum, term)));
        }
        next
    })
}

/// Returns the entries at the sums of one offset from each axis, the last axis running fastest.
pub(super) fn gather(costs: &[Cost], axes: &[Vec<usize>]) -> Vec<Cost> {
    let Some((last, outer)) = axes.split_last() else { return costs[..1].to_vec() };
    let starts = sums(outer, 0, |a, b| a + b);
    starts.iter().flat_map(|start| last.iter().map(move |place| costs[start + place])).collect()
}

pub(super) fn zero(arity: usize) -> Table {
    Table::Sparse(SparseTable::new(arity, 0, Vec::new(), Vec::new()).into())
}

pub(super) fn dense(table: &Table, sizes: &[usize]) -> Result<Costs, String> {
    match table {
        Table::Dense(costs) => Ok(costs.clone()),
        Table::Sparse(sparse) => {
            if combinations(sizes) > MOST_ENTRIES {
                return Err(format!("a function of {} combinations would have to be written out", combinations(sizes)));
            }
            let axes = axes(sizes);
            let mut costs = vec![sparse.default_cost(); combinations(sizes) as usize];
            for (tuple, cost) in sparse.iter() {
                costs[tuple.iter().zip(&axes).map(|(&value, axis)| axis[value as usize]).sum::<usize>()] = cost;
            }
            Ok(costs.into())
        }
    }
}

/// Returns the table, in dense form if that takes little memory.
pub(super) fn tidy(table: Table, sizes: &[usize]) -> Table {
    let Table::Sparse(sparse) = &table else { return table };
    let room = combinations(sizes);
    let small = room <= SMALL || room <= MEDIUM.min(256 * sparse.len() as u64);
    if small { dense(&table, sizes).map_or(table, Table::Dense) } else { table }
}

/// Returns the largest finite cost, at least 0; an unused default may count.
pub(super) fn peak(costs: impl Iterator<Item = Cost>) -> Cost {
    costs.filter(|&cost| cost < FORBIDDEN).fold(0, Cost::max)
}

/// Returns the least cost for each value of the variable at a scope position; with `besides`, unary costs are included.
pub(super) fn least(table: &Table, sizes: &[usize], place: usize, besides: Option<&[Vec<Cost>]>) -> Vec<Cost> {
    let mut least = vec![FORBIDDEN; sizes[place]];
    match table {
        Table::Dense(costs) => {
            let Some((&last, outer)) = sizes.split_last() else { return least };
            let inner: usize = outer.iter().skip(place + 1).product();
            let paid = besides.map(|besides| sums(&besides[..outer.len()], 0, sum));
            for (row, costs) in costs.wide().chunks_exact(last).enumerate() {
                let paid = paid.as_ref().map_or(0, |paid| paid[row]);
                let own = besides.map(|besides| &besides[outer.len()][..]);
                let total = |value: usize| sum(sum(costs[value], paid), own.map_or(0, |own| own[value]));
                if place == outer.len() {
                    least.iter_mut().enumerate().for_each(|(value, least)| *least = total(value).min(*least));
                } else {
                    let least = &mut least[row / inner % sizes[place]];
                    *least = (0..last).fold(*least, |least, value| least.min(total(value)));
                }
            }
        }
        Table::Sparse(sparse) => {
            let zeros: Vec<Vec<Cost>> = sizes.iter().map(|&size| vec![0; size]).collect();
            let besides = besides.unwrap_or(&zeros);
            // the default counts if some feasible tuples are not listed
            let allowed = |k: usize| besides[k].iter().filter(|&&cost| cost < FORBIDDEN).count();
            let others: Vec<usize> = (0..sizes.len()).filter(|&k| k != place).map(allowed).collect();
            let mut listed = vec![0u64; sizes[place]];
            for (tuple, cost) in sparse.iter() {
                let paid = |k: usize| besides[k][tuple[k] as usize];
                let others = (0..sizes.len()).filter(|&k| k != place).fold(0, |total, k| sum(total, paid(k)));
                let value = tuple[place] as usize;
                listed[value] += u64::from(others < FORBIDDEN);
                least[value] = least[value].min(sum(sum(cost, paid(place)), others));
            }
            // other unary costs with the default are bounded by 0, because none is negative
            for (value, least) in least.iter_mut().enumerate() {
                if listed[value] < combinations(&others) {
                    *least = sum(sparse.default_cost(), besides[place][value]).min(*least);
                }
            }
        }
    }
    least
}

/// Returns the table with only some values (ascending) of the variable at a scope position.
pub(super) fn keep(table: &Table, sizes: &[usize], place: usize, kept: &[usize]) -> Table {
    match table {
        Table::Dense(costs) => {
            let mut axes = axes(sizes);
            axes[place] = kept.iter().map(|&value| axes[place][value]).collect();
            Table::dense(gather(&costs.wide(), &axes))
        }
        Table::Sparse(sparse) => {
            let (mut tuples, mut costs) = (Vec::new(), Vec::new());
            for (tuple, cost) in sparse.iter() {
                if let Ok(value) = kept.binary_search(&(tuple[place] as usize)) {
                    tuples
                        .extend(tuple.iter().enumerate().map(|(k, &old)| if k == place { value as u32 } else { old }));
                    costs.push(cost);
                }
            }
            Table::Sparse(SparseTable::new(sizes.len(), sparse.default_cost(), tuples, costs).into())
        }
    }
}

/// Returns the table with its variables rearranged: variable `k` of the result is variable `order[k]`. Omitted
/// variables must have one value.
pub(super) fn rearrange(table: &Table, sizes: &[usize], order: &[usize]) -> Table {
    match table {
        Table::Dense(costs) => {
            let axes = axes(sizes);
            Table::dense(gather(&costs.wide(), &order.iter().map(|&k| axes[k].clone()).collect::<Vec<_>>()))
        }
        Table::Sparse(sparse) => {
            let tuples = sparse.iter().flat_map(|(tuple, _)| order.iter().map(|&k| tuple[k])).collect();
            Table::Sparse(SparseTable::new(order.len(), sparse.default_cost(), tuples, sparse.costs().to_vec()).into())
        }
    }
}

/// Returns the sum of two tables of one scope.
pub(super) fn add(a: &Table, b: &Table, sizes: &[usize]) -> Result<Table, String> {
    if let (Table::Sparse(a), Table::Sparse(b)) = (a, b) {
        let (mut tuples, mut costs) = (Vec::new(), Vec::new());
        for (one, other) in [(a, b), (b, a)] {
            tuples.extend_from_slice(one.tuples());
            costs.extend(one.iter().map(|(tuple, cost)| sum(cost, other.get(tuple))));
        }
        let default = sum(a.default_cost(), b.default_cost());
        return Ok(Table::Sparse(SparseTable::new(sizes.len(), default, tuples, costs).into()));
    }
    let (a, b) = (dense(a, sizes)?, dense(b, sizes)?);
    Ok(Table::Dense(a.iter().zip(&b).map(|(a, b)| sum(a, b)).collect()))
}

/// Returns the least cost over the variables that `order` omits, the others rearranged.
pub(super) fn project(table: &Table, sizes: &[usize], order: &[usize]) -> Vec<Cost> {
    let kept: Vec<usize> = order.iter().map(|&k| sizes[k]).collect();
    let targets = axes(&kept);
    let mut result = vec![FORBIDDEN; combinations(&kept) as usize];
    // the offset of each value of each variable in the result: 0 for omitted variables
    let mut steps: Vec<Vec<usize>> = sizes.iter().map(|&size| vec![0; size]).collect();
    order.iter().zip(targets).for_each(|(&k, axis)| steps[k] = axis);
    match table {
        Table::Dense(costs) => {
            let Some((last, outer)) = steps.split_last() else { return costs.iter().collect() };
            let starts = sums(outer, 0, |a, b| a + b);
            for (costs, start) in costs.wide().chunks_exact(last.len()).zip(starts) {
                for (cost, place) in costs.iter().zip(last) {
                    result[start + place] = result[start + place].min(*cost);
                }
            }
        }
        Table::Sparse(sparse) => {
            let rest: Vec<usize> = (0..sizes.len()).filter(|k| !order.contains(k)).map(|k| sizes[k]).collect();
            let left_out = combinations(&rest);
            let mut listed = vec![0u64; result.len()];
            for (tuple, cost) in sparse.iter() {
                let place: usize = tuple.iter().zip(&steps).map(|(&value, steps)| steps[value as usize]).sum();
                result[place] = result[place].min(cost);
                listed[place] += 1;
            }
            for (least, &listed) in result.iter_mut().zip(&listed) {
                if listed < left_out {
                    *least = (*least).min(sparse.default_cost());
                }
            }
        }
    }
    result
}
