//! Values of long domains that no function names. All functions treat them alike, so the first one represents all of
//! them, and the memory of a network depends on the size of its file, not on the domain sizes that it states.

use super::tuning::LONG;
use crate::model::{CostFunction, Network, SparseTable, Table};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The remaining values of long domains, by variable: the named ones and the first unnamed one, ascending.
#[derive(Default)]
pub(super) struct Named(FxHashMap<u32, Arc<[u32]>>);

/// Returns the values of long domains that must be distinguished.
pub(super) fn values(network: &Network) -> Named {
    let domains = network.domains();
    let long = |v: u32| domains[v as usize] > LONG;
    let mut named: FxHashMap<u32, Vec<u32>> =
        (0..domains.len() as u32).filter(|&v| long(v)).map(|v| (v, Vec::new())).collect();
    if named.is_empty() {
        return Named::default();
    }
    for function in network.functions() {
        for (position, v) in function.scope.iter().enumerate().filter(|&(_, &v)| long(v)) {
            match &function.table {
                // an entry for each value, so all are named
                Table::Dense(_) => drop(named.remove(v)),
                Table::Sparse(sparse) => {
                    let values = sparse.tuples().chunks_exact(sparse.arity()).map(|tuple| tuple[position]);
                    if let Some(named) = named.get_mut(v) {
                        named.extend(values);
                    }
                }
            }
        }
    }
    let kept = named.into_iter().map(|(v, mut values)| {
        values.sort_unstable();
        values.dedup();
        let first =
            (0..).zip(&values).find(|&(free, &value)| free < value).map_or(values.len() as u32, |(free, _)| free);
        if first < domains[v as usize] {
            values.insert(first as usize, first);
        }
        (v, values.into())
    });
    Named(kept.collect())
}

impl Named {
    pub fn values(&self, v: u32) -> Option<Arc<[u32]>> {
        self.0.get(&v).cloned()
    }

    /// Returns the number of remaining values of a long domain.
    pub fn domain(&self, v: u32) -> Option<u32> {
        self.0.get(&v).map(|values| values.len() as u32)
    }

    /// Returns the table of a function over the remaining values, if it changes.
    pub fn table(&self, function: &CostFunction) -> Option<Table> {
        let Table::Sparse(sparse) = &function.table else { return None };
        let kept: Vec<Option<&Arc<[u32]>>> = function.scope.iter().map(|v| self.0.get(v)).collect();
        if kept.iter().all(Option::is_none) {
            return None;
        }
        let place = |(&value, kept): (&u32, &Option<&Arc<[u32]>>)| {
            kept.and_then(|kept| kept.binary_search(&value).ok()).map_or(value, |place| place as u32)
        };
        let tuples = sparse.iter().flat_map(|(tuple, _)| tuple.iter().zip(&kept).map(place)).collect();
        let (default, costs) = (sparse.default_cost(), sparse.costs().to_vec());
        Some(Table::Sparse(SparseTable::new(sparse.arity(), default, tuples, costs).into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check;
    use crate::formats::{Format, ReadOptions, read_from};
    use crate::reduce::Reducer;
    use crate::rng::Rng;
    use crate::stop::Stop;

    fn network(text: &str) -> Network {
        read_from(text.as_bytes(), "t.wcsp", Format::Wcsp, &ReadOptions::default(), &Stop::new()).expect("a network")
    }

    #[test]
    fn one_value_stands_for_all_unnamed_ones() {
        let named = |text: &str| values(&network(text)).values(0).map(|values| values.to_vec());
        assert_eq!(named("t 1 70000 1 9 70000 1 0 4 2 0 1 1 2"), Some(vec![0, 1, 2]));
        assert_eq!(named("t 1 70000 1 9 70000 1 0 4 2 1 1 69999 2"), Some(vec![0, 1, 69999]));
        assert_eq!(named("t 1 70000 0 9 70000"), Some(vec![0]));
        // all values are named, or the domain is not long
        let all: String = (0..65536).map(|value| format!(" {value} 1")).collect();
        assert_eq!(named(&format!("t 1 65536 1 9 65536 1 0 4 65536{all}")), None);
        assert_eq!(named("t 1 65535 1 9 65535 1 0 4 1 1 1"), None);
    }

    /// Checks on small random functions over long domains that the optimum is that of all combinations of named values
    /// and one unnamed value.
    #[test]
    fn the_optimum_stays() {
        let mut rng = Rng::new(7);
        for case in 0..40 {
            let domain = 65536 + rng.index(1 << 20) as u32;
            let mut text = format!("t 3 {domain} 4 1000 {domain} {domain} 3 ");
            let pick =
                |few: bool, rng: &mut Rng| if few { rng.index(3) as u32 } else { [0, 1, 5, domain - 1][rng.index(4)] };
            for scope in [&[0, 1][..], &[1, 2], &[0], &[0, 2]] {
                let scope_text: Vec<String> = scope.iter().map(|v: &u32| v.to_string()).collect();
                let tuples = 1 + rng.index(5);
                text += &format!("{} {} {} {tuples} ", scope.len(), scope_text.join(" "), rng.index(9));
                for _ in 0..tuples {
                    let values: Vec<String> = scope.iter().map(|&v| pick(v == 2, &mut rng).to_string()).collect();
                    text += &format!("{} {} ", values.join(" "), rng.index(20));
                }
            }
            let network = network(&text);
            let values = [0, 1, 2, 5, domain - 1];
            let mut best = i64::MAX;
            for (a, b, c) in (0..75).map(|k| (k / 15, k / 3 % 5, k % 3)) {
                best = best.min(check::evaluate(&network, &[values[a], values[b], c as u32]).cost);
            }
            for reduce in [false, true] {
                let reducer = Reducer::new(&network, reduce, &Stop::new()).expect("the flag is not set");
                let problem = reducer.problem(&Stop::new()).expect("no stop is set");
                assert!(problem.domains.iter().all(|&domain| domain <= 5), "case {case}: {:?}", problem.domains);
                let found = combinations(&problem.domains).map(|core| {
                    let cost = problem.cost(&core);
                    assert!(
                        cost >= problem.top
                            || check::evaluate(&network, &reducer.lift(&core, &Stop::new()).expect("no stop is set"))
                                .cost
                                == cost,
                        "case {case}"
                    );
                    cost
                });
                assert_eq!(found.min(), Some(best), "case {case}: {text}");
            }
        }
    }

    fn combinations(domains: &[u32]) -> impl Iterator<Item = Vec<u32>> {
        let all: u32 = domains.iter().product();
        (0..all).map(|mut k| {
            let digit = |&domain: &u32| {
                let digit = k % domain;
                k /= domain;
                digit
            };
            domains.iter().map(digit).collect()
        })
    }
}
