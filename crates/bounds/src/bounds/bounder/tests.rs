//! Tests of all bound methods against enumeration.

use super::*;
use crate::bounds::cost_shifting::Shift;
use crate::bounds::shifting::{Between, Shifting};
use crate::bounds::strategies::Graphs;
use crate::bounds::{JoinGraph, METHODS, Part, Patience, constant_bound};
use crate::elimination::testing::{run, shuffled};
use crate::elimination::{Limits, Plan, Progress};
use crate::model::{Cost, CostFunction, FORBIDDEN, Problem, Table};
use crate::order::best_orders;
use crate::rng::Rng;
use crate::stop::Stop;
use fangs_testing::problems::{assignments, random};
use std::sync::Arc;

/// All assignments with their costs.
type Costs = Vec<(Vec<u32>, Cost)>;

/// Returns a random problem, the costs of its assignments, and its optimum; every third problem has a limit near the
/// optimum.
fn case(rng: &mut Rng, number: u32) -> (Arc<Problem>, Costs, Cost) {
    let mut problem = random(rng, 4);
    let all: Costs = assignments(&problem).map(|values| (values.clone(), problem.cost(&values))).collect();
    let optimum = all.iter().map(|&(_, cost)| cost).min().unwrap_or(FORBIDDEN);
    if number.is_multiple_of(3) {
        problem.top = problem.top.min(optimum.saturating_add(rng.below(20) as Cost)).max(1);
    }
    (Arc::new(problem), all, optimum)
}

/// Checks that the value bounds exclude no solution below the limit.
fn check_values(bounds: &[Vec<Cost>], all: &[(Vec<u32>, Cost)], limit: Cost) {
    for (values, cost) in all.iter().filter(|&&(_, cost)| cost < limit) {
        let fine = bounds.iter().zip(values).all(|(bounds, &value)| bounds[value as usize] <= *cost);
        assert!(fine, "{bounds:?} {values:?} {cost}");
    }
}

#[test]
fn join_graphs_keep_every_cost_and_their_bounds_never_fall_nor_pass_the_optimum() {
    let mut rng = Rng::new(41);
    let stop = Stop::new();
    let (mut exact, mut above) = (0, 0);
    for number in 0..3000 {
        let (problem, all, optimum) = case(&mut rng, number);
        let limit = problem.top;
        let order: Vec<u32> = (0..problem.variables() as u32).collect();
        let mut shift = Shift::new(&problem, None, &order, &Stop::new()).expect("small costs");
        let _ = shift.advance(if number % 2 == 0 { 0 } else { u64::MAX }, &stop);
        let shift = Arc::new(shift);
        let mut now = Arc::new(shift.problem(&Stop::new()).expect("no stop is set"));
        let (mut before, order) = (Cost::MIN, shuffled(&problem, &mut rng));
        for patience in [Patience::Short, [Patience::Once, Patience::Long][rng.index(2)]] {
            let limits = Limits { z: Some(1 + rng.below(4) as u32), ..Limits::new(1 << 30) };
            let plan = Plan::new(&now, &order, &limits);
            let plain = shift.bound(run(&now, plan.clone()).lower_bound()).min(limit);
            let graph = JoinGraph::new(&now, plan.clone(), patience, &Stop::new()).expect("small costs");
            let between = Between::MiniBuckets(graph, shift.clone());
            let mut shifting = Shifting { name: "jg".into(), between };
            loop {
                let progress = shifting.advance(1 + rng.below(60), &stop);
                let bound = shifting.lower_bound(limit);
                assert!(bound >= before && bound <= optimum.min(limit), "{number}: {before} {bound} {optimum} {limit}");
                before = bound;
                if progress == Progress::Done {
                    break;
                }
            }
            check_values(&shifting.value_bounds(&Stop::new()).expect("no stop is set"), &all, limit);
            if plan.exact {
                assert_eq!(before, optimum.min(limit), "{number}");
                exact += 1;
            }
            above += u32::from(before > plain);
            let Between::MiniBuckets(graph, _) = shifting.between else { return };
            now = Arc::new(graph.problem(&Stop::new()).expect("no device").expect("it has its tables"));
            for (values, cost) in &all {
                if *cost < limit && *cost < FORBIDDEN {
                    assert_eq!(now.cost(values), shift.scaled(*cost), "{number}: {values:?}");
                } else {
                    assert!(now.cost(values) >= shift.scaled(limit), "{number}: {values:?}");
                }
            }
        }
    }
    assert!(exact > 300 && above > 100, "{exact} {above}");
}

/// Returns the bounds after each slice of passes over graphs on several threads, and the tables.
fn shifted_by(threads: usize, problem: &Arc<Problem>, plan: &Plan, next: &Plan) -> (Vec<Cost>, Vec<Vec<Cost>>) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    pool.install(|| {
        let stop = Stop::new();
        let mut bounds = Vec::new();
        let mut graph = JoinGraph::new(problem, plan.clone(), Patience::Short, &Stop::new()).expect("small costs");
        while graph.advance(1 << 20, &stop) == Progress::More {
            bounds.push(graph.lower_bound(FORBIDDEN));
        }
        let outline = Arc::new(graph.outline(&Stop::new()).expect("no stop is set"));
        let mut graph = graph.after(outline, next.clone(), Patience::Long, &Stop::new()).expect("small costs");
        while graph.advance(1 << 20, &stop) == Progress::More {
            bounds.push(graph.lower_bound(FORBIDDEN));
        }
        bounds.push(graph.lower_bound(FORBIDDEN));
        bounds.extend(graph.value_bounds(&Stop::new()).expect("no stop is set").into_iter().flatten());
        let tables = graph.tables().expect("they are made");
        (bounds, (0..next.steps.len()).map(|index| tables.table(index).expect("no device")).collect())
    })
}

