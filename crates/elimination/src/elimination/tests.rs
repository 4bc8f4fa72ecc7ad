use super::costs::Tables;
use super::cpu::{Join, Shape};
use super::*;
use crate::algebra::{CostEntry, MinSum};
use crate::bounds::constant_bound;
use crate::model::{Cost, FORBIDDEN, Problem, add};
use crate::model::{CostFunction, Table};
use crate::order::{Method, Order};
use crate::rng::Rng;
use crate::stop::Stop;
use std::sync::Arc;

const ROOMY: u64 = 1 << 30;

pub(crate) use super::testing::{run, shuffled};
pub(crate) use fangs_testing::band as wide;
pub(crate) use fangs_testing::problems::{assignments, random};

fn optimum(problem: &Problem) -> Cost {
    assignments(problem).map(|assignment| problem.cost(&assignment)).min().expect("there is an assignment")
}

fn limits(z: Option<u32>, ub: Option<Cost>) -> Limits {
    Limits { z, ub, ..Limits::new(ROOMY) }
}

#[test]
fn bucket_elimination_is_exact_and_mini_buckets_never_pass_the_optimum() {
    let mut rng = Rng::new(11);
    let mut split = 0;
    for _ in 0..3000 {
        let problem = Arc::new(random(&mut rng, 7));
        let optimum = optimum(&problem);
        let order = shuffled(&problem, &mut rng);
        let exact = run(&problem, Plan::new(&problem, &order, &limits(None, None)));
        assert!(exact.exact());
        assert_eq!(exact.lower_bound(), optimum.min(problem.top));
        let cost = problem.cost(&exact.assign(&Stop::new()).expect("messages are kept"));
        if optimum < problem.top {
            assert_eq!(cost, optimum);
        }
        assert!(constant_bound(&problem) <= optimum.min(problem.top));
        for z in 1..=order.width + 1 {
            let outcome = run(&problem, Plan::new(&problem, &order, &limits(Some(z), None)));
            assert!(outcome.lower_bound() <= optimum.min(problem.top), "z = {z}");
            assert!(outcome.lower_bound() >= constant_bound(&problem), "z = {z}");
            assert!(problem.cost(&outcome.assign(&Stop::new()).expect("messages are kept")) >= optimum);
            if outcome.exact() {
                assert_eq!(outcome.lower_bound(), optimum.min(problem.top));
            } else {
                split += 1;
            }
        }
    }
    assert!(split > 1000, "the problems must be hard enough to split buckets: {split}");
}

#[test]
fn an_upper_bound_only_caps() {
    let mut rng = Rng::new(12);
    for _ in 0..2000 {
        let problem = Arc::new(random(&mut rng, 4));
        let optimum = optimum(&problem).min(problem.top);
        let order = shuffled(&problem, &mut rng);
        for ub in [optimum - 3, optimum, optimum + 1, optimum + 40].map(|ub| ub.min(FORBIDDEN)) {
            for z in [None, Some(2), Some(3)] {
                let outcome = run(&problem, Plan::new(&problem, &order, &limits(z, Some(ub))));
                assert!(outcome.lower_bound() <= optimum.min(ub));
                if outcome.exact() {
                    assert_eq!(outcome.lower_bound(), optimum.min(ub));
                    if optimum < ub.min(problem.top) {
                        assert_eq!(problem.cost(&outcome.assign(&Stop::new()).expect("kept")), optimum);
                    }
                }
            }
        }
    }
}

/// Under any memory limit there is a plan that stays within it, and its bound is valid.
#[test]
fn plans_shrink_to_memory() {
    let mut rng = Rng::new(13);
    let mut lowered = 0;
    for _ in 0..1500 {
        let problem = Arc::new(random(&mut rng, 7));
        let optimum = optimum(&problem).min(problem.top);
        let order = shuffled(&problem, &mut rng);
        for max_bytes in [0, 16, 60, 300, 3000, 20_000] {
            for keep_messages in [false, true] {
                let limits = Limits { keep_messages, ..Limits::new(max_bytes) };
                let plan = Plan::new(&problem, &order, &limits);
                assert!(
                    max_bytes < 20_000 || plan.placement.peak_bytes <= max_bytes,
                    "{} {max_bytes}",
                    plan.placement.peak_bytes
                );
                lowered += plan.steps.iter().filter(|step| step.lowered).count();
                let outcome = run(&problem, plan);
                assert!(outcome.lower_bound() <= optimum);
                assert!(outcome.lower_bound() >= constant_bound(&problem));
                assert!(!outcome.exact() || outcome.lower_bound() == optimum);
                assert_eq!(outcome.assign(&Stop::new()).is_some(), keep_messages);
                if let Some(assignment) = outcome.assign(&Stop::new()) {
                    assert!(problem.cost(&assignment) >= optimum);
                }
            }
        }
    }
    assert!(lowered > 100, "{lowered}");
}

