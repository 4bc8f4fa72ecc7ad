//! Tests of the choice of the next generation, on small and large problems.

use super::cpu::suitable_states;
use super::*;
use crate::core::driver::Driver;
use crate::generate::generate;
use crate::tuning::{LONG_WORK, STEPS};
use fangs_testing::cores::price;

#[test]
fn long_annealing_begins_with_ever_longer_anneals_of_few_states() {
    let network = generate("grid", &[("side", "8"), ("d", "3"), ("p2", "0")], 1).expect("a family");
    let problem = Arc::new(
        crate::reduce::Reducer::new(&network, false, &Stop::new())
            .expect("no limit")
            .problem(&Stop::new())
            .expect("no stop is set"),
    );
    let mut context = SearchContext::new(&problem, price(&problem), None, &mut Rng::new(1));
    let longest = |epoch: u32| {
        let lengths = (0..=epoch).map(|doublings| LONG_SWEEPS << doublings);
        lengths.filter(|&sweeps| child_work(&context, sweeps) <= LONG_WORK).max()
    };
    let lengths: Vec<Option<u32>> = (0..20).map(longest).collect();
    assert!(lengths[0] == Some(LONG_SWEEPS) && lengths[0] < lengths[5] && lengths[18] == lengths[19]);
    let run = |context: &SearchContext| {
        let (mut long, mut pool) = (Annealing::long(Rng::new(1)), Pool::default());
        while long.epoch < 12 {
            let before = pool.best();
            let work = long.round(context, &mut pool, &Stop::new()).work;
            assert!(work > 0 && pool.best() <= before);
            assert_eq!(long.long, lengths[long.epoch as usize]);
        }
        (long.states, long.epoch, long.work, pool.best())
    };
    assert_eq!(run(&context).0, rayon::current_num_threads());
    // a reproducible run does not depend on the threads
    context.portable = true;
    let portable = |threads: usize| {
        let workers = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        workers.install(|| run(&context))
    };
    assert!(portable(1).0 == 1 && portable(1) == portable(3));
}

#[test]
fn the_bests_of_earlier_pools_join_those_that_stagnate_on_large_cores() {
    let network = generate("grid", &[("side", "25"), ("d", "2"), ("p2", "0")], 1).expect("a family");
    let problem = Arc::new(
        crate::reduce::Reducer::new(&network, false, &Stop::new())
            .expect("no limit")
            .problem(&Stop::new())
            .expect("no stop is set"),
    );
    let context = SearchContext::new(&problem, price(&problem), Some(3), &mut Rng::new(1));
    let mut anneal = Annealing::new(Rng::new(1), None);
    let mut joins = 0;
    for _ in 0..3000 {
        let before = (anneal.epoch, anneal.joined);
        // no other driver finds anything
        drop(anneal.round(&context, &mut Pool::default(), &Stop::new()));
        if anneal.joined && before == (anneal.epoch, false) {
            joins += 1;
            assert!(anneal.epoch > 0, "there are earlier pools");
            let best = anneal.population.best(&context).expect("the host works").expect("an elite").energy.total;
            assert!(anneal.archive.iter().all(|kept| best <= kept.energy.total), "{best}");
        }
        if anneal.epoch == 4 {
            break;
        }
    }
    // the first three behind the first were joined, one perhaps in the round that ended it
    assert!(anneal.epoch == 4 && joins >= 2, "{} pools, {joins} joined", anneal.epoch);
}

