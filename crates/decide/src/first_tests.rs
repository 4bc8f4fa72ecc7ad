//! Intervals before any computation, compared with all policies.

use super::tests::{best_policy, diagram, process, random_diagram, random_process};
use super::*;
use crate::model::Policy;
use crate::model::{DiagramKind, Pomdp};
use crate::rng::Rng;
use crate::stop::{Cause, Stop};

fn stopped() -> Stop {
    let stop = Stop::new();
    stop.set(Cause::Time);
    stop
}

/// Returns the last report of a run that is stopped before it begins.
fn told(solve: impl FnOnce(&Stop, &mut dyn FnMut(&Solution))) -> Solution {
    let mut last = None;
    solve(&stopped(), &mut |solution| last = Some(solution.clone()));
    last.expect("an interval is reported")
}

#[test]
fn a_diagram_lies_in_its_first_interval() {
    let mut rng = Rng::new(5);
    for case in 0..300 {
        let kind = [DiagramKind::Recall, DiagramKind::Limited][case % 2];
        let made = random_diagram(&mut rng, kind);
        let Ok(exact) = diagram(&made, &Options::default()) else { continue };
        let first = told(|stop, tell| drop(solve_diagram(&made, &Options::default(), stop, tell)));
        let (lower, bound) = (first.lower.expect("a lower value"), first.bound.expect("a bound"));
        let value = best_policy(&made).filter(|_| kind == DiagramKind::Limited).or(exact.meu).expect("a value");
        assert!(lower <= value + 1e-9 && value <= bound + 1e-9 && bound - lower < 1e4, "{lower} {value} {bound}");
    }
}

#[test]
fn probabilities_that_are_no_distributions_count_as_they_are() {
    let mut rng = Rng::new(6);
    for _ in 0..200 {
        let mut made = random_diagram(&mut rng, DiagramKind::Limited);
        for function in &mut made.probabilities {
            let scale = [0.5, 1.0, 3.0][rng.index(3)];
            function.table.iter_mut().for_each(|p| *p *= scale);
        }
        let first = told(|stop, tell| drop(solve_diagram(&made, &Options::default(), stop, tell)));
        let Some(value) = best_policy(&made) else { continue };
        let (lower, bound) = (first.lower.expect("a lower value"), first.bound.expect("a bound"));
        let slack = 1e-9 * value.abs().max(1.0);
        assert!(lower <= value + slack && value <= bound + slack, "{lower} {value} {bound}");
    }
}

#[test]
fn a_stopped_process_has_a_policy_and_a_bound() {
    let mut rng = Rng::new(7);
    let options = |method| Options { method, horizon: Some(4), ..Options::default() };
    for case in 0..100 {
        let made = random_process(&mut rng);
        let exact = solve_pomdp(&made, &options(Method::Auto), &Stop::new(), &mut |_| ()).expect("a value");
        let value = exact.meu.expect("a policy");
        for method in [Method::Auto, Method::BeliefTree, Method::Alpha, Method::Eliminate] {
            let first = told(|stop, tell| drop(solve_pomdp(&made, &options(method), stop, tell)));
            let lower = first.meu.or(first.lower).expect("a lower value");
            let bound = first.bound.expect("a bound");
            assert!(lower <= value + 1e-9 && value <= bound + 1e-9, "case {case}: {lower} {value} {bound}");
            assert!(first.policy.is_some() || method == Method::Eliminate, "case {case}");
        }
    }
}

#[test]
fn a_stopped_team_has_a_policy_and_a_bound() {
    let pomdp: Pomdp = process(super::tests::TIGER);
    let mut team = pomdp.clone();
    // two agents with the same observations that act together
    let second = crate::model::Agent {
        actions: vec!["wait".into()],
        observations: vec!["none".into()],
        ..pomdp.agents[0].clone()
    };
    team.agents.push(second);
    let options = Options { horizon: Some(3), ..Options::default() };
    let first = told(|stop, tell| drop(solve_pomdp(&team, &options, stop, tell)));
    assert_eq!((first.meu, first.bound.map(f64::round), first.exact), (Some(-3.0), Some(30.0), false));
    assert!(matches!(first.policy, Some(Policy::Joint(_))));
}
