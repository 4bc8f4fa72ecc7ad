//! Random reduced problems and their assignments.

use crate::Shape;
use fangs_base::rng::Rng;
use fangs_model::model::{Cost, FORBIDDEN, Problem};

/// Returns a random problem: arity 2 to 5, forbidden entries, ties, dense and sparse tables, and domains of 1 to 7
/// values, but at most `most`.
pub fn random(rng: &mut Rng, most: u64) -> Problem {
    let n = 1 + rng.index(6);
    let high = [1, 3, 50, 1000][rng.index(4)];
    let shape = Shape {
        variables: n,
        domains: &[1, 2, 2, 3, 4, 7].map(|domain| most.min(domain) as u32),
        functions: rng.index(2 * n + 1),
        arities: &[2, 3, 4, 5],
        costs: (0, high - 1),
        forbidden: rng.below(4),
        sparse: (4, usize::MAX),
        ..Shape::PLAIN
    };
    let top = if rng.below(3) == 0 { rng.below(3 * high as u64) as Cost } else { FORBIDDEN };
    let mut problem = shape.problem(rng);
    problem.top = top;
    problem
}

/// Returns all assignments, the first variable running fastest.
pub fn assignments(problem: &Problem) -> impl Iterator<Item = Vec<u32>> {
    let total: u64 = problem.domains.iter().map(|&d| u64::from(d)).product();
    let domains = problem.domains.clone();
    (0..total).map(move |mut index| {
        let digit = |&d: &u32| {
            let value = (index % u64::from(d)) as u32;
            index /= u64::from(d);
            value
        };
        domains.iter().map(digit).collect()
    })
}
