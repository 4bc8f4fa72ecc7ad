//! Tests of core-guided search against enumeration.

use super::counter::Counter;
use super::solver::{Lit, Verdict};
use super::*;
use crate::elimination::testing::shuffled;
use crate::model::{CostFunction, FORBIDDEN, SparseTable, Table};
use crate::rng::Rng;
use fangs_testing::problems::{assignments, random};

const ROOMY: u64 = 1 << 30;

fn begin(problem: &Arc<Problem>, ub: Option<Cost>, memory: u64, journal: bool) -> Result<Cores, Error> {
    let order = shuffled(problem, &mut Rng::new(1));
    Cores::new(Begin { problem, ub, order: &order, memory, journal, network: None }, &Stop::new())
}

fn optimum(problem: &Problem) -> Cost {
    assignments(problem).map(|assignment| problem.cost(&assignment)).min().expect("there is an assignment")
}

/// Returns tables of all shapes; every third time with weights near the largest, every tenth with a large domain.
fn case(rng: &mut Rng, number: u32) -> Problem {
    let mut problem = random(rng, 4);
    if number.is_multiple_of(3) {
        let dear = |cost: Cost| if cost < FORBIDDEN { cost << 40 } else { FORBIDDEN };
        problem.unary.iter_mut().flatten().for_each(|cost| *cost = dear(*cost));
        problem.functions.iter_mut().for_each(|function| function.table = function.table.map(dear));
        problem.top = if problem.top < 1 << 18 { problem.top << 40 } else { problem.top };
    }
    if number.is_multiple_of(10) {
        let unary = (0..70).map(|_| [rng.below(30) as Cost, FORBIDDEN][rng.index(2)]);
        problem.unary.push(unary.chain([7]).collect());
        problem.domains.push(71);
        let entries = (0..71 * u64::from(problem.domains[0])).map(|_| rng.below(4) as Cost).collect();
        let scope = [0, problem.domains.len() as u32 - 1].into();
        problem.functions.push(CostFunction { scope, table: Table::dense(entries) });
    }
    problem
}

/// Returns a packing problem: most pairs of things exclude each other, and each thing left out has a cost.
fn packing(rng: &mut Rng) -> Problem {
    let n = 4 + rng.index(9) as u32;
    let forbidden = Table::Sparse(Arc::new(SparseTable::new(2, 0, vec![1, 1], vec![FORBIDDEN])));
    let pairs = (0..n).flat_map(|b| (0..b).map(move |a| (a, b)));
    let pairs: Vec<_> = pairs.filter(|_| rng.below(4) > 0).collect();
    Problem {
        domains: vec![2; n as usize],
        unary: (0..n).map(|_| vec![1 + rng.below(3) as Cost, 0]).collect(),
        functions: pairs
            .into_iter()
            .map(|(a, b)| CostFunction { scope: [a, b].into(), table: forbidden.clone() })
            .collect(),
        constant: 5,
        top: FORBIDDEN,
    }
}

/// Searches to the end with few decisions a call; the bound neither falls nor passes `optimum`.
fn finish(cores: &mut Cores, rng: &mut Rng, optimum: Cost) -> Option<Vec<u32>> {
    let (stop, mut solution) = (Stop::new(), None);
    let mut before = cores.lower_bound();
    assert!(before <= optimum, "{before} {optimum}");
    while !cores.is_done() {
        if cores.descent.step(1 + rng.below(300), &stop) {
            cores.found();
        }
        let bound = cores.lower_bound();
        assert!(bound >= before && bound <= optimum, "{before} {bound} {optimum}");
        before = bound;
        solution = cores.take_solution().or(solution);
    }
    solution
}

#[test]
fn searches_prove_the_optimum_whatever_is_known() {
    let mut rng = Rng::new(51);
    let (mut solved, mut none, mut raised) = (0, 0, 0);
    for number in 0..240 {
        let problem = Arc::new(if number % 4 == 0 { packing(&mut rng) } else { case(&mut rng, number) });
        let optimum = optimum(&problem);
        let known = [None, Some(optimum - 2), Some(optimum), Some(optimum + 1), Some(optimum.saturating_add(40))];
        for ub in known.map(|ub| ub.map(|ub| ub.min(FORBIDDEN))) {
            let limit = ub.unwrap_or(problem.top).min(problem.top);
            let mut cores = begin(&problem, ub, ROOMY, false).expect("there is room");
            let first = cores.lower_bound();
            let solution = finish(&mut cores, &mut rng, optimum.min(limit));
            assert_eq!(cores.lower_bound(), optimum.min(limit), "{number} {ub:?}");
            raised += u32::from(first < cores.lower_bound());
            if optimum < limit {
                solved += 1;
                assert_eq!(solution.map(|values| problem.cost(&values)), Some(optimum), "{number}");
            } else {
                none += 1;
                assert_eq!(solution, None, "{number}");
            }
        }
    }
    assert!(solved > 300 && none > 300 && raised > 300, "{solved} {none} {raised}");
}

