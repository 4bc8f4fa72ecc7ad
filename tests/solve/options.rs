//! Guarantees of options: starts, evidence, targets, budgets, equal runs for equal rounds, stops.

use super::{driver, hard, judge, minimised, optimum, random, run, run_with, small};
use fangs_base::Error;
use fangs_base::rng::Rng;
use fangs_base::stop::{Cause, Stop};
use fangs_bounds::reduce::Reducer;
use fangs_check as check;
use fangs_generate as generate;
use fangs_model::model::{Network, Table, Units};
use fangs_search::{BoundChoice, DriverChoice, EventKind, Status, StoppedBy, Summary, solve};

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
        let options = small().with(|options| {
            options.rounds = rounds;
            options.bound = bound;
            options.warm_starts = vec![start.into_iter().map(Some).collect()];
            options.reduce = case % 4 != 0;
        });
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
        let start = start.into_iter().map(Some).collect();
        let options = small().with(|options| options.warm_starts = vec![vec![None; 5], start]);
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
        let (summary, _) =
            run(&network, &small().with(|options| (options.rounds, options.reduce) = (Some(20), case % 2 == 0)));
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
    let blind = small().with(|options| (options.bound, options.rounds) = (BoundChoice::None, Some(6)));
    let (summary, _) = run(&network, &blind);
    assert_eq!((summary.stopped_by, summary.rounds), (StoppedBy::Rounds, 6));
    let found = summary.cost.expect("a solution").as_f64();

    let (summary, _) = run(&network, &blind.clone().with(|options| options.target = Some(found.into())));
    assert_eq!(summary.stopped_by, StoppedBy::Target);
    assert!(summary.cost.is_some_and(|cost| cost.as_f64() <= found));

    let (summary, _) = run(&network, &blind.clone().with(|options| options.gap = Some(1.0)));
    // the greedy solution is within the gap
    assert_eq!((summary.stopped_by, summary.rounds), (StoppedBy::Gap, 0));
    assert!(summary.gap.is_some_and(|gap| gap <= 1.0));

    let (summary, _) = run(&network, &blind.with(|options| options.rounds = Some(0)));
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
        let fangs_model::model::Table::Dense(costs) = &function.table else { continue };
        let _ = builder.dense(&function.scope, costs.iter().collect())?;
    }
    let _ = builder.units(units);
    let network = builder.build();
    let options = small().with(|options| (options.bound, options.rounds) = (BoundChoice::None, Some(4)));
    let (first, _) = run(&network, &options);
    let found = first.cost.expect("a solution").as_f64();
    let (summary, _) = run(&network, &options.clone().with(|options| options.target = Some(found.into())));
    assert_eq!(summary.stopped_by, StoppedBy::Target);
    let (summary, _) = run(&network, &options.with(|options| options.target = Some(0.5.into())));
    assert_eq!(summary.stopped_by, StoppedBy::Rounds, "no value is above 0");
    Ok(())
}

/// Returns what must be equal for a budget of rounds.
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
            (DriverChoice::PORTFOLIO, 18),
            (driver("anneal"), 3),
            (driver("tabu"), 1),
            (driver("lns"), 2),
            (driver("weighting"), 4),
        ];
        for (driver, rounds) in drivers {
            let (rounds, bound_memory) = (Some(rounds), Some(1 << 22));
            let options = small().with(|options| {
                options.rounds = rounds;
                options.seed = 7;
                options.driver = driver;
                options.bound_memory = bound_memory;
                options.reduce = false;
            });
            let (single, _) = run(network, &options);
            assert_eq!(Some(single.rounds), rounds);
            for threads in [2, 4] {
                let (summary, _) = run(network, &options.clone().with(|options| options.threads = Some(threads)));
                assert_eq!(fixed(&summary), fixed(&single), "{threads} threads, {driver:?}");
            }
        }
        let options = small().with(|options| {
            (options.rounds, options.population, options.bound) = (Some(2), Some(8), BoundChoice::None)
        });
        let (a, _) = run(network, &options.clone().with(|options| options.seed = 1));
        let (b, _) = run(network, &options.with(|options| options.seed = 2));
        // two rounds of tabu search always have the same number of moves
        assert_ne!((a.moves, a.ratings, a.solution), (b.moves, b.ratings, b.solution), "another seed, another run");
    }
    Ok(())
}

/// Returns the network with additional variables in no function, and some with one value, which have a cost or are in
/// functions with other variables.
fn padded(network: &Network) -> Result<Network, Error> {
    let mut builder = Network::builder("padded");
    for &domain in network.domains() {
        let _ = builder.variable(domain)?;
    }
    let single = builder.variable(1)?;
    let costly = builder.variable(1)?;
    for unused in 0..900 {
        let _ = builder.variable(1 + unused % 4)?;
    }
    for (index, function) in network.functions().iter().enumerate() {
        let Table::Dense(costs) = &function.table else { continue };
        let more = if index % 7 == 0 { Some(single) } else { None };
        let scope: Vec<u32> = function.scope.iter().copied().chain(more).collect();
        let _ = builder.dense(&scope, costs.iter().collect())?;
    }
    let _ = builder.dense(&[costly], vec![3])?;
    Ok(builder.build())
}