#[test]
fn subpopulations_double_with_the_sweeps_where_nothing_falls_into_parts() {
    // degrees of 10 and of at most 4
    let family = |kind: &str, settings: &[(&str, &str)]| generate(kind, settings, 1).expect("a family");
    let random = family("large-sparse", &[("n", "700"), ("d", "2"), ("functions", "3500")]);
    for (network, subpopulations) in
        [(random, [4, 8, 17, 33, 66, 132, 264]), (family("grid", &[("side", "28"), ("d", "2")]), [264; 7])]
    {
        let problem = Arc::new(
            crate::reduce::Reducer::new(&network, false, &Stop::new())
                .expect("no limit")
                .problem(&Stop::new())
                .expect("no stop is set"),
        );
        let context = SearchContext::new(&problem, price(&problem), None, &mut Rng::new(1));
        assert!(context.is_large());
        let mut anneal = Annealing::new(Rng::new(1), None);
        (anneal.states, anneal.phase) = (264, Phase::Evolve);
        for (doublings, subpopulation) in subpopulations.into_iter().enumerate() {
            anneal.sweeps = anneal.base_sweeps(&context) << doublings;
            assert_eq!(anneal.next_generation(&context).expect("numbers").subpopulation, subpopulation);
        }
        anneal.joined = true;
        anneal.sweeps = anneal.base_sweeps(&context);
        assert_eq!(
            anneal.next_generation(&context).expect("numbers").subpopulation,
            264,
            "the bests of earlier pools are for all"
        );
    }
}

#[test]
fn generations_choose_where_anneals_end_on_large_cores_alone() {
    for (side, choices) in [("25", ENDS.len()), ("11", 1)] {
        let network = generate("grid", &[("side", side), ("d", "4"), ("p2", "0")], 1).expect("a family");
        let problem = Arc::new(
            crate::reduce::Reducer::new(&network, false, &Stop::new())
                .expect("no limit")
                .problem(&Stop::new())
                .expect("no stop is set"),
        );
        let context = SearchContext::new(&problem, price(&problem), Some(4), &mut Rng::new(1));
        let run = |rounds| {
            let (mut anneal, mut pool) = (Annealing::new(Rng::new(1), None), Pool::default());
            let mut ends = vec![0; ENDS.len()];
            for _ in 0..rounds {
                drop(anneal.round(&context, &mut pool, &Stop::new()));
                ends[anneal.end] += 1;
            }
            (anneal, ends, pool.best())
        };
        let (mut anneal, ends, best) = run(40);
        assert_eq!(anneal.temperatures.len(), choices, "{side}");
        assert_eq!(ends.iter().filter(|&&rounds| rounds > 0).count(), choices, "{side}: {ends:?}");
        let again = run(40);
        assert_eq!((again.1, again.2), (ends, best), "a run can be repeated");
        let last = |heat: &Heat| heat.steps[STEPS - 1].numbers();
        assert!(choices == 1 || last(&anneal.temperatures[0]) != last(&anneal.temperatures[1]));
        // a new reduced problem has its own temperatures
        anneal.rebase(&context, &|values| Some(Elite::new(&context.tables, values.to_vec())));
        assert!(anneal.temperatures.is_empty());
    }
}

#[test]
fn a_core_that_is_large_no_more_has_the_states_and_children_of_a_small_one() {
    let context = |side: &str| {
        let network = generate("grid", &[("side", side), ("d", "4"), ("p2", "0")], 1).expect("a family");
        let problem = Arc::new(
            crate::reduce::Reducer::new(&network, false, &Stop::new())
                .expect("no limit")
                .problem(&Stop::new())
                .expect("no stop is set"),
        );
        SearchContext::new(&problem, price(&problem), None, &mut Rng::new(1))
    };
    let (large, small, smaller) = (context("25"), context("11"), context("10"));
    let (mut anneal, mut pool) = (Annealing::new(Rng::new(1), None), Pool::default());
    while anneal.phase != Phase::Evolve || anneal.sweeps == anneal.base_sweeps(&large) {
        drop(anneal.round(&large, &mut pool, &Stop::new()));
    }
    let before = (anneal.sweeps, anneal.states);
    // one after the other, before the driver has used the first
    let to = |context: &SearchContext, values: &[u16]| {
        Some(Elite::new(&context.tables, values[..context.variables()].to_vec()))
    };
    anneal.rebase(&small, &|values| to(&small, values));
    anneal.rebase(&smaller, &|values| to(&smaller, values));
    let seeds: Vec<u64> = anneal.moved.iter().flatten().map(|elite| elite.hash).collect();
    assert!(!seeds.is_empty() && (anneal.sweeps, anneal.states) == before);
    drop(anneal.round(&smaller, &mut Pool::default(), &Stop::new()));
    assert_eq!((anneal.sweeps, anneal.states), (2, suitable_states(&smaller, 2, 0)));
    assert!(before.0 > 2 && before.1 < anneal.states && anneal.moved.is_none());
    // a problem of equal size continues with the present parameters
    anneal.sweeps = 8;
    anneal.rebase(&smaller, &|values| to(&smaller, values));
    let states = anneal.states;
    drop(anneal.round(&smaller, &mut Pool::default(), &Stop::new()));
    assert_eq!((anneal.sweeps, anneal.states), (8, states));
}

