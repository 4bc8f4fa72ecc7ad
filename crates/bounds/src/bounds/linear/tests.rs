//! Tests of bounds by linear programming against enumeration.

use super::domains::{Domains, Propagator};
use super::exact::{Lagrangean, Multipliers};
use super::program::Program;
use super::*;
use crate::bounds::{BoundChoice, Bounder, BounderOptions, Step};
use crate::elimination::testing::shuffled;
use crate::generate::generate;
use crate::model::{FORBIDDEN, Global, GlobalKind, Target};
use crate::rng::Rng;
use fangs_model::globals::Decomposer;
use fangs_testing::globals::{random, unary};
use fangs_testing::networks::assignments;

const ROOMY: u64 = 1 << 30;

/// Returns a small network with sums and counts of all kinds, tables, and now and then a large unit, an upper bound, or
/// chains that only bound their sums.
fn case(rng: &mut Rng) -> Network {
    let sizes: Vec<u32> = match rng.below(4) {
        0 => vec![2; 7 + rng.index(3)],
        _ => (0..2 + rng.index(5)).map(|_| 1 + rng.below(3) as u32).collect(),
    };
    let mut builder = unary(&sizes, rng);
    let unit = [1, 1, 5, 1 << 40][rng.index(4)];
    for (v, &size) in (0..).zip(&sizes) {
        let cost = |rng: &mut Rng| if rng.below(15) == 0 { FORBIDDEN } else { unit * (rng.below(40) as Cost - 12) };
        let _ = builder.dense(&[v], (0..size).map(|_| cost(rng)).collect()).expect("a table");
    }
    for _ in 0..rng.index(3) {
        let scope = [0, sizes.len() as u32 - 1];
        let cost = |rng: &mut Rng| if rng.below(6) == 0 { FORBIDDEN } else { unit * (rng.below(9) as Cost - 2) };
        let size = sizes[0] * sizes[sizes.len() - 1];
        let _ = builder.dense(&scope, (0..size).map(|_| cost(rng)).collect()).expect("a table");
    }
    let mut decomposer = Decomposer::limited([0, 1 << 20][rng.index(2)], 2 + rng.index(20), rng.below(2) == 0);
    for _ in 0..1 + rng.index(3) {
        let mut kind = random([0, 0, 0, 0, 1, 2, 3, 4, 8, 11][rng.index(10)], &sizes, rng);
        if rng.below(3) == 0
            && let GlobalKind::Linear(linear) = &mut kind
        {
            // many different totals, for which chains are coarse
            linear.weights.iter_mut().flatten().for_each(|weight| *weight = *weight * 997 + rng.below(300) as i64);
            linear.target = Target::Within(rng.below(3000) as i64 - 1000, [i64::MAX, 4000][rng.index(2)]);
        }
        let scope = (0..sizes.len() as u32).collect();
        let global = Global { scope, keyword: "k".into(), kind, limit: [FORBIDDEN, FORBIDDEN, 30][rng.index(3)] };
        drop(decomposer.add(&mut builder, global, &Stop::new()));
    }
    if rng.below(3) == 0 {
        let _ = builder.top(unit * (rng.below(90) as Cost - 20));
    }
    builder.build()
}

fn begin(network: &Network, ub: Option<Cost>) -> Result<LinearSearch, Error> {
    let (_, problem) = Reducer::unreduced(network, &Stop::new()).expect("no stop is set");
    let problem = Arc::new(problem);
    let order = shuffled(&problem, &mut Rng::new(1));
    let network = Some(network);
    LinearSearch::new(
        Begin { problem: &problem, ub, order: &order, memory: ROOMY, journal: false, network },
        &Stop::new(),
    )
}

