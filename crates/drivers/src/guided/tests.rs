use super::state::GuidedState;
use super::*;
use crate::elimination::{Limits, Plan, Run};
use crate::heuristics;
use crate::heuristics::{Inputs, Neighbourhood, View};
use crate::model::{CostFunction, FORBIDDEN, Problem, Table};
use crate::order::{Method, Order};
use crate::stop::Cause;
use fangs_testing::cores::{assignment, price, random, random_dense};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

fn context(problem: &Arc<Problem>, rng: &mut Rng) -> SearchContext {
    SearchContext::new(problem, price(problem), Some(3), rng)
}

/// Returns mini-buckets of two variables.
pub(crate) fn outcome(problem: &Arc<Problem>) -> Arc<Outcome> {
    let order = Order::greedy(problem, Method::MinFill, 1, &Stop::new());
    let plan = Plan::new(problem, &order, &Limits { z: Some(2), ..Limits::new(1 << 30) });
    let mut run = Run::new(problem.clone(), plan);
    let _ = run.advance(u64::MAX, &Stop::new());
    Arc::new(run.finish().expect("the run is done"))
}

/// A heuristic that reads all inputs and compares them with expected values.
#[derive(Debug)]
struct Witness;

impl ValueHeuristic for Witness {
    fn name(&self) -> &str {
        "witness"
    }

    fn weigh(&self, inputs: &Inputs<'_>, weights: &mut [u32]) {
        let (view, v) = (inputs.view, inputs.variable);
        let held = view.value(v);
        let mut costs = Vec::new();
        view.costs(v, &mut costs);
        let problem = view.problem();
        assert_eq!((weights.len(), inputs.domain), (view.domain(v), view.domain(v) as f64));
        assert_eq!(inputs.degree as usize, problem.functions.iter().filter(|f| f.scope.contains(&(v as u32))).count());
        let columns = [inputs.value, inputs.cost, inputs.delta, inputs.current, inputs.incumbent, inputs.age];
        let more = [inputs.frequency, inputs.h, inputs.reduced, inputs.conflicts, inputs.unary];
        assert!(columns.iter().chain(&more).all(|column| column.len() == weights.len()));
        let least = inputs.cost.iter().copied().fold(f64::INFINITY, f64::min);
        assert_eq!((inputs.least, inputs.current_cost), (least, inputs.cost[held]));
        assert_eq!(inputs.current_conflicts, inputs.conflicts[held]);
        for value in 0..weights.len() {
            assert_eq!(inputs.cost[value] - inputs.cost[held], f64::from(costs[value] - costs[held]));
            assert_eq!(inputs.delta[value], inputs.cost[value] - inputs.cost[held]);
            assert_eq!(inputs.current[value], f64::from(u8::from(value == held)));
            assert!(inputs.age[value] >= 0.0 && (0.0..=1.0).contains(&inputs.frequency[value]));
            assert!(inputs.h[value] >= 0.0 && inputs.reduced[value] == 0.0 && inputs.cost[value] >= 0.0);
            weights[value] = 1;
        }
        assert!(inputs.frequency.iter().sum::<f64>() < 1.0 + 1e-9);
        assert!(inputs.temperature > 0.0 && inputs.round >= 1.0 && inputs.since <= inputs.round);
    }
}

#[test]
fn inputs_say_what_is_and_costs_stay_right() {
    let mut rng = Rng::new(1);
    for case in 0..200 {
        let problem = Arc::new(if case % 2 == 0 { random(&mut rng) } else { random_dense(&mut rng) });
        let context = context(&problem, &mut rng);
        let mut guided = Guided::new(Arc::new(Witness), true, None, rng.split());
        let mut pool = Pool::default();
        for number in 0..3 {
            let effort = guided.round(&context, &mut pool, &Stop::new());
            assert_eq!(effort.fault, None, "case {case}");
            assert!(effort.work > 0 && effort.picks.drawn > 0 && effort.picks.bytes > 0);
            if number == 1 {
                guided.guide(&outcome(&problem));
            }
        }
        assert!(!pool.elites().is_empty() && guided.population() == 3);
        for elite in pool.elites() {
            assert_eq!(elite.energy, context.tables.energy(&elite.values));
        }
    }
}

/// A heuristic that is active if enough functions are violated.
#[derive(Debug)]
struct Never {
    threshold: f64,
}

impl ValueHeuristic for Never {
    fn name(&self) -> &str {
        "never"
    }

    fn needs(&self) -> Needs {
        Needs::CURRENT_CONFLICTS
    }

    fn active(&self, inputs: &Inputs<'_>) -> bool {
        inputs.current_conflicts > self.threshold
    }