#[test]
fn an_upper_bound_may_improve_on_the_way() {
    let mut rng = Rng::new(52);
    let mut later = 0;
    for number in 0..200 {
        let problem = Arc::new(case(&mut rng, number));
        let optimum = optimum(&problem);
        let mut cores = begin(&problem, None, ROOMY, false).expect("there is room");
        let mut best = problem.top.min(FORBIDDEN);
        for step in 0.. {
            if cores.is_done() {
                break;
            }
            let _ = cores.advance(1, &Stop::new());
            if let Some(values) = cores.take_solution() {
                best = best.min(problem.cost(&values));
            }
            assert!(cores.lower_bound() <= optimum.min(problem.top), "{number}");
            if step == 1 && optimum + 1 < best {
                later += 1;
                best = optimum + 1;
                cores.tighten(best);
            }
        }
        assert_eq!(cores.lower_bound(), optimum.min(problem.top), "{number}");
        assert_eq!(best, optimum.min(problem.top).min(FORBIDDEN), "{number}");
    }
    assert!(later > 5, "{later}");
}

/// Of n things, one of which may be chosen, n - 1 are left out: that is known before the first call of the solver.
#[test]
fn things_that_exclude_each_other_raise_the_bound_at_once() {
    let forbidden = Table::Sparse(Arc::new(SparseTable::new(2, 0, vec![1, 1], vec![FORBIDDEN])));
    let pairs = (0..9u32).flat_map(|b| (0..b).map(move |a| [a, b]));
    let problem = Problem {
        domains: vec![2; 9],
        unary: (0..9).map(|v| vec![10 + v, 0]).collect(),
        functions: pairs.map(|pair| CostFunction { scope: pair.into(), table: forbidden.clone() }).collect(),
        constant: 0,
        top: FORBIDDEN,
    };
    let cores = begin(&Arc::new(problem), None, ROOMY, false).expect("there is room");
    assert_eq!(cores.lower_bound(), (10..18).sum::<Cost>());
    assert_eq!(cores.work_done(), cores.begun);
}

#[test]
fn counters_count() {
    for size in 1..10u32 {
        let mut sat = Sat::new();
        let inputs: Vec<Lit> = (0..size).map(|_| sat.literal()).collect();
        let mut counter = Counter::new(inputs.clone());
        assert_eq!(counter.size(), size as usize);
        for bound in [0, size / 2, size - 1] {
            let more = counter.more_than(bound as usize, &mut sat);
            for chosen in 0..1u32 << size {
                let literal =
                    |(place, &literal): (usize, &Lit)| if chosen >> place & 1 == 1 { literal } else { !literal };
                let mut assumed: Vec<Lit> = inputs.iter().enumerate().map(literal).collect();
                assumed.push(!more);
                let verdict = sat.solve(&assumed, u64::MAX, &Stop::new());
                let fits = chosen.count_ones() <= bound;
                assert_eq!(verdict, if fits { Verdict::Satisfiable } else { Verdict::Unsatisfiable }, "{size} {bound}");
            }
        }
    }
}

#[test]
fn it_says_why_it_does_not_run() {
    let table = |domain: u32| Table::dense(vec![1; (domain * domain) as usize]);
    let problem = |domain: u32| Problem {
        domains: vec![domain; 2],
        unary: vec![vec![0; domain as usize]; 2],
        functions: vec![CostFunction { scope: [0, 1].into(), table: table(domain) }],
        constant: 0,
        top: FORBIDDEN,
    };
    let refusal = |domain, memory, journal| {
        begin(&Arc::new(problem(domain)), None, memory, journal).err().map_or(String::new(), |error| error.to_string())
    };
    assert_eq!(refusal(30, ROOMY, false), "");
    assert!(refusal(30, 1000, false).contains("clauses take"), "{}", refusal(30, 1000, false));
    assert!(refusal(600, ROOMY, false).contains("360000 tuples"), "{}", refusal(600, ROOMY, false));
    assert!(refusal(30, ROOMY, true).contains("--certificate"), "{}", refusal(30, ROOMY, true));
    let stopped = Stop::new();
    stopped.set(crate::stop::Cause::Time);
    let (problem, order) = (Arc::new(problem(30)), shuffled(&problem(30), &mut Rng::new(1)));
    let begin = Begin { problem: &problem, ub: None, order: &order, memory: ROOMY, journal: false, network: None };
    assert!(matches!(Cores::new(begin, &stopped), Err(Error::Stopped)));
}

/// A search ends for good, with the bound it has reached, if learnt clauses use up the memory.
#[test]
fn memory_that_is_out_ends_it() {
    let mut rng = Rng::new(53);
    let problem = Arc::new(packing(&mut rng));
    let optimum = optimum(&problem);
    let mut cores = begin(&problem, None, ROOMY, false).expect("there is room");
    cores.memory = 0;
    assert_eq!(cores.advance(u64::MAX, &Stop::new()), Progress::Done);
    assert!(cores.is_done() && cores.lower_bound() <= optimum);
}
