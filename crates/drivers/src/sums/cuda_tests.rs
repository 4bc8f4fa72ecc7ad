//! The device's walks on sums against the CPU's: equal moves, costs, temperatures and best assignments. Without a GPU
//! they are skipped.

use super::SumSearch;
use super::progress::{Ground, SumProgress};
use super::tests::{context_of, items, mixed, parse, values, wide};
use crate::device::Cuda;
use crate::model::Network;
use crate::rng::Rng;
use crate::stop::Stop;
use crate::walks::cpu::CpuWalks;
use crate::walks::cuda::CudaWalks;
use crate::walks::search::{Limit, Start, Walks};
use fangs_testing::globals::network_of_sums;
use fangs_testing::gpu;
use std::sync::Arc;

/// Makes walks on both sides and compares their progress and their best assignments. Returns the number of walks that
/// found a feasible assignment; `None` if the network has no sums. Costs, temperatures and counts of evaluations
/// distinguish paths, so that rounds of one step compare every move.
fn compare(cuda: &Arc<Cuda>, name: &str, network: &Network, walks: usize, rounds: &[u32]) -> Option<usize> {
    let stop = Stop::new();
    let mut rng = Rng::new(4);
    let context = context_of(network, &mut rng);
    let space = context.sums.as_ref()?;
    let ground = Arc::new(Ground::new(space.clone()));
    let mut device = CudaWalks::<SumSearch>::open(cuda, &context, &ground, |_| walks).expect("memory is there");
    let mut host = CpuWalks::<SumSearch>::new(ground, walks);
    let all: Vec<usize> = (0..walks).collect();
    let mut progress = vec![SumProgress::default(); walks];
    let mut solved = 0;
    for (number, &steps) in rounds.iter().enumerate() {
        // some continue where they ended, with their average cost of moves
        let mut start = |&slot: &usize| {
            let (last, goes_on) = (&progress[slot], progress[slot].key != 0 && rng.below(2) == 0);
            let progress = last.next(rng.draw() | 1, goes_on, last.climb() + (slot % 3) as f64, space);
            Start { slot, progress, values: if goes_on { Vec::new() } else { values(space, &mut rng) } }
        };
        let over = all.iter().filter(|&&slot| progress[slot].is_over());
        let begin: Vec<Start<SumProgress>> = over.map(&mut start).collect();
        let limit = Limit { steps, work: u64::MAX };
        let (ours, _) = host.walk(&context, &begin, limit, &stop).expect("the host works");
        let (theirs, _) = device.walk(&context, &begin, limit, &stop).expect("the device works");
        assert_eq!(ours, theirs, "{name}, round {number}");
        let (found, too) = (host.bests(&all).expect("the host works"), device.bests(&all).expect("the device works"));
        assert_eq!(found, too, "{name}, round {number}");
        solved = ours.iter().filter(|progress| progress.best < i64::MAX).count();
        progress = ours;
    }
    Some(solved)
}

/// Single steps, then longer rounds; walks end in between.
const ROUNDS: [u32; 13] = [0, 1, 1, 1, 2, 7, 40, 64, 65, 1, 900, 900, 900];

#[test]
fn walks_on_sums_agree_on_drawn_networks() {
    let Some(cuda) = gpu() else { return };
    let mut rng = Rng::new(1);
    let compared: Vec<usize> = (0..60)
        .filter_map(|case| {
            compare(&cuda, &format!("drawn {case}"), &network_of_sums(&mut rng), 1 + rng.index(9), &ROUNDS)
        })
        .collect();
    assert!(compared.len() > 30 && compared.iter().sum::<usize>() > 50, "{compared:?}");
}

#[test]
fn walks_on_sums_agree_on_items_and_counts() {
    let Some(cuda) = gpu() else { return };
    for (name, network, rounds) in [
        ("counts", mixed(), &ROUNDS[..]),
        ("many values", wide(), &ROUNDS[..]),
        ("few items", parse(&items(&mut Rng::new(5), 30, 12).0), &ROUNDS[..]),
        // more sums than a warp has lanes change at once
        ("many rows", parse(&rows(60, 80, 1_000_000_000_000, 100)), &ROUNDS[..]),
        ("large prices", parse(&rows(40, 5, 1000, 1_000_000_000_000)), &ROUNDS[..]),
        ("many items", parse(&items(&mut Rng::new(6), 900, 300).0), &[1, 1, 1, 500, 5000][..]),
    ] {
        assert!(compare(&cuda, name, &network, 7, rounds).is_some(), "{name} has sums");
    }
}

/// Returns items that occur in almost all of some linear constraints, with weights and prices up to the largest.
fn rows(items: usize, rows: usize, largest: u64, price: u64) -> String {
    let mut rng = Rng::new(7);
    let mut terms = |largest: u64| -> String {
        let chosen = (1..=items).filter(|_| rng.below(8) > 0).collect::<Vec<_>>();
        chosen.iter().map(|k| format!("+{} x{k} ", 1 + rng.below(largest))).collect()
    };
    let limit = largest * items as u64 / 5;
    let rows: String = (0..rows).map(|_| format!("{}<= {limit} ;\n", terms(largest))).collect();
    format!("max: {};\n{rows}", terms(price))
}