    fn condition(&self) -> (&str, Needs) {
        ("current_conflicts > threshold", Needs::CURRENT_CONFLICTS | Needs::DOMAIN)
    }

    fn weigh(&self, _: &Inputs<'_>, weights: &mut [u32]) {
        weights.fill(1);
    }
}

#[test]
fn a_heuristic_that_never_acts_is_told_once_and_with_why() {
    let mut rng = Rng::new(11);
    // a ring of four values each, in which nothing is forbidden
    let table = Table::dense(vec![0, 3, 1, 2, 3, 0, 2, 1, 1, 2, 0, 3, 2, 1, 3, 0]);
    let functions =
        [[0, 1], [1, 2], [2, 3], [0, 3]].map(|scope| CostFunction { scope: scope.into(), table: table.clone() });
    let unary = vec![vec![0; 4]; 4];
    let problem = Problem { domains: vec![4; 4], unary, functions: functions.into(), constant: 0, top: FORBIDDEN };
    let problem = Arc::new(problem);
    let context = context(&problem, &mut rng);
    for (threshold, told) in [(0.0, true), (-1.0, false)] {
        let mut guided = Guided::new(Arc::new(Never { threshold }), false, None, Rng::new(3));
        let mut pool = Pool::default();
        pool.offer(&Elite::new(&context.tables, vec![0; 4]));
        let opened = guided.open_run(&context, &mut pool, &Stop::new()).expect("there is a solution");
        let later = guided.round(&context, &mut pool, &Stop::new());
        assert_eq!((opened.nonsense.is_some(), later.nonsense), (told, None), "once");
        assert_eq!(opened.picks.drawn > 0, !told);
        let Some(message) = opened.nonsense else { continue };
        for part in [
            "heuristic never: no pick in its first passes, as `current_conflicts > threshold` held at no visit",
            "current_conflicts was always 0",
            "forbidden tuples only",
            "domain was always 4",
        ] {
            assert!(message.contains(part), "{part:?} is missing in {message:?}");
        }
        assert!(!message.contains("current_cost"), "only what the condition reads: {message}");
    }
}

#[test]
fn a_run_opens_with_trajectories_from_the_first_solution() {
    let mut rng = Rng::new(7);
    let mut better = 0;
    for case in 0..100 {
        let problem = Arc::new(random_dense(&mut rng));
        let context = context(&problem, &mut rng);
        let first = Elite::new(&context.tables, assignment(&problem, &mut rng));
        let mut guided = Guided::new(Arc::new(heuristics::MinConflicts), true, None, rng.split());
        let mut pool = Pool::default();
        pool.offer(&first);
        let effort = guided.open_run(&context, &mut pool, &Stop::new()).expect("there is a solution");
        assert!(effort.picks.rounds == 1 && effort.work > 0 && effort.fault.is_none(), "case {case}");
        assert_eq!(guided.population(), 0, "its states are not kept");
        assert!(pool.best() <= first.energy.total);
        better += u32::from(pool.best() < first.energy.total);
        assert!(pool.elites().iter().all(|elite| elite.energy == context.tables.energy(&elite.values)));
        let _ = guided.round(&context, &mut pool, &Stop::new());
        assert_eq!(guided.population(), 3);
    }
    assert!(better > 50, "{better}");
}

#[test]
fn every_heuristic_of_the_list_keeps_costs_right_and_finds_optima() {
    let mut rng = Rng::new(2);
    let (mut runs, mut worse) = (0, 0);
    for case in 0..120 {
        let problem = Arc::new(random_dense(&mut rng));
        let context = context(&problem, &mut rng);
        let mut found = Vec::new();
        for heuristic in heuristics::all() {
            if heuristic.fits(&problem).is_err() || context.tables.shift > 0 {
                continue;
            }
            let mut guided = Guided::new(heuristic, true, None, Rng::new(case));
            guided.guide(&outcome(&problem));
            let mut pool = Pool::default();
            for _ in 0..6 {
                let effort = guided.round(&context, &mut pool, &Stop::new());
                assert_eq!(effort.fault, None, "case {case}");
                // if every assignment costs the same there is nothing to sample
                assert!(effort.nonsense.is_none() || effort.picks.drawn == 0, "case {case}: {:?}", effort.nonsense);
            }
            found.push(pool.best());
            runs += 1;
        }
        let best = found.iter().min();
        worse += found.iter().filter(|energy| Some(*energy) > best).count();
    }
    // three states of six short trajectories each
    assert!(worse * 50 < runs, "{worse} of {runs} ended above the best");
    assert!(runs > 400, "{runs}");
}

/// A heuristic whose weights are all 0, or whose proposals are beyond the domains.
#[derive(Debug)]
struct Nonsense {
    proposes: bool,
}

