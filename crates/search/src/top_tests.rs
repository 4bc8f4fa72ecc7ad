//! Tests that `top` has one meaning: runs, the evaluator and certificates against brute force over the numbers of a
//! `.wcsp` file.

use super::{BoundChoice, EventKind, Options, Status, Summary, solve};
use crate::certificate::Certificate;
use crate::check::{Replay, evaluate};
use crate::formats::{Format, ReadOptions, read_from};
use crate::model::{Cost, Network, Number};
use crate::rng::Rng;
use crate::stop::Stop;
use std::fmt::Write;

/// The numbers of a file.
struct Stated {
    domains: Vec<u32>,
    top: Cost,
    /// Scopes and dense tables, the last variable running fastest.
    functions: Vec<(Vec<u32>, Vec<Cost>)>,
}

impl Stated {
    /// Returns a network with small costs of either sign and a top that many of them reach.
    fn random(rng: &mut Rng) -> Stated {
        let n = 1 + rng.index(4);
        let domains: Vec<u32> = (0..n).map(|_| 1 + rng.below(3) as u32).collect();
        let (high, low) = (1 + rng.below(12) as Cost, rng.below(12) as Cost * rng.below(2) as Cost);
        let top = rng.below(2 * high as u64 + 3) as Cost - if rng.below(4) == 0 { low } else { 0 };
        let function = |rng: &mut Rng| {
            let mut scope: Vec<u32> = (0..n as u32).collect();
            rng.shuffle(&mut scope);
            scope.truncate([0, 1, 1, 2, 2, 2, 3][rng.index(7)]);
            let size: u32 = scope.iter().map(|&v| domains[v as usize]).product();
            let costs = (0..size).map(|_| rng.below((high + low + 1) as u64) as Cost - low).collect();
            (scope, costs)
        };
        let functions = (0..1 + rng.index(2 * n + 1)).map(|_| function(rng)).collect();
        Stated { domains, top, functions }
    }

    /// Returns a random network with costs of 2^44 and more, where doubles cannot represent consecutive integers,
    /// beside small ones.
    fn large(rng: &mut Rng) -> Stated {
        let mut stated = Stated::random(rng);
        let bits = 44 + rng.below(9);
        let limit = (rng.below(2) == 0).then_some(stated.top);
        let entry = |rng: &mut Rng, cost: Cost| match limit {
            None if rng.below(8) == 0 => Cost::MAX,
            _ if rng.below(4) == 0 => cost,
            _ => (cost << bits) + rng.below(5) as Cost - 2,
        };
        stated.functions.iter_mut().flat_map(|(_, costs)| costs).for_each(|cost| *cost = entry(rng, *cost));
        stated.top = limit.map_or(Cost::MAX, |top| (top << bits) + rng.below(5) as Cost - 2);
        stated
    }

    /// Returns the values of the scope's variables at a position of a table.
    fn values(&self, scope: &[u32], mut place: usize) -> Vec<u32> {
        let mut values = vec![0; scope.len()];
        for (value, &v) in values.iter_mut().zip(scope).rev() {
            let size = self.domains[v as usize] as usize;
            (*value, place) = ((place % size) as u32, place / size);
        }
        values
    }

    fn network(&self) -> Network {
        let mut text = format!("t {} 3 {} {}\n", self.domains.len(), self.functions.len(), self.top);
        let words = |numbers: &[u32]| numbers.iter().map(|number| format!("{number} ")).collect::<String>();
        let _ = writeln!(text, "{}", words(&self.domains));
        for (scope, costs) in &self.functions {
            let default = costs[0];
            let listed: Vec<usize> = (0..costs.len()).filter(|&place| costs[place] != default).collect();
            let _ = writeln!(text, "{} {}{default} {}", scope.len(), words(scope), listed.len());
            for place in listed {
                let _ = writeln!(text, "{}{}", words(&self.values(scope, place)), costs[place]);
            }
        }
        let options = ReadOptions::default();
        read_from(text.as_bytes(), "t", Format::Wcsp, &options, &Stop::new()).expect("a right file")
    }

    /// Returns all assignments, each with its cost if it is a solution: no entry and not the total reaches top.
    fn assignments(&self) -> Vec<(Vec<u32>, Option<Cost>)> {
        let all: Vec<u32> = (0..self.domains.len() as u32).collect();
        let count: u32 = self.domains.iter().product();
        let cost = |assignment: &[u32]| {
            let entry = |(scope, costs): &(Vec<u32>, Vec<Cost>)| {
                let place = |place: usize, &v: &u32| {
                    place * self.domains[v as usize] as usize + assignment[v as usize] as usize
                };
                costs[scope.iter().fold(0, place)]
            };
            let entries: Vec<Cost> = self.functions.iter().map(entry).collect();
            let total: i128 = entries.iter().map(|&cost| i128::from(cost)).sum();
            let is_solution = entries.iter().all(|&entry| entry < self.top) && total < self.top.into();
            is_solution.then_some(total as Cost)
        };
        (0..count as usize).map(|place| self.values(&all, place)).map(|a| (a.clone(), cost(&a))).collect()
    }
}

