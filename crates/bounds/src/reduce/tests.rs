//! Tests of the reductions against enumeration: random small networks of every kind that the model allows.

use super::components::groups;
use super::named::Named;
use super::testing::reducer;
use super::tuning::Limits;
use super::{Reducer, ValueBounds};
use crate::bounds::Proof;
use crate::model::{Cost, FORBIDDEN, Network, Problem, Table, add};
use crate::rng::Rng;
use crate::stop::{Cause, Stop};
use fangs_testing::Shape;
use std::collections::BTreeSet;

/// Returns all assignments of some domains.
pub(super) fn assignments(domains: &[u32]) -> impl Iterator<Item = Vec<u32>> {
    let mut next = Some(vec![0; domains.len()]);
    let domains = domains.to_vec();
    std::iter::from_fn(move || {
        let current = next.take()?;
        let mut following = current.clone();
        for k in (0..domains.len()).rev() {
            following[k] += 1;
            if following[k] < domains[k] {
                next = Some(following);
                break;
            }
            following[k] = 0;
        }
        Some(current)
    })
}

pub(super) fn total(network: &Network, assignment: &[u32]) -> Cost {
    network.functions().iter().fold(0, |sum, function| add(sum, function.cost(network.domains(), assignment)))
}

pub(super) fn optimum(network: &Network, top: Cost) -> Option<Cost> {
    assignments(network.domains()).map(|x| total(network, &x)).filter(|&cost| cost < top).min()
}

pub(super) fn below(rng: &mut Rng, n: u64) -> u64 {
    rng.below(n.max(1))
}

fn network(rng: &mut Rng) -> Network {
    let largest: Cost = [0, 1, 3, 10, 1000, 1 << 54][rng.index(6)];
    let low = if below(rng, 3) == 0 { largest / 2 } else { 0 };
    let (n, domain, arity) = (rng.index(8), rng.index(7), rng.index(5));
    let shape = Shape {
        variables: 1 + rng.index(1 + n),
        domains: &[1, 2, 3, 4, 5, 6, 7][..=domain],
        functions: rng.index(16),
        arities: &[0, 1, 2, 3, 4, 5][..=1 + arity],
        costs: (-low, largest - low),
        forbidden: [0, 2, 5, 8][rng.index(4)],
        sparse: ([0, 2, 10][rng.index(3)], usize::MAX),
        shared: 3,
        separable: 5,
        assignments: 4000,
    };
    let mut builder = shape.network(rng);
    if below(rng, 2) == 0 {
        let _ = builder.top(below(rng, 4 * largest as u64 + 2) as Cost - 2 * low);
    }
    let mut network = builder.build();
    if below(rng, 3) == 0 {
        let v = rng.index(network.domains().len());
        let value = below(rng, u64::from(network.domains()[v])) as u32;
        network.observe(&[(v as u32, value)]).expect("evidence");
    }
    network
}

/// Checks the form that [`Problem`] promises.
fn check_form(problem: &Problem) {
    let mut scopes: Vec<&[u32]> = problem.functions.iter().map(|function| &function.scope[..]).collect();
    assert!(scopes.iter().all(|scope| scope.len() >= 2 && scope.is_sorted_by(|a, b| a < b)));
    scopes.sort_unstable();
    assert!(scopes.windows(2).all(|pair| pair[0] != pair[1]), "two functions of one scope");
    let limit = if problem.top >= FORBIDDEN { FORBIDDEN } else { problem.top - problem.constant };
    let fine = |cost: Cost| cost == FORBIDDEN || (0..limit).contains(&cost);
    for (unary, &domain) in problem.unary.iter().zip(&problem.domains) {
        assert_eq!(unary.len(), domain as usize);
        assert!(unary.iter().all(|&cost| fine(cost)));
    }
    for function in &problem.functions {
        match &function.table {
            Table::Dense(costs) => {
                assert_eq!(costs.len() as u64, function.combinations(&problem.domains));
                assert!(costs.iter().all(fine), "{costs:?} {limit}");
            }
            Table::Sparse(sparse) => assert!(sparse.iter().all(|(_, cost)| fine(cost)) && fine(sparse.default_cost())),
        }
    }
}

