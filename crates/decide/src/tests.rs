//! Reference values, and enumeration of small random problems.

use super::*;
use crate::check::{worth_in_diagram, worth_in_idid, worth_in_pomdp};
use crate::error::Error;
use crate::formats::{parse_idid, parse_pomdp};
use crate::generate::generate_diagram;
use crate::model::Policy;
use crate::model::{Diagram, DiagramKind, Idid, Node, Pomdp, Potential};
use crate::rng::Rng;
use crate::stop::Stop;
use std::path::Path;

/// The tiger problem (Kaelbling, Littman, Cassandra, 1998).
pub(super) const TIGER: &str = "discount: 1\nvalues: reward\nstates: left right\nactions: listen open-left open-right\n\
    observations: left right\nstart: uniform\nT: * uniform\nT: listen identity\nO: * uniform\nO: listen\n0.85 0.15\n\
    0.15 0.85\nR: listen : * : * : * -1\nR: open-left : left : * : * -100\nR: open-left : right : * : * 10\n\
    R: open-right : left : * : * 10\nR: open-right : right : * : * -100\n";

/// Values of horizons 1 to 12 from the uniform belief, without discount and with 0.95, by a recursion in double
/// precision that shares no code with this project.
const TIGER_VALUES: [(f64, f64); 12] = [
    (-1.0, -1.0),
    (-2.0, -1.95),
    (2.72, 2.3098),
    (2.42125, 1.79554421875),
    (3.60915, 2.763096193125),
    (5.61881875, 4.428531315017605),
    (6.246349875, 4.584265967602373),
    (7.09661553125, 5.324020776452404),
    (8.753839186875, 6.423648476097954),
    (9.438167617343822, 6.693368431750775),
    (10.494207563434447, 7.418948224510112),
    (11.903342936644604, 8.183401908546946),
];

pub(super) fn process(text: &str) -> Pomdp {
    parse_pomdp(text, "test", &Stop::new()).expect("a process").0
}

fn pomdp(pomdp: &Pomdp, method: Method, horizon: usize, discount: f64) -> Result<Solution, Error> {
    let options = Options { method, horizon: Some(horizon), discount: Some(discount), ..Options::default() };
    solve_pomdp(pomdp, &options, &Stop::new(), &mut |_| ())
}

pub(super) fn near(solution: &Solution, expected: f64, what: &str) {
    let found = solution.meu.expect("a value");
    let allowed = 1e-9 + solution.error_bound;
    assert!(solution.error_bound < 1e-9 * expected.abs().max(1.0), "{what}: {}", solution.error_bound);
    assert!(solution.exact && solution.bound == solution.meu, "{what}");
    assert!((found - expected).abs() <= allowed, "{what}: {found}, not {expected}");
}

#[test]
fn the_tiger_has_its_values_in_all_three_ways() -> Result<(), Error> {
    let tiger = process(TIGER);
    for (horizon, (plain, discounted)) in (1..).zip(TIGER_VALUES) {
        for (discount, value) in [(1.0, plain), (0.95, discounted)] {
            for method in [Method::Auto, Method::BeliefTree, Method::Alpha, Method::Eliminate] {
                if method == Method::Eliminate && horizon > 6 {
                    continue;
                }
                let solution = pomdp(&tiger, method, horizon, discount)?;
                let what = format!("{method:?}, {horizon} steps, discount {discount}");
                near(&solution, value, &what);
                let first = &solution.first_decision[0].1;
                assert!(first == "listen", "{what}: {first}");
                if let Some(Policy::Graph(graph)) = &solution.policy {
                    let own = Pomdp { discount, ..tiger.clone() };
                    let worth = worth_in_pomdp(&own, graph, &Stop::new())?;
                    assert!((worth - value).abs() < 1e-9, "{what}: the policy is worth {worth}");
                } else {
                    assert_eq!(method, Method::Eliminate);
                }
            }
        }
    }
    Ok(())
}

/// If neither beliefs nor vectors have room, the value lies between the reported bounds, and the policy attains its
/// value.
#[test]
fn little_room_gives_bounds() -> Result<(), Error> {
    let tiger = process(TIGER);
    for (nodes, horizon) in [(1, 4), (3, 6), (5, 9), (2, 1)] {
        let options = Options { nodes, horizon: Some(horizon), ..Options::default() };
        let mut told = 0;
        let solution = solve_pomdp(&tiger, &options, &Stop::new(), &mut |_| told += 1)?;
        let (value, _) = TIGER_VALUES[horizon - 1];
        let (lower, upper) = (solution.meu.expect("a policy"), solution.bound.expect("a bound"));
        assert!(lower <= value + 1e-9 && value <= upper + 1e-9 && told > 0, "{lower} {value} {upper}");
        assert_eq!(solution.exact, horizon == 1, "{nodes} nodes");
        let Some(Policy::Graph(graph)) = &solution.policy else { panic!("a graph") };
        assert!((worth_in_pomdp(&tiger, graph, &Stop::new())? - lower).abs() < 1e-9);
    }
    Ok(())
}

