//! Joint policies, compared with enumeration of all of them and with published values.

use crate::check;
use crate::model::{JointPolicy, Policy, PolicyGraph, PolicyNode, Pomdp};
use crate::rng::Rng;
use crate::stop::Stop;
use crate::tests::process;
use crate::{Options, Solution, solve_pomdp};

/// Returns the problem of two agents before two doors (Nair et al., 2003), in a description of this project.
fn tiger() -> Pomdp {
    let mut text = String::from(
        "agents: 2\ndiscount: 1\nvalues: reward\nstates: left right\nstart: uniform\nactions:\nlisten ol or\n\
         listen ol or\nobservations:\nhl hr\nhl hr\nT: * : uniform\nT: listen listen : identity\nO: * : uniform\n\
         O: listen listen : left : hl hl : 0.7225\nO: listen listen : left : hl hr : 0.1275\n\
         O: listen listen : left : hr hl : 0.1275\nO: listen listen : left : hr hr : 0.0225\n\
         O: listen listen : right : hr hr : 0.7225\nO: listen listen : right : hl hr : 0.1275\n\
         O: listen listen : right : hr hl : 0.1275\nO: listen listen : right : hl hl : 0.0225\n",
    );
    let rewards = [
        ("listen listen", [-2, -2]),
        ("ol ol", [-50, 20]),
        ("or or", [20, -50]),
        ("ol or", [-100, -100]),
        ("or ol", [-100, -100]),
        ("ol listen", [-101, 9]),
        ("listen ol", [-101, 9]),
        ("or listen", [9, -101]),
        ("listen or", [9, -101]),
    ];
    for (actions, [left, right]) in rewards {
        text += &format!("R: {actions} : left : * : * : {left}\nR: {actions} : right : * : * : {right}\n");
    }
    process(&text)
}

fn solve(pomdp: &Pomdp, horizon: usize) -> Solution {
    let options = Options { horizon: Some(horizon), ..Options::default() };
    solve_pomdp(pomdp, &options, &Stop::new(), &mut |_| ()).expect("a policy")
}

#[test]
fn the_tiger_of_a_team_has_its_published_values() {
    let tiger = tiger();
    for (horizon, value) in [(1, -2.0), (2, -4.0), (3, 5.19081)] {
        let found = solve(&tiger, horizon);
        let meu = found.meu.expect("a value");
        assert!(found.exact && (meu - value).abs() < 1e-5, "{horizon}: {meu}");
        let Some(Policy::Joint(policy)) = &found.policy else { panic!("a joint policy") };
        assert_eq!(check::worth_in_team(&tiger, policy, &Stop::new()).expect("it fits"), meu);
    }
}

/// Returns a process of two agents with random tables; the agents differ in the numbers of actions and observations.
fn random(rng: &mut Rng) -> Pomdp {
    let row = |rng: &mut Rng, count: u64| -> String {
        let parts: Vec<u64> = (0..count).map(|_| rng.below(4)).collect();
        let sum: u64 = parts.iter().sum();
        let share = |&part: &u64| if sum == 0 { 1.0 / count as f64 } else { part as f64 / sum as f64 };
        parts.iter().map(|part| share(part).to_string() + " ").collect()
    };
    let states = 2 + rng.below(2);
    let mut text = format!(
        "agents: 2\ndiscount: 0.9\nvalues: reward\nstates: {states}\nstart:\n{}\nactions:\n2\n2\n\
         observations:\n2\n{}\n",
        row(rng, states),
        1 + rng.below(2)
    );
    let seen = if text.ends_with("2\n2\n") { 4 } else { 2 };
    for first in 0..2 {
        for second in 0..2 {
            for state in 0..states {
                text += &format!("T: {first} {second} : {state} : {}\n", row(rng, states));
                text += &format!("O: {first} {second} : {state} : {}\n", row(rng, seen));
                text += &format!("R: {first} {second} : {state} : * : * : {}\n", rng.below(21) as i64 - 10);
            }
        }
    }
    process(&text)
}

/// Returns the value of the best of all joint policies of two steps.
fn best_of_all(pomdp: &Pomdp) -> f64 {
    let graph = |agent: usize, code: usize| -> PolicyGraph {
        let own = &pomdp.agents[agent];
        let seen = own.observations.len();
        let node =
            |step: usize, place: usize, next: Vec<Option<usize>>| PolicyNode { step, action: code >> place & 1, next };
        let mut nodes = vec![node(0, 0, (0..seen).map(|o| Some(1 + o)).collect())];
        nodes.extend((0..seen).map(|o| node(1, 1 + o, vec![None; seen])));
        PolicyGraph { horizon: 2, actions: own.actions.clone(), observations: own.observations.clone(), nodes }
    };
    let count = |agent: usize| 2usize << pomdp.agents[agent].observations.len();
    let worth = |(first, second): (usize, usize)| {
        let policy = JointPolicy { agents: vec![graph(0, first), graph(1, second)] };
        check::worth_in_team(pomdp, &policy, &Stop::new()).expect("it fits")
    };
    let all = (0..count(0)).flat_map(|first| (0..count(1)).map(move |second| (first, second)));
    all.map(worth).fold(f64::NEG_INFINITY, f64::max)
}

#[test]
fn teams_have_the_value_of_their_best_joint_policy() {
    let mut rng = Rng::new(61);
    let mut apart = 0;
    for case in 0..60 {
        let pomdp = random(&mut rng);
        let found = solve(&pomdp, 2);
        let (meu, best) = (found.meu.expect("a value"), best_of_all(&pomdp));
        assert!(found.exact && (meu - best).abs() < 1e-9, "case {case}: {meu}, not {best}");
        let alone = Pomdp {
            agents: vec![crate::model::Agent {
                name: String::new(),
                actions: (0..4).map(|action| action.to_string()).collect(),
                observations: (0..pomdp.observed()).map(|seen| seen.to_string()).collect(),
            }],
            ..pomdp.clone()
        };
        let shared = solve(&alone, 2).meu.expect("a value");
        assert!(shared >= best - 1e-9, "case {case}");
        apart += u32::from(shared > best + 1e-6);
    }
    assert!(apart > 10, "{apart}");
}

#[test]
fn a_long_horizon_leaves_a_policy_and_a_bound() {
    let options = Options { horizon: Some(6), nodes: 3, ..Options::default() };
    let found = solve_pomdp(&tiger(), &options, &Stop::new(), &mut |_| ()).expect("a policy");
    let (meu, bound) = (found.meu.expect("a value"), found.bound.expect("a bound"));
    assert!(!found.exact && meu < bound, "{meu}, {bound}");
}