/// Checks everything that a reducer promises about the network under `top`.
pub(super) fn check(network: &Network, reducer: &Reducer, top: Cost) {
    let problem = reducer.problem(&Stop::new()).expect("no stop is set");
    assert_eq!(problem.top, top);
    if !reducer.infeasible() {
        check_form(&problem);
    }
    let mut least = None;
    for x in assignments(&problem.domains) {
        let lifted = reducer.lift(&x, &Stop::new()).expect("no stop is set");
        let (core, whole) = (problem.cost(&x), total(network, &lifted));
        assert!(core == whole || (core >= top && whole >= top), "core {core}, whole {whole}, top {top}");
        assert_eq!(reducer.project(&lifted, &Stop::new()).expect("no stop is set"), x);
        if core < top && least.is_none_or(|least| core < least) {
            least = Some(core);
        }
    }
    assert_eq!(least, optimum(network, top));
    if reducer.infeasible() {
        assert_eq!(least, None);
    }
    for x in assignments(network.domains()).step_by(7) {
        let core = reducer.project(&x, &Stop::new()).expect("no stop is set");
        assert!(core.iter().zip(&problem.domains).all(|(&value, &domain)| value < domain));
    }
    let scopes = problem.functions.iter().map(|function| &function.scope[..]);
    let components = groups(problem.variables(), scopes, &Stop::new()).expect("the flag is not set");
    let covered: usize = components.iter().map(Vec::len).sum();
    assert_eq!(covered, problem.variables());
    assert_eq!(reducer.report().components, components.len());
}

/// Returns lower bounds on the solutions with each value: the exact cost or a little less.
fn value_bounds(problem: &Problem, rng: &mut Rng) -> Vec<Vec<Cost>> {
    let mut least: Vec<Vec<Cost>> = problem.domains.iter().map(|&d| vec![FORBIDDEN; d as usize]).collect();
    for x in assignments(&problem.domains) {
        let cost = problem.cost(&x);
        for (least, &value) in least.iter_mut().zip(&x) {
            least[value as usize] = least[value as usize].min(cost);
        }
    }
    least.iter_mut().flatten().for_each(|least| *least -= [0, 0, 1, 5][below(rng, 4) as usize]);
    least
}

/// Checks that no value remains that bounds exclude.
fn removed(reducer: &Reducer, values: &ValueBounds, top: Cost) {
    if !reducer.infeasible() {
        assert_eq!(values.removable(reducer, top, &Stop::new()).0, 0);
    }
}

fn check_all(network: &Network, rng: &mut Rng) {
    let stop = Stop::new();
    let plain = Reducer::new(network, false, &stop).expect("not stopped");
    // without reductions exactly the variables remain that a function reads
    let problem = plain.problem(&Stop::new()).expect("no stop is set");
    let read: BTreeSet<u32> = problem.functions.iter().flat_map(|function| function.scope.iter().copied()).collect();
    assert!(plain.infeasible() || problem.variables() == read.len(), "{problem:?}");
    check(network, &plain, network.top());

    let logged = below(rng, 2) == 0;
    let mut reducer = reducer(network, logged, rng);
    check(network, &reducer, network.top());
    let mut top = network.top();
    let mut values = ValueBounds::new(&reducer, &Stop::new()).expect("no stop is set");
    for _ in 0..3 {
        // from the cost of some assignment down to the optimum and below
        let any: Vec<u32> = network.domains().iter().map(|&d| below(rng, u64::from(d)) as u32).collect();
        let known = if below(rng, 3) == 0 { optimum(network, FORBIDDEN) } else { Some(total(network, &any)) };
        let Some(known) = known.filter(|&known| known < FORBIDDEN) else { continue };
        top = top.min(known + below(rng, 2) as Cost);
        if below(rng, 2) == 0 {
            reducer.tighten(top, &stop);
        } else {
            values.learn(
                &reducer,
                &value_bounds(&reducer.problem(&Stop::new()).expect("no stop is set"), rng),
                Some(Proof::default()),
                &Stop::new(),
            );
            reducer.tighten_by(top, &values, &stop);
            removed(&reducer, &values, top);
        }
        check(network, &reducer, top);
    }
    let mut plain = plain;
    plain.tighten(top, &stop);
    check(network, &plain, top);
}

