//! Arrangements in which every value is taken once: permutations, routes, cliques of differences.

use super::{Draft, check_size, pair_table, random_costs, usage};
use crate::error::Error;
use crate::model::{Cost, FORBIDDEN, Network};
use crate::rng::Rng;

/// Width and height of the map.
const MAP: u64 = 100;
/// Largest flow between two facilities.
const FLOW: u64 = 9;

fn different(a: u32, b: u32) -> Cost {
    if a == b { FORBIDDEN } else { 0 }
}

fn places(n: u32, rng: &mut Rng) -> Vec<[u64; 2]> {
    (0..n).map(|_| [0; 2].map(|_: u64| rng.below(MAP))).collect()
}

fn distance(a: [u64; 2], b: [u64; 2]) -> Cost {
    (a[0].abs_diff(b[0]) + a[1].abs_diff(b[1])) as Cost
}

/// Generates a quadratic assignment problem (Koopmans and Beckmann 1957): `n` facilities are assigned to `n` places,
/// one each. A share `flows` of the pairs of facilities has a flow, which costs its size times the distance.
///
/// # Errors
/// Returns an error if the network is too large.
pub fn permutation(n: u32, flows: f64, rng: &mut Rng) -> Result<Network, Error> {
    check_size(n, n, u64::from(n) * u64::from(n) / 2)?;
    let places = places(n, rng);
    let mut draft = Draft::new(n, n)?;
    for first in 0..n {
        for second in first + 1..n {
            if rng.unit() >= flows {
                draft.share(&[first, second], 0, || pair_table(n, n, different))?;
                continue;
            }
            let flow = 1 + rng.below(FLOW) as Cost;
            let cost = |a: u32, b: u32| different(a, b).max(flow * distance(places[a as usize], places[b as usize]));
            let _ = draft.add(&[first, second], pair_table(n, n, cost))?;
        }
    }
    Ok(draft.finish())
}

/// Generates a round trip through `n` places. For each place a variable is its successor, and all successors differ.
/// For all but the first place another variable is its position on the trip, one more than that of the place before, so
/// that the successors form one trip and not several.
///
/// # Errors
/// Returns an error if there are fewer than three places, or if the network is too large.
pub fn routes(n: u32, rng: &mut Rng) -> Result<Network, Error> {
    if n < 3 {
        return usage(format!("a round trip of {n} places"));
    }
    check_size(2 * n, n, u64::from(n).pow(3))?;
    let places = places(n, rng);
    // positions count from 0; the first place has none
    let last = n - 2;
    let mut draft = Draft::of((0..n).map(|_| n).chain((1..n).map(|_| n - 1)))?;
    let position = |place: u32| n + place - 1;
    let is = |right: bool| if right { 0 } else { FORBIDDEN };
    for from in 0..n {
        let leg = |to: u32| if to == from { FORBIDDEN } else { distance(places[from as usize], places[to as usize]) };
        let _ = draft.add(&[from], (0..n).map(leg).collect())?;
        for other in from + 1..n {
            draft.share(&[from, other], 0, || pair_table(n, n, different))?;
        }
        for to in (1..n).filter(|&to| to != from) {
            if from == 0 {
                let begins = |next: u32, at: u32| is(next != to || at == 0);
                let _ = draft.add(&[0, position(to)], pair_table(n, n - 1, begins))?;
                continue;
            }
            // the table depends only on the end of the leg
            draft.share(&[from, position(from), position(to)], to as usize, || {
                let follows = |next: u32| pair_table(n - 1, n - 1, move |a, b| is(next != to || b == a + 1));
                (0..n).flat_map(follows).collect()
            })?;
        }
        if from > 0 {
            let ends = |next: u32, at: u32| is((next == 0) == (at == last));
            draft.share(&[from, position(from)], n as usize, || pair_table(n, n - 1, ends))?;
        }
    }
    Ok(draft.finish())
}

/// Generates `cliques` random sets of `size` of `n` variables; the values of the variables of a set must differ, and
/// each value costs up to `max_cost`. A hidden assignment satisfies all sets.
///
/// # Errors
/// Returns an error if sets are larger than the number of variables or of values, or if the network is too large.
pub fn cliques(n: u32, d: u32, cliques: u32, size: u32, max_cost: u32, rng: &mut Rng) -> Result<Network, Error> {
    if size > n.min(d) {
        return usage(format!("cliques of {size} among {n} variables of {d} values"));
    }
    check_size(n, d, u64::from(cliques) * u64::from(size) * u64::from(size) / 2)?;
    // every value is taken by an equal number of variables, or one more
    let mut hidden: Vec<u32> = (0..n).map(|v| v % d).collect();
    rng.shuffle(&mut hidden);
    let mut draft = Draft::new(n, d)?;
    for v in 0..n {
        let _ = draft.add(&[v], random_costs(u64::from(d), max_cost, rng))?;
    }
    let mut order: Vec<u32> = (0..n).collect();
    let mut met = vec![[u32::MAX; 2]; 0];
    for _ in 0..cliques {
        rng.shuffle(&mut order);
        let mut taken = vec![false; d as usize];
        let differs = |&&v: &&u32| !std::mem::replace(&mut taken[hidden[v as usize] as usize], true);
        let members: Vec<u32> = order.iter().filter(differs).copied().take(size as usize).collect();
        for (k, &v) in members.iter().enumerate() {
            met.extend(members[k + 1..].iter().map(|&u| [v.min(u), v.max(u)]));
        }
    }
    met.sort_unstable();
    met.dedup();
    for pair in &met {
        draft.share(pair, 0, || pair_table(d, d, different))?;
    }
    Ok(draft.finish())
}
