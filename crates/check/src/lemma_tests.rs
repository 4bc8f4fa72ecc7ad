//! Tests of lemmas against enumeration: listed values must reach the limit, whatever the lemma's steps.

use super::evaluate;
use super::state::State;
use super::tests::{assignments, follow, random, solved, triangle};
use crate::Error;
use crate::certificate::{Branch, Certificate, Elimination, Ending, Join, Lemma, Search, Step};
use crate::model::{Cost, FORBIDDEN, Network};
use crate::rng::Rng;

/// Returns mini-buckets of some of a network's functions, none joined twice.
fn plan(network: &Network, rng: &mut Rng) -> Elimination {
    let mut functions: Vec<Box<[u32]>> = Vec::new();
    for function in network.functions() {
        let mut scope: Box<[u32]> = function.scope[..].into();
        scope.sort_unstable();
        if scope.len() > 1 && !functions.contains(&scope) {
            functions.push(scope);
        }
    }
    let n = network.domains().len() as u32;
    // tables that wait to be joined, with their scopes
    let mut waiting: Vec<(Vec<u32>, Join)> = Vec::new();
    for (index, scope) in (0..).zip(&functions) {
        waiting.push((scope.to_vec(), Join { functions: vec![index], ..Join::default() }));
    }
    let mut joins: Vec<Join> = Vec::new();
    for v in 0..n {
        let (own, rest): (Vec<_>, Vec<_>) = waiting.into_iter().partition(|(scope, _)| scope.contains(&v));
        waiting = rest;
        let mut unary = rng.below(8) > 0;
        for bucket in own.chunks(1 + rng.index(3)) {
            let mut join = Join { variable: v, unary: std::mem::take(&mut unary), ..Join::default() };
            let mut scope: Vec<u32> = bucket.iter().flat_map(|(scope, _)| scope).copied().filter(|&u| u != v).collect();
            scope.sort_unstable();
            scope.dedup();
            for (_, table) in bucket {
                join.functions.extend(&table.functions);
                join.messages.extend(&table.messages);
            }
            waiting.push((scope, Join { messages: vec![joins.len() as u32], ..Join::default() }));
            joins.push(join);
        }
        if unary {
            joins.push(Join { variable: v, unary, ..Join::default() });
        }
    }
    Elimination { functions, joins }
}

/// Returns the least cost of the assignments with each value.
fn marginals(network: &Network) -> Vec<Vec<Cost>> {
    let mut least: Vec<Vec<Cost>> = network.domains().iter().map(|&d| vec![FORBIDDEN; d as usize]).collect();
    for assignment in assignments(network) {
        let cost = evaluate(network, &assignment).cost;
        for (least, &value) in least.iter_mut().zip(&assignment) {
            least[value as usize] = least[value as usize].min(cost);
        }
    }
    least
}

#[test]
fn only_values_that_are_too_dear_are_accepted() -> Result<(), String> {
    let mut rng = Rng::new(81);
    let (mut shown, mut back, mut refused, mut exact) = (0, 0, 0, 0);
    for case in 0..6000 {
        let network = random(&mut rng);
        let (_, optimum) = solved(&network);
        let least = marginals(&network);
        let limit = optimum.min(1 << 40) + rng.below(30) as Cost - 5;
        let v = rng.index(least.len());
        let values: Box<[u32]> = (0..least[v].len() as u32).filter(|_| rng.below(2) == 0).collect();
        let mut state = State::new(&network)?;
        let plan = (rng.below(3) > 0).then(|| plan(&network, &mut rng));
        let steps = vec![Step::Limit(limit), Step::Scale(rng.below(5) as u32)];
        let work = if rng.below(2) == 0 { 0 } else { 1 << 30 };
        let lemma =
            |back| Lemma { steps: steps.clone(), back, values: vec![(v as u32, values.clone())], work, bytes: 1 << 28 };
        let top = limit.min(network.top());
        let right = values.iter().all(|&value| least[v][value as usize] >= top);
        let result = state.clone().step(&Step::Lemma(lemma(plan.clone())));
        assert!(right || result.is_err(), "case {case}: {limit} {v} {values:?} {least:?}");
        match result {
            Ok(()) => {
                shown += usize::from(!values.is_empty());
                let without = state.clone().step(&Step::Lemma(lemma(None)));
                back += usize::from(plan.is_some() && without.is_err());
            }
            Err(_) if right => assert_eq!(work, 0, "case {case}: a search finds all of them"),
            Err(_) => refused += 1,
        }
        if right {
            exact += usize::from(work > 0);
            state.step(&Step::Lemma(Lemma { work: 1 << 30, ..lemma(plan) }))?;
            state.step(&Step::ByLemma { variable: v as u32, values })?;
        }
    }
    assert!(shown > 1000 && back > 20 && refused > 1000 && exact > 500, "{shown} {back} {refused} {exact}");
    Ok(())
}