#[test]
fn threads_do_not_change_what_passes_leave() {
    let mut rng = Rng::new(43);
    let mut large = 0;
    for (n, domain, reach, z, dear) in
        [(14, 9, 9, 6, 1), (30, 4, 12, 9, 1 << 30), (40, 2, 20, 17, 1), (12, 44, 6, 3, 1)]
    {
        let mut functions = Vec::new();
        for a in 0..n {
            for b in a + 1..n.min(a + reach) {
                let costs = (0..domain * domain).map(|_| dear * rng.below(100) as Cost).collect();
                functions.push(CostFunction { scope: [a, b].into(), table: Table::dense(costs) });
            }
        }
        let unary = vec![(0..domain).map(|_| dear * rng.below(9) as Cost).collect(); n as usize];
        let problem = Problem { domains: vec![domain; n as usize], unary, functions, constant: 0, top: FORBIDDEN };
        let problem = Arc::new(problem);
        let order = best_orders(&problem, &[Method::MinFill], 1, 2, 1, &Stop::new()).remove(0);
        let plan = |z| Plan::new(&problem, &order, &Limits { z: Some(z), ..Limits::new(1 << 30) });
        let (first, second) = (plan(z - 1), plan(z));
        large += u32::from(second.joint_entries > 1 << 20);
        let alone = shifted_by(1, &problem, &first, &second);
        for threads in [2, 4] {
            let others = shifted_by(threads, &problem, &first, &second);
            assert_eq!(alone.0, others.0, "{threads} threads, {n} variables");
            assert!(alone.1 == others.1, "{threads} threads, {n} variables");
        }
    }
    assert!(large > 2, "{large}");
}

#[test]
fn no_method_passes_the_optimum() {
    let mut rng = Rng::new(42);
    let stop = Stop::new();
    let (mut reached, mut stages) = (0, 0);
    for number in 0..3000 {
        let (problem, all, optimum) = case(&mut rng, number);
        let limit = problem.top;
        let orders = best_orders(&problem, &[Method::MinFill, Method::MinDegree], 1, 2, 2, &stop);
        let choice = METHODS[rng.index(METHODS.len())].choice;
        let z = [None, None, Some(2), Some(3)][rng.index(4)];
        let memory = [1 << 30, 1 << 30, 2000, 100][rng.index(4)];
        let exact_work = Some(rng.below(3) / 2 * 1000);
        let mut bounder = Bounder::new(BounderOptions { choice, z, memory, exact_work, ..BounderOptions::default() });
        bounder.follow(orders);
        let mut best = constant_bound(&problem);
        while let Some(stage) = bounder.choose(&problem, (rng.below(2) == 0).then_some(limit), &Stop::new()) {
            bounder.charge(stage.steady(), 1 + rng.below(100));
            stages += 1;
            let (bound, values) = match stage {
                Stage::Shift(mut shifting) => {
                    while shifting.advance(1000, &stop) == Progress::More {}
                    let known = (shifting.lower_bound(limit), shifting.value_bounds(&stop).ok());
                    bounder.shifted(*shifting, &Stop::new());
                    known
                }
                Stage::Run(attempt, plan) => {
                    let outcome = run(attempt.problem(), plan);
                    let bound = attempt.lower_bound(&outcome);
                    (bound.min(limit), bounder.eliminated(&attempt, &outcome, limit, &stop))
                }
                Stage::Search(mut branch, work) => {
                    let (end, before) = (branch.work_done() + work, branch.lower_bound());
                    while branch.advance(1000, &stop) == Progress::More && branch.work_done() < end {}
                    let bound = branch.lower_bound();
                    bounder.searched(branch, before);
                    (bound.min(limit), None)
                }
            };
            assert!(bound <= optimum.min(limit), "{number} {}: {bound} {optimum} {limit}", choice.name());
            if let Some(values) = values {
                check_values(&values, &all, limit);
            }
            best = best.max(bound);
        }
        reached += u32::from(best == optimum.min(limit));
    }
    assert!(reached > 1500 && stages > 3000, "{reached} {stages}");
}

/// Checks that each strategy is run by exactly one of several processes.
#[test]
fn parts_of_a_schedule_are_the_whole() {
    let flags = |strategies: &Strategies| {
        let graphs = strategies.graphs != Graphs::None;
        let Strategies { plain, shift, shifted, rows, searches, .. } = strategies;
        [*plain, *shift, *shifted, graphs, *rows, !searches.is_empty()]
    };
    for method in METHODS {
        let whole = flags(&method.strategies);
        for of in 1..6 {
            let parts = (0..of).map(|place| method.strategies.part(Part { place, of }));
            let mut sum = [0; 6];
            let mut idle = 0;
            for part in parts {
                let part_flags = flags(&part);
                // strategies that build on cost shifting need it
                assert!(part.go_on_from_shifting() <= (part.shift || !method.strategies.shift), "{part:?}");
                assert_eq!(part.are_none(), part_flags == [false; 6]);
                assert_eq!(part.exact_work, method.strategies.exact_work);
                idle += usize::from(part.are_none());
                sum.iter_mut().zip(part_flags).for_each(|(sum, is_there)| *sum += u32::from(is_there));
            }
            assert_eq!(sum, whole.map(u32::from), "{:?} of {of}", method.choice);
            let families = [whole[1..5].contains(&true), whole[5], whole[0]];
            let families = families.into_iter().filter(|&is_there| is_there).count();
            assert_eq!(idle, of.saturating_sub(families), "{:?} of {of}", method.choice);
        }
    }
}
