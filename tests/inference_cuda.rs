//! Elimination and join graphs on a CUDA device against the CPU: every message, table, bound and assignment, bit for
//! bit.
//!
//! Without a device the tests print so and pass; `FANGS_REQUIRE_GPU=1` makes its absence a failure.

#![cfg(feature = "cuda")]

use fangs::bounds::{Branch, Climb, Graphs, JoinGraph, Ladder, Means, Patience, RowLimits, Shift, Spent, Stage, Style};
use fangs::device::Cuda;
use fangs::elimination::{Gpu, Limits, Outcome, Plan, Progress, Run, Width};
use fangs::formats::{ReadOptions, Source, read};
use fangs::model::{Cost, CostFunction, FORBIDDEN, Problem, SparseTable, Table};
use fangs::order::{Method, Order, best_orders};
use fangs::reduce::Reducer;
use fangs::rng::Rng;
use fangs::stop::Stop;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

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

fn conforms(gpu: &Arc<Gpu>, problem: &Arc<Problem>, plan: &Plan) {
    let device = run(Some(gpu), problem, plan);
    let host = run(None, problem, plan);
    assert_eq!(device.lower_bound(), host.lower_bound());
    for (step, its) in plan.steps.iter().enumerate() {
        assert_eq!(device.message(step), host.message(step), "step {step} of {}: {its:?}", plan.steps.len());
    }
    assert_eq!(device.assign(), host.assign());
}

/// All that a join graph has come to: its bound, those of values, and its functions.
type Left = (Cost, Vec<Vec<Cost>>, Vec<(Box<[u32]>, Vec<Cost>)>, Vec<Vec<Cost>>);

/// Moves costs over graphs of growing z, each made of what the last one left, and once more over the last one.
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
        let (bound, values) = (graph.lower_bound(FORBIDDEN), graph.value_bounds());
        if bound == FORBIDDEN {
            // what is left of tables without a solution is of no interest
            return (bound, values, Vec::new(), Vec::new());
        }
        let left = graph.problem().expect("the device works").expect("it has its tables");
        let dense = |function: &CostFunction| (function.scope.clone(), function.entries(&left.domains).collect());
        (bound, values, left.functions.iter().map(dense).collect(), left.unary.clone())
    };
    for &z in zs {
        let (outline, patience) = match &last {
            Some(graph) => (Arc::new(graph.outline(&Stop::new()).expect("the flag is not set")), Patience::Long),
            None => (problem.clone(), Patience::Short),
        };
        let plan = Plan::new(&outline, order, &Limits { z: Some(z), ..Limits::new(1 << 32) });
        let graph = match last.take() {
            Some(graph) => graph.after(outline, &plan, patience, &Stop::new()),
            None => JoinGraph::new(&outline, &plan, patience, &Stop::new()),
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
        let plan = Plan::new(&problem, &order, &Limits { z: Some(2), ..Limits::new(1 << 32) });
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

/// Shifts between functions to the end, in slices of any size: the bound, those of values, and what is left.
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
        shift.value_bounds(),
        shift.problem(&Stop::new()).expect("the flag is not set"),
    );
    if bound == problem.top {
        return (bound, values, Vec::new(), Vec::new());
    }
    let dense = |function: &CostFunction| (function.scope.clone(), function.entries(&left.domains).collect());
    (bound + left.constant, values, left.functions.iter().map(dense).collect(), left.unary.clone())
}

/// Whether costs are small enough to shift; then on both sides with the same result. Whether that is the limit.
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

/// Prints how long both take, and compares all costs.
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
    assert_eq!(device.value_bounds(), host.value_bounds());
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
    let folder = std::env::var_os("FANGS_INSTANCES").map_or_else(|| "../shared/instances".into(), PathBuf::from);
    for name in [
        "large_synthetic/grid100x100_d8",
        "large_synthetic/rnd1000_d10_e5000",
        "spot5/505",
        "spot5/414",
        "celar/scen06",
        "celar/scen07",
    ] {
        let (path, stop) = (folder.join(format!("{name}.wcsp.xz")), Stop::new());
        if !path.exists() {
            println!("skipped: {} is not there", path.display());
            continue;
        }
        let network = read(&Source::new(&path), None, &ReadOptions::default(), &stop).expect("a published instance");
        let reducer = Reducer::new(&network, true, &stop).expect("the flag is not set");
        race(gpu, name, &Arc::new(reducer.problem()));
    }
}

