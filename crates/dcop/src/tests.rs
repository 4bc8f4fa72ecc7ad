//! Agents compared with elimination as a whole, and both with all assignments.

use super::agent::{Agent, Place};
use super::*;
use crate::elimination::testing::run;
use crate::elimination::{Gpu, Limits, Outcome, Plan, Width};
use crate::graph::Graph;
use crate::model::{Cost, FORBIDDEN, Network, Problem};
use crate::order::{Method, Order, PseudoTree, Visit};
use crate::rng::Rng;
use crate::stop::Stop;
use crate::tensor::Storage;
use fangs_testing::problems::{assignments, random};
use std::sync::Arc;

const ROOMY: u64 = 1 << 30;

fn trees(problem: &Problem, case: u64, stop: &Stop) -> Vec<PseudoTree> {
    let order = Order::greedy(problem, Method::MinFill, case, stop);
    let trees = [
        PseudoTree::depth_first(problem, Visit::MostNeighbours, None, stop),
        PseudoTree::depth_first(problem, Visit::Index, Some(case as u32 % problem.variables() as u32), stop),
        PseudoTree::of_order(problem, &order, stop),
    ];
    trees.map(|tree| tree.expect("a tree")).into()
}

/// Asserts that agents, one after the other, make the messages of the whole plan to the last bit.
fn same_messages(problem: &Problem, outcome: &Outcome) {
    let plan = outcome.plan();
    assert_eq!(plan.costs.width, Width::I32);
    let mut sent: Vec<Arc<Storage<i32>>> = Vec::new();
    for position in 0..plan.sequence.len() {
        let agent = Agent::new(problem, plan, position);
        let received: Vec<_> = agent.receives.iter().map(|message| sent[message.step as usize].clone()).collect();
        let made = agent.util(&received, plan.costs.cap as i32, Place::Host, &Stop::new()).expect("memory");
        sent.extend(made.tables);
    }
    for (step, own) in sent.iter().enumerate() {
        let whole = outcome.message(step).expect("messages are kept");
        assert!(whole.iter().eq(own.iter().map(|&entry| Cost::from(entry)).collect::<Vec<_>>().iter()), "step {step}");
    }
}

#[test]
fn agents_are_bucket_elimination() {
    let (mut rng, stop) = (Rng::new(51), Stop::new());
    let (mut split, mut compared) = (0, 0);
    for case in 0..2000 {
        let problem = Arc::new(random(&mut rng, 4));
        let optimum = assignments(&problem).map(|values| problem.cost(&values)).min().expect("some").min(problem.top);
        for tree in trees(&problem, case, &stop) {
            let mut last = Cost::MIN;
            for z in [Some(1), Some(2), Some(3), None] {
                let plan = Plan::new(&problem, &tree.order, &Limits { z, ..Limits::new(ROOMY) });
                let levels = run_levels(&problem, plan.clone(), None, &stop).expect("memory");
                let agents = run_agents(&problem, &plan, Place::Host, &stop).expect("memory");
                assert_eq!((levels.lower, &levels.assignment), (agents.lower, &agents.assignment), "case {case}");
                let cost = problem.cost(&levels.assignment);
                assert!(levels.lower <= optimum && optimum <= cost.max(optimum), "case {case}");
                assert!(cost >= optimum || cost >= problem.top);
                if plan.exact {
                    assert_eq!(levels.lower, optimum, "case {case}");
                    assert!(optimum >= problem.top || cost == optimum, "case {case}");
                } else {
                    split += 1;
                }
                last = last.max(levels.lower);
                if plan.costs.width == Width::I32 && case % 10 == 0 {
                    same_messages(&problem, &run(&problem, plan));
                    compared += 1;
                }
            }
            assert_eq!(last, optimum, "DPOP is no worse than any ADPOP");
        }
    }
    assert!(split > 500 && compared > 200, "{split} {compared}");
}