/// Returns random probabilities as a line of text.
pub(super) fn random_rows(count: usize, rng: &mut Rng) -> String {
    let weights: Vec<f64> = (0..count).map(|_| rng.below(4) as f64).collect();
    let sum: f64 = weights.iter().sum();
    let entry = |w: &f64| if sum > 0.0 { w / sum } else { 1.0 / count as f64 };
    weights.iter().map(|w| entry(w).to_string()).collect::<Vec<_>>().join(" ")
}

/// Returns a random process, whose rows are multiples of a hundredth so that equal beliefs occur.
pub(super) fn random_process(rng: &mut Rng) -> Pomdp {
    let (states, actions, seen) = (1 + rng.index(4), 1 + rng.index(3), 1 + rng.index(3));
    let mut text =
        format!("discount: 0.9\nvalues: reward\nstates: {states}\nactions: {actions}\nobservations: {seen}\n");
    for action in 0..actions {
        for state in 0..states {
            text += &format!("T: {action} : {state}\n{}\n", random_rows(states, rng));
            text += &format!("O: {action} : {state}\n{}\n", random_rows(seen, rng));
            text += &format!("R: {action} : {state} : * : * {}\n", rng.below(21) as f64 - 10.0);
        }
    }
    process(&text)
}

/// Returns the value by the definition, without merging.
fn plain_value(process: &Pomdp, belief: &[f64], steps: usize) -> f64 {
    let value = |action: usize| {
        let mut value: f64 = belief.iter().zip(&process.rewards[action]).map(|(b, r)| b * r).sum();
        for seen in 0..if steps > 1 { process.observed() } else { 0 } {
            let mut next = vec![0.0; belief.len()];
            for (state, b) in belief.iter().enumerate() {
                for &(to, p) in process.transitions[action].row(state) {
                    for &(o, q) in process.observations[action].row(to as usize) {
                        next[to as usize] += if o as usize == seen { b * p * q } else { 0.0 };
                    }
                }
            }
            let p: f64 = next.iter().sum();
            if p > 0.0 {
                next.iter_mut().for_each(|entry| *entry /= p);
                value += process.discount * p * plain_value(process, &next, steps - 1);
            }
        }
        value
    };
    (0..process.actions()).map(value).fold(f64::NEG_INFINITY, f64::max)
}

#[test]
pub(super) fn random_processes_have_the_value_of_their_definition() -> Result<(), Error> {
    let mut rng = Rng::new(21);
    for case in 0..60 {
        let process = random_process(&mut rng);
        let horizon = 1 + rng.index(4);
        let value = plain_value(&process, &process.start, horizon);
        for method in [Method::BeliefTree, Method::Alpha, Method::Eliminate] {
            let solution = pomdp(&process, method, horizon, 0.9)?;
            near(&solution, value, &format!("case {case}, {method:?}"));
            if let Some(Policy::Graph(graph)) = &solution.policy {
                let worth = worth_in_pomdp(&process, graph, &Stop::new())?;
                assert!((worth - value).abs() < 1e-9, "case {case}, {method:?}: {worth}, not {value}");
            }
        }
    }
    Ok(())
}

pub(super) fn tiger_idid(models: usize, t1: usize, t0: usize) -> Idid {
    idid("idid-tiger", models, t1, t0)
}

fn idid(kind: &str, models: usize, t1: usize, t0: usize) -> Idid {
    let parameters = [("models", models), ("t1", t1), ("t0", t0)].map(|(name, value)| (name, value.to_string()));
    let parameters: Vec<(&str, &str)> = parameters.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let text = generate_diagram(kind, &parameters, 1).expect("a kind");
    parse_idid(&text, kind, Path::new(""), &Stop::new()).expect("a diagram").0
}

