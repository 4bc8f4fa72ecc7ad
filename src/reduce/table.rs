//! Operations on single tables. Every dense rewrite (reorder, filter, fix, substitute) is one [`gather`].

use crate::model::{Cost, FORBIDDEN, Odometer, SparseTable, Table, Tables};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Sparse tables of up to this number of combinations are always made dense.
const ALWAYS_DENSE: u64 = 1 << 12;
/// Larger ones up to here only with enough tuples: a clause over twenty binary variables lists one tuple, and thousands
/// of dense tables for such clauses would fill any memory.
const OFTEN_DENSE: u64 = 1 << 20;
/// Combinations for each listed tuple above which a table stays sparse.
const DENSE_RATIO: u64 = 256;

/// Sums two costs that are at least 0 without a branch; anything plus forbidden is forbidden.
#[inline(always)]
pub(super) fn sum(a: Cost, b: Cost) -> Cost {
    (a + b).min(FORBIDDEN)
}

/// Distance in a dense table between neighbouring values of each variable.
pub(super) fn strides(sizes: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; sizes.len()];
    for k in (1..sizes.len()).rev() {
        strides[k - 1] = strides[k] * sizes[k];
    }
    strides
}

/// The table whose entry at values `(i, j, ..)` is `costs[axes[0][i] + axes[1][j] + ..]`.
pub(super) fn gather(costs: &[Cost], axes: &[Vec<usize>]) -> Vec<Cost> {
    let Some((last, outer)) = axes.split_last() else { return costs[..1].to_vec() };
    let mut result = Vec::with_capacity(axes.iter().map(Vec::len).product());
    let mut odometer = Odometer::new(outer.iter().map(Vec::len).collect());
    let mut origins = vec![0; axes.len()];
    let mut changed = 0;
    loop {
        for k in changed..outer.len() {
            origins[k + 1] = origins[k] + outer[k][odometer.digits[k]];
        }
        let origin = origins[outer.len()];
        result.extend(last.iter().map(|&offset| costs[origin + offset]));
        match odometer.advance() {
            Some(k) => changed = k,
            None => return result,
        }
    }
}

/// The offsets of all values along each variable.
pub(super) fn axes(sizes: &[usize]) -> Vec<Vec<usize>> {
    strides(sizes).iter().zip(sizes).map(|(&stride, &size)| (0..size).map(|value| value * stride).collect()).collect()
}

/// The dense form of a sparse table.
pub(super) fn densify(table: &SparseTable, sizes: &[usize]) -> Vec<Cost> {
    let strides = strides(sizes);
    let mut costs = vec![table.default_cost(); sizes.iter().product()];
    for (tuple, cost) in table.iter() {
        let index: usize = tuple.iter().zip(&strides).map(|(&value, stride)| value as usize * stride).sum();
        costs[index] = cost;
    }
    costs
}

/// Number of combinations, saturating.
pub(super) fn combinations(sizes: &[usize]) -> u64 {
    sizes.iter().fold(1, |product: u64, &size| product.saturating_mul(size as u64))
}

/// The dense form of a sparse table where it is small enough, otherwise the same.
pub(super) fn densify_small(table: Table, sizes: &[usize]) -> Table {
    let Table::Sparse(sparse) = &table else { return table };
    let room = combinations(sizes);
    if room <= ALWAYS_DENSE || room <= OFTEN_DENSE.min(DENSE_RATIO.saturating_mul(sparse.len() as u64)) {
        Table::dense(densify(sparse, sizes))
    } else {
        table
    }
}

/// Applies a function to each cost of a table.
pub(super) fn map(table: &Table, cost: impl Fn(Cost) -> Cost) -> Table {
    match table {
        Table::Dense(costs) => Table::Dense(costs.iter().map(|&c| cost(c)).collect()),
        Table::Sparse(sparse) => {
            let tuples = sparse.iter().flat_map(|(tuple, _)| tuple).copied().collect();
            let costs = sparse.iter().map(|(_, c)| cost(c)).collect();
            Table::Sparse(SparseTable::new(sparse.arity(), cost(sparse.default_cost()), tuples, costs).into())
        }
    }
}

/// The sum of two tables of one scope, all costs at least 0.
pub(super) fn merge(a: &Table, b: &Table, sizes: &[usize]) -> Table {
    match (a, b) {
        (Table::Dense(a), Table::Dense(b)) => Table::Dense(a.iter().zip(b.iter()).map(|(&a, &b)| sum(a, b)).collect()),
        (Table::Dense(a), Table::Sparse(b)) | (Table::Sparse(b), Table::Dense(a)) => {
            let b = densify(b, sizes);
            Table::Dense(a.iter().zip(b).map(|(&a, b)| sum(a, b)).collect())
        }
        (Table::Sparse(a), Table::Sparse(b)) => {
            let mut tuples = Vec::new();
            let mut costs = Vec::new();
            // tuples listed in both come twice with the same sum
            for (tuple, cost) in a.iter() {
                tuples.extend_from_slice(tuple);
                costs.push(sum(cost, b.get(tuple)));
            }
            for (tuple, cost) in b.iter() {
                tuples.extend_from_slice(tuple);
                costs.push(sum(cost, a.get(tuple)));
            }
            let default = sum(a.default_cost(), b.default_cost());
            Table::Sparse(SparseTable::new(sizes.len(), default, tuples, costs).into())
        }
    }
}

