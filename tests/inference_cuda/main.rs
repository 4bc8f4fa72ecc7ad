//! Elimination and join graphs on a CUDA device against the CPU: every message, table, bound and assignment, bit for
//! bit.
//!
//! Without a device the tests print so and pass; `FANGS_REQUIRE_GPU=1` makes its absence a failure.

#![cfg(feature = "cuda")]

mod cost_shifting;
mod elimination;
mod sparse;

use fangs::device::Cuda;
use fangs::elimination::{Gpu, Outcome, Plan, Progress, Run};
use fangs::model::{Cost, CostFunction, FORBIDDEN, Problem, SparseTable, Table};
use fangs::order::{Method, Order};
use fangs::rng::Rng;
use fangs::stop::Stop;
use std::sync::{Arc, OnceLock};

/// The device; where `FANGS_REQUIRE_GPU` is set its absence fails.
fn gpu() -> Option<&'static Arc<Gpu>> {
    static OPENED: OnceLock<Option<Arc<Gpu>>> = OnceLock::new();
    let open = || match Cuda::open(0) {
        Ok(cuda) => Some(Gpu::new(cuda)),
        Err(error) if std::env::var_os("FANGS_REQUIRE_GPU").is_some() => panic!("{error}"),
        Err(error) => {
            println!("skipped: {error}");
            None
        }
    };
    OPENED.get_or_init(open).as_ref()
}

fn cost(rng: &mut Rng, high: u64, forbidden: u64) -> Cost {
    if rng.below(10) < forbidden { FORBIDDEN } else { rng.below(high) as Cost }
}

/// A random problem of some size: domains of one to `most` values, arities of 2 to 5, dense and sparse.
fn random(rng: &mut Rng, n: usize, most: u64, functions: usize) -> Problem {
    let domains: Vec<u32> = (0..n).map(|_| 1 + rng.below(most) as u32).collect();
    let high = [1, 3, 50, 1000, 1 << 45][rng.index(5)];
    let forbidden = rng.below(3);
    let mut all: Vec<CostFunction> = Vec::new();
    for _ in 0..functions {
        let mut scope: Vec<u32> = (0..n as u32).collect();
        rng.shuffle(&mut scope);
        scope.truncate(2 + [0, 0, 0, 1, 1, 2, 3][rng.index(7)]);
        scope.sort_unstable();
        if all.iter().any(|function| function.scope[..] == scope) {
            continue;
        }
        let size: usize = scope.iter().map(|&v| domains[v as usize] as usize).product();
        let table = if rng.below(3) == 0 {
            let count = rng.index(size + 1);
            let mut tuples = Vec::new();
            for _ in 0..count {
                tuples.extend(scope.iter().map(|&v| rng.below(u64::from(domains[v as usize])) as u32));
            }
            let costs = (0..count).map(|_| cost(rng, high, forbidden)).collect();
            Table::Sparse(SparseTable::new(scope.len(), cost(rng, high, forbidden), tuples, costs).into())
        } else {
            Table::dense((0..size).map(|_| cost(rng, high, forbidden)).collect())
        };
        all.push(CostFunction { scope: scope.into(), table });
    }
    let unary = domains.iter().map(|&d| (0..d).map(|_| cost(rng, high, 0)).collect()).collect();
    Problem { domains, unary, functions: all, constant: rng.below(9) as Cost - 4, top: FORBIDDEN }
}

/// Binary functions between all variables that are close to each other.
fn band(rng: &mut Rng, n: usize, domain: u32, reach: usize) -> Problem {
    let mut functions = Vec::new();
    for a in 0..n {
        for b in a + 1..n.min(a + reach) {
            let costs = (0..domain * domain).map(|_| rng.below(100) as Cost).collect();
            functions.push(CostFunction { scope: [a as u32, b as u32].into(), table: Table::dense(costs) });
        }
    }
    let unary = (0..n).map(|_| (0..domain).map(|_| rng.below(9) as Cost).collect()).collect();
    Problem { domains: vec![domain; n], unary, functions, constant: 0, top: FORBIDDEN }
}

fn order(problem: &Problem, rng: &mut Rng) -> Order {
    if rng.below(2) == 0 {
        return Order::greedy(problem, Method::MinFill, rng.below(99), &Stop::new());
    }
    let mut sequence: Vec<u32> = (0..problem.variables() as u32).collect();
    rng.shuffle(&mut sequence);
    Order::given(problem, &sequence, &Stop::new()).expect("a permutation")
}

/// A run of a plan, in slices, on the device or on the CPU.
fn run(gpu: Option<&Arc<Gpu>>, problem: &Arc<Problem>, plan: &Plan) -> Outcome {
    let mut run = Run::on(gpu, problem.clone(), plan.clone());
    assert_eq!(run.on_device(), gpu.is_some(), "{:?}", run.trouble());
    let mut slices = 0;
    while run.advance(1 << 20, &Stop::new()) == Progress::More {
        slices += 1;
        assert!(slices < 100_000);
    }
    assert!(run.trouble().is_none(), "{:?}", run.trouble());
    assert_eq!(run.work_done(), plan.joint_entries);
    run.finish().expect("the run is done")
}
