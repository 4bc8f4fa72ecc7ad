//! `fangs::search::solve` on small networks of every kind that the model allows, against brute force.

use fangs::model::{Cost, FORBIDDEN, ModelError, Network, Number, Units};
use fangs::rng::Rng;
use fangs::search::{
    Assertions, BoundChoice, DriverChoice, EventKind, MAX_THREADS, Options, Status, StoppedBy, Summary, solve,
};
use fangs::stop::{Cause, Stop};
use fangs::{Error, check, generate, heuristics};

/// A random network: arity 0 to 4, domains of 1 to 5 values, costs of either sign, forbidden entries, ties, dense and
/// sparse and shared tables, minimised or maximised, with and without a limit or rounded entries.
fn random(rng: &mut Rng) -> Result<Network, ModelError> {
    let mut builder = Network::builder("random");
    let n = 1 + rng.index(6);
    let most = 1 + rng.below(5);
    let mut domains = Vec::new();
    for _ in 0..n {
        domains.push(1 + rng.below(most) as u32);
        let _ = builder.variable(domains[domains.len() - 1])?;
    }
    let high = [1, 3, 100, 1 << 40][rng.index(4)];
    let low = if rng.below(3) == 0 { high } else { 0 };
    let forbidden = rng.below(5);
    let cost = |rng: &mut Rng| {
        if rng.below(10) < forbidden { FORBIDDEN } else { rng.below((high + low + 1) as u64) as Cost - low }
    };
    for _ in 0..rng.index(3 * n + 1) {
        let mut scope: Vec<u32> = (0..n as u32).collect();
        rng.shuffle(&mut scope);
        scope.truncate([0, 1, 1, 2, 2, 2, 3, 4][rng.index(8)]);
        let size: u32 = scope.iter().map(|&v| domains[v as usize]).product();
        let function = if rng.below(3) == 0 {
            let count = rng.index(5);
            let mut tuples = Vec::new();
            for _ in 0..count {
                tuples.extend(scope.iter().map(|&v| rng.below(u64::from(domains[v as usize])) as u32));
            }
            let costs = (0..count).map(|_| cost(rng)).collect();
            builder.sparse(&scope, cost(rng), tuples, costs)?
        } else {
            builder.dense(&scope, (0..size).map(|_| cost(rng)).collect())?
        };
        if rng.below(8) == 0 {
            // the same table once more, the other way round where the domains allow it
            scope.reverse();
            if builder.shared(&scope, function).is_err() {
                scope.reverse();
                let _ = builder.shared(&scope, function)?;
            }
        }
    }
    if rng.below(3) == 0 {
        let _ = builder.top(rng.below(4 * high as u64 + 1) as Cost - low);
    }
    let units = [
        Units::INTEGER,
        Units { decimals: 3, ..Units::INTEGER },
        Units { decimals: 2, maximise: true, rounded: 0 },
        Units { decimals: 6, maximise: true, rounded: 3 },
    ];
    let _ = builder.units(units[rng.index(4)]);
    Ok(builder.build())
}

/// A random network that small budgets do not prove: `n` variables of `d` values and random costs.
fn hard(n: u32, d: u32, functions: u32, seed: u64) -> Result<Network, Error> {
    generate::large_sparse(n, d, functions, 100, &mut Rng::new(seed))
}

/// The least total below top.
fn optimum(network: &Network) -> Option<Cost> {
    let mut assignment = vec![0; network.domains().len()];
    let mut best = None;
    loop {
        let evaluation = check::evaluate(network, &assignment);
        if evaluation.is_solution() && best.is_none_or(|best| evaluation.cost < best) {
            best = Some(evaluation.cost);
        }
        let next = assignment.iter().zip(network.domains()).position(|(value, domain)| value + 1 < *domain);
        let Some(next) = next else { return best };
        assignment[next] += 1;
        assignment[..next].fill(0);
    }
}

/// A value as a quantity to minimise.
fn minimised(network: &Network, number: Number) -> f64 {
    if network.units().maximise { -number.as_f64() } else { number.as_f64() }
}

fn small() -> Options {
    Options { threads: Some(1), assertions: Assertions::Round, ..Options::default() }
}

/// What an event said, for comparisons after the run.
struct Heard {
    kind: EventKind,
    cost: Option<Number>,
    bound: Option<Number>,
    round: u64,
    moves: u64,
    source: String,
}

/// Solves and checks everything that holds for any run: events, costs, bounds, status.
fn run(network: &Network, options: &Options) -> (Summary, Vec<Heard>) {
    run_with(network, options, &Stop::new(), |_| {})
}

