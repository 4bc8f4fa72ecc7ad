//! `fangs_search::solve` on small networks of every kind that the model allows, compared with brute force.

mod options;

use fangs_base::Error;
use fangs_base::rng::Rng;
use fangs_base::stop::Stop;
use fangs_check as check;
use fangs_generate as generate;
use fangs_heuristics as heuristics;
use fangs_model::model::{Cost, FORBIDDEN, ModelError, Network, Number, Units};
use fangs_search::{
    Assertions, BoundChoice, DriverChoice, EventKind, MAX_THREADS, Options, Status, StoppedBy, Summary, solve,
};
use fangs_testing::Shape;

/// Returns a random network: arity 0 to 4, domains of 1 to 5 values, costs of either sign, forbidden tuples, ties,
/// dense and sparse and shared tables, minimised or maximised, with and without a limit or rounded entries.
fn random(rng: &mut Rng) -> Result<Network, ModelError> {
    let n = 1 + rng.index(6);
    let high = [1, 3, 100, 1 << 40][rng.index(4)];
    let low = if rng.below(3) == 0 { high } else { 0 };
    let shape = Shape {
        variables: n,
        domains: &[1, 2, 3, 4, 5][..=rng.index(5)],
        functions: rng.index(3 * n + 1),
        arities: &[0, 1, 1, 2, 2, 2, 3, 4],
        costs: (-low, high),
        forbidden: rng.below(5),
        sparse: (4, 4),
        shared: 3,
        ..Shape::PLAIN
    };
    let mut builder = shape.network(rng);
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

/// Returns a random network that small budgets do not prove: `n` variables with `d` values and random costs.
fn hard(n: u32, d: u32, functions: u32, seed: u64) -> Result<Network, Error> {
    generate::large_sparse(n, d, functions, 100, &mut Rng::new(seed))
}

/// Returns the least total below top.
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

/// Returns a value as a quantity to minimise.
fn minimised(network: &Network, number: Number) -> f64 {
    if network.units().maximise { -number.as_f64() } else { number.as_f64() }
}

/// Returns the driver with a name.
fn driver(name: &str) -> DriverChoice {
    DriverChoice::named(name).expect("there is such a driver")
}

fn small() -> Options {
    Options::default().with(|options| (options.threads, options.assertions) = (Some(1), Assertions::Round))
}

/// The content of an event, for comparisons after the run.
struct Heard {
    kind: EventKind,
    cost: Option<Number>,
    bound: Option<Number>,
    round: u64,
    moves: u64,
    source: String,
}

/// Solves, and checks what is true for any run: events, costs, bounds, status.
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
        // an infeasible network has no finite bound
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
            let options =
                small().with(|options| (options.rounds, options.seed, options.reduce) = (Some(50), case, reduce));
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
        for (driver, _) in DriverChoice::all() {
            for (_, bound) in BoundChoice::all() {
                let reduce = case % 3 == 0;
                // if the driver needs one
                let heuristic = if driver == DriverChoice::GUIDED { heuristics::find("boltzmann") } else { None };
                let options = small().with(|options| {
                    options.rounds = Some(3);
                    options.seed = case;
                    options.driver = driver;
                    options.heuristic = heuristic;
                    options.bound = bound;
                    options.reduce = reduce;
                });
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
        let options = small().with(|options| options.threads = Some(threads));
        assert!(matches!(solve(&random(&mut rng)?, &options, &Stop::new(), &mut |_| ()), Err(Error::Usage(_))));
    }
    assert!(missed < 5, "three rounds missed the optimum of a tiny network {missed} times");
    Ok(())
}

/// Costs beyond 32 bits and forbidden tuples: the price of a violation cannot exceed all costs together.
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
        let driver = [driver("anneal"), driver("tabu")][case % 2];
        let options = small().with(|options| {
            options.driver = driver;
            options.bound = BoundChoice::None;
            options.reduce = false;
            options.rounds = Some(3);
        });
        let (summary, _) = run(&network, &options);
        judge(&network, &summary, optimum);
        missed += u32::from(summary.cost != optimum.map(|optimum| network.units().number(optimum)));
    }
    assert!(missed < 3, "missed the optimum of a tiny network {missed} times");
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
        let (summary, _) = run(&builder.clone().build(), &small().with(|options| options.reduce = reduce));
        assert_eq!((summary.status, summary.cost), (Status::Optimal, Some(Number::Integer(-7))));
    }
    let _ = builder.top(-7);
    for reduce in [true, false] {
        let (summary, _) = run(&builder.clone().build(), &small().with(|options| options.reduce = reduce));
        assert_eq!(summary.status, Status::Infeasible, "a total must be below top");
    }

    let mut builder = Network::builder("too many values");
    let _ = builder.variable(70_000)?;
    let _ = builder.dense(&[0], (0..70_000).map(|value| (value - 69_000i64).abs() + 3).collect())?;
    let (summary, _) = run(&builder.build(), &small());
    assert_eq!((summary.status, summary.cost), (Status::Optimal, Some(Number::Integer(3))));
    Ok(())
}

/// Clauses that only weighting satisfies completely in so short a run.
#[test]
fn an_assignment_that_nothing_forbids_is_found() -> Result<(), Error> {
    for seed in 1..4 {
        let network = generate::generate("sat", &[("n", "300"), ("clauses", "1230")], seed)?;
        let options = small().with(|options| (options.rounds, options.bound) = (Some(150), BoundChoice::None));
        let (summary, _) = run(&network, &options);
        let values = summary.solution.expect("one is hidden");
        assert!(check::evaluate(&network, &values).is_solution(), "seed {seed}");
    }
    Ok(())
}