/// `f` never exceeds the cost of the best completion, never decreases, starts at the bound and ends at the cost.
#[test]
fn cost_to_go_is_admissible() {
    let mut rng = Rng::new(14);
    for round in 0..800 {
        let problem = Arc::new(random(&mut rng, 3));
        let order = shuffled(&problem, &mut rng);
        let max_bytes = if round % 3 == 0 { 400 } else { ROOMY };
        let limits = Limits { z: [None, Some(1), Some(2), Some(3)][rng.index(4)], ..Limits::new(max_bytes) };
        let outcome = run(&problem, Plan::new(&problem, &order, &limits));
        let guide = outcome.cost_to_go().expect("messages are kept");
        let n = guide.positions();
        for target in assignments(&problem).step_by(7) {
            let mut f = guide.start();
            for position in (0..n).rev() {
                let variable = guide.variable(position) as usize;
                let mut row = vec![0; problem.domains[variable] as usize];
                guide.rate(position, &target, &mut row);
                assert!(row.iter().all(|&rise| rise >= 0));
                if outcome.exact() && f < problem.top && f < optimum(&problem) + 1 {
                    assert_eq!(row.iter().min(), Some(&0));
                }
                f = add(f, row[target[variable] as usize]);
                let fixed: Vec<usize> = (position..n).map(|p| guide.variable(p) as usize).collect();
                let best = assignments(&problem)
                    .filter(|other| fixed.iter().all(|&v| other[v] == target[v]))
                    .map(|other| problem.cost(&other))
                    .min();
                let best = best.expect("the target itself");
                assert!(f <= best.max(problem.top), "f = {f}, best completion = {best}");
            }
            let cost = problem.cost(&target);
            if cost < problem.top && optimum(&problem) < problem.top {
                assert_eq!(f, cost);
            }
        }
    }
}

pub(crate) fn messages(outcome: &Outcome) -> Vec<Vec<Cost>> {
    match outcome.messages.tables().expect("the host has room") {
        Tables::I32(messages) => messages.iter().map(|table| table.iter().map(|&x| Cost::from(x)).collect()).collect(),
        Tables::I64(messages) => messages.iter().map(|table| table.to_vec()).collect(),
    }
}

#[test]
fn slices_threads_and_entry_types_make_the_same_tables() {
    let mut rng = Rng::new(15);
    for (n, domain, reach) in [(24, 2, 16), (14, 4, 9), (9, 10, 6), (8, 7, 7), (6, 25, 5)] {
        let problem = Arc::new(wide(&mut rng, n, domain, reach));
        let order = Order::greedy(&problem, Method::MinFill, 1, &Stop::new());
        for z in [None, Some(4)] {
            let plan = Plan::new(&problem, &order, &limits(z, None));
            assert_eq!(plan.costs.width, Width::I32);
            let whole = run(&problem, plan.clone());
            let single = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("one thread");
            let sliced = single.install(|| {
                let mut run = Run::new(problem.clone(), plan.clone());
                let mut slices = 0;
                while run.advance(30_011, &Stop::new()) == Progress::More {
                    slices += 1;
                }
                assert!(slices > 3 || plan.joint_entries < 100_000);
                assert_eq!(run.work_done(), plan.joint_entries);
                run.finish().expect("done")
            });
            let long = run(&problem, Plan { costs: CostRange { width: Width::I64, ..plan.costs }, ..plan.clone() });
            assert_eq!(messages(&whole), messages(&sliced));
            assert_eq!(messages(&whole), messages(&long));
            assert_eq!(whole.assign(&Stop::new()), long.assign(&Stop::new()));
            assert_eq!(whole.lower_bound(), sliced.lower_bound());
        }
    }
}