fn order(problem: &Problem, rng: &mut Rng) -> Order {
    if rng.below(2) == 0 {
        return Order::greedy(problem, Method::MinFill, rng.below(99), &Stop::new());
    }
    let mut sequence: Vec<u32> = (0..problem.variables() as u32).collect();
    rng.shuffle(&mut sequence);
    Order::given(problem, &sequence, &Stop::new()).expect("a permutation")
}

#[test]
fn random_plans_make_the_same_messages() {
    let Some(gpu) = gpu() else { return };
    let mut rng = Rng::new(31);
    let mut widths = [0, 0];
    let mut lowered = 0;
    for round in 0..400u32 {
        let (n, functions) = (1 + rng.index(14), rng.index(30));
        let problem = Arc::new(random(&mut rng, n, [2, 4, 7][round as usize % 3], functions));
        let order = order(&problem, &mut rng);
        let z = [None, Some(1), Some(2), Some(3), Some(5)][rng.index(5)];
        let ub = [None, None, Some(rng.below(60) as Cost)][rng.index(3)];
        let max_bytes = [300, 3000, 100_000, 1 << 26][rng.index(4)];
        let plan = Plan::new(&problem, &order, &Limits { z, max_bytes, spill: 0, keep_messages: round % 5 > 0, ub });
        widths[usize::from(plan.width == Width::I64)] += 1;
        lowered += plan.steps.iter().filter(|step| step.lowered).count();
        conforms(gpu, &problem, &plan);
    }
    assert!(widths.iter().all(|&count| count > 50) && lowered > 50, "{widths:?} {lowered}");
}

/// By rows: what is listed, what was looked at, and what follows.
fn conforms_by_rows(gpu: &Arc<Gpu>, problem: &Arc<Problem>, order: &Order, ub: Option<Cost>) {
    let limits = RowLimits { bytes: 1 << 32, work: u64::MAX };
    let plan = Plan::by_rows(problem, order, ub, limits, &Stop::new()).expect("keys are narrow");
    let made = |gpu: Option<&Arc<Gpu>>| {
        let mut run = Run::on(gpu, problem.clone(), plan.clone());
        assert_eq!(run.on_device(), gpu.is_some(), "{:?}", run.trouble());
        while run.advance(1 << 16, &Stop::new()) == Progress::More {}
        assert!(run.trouble().is_none(), "{:?}", run.trouble());
        run.finish().expect("the run is done")
    };
    let (device, host) = (made(Some(gpu)), made(None));
    assert!(device.exact() && host.exact());
    assert_eq!(device.lower_bound(), host.lower_bound());
    assert_eq!(device.plan().joint_entries, host.plan().joint_entries, "rows looked at");
    assert_eq!(device.plan().largest_table, host.plan().largest_table);
    assert_eq!(device.plan().table_bytes, host.plan().table_bytes);
    for step in (0..plan.steps.len()).filter(|&step| plan.steps[step].entries < 1 << 20) {
        assert_eq!(device.message(step), host.message(step), "step {step} of {}", plan.steps.len());
    }
    assert_eq!(device.assign(), host.assign());
}

#[test]
fn rows_are_the_cpus() {
    let Some(gpu) = gpu() else { return };
    let mut rng = Rng::new(37);
    for round in 0..200u32 {
        let (n, functions) = (1 + rng.index(8), rng.index(20));
        let problem = Arc::new(random(&mut rng, n, [2, 4, 7][round as usize % 3], functions));
        let order = order(&problem, &mut rng);
        let optimum = run(None, &problem, &Plan::new(&problem, &order, &Limits::new(1 << 28))).lower_bound();
        let near = optimum.saturating_add(1 + rng.below(30) as Cost).min(FORBIDDEN);
        conforms_by_rows(gpu, &problem, &order, [None, Some(near), Some(optimum)][rng.index(3)]);
    }
    // many rows of several groups, with and without new variables
    for (n, domain, reach, gap) in [(22, 2, 16, 400), (14, 4, 9, 300), (9, 9, 7, 200), (6, 25, 5, 150)] {
        let problem = Arc::new(band(&mut rng, n, domain, reach));
        let order = order(&problem, &mut rng);
        let exact = run(None, &problem, &Plan::new(&problem, &order, &Limits::new(1 << 31)));
        assert!(exact.exact());
        conforms_by_rows(gpu, &problem, &order, Some(exact.lower_bound() + gap));
    }
}

