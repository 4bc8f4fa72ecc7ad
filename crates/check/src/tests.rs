//! Tests of the evaluator on cases worked out by hand, and of the replay against enumeration.

use super::*;
use crate::Error;
use crate::bounds::Proof;
use crate::bounds::{BoundChoice, METHODS};
use crate::bounds::{Bounder, BounderOptions, Stage, constant_bound};
use crate::certificate::{Branch, Certificate, Elimination, Ending, Join, Step};
use crate::files::sealed;
use crate::model::ModelError;
use crate::order::{Method, best_orders};
use crate::reduce::{Reducer, ValueBounds};
use crate::rng::Rng;
use crate::stop::Stop;
use fangs_elimination::elimination::{Progress, Run};
pub(crate) use fangs_testing::networks::{assignments, random};
use std::sync::Arc;

/// Returns a network of three variables with every kind of table once.
fn network(top: Cost) -> Result<Network, ModelError> {
    let mut builder = Network::builder("small");
    let _ = builder.top(top);
    let a = builder.variable(2)?;
    let b = builder.variable(3)?;
    let c = builder.variable(2)?;
    let _ = builder.dense(&[], vec![5])?;
    let _ = builder.dense(&[c, b], vec![0, 1, 2, 3, 4, FORBIDDEN])?;
    let _ = builder.sparse(&[a, b, c], 10, vec![1, 2, 0, 0, 0, 0, 1, 0, 1], vec![7, -3, 100])?;
    Ok(builder.build())
}

#[test]
fn sums_dense_and_sparse_entries() -> Result<(), ModelError> {
    let network = network(1000)?;
    assert_eq!(evaluate(&network, &[0, 0, 0]).cost, 5 - 3);
    assert_eq!(evaluate(&network, &[1, 2, 0]).cost, 5 + 2 + 7);
    assert_eq!(evaluate(&network, &[1, 1, 1]).cost, 5 + 4 + 10);
    assert!(evaluate(&network, &[1, 1, 1]).is_solution());
    Ok(())
}

#[test]
fn tells_forbidden_from_dear() -> Result<(), ModelError> {
    let forbidden = evaluate(&network(1000)?, &[0, 2, 1]);
    assert_eq!((forbidden.cost, forbidden.violated.as_slice(), forbidden.soft), (FORBIDDEN, &[1][..], 15));
    // the total counts: a negative cost compensates an entry that reaches top, unless the file's format forbids that
    for (top, assignment, cost) in [(108, [1, 0, 1], 108), (15, [1, 0, 0], 15)] {
        let dear = evaluate(&network(top)?, &assignment);
        assert_eq!((dear.cost, dear.soft, dear.violated.len(), dear.is_solution()), (cost, cost, 0, false));
        assert!(evaluate(&network(top + 1)?, &assignment).is_solution());
    }
    Ok(())
}

#[test]
fn agrees_with_the_models_own_evaluation() -> Result<(), ModelError> {
    let network = network(FORBIDDEN)?;
    for code in 0..12u32 {
        let assignment = [code % 2, code / 2 % 3, code / 6];
        for function in network.functions() {
            assert_eq!(entry(function, network.domains(), &assignment), function.cost(network.domains(), &assignment));
        }
    }
    Ok(())
}

#[test]
fn the_least_sum_there_can_be() -> Result<(), ModelError> {
    let mut builder = Network::builder("huge");
    let _ = builder.variable(1)?;
    for _ in 0..7 {
        let _ = builder.dense(&[0], vec![-(1 << 57)])?;
    }
    assert!(builder.dense(&[0], vec![-(1 << 57)]).is_err());
    assert_eq!(evaluate(&builder.build(), &[0]).cost, -7 << 57);
    Ok(())
}

