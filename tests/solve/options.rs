//! What options promise: starts, evidence, targets, budgets, equal runs for equal rounds, stops.

use super::{hard, judge, minimised, optimum, random, run, run_with, small};
use fangs::model::{Network, Table, Units};
use fangs::rng::Rng;
use fangs::search::{BoundChoice, DriverChoice, EventKind, Options, Status, StoppedBy, Summary, solve};
use fangs::stop::{Cause, Stop};
use fangs::{Error, check, generate};

#[test]
fn a_warm_start_comes_first_and_is_never_lost() -> Result<(), Error> {
    let mut rng = Rng::new(3);
    let mut starts = 0;
    for case in 0..150 {
        let network = random(&mut rng)?;
        let start: Vec<u32> = network.domains().iter().map(|&domain| rng.below(u64::from(domain)) as u32).collect();
        let evaluation = check::evaluate(&network, &start);
        let bound = [BoundChoice::Auto, BoundChoice::None][case as usize % 2];
        let rounds = Some(case % 3);
        let options = Options { rounds, bound, warm_start: Some(start), reduce: case % 4 != 0, ..small() };
        let (summary, events) = run(&network, &options);
        judge(&network, &summary, optimum(&network));
        if evaluation.is_solution() {
            starts += 1;
            let cost = network.units().number(evaluation.cost);
            let first = events.iter().find(|event| event.kind == EventKind::Solution).expect("a solution");
            assert_eq!((first.cost, &first.source[..]), (Some(cost), "warm-start"));
            assert!(summary.cost.is_some_and(|found| minimised(&network, found) <= minimised(&network, cost)));
        }
    }
    assert!(starts > 30, "{starts}");
    Ok(())
}

#[test]
fn starts_that_do_not_fit_are_refused() -> Result<(), Error> {
    let network = hard(5, 3, 6, 1)?;
    for start in [vec![0; 4], vec![0; 6], vec![0, 0, 3, 0, 0]] {
        let options = Options { warm_start: Some(start), ..small() };
        let error = solve(&network, &options, &Stop::new(), &mut |_| panic!("no event")).expect_err("a bad start");
        assert!(error.is_input());
    }
    Ok(())
}

#[test]
fn evidence_is_respected() -> Result<(), Error> {
    let mut rng = Rng::new(4);
    for case in 0..80 {
        let mut network = random(&mut rng)?;
        let count = 1 + rng.index(network.domains().len());
        let evidence: Vec<(u32, u32)> =
            (0..).zip(network.domains()).take(count).map(|(v, &d)| (v, rng.below(u64::from(d)) as u32)).collect();
        network.observe(&evidence)?;
        let (summary, _) = run(&network, &Options { rounds: Some(20), reduce: case % 2 == 0, ..small() });
        judge(&network, &summary, optimum(&network));
        if let Some(solution) = &summary.solution {
            assert!(evidence.iter().all(|&(v, value)| solution[v as usize] == value));
        }
    }
    Ok(())
}

#[test]
fn runs_stop_for_the_reason_asked_for() -> Result<(), Error> {
    let network = hard(60, 4, 150, 1)?;
    let blind = Options { bound: BoundChoice::None, rounds: Some(6), ..small() };
    let (summary, _) = run(&network, &blind);
    assert_eq!((summary.stopped_by, summary.rounds), (StoppedBy::Rounds, 6));
    let found = summary.cost.expect("a solution").as_f64();

    let (summary, _) = run(&network, &Options { target: Some(found), ..blind.clone() });
    assert_eq!(summary.stopped_by, StoppedBy::Target);
    assert!(summary.cost.is_some_and(|cost| cost.as_f64() <= found));

    let (summary, _) = run(&network, &Options { gap: Some(1.0), ..blind.clone() });
    // the greedy solution is near enough
    assert_eq!((summary.stopped_by, summary.rounds), (StoppedBy::Gap, 0));
    assert!(summary.gap.is_some_and(|gap| gap <= 1.0));

    let (summary, _) = run(&network, &Options { rounds: Some(0), ..blind });
    assert_eq!((summary.stopped_by, summary.rounds, summary.status), (StoppedBy::Rounds, 0, Status::Unknown));
    Ok(())
}

#[test]
fn targets_of_networks_that_maximise_are_lower_limits() -> Result<(), Error> {
    let units = Units { decimals: 1, maximise: true, rounded: 0 };
    let plain = hard(40, 3, 90, 2)?;
    let mut builder = Network::builder("maximised");
    for &domain in plain.domains() {
        let _ = builder.variable(domain)?;
    }
    for function in plain.functions() {
        let fangs::model::Table::Dense(costs) = &function.table else { continue };
        let _ = builder.dense(&function.scope, costs.to_vec())?;
    }
    let _ = builder.units(units);
    let network = builder.build();
    let options = Options { bound: BoundChoice::None, rounds: Some(4), ..small() };
    let (first, _) = run(&network, &options);
    let found = first.cost.expect("a solution").as_f64();
    let (summary, _) = run(&network, &Options { target: Some(found), ..options.clone() });
    assert_eq!(summary.stopped_by, StoppedBy::Target);
    let (summary, _) = run(&network, &Options { target: Some(0.5), ..options });
    assert_eq!(summary.stopped_by, StoppedBy::Rounds, "no value is above 0");
    Ok(())
}

