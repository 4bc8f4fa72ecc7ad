//! The device's tabu walks against the CPU's: equal moves, tenures, and best assignments. Without a GPU they are
//! skipped.

use super::TabuSearch;
use super::walk::TabuProgress;
use crate::core::context::SearchContext;
use crate::core::layout::MoveLayout;
use crate::device::Cuda;
use crate::generate::generate;
use crate::model::Problem;
use crate::reduce::Reducer;
use crate::rng::Rng;
use crate::stop::Stop;
use crate::walks::cpu::CpuWalks;
use crate::walks::cuda::CudaWalks;
use crate::walks::search::{Limit, Start, Walks};
use fangs_testing::cores::{assignment, of_size, price, random_dense};
use fangs_testing::gpu;
use std::sync::Arc;

/// Makes walks on both sides and compares their progress and their best assignments. A hash distinguishes assignments,
/// so that rounds of one step compare every move.
fn compare(cuda: &Arc<Cuda>, name: &str, problem: &Arc<Problem>, walks: usize, rounds: &[u32]) {
    let stop = Stop::new();
    let mut rng = Rng::new(4);
    let context = SearchContext::new(problem, price(problem), None, &mut rng);
    let layout = Arc::new(MoveLayout::new(&context.tables, &Stop::new()).expect("no stop is set"));
    let mut device = CudaWalks::<TabuSearch>::open(cuda, &context, &layout, |_| walks).expect("memory is there");
    let mut host = CpuWalks::<TabuSearch>::new(layout, walks);
    let all: Vec<usize> = (0..walks).collect();
    let mut progress = vec![TabuProgress::default(); walks];
    for (number, &steps) in rounds.iter().enumerate() {
        let over = all.iter().filter(|&&slot| progress[slot].is_over(60));
        let mut start = |&slot: &usize| {
            let progress = TabuProgress::new(rng.draw() | 1, progress[slot].moves);
            Start { slot, progress, values: assignment(problem, &mut rng) }
        };
        let begin: Vec<Start<TabuProgress>> = over.map(&mut start).collect();
        let limit = Limit { steps, work: u64::MAX };
        progress = host.walk(&context, &begin, limit, &stop).expect("the host works").0;
        let (theirs, _) = device.walk(&context, &begin, limit, &stop).expect("the device works");
        assert_eq!(progress, theirs, "{name}, round {number}");
        let (ours, theirs) = (host.bests(&all), device.bests(&all));
        assert_eq!(ours, theirs, "{name}, round {number}");
    }
}

/// Single steps, then longer rounds; walks are dropped in between.
const ROUNDS: [u32; 12] = [0, 1, 1, 1, 2, 7, 40, 64, 65, 1, 130, 200];

#[test]
fn walks_agree_on_random_cores() {
    let Some(cuda) = gpu() else { return };
    let mut rng = Rng::new(1);
    for case in 0..60 {
        let problem = Arc::new(random_dense(&mut rng));
        compare(&cuda, &format!("random {case}"), &problem, 1 + rng.index(9), &ROUNDS);
    }
}

#[test]
fn walks_agree_for_all_widths() {
    let Some(cuda) = gpu() else { return };
    for d in [2, 4, 5, 13, 30, 44, 100, 200, 300, 1000] {
        compare(&cuda, &format!("d = {d}"), &of_size(40, d, 90, 2, u64::from(d)), 7, &ROUNDS);
    }
    for (d, arity) in [(3, 3), (4, 4), (8, 3), (6, 5)] {
        compare(&cuda, &format!("d = {d}, arity {arity}"), &of_size(30, d, 40, arity, 7), 5, &ROUNDS);
    }
}

#[test]
fn walks_agree_where_costs_need_32_bits() {
    let Some(cuda) = gpu() else { return };
    for (n, d) in [(40, 5), (300, 30)] {
        let mut problem = (*of_size(n, d, 3 * n as usize, 2, 8)).clone();
        problem.unary.iter_mut().flatten().for_each(|cost| *cost *= 10_000);
        compare(&cuda, &format!("{n} variables, large costs"), &Arc::new(problem), 5, &ROUNDS);
    }
}

#[test]
fn walks_agree_beyond_shared_memory() {
    let Some(cuda) = gpu() else { return };
    compare(&cuda, "large", &of_size(1500, 50, 3000, 2, 5), 3, &ROUNDS);
    compare(&cuda, "large, arity 3", &of_size(4000, 5, 4000, 3, 5), 3, &ROUNDS);
}

#[test]
fn walks_agree_where_moves_tie() {
    let Some(cuda) = gpu() else { return };
    for (n, k) in [("60", "4"), ("200", "9"), ("400", "60")] {
        let network = generate("coloring", &[("n", n), ("p", "0.3"), ("k", k)], 1).expect("a graph is generated");
        let reducer = Reducer::new(&network, false, &Stop::new()).expect("no stop is set");
        compare(
            &cuda,
            &format!("{n} vertices"),
            &Arc::new(reducer.problem(&Stop::new()).expect("no stop is set")),
            4,
            &[3, 300, 1000],
        );
    }
}