#[test]
fn what_others_have_is_taken_in_on_large_cores_alone() {
    for (side, taken) in [("25", true), ("11", false)] {
        let network = generate("grid", &[("side", side), ("d", "4"), ("p2", "0")], 1).expect("a family");
        let problem = Arc::new(
            crate::reduce::Reducer::new(&network, false, &Stop::new())
                .expect("no limit")
                .problem(&Stop::new())
                .expect("no stop is set"),
        );
        let context = SearchContext::new(&problem, price(&problem), Some(4), &mut Rng::new(1));
        let run = |pool: &mut Pool, seed, rounds| {
            let mut anneal = Annealing::new(Rng::new(seed), None);
            (0..rounds).for_each(|_| drop(anneal.round(&context, pool, &Stop::new())));
            anneal
        };
        // a solution of a long run is new to a short one
        let mut pool = Pool::default();
        drop(run(&mut pool, 1, 20));
        let known = pool.best();
        let mut short = Pool::default();
        let alone = run(&mut short, 2, 5);
        assert!(alone.phase == Phase::Evolve && short.best() > known, "{known} {}", short.best());
        let mut given = Pool::default();
        given.offer(&pool.elites()[0]);
        let helped = run(&mut given, 2, 5);
        let best =
            helped.population.best(&context).expect("the host works").map_or(i64::MAX, |elite| elite.energy.total);
        assert_eq!(best <= known, taken, "{side}: {best} {known}");
    }
}

#[test]
fn first_pools_of_large_cores_have_a_state_for_each_thread() {
    let network = generate("grid", &[("side", "25"), ("d", "2"), ("p2", "0")], 1).expect("a family");
    let problem = Arc::new(
        crate::reduce::Reducer::new(&network, false, &Stop::new())
            .expect("no limit")
            .problem(&Stop::new())
            .expect("no stop is set"),
    );
    let mut context = SearchContext::new(&problem, price(&problem), None, &mut Rng::new(1));
    let states = |context: &SearchContext, threads: usize| {
        let workers = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        workers.install(|| [0, 1].map(|epoch| suitable_states(context, 50, epoch)))
    };
    assert_eq!([1, 2, 16].map(|threads| states(&context, threads)), [[1, 4], [2, 8], [16, 16]]);
    // a reproducible run does not depend on the threads
    context.portable = true;
    assert_eq!([1, 2, 16].map(|threads| states(&context, threads)), [[4, 4]; 3]);
}

#[test]
fn large_cores_begin_at_a_solution_that_is_known() {
    let network = generate("grid", &[("side", "25"), ("d", "4"), ("p2", "0")], 1).expect("a family");
    let problem = Arc::new(
        crate::reduce::Reducer::new(&network, false, &Stop::new())
            .expect("no limit")
            .problem(&Stop::new())
            .expect("no stop is set"),
    );
    let context = SearchContext::new(&problem, price(&problem), None, &mut Rng::new(1));
    let known = Elite::new(&context.tables, vec![0; 625]);
    for given in [true, false] {
        let mut pool = Pool::default();
        if given {
            pool.offer(&known);
        }
        let (mut anneal, mut phases) = (Annealing::new(Rng::new(1), None), Vec::new());
        while anneal.phase != Phase::Evolve {
            let before = pool.best();
            drop(anneal.round(&context, &mut pool, &Stop::new()));
            phases.extend(Some(anneal.phase).filter(|phase| phases.last() != Some(phase)));
            assert!(pool.best() < before || !matches!(anneal.phase, Phase::Climb { .. }));
        }
        let climbs = [8, 16].map(|sweeps| Phase::Climb { sweeps });
        let rest = [Phase::Open { sweeps: LONG_SWEEPS }, Phase::Evolve];
        assert_eq!(phases, if given { [&climbs[..], &rest].concat() } else { rest.to_vec() });
    }
}