/// Searches to the end with little work a call. The bound neither falls nor passes the optimum, and bounds on values
/// hold for all solutions below the limit.
#[test]
fn searches_prove_the_optimum_whatever_is_known() {
    let mut rng = Rng::new(77);
    let (mut ran, mut solved, mut none, mut relaxed, mut branched, mut excluded) = (0, 0, 0, 0, 0, 0);
    for _ in 0..6000 {
        let network = case(&mut rng);
        let costs = assignments(&network).into_iter().map(|x| (check::evaluate(&network, &x).cost, x));
        let solutions: Vec<(Cost, Vec<u32>)> = costs.filter(|(cost, _)| *cost < network.top()).collect();
        let optimum = solutions.iter().map(|(cost, _)| *cost).min().unwrap_or(network.top());
        let ub = [None, Some(optimum), Some(optimum.saturating_add(3))][rng.index(3)];
        let limit = ub.unwrap_or(network.top()).min(network.top());
        let Ok(mut search) = begin(&network, ub) else { continue };
        if rng.below(3) == 0 {
            search.tree.use_ascent();
        }
        ran += 1;
        relaxed += u32::from(network.is_relaxed());
        let (mut before, mut best) = (search.lower_bound(), None);
        loop {
            let progress = search.advance(1 + rng.below(2000), &Stop::new());
            let bound = search.lower_bound();
            assert!(bound >= before && bound <= optimum.min(limit), "{before} {bound} {optimum} {network:?}");
            before = bound;
            best = search.take_solution().or(best);
            if let Some(bounds) = search.take_value_bounds() {
                for (cost, x) in solutions.iter().filter(|(cost, _)| *cost < limit) {
                    let mut own = x.iter().zip(&bounds);
                    assert!(own.all(|(&value, bounds)| bounds[value as usize] <= *cost), "{cost} {x:?} {bounds:?}");
                }
                excluded += bounds.iter().flatten().filter(|&&bound| bound >= limit).count();
            }
            if progress == Progress::Done {
                break;
            }
        }
        assert_eq!(before, optimum.min(limit), "{network:?}");
        match best {
            Some(assignment) => {
                let values = search.reduced.reducer.lift(&assignment, &Stop::new()).expect("no stop is set");
                assert_eq!(check::evaluate(&network, &values).cost, optimum);
                assert!(optimum < limit);
                solved += 1;
            }
            None => {
                assert!(optimum >= limit, "{network:?}");
                none += 1;
            }
        }
        branched += u32::from(search.nodes() > 1);
    }
    let counts = [ran, solved, none, relaxed, branched, excluded as u32];
    assert!(counts.iter().all(|&count| count > 100), "{counts:?}");
}

/// Any multipliers give a valid bound, and rows remove no value of a solution.
#[test]
fn any_multipliers_give_a_bound() {
    let mut rng = Rng::new(5);
    let mut raised = 0;
    for _ in 0..3000 {
        let network = case(&mut rng);
        let Ok(program) = Program::new(&network, &Stop::new()) else { continue };
        let mut domains = Domains::new(&program);
        let mut propagator = Propagator::new(&program);
        propagator.queue_all();
        let is_open = propagator.run(&program, &mut domains);
        let real = |rng: &mut Rng| (rng.below(2001) as f64 - 1000.0) / 100.0 * [1.0, 1e6, 1e14][rng.index(3)];
        let reals: Vec<f64> = program.rows.iter().map(|_| real(&mut rng)).collect();
        let mut lagrangean = Lagrangean::default();
        let by = Multipliers::rounded(&program, &reals, 20);
        let is_valued = is_open && lagrangean.evaluate(&program, &domains, &by, true).is_some();
        let mut ray = Lagrangean::default();
        let by = Multipliers::of_ray(&program, &reals, 20);
        let contradicts = is_open && ray.evaluate(&program, &domains, &by, false).is_some() && ray.is_contradiction();
        for x in assignments(&network) {
            let cost = check::evaluate(&network, &x).cost;
            if cost >= FORBIDDEN {
                continue;
            }
            assert!(is_open && !contradicts, "{network:?}: {x:?}");
            for (v, &value) in x.iter().enumerate() {
                let column = program.firsts[v] as usize + value as usize;
                assert!(domains.has(column), "{network:?}: {x:?}");
                if is_valued {
                    assert!(lagrangean.bound_with(&program, v, column) <= cost, "{network:?}: {x:?}");
                    raised += u32::from(lagrangean.bound(&program) > network.least());
                }
            }
        }
    }
    assert!(raised > 1000, "{raised}");
}

#[test]
fn networks_without_sums_are_refused() {
    let network = generate("grid", &[("side", "3")], 1).expect("a family");
    assert!(matches!(begin(&network, None), Err(Error::Usage(why)) if why.contains("weighted sums")));
}

/// The reductions solve the coarse chains of small networks, but not the sums that they replace.
#[test]
fn sums_are_proved_if_the_reductions_solve_their_chains() {
    let mut rng = Rng::new(8);
    let mut solved = 0;
    for _ in 0..3000 {
        let network = case(&mut rng);
        let has_program = Program::new(&network, &Stop::new()).is_ok();
        if !network.is_relaxed() || !has_program {
            continue;
        }
        let optimum =
            assignments(&network).iter().map(|x| check::evaluate(&network, x).cost).min().unwrap_or(FORBIDDEN);
        let optimum = optimum.min(network.top());
        let stop = Stop::new();
        let reducer = Reducer::new(&network, true, &stop).expect("no stop is set");
        let reduced = ReducedProblem::new(reducer, &stop).expect("no stop is set");
        let options = BounderOptions { choice: BoundChoice::Linear, memory: ROOMY, ..BounderOptions::default() };
        let (mut bounder, mut bound) = (Bounder::new(options), network.least());
        loop {
            match bounder.step(&reduced, network.top(), &stop) {
                Step::More => {}
                Step::Result(result) => bound = bound.max(result.lower),
                Step::Done => break,
            }
            assert!(bound <= optimum, "{bound} {optimum} {network:?}");
        }
        assert_eq!(bound, optimum, "{network:?}");
        solved += 1;
    }
    assert!(solved > 20, "{solved}");
}