/// Models, steps of i, steps of j, value and models per step, by a recursion that shares no code with this project.
const IDIDS: [(usize, usize, usize, f64, &[usize]); 15] = [
    (10, 1, 7, -1.0, &[10]),
    (50, 2, 6, -2.0, &[50, 91]),
    (100, 2, 8, -2.0, &[100, 189]),
    (10, 3, 6, 1.873, &[]),
    (10, 3, 7, 1.1729875, &[10, 19, 27]),
    (50, 3, 6, 2.2118, &[50, 91, 157]),
    (50, 3, 7, 1.569030125, &[50, 91, 141]),
    (50, 3, 9, 1.7036, &[50, 91, 145]),
    (100, 3, 6, 2.1271, &[100, 185, 319]),
    (100, 3, 9, 1.6293836875, &[]),
    (10, 4, 6, 1.3400835125, &[]),
    (100, 4, 9, 1.40417145125, &[]),
    (10, 5, 6, 1.96142109094, &[]),
    (50, 5, 9, 1.51984119306, &[]),
    (100, 5, 9, 1.53115447799, &[100, 189, 305, 347, 389]),
];

#[test]
fn the_tiger_of_two_agents_has_its_values() -> Result<(), Error> {
    for (models, t1, t0, value, per_step) in IDIDS {
        let idid = tiger_idid(models, t1, t0);
        let solve = |method| {
            let options = Options { method, ..Options::default() };
            solve_idid(&idid, &options, &Stop::new(), &mut |_| ())
        };
        let what = format!("{models} models, {t1} and {t0} steps");
        let solution = solve(Method::Auto)?;
        near(&solution, value, &what);
        assert_eq!(solution.first_decision, [("i".to_string(), "listen".to_string())]);
        let found = solution.models_per_step.expect("models");
        // the recursion rounds beliefs as it goes, and so separates some that are equal
        let fewer = found.iter().zip(per_step).all(|(own, known)| own <= known);
        assert!(fewer && (per_step.len() != 2 || found == per_step), "{what}: {found:?}");
        let classes = solution.classes_per_step.expect("classes");
        assert!(classes.iter().zip(&found).all(|(class, model)| class <= model), "{classes:?}");
        let Some(Policy::Graph(graph)) = &solution.policy else { panic!("a graph") };
        let worth = worth_in_idid(&idid, graph, &Stop::new())?;
        assert!((worth - value).abs() < 1e-9, "{what}: the policy is worth {worth}");
        if t1 <= 3 || models * t1 <= 40 {
            near(&solve(Method::Eliminate)?, value, &what);
        }
    }
    Ok(())
}

#[test]
fn the_aircraft_has_one_value_in_both_ways() -> Result<(), Error> {
    let idid = idid("idid-uav", 3, 2, 2);
    let solve = |method| {
        let options = Options { method, ..Options::default() };
        solve_idid(&idid, &options, &Stop::new(), &mut |_| ())
    };
    let value = solve(Method::BeliefTree)?;
    near(&solve(Method::Eliminate)?, value.meu.expect("a value"), "aircraft");
    Ok(())
}

/// Returns a random diagram whose variables are in temporal order.
pub(super) fn random_diagram(rng: &mut Rng, kind: DiagramKind) -> Diagram {
    let stages = 1 + rng.index(3);
    let mut diagram = Diagram {
        name: "random".into(),
        kind,
        nodes: Vec::new(),
        probabilities: Vec::new(),
        utilities: Vec::new(),
        blocks: Vec::new(),
        informed: Vec::new(),
    };
    let (mut hidden, mut blocks) = (Vec::new(), Vec::new());
    for stage in 0..=stages {
        let mut seen = Vec::new();
        for _ in 0..1 + rng.index(2) {
            let v = add(&mut diagram, rng, false);
            if stage == stages || rng.index(2) == 0 { hidden.push(v) } else { seen.push(v) }
        }
        if stage == stages {
            break;
        }
        blocks.push(seen);
        let decisions = (0..1 + rng.index(2) / (1 + stage)).map(|_| add(&mut diagram, rng, true)).collect();
        blocks.push(decisions);
    }
    blocks.push(hidden);
    blocks.reverse();
    diagram.blocks = blocks.into_iter().filter(|block| !block.is_empty()).collect();
    for _ in 0..1 + rng.index(3) {
        let scope = some(&diagram, rng, 3);
        let entries = size(&diagram, &scope);
        let table = (0..entries).map(|_| rng.below(41) as f64 / 4.0 - 5.0).collect();
        diagram.utilities.push(Potential { scope: scope.into(), table });
    }
    diagram
}

fn size(diagram: &Diagram, scope: &[u32]) -> usize {
    scope.iter().map(|&v| diagram.nodes[v as usize].domain as usize).product()
}