#[test]
fn variables_without_a_choice_or_a_function_change_nothing() -> Result<(), Error> {
    for (n, functions, rounds) in [(50, 130, 40), (450, 900, 12)] {
        let plain = hard(n, 4, functions, 8)?;
        let options = small().with(|options| (options.rounds, options.bound_memory) = (Some(rounds), Some(1 << 22)));
        let (first, _) = run(&plain, &options);
        let (second, _) = run(&padded(&plain)?, &options);
        let of = |summary: &Summary, more: f64| {
            let solution = summary.solution.clone().map(|solution| solution[..n as usize].to_vec());
            let cost = summary.cost.map(|cost| cost.as_f64() - more);
            (cost, solution, summary.rounds, summary.moves, summary.population)
        };
        assert!(first.moves > 0);
        assert_eq!(of(&first, 0.0), of(&second, 3.0), "{n} variables");
    }
    Ok(())
}

#[test]
fn populations_may_be_tiny() -> Result<(), Error> {
    let network = hard(30, 4, 90, 5)?;
    for population in 0..3 {
        let options = small().with(|options| {
            (options.population, options.bound, options.reduce) = (Some(population), BoundChoice::None, false)
        });
        let (summary, _) =
            run(&network, &options.with(|options| (options.rounds, options.driver) = (Some(60), driver("anneal"))));
        assert!(summary.cost.is_some());
        assert_eq!(summary.population, population.max(1));
    }
    Ok(())
}

#[test]
fn another_thread_may_end_a_run() -> Result<(), Error> {
    let network = hard(200, 6, 700, 6)?;
    for driver in [DriverChoice::PORTFOLIO, driver("tabu")] {
        let options = small().with(|options| {
            (options.bound, options.driver, options.bound_memory) = (BoundChoice::Mbe, driver, Some(1 << 24))
        });
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

/// The search of 576 variables is not changed by 40 other variables in no function, with and without reductions.
#[test]
fn variables_that_no_function_reads_change_nothing() -> Result<(), Error> {
    let network = generate::grid(24, 24, 5, 0.2, &mut Rng::new(3))?;
    let mut builder = Network::builder("beside");
    for &domain in network.domains().iter().chain(&[3; 40]) {
        let _ = builder.variable(domain)?;
    }
    for function in network.functions() {
        let Table::Dense(costs) = &function.table else { panic!("grids have dense tables") };
        let _ = builder.dense(&function.scope, costs.iter().collect())?;
    }
    let beside = builder.build();
    for reduce in [true, false] {
        let options = small().with(|options| {
            options.rounds = Some(20);
            options.driver = driver("anneal");
            options.bound = BoundChoice::None;
            options.reduce = reduce;
        });
        let [alone, beside] = [&network, &beside].map(|network| run(network, &options).0);
        assert!(alone.moves > 10_000);
        assert_eq!((alone.moves, alone.cost), (beside.moves, beside.cost), "reduce {reduce}");
        assert_eq!(alone.solution.as_deref(), beside.solution.as_deref().map(|solution| &solution[..576]));
    }
    Ok(())
}

/// Links in pairs whose frequencies have two partners: tied variables are merged, and starts, evidence and equal runs
/// are as without merging.
#[test]
fn merged_variables_keep_every_promise() -> Result<(), Error> {
    let parameters = [("n", "24"), ("width", "5"), ("degree", "5"), ("hard", "0.4")];
    for seed in 1..5 {
        let mut network = generate::generate("frequency", &parameters, seed)?;
        let merged = |network: &Network| -> Result<usize, Error> {
            let mut reducer = Reducer::new(network, true, &Stop::new())?;
            reducer.merge_ties(&Stop::new());
            Ok(reducer.report().tied)
        };
        assert!(merged(&network)? > 3, "seed {seed}");
        let options = small().with(|options| (options.rounds, options.seed) = (Some(12), seed));
        let (first, _) = run(&network, &options);
        for threads in [2, 3] {
            let (again, _) = run(&network, &options.clone().with(|options| options.threads = Some(threads)));
            assert_eq!(fixed(&again), fixed(&first), "seed {seed}, {threads} threads");
        }
        let found = first.solution.clone().expect("a solution");
        let start =
            options.clone().with(|options| options.warm_starts = vec![found.iter().copied().map(Some).collect()]);
        let (after, _) = run(&network, &start.with(|options| options.rounds = Some(0)));
        assert_eq!((after.cost, &after.solution), (first.cost, &first.solution), "seed {seed}");
        // the values of one link differ from those that the search chose
        let other = run(&network, &options.clone().with(|options| options.seed = 99)).0.solution.expect("a solution");
        let evidence = [(0, other[0]), (1, other[1]), (6, other[6])];
        network.observe(&evidence)?;
        let (bound, _) = run(&network, &options);
        let observed = bound.solution.expect("a solution");
        assert!(evidence.iter().all(|&(v, value)| observed[v as usize] == value), "seed {seed}");
        let plain = small().with(|options| (options.rounds, options.reduce) = (Some(12), false));
        let (plain, _) = run(&network, &plain);
        if let (Some(one), Some(other)) = (bound.bound, plain.cost) {
            assert!(minimised(&network, one) <= minimised(&network, other), "seed {seed}");
        }
    }
    Ok(())
}