/// Returns the bounds of every step of every strategy, with their proofs.
fn bounds(network: &Network, rng: &mut Rng, solutions: &[Cost]) -> Vec<(Cost, Proof)> {
    let stop = Stop::new();
    let mut reducer = match rng.below(4) {
        0 => Reducer::logged(network, false, &stop).expect("the flag is not set"),
        _ => crate::reduce::testing::reducer(network, true, rng),
    };
    let mut upper = network.top();
    for _ in 0..rng.index(3) {
        if !solutions.is_empty() && !reducer.infeasible() {
            upper = upper.min(solutions[rng.index(solutions.len())]);
            reducer.tighten(upper, &stop);
        }
    }
    let mut values = ValueBounds::new(&reducer, &Stop::new()).expect("no stop is set");
    let (mut reducer, mut proven) = (Arc::new(reducer), Vec::new());
    for _ in 0..1 + rng.below(3) {
        schedule(&reducer, &mut values, upper, rng, &mut proven);
        // as after a better solution: value bounds exclude some values
        if !solutions.is_empty() && rng.below(2) == 0 {
            upper = upper.min(solutions[rng.index(solutions.len())]);
        }
        Arc::make_mut(&mut reducer).tighten_by(upper, &values, &stop);
    }
    proven.push((
        upper.min(constant_bound(&reducer.problem(&Stop::new()).expect("no stop is set"))),
        Proof::reductions(&reducer).expect("a log"),
    ));
    proven
}

/// Makes every step of a bound schedule on a reduced problem.
fn schedule(
    reducer: &Arc<Reducer>,
    values: &mut ValueBounds,
    upper: Cost,
    rng: &mut Rng,
    proven: &mut Vec<(Cost, Proof)>,
) {
    let stop = Stop::new();
    let reduced = Proof::reductions(reducer).expect("a log");
    let problem = Arc::new(reducer.problem(&Stop::new()).expect("no stop is set"));
    if reducer.infeasible() {
        return proven.push((upper, reduced));
    }
    proven.push((constant_bound(&problem), reduced));
    if problem.variables() == 0 {
        return;
    }
    let orders = best_orders(&problem, &[Method::MinFill], rng.draw(), 2, 2, &stop);
    let z = if rng.below(2) == 0 { None } else { Some(1 + rng.below(4) as u32) };
    let memory = [1 << 9, 1 << 14, 1 << 30][rng.index(3)];
    let choice = METHODS[rng.index(METHODS.len())].choice;
    let exact_work = Some(if choice == BoundChoice::Be { u64::MAX } else { 0 });
    let options = BounderOptions { choice, z, memory, exact_work, certified: true, ..BounderOptions::default() };
    let mut bounder = Bounder::new(options);
    bounder.follow(orders);
    let ub = Some(upper).filter(|&upper| upper < FORBIDDEN && rng.below(3) > 0);
    while let Some(stage) = bounder.choose(&problem, ub, &stop) {
        bounder.charge(stage.steady(), 1 + rng.below(100));
        match stage {
            Stage::Shift(mut shift) => {
                // some stages end early
                while shift.advance(1 + rng.below(200), &stop) == Progress::More && rng.below(20) > 0 {}
                proven.push((shift.lower_bound(upper), shift.proof(reducer).expect("log and journal")));
                // no join graph continues from the middle of a pass
                if shift.name() != "shift" {
                    assert_eq!(shift.advance(u64::MAX, &stop), Progress::Done);
                    proven.push((shift.lower_bound(upper), shift.proof(reducer).expect("log and journal")));
                }
                let bounds = shift.value_bounds(&Stop::new()).expect("no stop is set");
                values.learn(reducer, &bounds, shift.proof(reducer), &Stop::new());
                bounder.shifted(*shift, &stop);
            }
            Stage::Run(attempt, plan) => {
                let mut run = Run::new(attempt.problem().clone(), plan);
                assert_eq!(run.advance(u64::MAX, &stop), Progress::Done);
                let outcome = run.finish().expect("the run is done");
                let bound = attempt.lower_bound(&outcome).min(upper);
                let proof = attempt.proof(reducer, &outcome).expect("log and journal");
                proven.push((bound, proof.clone()));
                // also if they are unlikely to exclude anything
                let plain = || if attempt.is_plain() { outcome.value_bounds(&stop) } else { None };
                if let Some(bounds) = bounder.eliminated(&attempt, &outcome, upper, &stop).or_else(plain) {
                    values.learn(reducer, &bounds, Some(proof), &Stop::new());
                }
            }
            Stage::Search(mut branch, work) => {
                let (end, before) = (branch.work_done() + work, branch.lower_bound());
                let least = 1 + rng.below(3000);
                while branch.advance(least, &stop) == Progress::More && branch.work_done() < end {}
                proven.push((branch.lower_bound().min(upper), branch.proof(reducer).expect("log and forks")));
                bounder.searched(branch, before);
            }
        }
    }
}

