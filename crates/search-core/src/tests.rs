//! Value tables against energies recomputed from the problem's tables; the graph of random problems; the pool.

use crate::context::SearchContext;
use crate::elite::{Elite, hash};
use crate::error::Error;
use crate::graph::{Graph, Region};
use crate::model::{Cost, CostFunction, FORBIDDEN, Problem, Table};
use crate::pool::Pool;
use crate::rng::Rng;
use crate::stop::{Stop, Watch};
use crate::value_tables::{PADDING, ValueTables};
use fangs_testing::cores::{assignment, price, random, random_dense};
use std::collections::BTreeSet;
use std::sync::Arc;

fn rated(tables: &ValueTables, variable: usize, values: &[u16]) -> Vec<i32> {
    let mut row = vec![-1; tables.width[variable] as usize];
    tables.rate(variable, values, &mut row, |_| true);
    row
}

#[test]
fn ratings_are_changes_of_energy() {
    let mut rng = Rng::new(1);
    let (mut quantised, mut in_place) = (0, 0);
    for case in 0..1500 {
        let problem = Arc::new(random(&mut rng));
        let tables = ValueTables::new(&problem, price(&problem));
        quantised += u32::from(tables.shift > 0);
        in_place += u32::from(!tables.all_copied());
        let values = assignment(&problem, &mut rng);
        for v in 0..tables.variables() {
            let row = rated(&tables, v, &values);
            let domain = tables.domain(v);
            assert!(row[domain..].iter().all(|&cost| cost >= PADDING), "case {case}: {row:?}");
            assert!(row[..domain].iter().all(|&cost| (0..=PADDING / 2).contains(&cost)), "case {case}: {row:?}");
            let energy = |value: usize| {
                let mut values = values.clone();
                values[v] = value as u16;
                tables.energy(&values).total
            };
            // each of the two compared entries is off by half a unit at most
            let slack = if tables.shift == 0 { 0 } else { (tables.degree(v) as Cost + 1) << tables.shift };
            for value in 1..domain {
                let change = Cost::from(row[value] - row[0]) << tables.shift;
                let exact = energy(value) - energy(0);
                assert!((change - exact).abs() <= slack, "case {case}, variable {v}: {change}, not {exact}");
            }
        }
    }
    assert!(quantised > 50 && in_place > 100, "{quantised} {in_place}");
}

#[test]
fn energies_are_costs_where_nothing_is_violated() {
    let mut rng = Rng::new(2);
    for _ in 0..1500 {
        let problem = Arc::new(random(&mut rng));
        let tables = ValueTables::new(&problem, price(&problem));
        let values = assignment(&problem, &mut rng);
        let wide: Vec<u32> = values.iter().map(|&value| u32::from(value)).collect();
        let energy = tables.energy(&values);
        let unary = problem.unary.iter().zip(&wide).filter(|(unary, value)| unary[**value as usize] >= FORBIDDEN);
        let functions = problem.functions.iter().filter(|f| f.cost(&problem.domains, &wide) >= FORBIDDEN);
        assert_eq!(energy.violations as usize, unary.count() + functions.count());
        match problem.cost(&wide) {
            FORBIDDEN => assert!(energy.violations > 0 && energy.total >= tables.price()),
            cost => assert_eq!((energy.violations, energy.total + problem.constant), (0, cost)),
        }
    }
}

#[test]
fn the_price_is_what_was_asked_for_where_it_fits() {
    let table = || Table::dense(vec![0, 5, FORBIDDEN, 1]);
    let functions = vec![
        CostFunction { scope: [0, 1].into(), table: table() },
        CostFunction { scope: [1, 2].into(), table: table() },
    ];
    let problem = Problem { domains: vec![2; 3], unary: vec![vec![0; 2]; 3], functions, constant: 0, top: FORBIDDEN };
    let problem = Arc::new(problem);
    assert_eq!(ValueTables::new(&problem, 77).price(), 77);
    assert_eq!(ValueTables::new(&problem, 0).price(), 1);
    // two hard functions on variable 1 and the soft costs together stay below the padding
    let tables = ValueTables::new(&problem, FORBIDDEN);
    assert!(tables.price() > 1 << 20);
    assert!(rated(&tables, 1, &[1, 0, 0])[..2].iter().all(|&cost| cost <= PADDING / 2));
}

