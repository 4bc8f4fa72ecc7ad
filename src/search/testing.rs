//! Random small cores for the tests of the search, and brute force over them.

use crate::model::{Cost, CostFunction, FORBIDDEN, Problem, SparseTable, Table};
use crate::rng::Rng;

/// A random core: arity 1 to 4, domains of 1 to 9 values, forbidden entries, ties, dense, sparse, and shared tables;
/// one in eight with costs that do not fit 32 bits.
pub(super) fn random(rng: &mut Rng) -> Problem {
    random_of(rng, true)
}

/// The same without tables that are read in place.
pub(super) fn random_dense(rng: &mut Rng) -> Problem {
    random_of(rng, false)
}

fn random_of(rng: &mut Rng, sparse: bool) -> Problem {
    let n = 1 + rng.index(8);
    let most = [2, 3, 9][rng.index(3)];
    let domains: Vec<u32> = (0..n).map(|_| 1 + rng.below(most) as u32).collect();
    let high = [1, 3, 50, 1000, 20, 2, 7, 1 << 50][rng.index(8)];
    let forbidden = rng.below(4);
    let cost = |rng: &mut Rng| if rng.below(10) < forbidden { FORBIDDEN } else { rng.below(high + 1) as Cost };
    let unary =
        domains.iter().map(|&d| (0..d).map(|_| if rng.below(2) == 0 { 0 } else { cost(rng) }).collect()).collect();
    let mut functions: Vec<CostFunction> = Vec::new();
    for _ in 0..rng.index(2 * n + 1) {
        let mut scope: Vec<u32> = (0..n as u32).collect();
        rng.shuffle(&mut scope);
        scope.truncate([2, 2, 2, 3, 4][rng.index(5)]);
        scope.sort_unstable();
        if scope.len() < 2 || functions.iter().any(|function| function.scope[..] == scope) {
            continue;
        }
        let sizes = |scope: &[u32]| scope.iter().map(|&v| domains[v as usize]).collect::<Vec<_>>();
        let twin = functions.iter().find(|function| sizes(&function.scope) == sizes(&scope));
        let table = match (rng.below(4), twin) {
            (0, Some(twin)) => twin.table.clone(),
            (1, _) if sparse => sparse_table(rng, &sizes(&scope), cost),
            _ => Table::dense((0..sizes(&scope).iter().product::<u32>()).map(|_| cost(rng)).collect()),
        };
        functions.push(CostFunction { scope: scope.into(), table });
    }
    let top = if rng.below(3) == 0 { rng.below(3 * high) as Cost } else { FORBIDDEN };
    Problem { domains, unary, functions, constant: rng.below(9) as Cost - 4, top }
}

fn sparse_table(rng: &mut Rng, sizes: &[u32], cost: impl Fn(&mut Rng) -> Cost) -> Table {
    let count = rng.index(6);
    let mut tuples = Vec::new();
    for _ in 0..count {
        tuples.extend(sizes.iter().map(|&size| rng.below(u64::from(size)) as u32));
    }
    let costs = (0..count).map(|_| cost(rng)).collect();
    Table::Sparse(SparseTable::new(sizes.len(), cost(rng), tuples, costs).into())
}

/// A random assignment.
pub(super) fn assignment(problem: &Problem, rng: &mut Rng) -> Vec<u16> {
    problem.domains.iter().map(|&domain| rng.below(u64::from(domain)) as u16).collect()
}

/// What a forbidden entry should cost.
pub(super) fn price(problem: &Problem) -> Cost {
    problem.top.saturating_sub(problem.constant).max(1)
}

/// Calls `visit` with every assignment that differs from `values` at most in `free`; says how many there are, without
/// any call where they are more than a test has time for.
pub(super) fn for_all(problem: &Problem, values: &[u16], free: &[u32], mut visit: impl FnMut(&[u16])) -> usize {
    let domain = |v: &u32| problem.domains[*v as usize] as usize;
    let count = free.iter().map(domain).product();
    let mut values = values.to_vec();
    for index in 0..if count <= 20_000 { count } else { 0 } {
        let mut left = index;
        for v in free {
            values[*v as usize] = (left % domain(v)) as u16;
            left /= domain(v);
        }
        visit(&values);
    }
    count
}