/// What join graphs left of published instances, where their folder is there; prints how long both took.
#[test]
fn rows_of_instances_are_the_cpus() {
    let Some(gpu) = gpu() else { return };
    let folder = std::env::var_os("FANGS_INSTANCES").map_or_else(|| "../shared/instances".into(), PathBuf::from);
    let means = Means { plain: false, shift: true, shifted: false, graphs: Graphs::Growing, rows: true, branch: &[] };
    // the first try on what a graph of such a z left, or a larger one
    let z = |attempt: &str| attempt.strip_prefix("jg(")?.split(')').next()?.parse::<u32>().ok();
    for (name, optimum, least) in [("42b", 155050, 5), ("408b", 6225, 5), ("505", 21253, 9)] {
        let path = folder.join(format!("spot5/{name}.wcsp.xz"));
        if !path.exists() {
            println!("skipped: {} is not there", path.display());
            continue;
        }
        let stop = Stop::new();
        let network = read(&Source::new(&path), None, &ReadOptions::default(), &stop).expect("a published instance");
        let mut reducer = Reducer::new(&network, true, &stop).expect("the flag is not set");
        reducer.tighten(optimum + 1, &stop);
        let problem = Arc::new(reducer.problem());
        let orders = best_orders(&problem, &[Method::MinFill], 1, 8, 1, &stop);
        let mut climb = Climb::new(&problem, Ladder::new(orders, 8 << 30, None).exact_work(0), means);
        let mut compared = false;
        while let Some(stage) = climb.next(Some(optimum + 1), Spent::default(), &Stop::new()) {
            match stage {
                Stage::Shift(mut shifting) => {
                    while shifting.advance(u64::MAX, &stop) == Progress::More {}
                    climb.shifted(*shifting, &Stop::new());
                }
                Stage::Run(attempt, mut plan) if z(&attempt.name).is_some_and(|z| z >= least) => {
                    plan.rows = Some(RowLimits { bytes: 8 << 30, work: u64::MAX });
                    let timed = |gpu: Option<&Arc<Gpu>>| {
                        let begin = Instant::now();
                        let mut run = Run::on(gpu, attempt.problem.clone(), plan.clone());
                        while run.advance(u64::MAX, &stop) == Progress::More {}
                        assert!(run.trouble().is_none(), "{:?}", run.trouble());
                        (run.finish().expect("the run is done"), begin.elapsed().as_secs_f64())
                    };
                    let (_, first) = timed(Some(gpu));
                    let ((device, its), (host, own)) = (timed(Some(gpu)), timed(None));
                    let rows = host.plan().joint_entries;
                    println!(
                        "{name}, {}: {rows} rows, device {its:.3} s ({first:.3} at first), CPU {own:.3} s",
                        attempt.name
                    );
                    assert!(device.exact() && host.exact());
                    assert_eq!(attempt.lower_bound(&host), optimum);
                    assert_eq!(device.lower_bound(), host.lower_bound());
                    assert_eq!(device.plan().joint_entries, rows);
                    assert_eq!(device.plan().largest_table, host.plan().largest_table);
                    let assignment = host.assign().expect("the optimum is below the limit");
                    assert_eq!(problem.cost(&assignment), optimum);
                    assert_eq!(device.assign(), Some(assignment));
                    compared = true;
                    break;
                }
                Stage::Run(..) | Stage::Branch(..) => {}
            }
        }
        assert!(compared, "{name}: no attempt");
    }
}