/// Compares a join of random inputs over some of the digits with nested loops.
fn join_is_the_minimum_of_the_sums<E: CostEntry>(rng: &mut Rng, domains: &[u32], most: usize) {
    let size = |scope: &[u32]| scope.iter().map(|&p| domains[p as usize] as usize).product::<usize>();
    let output: Vec<u32> = (1..domains.len() as u32).collect();
    let cap = 50 + rng.below(300) as Cost;
    let inputs: Vec<(Vec<u32>, Vec<E>)> = (0..rng.index(most + 1))
        .map(|_| {
            let share = rng.below(5);
            let scope: Vec<u32> = (0..domains.len() as u32).filter(|&p| p == 0 || rng.below(4) < share).collect();
            let table = (0..size(&scope)).map(|_| E::from_cost((rng.below(100) as Cost).min(cap))).collect();
            (scope, table)
        })
        .collect();
    let shape = Shape::new(&output, domains, domains[0] as usize);
    let tables = inputs.iter().map(|(scope, table)| (&scope[..], &table[..]));
    let join = Join::new(shape, &output, domains, tables, MinSum { cap: E::from_cost(cap) });
    let mut made = vec![E::default(); size(&output)];
    // in two parts, as for two threads, one of them without vector instructions
    let tiles = made.len() / join.tile();
    let split = rng.index(tiles + 1);
    let (before, after) = made.split_at_mut(split * join.tile());
    join.run(split, after);
    join.run_by_scalars(0, before);
    let mut digits = vec![0usize; domains.len()];
    for (index, &made) in made.iter().enumerate() {
        let mut rest = index;
        for (&p, digit) in output.iter().zip(&mut digits[1..]).rev() {
            (*digit, rest) = (rest % domains[p as usize] as usize, rest / domains[p as usize] as usize);
        }
        let sum = |value: usize| {
            digits[0] = value;
            let entry = |(scope, table): &(Vec<u32>, Vec<E>)| {
                table[scope.iter().fold(0, |at, &p| at * domains[p as usize] as usize + digits[p as usize])].cost()
            };
            inputs.iter().map(entry).sum::<Cost>()
        };
        let least = (0..domains[0] as usize).map(sum).min().unwrap_or(0).min(cap);
        assert_eq!(made.cost(), least, "{domains:?} {index}");
    }
}

/// The cases have rows of all lengths, inputs in place and expanded, stages, and one or many tiles.
#[test]
fn the_kernel_joins_any_scopes_and_domains() {
    let mut rng = Rng::new(19);
    for round in 0..1500 {
        let sizes = [1, 2, 3, 4, 5, 7, 8, 10, 16, 17, 25, 44];
        let uniform = sizes[rng.index(sizes.len())];
        let largest = if round % 10 == 0 { 200_000 } else { 5_000 };
        let mut domains = Vec::new();
        while domains.len() < 18 {
            let size = if round % 2 == 0 { uniform } else { sizes[rng.index(sizes.len())] };
            if domains.iter().product::<u32>() * size > largest {
                break;
            }
            domains.push(size);
        }
        let most = [1, 3, 4, 9][rng.index(4)];
        if rng.below(2) == 0 {
            join_is_the_minimum_of_the_sums::<i32>(&mut rng, &domains, most);
        } else {
            join_is_the_minimum_of_the_sums::<i64>(&mut rng, &domains, most);
        }
    }
}

/// Costs near the limits of the arithmetic take 64-bit entries and stay exact.
#[test]
fn huge_costs_take_long_entries() {
    let mut rng = Rng::new(16);
    for _ in 0..500 {
        let mut problem = random(&mut rng, 4);
        for function in &mut problem.functions {
            if let Table::Dense(costs) = &mut function.table {
                let scaled = costs.iter().map(|cost| if cost == FORBIDDEN { cost } else { cost << 47 }).collect();
                *costs = scaled;
            }
        }
        let problem = Arc::new(problem);
        let order = shuffled(&problem, &mut rng);
        let outcome = run(&problem, Plan::new(&problem, &order, &limits(None, None)));
        assert_eq!(outcome.lower_bound(), optimum(&problem).min(problem.top));
    }
}

