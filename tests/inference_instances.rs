//! Bucket elimination and mini-buckets on published instances, where their folder is there
//! (`FANGS_INSTANCES`, or `../shared/instances`).

use fangs::inference::{Ladder, Limits, Outcome, Plan, Progress, Run, trivial_bound};
use fangs::model::{Cost, CostFunction, FORBIDDEN, Problem, SparseTable, Table, add};
use fangs::order::{Method, best_order, best_orders};
use fangs::stop::Stop;
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;

/// What the tests need of `.wcsp`: one stream of numbers, no shared or global functions.
fn read(path: &str) -> Option<Arc<Problem>> {
    let folder =
        std::env::var_os("FANGS_INSTANCES").map_or_else(|| PathBuf::from("../shared/instances"), PathBuf::from);
    let Ok(bytes) = std::fs::read(folder.join(path)) else {
        println!("skipped: no {path}");
        return None;
    };
    let mut text = String::new();
    let _ = liblzma::read::XzDecoder::new(&bytes[..]).read_to_string(&mut text).expect("an xz file of text");
    let mut numbers = text.split_whitespace().skip(1).map(|word| word.parse::<i64>().expect("a number"));
    let mut next = || numbers.next().expect("another number");
    let (n, _, m, top) = (next() as usize, next(), next(), next());
    let domains: Vec<u32> = (0..n).map(|_| next() as u32).collect();
    let mut problem = Problem {
        unary: domains.iter().map(|&d| vec![0; d as usize]).collect(),
        domains,
        functions: Vec::new(),
        constant: 0,
        top,
    };
    let cost = |cost: Cost| if cost >= top { FORBIDDEN } else { cost };
    for _ in 0..m {
        let arity = next() as usize;
        let scope: Box<[u32]> = (0..arity).map(|_| next() as u32).collect();
        let default = cost(next());
        let count = next() as usize;
        let (mut tuples, mut costs) = (Vec::new(), Vec::new());
        for _ in 0..count {
            tuples.extend((0..arity).map(|_| next() as u32));
            costs.push(cost(next()));
        }
        match arity {
            0 => problem.constant = add(problem.constant, default),
            1 => {
                let table = SparseTable::new(1, default, tuples, costs);
                for (value, sum) in problem.unary[scope[0] as usize].iter_mut().enumerate() {
                    *sum = add(*sum, table.get(&[value as u32]));
                }
            }
            _ => {
                let table = Table::Sparse(SparseTable::new(arity, default, tuples, costs).into());
                problem.functions.push(CostFunction { scope, table });
            }
        }
    }
    Some(Arc::new(problem))
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
            plan.peak_bytes >> 20,
            plan.width
        );
        let outcome = run(&problem, plan);
        assert!(outcome.exact());
        assert_eq!(outcome.lower_bound(), optimum, "{path}");
        assert_eq!(problem.cost(&outcome.assign().expect("messages are kept")), optimum, "{path}");
    }
}

#[test]
fn mini_buckets_climb_to_the_optimum() {
    let Some(problem) = read("spot5/404.wcsp.xz") else { return };
    let orders = best_orders(&problem, &[Method::MinFill], 1, 8, 1, &Stop::new());
    let mut ladder = Ladder::new(orders, 1 << 30, None).exact_work(0);
    let mut best = trivial_bound(&problem);
    while let Some(rung) = ladder.next(&problem, None) {
        let outcome = run(&problem, rung.plan);
        println!("{}: {} ({} joint entries)", rung.name, outcome.lower_bound(), rung.work);
        assert!(outcome.lower_bound() <= 114);
        best = best.max(outcome.lower_bound());
    }
    assert_eq!(best, 114);
}
