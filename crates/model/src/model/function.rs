//! Cost functions: a scope and a table, dense or sparse (a default cost and exceptions).

use super::sums::CostSpan;
use super::{Cost, Costs, CostsIter, Entry, FORBIDDEN, Scope, on_entries};
use std::sync::Arc;

/// A function of the values of a few variables.
#[derive(Clone, Debug)]
pub struct CostFunction {
    /// The variables that the function reads, all different; empty for a constant.
    pub scope: Scope,
    /// The table of costs, shared between functions with equal tables.
    pub table: Table,
}

/// The table of a cost function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Table {
    /// One entry for each combination of values, the last variable of the scope varying fastest.
    Dense(Costs),
    /// A default cost and the tuples that differ from it.
    Sparse(Arc<SparseTable>),
}

/// A default cost and the tuples that differ from it, sorted lexicographically, so that look-up is a binary search.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SparseTable {
    arity: usize,
    default: Cost,
    /// `arity` values for each tuple, concatenated.
    tuples: Vec<u32>,
    costs: Vec<Cost>,
}

impl SparseTable {
    /// Builds the table. `tuples` holds `arity` values for each tuple; if a tuple occurs several times, its last cost
    /// counts.
    pub fn new(arity: usize, default: Cost, tuples: Vec<u32>, costs: Vec<Cost>) -> Self {
        debug_assert_eq!(tuples.len(), arity * costs.len());
        let row = |i: usize| &tuples[i * arity..(i + 1) * arity];
        if (1..costs.len()).all(|i| row(i - 1) < row(i)) {
            // most files are sorted, and then a large table is not copied
            let (mut tuples, mut costs) = (tuples, costs);
            tuples.shrink_to_fit();
            costs.shrink_to_fit();
            return SparseTable { arity, default, tuples, costs };
        }
        let mut order: Vec<usize> = (0..costs.len()).collect();
        order.sort_by(|&a, &b| row(a).cmp(row(b)));
        let mut sorted = SparseTable {
            arity,
            default,
            tuples: Vec::with_capacity(tuples.len()),
            costs: Vec::with_capacity(costs.len()),
        };
        for (k, &i) in order.iter().enumerate() {
            if order.get(k + 1).is_some_and(|&next| row(next) == row(i)) {
                continue;
            }
            sorted.tuples.extend_from_slice(row(i));
            sorted.costs.push(costs[i]);
        }
        sorted
    }

    /// Returns a table of these tuples with each cost replaced by `cost` of it.
    pub fn map(&self, cost: impl Fn(Cost) -> Cost) -> SparseTable {
        SparseTable {
            arity: self.arity,
            default: cost(self.default),
            tuples: self.tuples.clone(),
            costs: self.costs.iter().map(|&old| cost(old)).collect(),
        }
    }

    /// Returns the default cost.
    pub fn default_cost(&self) -> Cost {
        self.default
    }

    /// Returns the number of variables.
    pub fn arity(&self) -> usize {
        self.arity
    }

    /// Returns the number of listed tuples.
    pub fn len(&self) -> usize {
        self.costs.len()
    }

    /// Returns whether no tuple is listed.
    pub fn is_empty(&self) -> bool {
        self.costs.is_empty()
    }

    /// Returns the listed tuples concatenated, `arity` values each, in lexicographic order.
    pub fn tuples(&self) -> &[u32] {
        &self.tuples
    }

    /// Returns the costs of the listed tuples.
    pub fn costs(&self) -> &[Cost] {
        &self.costs
    }

    /// Iterates over the listed tuples and their costs, in lexicographic order.
    pub fn iter(&self) -> impl Iterator<Item = (&[u32], Cost)> {
        self.costs.iter().enumerate().map(|(i, &cost)| (&self.tuples[i * self.arity..(i + 1) * self.arity], cost))
    }

    /// Returns the cost of a tuple.
    pub fn get(&self, values: &[u32]) -> Cost {
        let (mut low, mut high) = (0, self.costs.len());
        while low < high {
            let middle = (low + high) / 2;
            match self.tuples[middle * self.arity..(middle + 1) * self.arity].cmp(values) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return self.costs[middle],
            }
        }
        self.default
    }
}

impl CostFunction {
    /// Returns the cost of a complete assignment (`assignment[v]` is the value of variable `v`).
    pub fn cost(&self, domains: &[u32], assignment: &[u32]) -> Cost {
        self.cost_at(domains, |v| assignment[v as usize])
    }

    /// Returns the cost when `value` gives the value of each variable of the scope.
    #[inline(always)]
    pub fn cost_at(&self, domains: &[u32], value: impl Fn(u32) -> u32) -> Cost {
        match &self.table {
            Table::Dense(costs) => {
                let next = |index: usize, &v: &u32| index * domains[v as usize] as usize + value(v) as usize;
                costs.get(self.scope.iter().fold(0, next))
            }
            Table::Sparse(table) => {
                let mut values = [0u32; 64];
                if self.scope.len() <= values.len() {
                    for (place, &v) in values.iter_mut().zip(&self.scope) {
                        *place = value(v);
                    }
                    table.get(&values[..self.scope.len()])
                } else {
                    table.get(&self.scope.iter().map(|&v| value(v)).collect::<Vec<u32>>())
                }
            }
        }
    }