#[test]
fn messages_are_those_of_the_tree() {
    let (mut rng, stop) = (Rng::new(52), Stop::new());
    for case in 0..400 {
        let problem = random(&mut rng, 4);
        for tree in trees(&problem, case, &stop) {
            let owner: Vec<u32> = (0..problem.variables() as u32).collect();
            let size = tree.size(&problem.domains);
            let exact = Plan::new(&problem, &tree.order, &Limits::new(ROOMY));
            let traffic = Traffic::new(&exact, &tree, &owner);
            // in a tree that follows from an order, each table goes to the parent
            assert_eq!(u128::from(traffic.util_entries), size.util_entries, "case {case}");
            assert_eq!(u128::from(traffic.largest_util_entries), size.largest_util_entries);
            let edges = (problem.variables() - size.roots) as u64;
            assert_eq!((traffic.util_messages, traffic.tables, traffic.local_messages), (edges, edges, 0));
            assert_eq!(traffic.made_entries, traffic.util_entries);
            // with one agent, all messages are local
            let alone = Traffic::new(&exact, &tree, &vec![0; problem.variables()]);
            assert_eq!((alone.util_messages, alone.local_messages, alone.util_entries), (0, 2 * edges, 0));
            // tables of split buckets pass other agents on their way
            let split = Plan::new(&problem, &tree.order, &Limits { z: Some(2), ..Limits::new(ROOMY) });
            let passed = Traffic::new(&split, &tree, &owner);
            assert!(passed.util_entries >= passed.made_entries && passed.util_messages == edges);
        }
    }
}

#[test]
fn agents_agree_on_a_device() {
    let Some(gpu) = fangs_testing::gpu().map(Gpu::new) else { return };
    let (mut rng, stop) = (Rng::new(52), Stop::new());
    let mut problems: Vec<Problem> = (0..100).map(|_| random(&mut rng, 4)).collect();
    // a message of 10^7 entries goes to the device and back in pieces
    let parameters = [("n", "9"), ("d", "10"), ("p1", "1"), ("p2", "0.1")];
    let network = crate::generate::generate("random", &parameters, 1).expect("a network");
    problems.push(
        crate::reduce::Reducer::new(&network, false, &stop)
            .expect("no stop")
            .problem(&Stop::new())
            .expect("no stop is set"),
    );
    for (case, problem) in problems.iter().enumerate() {
        for tree in trees(problem, case as u64, &stop) {
            let limits = Limits { z: (problem.variables() > 8).then_some(8), ..Limits::new(ROOMY) };
            let plan = Plan::new(problem, &tree.order, &limits);
            let [host, device] = [Place::Host, Place::Device(&gpu)]
                .map(|place| run_agents(problem, &plan, place, &stop).expect("memory"));
            assert_eq!((host.lower, &host.assignment), (device.lower, &device.assignment), "case {case}");
            assert!(device.on_device);
        }
    }
}

#[test]
fn limited_messages_find_the_optimum() {
    let (mut rng, stop) = (Rng::new(53), Stop::new());
    let mut cut = 0;
    for case in 0..600 {
        let problem = Arc::new(random(&mut rng, 4));
        let optimum = assignments(&problem).map(|values| problem.cost(&values)).min().expect("some").min(problem.top);
        for tree in trees(&problem, case, &stop) {
            for limit in [1, 3, 8] {
                let found = run_bounded(&problem, &tree, limit, ROOMY, None, &stop).expect("memory");
                assert!(found.complete && found.lower == optimum, "case {case}: {found:?}, not {optimum}");
                assert!(
                    found.largest_util_entries <= limit && found.runs + found.pruned <= found.contexts,
                    "{found:?}"
                );
                match found.assignment {
                    Some((cost, values)) => assert_eq!((cost, problem.cost(&values)), (optimum, optimum)),
                    None => assert_eq!(optimum, problem.top),
                }
                cut += found.cut.len();
            }
        }
    }
    assert!(cut > 1000, "{cut}");
}