fn run_with(
    network: &Network,
    options: &Options,
    stop: &Stop,
    mut then: impl FnMut(EventKind),
) -> (Summary, Vec<Heard>) {
    let mut heard: Vec<Heard> = Vec::new();
    let summary = solve(network, options, stop, &mut |event| {
        let solution = event.solution.as_ref().map(|solution| check::evaluate(network, solution));
        match (event.kind, &solution) {
            (EventKind::Solution | EventKind::End, Some(evaluation)) => {
                assert!(evaluation.is_solution());
                assert_eq!(event.cost, Some(network.units().number(evaluation.cost)));
            }
            (EventKind::Solution, None) => panic!("a solution event without a solution"),
            (EventKind::End, None) => assert_eq!(event.cost, None),
            (_, found) => assert!(found.is_none()),
        }
        heard.push(Heard {
            kind: event.kind,
            cost: event.cost,
            bound: event.bound,
            round: event.round,
            moves: event.moves,
            source: event.source.to_string(),
        });
        then(event.kind);
    })
    .unwrap_or_else(|error| panic!("{error}"));

    let value = |number: Number| minimised(network, number);
    assert_eq!(heard.first().map(|event| event.kind), Some(EventKind::Start));
    assert_eq!(heard.iter().filter(|event| event.kind == EventKind::Start).count(), 1);
    assert_eq!(heard.iter().filter(|event| event.kind == EventKind::End).count(), 1);
    for pair in heard.windows(2) {
        let (before, after) = (&pair[0], &pair[1]);
        assert!(before.cost.is_none_or(|old| after.cost.is_some_and(|new| value(new) <= value(old))));
        // no number is left once there is no solution
        let has_none = || summary.status == Status::Infeasible;
        assert!(before.bound.is_none_or(|old| after.bound.map_or_else(has_none, |new| value(new) >= value(old))));
        assert!(before.round <= after.round && before.moves <= after.moves);
        match after.kind {
            EventKind::Solution => {
                assert!(before.cost.is_none_or(|old| after.cost.is_some_and(|new| value(new) < value(old))))
            }
            EventKind::Bound => assert_ne!(before.bound, after.bound),
            _ => {}
        }
        assert!(!after.source.is_empty());
    }
    let end = heard.last().expect("a last event");
    assert_eq!(end.kind, EventKind::End);
    assert_eq!((end.cost, end.bound), (summary.cost, summary.bound));
    assert_eq!((end.round, end.moves), (summary.rounds, summary.moves));

    match &summary.solution {
        Some(solution) => {
            let evaluation = check::evaluate(network, solution);
            assert!(evaluation.is_solution());
            assert_eq!(summary.cost, Some(network.units().number(evaluation.cost)));
            let bound = summary.bound.expect("a solution is no less than a number");
            assert!(value(bound) <= value(network.units().number(evaluation.cost)));
            assert!(matches!(summary.status, Status::Optimal | Status::Feasible));
        }
        None => {
            assert!(summary.cost.is_none() && summary.gap.is_none());
            assert!(matches!(summary.status, Status::Infeasible | Status::Unknown));
        }
    }
    assert_eq!(summary.status == Status::Optimal, summary.stopped_by == StoppedBy::Optimal);
    assert_eq!(summary.status == Status::Infeasible, summary.stopped_by == StoppedBy::Infeasible);
    (summary, heard)
}

/// Compares a run with the optimum.
fn judge(network: &Network, summary: &Summary, optimum: Option<Cost>) {
    match optimum {
        Some(optimum) => {
            let exact = network.units().number(optimum);
            let bound = summary.bound.expect("a bound is no more than the optimum");
            assert!(minimised(network, bound) <= minimised(network, exact), "{summary:?}, optimum {optimum}");
            assert_ne!(summary.status, Status::Infeasible, "optimum {optimum}");
            if summary.status == Status::Optimal {
                assert_eq!(summary.cost, Some(exact));
                assert_eq!((summary.bound, summary.gap), (Some(network.units().bound(optimum)), Some(0.0)));
            }
        }
        None => {
            assert!(summary.solution.is_none());
            assert!(summary.status != Status::Infeasible || summary.bound.is_none());
        }
    }
}

#[test]
fn proves_small_networks() -> Result<(), Error> {
    let mut rng = Rng::new(1);
    let (mut solved, mut none) = (0, 0);
    for case in 0..250 {
        let network = random(&mut rng)?;
        let optimum = optimum(&network);
        for reduce in [true, false] {
            let options = Options { rounds: Some(50), seed: case, reduce, ..small() };
            let (summary, _) = run(&network, &options);
            judge(&network, &summary, optimum);
            let status = if optimum.is_some() { Status::Optimal } else { Status::Infeasible };
            assert_eq!(summary.status, status, "case {case}, reduce {reduce}: {summary:?}");
        }
        solved += u32::from(optimum.is_some());
        none += u32::from(optimum.is_none());
    }
    assert!(solved > 80 && none > 30, "{solved} {none}");
    Ok(())
}