#[test]
fn rows_that_pass_their_limits_give_up() {
    let Some(gpu) = gpu() else { return };
    let mut rng = Rng::new(38);
    let problem = Arc::new(band(&mut rng, 20, 3, 10));
    let order = order(&problem, &mut rng);
    for limits in [RowLimits { bytes: 1 << 16, work: u64::MAX }, RowLimits { bytes: 1 << 32, work: 1 << 20 }] {
        let plan = Plan::by_rows(&problem, &order, None, limits, &Stop::new()).expect("keys are narrow");
        let mut run = Run::on(Some(gpu), problem.clone(), plan);
        while run.advance(u64::MAX, &Stop::new()) == Progress::More {}
        assert!(run.trouble().is_none(), "{:?}", run.trouble());
        let outcome = run.finish().expect("it has ended");
        assert!(!outcome.exact() && outcome.assign().is_none());
    }
}

#[test]
fn large_steps_make_the_same_messages() {
    let Some(gpu) = gpu() else { return };
    let mut rng = Rng::new(32);
    for (n, domain, reach) in
        [(26, 2, 24), (15, 3, 14), (13, 4, 12), (10, 6, 9), (9, 9, 8), (8, 10, 8), (8, 11, 7), (6, 25, 6), (6, 44, 5)]
    {
        let problem = Arc::new(band(&mut rng, n, domain, reach));
        let order = Order::given(&problem, &(0..n as u32).collect::<Vec<_>>(), &Stop::new()).expect("a permutation");
        for z in [None, Some(4)] {
            let mut plan = Plan::new(&problem, &order, &Limits { z, ..Limits::new(1 << 30) });
            conforms(gpu, &problem, &plan);
            plan.width = Width::I64;
            conforms(gpu, &problem, &plan);
        }
    }
}

/// Mixed domains and functions of high arity: digits that merge and digits that do not.
#[test]
fn mixed_digits_make_the_same_messages() {
    let Some(gpu) = gpu() else { return };
    let mut rng = Rng::new(33);
    for round in 0..60usize {
        let n = 9 + rng.index(4);
        let functions = 10 + rng.index(20);
        let mut problem = random(&mut rng, n, 9, functions);
        if round % 3 == 0 {
            problem.top = 1 + rng.below(5000) as Cost;
        }
        let problem = Arc::new(problem);
        let order = order(&problem, &mut rng);
        let plan = Plan::new(&problem, &order, &Limits { z: [None, Some(7)][round % 2], ..Limits::new(1 << 28) });
        if plan.joint_entries < 1 << 31 {
            conforms(gpu, &problem, &plan);
        }
    }
}

/// More functions in a bucket than a kernel takes.
#[test]
fn hubs_make_the_same_messages() {
    let Some(gpu) = gpu() else { return };
    let mut rng = Rng::new(34);
    for leaves in [11u32, 12, 13, 40, 300] {
        let mut leaf = |leaf| CostFunction {
            scope: [0, leaf].into(),
            table: Table::dense((0..9).map(|_| rng.below(100) as Cost).collect()),
        };
        let functions = (1..=leaves).map(&mut leaf).collect();
        let n = leaves as usize + 1;
        let problem =
            Problem { domains: vec![3; n], unary: vec![vec![1, 0, 2]; n], functions, constant: 0, top: FORBIDDEN };
        let problem = Arc::new(problem);
        for after in [0, 8, 11] {
            // the hub goes after all leaves, or before the last ones
            let mut sequence: Vec<u32> = (1..=leaves).collect();
            sequence.insert(leaves.saturating_sub(after) as usize, 0);
            let order = Order::given(&problem, &sequence, &Stop::new()).expect("a permutation");
            conforms(gpu, &problem, &Plan::new(&problem, &order, &Limits::new(1 << 26)));
        }
    }
}

/// A plan that does not fit is the CPU's, and says so.
#[test]
fn plans_that_do_not_fit_go_to_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let mut rng = Rng::new(35);
    let problem = Arc::new(band(&mut rng, 24, 4, 24));
    let order = Order::greedy(&problem, Method::MinFill, 1, &Stop::new());
    let plan = Plan::new(&problem, &order, &Limits::new(1 << 50));
    assert!(Gpu::bytes(&plan) > gpu.budget().expect("it answers"));
    let run = Run::on(Some(gpu), problem, plan);
    assert!(!run.on_device());
    assert!(run.trouble().expect("it does not fit").to_string().contains("bytes"));
}