fn some(diagram: &Diagram, rng: &mut Rng, most: usize) -> Vec<u32> {
    let mut scope = Vec::new();
    for _ in 0..rng.index(most + 1) {
        let v = rng.index(diagram.nodes.len().max(1)) as u32;
        if !diagram.nodes.is_empty() && !scope.contains(&v) {
            scope.push(v);
        }
    }
    scope
}

fn add(diagram: &mut Diagram, rng: &mut Rng, decision: bool) -> u32 {
    let mut scope = some(diagram, rng, 3);
    let (v, domain) = (diagram.nodes.len() as u32, 1 + rng.index(3).max(1) as u32);
    let name = v.to_string();
    diagram.nodes.push(Node { name, domain, values: Vec::new(), decision });
    if !decision {
        scope.push(v);
        let rows = size(diagram, &scope) / domain as usize;
        let row = |rng: &mut Rng| {
            let weights: Vec<f64> = (0..domain).map(|_| rng.below(5) as f64).collect();
            let sum: f64 = weights.iter().sum();
            let share = |w: f64| if sum > 0.0 { w / sum } else { 1.0 / f64::from(domain) };
            weights.into_iter().map(share).collect::<Vec<_>>()
        };
        let table = (0..rows).flat_map(|_| row(rng)).collect();
        diagram.probabilities.push(Potential { scope: scope.into(), table });
    }
    v
}

fn entry(diagram: &Diagram, function: &Potential, values: &[u32]) -> f64 {
    let place = |at: usize, &v: &u32| at * diagram.nodes[v as usize].domain as usize + values[v as usize] as usize;
    function.table[function.scope.iter().fold(0, place)]
}

/// Returns the probability times the utility of an assignment.
fn weighted(diagram: &Diagram, values: &[u32]) -> f64 {
    let p: f64 = diagram.probabilities.iter().map(|f| entry(diagram, f, values)).product();
    if p == 0.0 { 0.0 } else { p * diagram.utilities.iter().map(|f| entry(diagram, f, values)).sum::<f64>() }
}

/// Returns the expected utility by the definition: sums and maxima over the blocks, from the first in time to the last.
pub(super) fn expectation(diagram: &Diagram, order: &[u32], values: &mut Vec<u32>) -> f64 {
    let Some((&v, rest)) = order.split_first() else { return weighted(diagram, values) };
    let node = &diagram.nodes[v as usize];
    let each = (0..node.domain).map(|value| {
        values[v as usize] = value;
        expectation(diagram, rest, values)
    });
    if node.decision { each.fold(f64::NEG_INFINITY, f64::max) } else { each.sum() }
}

pub(super) fn in_time(diagram: &Diagram) -> Vec<u32> {
    diagram.blocks.iter().rev().flatten().copied().collect()
}

pub(crate) fn cases() -> usize {
    std::env::var("FANGS_DIAGRAMS").ok().and_then(|count| count.parse().ok()).unwrap_or(400)
}

pub(super) fn diagram(diagram: &Diagram, options: &Options) -> Result<Solution, Error> {
    solve_diagram(diagram, options, &Stop::new(), &mut |_| ())
}

#[test]
pub(super) fn random_diagrams_have_the_value_of_their_definition() -> Result<(), Error> {
    let mut rng = Rng::new(8);
    for case in 0..cases() {
        let mut random = random_diagram(&mut rng, DiagramKind::Recall);
        let order = in_time(&random);
        let value = expectation(&random, &order, &mut vec![0; random.nodes.len()]);
        let solution = diagram(&random, &Options::default())?;
        near(&solution, value, &format!("case {case}"));
        let Some(Policy::Rules(rules)) = &solution.policy else { panic!("rules") };
        let (worth, probability) = worth_in_diagram(&random, rules, &[], &Stop::new())?;
        assert!((worth - value).abs() < 1e-9 && (probability - 1.0).abs() < 1e-9, "case {case}: {worth}, not {value}");
        // a constant shifts the value by as much
        random.utilities[0].table.iter_mut().for_each(|entry| *entry += 100.0);
        near(&diagram(&random, &Options::default())?, value + 100.0, &format!("case {case}, shifted"));
        random.utilities[0].table.iter_mut().for_each(|entry| *entry -= 100.0);
        // without room, a policy gives a lower bound and a relaxation an upper bound
        let tight = diagram(&random, &Options { memory: 1200, ..Options::default() })?;
        assert!(tight.meu.is_none_or(|lower| lower <= value + 1e-9), "case {case}: {tight:?} against {value}");
        assert!(tight.bound.is_none_or(|upper| upper >= value - 1e-9), "case {case}: {tight:?} against {value}");
        assert!(!tight.exact || (tight.meu.expect("a value") - value).abs() < 1e-9, "case {case}: falsely exact");
    }
    Ok(())
}

