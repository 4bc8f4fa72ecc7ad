//! Random networks and their assignments.

use crate::Shape;
use fangs_base::rng::Rng;
use fangs_model::model::{Cost, Network};

/// Returns a random network: arity 0 to 4, forbidden entries, ties, negative costs, dense and sparse tables, with and
/// without an upper bound `top`.
pub fn random(rng: &mut Rng) -> Network {
    let n = 1 + rng.index(7);
    let high = [1, 3, 20, 1000][rng.index(4)];
    let low = if rng.below(3) == 0 { high / 2 } else { 0 };
    let shape = Shape {
        variables: n,
        domains: &[1, 2, 2, 3, 4, 5],
        functions: rng.index(3 * n + 2),
        arities: &[0, 1, 1, 2, 2, 2, 2, 3, 3, 4],
        costs: (-low, high - low),
        forbidden: rng.below(4),
        sparse: (3, usize::MAX),
        ..Shape::PLAIN
    };
    let mut builder = shape.network(rng);
    if rng.below(2) == 0 {
        let _ = builder.top(rng.below(4 * high as u64 + 2) as Cost);
    }
    builder.build()
}

/// Returns all assignments, the last variable running fastest.
pub fn assignments(network: &Network) -> Vec<Vec<u32>> {
    let mut all = vec![vec![]];
    for &domain in network.domains() {
        all = all.into_iter().flat_map(|head| (0..domain).map(move |v| [&head[..], &[v]].concat())).collect();
    }
    all
}
