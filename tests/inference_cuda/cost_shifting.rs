//! Cost shifting in join graphs and between functions.

use super::{band, gpu, order, random};
use fangs_base::rng::Rng;
use fangs_base::stop::Stop;
use fangs_bounds::bounds::{JoinGraph, Patience, Shift};
use fangs_bounds::reduce::Reducer;
use fangs_elimination::elimination::{Gpu, Limits, Plan, Progress};
use fangs_elimination::order::{Method, Order};
use fangs_model::model::{Cost, CostFunction, FORBIDDEN, Problem, Scope, Table};
use fangs_testing::published_network;
use std::sync::Arc;
use std::time::Instant;

/// The results of a join graph: its bound, the bounds of values, its functions and unary costs.
type Left = (Cost, Vec<Vec<Cost>>, Vec<(Scope, Vec<Cost>)>, Vec<Vec<Cost>>);

/// Shifts costs over join graphs of growing z, each built from the previous result, and once more over the last graph.
fn shifted(gpu: Option<&Arc<Gpu>>, problem: &Arc<Problem>, order: &Order, zs: &[u32]) -> Vec<Left> {
    let stop = Stop::new();
    let mut all = Vec::new();
    let mut last: Option<JoinGraph> = None;
    let look = |graph: &mut JoinGraph| -> Left {
        let mut slices = 0;
        while graph.advance(1 << 20, &stop) == Progress::More {
            slices += 1;
            assert!(slices < 100_000);
        }
        let trouble = graph.take_trouble();
        assert!(trouble.is_none() && graph.on_device() == gpu.is_some(), "{trouble:?}");
        let values = graph.value_bounds(&Stop::new()).expect("no stop is set");
        let bound = graph.lower_bound(FORBIDDEN);
        if bound == FORBIDDEN {
            // the tables of a problem without a solution do not matter
            return (bound, values, Vec::new(), Vec::new());
        }
        let left = graph.problem(&stop).expect("the device works").expect("it has its tables");
        let dense = |function: &CostFunction| (function.scope.clone(), function.entries(&left.domains).collect());
        (bound, values, left.functions.iter().map(dense).collect(), left.unary.clone())
    };
    for &z in zs {
        let (outline, patience) = match &last {
            Some(graph) => (Arc::new(graph.outline(&Stop::new()).expect("the flag is not set")), Patience::Long),
            None => (problem.clone(), Patience::Short),
        };
        let plan = Plan::new(&outline, order, &Limits::new(1 << 32).with(|limits| limits.z = Some(z)));
        let graph = match last.take() {
            Some(graph) => graph.after(outline, plan, patience, &Stop::new()),
            None => JoinGraph::new(&outline, plan, patience, &Stop::new()),
        };
        let mut graph = graph.expect("small costs").on(gpu);
        all.push(look(&mut graph));
        if graph.lower_bound(FORBIDDEN) == FORBIDDEN {
            return all;
        }
        last = Some(graph);
    }
    if let Some(mut graph) = last {
        graph.resume(Patience::Short);
        all.push(look(&mut graph));
    }
    all
}

#[test]
fn join_graphs_leave_the_same_tables() {
    let Some(gpu) = gpu() else { return };
    let mut rng = Rng::new(37);
    let (mut solved, mut infeasible) = (0, 0);
    for round in 0..150u32 {
        let (n, functions) = (1 + rng.index(14), rng.index(30));
        let mut problem = random(&mut rng, n, [2, 4, 7][round as usize % 3], functions);
        problem.functions.retain(|function| function.combinations(&problem.domains) < 5000);
        if round % 4 == 0 {
            problem.top = 1 + rng.below(2000) as Cost;
        }
        let problem = Arc::new(problem);
        let order = order(&problem, &mut rng);
        let plan = Plan::new(&problem, &order, &Limits::new(1 << 32).with(|limits| limits.z = Some(2)));
        if plan.cap() >= 1 << 48 {
            continue;
        }
        let zs = [1 + rng.below(3) as u32, 4, 6];
        let (ours, theirs) = (shifted(Some(gpu), &problem, &order, &zs), shifted(None, &problem, &order, &zs));
        solved += 1;
        infeasible += u32::from(ours.iter().any(|left| left.0 == FORBIDDEN));
        assert!(ours == theirs, "round {round}");
    }
    assert!(solved > 100 && infeasible > 5, "{solved} {infeasible}");
}

