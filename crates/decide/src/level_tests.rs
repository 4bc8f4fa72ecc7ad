//! Interactive diagrams of several levels, compared with the definition, which `check` evaluates recursively.

use super::tests::{random_process, random_rows};
use super::*;
use crate::check::{best_in_idid, worth_in_idid};
use crate::formats::{parse_idid, parse_pomdp};
use crate::generate::generate_diagram;
use crate::model::Policy;
use crate::model::{Agent, Idid, Other, Pomdp};
use crate::rng::Rng;
use crate::stop::Stop;
use std::path::Path;

fn solved(idid: &Idid, method: Method) -> Solution {
    let options = Options { method, ..Options::default() };
    solve_idid(idid, &options, &Stop::new(), &mut |_| ()).expect("a value")
}

/// Compares all methods with the definition.
fn agrees(what: &str, idid: &Idid) {
    let value = best_in_idid(idid, &Stop::new()).expect("it is not stopped");
    for method in [Method::BeliefTree, Method::Eliminate] {
        let found = solved(idid, method);
        let meu = found.meu.expect("a value");
        assert!(
            found.exact && (meu - value).abs() <= 1e-9 + found.error_bound,
            "{what}, {method:?}: {meu}, not {value}"
        );
        if let Some(Policy::Graph(graph)) = &found.policy {
            let worth = worth_in_idid(idid, graph, &Stop::new()).expect("it fits");
            assert!((worth - value).abs() < 1e-9, "{what}: the policy is worth {worth}, not {value}");
        }
    }
}

fn tiger(level: usize, models: usize, t1: usize, t0: usize) -> Idid {
    let parameters = [("level", level), ("models", models), ("t1", t1), ("t0", t0)];
    let parameters = parameters.map(|(name, value)| (name, value.to_string()));
    let parameters: Vec<(&str, &str)> = parameters.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let text = generate_diagram("idid-tiger", &parameters, 1).expect("a kind");
    parse_idid(&text, "tiger", Path::new(""), &Stop::new()).expect("a diagram").0
}

#[test]
fn the_tiger_of_several_levels_has_the_value_of_its_definition() {
    for (level, models, t1, t0) in
        [(1, 3, 3, 4), (2, 1, 1, 2), (2, 2, 2, 3), (2, 5, 3, 3), (2, 3, 3, 4), (3, 2, 2, 2), (3, 2, 2, 3), (4, 1, 2, 2)]
    {
        let idid = tiger(level, models, t1, t0);
        assert_eq!(idid.level(), level);
        agrees(&format!("level {level}, {models} models, {t1} and {t0} steps"), &idid);
    }
}

/// Returns a frame of two agents with random tables of small fractions, so that ties and equal beliefs occur.
fn frame(rng: &mut Rng, own: &Agent, other: &Agent) -> Pomdp {
    let states = 1 + rng.index(2);
    let list = |names: &[String]| names.join(" ");
    let mut text = format!(
        "agents: i j\ndiscount: 0.9\nvalues: reward\nstates: {states}\nstart: uniform\nactions:\n{}\n{}\n\
         observations:\n{}\n{}\n",
        list(&own.actions),
        list(&other.actions),
        list(&own.observations),
        list(&other.observations)
    );
    let pairs = own.observations.len() * other.observations.len();
    for joint in own.actions.iter().flat_map(|mine| other.actions.iter().map(move |theirs| format!("{mine} {theirs}")))
    {
        for state in 0..states {
            for (to, p) in random_rows(states, rng).split(' ').enumerate() {
                text += &format!("T: {joint} : {state} : {to} : {p}\n");
            }
            for (pair, p) in random_rows(pairs, rng).split(' ').enumerate() {
                let (mine, theirs) = (pair / other.observations.len(), pair % other.observations.len());
                let (mine, theirs) = (&own.observations[mine], &other.observations[theirs]);
                text += &format!("O: {joint} : {state} : {mine} {theirs} : {p}\n");
            }
            text += &format!("R: {joint} : {state} : * : * : {}\n", rng.below(9) as f64 - 4.0);
        }
    }
    parse_pomdp(&text, "frame", &Stop::new()).expect("a frame").0
}

/// Returns an agent with these numbers of actions and observations.
fn agent(actions: usize, observations: usize) -> Agent {
    let names = |letter: &str, count: usize| (0..count).map(|k| format!("{letter}{k}")).collect();
    Agent { name: "i".into(), actions: names("a", actions), observations: names("o", observations) }
}

fn belief(states: usize, rng: &mut Rng) -> Vec<f64> {
    random_rows(states, rng).split(' ').map(|p| p.parse().expect("a number")).collect()
}

/// Returns a random diagram of a level and a horizon.
fn random(rng: &mut Rng, level: usize, horizon: usize) -> Idid {
    let other_horizon = horizon + rng.index(2);
    let other = match level {
        1 => {
            let mut process = random_process(rng);
            process.agents = vec![agent(process.actions(), process.observed())];
            Other::Alone(process)
        }
        _ => Other::Interactive(random(rng, level - 1, other_horizon).into()),
    };
    let own = agent(1 + rng.index(2), 1 + rng.index(2));
    let frame = frame(rng, &own, other.agent());
    let count = 1 + rng.index(3);
    let states = other.frame().states.len();
    let models = (0..count).map(|_| (belief(states, rng), 1.0 / count as f64)).collect();
    let belief = belief(frame.states.len(), rng);
    Idid { name: "random".into(), frame, other, models, horizon, other_horizon, belief }
}

#[test]
fn random_diagrams_of_all_levels_have_the_value_of_their_definition() {
    let mut rng = Rng::new(77);
    for case in 0..60 {
        let level = 1 + case % 3;
        let horizon = 1 + rng.index(4 - level.min(2));
        let idid = random(&mut rng, level, horizon);
        assert_eq!(idid.level(), level);
        agrees(&format!("case {case}, level {level}, {horizon} steps"), &idid);
    }
}