/// A device of little memory: parts of plans, and slices of steps.
#[test]
fn streamed_plans_make_the_same_messages() {
    let Some(gpu) = gpu() else { return };
    let mut rng = Rng::new(36);
    for (n, domain, reach) in [(20, 2, 18), (11, 3, 11), (10, 4, 9), (7, 9, 6), (6, 11, 6), (6, 25, 5), (8, 11, 8)] {
        let problem = Arc::new(band(&mut rng, n, domain, reach));
        let order = Order::given(&problem, &(0..n as u32).collect::<Vec<_>>(), &Stop::new()).expect("a permutation");
        let mut plan = Plan::new(&problem, &order, &Limits::new(1 << 30));
        for (divisor, width) in [(2, Width::I32), (9, Width::I32), (5, Width::I64)] {
            plan.width = width;
            let small = Gpu::limited(gpu.cuda().clone(), plan.largest_table * width.bytes() / divisor + 30_000);
            assert!(Run::on(Some(&small), problem.clone(), plan.clone()).streamed());
            conforms(&small, &problem, &plan);
        }
    }
    let mut streamed = 0;
    for round in 0..60 {
        let (n, functions) = (8 + rng.index(6), 10 + rng.index(20));
        let problem = Arc::new(random(&mut rng, n, 5, functions));
        let order = order(&problem, &mut rng);
        let plan = Plan::new(&problem, &order, &Limits { z: [None, Some(4)][round % 2], ..Limits::new(1 << 26) });
        let small = Gpu::limited(gpu.cuda().clone(), (Gpu::bytes(&plan) / 4).max(40_000));
        if plan.joint_entries < 1 << 28 {
            streamed += usize::from(Run::on(Some(&small), problem.clone(), plan.clone()).streamed());
            conforms(&small, &problem, &plan);
        }
    }
    assert!(streamed > 10, "{streamed}");
}

/// A search over values whose heavy nodes are the device's proves the optimum; its bound never passes it.
#[test]
fn heavy_nodes_prove_the_optimum() {
    let Some(gpu) = gpu() else { return };
    let mut rng = Rng::new(37);
    // networks that the device eliminates exactly: the first at the root, the second beyond the limit of a node
    for (n, domain, reach, nodes) in [(26, 6, 11, 0), (21, 6, 13, 1)] {
        let problem = Arc::new(band(&mut rng, n, domain, reach));
        let order = Order::greedy(&problem, Method::MinFill, 1, &Stop::new());
        let exact = Plan::new(&problem, &order, &Limits { keep_messages: false, ..Limits::new(1 << 38) });
        assert!(exact.exact && Gpu::pays(exact.joint_entries as f64), "{}", exact.joint_entries);
        if Gpu::bytes(&exact) > gpu.budget().expect("it answers") {
            println!("skipped: {} bytes", Gpu::bytes(&exact));
            continue;
        }
        let mut run = Run::on(Some(gpu), problem.clone(), exact);
        assert!(run.on_device(), "{:?}", run.trouble());
        while run.advance(u64::MAX, &Stop::new()) == Progress::More {}
        let optimum = run.finish().expect("it is done").lower_bound();

        // from the beginning, and once the CPU has split the root
        for before in [0, 5] {
            let mut search =
                Branch::new(&problem, None, &order, 1 << 30, Style::Heavy, &Stop::new()).expect("small costs");
            let (mut best, mut bound) = (Cost::MAX, Cost::MIN);
            for turn in 0.. {
                if turn == before {
                    search.board(gpu);
                }
                let done = search.advance(1, &Stop::new()) == Progress::Done;
                assert!(search.lower_bound() >= bound && search.lower_bound() <= optimum);
                bound = search.lower_bound();
                best = search.take_solution().map_or(best, |values| best.min(problem.cost(&values)));
                if done {
                    assert!(turn >= before, "the CPU needs more than {turn} turns");
                    break;
                }
            }
            assert!(search.take_trouble().is_none() && search.nodes() >= nodes, "{} nodes", search.nodes());
            assert_eq!((search.lower_bound(), best), (optimum, optimum));
        }
    }
}
