//! The device's constraint-weighting walks against the CPU's: equal moves, weights and best assignments. Without a GPU
//! they are skipped.

use super::ConstraintWeighting;
use super::incidences::{IncidenceLists, without_forbidden};
use super::walk::WeightingProgress;
use crate::core::context::SearchContext;
use crate::device::Cuda;
use crate::generate::generate;
use crate::model::Problem;
use crate::reduce::Reducer;
use crate::rng::Rng;
use crate::stop::Stop;
use crate::walks::cpu::CpuWalks;
use crate::walks::cuda::CudaWalks;
use crate::walks::search::{Limit, Progress, Start, Walks};
use fangs_testing::cores::{assignment, of_size, price, random_dense};
use fangs_testing::gpu;
use std::sync::Arc;

/// Makes walks on both sides and compares their progress and their best assignments. Returns the number of walks that
/// found a feasible assignment. Moves, costs and counts of evaluations distinguish paths, so that rounds of one step
/// compare every move.
fn compare(cuda: &Arc<Cuda>, name: &str, problem: &Arc<Problem>, walks: usize, rounds: &[u32]) -> usize {
    let stop = Stop::new();
    let mut rng = Rng::new(4);
    let context = SearchContext::new(problem, price(problem), None, &mut rng);
    let begin = |slot: usize| {
        let values = without_forbidden(&context.tables, assignment(problem, &mut rng), &Stop::new());
        let values = values.expect("no stop is set");
        let mut progress = WeightingProgress::new(rng.draw(), slot % 2 == 1);
        // phases end often
        progress.phase_end = 30;
        Start { slot, progress, values }
    };
    let mut begin: Vec<Start<WeightingProgress>> = (0..walks).map(begin).collect();
    let layout = Arc::new(IncidenceLists::new(&context.tables));
    let mut device =
        CudaWalks::<ConstraintWeighting>::open(cuda, &context, &layout, |_| walks).expect("memory is there");
    let mut host = CpuWalks::<ConstraintWeighting>::new(layout, walks);
    let all: Vec<usize> = (0..walks).collect();
    let mut solved = 0;
    for (number, &steps) in rounds.iter().enumerate() {
        let limit = Limit { steps, work: u64::MAX };
        let (ours, _) = host.walk(&context, &begin, limit, &stop).expect("the host works");
        let (theirs, _) = device.walk(&context, &begin, limit, &stop).expect("the device works");
        begin.clear();
        assert_eq!(ours, theirs, "{name}, round {number}");
        let (found, too) = (host.bests(&all).expect("the host works"), device.bests(&all).expect("the device works"));
        assert_eq!(found, too, "{name}, round {number}");
        solved = ours.iter().filter(|progress| progress.quality().0 == 0).count();
    }
    solved
}

/// Single steps, then longer rounds.
const ROUNDS: [u32; 10] = [0, 1, 1, 1, 2, 7, 40, 65, 300, 1000];

#[test]
fn weighers_agree_on_random_cores() {
    let Some(cuda) = gpu() else { return };
    let mut rng = Rng::new(1);
    let solved: usize = (0..60)
        .map(|case| {
            compare(&cuda, &format!("random {case}"), &Arc::new(random_dense(&mut rng)), 1 + rng.index(9), &ROUNDS)
        })
        .sum();
    assert!(solved > 100, "{solved}");
}

#[test]
fn weighers_agree_for_all_widths() {
    let Some(cuda) = gpu() else { return };
    for d in [2, 4, 5, 13, 30, 44, 100, 200, 300] {
        let _ = compare(&cuda, &format!("d = {d}"), &of_size(40, d, 90, 2, u64::from(d)), 7, &ROUNDS);
    }
    for (d, arity) in [(3, 3), (4, 4), (8, 3), (6, 5)] {
        let _ = compare(&cuda, &format!("d = {d}, arity {arity}"), &of_size(30, d, 40, arity, 7), 5, &ROUNDS);
    }
}

#[test]
fn weighers_agree_where_all_trouble_is_what_is_forbidden() {
    let Some(cuda) = gpu() else { return };
    let clauses = ("sat", &[("n", "200"), ("clauses", "820")][..]);
    let square = ("latin", &[("order", "16"), ("holes", "110")][..]);
    for (kind, parameters) in [clauses, square] {
        let network = generate(kind, parameters, 1).expect("a family");
        let problem = Reducer::new(&network, true, &Stop::new())
            .expect("no stop is set")
            .problem(&Stop::new())
            .expect("no stop is set");
        let solved = compare(&cuda, kind, &Arc::new(problem), 40, &[1, 50, 2000, 8000]);
        assert!(solved > 0, "{kind}");
    }
}
