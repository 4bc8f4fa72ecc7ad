//! Networks in which few tuples of variables are feasible: side chains, parity checks, pairs of pairs.

use super::{Draft, check_size, pair_table, random_costs, usage};
use crate::error::Error;
use crate::model::{Cost, FORBIDDEN, Network};
use crate::rng::Rng;

/// Distances in hundredths of an ångström: between neighbours of the backbone (`BOND`), from the backbone to a side
/// chain's end (`REACH`), below which ends clash (`CLASH`), and up to which they attract each other (`CUTOFF`).
const BOND: i64 = 380;
const REACH: i64 = 300;
const CLASH: i64 = 330;
const CUTOFF: i64 = 900;
/// The attraction at distance 0, and the largest cost of a side chain's own shape.
const ATTRACTION: i64 = 100;
const SHAPE: u32 = 200;

/// Generates side chains of a protein (Desmet et al., "The dead-end elimination theorem and its use in protein
/// side-chain positioning", 1992): `n` residues on a random walk in space, with `d` rotamers each. Ends that are too
/// near clash, which is forbidden; other ends attract each other, the more the nearer they are. A hidden assignment has
/// no clash.
///
/// # Errors
/// Returns an error if the network is too large.
pub fn side_chains(n: u32, d: u32, rng: &mut Rng) -> Result<Network, Error> {
    // at most about thirty neighbours each
    check_size(n, d, u64::from(n) * 32)?;
    let mut step = |length: i64| loop {
        let way = [0; 3].map(|_: i64| rng.below(2 * length as u64 + 1) as i64 - length);
        if square(way) <= length * length && way != [0; 3] {
            break way;
        }
    };
    // a box that keeps the density of a folded chain
    let side = (f64::from(n).cbrt() * BOND as f64 * 1.2) as i64;
    let (mut at, mut ends) = ([0; 3], Vec::new());
    for _ in 0..n {
        let way = step(BOND);
        let next = |k: usize| if (at[k] + way[k]).abs() > side / 2 { at[k] - way[k] } else { at[k] + way[k] };
        at = [next(0), next(1), next(2)];
        ends.push((0..d).map(|_| add(at, step(REACH))).collect::<Vec<[i64; 3]>>());
    }
    let hidden: Vec<usize> = (0..n).map(|_| rng.index(d as usize)).collect();
    let mut draft = Draft::new(n, d)?;
    for residue in 0..n {
        let _ = draft.add(&[residue], random_costs(u64::from(d), SHAPE, rng))?;
    }
    for (first, own) in ends.iter().enumerate() {
        for (second, others) in ends.iter().enumerate().skip(first + 1) {
            let energy = |a: u32, b: u32| {
                let apart = square(sub(own[a as usize], others[b as usize]));
                let is_hidden = [a as usize, b as usize] == [hidden[first], hidden[second]];
                match apart {
                    _ if apart < CLASH * CLASH && !is_hidden => FORBIDDEN,
                    // costs are at least 0: the loss of attraction
                    _ => apart.min(CUTOFF * CUTOFF) * ATTRACTION / (CUTOFF * CUTOFF),
                }
            };
            let table = pair_table(d, d, energy);
            if table.iter().any(|&cost| cost != ATTRACTION) {
                let _ = draft.add(&[first as u32, second as u32], table)?;
            }
        }
    }
    Ok(draft.finish())
}

fn square(way: [i64; 3]) -> i64 {
    way.iter().map(|part| part * part).sum()
}