/// The table with its variables in another order: variable `k` of the result is variable `order[k]` of `table`.
pub(super) fn reorder(table: &Table, sizes: &[usize], order: &[usize]) -> Table {
    match table {
        Table::Dense(costs) => {
            let axes = axes(sizes);
            let axes: Vec<_> = order.iter().map(|&k| axes[k].clone()).collect();
            Table::dense(gather(costs, &axes))
        }
        Table::Sparse(sparse) => {
            let tuples = sparse.iter().flat_map(|(tuple, _)| order.iter().map(|&k| tuple[k])).collect();
            let costs = sparse.iter().map(|(_, cost)| cost).collect();
            Table::Sparse(SparseTable::new(order.len(), sparse.default_cost(), tuples, costs).into())
        }
    }
}

/// The table with only the values `kept` (ascending) of the variable at `position`.
pub(super) fn filter(table: &Table, sizes: &[usize], position: usize, kept: &[u32]) -> Table {
    match table {
        Table::Dense(costs) => {
            let inner: usize = sizes[position + 1..].iter().product();
            let block = inner * sizes[position];
            let rows =
                costs.chunks_exact(block).flat_map(|block| kept.iter().map(move |&v| (block, v as usize * inner)));
            let mut result = Vec::with_capacity(costs.len() / sizes[position] * kept.len());
            for (block, start) in rows {
                result.extend_from_slice(&block[start..start + inner]);
            }
            Table::dense(result)
        }
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

/// The table without the variable at `position`, which has one value left.
pub(super) fn drop_single(table: &Table, sizes: &[usize], position: usize) -> Table {
    debug_assert_eq!(sizes[position], 1);
    match table {
        Table::Dense(costs) => Table::Dense(costs.clone()),
        Table::Sparse(sparse) => {
            let mut tuples = Vec::new();
            for (tuple, _) in sparse.iter() {
                tuples.extend_from_slice(&tuple[..position]);
                tuples.extend_from_slice(&tuple[position + 1..]);
            }
            let costs = sparse.iter().map(|(_, cost)| cost).collect();
            Table::Sparse(SparseTable::new(sizes.len() - 1, sparse.default_cost(), tuples, costs).into())
        }
    }
}

/// For each value of each variable, one variable after the other, the least cost with that value.
pub(super) fn minima(table: &Table, sizes: &[usize]) -> Arc<[Cost]> {
    let mut minima = vec![FORBIDDEN; sizes.iter().sum()];
    let mut start = 0;
    match table {
        Table::Dense(costs) => {
            for (position, &size) in sizes.iter().enumerate() {
                let inner: usize = sizes[position + 1..].iter().product();
                let minima = &mut minima[start..start + size];
                for block in costs.chunks_exact(size * inner) {
                    if inner == 1 {
                        for (least, &cost) in minima.iter_mut().zip(block) {
                            *least = cost.min(*least);
                        }
                    } else {
                        for (least, row) in minima.iter_mut().zip(block.chunks_exact(inner)) {
                            *least = row.iter().fold(*least, |least, &cost| least.min(cost));
                        }
                    }
                }
                start += size;
            }
        }
        Table::Sparse(sparse) => {
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
            for &size in sizes {
                for index in start..start + size {
                    if listed[index] < room / size as u64 {
                        minima[index] = minima[index].min(sparse.default_cost());
                    }
                }
                start += size;
            }
        }
    }
    minima.into()
}

/// The largest finite cost.
pub(super) fn peak(table: &Table) -> Cost {
    let dearer = |peak: Cost, cost: Cost| if cost < FORBIDDEN { peak.max(cost) } else { peak };
    match table {
        Table::Dense(costs) => costs.iter().copied().fold(Cost::MIN, dearer),
        Table::Sparse(sparse) => {
            sparse.iter().map(|(_, cost)| cost).fold(dearer(Cost::MIN, sparse.default_cost()), dearer)
        }
    }
}

/// Whether nothing is forbidden.
pub(super) fn is_finite(table: &Table) -> bool {
    match table {
        Table::Dense(costs) => costs.iter().all(|&cost| cost < FORBIDDEN),
        Table::Sparse(sparse) => sparse.default_cost() < FORBIDDEN && sparse.iter().all(|(_, cost)| cost < FORBIDDEN),
    }
}

/// Forbids the entries from `limit` on; a table without such entries stays shared.
pub(super) fn forbid(table: &mut Table, limit: Cost) {
    let dear = |cost: Cost| cost >= limit && cost < FORBIDDEN;
    let any = match &*table {
        Table::Dense(costs) => costs.iter().any(|&cost| dear(cost)),
        Table::Sparse(sparse) => dear(sparse.default_cost()) || sparse.iter().any(|(_, cost)| dear(cost)),
    };
    if any {
        *table = map(table, |cost| if cost >= limit { FORBIDDEN } else { cost });
    }
}

/// The address of a table, and whether it is shared.
pub(super) fn address(table: &Table) -> (usize, bool) {
    match table {
        Table::Dense(costs) => (costs.as_ptr() as usize, Arc::strong_count(costs) > 1),
        Table::Sparse(sparse) => (Arc::as_ptr(sparse) as usize, Arc::strong_count(sparse) > 1),
    }
}

/// Stores equal tables once.
#[derive(Default)]
pub(super) struct Sharing {
    /// Tables seen, by address: shared ones need no second check. The tables are kept, so that no address is used again
    /// for another one.
    seen: FxHashMap<usize, (Table, Table)>,
    kept: Vec<Table>,
    places: Tables,
}

impl Sharing {
    /// Forbids the entries from `limit` on and replaces the table by an equal one seen before, if there is one.
    pub(super) fn share(&mut self, table: &mut Table, limit: Cost) {
        let (address, shared) = address(table);
        if let Some((_, result)) = self.seen.get(&address) {
            *table = result.clone();
            return;
        }
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
