//! Global cost functions that are sums over pairs of variables.

use crate::model::{Cost, CountCost, FORBIDDEN, GlobalKind, Measure, Part, Parts, Table, Target};
use rustc_hash::{FxHashMap, FxHashSet};

/// The number of combinations of values up to which a function of two variables becomes a single table, because it has
/// no smaller form: 128 MiB of costs.
pub(super) const WHOLE_PAIR: u64 = 1 << 24;

/// Returns the pairs of a function that consists of them (forbidden or priced equal values, forbidden pairs of values);
/// `None` for other functions, or if the table of a pair would be too large.
pub(super) fn of(kind: &GlobalKind, scope: &[u32], sizes: &[u32], limit: Cost) -> Option<Parts> {
    let mut largest = sizes.to_vec();
    largest.sort_unstable_by(|a, b| b.cmp(a));
    if let [first, second, ..] = largest[..]
        && u64::from(first) * u64::from(second) > WHOLE_PAIR
    {
        return None;
    }
    match kind {
        GlobalKind::EqualPairs { price } => {
            let price = if *price >= limit { FORBIDDEN } else { *price };
            let pairs = (scope.len() * (scope.len() - 1) / 2) as Cost;
            let sums = price < FORBIDDEN && pairs.saturating_mul(price) >= limit;
            let cost = |x: u32, y: u32| if x == y { price } else { 0 };
            Some(Parts { sums, ..pairs_of(scope, sizes, |_, x, _, y| cost(x, y)) })
        }
        GlobalKind::Counting(counting) => {
            let CountCost::Each(price) = counting.cost else { return None };
            let is_different = counting.bounds.iter().all(|bound| bound.low <= 0 && bound.high == 1);
            if !is_different || price.cost < limit {
                return None;
            }
            let bounded: FxHashSet<u32> = counting.bounds.iter().map(|bound| bound.value).collect();
            let class = |position: usize, value: u32| match &counting.classes {
                Some(classes) => classes[position][value as usize],
                None => value,
            };
            let clash = |i: usize, x: u32, j: usize, y: u32| {
                let of = class(i, x);
                if of == class(j, y) && bounded.contains(&of) { FORBIDDEN } else { 0 }
            };
            Some(pairs_of(scope, sizes, clash))
        }
        GlobalKind::Linear(linear) => {
            let is_clique = linear.weights.iter().flatten().all(|&weight| weight == 0 || weight == 1)
                && matches!(linear.target, Target::Within(..=0, 1))
                && linear.price.cost >= limit
                && linear.price.measure == Measure::Hard
                && linear.at_most_one.is_empty();
            let weight = |position: usize, value: u32| linear.weights[position][value as usize];
            let clash =
                |i: usize, x: u32, j: usize, y: u32| if weight(i, x) + weight(j, y) > 1 { FORBIDDEN } else { 0 };
            is_clique.then(|| pairs_of(scope, sizes, clash))
        }
        _ => None,
    }
}

fn pairs_of(scope: &[u32], sizes: &[u32], cost: impl Fn(usize, u32, usize, u32) -> Cost) -> Parts {
    let mut tables = Vec::with_capacity(scope.len() * scope.len() / 2);
    // most pairs have equal tables, which are stored once
    let mut last: FxHashMap<[u32; 2], Table> = FxHashMap::default();
    for j in 1..scope.len() {
        for i in 0..j {
            let cost = &cost;
            let costs: Vec<Cost> = (0..sizes[i]).flat_map(|x| (0..sizes[j]).map(move |y| cost(i, x, j, y))).collect();
            if costs.iter().any(|&cost| cost != 0) {
                let table = Table::dense(costs);
                let known = last.entry([sizes[i], sizes[j]]).or_insert_with(|| table.clone());
                if *known != table {
                    *known = table;
                }
                tables.push((vec![Part::Own(scope[i]), Part::Own(scope[j])], known.clone()));
            }
        }
    }
    Parts { tables, ..Parts::default() }
}
