//! Tests of divided states.

use super::*;
use crate::generate::generate;
use crate::reduce::Reducer;

/// Makes three anneals in some parts, and returns what each of them reaches.
fn run(network: &Network, parts: usize) -> Vec<Reached> {
    let part = |mut peers: ThreadPeers| {
        let own = network.share(peers.share());
        let problem = Arc::new(Reducer::unreduced(&own, &Stop::new()).expect("no limit").1);
        let mut state = DividedState::new(&own, &problem, &mut peers, &Stop::new()).expect("no part ends");
        let (mut all, limits) = (Vec::new(), Limits { anneals: Some(3), ..Limits::default() });
        state.run(5, limits, &Stop::new(), &mut |reached| all.push(reached)).expect("no part ends");
        all
    };
    std::thread::scope(|scope| {
        let all: Vec<_> =
            ThreadPeers::connected(parts).into_iter().map(|peers| scope.spawn(move || part(peers))).collect();
        let mut all: Vec<_> = all.into_iter().map(|part| part.join().expect("no part panics")).collect();
        all.swap_remove(0)
    })
}

#[test]
fn values_do_not_depend_on_the_number_of_parts() {
    for (kind, settings) in [
        ("large-sparse", vec![("n", "1000"), ("d", "5"), ("functions", "3000")]),
        ("potts", vec![("side", "20"), ("d", "6")]),
        ("random", vec![("n", "60"), ("d", "4"), ("p2", "0.1")]),
        ("sat", vec![("n", "300"), ("clauses", "900")]),
    ] {
        let network = generate(kind, &settings, 3).expect("a kind");
        let [one, two, three, seven] = [1, 2, 3, 7].map(|parts| run(&network, parts));
        assert_eq!(one.len(), 3, "{kind}");
        for other in [&two, &three, &seven] {
            for (one, other) in one.iter().zip(other) {
                assert_eq!((one.cost, one.violated, one.moves), (other.cost, other.violated, other.moves), "{kind}");
                assert_eq!(one.assignment, other.assignment, "{kind}");
            }
        }
        for reached in &two {
            let assignment = reached.assignment.as_deref().expect("the first part has all values");
            let evaluation = fangs_check::evaluate(&network, assignment);
            assert_eq!(evaluation.is_solution(), reached.violated == 0, "{kind}");
            assert!(reached.violated > 0 || evaluation.cost == reached.cost, "{kind}");
        }
        let best = two.iter().map(|reached| (reached.violated, reached.cost)).min();
        assert!(best < Some((two[0].violated, two[0].cost)), "{kind}: longer anneals reach lower costs");
    }
}

#[test]
fn a_part_that_ends_is_an_error_for_the_others() {
    let mut all = ThreadPeers::connected(3);
    drop(all.pop());
    assert!(all[0].exchange(&mut vec![Vec::new(); 3]).is_err());
}
