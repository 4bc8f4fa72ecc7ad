//! Joint entries per second of the fused kernel, compared with nested loops that divide.
//!
//! A bucket of three functions over overlapping parts of `w` variables with `d` values each is joined and one variable
//! is eliminated. `cargo bench --bench inference` prints combinations per second as items; run it with
//! `RAYON_NUM_THREADS=1` for the rate of one core.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use fangs_base::rng::Rng;
use fangs_base::stop::Stop;
use fangs_elimination::elimination::{Limits, Plan, Progress, Run};
use fangs_elimination::order::{Method, Order};
use fangs_model::model::{Cost, CostFunction, FORBIDDEN, Problem, Table};
use std::sync::Arc;

fn main() {
    divan::main();
}

/// Number of values of a variable, and of variables of the bucket.
const BUCKETS: [(u32, usize); 5] = [(2, 20), (4, 12), (10, 7), (25, 5), (44, 4)];

/// The variables outside the scopes of a bucket's three functions; all scopes contain variable 0, which is eliminated.
#[derive(Clone, Copy, Debug)]
enum Scopes {
    /// Each function lacks a different variable: three inputs of arity w - 1, as in the published GPU comparisons.
    Even,
    /// The first two functions lack a different variable each, the third none: one input is as large as the joint
    /// table.
    Nested,
    /// Each function lacks a different third of the variables.
    Spread,
}

fn bucket(d: u32, w: usize, scopes: Scopes) -> Arc<Problem> {
    let mut rng = Rng::new(1);
    let functions = (0..3).map(|k| {
        let left_out = |v: usize| match scopes {
            Scopes::Even => v == w - 1 - k,
            Scopes::Nested => v == w - 1 - k && k < 2,
            Scopes::Spread => v % 3 == k,
        };
        let scope: Vec<u32> = (0..w).filter(|&v| v == 0 || !left_out(v)).map(|v| v as u32).collect();
        let size = (d as usize).pow(scope.len() as u32);
        let costs = (0..size).map(|_| rng.below(1000) as Cost).collect();
        CostFunction { scope: scope.into(), table: Table::dense(costs) }
    });
    // a later variable costs nothing, so that only the first bucket is timed
    let problem = Problem {
        domains: vec![d; w],
        unary: vec![vec![0; d as usize]; w],
        functions: functions.collect(),
        constant: 0,
        top: FORBIDDEN,
    };
    Arc::new(problem)
}

fn order(problem: &Problem) -> Order {
    let sequence: Vec<u32> = (0..problem.variables() as u32).collect();
    Order::given(problem, &sequence, &Stop::new()).expect("a permutation")
}

fn fused(bencher: Bencher, (d, w): (u32, usize), scopes: Scopes) {
    let problem = bucket(d, w, scopes);
    let plan = Plan::new(&problem, &order(&problem), &Limits::new(1 << 32));
    let work = u64::from(d).pow(w as u32);
    let stop = Stop::new();
    bencher
        .counter(ItemsCount::new(work))
        .with_inputs(|| {
            // the layout of the functions belongs to loading: the first tile computes it
            let mut run = Run::new(problem.clone(), plan.clone());
            let _ = run.advance(1, &stop);
            run
        })
        .bench_local_values(|mut run| {
            assert_ne!(run.advance(work - run.work_done(), &stop), Progress::Done);
            run
        });
}

/// Buckets with the joint sizes of the fused kernels of the GPU comparisons: three inputs of arity 20, 12, 7, 5 and 4.
#[divan::bench(args = [(2, 21), (4, 13), (10, 8), (25, 6), (44, 5)], sample_count = 10)]
fn even_scopes(bencher: Bencher, bucket: (u32, usize)) {
    fused(bencher, bucket, Scopes::Even);
}

#[divan::bench(args = BUCKETS, sample_count = 30)]
fn nested_scopes(bencher: Bencher, bucket: (u32, usize)) {
    fused(bencher, bucket, Scopes::Nested);
}

#[divan::bench(args = BUCKETS, sample_count = 30)]
fn spread_scopes(bencher: Bencher, bucket: (u32, usize)) {
    fused(bencher, bucket, Scopes::Spread);
}