/// What must be equal for a budget of rounds.
fn fixed(summary: &Summary) -> impl PartialEq + std::fmt::Debug + use<> {
    let Summary { cost, bound, solution, rounds, moves, ratings, population, .. } = summary.clone();
    (cost, bound, solution, rounds, moves, ratings, population, summary.bound_method.clone(), summary.z)
}

#[test]
fn rounds_give_equal_runs_for_any_number_of_threads() -> Result<(), Error> {
    // the second is large enough for color classes and merges, the values of the third are interchangeable
    let coloring = generate::generate("coloring", &[("n", "120"), ("p", "0.5"), ("k", "12")], 5)?;
    let networks = [hard(50, 5, 130, 3)?, hard(610, 3, 1000, 4)?, coloring];
    for network in &networks {
        let drivers = [
            (DriverChoice::Portfolio, 18),
            (DriverChoice::Anneal, 3),
            (DriverChoice::Tabu, 1),
            (DriverChoice::Lns, 2),
            (DriverChoice::Weighting, 4),
        ];
        for (driver, rounds) in drivers {
            let (rounds, bound_memory) = (Some(rounds), Some(1 << 22));
            let options = Options { rounds, seed: 7, driver, bound_memory, reduce: false, ..small() };
            let (single, _) = run(network, &options);
            assert_eq!(Some(single.rounds), rounds);
            for threads in [2, 4] {
                let (summary, _) = run(network, &Options { threads: Some(threads), ..options.clone() });
                assert_eq!(fixed(&summary), fixed(&single), "{threads} threads, {driver:?}");
            }
        }
        let options = Options { rounds: Some(2), population: Some(8), bound: BoundChoice::None, ..small() };
        let (a, _) = run(network, &Options { seed: 1, ..options.clone() });
        let (b, _) = run(network, &Options { seed: 2, ..options });
        // two rounds of tabu search always have the same number of moves
        assert_ne!((a.moves, a.ratings, a.solution), (b.moves, b.ratings, b.solution), "another seed, another run");
    }
    Ok(())
}

#[test]
fn populations_may_be_tiny() -> Result<(), Error> {
    let network = hard(30, 4, 90, 5)?;
    for population in 0..3 {
        let options = Options { population: Some(population), bound: BoundChoice::None, reduce: false, ..small() };
        let (summary, _) = run(&network, &Options { rounds: Some(60), driver: DriverChoice::Anneal, ..options });
        assert!(summary.cost.is_some());
        assert_eq!(summary.population, population.max(1));
    }
    Ok(())
}

#[test]
fn another_thread_may_end_a_run() -> Result<(), Error> {
    let network = hard(200, 6, 700, 6)?;
    for driver in [DriverChoice::Portfolio, DriverChoice::Tabu] {
        let options = Options { bound: BoundChoice::Mbe, driver, bound_memory: Some(1 << 24), ..small() };
        let stop = Stop::new();
        let (sender, receiver) = std::sync::mpsc::channel();
        let (summary, _) = std::thread::scope(|scope| {
            let flag = stop.clone();
            let _ = scope.spawn(move || {
                let _ = receiver.recv();
                flag.set(Cause::Signal);
            });
            run_with(&network, &options, &stop, |kind| {
                if kind == EventKind::Solution {
                    let _ = sender.send(());
                }
            })
        });
        assert_eq!((summary.stopped_by, summary.status), (StoppedBy::Signal, Status::Feasible));
    }
    Ok(())
}

#[test]
fn a_flag_set_before_the_run_ends_it_at_once() -> Result<(), Error> {
    let network = hard(30, 4, 60, 7)?;
    let stop = Stop::new();
    stop.set(Cause::Signal);
    let (summary, events) = run_with(&network, &small(), &stop, |_| {});
    assert_eq!((summary.stopped_by, summary.rounds), (StoppedBy::Signal, 0));
    assert!(events.iter().all(|event| event.kind != EventKind::Tick));
    Ok(())
}

/// 576 variables are searched alike whether 40 others are beside them or not, with reductions and without.
#[test]
fn variables_that_no_function_reads_change_nothing() -> Result<(), Error> {
    let network = generate::grid(24, 5, 0.2, &mut Rng::new(3))?;
    let mut builder = Network::builder("beside");
    for &domain in network.domains().iter().chain(&[3; 40]) {
        let _ = builder.variable(domain)?;
    }
    for function in network.functions() {
        let Table::Dense(costs) = &function.table else { panic!("grids have dense tables") };
        let _ = builder.dense(&function.scope, costs.to_vec())?;
    }
    let beside = builder.build();
    for reduce in [true, false] {
        let options =
            Options { rounds: Some(20), driver: DriverChoice::Anneal, bound: BoundChoice::None, reduce, ..small() };
        let [alone, beside] = [&network, &beside].map(|network| run(network, &options).0);
        assert!(alone.moves > 10_000);
        assert_eq!((alone.moves, alone.cost), (beside.moves, beside.cost), "reduce {reduce}");
        assert_eq!(alone.solution.as_deref(), beside.solution.as_deref().map(|solution| &solution[..576]));
    }
    Ok(())
}