pub(super) fn follow(network: &Network, certificate: &Certificate) -> Result<Cost, Error> {
    Replay::new(network, certificate)?.run(1 << 30)
}

/// Returns the solutions of a network by cost, and the least cost of any assignment, at most the top.
pub(super) fn solved(network: &Network) -> (Vec<(Cost, Vec<u32>)>, Cost) {
    let costs = assignments(network).into_iter().map(|x| (evaluate(network, &x).cost, x));
    let mut solutions: Vec<(Cost, Vec<u32>)> = costs.filter(|(cost, _)| *cost < network.top()).collect();
    solutions.sort();
    let optimum = solutions.first().map_or(network.top(), |(cost, _)| *cost);
    (solutions, optimum)
}

/// Returns certificates of all stages for a random network, and the optimum.
fn certificates(network: &Network, rng: &mut Rng) -> (Vec<Certificate>, Cost) {
    let (solutions, optimum) = solved(network);
    let known: Vec<Cost> = solutions.iter().map(|(cost, _)| *cost).collect();
    let solution = solutions.first().map(|(cost, x)| (*cost, &x[..]));
    let proofs = bounds(network, rng, &known).into_iter();
    (proofs.map(|(bound, proof)| proof.certificate(network, bound, solution)).collect(), optimum)
}

#[test]
fn certificates_of_every_method_are_accepted_and_never_pass_the_optimum() {
    let mut rng = Rng::new(5);
    let names = [
        "limit",
        "forbid",
        "unsupported",
        "too_dear",
        "dominated",
        "eliminate",
        "substitute",
        "separate",
        "scale",
        "move",
        "graph",
        "elimination",
        "search",
        "rows",
        "lemma",
        "back",
        "by_lemma",
        "merge",
    ];
    let mut counts = [0; 18];
    for case in 0..5000 {
        let network = random(&mut rng);
        let (certificates, optimum) = certificates(&network, &mut rng);
        for certificate in certificates {
            let bound = certificate.bound;
            let text = certificate.to_text().expect("text");
            assert_eq!(Certificate::from_text(&text).expect("its own text"), certificate);
            match follow(&network, &certificate) {
                Ok(proven) => assert!(proven >= bound && proven <= optimum, "case {case}: {bound} {proven} {optimum}"),
                Err(error) => panic!("case {case}: {bound}: {error}\n{text}"),
            }
            let occurs = names.map(|name| u32::from(text.contains(&format!("\"{name}\""))));
            counts.iter_mut().zip(occurs).for_each(|(count, occurs)| *count += occurs);
        }
    }
    assert!(counts.iter().all(|&count| count > 20), "every kind of step must occur: {names:?} {counts:?}");
}

/// Changes each digit in turn: the hash exposes it; with a new hash, the certificate is refused or true.
#[test]
fn no_wrong_digit_proves_anything_wrong() {
    let mut rng = Rng::new(6);
    let (mut changed, mut still_true) = (0, 0);
    for case in 0..400 {
        let network = random(&mut rng);
        let (certificates, optimum) = certificates(&network, &mut rng);
        let certificate = &certificates[rng.index(certificates.len())];
        let text = certificate.to_text().expect("text");
        let body = text.lines().next().expect("a first line");
        for (place, digit) in body.char_indices().filter(|(_, character)| character.is_ascii_digit()) {
            let other = char::from(b'0' + (digit as u8 - b'0' + 1 + rng.below(9) as u8) % 10);
            let body = format!("{}{other}{}", &body[..place], &body[place + 1..]);
            let tampered = format!("{body}{}", &text[body.len()..]);
            assert!(Certificate::from_text(&tampered).is_err(), "case {case}: {tampered}");
            changed += 1;
            let Ok(certificate) = Certificate::from_text(&sealed(&body)) else { continue };
            if let Ok(proven) = follow(&network, &certificate) {
                assert!(proven <= optimum, "case {case}: {proven} is no bound, {optimum}: {body}");
                still_true += 1;
            }
        }
    }
    assert!(changed > 10_000 && still_true > 100, "{changed} {still_true}");
}