#[test]
fn no_lemma_proves_more_than_there_is() {
    let mut rng = Rng::new(82);
    let (mut met, mut refused) = (0, 0);
    for case in 0..4000 {
        let network = random(&mut rng);
        let (_, optimum) = solved(&network);
        let n = network.domains().len();
        let limit = optimum.min(1 << 40) + rng.below(12) as Cost - 4;
        let mut steps = Vec::new();
        for _ in 0..1 + rng.below(3) {
            let v = rng.index(n) as u32;
            let values: Box<[u32]> = (0..network.domains()[v as usize]).filter(|_| rng.below(3) == 0).collect();
            let back = (rng.below(2) == 0).then(|| plan(&network, &mut rng));
            let own = vec![Step::Limit(limit + rng.below(3) as Cost), Step::Scale(rng.below(5) as u32)];
            let lemma = Lemma { steps: own, back, values: vec![(v, values.clone())], work: 1 << 30, bytes: 1 << 28 };
            steps.push(Step::Lemma(lemma));
            steps.push(Step::ByLemma { variable: v, values });
        }
        steps.push(Step::Limit(limit));
        let ending = Ending::Search(Search { work: 1 << 30, bytes: 1 << 28, forks: Vec::new(), mini: 0 });
        let certificate = Certificate::new(&network, Cost::MIN, None, Branch { steps, ending });
        match follow(&network, &certificate) {
            Ok(proven) => {
                assert!(proven <= optimum, "case {case}: {proven} above {optimum}: {certificate:?}");
                met += usize::from(proven == optimum);
            }
            Err(_) => refused += 1,
        }
    }
    assert!(met > 300 && refused > 300, "{met} {refused}");
}

#[test]
fn lemmas_keep_what_values_cost() -> Result<(), Error> {
    let network = triangle()?;
    let lemma = |steps: &[Step], values: &[u32]| {
        let values = vec![(0, values.into())];
        Step::Lemma(Lemma { steps: steps.to_vec(), back: None, values, work: 1 << 20, bytes: 1 << 20 })
    };
    let by_lemma = |value| Step::ByLemma { variable: 0, values: [value].into() };
    let end = |steps: Vec<Step>| {
        let ending = Ending::Search(Search { work: 1 << 20, bytes: 1 << 20, forks: Vec::new(), mini: 0 });
        follow(&network, &Certificate::new(&network, 5, None, Branch { steps, ending }))
    };
    let five = [Step::Limit(5)];
    // each assignment costs 5 or 15
    assert_eq!(end(vec![lemma(&five, &[0]), by_lemma(0)])?, 5);
    // the limit of a lemma is also a limit of the proof
    let message = |steps| end(steps).map_or_else(|error| error.to_string(), |proven| format!("proven {proven}"));
    let more = Step::Limit(6);
    for (steps, part) in [
        (vec![lemma(&[Step::Limit(4)], &[0]), by_lemma(0)], "prove 4"),
        (vec![lemma(&[more], &[0])], "is not too dear"),
        (vec![lemma(&five, &[0]), by_lemma(1)], "no lemma says"),
        (vec![by_lemma(0)], "no lemma says"),
        (vec![lemma(&five, &[2])], "has no value 2"),
        (vec![lemma(&[lemma(&five, &[0])], &[0])], "no such step"),
        (vec![lemma(&[Step::Eliminate { variable: 1, over: [0, 2].into() }], &[0])], "no such step"),
        (vec![lemma(&[Step::Dominated { variable: 1, pairs: [(0, 1)].into() }], &[0])], "no such step"),
        // a function whose entries fall makes lemmas invalid
        (
            vec![
                lemma(&five, &[0]),
                Step::Separate { scope: [0, 1].into(), variable: 0, shares: [0, 0].into() },
                by_lemma(0),
            ],
            "no lemma says",
        ),
    ] {
        let message = message(steps);
        assert!(message.contains(part), "{part}: {message}");
    }
    Ok(())
}