/// Tables of many blocks, of all kinds of digits, and entries of 64 bits.
#[test]
fn large_join_graphs_leave_the_same_tables() {
    let Some(gpu) = gpu() else { return };
    let mut rng = Rng::new(38);
    for (n, domain, reach, zs) in
        [(40, 2, 20, [15, 18]), (30, 3, 12, [9, 12]), (30, 4, 11, [7, 10]), (12, 25, 6, [3, 4]), (10, 44, 6, [2, 4])]
    {
        for scale in [1, 1 << 30] {
            let mut problem = band(&mut rng, n, domain, reach);
            for function in &mut problem.functions {
                let costs = function.entries(&problem.domains).map(|cost| cost * scale).collect();
                function.table = Table::dense(costs);
            }
            let problem = Arc::new(problem);
            let order = Order::greedy(&problem, Method::MinFill, 1, &Stop::new());
            let (ours, theirs) = (shifted(Some(gpu), &problem, &order, &zs), shifted(None, &problem, &order, &zs));
            assert!(ours == theirs, "{n} variables of {domain} values");
        }
    }
}

/// Shifts costs between functions to the end, in slices of any size; returns the bound, those of values, and the
/// remaining costs.
fn between_functions(gpu: Option<&Arc<Gpu>>, problem: &Arc<Problem>, order: &[u32], rng: &mut Rng) -> Left {
    let mut shift = Shift::new(problem, None, order, &Stop::new()).expect("small costs").on(gpu, true);
    let mut slices = 0;
    while shift.advance(1 + rng.below(1 << 16), &Stop::new()) == Progress::More {
        slices += 1;
        assert!(slices < 100_000);
    }
    let trouble = shift.take_trouble();
    assert!(trouble.is_none(), "{trouble:?}");
    let (bound, values, left) = (
        shift.lower_bound(problem.top),
        shift.value_bounds(&Stop::new()).expect("no stop is set"),
        shift.problem(&Stop::new()).expect("the flag is not set"),
    );
    if bound == problem.top {
        return (bound, values, Vec::new(), Vec::new());
    }
    let dense = |function: &CostFunction| (function.scope.clone(), function.entries(&left.domains).collect());
    (bound + left.constant, values, left.functions.iter().map(dense).collect(), left.unary.clone())
}

/// Checks that device and CPU shift costs alike. Returns `None` if costs are too large, otherwise whether the bound is
/// the limit.
fn shifts_alike(gpu: &Arc<Gpu>, problem: Problem, rng: &mut Rng) -> Option<bool> {
    let problem = Arc::new(problem);
    let mut order: Vec<u32> = (0..problem.variables() as u32).collect();
    rng.shuffle(&mut order);
    let _ = Shift::new(&problem, None, &order, &Stop::new())?;
    let (device, host) =
        (between_functions(Some(gpu), &problem, &order, rng), between_functions(None, &problem, &order, rng));
    assert!(device == host, "{} variables, {} functions", problem.variables(), problem.functions.len());
    Some(device.0 == problem.top)
}

#[test]
fn shifting_between_functions_leaves_the_same_costs() {
    let Some(gpu) = gpu() else { return };
    let mut rng = Rng::new(39);
    let (mut solved, mut limited) = (0, 0);
    for round in 0..200u32 {
        let (n, functions) = (2 + rng.index(13), rng.index(30));
        let mut problem = random(&mut rng, n, [2, 4, 7, 20][round as usize % 4], functions);
        problem.functions.retain(|function| function.combinations(&problem.domains) < 20_000);
        if round % 3 == 0 {
            problem.top = 1 + rng.below(2000) as Cost;
        }
        let Some(limit) = shifts_alike(gpu, problem, &mut rng) else { continue };
        (solved, limited) = (solved + 1, limited + u32::from(limit));
    }
    assert!(solved > 140 && limited > 5, "{solved} {limited}");
}

