//! Bucket elimination and mini-buckets on published instances, if these are present.

use fangs_base::stop::Stop;
use fangs_bounds::bounds::{BoundChoice, Bounder, BounderOptions, Stage, constant_bound};
use fangs_bounds::reduce::Reducer;
use fangs_elimination::elimination::{Limits, Outcome, Plan, Progress, Run};
use fangs_elimination::order::{Method, best_order, best_orders};
use fangs_model::model::Problem;
use fangs_testing::published_network;
use std::sync::Arc;

fn read(path: &str) -> Option<Arc<Problem>> {
    let (network, stop) = (published_network(path)?, Stop::new());
    // not reduced, so that elimination does all the work
    let reducer = Reducer::new(&network, false, &stop).expect("not stopped");
    Some(Arc::new(reducer.problem(&Stop::new()).expect("no stop is set")))
}

fn run(problem: &Arc<Problem>, plan: Plan) -> Outcome {
    let mut run = Run::new(problem.clone(), plan);
    assert_eq!(run.advance(u64::MAX, &Stop::new()), Progress::Done);
    run.finish().expect("the run is done")
}

#[test]
fn bucket_elimination_proves_the_published_optima() {
    let known = [
        ("spot5/404.wcsp.xz", 114),
        ("spot5/54.wcsp.xz", 37),
        ("spot5/1502.wcsp.xz", 28042),
        ("iscas89/c499.wcsp.xz", 111),
        ("iscas89/c880.wcsp.xz", 162),
        ("iscas89/s386.wcsp.xz", 29),
        ("mastermind/mastermind_03_08_03.wcsp.xz", 79),
        ("pedigree/pedigree1.wcsp.xz", 76_911_689),
    ];
    for (path, optimum) in known {
        let Some(problem) = read(path) else { continue };
        let order = best_order(&problem, &[Method::MinFill, Method::WeightedMinFill], 1, 16, &Stop::new());
        let plan = Plan::new(&problem, &order, &Limits::new(1 << 32));
        println!(
            "{path}: width {}, {} joint entries, {} MB at most, {:?}",
            order.width,
            plan.joint_entries,
            plan.placement.peak_bytes >> 20,
            plan.costs.width
        );
        let outcome = run(&problem, plan);
        assert!(outcome.exact());
        assert_eq!(outcome.lower_bound(), optimum, "{path}");
        assert_eq!(problem.cost(&outcome.assign(&Stop::new()).expect("messages are kept")), optimum, "{path}");
    }
}

#[test]
fn mini_buckets_climb_to_the_optimum() {
    let Some(problem) = read("spot5/404.wcsp.xz") else { return };
    let orders = best_orders(&problem, &[Method::MinFill], 1, 8, 1, &Stop::new());
    let (choice, memory) = (BoundChoice::Mbe, 1 << 30);
    let mut bounder = Bounder::new(BounderOptions { choice, memory, exact_work: Some(0), ..BounderOptions::default() });
    bounder.follow(orders);
    let mut best = constant_bound(&problem);
    while let Some(stage) = bounder.choose(&problem, None, &Stop::new()) {
        let Stage::Run(attempt, plan) = stage else { panic!("{stage:?} is no elimination") };
        let (name, work) = (plan.name(), plan.work());
        let outcome = run(&problem, plan);
        let _ = bounder.eliminated(&attempt, &outcome, problem.top, &Stop::new());
        println!("{name}: {} ({work} joint entries)", outcome.lower_bound());
        assert!(outcome.lower_bound() <= 114);
        best = best.max(outcome.lower_bound());
    }
    assert_eq!(best, 114);
}