    /// Iterates over the costs of all combinations of values, the last variable of the scope varying fastest.
    pub fn entries(&self, domains: &[u32]) -> impl Iterator<Item = Cost> {
        let mut odometer = Odometer::new(self.scope.iter().map(|&v| domains[v as usize] as usize).collect());
        (0..self.combinations(domains) as usize).map(move |index| {
            let cost = match &self.table {
                Table::Dense(costs) => costs.get(index),
                Table::Sparse(table) => {
                    table.get(&odometer.digits.iter().map(|&digit| digit as u32).collect::<Vec<u32>>())
                }
            };
            let _ = odometer.advance();
            cost
        })
    }

    /// Returns the number of combinations of values, saturating.
    pub fn combinations(&self, domains: &[u32]) -> u64 {
        combinations(&self.scope, domains)
    }

    /// Returns the least cost of any combination.
    pub fn min(&self, domains: &[u32]) -> Cost {
        match &self.table {
            Table::Dense(costs) => costs.min().unwrap_or(0),
            Table::Sparse(table) => {
                let listed = table.costs.iter().copied().min().unwrap_or(FORBIDDEN);
                if (table.len() as u64) < self.combinations(domains) { listed.min(table.default) } else { listed }
            }
        }
    }
}

fn combinations(scope: &[u32], domains: &[u32]) -> u64 {
    scope.iter().fold(1u64, |product, &v| product.saturating_mul(u64::from(domains[v as usize])))
}

/// A counter that enumerates all combinations of values, the last position varying fastest.
pub struct Odometer {
    sizes: Vec<usize>,
    /// The current combination.
    pub digits: Vec<usize>,
}

impl Odometer {
    /// Starts at the first combination of positions with `sizes` values each.
    pub fn new(sizes: Vec<usize>) -> Self {
        Odometer { digits: vec![0; sizes.len()], sizes }
    }

    /// Advances to the next combination and returns the first position that changed; `None` after the last combination.
    #[inline]
    pub fn advance(&mut self) -> Option<usize> {
        for k in (0..self.sizes.len()).rev() {
            self.digits[k] += 1;
            if self.digits[k] < self.sizes[k] {
                return Some(k);
            }
            self.digits[k] = 0;
        }
        None
    }
}

impl Table {
    /// Builds a dense table of these costs.
    pub fn dense(costs: Vec<Cost>) -> Self {
        Table::Dense(costs.into())
    }

    /// Iterates over all costs; for a sparse table these are the listed costs and the default, even if no tuple has it.
    pub fn costs(&self) -> impl Iterator<Item = Cost> + Clone {
        let (costs, default) = match self {
            Table::Dense(costs) => (costs.iter(), None),
            Table::Sparse(table) => (CostsIter::from(&table.costs[..]), Some(table.default)),
        };
        costs.chain(default)
    }

    /// Returns the least and largest costs of the combinations of a scope.
    pub(super) fn span(&self, scope: &[u32], domains: &[u32]) -> CostSpan {
        match self {
            Table::Dense(costs) => {
                on_entries!(costs, entries => CostSpan::of(entries.iter().copied().map(Entry::cost)))
            }
            Table::Sparse(table) => {
                let has_default = (table.len() as u64) < combinations(scope, domains);
                CostSpan::of(table.costs.iter().copied().chain(has_default.then_some(table.default)))
            }
        }
    }

    /// Returns the table with each cost replaced by `cost` of it.
    pub fn map(&self, cost: impl Fn(Cost) -> Cost) -> Table {
        match self {
            Table::Dense(costs) => Table::Dense(costs.iter().map(cost).collect()),
            Table::Sparse(table) => Table::Sparse(table.map(cost).into()),
        }
    }

    /// Returns the address of the entries, which is equal for functions that share them.
    pub fn address(&self) -> usize {
        match self {
            Table::Dense(costs) => costs.address(),
            Table::Sparse(table) => Arc::as_ptr(table) as usize,
        }
    }

    /// Returns how many functions and clones share the entries, this one included.
    pub fn owners(&self) -> usize {
        match self {
            Table::Dense(costs) => costs.owners(),
            Table::Sparse(table) => Arc::strong_count(table),
        }
    }

    /// Returns the number of costs in a dense table, however they are stored; for a sparse table, the number of costs
    /// that would take the same memory.
    pub fn size(&self) -> usize {
        match self {
            Table::Dense(costs) => costs.len(),
            Table::Sparse(_) => self.bytes() / size_of::<Cost>(),
        }
    }

    /// Returns the number of bytes of the entries, tuples included.
    pub fn bytes(&self) -> usize {
        match self {
            Table::Dense(costs) => costs.bytes(),
            Table::Sparse(table) => size_of_val(&table.costs[..]) + size_of_val(&table.tuples[..]),
        }
    }
}