fn add(a: [i64; 3], b: [i64; 3]) -> [i64; 3] {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

fn sub(a: [i64; 3], b: [i64; 3]) -> [i64; 3] {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

/// Generates bits received through a noisy channel (Gallager, "Low-density parity-check codes", 1962): `checks` hard
/// parity checks of `width` bits each, and a cost of up to `max_cost` for each bit that differs from the received one.
/// A share `noise` of the bits was received wrongly.
///
/// # Errors
/// Returns an error if checks have more bits than there are, or if the network is too large.
pub fn parity(of: Parity, max_cost: u32, rng: &mut Rng) -> Result<Network, Error> {
    let Parity { bits, checks, width, noise } = of;
    if width > bits {
        return usage(format!("checks of {width} among {bits} bits"));
    }
    check_size(bits, 2, u64::from(checks) << width)?;
    let sent: Vec<bool> = (0..bits).map(|_| rng.below(2) == 1).collect();
    let mut draft = Draft::new(bits, 2)?;
    for (bit, &sent) in (0..).zip(&sent) {
        let received = sent != (rng.unit() < noise);
        let cost = 1 + rng.below(u64::from(max_cost.max(1))) as Cost;
        let _ = draft.add(&[bit], if received { vec![cost, 0] } else { vec![0, cost] })?;
    }
    let mut order: Vec<u32> = (0..bits).collect();
    for _ in 0..checks {
        for place in 0..width as usize {
            let other = place + rng.index(order.len() - place);
            order.swap(place, other);
        }
        let scope = &order[..width as usize];
        let odd = scope.iter().filter(|&&bit| sent[bit as usize]).count() as u32 % 2;
        draft.share(scope, odd as usize, || {
            (0..1u32 << width).map(|entry| if entry.count_ones() % 2 == odd { 0 } else { FORBIDDEN }).collect()
        })?;
    }
    Ok(draft.finish())
}

/// The parameters of a parity check problem.
#[derive(Clone, Copy, Debug)]
pub struct Parity {
    /// Number of bits, which are the variables.
    pub bits: u32,
    /// Number of parity checks, which are hard functions.
    pub checks: u32,
    /// Number of bits of each check.
    pub width: u32,
    /// Share of bits that are received wrongly.
    pub noise: f64,
}

/// Generates `quads` groups of four variables in a row, in which each value of a variable is feasible with `partners`
/// values of the next one, and `functions` functions of random costs up to `max_cost` between groups. So each group
/// consists of two tied pairs that are tied to each other.
///
/// # Errors
/// Returns an error if there are more partners than values or only one group, or if the network is too large.
pub fn quads(of: Quads, max_cost: u32, rng: &mut Rng) -> Result<Network, Error> {
    let Quads { quads, d, partners, functions } = of;
    if partners > d || quads < 2 {
        return usage(format!("{quads} groups, {partners} partners among {d} values"));
    }
    let n = quads.saturating_mul(4);
    check_size(n, d, 3 * u64::from(quads) + u64::from(functions))?;
    let mut draft = Draft::new(n, d)?;
    for v in (0..n).filter(|v| v % 4 < 3) {
        let mut costs = vec![FORBIDDEN; d as usize * d as usize];
        // cyclically in a random order, so that every value is feasible with an equal number of values
        let mut order: Vec<u32> = (0..d).collect();
        rng.shuffle(&mut order);
        for value in 0..d {
            for k in 0..partners {
                costs[(value * d + order[((value + k) % d) as usize]) as usize] = 0;
            }
        }
        let _ = draft.add(&[v, v + 1], costs)?;
    }
    for _ in 0..functions {
        let first = rng.index(n as usize) as u32;
        // any variable of another group
        let second = (first / 4 * 4 + 4 + rng.index(n as usize - 4) as u32) % n;
        let _ = draft.add(&[first, second], random_costs(u64::from(d) * u64::from(d), max_cost, rng))?;
    }
    Ok(draft.finish())
}

/// The parameters of groups of tied variables.
#[derive(Clone, Copy, Debug)]
pub struct Quads {
    /// Number of groups of four variables.
    pub quads: u32,
    /// Number of values of each variable.
    pub d: u32,
    /// Number of values of the next variable with which a value is feasible.
    pub partners: u32,
    /// Number of functions between groups.
    pub functions: u32,
}