/// Counts over the runs on one network.
#[derive(Default)]
struct Seen {
    infeasible: u32,
    optimal: u32,
    /// Whether the optimum is negative although some entry reaches top.
    compensated: bool,
}

/// Compares runs of all methods, the evaluator and certificates with brute force.
fn agree(case: usize, stated: &Stated, rounds: &mut Rng) -> Seen {
    let (network, assignments) = (stated.network(), stated.assignments());
    for (assignment, cost) in &assignments {
        let found = evaluate(&network, assignment);
        assert_eq!(found.is_solution().then_some(found.cost), *cost, "case {case}: {assignment:?}");
    }
    let optimum = assignments.iter().filter_map(|(_, cost)| *cost).min();
    let dear = |(_, costs): &(Vec<u32>, Vec<Cost>)| costs.iter().any(|&cost| cost >= stated.top);
    let mut seen = Seen {
        compensated: optimum.is_some_and(|cost| cost < 0) && stated.functions.iter().any(dear),
        ..Seen::default()
    };
    for (number, (name, bound)) in BoundChoice::all().enumerate() {
        let options = Options {
            rounds: Some(rounds.below(8)),
            threads: Some(1),
            bound,
            reduce: (case + number).is_multiple_of(2),
            certificate: true,
            ..Options::default()
        };
        let mut last = None;
        let summary = solve(&network, &options, &Stop::new(), &mut |event| {
            if event.kind == EventKind::End {
                last = Some((event.cost, event.bound, event.gap));
            }
        });
        let summary = summary.unwrap_or_else(|error| panic!("case {case}, {name}: {error}"));
        let told = format!("case {case}, {name}: {:?} {:?} {:?}", summary.status, summary.cost, summary.bound);
        assert_eq!(last, Some((summary.cost, summary.bound, summary.gap)), "{told}");
        match summary.status {
            Status::Optimal => {
                assert_eq!((summary.cost, summary.gap), (optimum.map(Number::Integer), Some(0.0)), "{told}");
                assert_eq!(summary.bound, summary.cost, "{told}");
            }
            Status::Infeasible => assert_eq!((optimum, summary.bound, summary.gap), (None, None, None), "{told}"),
            Status::Feasible => assert_ne!(summary.cost, summary.bound, "{told}"),
            Status::Unknown => {}
        }
        // a bound that is a number is below top and at most the optimum
        if let Some(Number::Integer(bound)) = summary.bound {
            assert!(bound < stated.top && optimum.is_none_or(|optimum| bound <= optimum), "{told}");
        }
        seen.infeasible += u32::from(summary.status == Status::Infeasible);
        seen.optimal += u32::from(summary.status == Status::Optimal);

        certified(&network, &summary, optimum.unwrap_or(stated.top), &told);
    }
    seen
}

/// Checks that the certificate of a run proves its bound, which is at most `most`.
fn certified(network: &Network, summary: &Summary, most: Cost, told: &str) {
    let (bound, proof) = &summary.proof;
    let solution = summary.solution.as_deref().map(|values| (evaluate(network, values).cost, values));
    let text = proof.certificate(network, *bound, solution).to_text().expect("text");
    let certificate = Certificate::from_text(&text).expect("its own text");
    let proven = Replay::new(network, &certificate).and_then(|replay| replay.run(1 << 30));
    let proven = proven.unwrap_or_else(|error| panic!("{told}: bound {bound}: {error}\n{text}"));
    assert!(proven >= *bound && proven <= most, "{told}: {proven}");
    assert_eq!(network.bound(*bound), summary.bound, "{told}: all ways to a bound have proofs");
}

#[test]
fn runs_evaluator_and_certificates_agree_on_what_top_forbids() {
    // rounds are drawn from a separate generator, so that the number of methods does not change the networks
    let (mut rng, mut rounds) = (Rng::new(36), Rng::new(37));
    let (mut infeasible, mut compensated, mut optimal) = (0, 0, 0);
    for case in 0..300 {
        let seen = agree(case, &Stated::random(&mut rng), &mut rounds);
        infeasible += seen.infeasible;
        compensated += u32::from(seen.compensated);
        optimal += seen.optimal;
    }
    assert!(infeasible > 500 && compensated > 20 && optimal > 500, "{infeasible} {compensated} {optimal}");
}

#[test]
fn costs_that_doubles_cannot_tell_apart_are_exact() {
    let (mut rng, mut rounds) = (Rng::new(53), Rng::new(54));
    let (mut infeasible, mut optimal) = (0, 0);
    for case in 0..200 {
        let seen = agree(case, &Stated::large(&mut rng), &mut rounds);
        infeasible += seen.infeasible;
        optimal += seen.optimal;
    }
    assert!(infeasible > 100 && optimal > 500, "{infeasible} {optimal}");
}