#[test]
fn violations_do_not_pay_for_a_variable_alone() {
    let mut rng = Rng::new(10);
    let mut clamped = 0;
    for case in 0..1000 {
        let problem = Arc::new(random(&mut rng));
        let tables = ValueTables::new(&problem, FORBIDDEN);
        let largest = |costs: &[Cost]| costs.iter().copied().filter(|&cost| cost < FORBIDDEN).max().unwrap_or(0);
        let soft = |v: usize| {
            let on = problem.functions.iter().filter(|function| function.scope.contains(&(v as u32)));
            let tables = on.map(|function| match &function.table {
                Table::Dense(costs) => largest(&costs.wide()),
                Table::Sparse(table) => largest(table.costs()).max(largest(&[table.default_cost()])),
            });
            largest(&problem.unary[v]) + tables.sum::<Cost>()
        };
        let hard = |costs: &[Cost]| costs.contains(&FORBIDDEN);
        let forbids = problem.unary.iter().any(|unary| hard(unary))
            || problem.functions.iter().any(|function| match &function.table {
                Table::Dense(costs) => hard(&costs.wide()),
                Table::Sparse(table) => hard(table.costs()) || table.default_cost() == FORBIDDEN,
            });
        let widest = (0..tables.variables()).map(soft).max().unwrap_or(0);
        clamped += u32::from(forbids && tables.shift > 0);
        assert!(!forbids || tables.price() >= widest >> tables.shift << tables.shift, "case {case}");
    }
    assert!(clamped > 30, "{clamped}");
}

#[test]
fn incidences_tell_binary_functions_from_larger_ones() {
    let mut rng = Rng::new(3);
    for _ in 0..800 {
        let problem = Arc::new(random(&mut rng));
        let tables = ValueTables::new(&problem, price(&problem));
        let values = assignment(&problem, &mut rng);
        for v in 0..tables.variables() {
            let on = || problem.functions.iter().filter(|f| f.scope.contains(&(v as u32)));
            let binary = |f: &&CostFunction| f.scope.len() == 2 && matches!(f.table, Table::Dense(_));
            let others = |f: &CostFunction| f.scope.iter().copied().filter(|&u| u != v as u32).collect::<Vec<_>>();
            let expected: BTreeSet<u32> = on().filter(binary).flat_map(others).collect();
            let edges = tables.incidences(v).iter().filter_map(|i| Some((i, ValueTables::binary(i)?)));
            let mut found = BTreeSet::new();
            for (incidence, (base, other, stride)) in edges {
                assert_eq!(tables.offset(incidence, &values), base + usize::from(values[other]) * stride);
                assert!(found.insert(other as u32));
            }
            assert_eq!(found, expected);
            let larger: BTreeSet<u32> = on().filter(|f| !binary(f)).flat_map(others).collect();
            assert_eq!(tables.larger_neighbours(v).collect::<BTreeSet<_>>(), larger);
            assert_eq!(tables.degree(v), on().count());
        }
    }
}

#[test]
fn every_row_of_an_incidence_is_reached() {
    let mut rng = Rng::new(4);
    for _ in 0..300 {
        let problem = Arc::new(random_dense(&mut rng));
        let tables = ValueTables::new(&problem, price(&problem));
        for (f, v, incidence) in tables.incidences_by_function(&Stop::new()).expect("no stop is set") {
            let others: Vec<u32> = problem.functions[f as usize].scope.iter().copied().filter(|&u| u != v).collect();
            let mut reached = BTreeSet::new();
            let values = vec![0; problem.variables()];
            let count = fangs_testing::cores::for_all(&problem, &values, &others, |values| {
                let _ = reached.insert(tables.offset(&incidence, values));
            });
            assert_eq!(count, tables.row_count(&incidence));
            let listed: BTreeSet<usize> = (0..count).map(|k| tables.nth_row(v as usize, &incidence, k)).collect();
            assert_eq!(reached, listed);
        }
    }
}

#[test]
fn equal_tables_share_their_rows() {
    let costs = vec![0, 1, 2, 3, FORBIDDEN, 5];
    let shared = Table::dense(costs.clone());
    let scopes = [[0, 1], [2, 3], [4, 5]];
    let tables = [shared.clone(), shared, Table::dense(costs)];
    let functions = scopes.iter().zip(tables).map(|(scope, table)| CostFunction { scope: (*scope).into(), table });
    let problem = Problem {
        domains: vec![2, 3, 2, 3, 2, 3],
        unary: [2, 3, 2, 3, 2, 3].map(|d| vec![0; d]).into(),
        functions: functions.collect(),
        constant: 0,
        top: FORBIDDEN,
    };
    let tables = ValueTables::new(&Arc::new(problem), 100);
    let base = |v: usize| ValueTables::binary(&tables.incidences(v)[0]).map(|edge| edge.0);
    assert!(base(0) == base(2) && base(0) == base(4) && base(1) == base(3) && base(1) == base(5));
    assert_ne!(base(0), base(1));
}

