//! Tests of join graphs in certificates against enumeration, with random graphs that need not be sensible.

use super::evaluate;
use super::state::State;
use super::tests::{assignments, follow, random, solved, triangle};
use crate::Error;
use crate::Replay;
use crate::certificate::{Branch, Certificate, Cluster, Ending, Graph, Rows, Search, Step};
use crate::model::{Cost, FORBIDDEN, Network, Table};
use crate::rng::Rng;

/// Returns a random graph over the variables of a network: clusters may repeat or miss variables, and edges may share
/// none.
fn graph(network: &Network, rng: &mut Rng) -> Graph {
    let n = network.domains().len() as u32;
    let count = 1 + rng.index(6);
    let dense = 1 + rng.below(4);
    let clusters = (0..count).map(|index| Cluster {
        over: (0..n).filter(|_| rng.below(5) < dense).collect(),
        to: (index + 1 < count && rng.below(4) > 0).then(|| (index + 1 + rng.index(count - index - 1)) as u32),
        beside: (index > 0 && rng.below(3) == 0).then(|| rng.index(index) as u32),
    });
    Graph { clusters: clusters.collect(), passes: rng.below(5) as u32, even: rng.below(4) as u32 }
}

/// Returns the cost of an assignment by the graph's tables; the limit if it does not count.
fn cost(state: &State, assignment: &[u32]) -> Cost {
    let place = |v: u32| state.values[v as usize].binary_search(&assignment[v as usize]).expect("no value has left");
    let mut total: i128 = (0..assignment.len() as u32).map(|v| i128::from(state.unary[v as usize][place(v)])).sum();
    for function in state.functions() {
        let index = function.scope.iter().fold(0, |index, &v| index * state.values[v as usize].len() + place(v));
        let entry = match &function.table {
            Table::Dense(costs) => costs.get(index),
            Table::Sparse(table) => table.get(&function.scope.iter().map(|&v| place(v) as u32).collect::<Vec<_>>()),
        };
        total += i128::from(entry);
    }
    state.proven(total)
}

#[test]
fn every_assignment_costs_what_it_did() -> Result<(), String> {
    let mut rng = Rng::new(71);
    let (mut kept, mut raised) = (0, 0);
    for case in 0..3000 {
        let network = random(&mut rng);
        let mut state = State::new(&network)?;
        state.scale(rng.below(9) as u32)?;
        let before = state.proven(0);
        for _ in 0..1 + rng.below(3) {
            state.step(&Step::Graph(graph(&network, &mut rng)))?;
        }
        for assignment in assignments(&network) {
            let right = evaluate(&network, &assignment).cost.min(network.top());
            if state.closed {
                assert_eq!(right, network.top().min(FORBIDDEN), "case {case}: {assignment:?}");
            } else {
                assert_eq!(cost(&state, &assignment), right, "case {case}: {assignment:?}");
                kept += 1;
            }
        }
        raised += u32::from(state.proven(0) > before);
    }
    assert!(kept > 10_000 && raised > 500, "{kept} {raised}");
    Ok(())
}

#[test]
fn no_graph_proves_more_than_there_is() {
    let mut rng = Rng::new(72);
    let (mut met, mut below) = (0, 0);
    for case in 0..3000 {
        let network = random(&mut rng);
        let (_, optimum) = solved(&network);
        // from below the optimum to far above
        let limit = optimum.min(1 << 40) + rng.below(8) as Cost - 2;
        let mut steps = vec![Step::Limit(limit), Step::Scale(rng.below(9) as u32)];
        for _ in 0..1 + rng.below(3) {
            steps.push(Step::Graph(graph(&network, &mut rng)));
            if rng.below(3) == 0 {
                steps.push(Step::Forbid);
            }
        }
        let mut order: Vec<u32> = (0..network.domains().len() as u32).collect();
        rng.shuffle(&mut order);
        let kind = rng.below(3);
        let ending = match kind {
            0 => Ending::Constant,
            1 => Ending::Rows(Rows { order: order.into(), work: 1 << 30, bytes: 1 << 28 }),
            _ => Ending::Search(Search { work: 1 << 30, bytes: 1 << 28, forks: Vec::new(), mini: rng.below(200) }),
        };
        let certificate = Certificate::new(&network, -FORBIDDEN, None, Branch { steps, ending });
        match follow(&network, &certificate) {
            Ok(proven) => {
                assert!(proven <= optimum, "case {case}: {proven} {optimum} {certificate:?}");
                let exact = proven == optimum.min(limit) || proven == optimum;
                assert!(kind == 0 || exact, "case {case}: {proven} {optimum} {limit}");
                met += u32::from(proven == optimum);
                below += u32::from(proven < optimum);
            }
            Err(error) => panic!("case {case}: {error}"),
        }
    }
    assert!(met > 500 && below > 500, "{met} {below}");
}

#[test]
fn graphs_state_what_they_take_and_name_what_is_there() -> Result<(), Error> {
    let network = triangle()?;
    let cluster = |over: &[u32], to, beside| Cluster { over: over.into(), to, beside };
    let certificate = |clusters: Vec<Cluster>| {
        let steps = vec![Step::Graph(Graph { clusters, passes: 1, even: 0 })];
        Certificate::new(&network, 5, None, Branch { steps, ending: Ending::Constant })
    };
    // a table of eight entries is visited twice after its construction
    let whole = certificate(vec![cluster(&[0, 1, 2], None, None)]);
    let effort = Replay::new(&network, &whole)?.effort();
    assert_eq!((effort.joint_entries, effort.bytes), (2 * 8 + 8, 3 * 4 * 8 + (8 + 8) * 8));
    assert_eq!(follow(&network, &whole)?, 5);
    assert!(Replay::new(&network, &whole)?.run(200).expect_err("no room").to_string().contains("200 are free"));
    for (clusters, part) in [
        (vec![cluster(&[0, 1], None, None)], "prove 0"),
        (vec![cluster(&[0, 3], None, None)], "cluster 0: there is no variable 3"),
        (vec![cluster(&[1, 0], None, None)], "does not ascend"),
        (vec![cluster(&[0, 1], Some(0), None)], "no later cluster"),
        (vec![cluster(&[0, 1], Some(1), None)], "no later cluster"),
        (vec![cluster(&[0, 1], None, Some(0))], "no earlier cluster"),
    ] {
        let error = follow(&network, &certificate(clusters)).expect_err(part).to_string();
        assert!(error.contains(part), "{part}: {error}");
    }
    Ok(())
}

#[test]
fn rows_keep_to_what_they_state_and_name_what_is_there() -> Result<(), Error> {
    let network = triangle()?;
    let certificate = |order: &[u32], work, bytes| {
        let ending = Ending::Rows(Rows { order: order.into(), work, bytes });
        Certificate::new(&network, 5, None, Branch { steps: Vec::new(), ending })
    };
    // tables of the first variable have 2 + 4 + 4 rows, each of 4 leads to two of the next, these to one more, and so
    // on
    assert_eq!(follow(&network, &certificate(&[0, 1, 2], 60, 2000))?, 5);
    for (order, work, bytes, part) in [
        (&[0, 1, 2][..], 20, 2000, "more work or memory"),
        (&[0, 1, 2], 60, 700, "more work or memory"),
        (&[0], 60, 2000, "prove 0"),
        (&[0, 0], 60, 2000, "no variable 0"),
        (&[3], 60, 2000, "no variable 3"),
    ] {
        let error = follow(&network, &certificate(order, work, bytes)).expect_err(part).to_string();
        assert!(error.contains(part), "{part}: {error}");
    }
    Ok(())
}