#[test]
fn random_networks_keep_their_optimum() {
    let mut rng = Rng::new(20);
    for _ in 0..3000 {
        let network = network(&mut rng);
        check_all(&network, &mut rng);
    }
}

/// Every pair shares a function, so that reduced problems are large enough to test.
#[test]
fn dense_networks_keep_their_optimum() {
    let mut rng = Rng::new(21);
    let mut left = 0;
    for round in 0..200 {
        let n = 7;
        let mut builder = Network::builder("dense");
        for _ in 0..n {
            let _ = builder.variable(3).expect("a domain");
        }
        for i in 0..n {
            for j in i + 1..n {
                let mut costs: Vec<Cost> = (0..9).map(|_| below(&mut rng, 20) as Cost).collect();
                if below(&mut rng, 4) == 0 {
                    costs[below(&mut rng, 9) as usize] = FORBIDDEN;
                }
                let _ = builder.dense(&[i, j], costs).expect("a function");
            }
        }
        if round % 2 == 0 {
            let _ = builder.top(200);
        }
        let network = builder.build();
        left += reducer(&network, false, &mut rng).problem(&Stop::new()).expect("no stop is set").variables();
        check_all(&network, &mut rng);
    }
    assert!(left > 400, "only {left} variables left to test with");
}

/// Tables with few tuples for their size stay sparse through every edit.
#[test]
fn sparse_tables_stay_correct() {
    let mut rng = Rng::new(22);
    let mut sparse = 0;
    for _ in 0..60 {
        let mut builder = Network::builder("sparse");
        for v in 0..7 {
            let _ = builder.variable([5, 4, 4, 4, 4, 3, 2][v]).expect("a domain");
        }
        for _ in 0..1 + below(&mut rng, 3) {
            let mut scope: Vec<u32> = (0..7).collect();
            rng.shuffle(&mut scope[..]);
            if below(&mut rng, 2) == 0 {
                scope.sort_unstable();
            }
            let tuples = below(&mut rng, 25) as usize;
            let domains = [5, 4, 4, 4, 4, 3, 2];
            let values = (0..tuples).flat_map(|_| scope.clone()).map(|v| below(&mut rng, domains[v as usize]) as u32);
            let values = values.collect();
            let default = [FORBIDDEN, 0, 2, -3][below(&mut rng, 4) as usize];
            let costs = (0..tuples).map(|_| below(&mut rng, 9) as Cost - 2).collect();
            let _ = builder.sparse(&scope, default, values, costs).expect("a function");
        }
        for _ in 0..below(&mut rng, 6) {
            let (i, j) = (below(&mut rng, 7) as u32, below(&mut rng, 7) as u32);
            if i != j {
                let size = builder.domain(i).expect("known") * builder.domain(j).expect("known");
                let entry = |rng: &mut Rng| [0, 1, 5, FORBIDDEN][below(rng, 4) as usize];
                let _ = builder.dense(&[i, j], (0..size).map(|_| entry(&mut rng)).collect()).expect("a function");
            }
        }
        if below(&mut rng, 2) == 0 {
            let _ = builder.top(1 + below(&mut rng, 12) as Cost);
        }
        let network = builder.build();
        let reducer = Reducer::new(&network, true, &Stop::new()).expect("not stopped");
        sparse += reducer
            .problem(&Stop::new())
            .expect("no stop is set")
            .functions
            .iter()
            .filter(|f| matches!(f.table, Table::Sparse(_)))
            .count();
        check_all(&network, &mut rng);
    }
    assert!(sparse > 10, "only {sparse} sparse tables left to test with");
}

/// Pairs that a single cost keeps from being functional, under a top that this cost alone does not reach yet.
#[test]
fn pairs_count_as_functional_only_where_the_rest_is_too_dear() {
    let mut rng = Rng::new(24);
    let mut needed = 0;
    for _ in 0..3000 {
        let (n, d, dear) = (5, 3, 4);
        let mut builder = Network::builder("pairs");
        for _ in 0..n {
            let _ = builder.variable(d).expect("a domain");
        }
        for i in 0..n {
            for j in i + 1..n {
                let functional = below(&mut rng, 3) == 0;
                let entry = |e: u32, rng: &mut Rng| match (functional, e / d == e % d) {
                    (true, true) => 0,
                    (true, false) => dear,
                    _ if below(rng, 3) == 0 => FORBIDDEN,
                    _ => 0,
                };
                let costs = (0..d * d).map(|e| entry(e, &mut rng)).collect();
                let _ = builder.dense(&[i, j], costs).expect("a function");
            }
        }
        let _ = builder.top(dear + below(&mut rng, 2) as Cost);
        let network = builder.build();
        needed += usize::from(optimum(&network, network.top()) == Some(dear));
        let reducer = reducer(&network, false, &mut rng);
        check(&network, &reducer, network.top());
    }
    assert!(needed > 50, "only {needed} networks need a dear pair");
}