/// Returns the value of the best of all policies without perfect recall, by enumeration.
pub(super) fn best_policy(diagram: &Diagram) -> Option<f64> {
    let decisions = diagram.decisions();
    let rows: Vec<usize> = decisions.iter().map(|(_, sees)| size(diagram, sees)).collect();
    let domain = |k: usize| diagram.nodes[decisions[k].0 as usize].domain;
    let count: f64 = rows.iter().enumerate().map(|(k, &rows)| f64::from(domain(k)).powi(rows as i32)).product();
    if count > 3000.0 {
        return None;
    }
    let n = diagram.nodes.len();
    let all: Vec<u32> = (0..n as u32).collect();
    // the assignments and their weighted utilities
    let mut values = vec![0u32; n];
    let mut worth = Vec::new();
    loop {
        worth.push((values.clone(), weighted(diagram, &values)));
        let carried = all.iter().rev().find(|&&v| {
            values[v as usize] = (values[v as usize] + 1) % diagram.nodes[v as usize].domain;
            values[v as usize] != 0
        });
        if carried.is_none() {
            break;
        }
    }
    let mut policy: Vec<Vec<u32>> = rows.iter().map(|&rows| vec![0; rows]).collect();
    let mut best = f64::NEG_INFINITY;
    loop {
        let follows = |values: &[u32]| {
            decisions.iter().zip(&policy).all(|((d, sees), own)| {
                let row = sees
                    .iter()
                    .fold(0, |row, &v| row * diagram.nodes[v as usize].domain as usize + values[v as usize] as usize);
                own[row] == values[*d as usize]
            })
        };
        best = best.max(worth.iter().filter(|(values, _)| follows(values)).map(|(_, worth)| worth).sum());
        let mut digits = policy.iter_mut().enumerate().flat_map(|(k, own)| own.iter_mut().map(move |digit| (k, digit)));
        let carried = digits.any(|(k, digit)| {
            *digit = (*digit + 1) % domain(k);
            *digit != 0
        });
        if !carried {
            return Some(best);
        }
    }
}

#[test]
fn diagrams_that_forget_have_the_value_of_their_best_policy() -> Result<(), Error> {
    let mut rng = Rng::new(9);
    let (mut exact, mut inexact) = (0, 0);
    for case in 0..cases() {
        let random = random_diagram(&mut rng, DiagramKind::Limited);
        let Some(value) = best_policy(&random) else { continue };
        for (method, exact_limit) in [(Method::Auto, 1e6), (Method::Auto, 1.0), (Method::Spu, 1e6)] {
            let solution = diagram(&random, &Options { method, exact_limit, ..Options::default() })?;
            let found = solution.meu.expect("a policy");
            let what = format!("case {case}, {method:?}: {found}, {:?} against {value}", solution.bound);
            assert!(found <= value + 1e-9 && solution.bound.is_none_or(|bound| bound >= value - 1e-9), "{what}");
            assert!(!solution.exact || (found - value).abs() < 1e-9, "{what}: falsely exact");
            assert!(solution.exact || method != Method::Auto || exact_limit < 1e6, "{what}");
            *(if solution.exact { &mut exact } else { &mut inexact }) += 1;
            let Some(Policy::Rules(rules)) = &solution.policy else { panic!("rules") };
            let (worth, _) = worth_in_diagram(&random, rules, &[], &Stop::new())?;
            assert!((worth - found).abs() < 1e-9, "{what}: the policy is worth {worth}");
        }
    }
    assert!(exact > 100 && inexact > 0, "{exact} {inexact}");
    Ok(())
}

#[test]
fn what_is_seen_too_early_is_refused() {
    // the decision is made after a consequence of it is observed
    let mut random = Diagram {
        name: "wrong".into(),
        kind: DiagramKind::Recall,
        nodes: Vec::new(),
        probabilities: vec![Potential { scope: [0, 1].into(), table: [0.9, 0.1, 0.2, 0.8].into() }],
        utilities: vec![Potential { scope: [0, 1].into(), table: [1.0, 2.0, 3.0, 4.0].into() }],
        blocks: vec![vec![0], vec![1]],
        informed: Vec::new(),
    };
    for decision in [true, false] {
        random.nodes.push(Node { name: "v".into(), domain: 2, values: Vec::new(), decision });
    }
    let error = diagram(&random, &Options::default()).expect_err("it is not regular");
    assert!(error.is_input() && error.to_string().contains("decision 0"), "{error}");
}
