//! Random small reduced problems for tests of the search, and enumeration of their assignments.

use crate::Shape;
use fangs_base::rng::Rng;
use fangs_model::model::{Cost, CostFunction, FORBIDDEN, Problem, Table};
use std::sync::Arc;

/// Returns a random reduced problem: arity 2 to 4, domains of 1 to 9 values, forbidden entries, ties, and dense, sparse
/// and shared tables; about one in eight has costs that do not fit 32 bits.
pub fn random(rng: &mut Rng) -> Problem {
    random_of(rng, true)
}

/// Like [`random`], but without sparse tables, which a search reads in place.
pub fn random_dense(rng: &mut Rng) -> Problem {
    random_of(rng, false)
}

fn random_of(rng: &mut Rng, sparse: bool) -> Problem {
    let n = 1 + rng.index(8);
    let high = [1, 3, 50, 1000, 20, 2, 7, 1 << 50][rng.index(8)];
    let shape = Shape {
        variables: n,
        domains: &[1, 2, 3, 4, 5, 6, 7, 8, 9][..[2, 3, 9][rng.index(3)]],
        functions: rng.index(2 * n + 1),
        arities: &[2, 2, 2, 3, 4],
        costs: (0, high),
        forbidden: rng.below(4),
        sparse: (if sparse { 3 } else { 0 }, 5),
        shared: 3,
        ..Shape::PLAIN
    };
    let top = if rng.below(3) == 0 { rng.below(3 * high as u64) as Cost } else { FORBIDDEN };
    let mut problem = shape.problem(rng);
    problem.top = top;
    problem
}

/// Returns a random assignment.
pub fn assignment(problem: &Problem, rng: &mut Rng) -> Vec<u16> {
    problem.domains.iter().map(|&domain| rng.below(u64::from(domain)) as u16).collect()
}

/// Returns a price for a forbidden entry: the problem's `top` minus its constant, but at least 1.
pub fn price(problem: &Problem) -> Cost {
    problem.top.saturating_sub(problem.constant).max(1)
}

/// Calls `visit` with every assignment that differs from `values` only in variables of `free`, and returns the number
/// of these assignments. If there are more than 20,000, `visit` is not called.
pub fn for_all(problem: &Problem, values: &[u16], free: &[u32], mut visit: impl FnMut(&[u16])) -> usize {
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

/// Returns a random reduced problem with `n` variables of `d` values or one fewer, and `m` functions of `arity`
/// variables.
pub fn of_size(n: u32, d: u32, m: usize, arity: usize, seed: u64) -> Arc<Problem> {
    let mut rng = Rng::new(seed);
    let domains: Vec<u32> = (0..n).map(|_| d - rng.below(2) as u32).collect();
    let functions = (0..m).map(|_| {
        let mut scope: Vec<u32> = Vec::new();
        while scope.len() < arity {
            let v = rng.below(u64::from(n)) as u32;
            if !scope.contains(&v) {
                scope.push(v);
            }
        }
        let size: u32 = scope.iter().map(|&v| domains[v as usize]).product();
        let table = Table::dense((0..size).map(|_| rng.below(100) as i64).collect());
        CostFunction { scope: scope.into(), table }
    });
    let functions = functions.collect();
    let unary = domains.iter().map(|&d| (0..d).map(|_| rng.below(10) as i64).collect()).collect();
    Arc::new(Problem { domains, unary, functions, constant: 3, top: 1 << 40 })
}

/// Returns a random reduced problem of binary variables with functions of two variables, some on equal scopes.
pub fn pairs(n: usize, rng: &mut Rng) -> Problem {
    let mut costs = |count: usize| (0..count).map(|_| rng.below(31) as Cost).collect::<Vec<_>>();
    let unary = (0..n).map(|_| costs(2)).collect();
    let tables: Vec<Table> = (0..3 * n).map(|_| Table::dense(costs(4))).collect();
    let pair = |table: Table| {
        let (x, y) = (rng.index(n) as u32, rng.index(n) as u32);
        (x != y).then(|| CostFunction { scope: [x, y].into(), table })
    };
    let functions = tables.into_iter().filter_map(pair).collect();
    Problem { domains: vec![2; n], unary, functions, constant: 0, top: FORBIDDEN }
}

/// Returns the problem with all costs of variables and functions multiplied by `factor`.
pub fn scaled(problem: &Problem, factor: Cost) -> Problem {
    let mut problem = problem.clone();
    problem.unary.iter_mut().flatten().for_each(|cost| *cost *= factor);
    problem.functions.iter_mut().for_each(|function| function.table = function.table.map(|cost| factor * cost));
    problem
}