#[test]
fn a_set_flag_ends_a_run_early() {
    let mut rng = Rng::new(17);
    let problem = Arc::new(wide(&mut rng, 12, 3, 6));
    let order = Order::greedy(&problem, Method::MinDegree, 1, &Stop::new());
    let mut run = Run::new(problem.clone(), Plan::new(&problem, &order, &limits(None, None)));
    let stop = Stop::new();
    stop.set(crate::stop::Cause::Signal);
    assert_eq!(run.advance(u64::MAX, &stop), Progress::More);
    assert!(run.finish().is_none());
}

#[test]
fn problems_without_variables_or_functions() {
    let empty = Problem { domains: vec![], unary: vec![], functions: vec![], constant: -7, top: FORBIDDEN };
    let order = Order::given(&empty, &[], &Stop::new()).expect("empty");
    let outcome = run(&Arc::new(empty.clone()), Plan::new(&empty, &order, &limits(None, None)));
    assert_eq!((outcome.lower_bound(), outcome.exact()), (-7, true));
    assert_eq!(outcome.assign(&Stop::new()), Some(vec![]));
    let alone =
        Problem { domains: vec![3], unary: vec![vec![4, 2, FORBIDDEN]], functions: vec![], constant: 1, top: 100 };
    let order = Order::given(&alone, &[0], &Stop::new()).expect("one");
    let outcome = run(&Arc::new(alone.clone()), Plan::new(&alone, &order, &limits(None, None)));
    assert_eq!((outcome.lower_bound(), outcome.assign(&Stop::new())), (3, Some(vec![1])));
}

/// The worked example of docs/inference.md: four binary variables `x1..x4` (indices 0..3), functions on the pairs 12,
/// 14, 23, 24 and 34, eliminated in the order `x4, x3, x2, x1`. All numbers were computed by hand.
#[test]
fn the_worked_example() {
    let pairs = [
        ([0, 1], [3, 1, 2, 5]),
        ([0, 3], [2, 4, 0, 3]),
        ([1, 2], [4, 1, 2, 6]),
        ([1, 3], [5, 1, 0, 3]),
        ([2, 3], [6, 2, 1, 4]),
    ];
    let function = |(scope, costs): ([u32; 2], [Cost; 4])| CostFunction {
        scope: scope.into(),
        table: Table::dense(costs.to_vec()),
    };
    let problem = Arc::new(Problem {
        domains: vec![2; 4],
        unary: vec![vec![0; 2]; 4],
        functions: pairs.map(function).to_vec(),
        constant: 0,
        top: FORBIDDEN,
    });
    let order = Order::given(&problem, &[3, 2, 1, 0], &Stop::new()).expect("a permutation");
    assert_eq!((order.width, order.joint_entries), (3, 16.0 + 8.0 + 4.0 + 2.0));

    // messages list the combinations of (x3, x2, x1), (x2, x1), (x1): the last eliminated runs fastest
    let be = run(&problem, Plan::new(&problem, &order, &limits(None, None)));
    assert_eq!(be.plan().name(), "be");
    assert_eq!(messages(&be), [vec![7, 6, 8, 6, 8, 6, 3, 1], vec![9, 7, 9, 7], vec![10, 9], vec![9]]);
    assert_eq!((be.lower_bound(), be.assign(&Stop::new())), (9, Some(vec![1, 0, 1, 0])));

    let two = run(&problem, Plan::new(&problem, &order, &limits(Some(2), None)));
    assert_eq!(two.plan().name(), "mbe(2)");
    assert_eq!(messages(&two), [vec![2, 0], vec![1, 0], vec![2, 1], vec![2, 4], vec![5, 5], vec![5]]);
    assert_eq!((two.lower_bound(), two.assign(&Stop::new())), (5, Some(vec![1, 0, 1, 0])));

    let three = run(&problem, Plan::new(&problem, &order, &limits(Some(3), None)));
    assert_eq!(messages(&three), [vec![5, 4, 2, 0], vec![2, 1], vec![2, 4], vec![7, 8], vec![7]]);
    assert_eq!((three.lower_bound(), three.assign(&Stop::new())), (7, Some(vec![0, 1, 0, 0])));
    assert_eq!(problem.cost(&[0, 1, 0, 0]), 11);
}