/// Entries of 32 and 64 bits, variables of several blocks of threads, large domains.
#[test]
fn shifting_between_many_functions_leaves_the_same_costs() {
    let Some(gpu) = gpu() else { return };
    let mut rng = Rng::new(41);
    for (n, domain, reach) in [(40, 2, 20), (60, 8, 4), (30, 44, 9), (9, 300, 3), (400, 5, 6)] {
        for scale in [1, 1 << 30] {
            let mut problem = band(&mut rng, n, domain, reach);
            for function in &mut problem.functions {
                let costs = function.entries(&problem.domains).map(|cost| cost * scale).collect();
                function.table = Table::dense(costs);
            }
            assert_eq!(shifts_alike(gpu, problem, &mut rng), Some(false));
        }
    }
}

/// Prints the times of device and CPU, and compares all costs.
fn race(gpu: &Arc<Gpu>, name: &str, problem: &Arc<Problem>) {
    let stop = Stop::new();
    let order: Vec<u32> = (0..problem.variables() as u32).collect();
    let timed = |gpu: Option<&Arc<Gpu>>, threads: usize| {
        let threads = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        let mut shift = Shift::new(problem, None, &order, &Stop::new()).expect("small costs").on(gpu, true);
        let begin = Instant::now();
        threads.install(|| while shift.advance(50_000_000, &stop) == Progress::More {});
        let seconds = begin.elapsed().as_secs_f64();
        assert!(shift.take_trouble().is_none());
        (seconds, shift)
    };
    let ((first, _), (its, device)) = (timed(Some(gpu), 12), timed(Some(gpu), 12));
    let ((one, host), (two, _), (many, _)) = (timed(None, 1), timed(None, 2), timed(None, 12));
    let (bound, (passes, waves, entries)) = (host.lower_bound(problem.top), host.passes());
    println!(
        "{name}: {bound} after {passes} passes of {waves} waves and {entries} entries; \
         device {its:.4} s ({first:.4} at first), CPU {one:.4} s, {two:.4} on 2 threads, {many:.4} on 12"
    );
    assert_eq!(device.lower_bound(problem.top), bound);
    let values = |shift: &Shift| shift.value_bounds(&Stop::new()).expect("no stop is set");
    assert_eq!(values(&device), values(&host));
    let [device, host] = [device, host].map(|shift| shift.problem(&Stop::new()).expect("the flag is not set"));
    assert!(device.unary == host.unary && device.constant == host.constant);
    for (device, host) in device.functions.iter().zip(&host.functions) {
        assert!(device.entries(&problem.domains).eq(host.entries(&problem.domains)));
    }
}

#[test]
fn shifting_of_large_networks_is_the_cpus() {
    let Some(gpu) = gpu() else { return };
    let mut rng = Rng::new(40);
    for (n, domain, pairs) in [(1000u32, 10, 5000), (1000, 30, 5000), (3000, 40, 12000), (20000, 20, 60000)] {
        let mut functions = Vec::new();
        for _ in 0..pairs {
            let (a, b) = (rng.below(u64::from(n)) as u32, rng.below(u64::from(n)) as u32);
            if a != b {
                let costs = (0..domain * domain).map(|_| rng.below(100) as Cost).collect();
                functions.push(CostFunction { scope: [a.min(b), a.max(b)].into(), table: Table::dense(costs) });
            }
        }
        let unary = (0..n).map(|_| (0..domain).map(|_| rng.below(9) as Cost).collect()).collect();
        let problem = Problem { domains: vec![domain; n as usize], unary, functions, constant: 0, top: FORBIDDEN };
        race(gpu, &format!("{n} variables of {domain} values, {pairs} functions"), &Arc::new(problem));
    }
    for name in [
        "large_synthetic/grid100x100_d8",
        "large_synthetic/rnd1000_d10_e5000",
        "spot5/505",
        "spot5/414",
        "celar/scen06",
        "celar/scen07",
    ] {
        let Some(network) = published_network(&format!("{name}.wcsp.xz")) else { continue };
        let stop = Stop::new();
        let reducer = Reducer::new(&network, true, &stop).expect("the flag is not set");
        race(gpu, name, &Arc::new(reducer.problem(&Stop::new()).expect("no stop is set")));
    }
}
