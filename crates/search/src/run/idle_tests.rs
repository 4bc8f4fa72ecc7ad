//! Every run makes moves or has a proof: networks of all kinds of costs, domains, arities and densities, searched in
//! all ways that a run has for them.

use crate::core::size::is_dense;
use crate::device::{Choice, Opening};
use crate::formats::{Format, ReadOptions, read_from};
use crate::ledger::Ledger;
use crate::model::{COST_LIMIT, Cost, FORBIDDEN, Network};
use crate::rng::Rng;
use crate::run::Run;
use crate::run::initial::assignments;
use crate::stop::Stop;
use crate::threads;
use crate::{DriverChoice, Options, Status, Summary, solve};
use std::fmt::Write;

/// Magnitudes of costs; a real with six decimals has the third.
const MAGNITUDES: [Cost; 6] = [1, 1_000, 1_234_567, 1_000_000_000, 1_000_000_000_001, 1_000_000_000_000_000];

/// A number of variables that makes a network dense and vast with all pairs.
const MANY: u32 = 370;
/// Rounds within which a driver must make a move.
const ROUNDS: u32 = 12;

struct Kind {
    variables: u32,
    domain: u32,
    arity: usize,
    functions: usize,
    magnitude: Cost,
    /// One function in this number has a forbidden entry; none if 0.
    hard: usize,
}

impl Kind {
    fn network(&self, rng: &mut Rng) -> Network {
        let mut builder = Network::builder("mixed");
        (0..self.variables).for_each(|_| drop(builder.variable(self.domain)));
        let mut variables: Vec<u32> = (0..self.variables).collect();
        for function in 0..self.functions {
            let size = self.domain.pow(self.arity as u32) as usize;
            let mut costs: Vec<Cost> = (0..size).map(|_| rng.below(10) as Cost * self.magnitude).collect();
            if self.hard > 0 && function % self.hard == 0 {
                costs[size - 1] = FORBIDDEN;
            }
            rng.shuffle(&mut variables);
            let _ = builder.dense(&variables[..self.arity], costs).expect("a function");
        }
        builder.build()
    }
}

/// Returns a network of all pairs of binary variables; `entry` returns the costs of a pair.
fn complete(n: u32, mut entry: impl FnMut(u32, u32) -> Vec<Cost>) -> Network {
    let mut builder = Network::builder("mixed");
    (0..n).for_each(|_| drop(builder.variable(2)));
    for x in 0..n {
        for y in x + 1..n {
            let _ = builder.dense(&[x, y], entry(x, y)).expect("a function");
        }
    }
    builder.build()
}

fn has_moved(summary: &Summary) -> bool {
    summary.moves > 0 || matches!(summary.status, Status::Optimal | Status::Infeasible)
}

/// Returns whether a run that need not be repeatable makes a move within some rounds, or is over before it begins.
fn moves(network: &Network, threads: usize) -> bool {
    // a device that is being opened leaves the first rounds without moves
    let device = Opening::new(Choice::Cpu);
    let (stop, options) = (Stop::new(), Options { threads: Some(threads), device, ..Options::default() });
    threads::pool(threads).expect("threads").install(|| {
        let ledger = Ledger::of(network, &stop);
        let first = assignments(network, &options, network.least(), &ledger, &stop);
        let pulse = &mut || ();
        let Some(mut run) = Run::new(network, &options, &ledger, first, &stop, pulse).expect("nothing fails") else {
            return true;
        };
        let is_over = |run: &Run<'_>| run.reached().is_some() || run.core.problem.variables() == 0;
        for _ in 0..ROUNDS {
            if run.totals.moves > 0 || is_over(&run) {
                return true;
            }
            run.round().expect("nothing fails");
        }
        run.totals.moves > 0 || is_over(&run)
    })
}

/// Calls `test` with small networks of all kinds and a number of threads.
fn with_small_networks(mut test: impl FnMut(&Network, usize, &str)) {
    let mut rng = Rng::new(3);
    let mut threads = 1;
    for magnitude in MAGNITUDES {
        for (domain, arity) in [2, 3, 5].into_iter().flat_map(|domain| [1, 2, 3].map(|arity| (domain, arity))) {
            for (functions, hard) in [(12, 0), (12, 3), (90, 0), (90, 30)] {
                let kind = Kind { variables: 14, domain, arity, functions, magnitude, hard };
                threads = 3 - threads;
                let label = format!("{magnitude} {domain} {arity} {functions} {hard}");
                test(&kind.network(&mut rng), threads, &label);
            }
        }
    }
}