/// Raises a limit to the claimed bound, because a limit alone is no reason to refuse.
fn raise(step: &mut Step, bound: Cost) {
    if let Step::Limit(limit) = step {
        *limit = (*limit).max(bound);
    }
}

/// Every certificate that claims more than the optimum is refused, whatever its steps.
#[test]
fn false_claims_are_refused() {
    let mut rng = Rng::new(7);
    for case in 0..500 {
        let network = random(&mut rng);
        let (certificates, optimum) = certificates(&network, &mut rng);
        for mut certificate in certificates {
            certificate.bound = optimum.saturating_add(1);
            for step in &mut certificate.proof.steps {
                match step {
                    Step::Lemma(lemma) => lemma.steps.iter_mut().for_each(|step| raise(step, certificate.bound)),
                    step => raise(step, certificate.bound),
                }
            }
            if certificate.bound <= network.top() {
                assert!(follow(&network, &certificate).is_err(), "case {case}: {certificate:?}");
            }
        }
    }
}

/// Returns a triangle of three variables of two values that should differ from each other.
pub(super) fn triangle() -> Result<Network, ModelError> {
    let mut builder = Network::builder("triangle");
    let v = [builder.variable(2)?, builder.variable(2)?, builder.variable(2)?];
    for pair in [[v[0], v[1]], [v[1], v[2]], [v[0], v[2]]] {
        let _ = builder.dense(&pair, vec![5, 0, 0, 5])?;
    }
    Ok(builder.build())
}

#[test]
fn cases_are_as_good_as_their_worst_and_none_may_lack() -> Result<(), Error> {
    let network = triangle()?;
    let eliminate = |variable, over: &[u32]| Step::Eliminate { variable, over: over.into() };
    let case = |value| {
        let steps = vec![eliminate(0, &[]), eliminate(1, &[2]), eliminate(2, &[])];
        (vec![value], Branch { steps, ending: Ending::Constant })
    };
    let cases = |cases| Branch { steps: Vec::new(), ending: Ending::Cases { variable: 0, cases } };
    let certificate = |bound, proof| Certificate::new(&network, bound, None, proof);
    assert_eq!(follow(&network, &certificate(5, cases(vec![case(0), case(1)])))?, 5);
    for (bound, proof, part) in [
        (6, cases(vec![case(0), case(1)]), "prove 5"),
        (5, cases(vec![case(0)]), "no case has value 1 of variable 0"),
        (5, cases(vec![case(0), (vec![1], Branch { steps: Vec::new(), ending: Ending::Constant })]), "prove 0"),
    ] {
        let error = follow(&network, &certificate(bound, proof)).expect_err(part).to_string();
        assert!(error.contains(part), "{part}: {error}");
    }
    Ok(())
}

