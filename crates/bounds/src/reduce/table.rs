//! Operations on single tables. Every dense rewrite (reorder, filter, fix, substitute) is one [`gather`].

use super::tuning::{ALWAYS_DENSE, DENSE_RATIO, OFTEN_DENSE};
use crate::model::{Cost, CostFunction, Costs, Entry, FORBIDDEN, SparseTable, Table, Tables, on_entries};
use crate::tensor::strides;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Returns the sum of two costs that are at least 0, without a branch; anything plus forbidden is forbidden.
#[inline(always)]
pub(super) fn sum(a: Cost, b: Cost) -> Cost {
    (a + b).min(FORBIDDEN)
}

/// Returns the table whose entry at values `(i, j, ..)` is `costs[axes[0][i] + axes[1][j] + ..]`.
pub(super) fn gather(costs: &Costs, axes: &[Vec<usize>]) -> Vec<Cost> {
    on_entries!(costs, entries => gather_entries(entries, axes))
}

fn gather_entries<T: Entry>(entries: &[T], axes: &[Vec<usize>]) -> Vec<Cost> {
    let Some((last, outer)) = axes.split_last() else { return vec![entries[0].cost()] };
    let next = |starts: Vec<usize>, axis: &Vec<usize>| {
        starts.iter().flat_map(|start| axis.iter().map(move |offset| start + offset)).collect()
    };
    let starts = outer.iter().fold(vec![0], next);
    let mut result = Vec::with_capacity(starts.len() * last.len());
    for start in starts {
        result.extend(last.iter().map(|offset| entries[start + offset].cost()));
    }
    result
}

/// Returns the offsets of all values along each variable.
pub(super) fn axes(sizes: &[usize]) -> Vec<Vec<usize>> {
    strides(sizes).iter().zip(sizes).map(|(&stride, &size)| (0..size).map(|value| value * stride).collect()).collect()
}

pub(super) fn dense(table: &Table, sizes: &[usize]) -> Costs {
    let sparse = match table {
        Table::Dense(costs) => return costs.clone(),
        Table::Sparse(sparse) => sparse,
    };
    let strides = strides(sizes);
    let mut costs = vec![sparse.default_cost(); sizes.iter().product()];
    for (tuple, cost) in sparse.iter() {
        costs[tuple.iter().zip(&strides).map(|(&value, stride)| value as usize * stride).sum::<usize>()] = cost;
    }
    costs.into()
}

/// Returns the number of combinations, saturating.
pub(super) fn combinations(sizes: &[usize]) -> u64 {
    sizes.iter().fold(1, |product: u64, &size| product.saturating_mul(size as u64))
}

/// Returns the dense form of a sparse table if it is small enough, otherwise the table itself.
pub(super) fn densify_small(table: Table, sizes: &[usize]) -> Table {
    let Table::Sparse(sparse) = &table else { return table };
    let room = combinations(sizes);
    let small = room <= ALWAYS_DENSE || room <= OFTEN_DENSE.min(DENSE_RATIO.saturating_mul(sparse.len() as u64));
    if small { Table::Dense(dense(&table, sizes)) } else { table }
}

/// Returns the sum of two tables of one scope, all costs being at least 0.
pub(super) fn merge(a: &Table, b: &Table, sizes: &[usize]) -> Table {
    let (Table::Sparse(a), Table::Sparse(b)) = (a, b) else {
        let (a, b) = (dense(a, sizes), dense(b, sizes));
        let mut sums = a.wide().into_owned();
        on_entries!(b, b => sums.iter_mut().zip(b).for_each(|(a, b)| *a = sum(*a, b.cost())));
        return Table::dense(sums);
    };
    let (mut tuples, mut costs) = (Vec::new(), Vec::new());
    // tuples listed in both come twice with the same sum
    for (one, other) in [(a, b), (b, a)] {
        tuples.extend_from_slice(one.tuples());
        costs.extend(one.iter().map(|(tuple, cost)| sum(cost, other.get(tuple))));
    }
    let default = sum(a.default_cost(), b.default_cost());
    Table::Sparse(SparseTable::new(sizes.len(), default, tuples, costs).into())
}

/// Returns the table with its variables in another order: variable `k` of the result is variable `order[k]` of `table`.
/// Omitted variables must have one value.
pub(super) fn reorder(table: &Table, sizes: &[usize], order: &[usize]) -> Table {
    match table {
        Table::Dense(_) if order.is_sorted() => table.clone(),
        Table::Dense(costs) => {
            let axes = axes(sizes);
            Table::dense(gather(costs, &order.iter().map(|&k| axes[k].clone()).collect::<Vec<_>>()))
        }
        Table::Sparse(sparse) => {
            let tuples = sparse.iter().flat_map(|(tuple, _)| order.iter().map(|&k| tuple[k])).collect();
            Table::Sparse(SparseTable::new(order.len(), sparse.default_cost(), tuples, sparse.costs().to_vec()).into())
        }
    }
}

/// Returns the table with only the values `kept` (ascending) of the variable at `position`.
pub(super) fn filter(table: &Table, sizes: &[usize], position: usize, kept: &[u32]) -> Table {
    match table {
        Table::Dense(costs) => Table::dense(on_entries!(costs, entries => rows(entries, sizes, position, kept))),
        Table::Sparse(sparse) => {
            let mut tuples = Vec::new();
            let mut costs = Vec::new();
            for (tuple, cost) in sparse.iter() {
                if let Ok(value) = kept.binary_search(&tuple[position]) {
                    let start = tuples.len();
                    tuples.extend_from_slice(tuple);
                    tuples[start + position] = value as u32;
                    costs.push(cost);
                }
            }
            Table::Sparse(SparseTable::new(sizes.len(), sparse.default_cost(), tuples, costs).into())
        }
    }
}

