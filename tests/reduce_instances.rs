//! Tests of the reductions on real networks: sizes before and after, and costs that lifting preserves.

use fangs_base::rng::Rng;
use fangs_base::stop::Stop;
use fangs_bounds::reduce::{Reducer, Size};
use fangs_model::model::{Cost, add};
use fangs_testing::{published, published_network};
use std::time::Instant;

fn line(size: &Size) -> String {
    format!(
        "{:6} vars {:7} values d {:3} {:6} functions {:?} {:9} entries",
        size.variables,
        size.values,
        size.max_domain,
        size.functions(),
        &size.functions,
        size.entries
    )
}

/// Returns the proven optimum in the list of instances.
fn proven(name: &str) -> Option<Cost> {
    let list = std::fs::read_to_string(published("MANIFEST.tsv")?).expect("the manifest");
    let row: Vec<&str> = list.lines().find(|line| line.split('\t').next() == Some(name))?.split('\t').collect();
    if *row.get(8)? == "optimal" { row[7].parse().ok() } else { None }
}

fn reduce(name: &str, upper: Option<Cost>) {
    let Some(network) = published_network(name) else { return };
    let stop = Stop::new();
    let start = Instant::now();
    let mut reducer = Reducer::new(&network, true, &stop).expect("not stopped");
    let first = start.elapsed();
    println!("{name} top {}\n   {}", network.top(), line(&reducer.report().before));
    println!("   {} in {:.3} s", line(&reducer.report().after), first.as_secs_f64());
    if let Some(upper) = upper {
        let start = Instant::now();
        reducer.tighten(upper, &stop);
        println!("   {} below {upper} in {:.3} s", line(&reducer.report().after), start.elapsed().as_secs_f64());
    }
    let report = reducer.report();
    println!(
        "   merged {} eliminated {} substituted {} separated {} inconsistent {} dominated {} components {} \
         constant {}{}",
        report.merged,
        report.eliminated,
        report.substituted,
        report.separated,
        report.inconsistent,
        report.dominated,
        report.components,
        reducer.problem(&Stop::new()).expect("no stop is set").constant,
        if reducer.infeasible() { " infeasible" } else { "" }
    );
    let problem = reducer.problem(&Stop::new()).expect("no stop is set");
    if let Some(optimum) = proven(name) {
        assert!(problem.constant <= optimum, "{name}: constant {}, optimum {optimum}", problem.constant);
        assert!(problem.variables() > 0 || problem.constant == optimum, "{name}: {}", problem.constant);
    }
    let mut rng = Rng::new(1);
    for _ in 0..20 {
        let core: Vec<u32> = problem.domains.iter().map(|&domain| rng.below(u64::from(domain)) as u32).collect();
        let lifted = reducer.lift(&core, &Stop::new()).expect("no stop is set");
        let whole = network.functions().iter().fold(0, |sum, f| add(sum, f.cost(network.domains(), &lifted)));
        let cost = problem.cost(&core);
        assert!(cost == whole || (cost >= problem.top && whole >= problem.top), "{name}: core {cost}, lifted {whole}");
        assert_eq!(reducer.project(&lifted, &Stop::new()).expect("no stop is set"), core);
    }
}

#[test]
fn real_networks_shrink_and_come_back() {
    for (name, upper) in [
        ("celar/scen06.wcsp.xz", Some(3500)),
        ("celar/scen07.wcsp.xz", Some(1_000_000)),
        ("celar/graph05.wcsp.xz", None),
        ("celar/CELAR6-SUB3.wcsp.xz", None),
        ("celar/CELAR7-SUB0.wcsp.xz", None),
        ("spot5/1502.wcsp.xz", None),
        ("spot5/54.wcsp.xz", None),
        ("spot5/404.wcsp.xz", None),
        ("spot5/505.wcsp.xz", Some(30_000)),
        ("spot5/5.wcsp.xz", Some(1000)),
        ("spot5/408b.wcsp.xz", Some(100_000)),
        ("spot5/414.wcsp.xz", None),
        ("spot5/42b.wcsp.xz", Some(1_000_000)),
        ("warehouse/cap131.wcsp.xz", None),
        ("large_synthetic/rnd1000_d10_e5000.wcsp.xz", None),
        ("large_synthetic/grid100x100_d8.wcsp.xz", None),
        ("iscas89/c499.wcsp.xz", None),
        ("iscas89/c880.wcsp.xz", None),
        ("iscas89/s1196.wcsp.xz", None),
        ("iscas89/s1238.wcsp.xz", None),
        ("iscas89/s386.wcsp.xz", None),
        ("mastermind/mastermind_03_08_03.wcsp.xz", None),
        ("mastermind/mastermind_03_08_05.wcsp.xz", None),
        ("mastermind/mastermind_04_08_03.wcsp.xz", None),
        ("pedigree/pedigree1.wcsp.xz", None),
        ("protein_design/1UBI.13p.9aa.wcsp.xz", None),
    ] {
        reduce(name, upper);
    }
}