#[test]
fn every_driver_and_bound_holds_on_small_networks() -> Result<(), Error> {
    let mut rng = Rng::new(2);
    let mut missed = 0;
    for case in 0..16 {
        let network = random(&mut rng)?;
        let optimum = optimum(&network);
        for (_, driver) in DriverChoice::ALL {
            for (_, bound) in BoundChoice::ALL {
                let reduce = case % 3 == 0;
                // whose driver needs one
                let heuristic = if driver == DriverChoice::Guided { heuristics::find("boltzmann") } else { None };
                let options = Options { rounds: Some(3), seed: case, driver, heuristic, bound, reduce, ..small() };
                let (summary, _) = run(&network, &options);
                judge(&network, &summary, optimum);
                if let Some(optimum) = optimum {
                    missed += u32::from(summary.cost != Some(network.units().number(optimum)));
                }
                if matches!(bound, BoundChoice::Be | BoundChoice::Auto) {
                    assert!(matches!(summary.status, Status::Optimal | Status::Infeasible), "{driver:?}, {bound:?}");
                }
            }
        }
    }
    for threads in [0, MAX_THREADS + 1] {
        let options = Options { threads: Some(threads), ..small() };
        assert!(matches!(solve(&random(&mut rng)?, &options, &Stop::new(), &mut |_| ()), Err(Error::Usage(_))));
    }
    assert!(missed < 5, "three rounds missed the optimum of a tiny network {missed} times");
    Ok(())
}

/// Costs beyond 32 bits beside forbidden entries: not every violation can cost more than all of them together.
#[test]
fn allowed_solutions_count_where_violations_are_cheap() -> Result<(), Error> {
    let mut rng = Rng::new(8);
    let mut missed = 0;
    for case in 0..12 {
        let mut builder = Network::builder("dear");
        for _ in 0..8 {
            let _ = builder.variable(3)?;
        }
        for v in 0..8 {
            for u in 0..v {
                let mut cost = || if rng.below(6) == 0 { FORBIDDEN } else { rng.below(1 << 50) as Cost };
                let _ = builder.dense(&[u, v], (0..9).map(|_| cost()).collect())?;
            }
        }
        let network = builder.build();
        let optimum = optimum(&network);
        let driver = [DriverChoice::Anneal, DriverChoice::Tabu][case % 2];
        let options = Options { driver, bound: BoundChoice::None, reduce: false, rounds: Some(3), ..small() };
        let (summary, _) = run(&network, &options);
        judge(&network, &summary, optimum);
        missed += u32::from(summary.cost != optimum.map(|optimum| network.units().number(optimum)));
    }
    assert!(missed < 3, "missed the optimum of a tiny network {missed} times");
    Ok(())
}

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
        // two rounds of tabu walks have as many moves whatever they are
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

#[test]
fn networks_without_choices() -> Result<(), Error> {
    let (summary, _) = run(&Network::builder("empty").build(), &small());
    assert_eq!((summary.status, summary.cost), (Status::Optimal, Some(Number::Integer(0))));

    let mut builder = Network::builder("one value each");
    let _ = builder.variable(1)?;
    let _ = builder.variable(1)?;
    let _ = builder.dense(&[0, 1], vec![-7])?;
    for reduce in [true, false] {
        let (summary, _) = run(&builder.clone().build(), &Options { reduce, ..small() });
        assert_eq!((summary.status, summary.cost), (Status::Optimal, Some(Number::Integer(-7))));
    }
    let _ = builder.top(-7);
    for reduce in [true, false] {
        let (summary, _) = run(&builder.clone().build(), &Options { reduce, ..small() });
        assert_eq!(summary.status, Status::Infeasible, "a total must be below top");
    }

    let mut builder = Network::builder("too many values");
    let _ = builder.variable(70_000)?;
    let _ = builder.dense(&[0], (0..70_000).map(|value| (value - 69_000i64).abs() + 3).collect())?;
    let (summary, _) = run(&builder.build(), &small());
    assert_eq!((summary.status, summary.cost), (Status::Optimal, Some(Number::Integer(3))));
    Ok(())
}

/// Clauses whose violations nothing but weights brings to none in so short a run.
#[test]
fn an_assignment_that_nothing_forbids_is_found() -> Result<(), Error> {
    for seed in 1..4 {
        let network = generate::generate("sat", &[("n", "300"), ("clauses", "1230")], seed)?;
        let options = Options { rounds: Some(150), bound: BoundChoice::None, ..small() };
        let (summary, _) = run(&network, &options);
        let values = summary.solution.expect("one is hidden");
        assert!(check::evaluate(&network, &values).is_solution(), "seed {seed}");
    }
    Ok(())
}