/// Calls `test` with dense networks of binary variables.
fn with_dense_networks(mut test: impl FnMut(&Network, &str)) {
    let mut rng = Rng::new(4);
    // weights that exceed quadratic forms, and forbidden pairs, lead to tables
    let huge = COST_LIMIT - 1;
    for magnitude in MAGNITUDES.into_iter().take(5).chain([0]) {
        for hard in [0, 1, 1000] {
            let network = complete(MANY, |x, y| {
                let mut costs: Vec<Cost> = (0..4).map(|_| rng.below(10) as Cost * magnitude.max(1)).collect();
                if magnitude == 0 && x == 0 && y <= 2 {
                    costs = vec![0, huge, huge, 0];
                }
                if hard > 0 && (x * MANY + y) % (MANY * MANY / hard) == 1 {
                    costs[3] = FORBIDDEN;
                }
                costs
            });
            assert_eq!(is_dense(&network), hard == 0);
            test(&network, &format!("{magnitude}, {hard} forbidden"));
        }
    }
}

/// Returns whether a run makes a move within some rounds, or ends.
fn moves_in_rounds(network: &Network, rounds: u32, threads: usize, device: Choice) -> bool {
    let device = Opening::new(device);
    let options = Options { rounds: Some(rounds.into()), threads: Some(threads), device, ..Options::default() };
    has_moved(&solve(network, &options, &Stop::new(), &mut |_| ()).expect("nothing fails"))
}

#[test]
fn small_networks_of_all_kinds_are_searched_or_proved() {
    with_small_networks(|network, threads, label| {
        assert!(moves_in_rounds(network, 2, threads, Choice::Cpu), "{label}");
        assert!(moves(network, threads), "{label}");
    });
}

#[test]
fn dense_binary_networks_are_searched_whatever_their_costs() {
    with_dense_networks(|network, label| {
        assert!(moves(network, 1) && moves(network, 2), "{label}");
    });
}

#[test]
fn networks_of_all_kinds_are_searched_on_a_device() {
    let Some(_gpu) = fangs_testing::gpu() else { return };
    with_small_networks(|network, threads, label| {
        assert!(moves_in_rounds(network, 2, threads, Choice::Cuda(0)), "{label}");
    });
    with_dense_networks(|network, label| {
        assert!(moves_in_rounds(network, ROUNDS, 2, Choice::Cuda(0)), "{label}");
    });
}

#[test]
fn dense_files_of_real_weights_are_searched_with_evidence_too() {
    let mut rng = Rng::new(5);
    let mut real = || rng.below(2_000_001) as f64 / 1e6 - 1.0;
    let pairs = MANY * (MANY - 1) / 2;
    let (mut qpbo, mut uai) = (format!("{MANY} {pairs}\n"), format!("MARKOV\n{MANY}\n"));
    uai.push_str(&"2 ".repeat(MANY as usize));
    let _ = writeln!(uai, "\n{pairs}");
    let mut tables = String::new();
    for (x, y) in (0..MANY).flat_map(|x| (x + 1..MANY).map(move |y| (x, y))) {
        let _ = writeln!(qpbo, "{} {} {:.6}", x + 1, y + 1, real());
        let _ = writeln!(uai, "2 {x} {y}");
        let _ = writeln!(tables, "4 {:.6} {:.6} {:.6} {:.6}", real().exp(), real().exp(), real().exp(), real().exp());
    }
    uai.push_str(&tables);
    for (format, text) in [(Format::Qpbo, qpbo), (Format::Uai, uai)] {
        let read = read_from(text.as_bytes(), "dense", format, &ReadOptions::default(), &Stop::new());
        let mut network = read.expect("a network");
        assert!(is_dense(&network));
        assert!(moves(&network, 1) && moves(&network, 2), "{format:?}");
        network.observe(&[(3, 1), (70, 0)]).expect("values of variables");
        assert!(moves(&network, 1) && moves(&network, 2), "{format:?} with evidence");
    }
}

#[test]
fn a_driver_that_cannot_search_a_network_leaves_the_time_to_bounds() {
    // a network that is not proved before the search begins
    let kind = Kind { variables: 60, domain: 4, arity: 2, functions: 400, magnitude: 1, hard: 0 };
    let network = kind.network(&mut Rng::new(6));
    for driver in ["spins", "one-flip", "sums"] {
        let driver = DriverChoice::named(driver).expect("a driver");
        let options = Options { driver, rounds: Some(2), ..Options::default() };
        let mut warnings = Vec::new();
        let summary = solve(&network, &options, &Stop::new(), &mut |event| {
            warnings.extend(event.message.clone().filter(|message| message.contains("bounds work alone")));
        });
        assert_eq!(warnings.len(), 1, "{}: {warnings:?}", driver.name());
        let bound = summary.expect("nothing fails").bound.expect("a bound").as_f64();
        assert!(bound > network.units().number(network.least()).as_f64(), "{}: {bound}", driver.name());
    }
}