/// A baseline that, for every output, value and function, decodes the index, divides by strides and looks up the entry.
#[divan::bench(args = BUCKETS, sample_count = 1, sample_size = 1)]
fn naive_with_division(bencher: Bencher, (d, w): (u32, usize)) {
    let problem = bucket(d, w, Scopes::Nested);
    let tables: Vec<(&[u32], Vec<Cost>)> = problem
        .functions
        .iter()
        .map(|function| match &function.table {
            Table::Dense(costs) => (&function.scope[..], costs.iter().collect()),
            _ => (&function.scope[..], Vec::new()),
        })
        .collect();
    let size = u64::from(d).pow(w as u32 - 1);
    bencher.counter(ItemsCount::new(size * u64::from(d))).bench_local(|| {
        let d = black_box(d) as usize;
        let mut out = vec![0; size as usize];
        for (index, out) in out.iter_mut().enumerate() {
            let mut least = Cost::MAX;
            for value in 0..d {
                let mut sum = 0;
                for (scope, costs) in &tables {
                    let mut at = 0;
                    for &v in *scope {
                        let digit = if v == 0 { value } else { index / d.pow((w - 1) as u32 - v) % d };
                        at = at * d + digit;
                    }
                    sum += costs[at];
                }
                least = least.min(sum);
            }
            *out = least;
        }
        out
    });
}

/// Returns a grid of `side` x `side` variables, or a sparse random graph with three functions per variable.
fn network(grid: bool, n: u32) -> Arc<Problem> {
    let mut pairs = Vec::new();
    if grid {
        let side = n.isqrt();
        for v in 0..side * side {
            pairs.extend((v % side + 1 < side).then_some([v, v + 1]));
            pairs.extend((v + side < side * side).then_some([v, v + side]));
        }
    } else {
        let mut rng = Rng::new(2);
        for v in 1..n {
            for _ in 0..3 {
                let [a, b] = [rng.below(u64::from(n)) as u32, v];
                pairs.extend((a != b).then_some([a.min(b), a.max(b)]));
            }
        }
        pairs.sort_unstable();
        pairs.dedup();
    }
    let table = Table::dense((0..16).collect());
    let functions = pairs.iter().map(|&scope| CostFunction { scope: scope.into(), table: table.clone() });
    Arc::new(Problem {
        domains: vec![4; n as usize],
        unary: vec![vec![0; 4]; n as usize],
        functions: functions.collect(),
        constant: 0,
        top: FORBIDDEN,
    })
}

const NETWORKS: [(bool, u32); 3] = [(true, 10_000), (false, 10_000), (false, 100_000)];

#[divan::bench(args = NETWORKS, sample_count = 3, sample_size = 1)]
fn min_fill(bencher: Bencher, (grid, n): (bool, u32)) {
    let problem = network(grid, n);
    bencher.bench_local(|| Order::greedy(&problem, Method::MinFill, 1, &Stop::new()));
}

#[divan::bench(args = NETWORKS, sample_count = 3, sample_size = 1)]
fn min_degree(bencher: Bencher, (grid, n): (bool, u32)) {
    let problem = network(grid, n);
    bencher.bench_local(|| Order::greedy(&problem, Method::MinDegree, 1, &Stop::new()));
}

/// Planning for memory that forces a search for z, the number of variables of a mini-bucket.
#[divan::bench(args = NETWORKS, sample_count = 3, sample_size = 1)]
fn plan(bencher: Bencher, (grid, n): (bool, u32)) {
    let problem = network(grid, n);
    let order = Order::greedy(&problem, Method::MinDegree, 1, &Stop::new());
    bencher.bench_local(|| Plan::new(&problem, &order, &Limits::new(1 << 28)));
}

/// Mini-buckets with z = 4: thousands of small joins.
#[divan::bench(args = NETWORKS, sample_count = 3, sample_size = 1)]
fn small_joins(bencher: Bencher, (grid, n): (bool, u32)) {
    let problem = network(grid, n);
    let order = Order::greedy(&problem, Method::MinDegree, 1, &Stop::new());
    let plan = Plan::new(&problem, &order, &Limits::new(1 << 30).with(|limits| limits.z = Some(4)));
    bencher
        .counter(ItemsCount::new(plan.joint_entries))
        .with_inputs(|| Run::new(problem.clone(), plan.clone()))
        .bench_local_values(|mut run| {
            let _ = run.advance(u64::MAX, &Stop::new());
            run
        });
}