#[test]
fn classes_and_regions_of_random_graphs() {
    let mut rng = Rng::new(8);
    let mut region = Region::default();
    for _ in 0..500 {
        let problem = random(&mut rng);
        let graph = Graph::new(&problem, &Stop::new()).expect("no stop is set");
        let n = graph.len();
        let classes = graph.classes(&Stop::new()).expect("no stop is set");
        let mut all: Vec<u32> = classes.concat();
        all.sort_unstable();
        assert_eq!(all, (0..n as u32).collect::<Vec<_>>());
        for class in &classes {
            for function in &problem.functions {
                assert!(function.scope.iter().filter(|v| class.contains(v)).count() < 2);
            }
        }
        let size = 1 + rng.index(n + 1);
        let members: BTreeSet<u32> =
            region.grow(&graph, size, &mut rng, &Stop::new()).expect("no stop").iter().copied().collect();
        assert_eq!(members.len(), size.min(n));
        // every component but one is taken whole
        let mut left = members.clone();
        let mut open = 0;
        while let Some(start) = left.pop_first() {
            let mut part = vec![start];
            let mut leaves = false;
            while let Some(v) = part.pop() {
                for &u in graph.neighbours(v as usize) {
                    if left.remove(&u) {
                        part.push(u);
                    }
                    leaves |= !members.contains(&u);
                }
            }
            open += usize::from(leaves);
        }
        assert!(open <= 1);
    }
}

#[test]
fn the_pool_keeps_the_best_different_assignments() {
    let mut rng = Rng::new(9);
    for _ in 0..50 {
        let problem = Arc::new(random(&mut rng));
        let tables = ValueTables::new(&problem, price(&problem));
        let mut pool = Pool::default();
        assert_eq!(pool.best(), Cost::MAX);
        let mut seen = BTreeSet::new();
        for _ in 0..200 {
            let elite = Elite::new(&tables, assignment(&problem, &mut rng));
            let _ = seen.insert((elite.energy.total, elite.hash));
            pool.offer(&elite);
            let kept: Vec<(Cost, u64)> = pool.elites().iter().map(|e| (e.energy.total, e.hash)).collect();
            assert_eq!(kept, seen.iter().copied().take(32).collect::<Vec<_>>());
        }
        assert!(pool.elites().iter().all(|e| e.hash == hash(&e.values) && e.energy == tables.energy(&e.values)));
    }
}

/// Items between two checks of the stop flag.
const ITEMS: u64 = 64;
/// Largest number of checks after the flag is set: the next ones of each thread.
const FEW: u64 = 64;

/// A preparation, and the size of its result.
type Make = fn(&SearchContext, &Stop) -> Result<usize, Error>;

#[test]
fn preparations_look_at_the_flag_all_the_way_and_begin_again_once_stopped() {
    let network = crate::generate::generate("grid", &[("side", "40"), ("d", "3")], 1).expect("a family");
    let reducer = crate::reduce::Reducer::new(&network, false, &Stop::new()).expect("no stop is set");
    let problem = Arc::new(reducer.problem(&Stop::new()).expect("no stop is set"));
    let n = problem.variables() as u64;
    let context = || SearchContext::new(&problem, price(&problem), None, &mut Rng::new(1));
    // each with the number of passes over all variables that it makes
    let makes: [(&str, Make, u64); 3] = [
        ("regions", |context, stop| context.regions(stop).map(<[u32]>::len), 32),
        ("forests", |context, stop| context.forests(stop).map(|forests| forests.len()), 8),
        ("layout", |context, stop| Ok(context.layout(stop)?.map_or(0, |layout| layout.affected.len())), 5),
    ];
    for (name, make, passes) in makes {
        let whole = Watch::new();
        let expected = make(&context(), &Stop::watched(&whole)).expect("the flag is not set");
        assert!(expected > 0 && whole.looks() >= passes * n / ITEMS, "{name}: {} looks", whole.looks());
        for part in 0..8 {
            let (context, last) = (context(), 1 + whole.looks() * part / 8);
            let watch = Watch::until(last);
            let stopped = make(&context, &Stop::watched(&watch));
            assert!(matches!(stopped, Err(Error::Stopped)), "{name}: look {last} of {}", whole.looks());
            assert!(watch.looks() < last + FEW, "{name}: {} looks after the flag was set", watch.looks() - last);
            assert_eq!(make(&context, &Stop::new()).expect("the flag is not set"), expected, "{name}");
        }
    }
}

#[test]
fn what_is_short_is_evaluated_although_the_flag_is_set() {
    let mut rng = Rng::new(10);
    let (stop, problem) = (Stop::new(), Arc::new(random(&mut rng)));
    stop.set(crate::stop::Cause::Time);
    let tables = ValueTables::new(&problem, price(&problem));
    let values = assignment(&problem, &mut rng);
    let elite = Elite::until(&tables, values.clone(), &stop).expect("it has few functions");
    assert_eq!(elite.energy, tables.energy(&values));
}