impl ValueHeuristic for Nonsense {
    fn name(&self) -> &str {
        "nonsense"
    }

    fn weigh(&self, _: &Inputs<'_>, weights: &mut [u32]) {
        weights.fill(u32::from(self.proposes));
    }

    fn neighbourhood(&self) -> Option<&dyn Neighbourhood> {
        self.proposes.then_some(self as &dyn Neighbourhood)
    }
}

impl Neighbourhood for Nonsense {
    fn propose(&self, view: &View<'_>, _: &mut Rng, group: &mut Vec<(u32, u16)>) {
        group.extend([(0, 0), (view.variables() as u32 - 1, 999)]);
    }
}

#[test]
fn nonsense_is_reported_once_with_its_variable() {
    let mut rng = Rng::new(3);
    let problem = Arc::new(random_dense(&mut rng));
    let context = context(&problem, &mut rng);
    for (proposes, words) in [(false, "weigh 0; it keeps value"), (true, "value 999")] {
        let mut guided = Guided::new(Arc::new(Nonsense { proposes }), true, None, Rng::new(1));
        let mut pool = Pool::default();
        let mut told = (0..4).filter_map(|_| guided.round(&context, &mut pool, &Stop::new()).nonsense);
        let first = told.next().unwrap_or_default();
        assert!(first.contains("heuristic nonsense") && first.contains(words), "{first}");
        assert_eq!(told.next(), None);
    }
}

#[test]
fn assertions_find_what_is_wrong() {
    let mut rng = Rng::new(4);
    let problem = Arc::new(random_dense(&mut rng));
    let context = context(&problem, &mut rng);
    let layout = layout_of(&context);
    let round = RoundContext { keeps: true, ..RoundContext::new(&context, &layout, Needs::ALL, true) };
    let mut state = GuidedState::default();
    state.begin(&round, vec![0; problem.variables()]);
    assert_eq!(state.verify(&round, 0), Ok(()));
    state.energy += 1;
    assert!(state.verify(&round, 0).is_err_and(|what| what.contains("recomputed")));
}

#[test]
fn threads_change_nothing() {
    let mut rng = Rng::new(5);
    let problem = Arc::new(random_dense(&mut rng));
    let context = context(&problem, &mut rng);
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads start");
        pool.install(|| {
            let mut guided = Guided::new(Arc::new(heuristics::Frequency), false, None, Rng::new(7));
            let mut pool = Pool::default();
            let picks: Vec<Picks> = (0..5).map(|_| guided.round(&context, &mut pool, &Stop::new()).picks).collect();
            (picks, pool.elites().iter().map(|elite| elite.hash).collect::<Vec<_>>())
        })
    };
    assert_eq!(run(1), run(4));
}

/// A heuristic that samples lowest-cost values, and sets a stop after some visits.
#[derive(Debug)]
struct Cut {
    stop: Stop,
    left: AtomicU32,
}

impl ValueHeuristic for Cut {
    fn name(&self) -> &str {
        "cut"
    }

    fn needs(&self) -> Needs {
        Needs::COST | Needs::LEAST
    }

    fn weigh(&self, inputs: &Inputs<'_>, weights: &mut [u32]) {
        if self.left.fetch_sub(1, Relaxed) == 1 {
            self.stop.set(Cause::Time);
        }
        for (weight, &cost) in weights.iter_mut().zip(inputs.cost) {
            *weight = u32::from(cost == inputs.least);
        }
    }
}

#[test]
fn what_was_found_before_a_stop_counts() {
    let mut rng = Rng::new(12);
    let mut better = 0;
    for case in 0..20 {
        let problem = Arc::new(random_dense(&mut rng));
        let context = context(&problem, &mut rng);
        let after = |visits: u32| {
            let stop = Stop::new();
            let heuristic = Cut { stop: stop.clone(), left: AtomicU32::new(visits) };
            let mut guided = Guided::new(Arc::new(heuristic), true, None, Rng::new(case));
            let mut pool = Pool::default();
            let effort = guided.round(&context, &mut pool, &stop);
            assert!(stop.is_set() && effort.fault.is_none() && effort.picks.drawn > 0, "case {case}");
            let offered = |elite: &Elite| elite.energy == context.tables.energy(&elite.values);
            assert!(pool.elites().iter().all(offered), "case {case}");
            pool.best()
        };
        // within the first trajectory, and as soon as it begins
        let (first, cut) = (after(1), after(3 * problem.variables() as u32));
        assert!(cut <= first, "case {case}");
        better += u32::from(cut < first);
    }
    assert!(better > 10, "{better}");
}