/// Returns a sparse problem of 700 variables that counts as vast.
fn climbing() -> SearchContext {
    let settings = [("n", "700"), ("d", "2"), ("functions", "3500")];
    let network = generate("large-sparse", &settings, 1).expect("a family");
    let problem = Arc::new(crate::reduce::Reducer::unreduced(&network, &Stop::new()).expect("no limit").1);
    SearchContext::new(&problem, price(&problem), None, &mut Rng::new(1)).into_vast()
}

#[test]
fn anneals_of_one_state_double_and_a_checkpoint_has_their_sweeps() {
    let context = climbing();
    assert!(context.climbs());
    let mut pool = Pool::default();
    pool.offer(&Elite::new(&context.tables, vec![0; 700]));
    let (mut anneal, mut climbs) = (Annealing::new(Rng::new(1), None), Vec::new());
    while climbs.last() != Some(&1024) {
        drop(anneal.round(&context, &mut pool, &Stop::new()));
        let Phase::Climb { sweeps } = anneal.phase else { panic!("it climbs: {:?}", anneal.phase) };
        climbs.extend(Some(sweeps).filter(|_| climbs.last() != Some(&sweeps)));
        let kept = anneal.state().expect("a state").sweeps;
        assert_eq!(kept, if sweeps > LONG_SWEEPS { sweeps } else { anneal.sweeps });
    }
    assert!(climbs.is_sorted() && climbs.contains(&512), "{climbs:?}");
    let state = anneal.state().expect("a state");
    let mut again = Annealing::new(Rng::new(2), None);
    again.resume(&context, state);
    assert_eq!(again.phase, Phase::Climb { sweeps: 1024 });
}

#[test]
fn the_last_climb_ends_with_the_run() {
    let context = climbing();
    let mut anneal = Annealing::new(Rng::new(1), None);
    assert!(anneal.keeps_climbing(&context));
    let mut sweeps = |left: Option<u64>| {
        anneal.left = left.map(|sweeps| sweeps * context.sweep_work);
        anneal.until_the_end(&context, 1000)
    };
    assert_eq!(sweeps(None), 1000);
    // sweeps left: enough, 1.5 times the anneal, half of it, one
    assert_eq!([sweeps(Some(10_000)), sweeps(Some(1500)), sweeps(Some(500)), sweeps(Some(1))], [1000, 1395, 465, 4]);
}

#[test]
fn variables_in_violated_functions_move_alone_until_an_assignment_is_feasible() {
    let network = generate("sat", &[("n", "600"), ("clauses", "2400")], 3).expect("a family");
    let problem = Arc::new(crate::reduce::Reducer::unreduced(&network, &Stop::new()).expect("no limit").1);
    let context = SearchContext::new(&problem, price(&problem), None, &mut Rng::new(1)).into_vast();
    let (mut anneal, mut pool) = (Annealing::new(Rng::new(1), None), Pool::default());
    let mut round = |anneal: &mut Annealing| {
        drop(anneal.round(&context, &mut pool, &Stop::new()));
        pool.solved
    };
    assert!(!round(&mut anneal));
    assert_eq!(anneal.temperatures[0].least, context.tables.hard);
    // on another reduced problem, too
    anneal.rebase(&context, &|values| Some(Elite::new(&context.tables, values.to_vec())));
    assert!(anneal.temperatures.is_empty() && !round(&mut anneal));
    assert_eq!(anneal.temperatures[0].least, context.tables.hard);
    assert!((0..5000).any(|_| round(&mut anneal)), "it is not solved");
    assert!(
        (0..500).any(|_| round(&mut anneal) && anneal.temperatures.first().is_some_and(|heat| heat.least == ALL_MOVE))
    );
}
