//! Diagrams with observed variables.

use super::tests::{best_policy, cases, diagram, expectation, in_time, near, random_diagram};
use super::*;
use crate::check::worth_in_diagram;
use crate::error::Error;
use crate::model::Policy;
use crate::model::{DiagramKind, Potential};
use crate::rng::Rng;
use crate::stop::Stop;

/// An observation of the first variable restricts its table, and the value is conditional on the observation.
#[test]
fn observations_condition() -> Result<(), Error> {
    let mut rng = Rng::new(10);
    let mut seen = 0;
    for case in 0..100 {
        let random = random_diagram(&mut rng, DiagramKind::Recall);
        // the first variable depends on nothing
        let function = &random.probabilities[0];
        let p = function.table[0];
        if p == 0.0 || function.scope.len() > 1 {
            continue;
        }
        let observe = vec![(function.scope[0], 0)];
        let solution = diagram(&random, &Options { observe: observe.clone(), ..Options::default() })?;
        let mut certain = random.clone();
        certain.probabilities[0].table.iter_mut().enumerate().for_each(|(k, p)| *p = if k == 0 { 1.0 } else { 0.0 });
        let order = in_time(&certain);
        let value = expectation(&certain, &order, &mut vec![0; certain.nodes.len()]);
        near(&solution, value, &format!("case {case}"));
        assert!((solution.normaliser.expect("one") - p).abs() < 1e-12);
        seen += 1;
    }
    assert!(seen > 50, "{seen}");
    Ok(())
}

/// If decisions have no perfect recall, the value is the best policy's sum over the assignments that agree with the
/// observation, divided by the observation's probability.
#[test]
fn observations_condition_decisions_that_forget() -> Result<(), Error> {
    let mut rng = Rng::new(11);
    let (mut seen, mut influenced) = (0, 0);
    for case in 0..cases() {
        let random = random_diagram(&mut rng, DiagramKind::Limited);
        let v = rng.index(random.nodes.len()) as u32;
        if random.nodes[v as usize].decision {
            continue;
        }
        let observe = vec![(v, rng.index(random.nodes[v as usize].domain as usize) as u32)];
        let solution = match diagram(&random, &Options { observe: observe.clone(), ..Options::default() }) {
            Err(error) if error.to_string().contains("depend on a decision") => {
                influenced += 1;
                continue;
            }
            Err(error) if error.to_string().contains("impossible") => continue,
            solution => solution?,
        };
        let mut certain = random.clone();
        let of = |value: u32| if value == observe[0].1 { 1.0 } else { 0.0 };
        let table = (0..random.nodes[v as usize].domain).map(of).collect();
        certain.probabilities.insert(0, Potential { scope: [v].into(), table });
        let Some(best) = best_policy(&certain) else { continue };
        let Some(Policy::Rules(rules)) = &solution.policy else { panic!("rules") };
        let (worth, probability) = worth_in_diagram(&random, rules, &observe, &Stop::new())?;
        let (value, found) = (best / probability, solution.meu.expect("a policy"));
        let what = format!("case {case}: {found}, {:?} against {value}", solution.bound);
        assert!((found - value).abs() < 1e-9 || !solution.exact && found < value, "{what}");
        assert!(solution.bound.is_none_or(|bound| bound >= value - 1e-9), "{what}");
        assert!((worth / probability - found).abs() < 1e-9, "{what}: the policy is worth {worth}");
        assert!((solution.normaliser.expect("one") - probability).abs() < 1e-12, "{what}");
        seen += 1;
    }
    assert!(seen > cases() / 8 && influenced > 0, "{seen} {influenced}");
    Ok(())
}