#[test]
fn plans_join_nothing_twice_and_cost_what_they_say() -> Result<(), Error> {
    let network = triangle()?;
    let functions: Vec<Box<[u32]>> = vec![[0, 1].into(), [0, 2].into(), [1, 2].into()];
    let join = |variable, functions: &[u32], messages: &[u32]| Join {
        variable,
        functions: functions.to_vec(),
        messages: messages.to_vec(),
        ..Join::default()
    };
    let certificate = |joins| {
        let ending = Ending::Elimination(Elimination { functions: functions.clone(), joins });
        Certificate::new(&network, 5, None, Branch { steps: Vec::new(), ending })
    };
    let right = certificate(vec![join(0, &[0, 1], &[]), join(1, &[2], &[0]), join(2, &[], &[1])]);
    // three tables of four costs; two of them and the message
    let effort = Replay::new(&network, &right)?.effort();
    assert_eq!((effort.joint_entries, effort.bytes), (8 + 4 + 2, 3 * 4 * 8 + (4 + 4 + 4) * 8));
    assert_eq!(follow(&network, &right)?, 5);
    assert!(Replay::new(&network, &right)?.run(100).expect_err("no room").to_string().contains("100 are free"));
    for (joins, part) in [
        (vec![join(0, &[0, 0], &[])], "function 0 is joined twice"),
        (vec![join(0, &[0], &[]), join(1, &[], &[0]), join(1, &[], &[0])], "message 0 is joined twice"),
        (vec![join(0, &[3], &[])], "no function 3"),
        (vec![join(0, &[0], &[0])], "no earlier message 0"),
        (vec![join(3, &[0], &[])], "no variable 3"),
        (vec![join(0, &[0], &[]), join(0, &[1], &[])], "prove 0"),
    ] {
        let error = follow(&network, &certificate(joins)).expect_err(part).to_string();
        assert!(error.contains(part), "{part}: {error}");
    }
    let mut twice = right;
    if let Ending::Elimination(plan) = &mut twice.proof.ending {
        plan.functions[1] = plan.functions[0].clone();
    }
    let error = follow(&network, &twice).expect_err("one table under two numbers").to_string();
    assert!(error.contains("over [0, 1] twice"), "{error}");
    Ok(())
}

/// Two variables of three values, equal or neighbours if not forbidden, and a third variable.
#[test]
fn merged_variables_keep_all_pairs_that_count() -> Result<(), Error> {
    let mut builder = Network::builder("tied");
    let v = [builder.variable(3)?, builder.variable(3)?, builder.variable(2)?];
    let f = FORBIDDEN;
    let _ = builder.dense(&[v[0], v[1]], vec![1, f, f, 2, 0, f, f, f, 4])?;
    let _ = builder.dense(&[v[0], v[2]], vec![7, 0, 0, 6, 5, 9])?;
    let _ = builder.dense(&[v[2], v[1]], vec![0, 3, 8, 8, 1, 0])?;
    let network = builder.build();
    let (solutions, optimum) = solved(&network);
    // the pair (1, 1) costs 0, and with value 0 of the third variable 0 and 3 more
    assert_eq!((optimum, &solutions[0].1[..]), (2, &[1, 0, 0][..]));
    let all = [(0, 0), (1, 0), (1, 1), (2, 2)];
    let certificate = |variables, pairs: &[(u32, u32)]| {
        let merge = Step::Merge { variables, pairs: pairs.into() };
        let eliminate = |variable, over: &[u32]| Step::Eliminate { variable, over: over.into() };
        let steps = vec![merge, eliminate(2, &[3]), eliminate(3, &[])];
        Certificate::new(&network, 2, None, Branch { steps, ending: Ending::Constant })
    };
    let right = certificate([0, 1], &all);
    assert_eq!(Replay::new(&network, &right)?.effort().joint_entries, 9 + 2 * 4 + 4);
    assert_eq!(follow(&network, &right)?, 2);
    // a listed pair that reaches the limit does no harm
    assert_eq!(follow(&network, &certificate([0, 1], &[&all[..], &[(0, 2)]].concat()))?, 2);
    for (variables, pairs, part) in [
        ([0, 1], &all[1..], "the pair (0, 0) of variables 0 and 1 costs 1 only"),
        ([0, 1], &[all[0], all[1], all[2], all[3], all[2]][..], "(1, 1) of variables 0 and 1 is told twice"),
        ([0, 1], &[(0, 3)], "variable 1 has no value 3"),
        ([0, 2], &[(0, 0)], "the pair (0, 1) of variables 0 and 2 costs 0 only"),
        ([1, 0], &all, "does not ascend"),
        ([0, 0], &all, "does not ascend"),
        ([0, 3], &all, "no variable 3"),
    ] {
        let error = follow(&network, &certificate(variables, pairs)).expect_err(part).to_string();
        assert!(error.contains(part), "{part}: {error}");
    }
    Ok(())
}