/// Returns the entries with the values `kept` of the variable at `position`.
fn rows<T: Entry>(entries: &[T], sizes: &[usize], position: usize, kept: &[u32]) -> Vec<Cost> {
    let inner: usize = sizes[position + 1..].iter().product();
    let block = inner * sizes[position];
    let rows = entries.chunks_exact(block).flat_map(|block| kept.iter().map(move |&v| (block, v as usize * inner)));
    let mut result = Vec::with_capacity(entries.len() / sizes[position] * kept.len());
    for (block, start) in rows {
        result.extend(block[start..start + inner].iter().map(|entry| entry.cost()));
    }
    result
}

/// Returns the least cost with each value of each variable, one variable after the other.
pub(super) fn minima(table: &Table, sizes: &[usize]) -> Costs {
    match table {
        Table::Dense(costs) => on_entries!(costs, entries => minima_of_dense(entries, sizes)),
        Table::Sparse(sparse) => minima_of_sparse(sparse, sizes),
    }
}

fn minima_of_dense<T: Entry>(entries: &[T], sizes: &[usize]) -> Costs {
    let mut minima = vec![T::FORBIDDEN; sizes.iter().sum()];
    let mut start = 0;
    for (position, &size) in sizes.iter().enumerate() {
        let inner: usize = sizes[position + 1..].iter().product();
        let minima = &mut minima[start..start + size];
        for block in entries.chunks_exact(size * inner) {
            if inner == 1 {
                for (least, &entry) in minima.iter_mut().zip(block) {
                    *least = entry.min(*least);
                }
            } else {
                for (least, row) in minima.iter_mut().zip(block.chunks_exact(inner)) {
                    *least = row.iter().fold(*least, |least, &entry| least.min(entry));
                }
            }
        }
        start += size;
    }
    minima.into_iter().map(Entry::cost).collect()
}

fn minima_of_sparse(sparse: &SparseTable, sizes: &[usize]) -> Costs {
    let mut minima = vec![FORBIDDEN; sizes.iter().sum()];
    let room = combinations(sizes);
    let mut listed = vec![0u64; minima.len()];
    for (tuple, cost) in sparse.iter() {
        let mut start = 0;
        for (&value, &size) in tuple.iter().zip(sizes) {
            let index = start + value as usize;
            minima[index] = minima[index].min(cost);
            listed[index] += 1;
            start += size;
        }
    }
    let mut start = 0;
    for &size in sizes {
        for index in start..start + size {
            if listed[index] < room / size as u64 {
                minima[index] = minima[index].min(sparse.default_cost());
            }
        }
        start += size;
    }
    minima.into()
}

/// Returns the largest finite cost.
pub(super) fn peak(table: &Table) -> Cost {
    table.costs().fold(Cost::MIN, |peak, cost| if cost < FORBIDDEN { peak.max(cost) } else { peak })
}

/// Forbids the entries from `limit` on; a table without such entries stays shared.
fn forbid(table: &mut Table, limit: Cost) {
    if peak(table) >= limit {
        *table = table.map(|cost| if cost >= limit { FORBIDDEN } else { cost });
    }
}

/// Returns whether a table has another owner.
fn is_shared(table: &Table) -> bool {
    let holders = match table {
        Table::Dense(costs) => costs.owners(),
        Table::Sparse(sparse) => Arc::strong_count(sparse),
    };
    holders > 1
}

/// Returns the addresses of tables that several functions share.
pub(super) fn repeated(functions: &[CostFunction]) -> Vec<usize> {
    let shared = functions.iter().filter(|function| is_shared(&function.table));
    let mut addresses: Vec<usize> = shared.map(|function| function.table.address()).collect();
    addresses.sort_unstable();
    addresses.chunk_by(|a, b| a == b).filter(|equal| equal.len() > 1).map(|equal| equal[0]).collect()
}

/// A store of tables in which equal tables are kept once.
pub(super) struct Sharing {
    /// Results by address of tables that others own too, which need no second comparison. The tables are kept, so that
    /// no address is reused.
    seen: FxHashMap<usize, (Table, Table)>,
    kept: Vec<Table>,
    places: Tables,
}

impl Sharing {
    /// Creates a store with room for this many different tables: to grow to a million takes tenths of a second.
    pub(super) fn new(tables: usize) -> Self {
        let (kept, places) = (Vec::with_capacity(tables), Tables::default());
        Sharing { kept, places, seen: FxHashMap::default() }
    }

    /// Forbids the entries from `limit` on and replaces the table by an equal one seen before, if there is one.
    pub(super) fn share(&mut self, table: &mut Table, limit: Cost) {
        let address = table.address();
        if let Some((_, result)) = self.seen.get(&address) {
            *table = result.clone();
            return;
        }
        let shared = is_shared(table);
        let original = table.clone();
        forbid(table, limit);
        let Sharing { kept, places, .. } = self;
        let first = places.first(table, kept.len() as u32, |known| kept[known as usize] == *table) as usize;
        match kept.get(first) {
            Some(known) => *table = known.clone(),
            None => kept.push(table.clone()),
        }
        if shared {
            let _ = self.seen.insert(address, (original, table.clone()));
        }
    }
}
