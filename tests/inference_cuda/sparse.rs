//! Sparse bucket elimination.

use super::{band, gpu, order, random, run};
use fangs_base::rng::Rng;
use fangs_base::stop::Stop;
use fangs_bounds::bounds::{BoundChoice, Bounder, BounderOptions, Stage};
use fangs_bounds::reduce::Reducer;
use fangs_elimination::elimination::{Gpu, Limits, Plan, Progress, RowLimits, Run};
use fangs_elimination::order::{Method, Order, best_orders};
use fangs_model::model::{Cost, FORBIDDEN, Problem};
use fangs_testing::published_network;
use std::sync::Arc;
use std::time::Instant;

/// Compares sparse elimination on both sides: the listed rows, the visited rows, and the results.
fn conforms_by_rows(gpu: &Arc<Gpu>, problem: &Arc<Problem>, order: &Order, ub: Option<Cost>) {
    let limits = RowLimits::new(1 << 32, u64::MAX);
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
    assert_eq!(device.plan().placement.table_bytes, host.plan().placement.table_bytes);
    for step in (0..plan.steps.len()).filter(|&step| plan.steps[step].entries < 1 << 20) {
        assert_eq!(device.message(step), host.message(step), "step {step} of {}", plan.steps.len());
    }
    assert_eq!(device.assign(&Stop::new()), host.assign(&Stop::new()));
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

/// Compares sparse elimination after join graphs of published instances, if present; prints both times.
#[test]
fn rows_of_instances_are_the_cpus() {
    let Some(gpu) = gpu() else { return };
    // the first attempt on the result of a join graph with at least this z
    let z = |attempt: &str| attempt.strip_prefix("jg(")?.split(')').next()?.parse::<u32>().ok();
    for (name, optimum, least) in [("42b", 155050, 5), ("408b", 6225, 5), ("505", 21253, 9)] {
        let Some(network) = published_network(&format!("spot5/{name}.wcsp.xz")) else { continue };
        let stop = Stop::new();
        let mut reducer = Reducer::new(&network, true, &stop).expect("the flag is not set");
        reducer.tighten(optimum + 1, &stop);
        let problem = Arc::new(reducer.problem(&Stop::new()).expect("no stop is set"));
        let orders = best_orders(&problem, &[Method::MinFill], 1, 8, 1, &stop);
        let (choice, memory) = (BoundChoice::SparseBe, 8 << 30);
        let mut bounder = Bounder::new(BounderOptions { choice, memory, ..BounderOptions::default() });
        bounder.follow(orders);
        let mut compared = false;
        while let Some(stage) = bounder.choose(&problem, Some(optimum + 1), &Stop::new()) {
            match stage {
                Stage::Shift(mut shifting) => {
                    while shifting.advance(u64::MAX, &stop) == Progress::More {}
                    bounder.shifted(*shifting, &Stop::new());
                }
                Stage::Run(attempt, mut plan) if z(&attempt.name).is_some_and(|z| z >= least) => {
                    plan.placement.rows = Some(RowLimits::new(8 << 30, u64::MAX));
                    let timed = |gpu: Option<&Arc<Gpu>>| {
                        let begin = Instant::now();
                        let mut run = Run::on(gpu, attempt.problem().clone(), plan.clone());
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
                    let assignment = host.assign(&Stop::new()).expect("the optimum is below the limit");
                    assert_eq!(problem.cost(&assignment), optimum);
                    assert_eq!(device.assign(&Stop::new()), Some(assignment));
                    compared = true;
                    break;
                }
                Stage::Run(..) | Stage::Search(..) => {}
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
    for limits in [RowLimits::new(1 << 16, u64::MAX), RowLimits::new(1 << 32, 1 << 20)] {
        let plan = Plan::by_rows(&problem, &order, None, limits, &Stop::new()).expect("keys are narrow");
        let mut run = Run::on(Some(gpu), problem.clone(), plan);
        while run.advance(u64::MAX, &Stop::new()) == Progress::More {}
        assert!(run.trouble().is_none(), "{:?}", run.trouble());
        let outcome = run.finish().expect("it has ended");
        assert!(!outcome.exact() && outcome.assign(&Stop::new()).is_none());
    }
}