/// A set flag leaves a valid state that can continue, or an error.
#[test]
fn stops_in_a_valid_state() {
    let mut rng = Rng::new(23);
    for _ in 0..200 {
        let network = network(&mut rng);
        let stop = Stop::new();
        let mut reducer = Reducer::new(&network, true, &stop).expect("not stopped");
        stop.set(Cause::Signal);
        if let Some(known) = optimum(&network, network.top()) {
            reducer.tighten(known + 1, &stop);
            assert!(matches!(reducer.problem(&stop), Err(crate::Error::Stopped)));
            reducer.run(&Stop::new());
            check(&network, &reducer, network.top().min(known + 1));
        }
        assert!(Reducer::new(&network, true, &stop).is_err() || network.functions().is_empty());
    }
}

#[test]
fn the_report_counts_what_was_done() {
    let mut builder = Network::builder("four pieces");
    for domain in [3, 3, 4, 2, 2, 2] {
        let _ = builder.variable(domain).expect("a domain");
    }
    let f = FORBIDDEN;
    // 0 and 1 determine each other, in two functions of one scope; value 2 of variable 2 is never best; 3 + 4 is a sum
    let _ = builder.dense(&[0, 1], vec![0, f, f, f, 2, f, f, f, 1]).expect("a function");
    let _ = builder.dense(&[1, 0], vec![0, 1, 1, 1, 0, 1, 1, 1, 4]).expect("a function");
    let _ = builder.dense(&[1, 2], vec![0, 3, 3, f, 3, 0, 3, f, 3, 1, 2, f]).expect("a function");
    let _ = builder.dense(&[3, 4], vec![1, 2, 4, 5]).expect("a function");
    let network = builder.build();
    let stop = Stop::new();
    let mut reducer = Reducer::load(&network, Named::default(), true, &stop).expect("not stopped");
    reducer.limits = Limits { joint: 0, component: 0, ..Limits::default() };
    reducer.run(&stop);
    let report = reducer.report();
    assert_eq!((report.merged, report.substituted, report.separated, report.inconsistent), (1, 1, 1, 1));
    assert_eq!(report.before.functions, [0, 0, 4]);
    // an isolated variable has one best value
    assert_eq!((report.after.variables, report.components, report.eliminated), (2, 1, 3));

    let whole = Reducer::new(&network, true, &stop).expect("not stopped");
    assert_eq!(whole.problem(&Stop::new()).expect("no stop is set").variables(), 0);
    assert_eq!(whole.problem(&Stop::new()).expect("no stop is set").constant, 1);
    assert_eq!(total(&network, &whole.lift(&[], &Stop::new()).expect("no stop is set")), 1);
}

#[test]
fn equal_tables_are_stored_once() {
    let mut builder = Network::builder("ring");
    for _ in 0..9 {
        let _ = builder.variable(4).expect("a domain");
    }
    for i in 0..9u32 {
        for step in 1..5 {
            let costs = (0..16).map(|e| ((e / 4) * 7 + (e % 4) * 7) % 5 + e % 2).collect();
            let _ = builder.dense(&[i, (i + step) % 9], costs).expect("a function");
        }
    }
    let network = builder.build();
    let problem = Reducer::new(&network, false, &Stop::new())
        .expect("not stopped")
        .problem(&Stop::new())
        .expect("no stop is set");
    let mut addresses: Vec<usize> = problem
        .functions
        .iter()
        .filter_map(|function| match &function.table {
            Table::Dense(costs) => Some(costs.address()),
            Table::Sparse(_) => None,
        })
        .collect();
    addresses.sort_unstable();
    addresses.dedup();
    assert!(addresses.len() <= 2 && problem.functions.len() == 36, "one table and its transpose at most");
}
