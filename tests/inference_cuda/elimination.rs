//! Messages, bounds and assignments of dense elimination, and branch and bound with nodes on the device.

use super::{band, gpu, order, random, run};
use fangs_base::rng::Rng;
use fangs_base::stop::Stop;
use fangs_bounds::bounds::{Begin, Branch, Search, Style};
use fangs_elimination::elimination::{Gpu, Limits, Plan, Progress, Run, Width};
use fangs_elimination::order::{Method, Order};
use fangs_model::model::{Cost, CostFunction, FORBIDDEN, Problem, Table};
use std::sync::Arc;

fn conforms(gpu: &Arc<Gpu>, problem: &Arc<Problem>, plan: &Plan) {
    let device = run(Some(gpu), problem, plan);
    let host = run(None, problem, plan);
    assert_eq!(device.lower_bound(), host.lower_bound());
    for (step, its) in plan.steps.iter().enumerate() {
        assert_eq!(device.message(step), host.message(step), "step {step} of {}: {its:?}", plan.steps.len());
    }
    assert_eq!(device.assign(&Stop::new()), host.assign(&Stop::new()));
}

#[test]
fn random_plans_make_the_same_messages() {
    let Some(gpu) = gpu() else { return };
    let mut rng = Rng::new(31);
    let mut widths = [0, 0];
    let mut lowered = 0;
    for round in 0..500u32 {
        let (n, functions) = (1 + rng.index(14), rng.index(30));
        let problem = Arc::new(random(&mut rng, n, [2, 4, 7][round as usize % 3], functions));
        let order = order(&problem, &mut rng);
        let z = [None, Some(1), Some(2), Some(3), Some(5)][rng.index(5)];
        let ub = [None, None, Some(rng.below(60) as Cost)][rng.index(3)];
        let max_bytes = [300, 3000, 100_000, 1 << 26][rng.index(4)];
        let limits = Limits::new(max_bytes);
        let limits = limits.with(|limits| (limits.z, limits.keep_messages, limits.ub) = (z, round % 5 > 0, ub));
        let plan = Plan::new(&problem, &order, &limits);
        widths[usize::from(plan.costs.width == Width::I64)] += 1;
        lowered += plan.steps.iter().filter(|step| step.lowered).count();
        conforms(gpu, &problem, &plan);
    }
    assert!(widths.iter().all(|&count| count > 50) && lowered > 50, "{widths:?} {lowered}");
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
            let mut plan = Plan::new(&problem, &order, &Limits::new(1 << 30).with(|limits| limits.z = z));
            conforms(gpu, &problem, &plan);
            plan.costs.width = Width::I64;
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
        let plan =
            Plan::new(&problem, &order, &Limits::new(1 << 28).with(|limits| limits.z = [None, Some(7)][round % 2]));
        if plan.joint_entries < 1 << 31 {
            conforms(gpu, &problem, &plan);
        }
    }
}

/// More functions in a bucket than a kernel accepts.
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
            // the hub is eliminated after all leaves, or before the last ones
            let mut sequence: Vec<u32> = (1..=leaves).collect();
            sequence.insert(leaves.saturating_sub(after) as usize, 0);
            let order = Order::given(&problem, &sequence, &Stop::new()).expect("a permutation");
            conforms(gpu, &problem, &Plan::new(&problem, &order, &Limits::new(1 << 26)));
        }
    }
}

/// A plan that does not fit runs on the CPU, and reports it.
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
            plan.costs.width = width;
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
        let plan =
            Plan::new(&problem, &order, &Limits::new(1 << 26).with(|limits| limits.z = [None, Some(4)][round % 2]));
        let small = Gpu::limited(gpu.cuda().clone(), (Gpu::bytes(&plan) / 4).max(40_000));
        if plan.joint_entries < 1 << 28 {
            streamed += usize::from(Run::on(Some(&small), problem.clone(), plan.clone()).streamed());
            conforms(&small, &problem, &plan);
        }
    }
    assert!(streamed > 10, "{streamed}");
}

/// Branch and bound with mini-bucket nodes on the device proves the optimum; its bound never exceeds it.
#[test]
fn heavy_nodes_prove_the_optimum() {
    let Some(gpu) = gpu() else { return };
    let mut rng = Rng::new(37);
    // networks that the device eliminates exactly: the first at the root, the second beyond the limit of a node
    for (n, domain, reach, nodes) in [(26, 6, 11, 0), (21, 6, 13, 1)] {
        let problem = Arc::new(band(&mut rng, n, domain, reach));
        let order = Order::greedy(&problem, Method::MinFill, 1, &Stop::new());
        let exact = Plan::new(&problem, &order, &Limits::new(1 << 38).with(|limits| limits.keep_messages = false));
        assert!(exact.exact && Gpu::pays(exact.joint_entries as f64), "{}", exact.joint_entries);
        if Gpu::bytes(&exact) > gpu.budget().expect("it answers") {
            fangs_testing::skip(format!("{} bytes are not free on the device", Gpu::bytes(&exact)));
            continue;
        }
        let mut run = Run::on(Some(gpu), problem.clone(), exact);
        assert!(run.on_device(), "{:?}", run.trouble());
        while run.advance(u64::MAX, &Stop::new()) == Progress::More {}
        let optimum = run.finish().expect("it is done").lower_bound();

        // from the start, and after the CPU has split the root
        for before in [0, 5] {
            let begin =
                Begin { problem: &problem, ub: None, order: &order, memory: 1 << 30, journal: false, network: None };
            let mut search = Branch::new(begin, Style::Heavy, &Stop::new()).expect("small costs");
            let (mut best, mut bound) = (Cost::MAX, Cost::MIN);
            for turn in 0.. {
                if turn == before {
                    search.use_device(gpu);
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