#[test]
fn local_search_counts_its_messages() {
    let (mut rng, stop) = (Rng::new(54), Stop::new());
    let mut best = [0; 3];
    let all = [LocalSearch::Dsa, LocalSearch::Mgm, LocalSearch::MaxSum];
    for case in 0..300 {
        let problem = random(&mut rng, 4);
        let optimum = assignments(&problem).map(|values| problem.cost(&values)).min().expect("some");
        let edges = Graph::new(&problem, &stop).expect("no stop").arrays().1.len() as u64;
        let sides: u64 = problem.functions.iter().map(|function| function.scope.len() as u64).sum();
        let options = LocalOptions { cycles: Some(50), seed: case, ..LocalOptions::default() };
        let initial = vec![None; problem.variables()];
        for (algorithm, best) in all.into_iter().zip(&mut best) {
            let found = run_local(&problem, algorithm, &initial, options, &stop).expect("a cycle");
            assert_eq!(found.cost, problem.cost(&found.assignment));
            assert!(found.cost >= optimum && found.cycles <= 50);
            let each = match algorithm {
                LocalSearch::Dsa => edges,
                LocalSearch::Mgm => 2 * edges,
                LocalSearch::MaxSum => 2 * sides,
            };
            // values are chosen after 1, 2, 4, ... cycles and at the end
            let passes = u64::from(algorithm == LocalSearch::MaxSum)
                * (u64::from(found.cycles.ilog2()) + 1 + u64::from(!found.cycles.is_power_of_two()));
            assert_eq!(found.messages, each * found.cycles + sides * passes);
            assert_eq!(run_local(&problem, algorithm, &initial, options, &stop).expect("again"), found);
            *best += u32::from(found.cost == optimum);
        }
    }
    assert!(best.iter().all(|&best| best > 150), "{best:?}");
}

#[test]
fn clocks_follow_the_longest_chain() {
    // a chain 0 - 1 - 2 with a second leaf 3 at 1
    let mut network = Network::builder("t");
    let v: Vec<u32> = (0..4).map(|_| network.variable(2).expect("a variable")).collect();
    for pair in [[0, 1], [1, 2], [1, 3]] {
        let _ = network.dense(&[v[pair[0]], v[pair[1]]], vec![0, 1, 1, 0]).expect("a function");
    }
    let stop = Stop::new();
    let problem = crate::reduce::Reducer::new(&network.build(), false, &stop)
        .expect("no stop")
        .problem(&Stop::new())
        .expect("no stop is set");
    let parents = vec![None, Some(0), Some(1), Some(1)];
    let tree = PseudoTree::of_parents(&problem, parents, &|_| String::new(), &stop).expect("a tree");
    let plan = Plan::new(&problem, &tree.order, &Limits::new(ROOMY));
    let traffic = Traffic::new(&plan, &tree, &[0, 1, 2, 3]);
    let spent = |util_s| Spent { util_s, transfer_s: 0.0, value_s: 1.0 };
    let spent = [spent(1.0), spent(2.0), spent(4.0), spent(8.0)];
    let latency = Latency { message_s: 0.5, byte_s: 0.25 };
    let clocks = Clocks::new(&tree, &traffic, &spent, &[0, 1, 2, 3], 4, latency);
    // a UTIL message has two entries of four bytes, a VALUE message one value
    let way = 0.5 + 0.25 * 8.0;
    assert_eq!(clocks.util_s, [8.0 + way + 2.0 + way + 1.0, 8.0 + way + 2.0, 4.0, 8.0]);
    assert_eq!(clocks.end_s, clocks.util_s[0] + 1.0 + 1.5 + 1.0 + 1.5 + 1.0);
    // one agent handles one variable after the other, without messages
    let alone = Clocks::new(&tree, &traffic, &spent, &[0, 0, 0, 0], 4, latency);
    assert_eq!((alone.util_end_s, alone.end_s), (15.0, 19.0));
    assert!(problem.cost(&[0, 0, 0, 0]) < FORBIDDEN);
}

/// Returns a random problem whose factor graph has no cycle: functions of two and three variables, ties, forbidden
/// tuples.
fn forest(rng: &mut Rng, case: u64) -> Problem {
    let mut network = Network::builder("forest");
    let n = 2 + rng.below(7) as u32;
    let domain = if case.is_multiple_of(3) { 2 } else { 1 + rng.below(3) as u32 };
    let v: Vec<u32> = (0..n).map(|_| network.variable(domain + 1).expect("a variable")).collect();
    let most = if case.is_multiple_of(2) { 2 } else { 1 << 55 };
    let cost = |rng: &mut Rng| if rng.below(8) == 0 { FORBIDDEN } else { rng.below(most) as Cost };
    let entries = |rng: &mut Rng, count: u32| (0..count).map(|_| cost(rng)).collect::<Vec<Cost>>();
    let mut next = 1;
    while next < n {
        let parent = match case % 4 {
            0 => next - 1,
            1 => 0,
            _ => rng.below(next.into()) as u32,
        };
        let mut scope = vec![v[parent as usize], v[next as usize]];
        if next + 1 < n && rng.below(3) == 0 {
            next += 1;
            scope.push(v[next as usize]);
        }
        next += 1;
        let table = entries(rng, (domain + 1).pow(scope.len() as u32));
        let _ = network.dense(&scope, table).expect("a function");
    }
    for &v in &v {
        if rng.below(2) == 0 {
            let _ = network.dense(&[v], entries(rng, domain + 1)).expect("unary costs");
        }
    }
    let stop = Stop::new();
    crate::reduce::Reducer::new(&network.build(), false, &stop)
        .expect("no stop")
        .problem(&Stop::new())
        .expect("no stop is set")
}

#[test]
fn max_sum_is_exact_without_cycles() {
    let (mut rng, stop) = (Rng::new(55), Stop::new());
    for case in 0..1000 {
        let problem = forest(&mut rng, case);
        let optimum = assignments(&problem).map(|values| problem.cost(&values)).min().expect("some");
        let options = LocalOptions { seed: case, ..LocalOptions::default() };
        let initial = vec![None; problem.variables()];
        let found = run_local(&problem, LocalSearch::MaxSum, &initial, options, &stop).expect("a cycle");
        assert_eq!(found.cost, optimum, "case {case}: {found:?}");
        assert!(found.cycles <= problem.functions.len() as u64 + 2, "case {case}: {found:?}");
    }
}

/// A chain of variables with tied values is longer than the limit of cycles.
#[test]
fn max_sum_follows_long_chains() {
    let mut network = Network::builder("chain");
    let v: Vec<u32> = (0..1500).map(|_| network.variable(2).expect("a variable")).collect();
    for pair in v.windows(2) {
        let _ = network.dense(pair, vec![1, 0, 0, 1]).expect("a function");
    }
    let _ = network.dense(&[v[0]], vec![0, 1]).expect("unary costs");
    let _ = network.dense(&[v[1499]], vec![0, 7]).expect("unary costs");
    let stop = Stop::new();
    let problem = crate::reduce::Reducer::new(&network.build(), false, &stop)
        .expect("no stop")
        .problem(&Stop::new())
        .expect("no stop is set");
    let initial = vec![None; problem.variables()];
    let found = run_local(&problem, LocalSearch::MaxSum, &initial, LocalOptions::default(), &stop).expect("a cycle");
    assert_eq!(found.cost, 1);
}

/// Colorings of rings and of complete graphs: beliefs tie without fractions, and each value is forbidden at first.
#[test]
fn local_search_does_not_end_in_ties() {
    let stop = Stop::new();
    let mut solved = [0; 3];
    for case in 0..100u64 {
        let (n, colors) = if case.is_multiple_of(2) { (4 + case % 7, 3) } else { (4, 4) };
        let mut network = Network::builder("coloring");
        let v: Vec<u32> = (0..n).map(|_| network.variable(colors).expect("a variable")).collect();
        let conflict = if case % 4 < 2 { FORBIDDEN } else { 1 };
        let table: Vec<Cost> =
            (0..colors * colors).map(|index| if index % (colors + 1) == 0 { conflict } else { 0 }).collect();
        for a in 0..n as usize {
            let later = if case.is_multiple_of(2) { vec![(a + 1) % n as usize] } else { (a + 1..n as usize).collect() };
            for b in later {
                let _ = network.dense(&[v[a], v[b]], table.clone()).expect("a function");
            }
        }
        let problem = crate::reduce::Reducer::new(&network.build(), false, &stop)
            .expect("no stop")
            .problem(&Stop::new())
            .expect("no stop is set");
        let options = LocalOptions { seed: case, ..LocalOptions::default() };
        for (algorithm, solved) in
            [LocalSearch::Dsa, LocalSearch::Mgm, LocalSearch::MaxSum].into_iter().zip(&mut solved)
        {
            let initial = vec![Some(0); problem.variables()];
            let found = run_local(&problem, algorithm, &initial, options, &stop).expect("a cycle");
            *solved += u32::from(found.cost == 0);
        }
    }
    assert!(solved[0] == 100 && solved[1] >= 90 && solved[2] == 100, "{solved:?}");
}
