//! Frequency assignment to radio links, similar to the CELAR networks (Cabon, de Givry, Lobjois, Schiex and Warners,
//! "Radio link frequency assignment", 1999).

use super::{Draft, check_size, pair_table, usage};
use crate::error::Error;
use crate::model::{Cost, FORBIDDEN, Network};
use crate::rng::Rng;
use std::f64::consts::PI;

/// The exact distance between the frequencies of the two directions of a link, as in CELAR.
const DUPLEX: u32 = 238;
/// Distance between adjacent frequencies of a band. `LOWEST` is the lowest frequency of all.
const STEP: u32 = 14;
const LOWEST: u32 = 16;
/// Distance from one couple of bands to the next, such that no frequency of one has a partner in another.
const COUPLE: u32 = 707;
/// Width and height of the map.
const MAP: u64 = 1_000_000;
/// Percentage of the four pairs of directions of two near links that interfere.
const DIRECTIONS: u64 = 75;
/// Cost of interference, by class.
const PENALTIES: [Cost; 4] = [1, 10, 100, 1000];

/// The parameters of a frequency assignment problem.
#[derive(Clone, Copy, Debug)]
pub struct Frequency {
    /// Number of directions of links, an even number because each link has two.
    pub n: u32,
    /// Number of frequencies of a band, at most 16.
    pub width: u32,
    /// Number of bands.
    pub bands: u32,
    /// Largest number of frequencies at the distance 238 from a frequency: 1 if bands come in couples, or 2.
    pub partners: u32,
    /// Average number of other directions with which a direction interferes, besides its opposite one.
    pub degree: u32,
    /// Largest distance between frequencies that interference requires, in steps of 14. Nearer links may require larger
    /// distances.
    pub separation: u32,
    /// Share of the interference that is forbidden.
    pub hard: f64,
    /// Whether all interference is forbidden and the largest frequency is minimised; otherwise the penalties of
    /// interference are minimised.
    pub span: bool,
}

/// Generates a frequency assignment problem: links at random places, a hard function between the two directions of each
/// link, and functions that require a distance between the frequencies of near links. A hidden assignment satisfies all
/// hard functions.
///
/// # Errors
/// Returns an error if the number of directions is odd, or if the network is too large.
pub fn frequency(of: Frequency, rng: &mut Rng) -> Result<Network, Error> {
    let Frequency { n, width, bands, partners, degree, separation, hard, span } = of;
    if n % 2 == 1 {
        return usage(format!("{n} directions of links: expected an even number"));
    }
    let most = width.saturating_mul(bands);
    check_size(n + u32::from(span), most, u64::from(n) * u64::from(degree + 2))?;
    let links: Vec<Link> = (0..n / 2).map(|_| Link::new(width, bands, partners, rng)).collect();
    let hidden: Vec<[u32; 2]> = links.iter().map(|link| link.couple(rng)).collect();
    let mut used: Vec<u32> = links.iter().flat_map(|link| link.frequencies.iter().copied()).collect();
    used.sort_unstable();
    used.dedup();
    let domains = links.iter().flat_map(|link| [link.frequencies.len() as u32; 2]);
    let mut draft = Draft::of(domains.chain(span.then_some(used.len() as u32)))?;
    let distances = |a: &Link, b: &Link, cost: &dyn Fn(u32) -> Cost| {
        let cost = |i: u32, j: u32| cost(a.frequencies[i as usize].abs_diff(b.frequencies[j as usize]));
        pair_table(a.frequencies.len() as u32, b.frequencies.len() as u32, cost)
    };
    for (link, own) in (0..).zip(&links) {
        let tie = |distance| if distance == DUPLEX { 0 } else { FORBIDDEN };
        let _ = draft.add(&[2 * link, 2 * link + 1], distances(own, own, &tie))?;
        if span {
            let above = |i: u32, j: u32| if own.frequencies[i as usize] > used[j as usize] { FORBIDDEN } else { 0 };
            let table = pair_table(own.frequencies.len() as u32, used.len() as u32, above);
            let _ = draft.add(&[2 * link, n], table.clone())?;
            let _ = draft.add(&[2 * link + 1, n], table)?;
        }
    }
    if span {
        let _ = draft.add(&[n], used.iter().map(|&frequency| Cost::from(frequency - LOWEST)).collect())?;
    }
    // the squared radius of a circle that contains links with `degree` interfering directions on average
    let near = (MAP * MAP) as f64 * f64::from(degree) * 100.0 / DIRECTIONS as f64 / PI / f64::from(n.max(3) - 2);
    for (first, a) in (0..).zip(&links) {
        for (second, b) in (0..).zip(&links).skip(first + 1) {
            let closeness = 1.0 - a.square_to(b) as f64 / near;
            if closeness <= 0.0 {
                continue;
            }
            for [one, other] in [[0, 0], [0, 1], [1, 0], [1, 1]] {
                if rng.below(100) >= DIRECTIONS {
                    continue;
                }
                let steps = 1 + rng.below(1 + (closeness * f64::from(separation)) as u64) as u32;
                let apart = STEP * steps.min(separation.max(1));
                let class = rng.below(1 + (closeness * PENALTIES.len() as f64) as u64) as usize;
                let met = hidden[first][one].abs_diff(hidden[second][other]) >= apart;
                let must = span || rng.unit() < hard;
                let penalty = if must && met { FORBIDDEN } else { PENALTIES[class.min(PENALTIES.len() - 1)] };
                // the hidden assignment must stay feasible
                if span && !met {
                    continue;
                }
                let cost = |distance| if distance < apart { penalty } else { 0 };
                let scope = [2 * first + one, 2 * second + other].map(|v| v as u32);
                let _ = draft.add(&scope, distances(a, b, &cost))?;
            }
        }
    }
    Ok(draft.finish())
}

/// A link at a place, with the frequencies of its two directions, ascending.
struct Link {
    place: [u64; 2],
    frequencies: Vec<u32>,
}

impl Link {
    /// Draws a link with some adjacent bands, and of each band the lowest frequencies.
    fn new(width: u32, bands: u32, partners: u32, rng: &mut Rng) -> Link {
        let mut between = |least: u32, most: u32| least + rng.below(u64::from(most - least + 1)) as u32;
        // couples of bands are kept together
        let unit = if partners == 1 { 2 } else { 1 };
        let all = bands / unit;
        // in three bands the frequencies of the middle band have two partners
        let least = if partners == 1 { 1 } else { 3 };
        let count = between(all.div_ceil(2).max(least).min(all), all);
        let first = between(0, all - count);
        let width = between(width.div_ceil(3) * 2, width.max(2)).min(width);
        let place = [0; 2].map(|_: u32| u64::from(between(0, MAP as u32)));
        let start = |band: u32| match partners {
            1 => LOWEST + band / 2 * COUPLE + band % 2 * DUPLEX,
            _ => LOWEST + band * DUPLEX,
        };
        let bands = first * unit..(first + count) * unit;
        let frequencies = bands.flat_map(|band| (0..width).map(move |place| start(band) + place * STEP)).collect();
        Link { place, frequencies }
    }

    /// Returns the square of the distance to another link.
    fn square_to(&self, other: &Link) -> u64 {
        (0..2).map(|axis| self.place[axis].abs_diff(other.place[axis]).pow(2)).sum()
    }

    /// Draws frequencies for both directions.
    fn couple(&self, rng: &mut Rng) -> [u32; 2] {
        let at = |frequency: u32| self.frequencies.binary_search(&frequency).is_ok();
        let lower: Vec<u32> = self.frequencies.iter().copied().filter(|&frequency| at(frequency + DUPLEX)).collect();
        let one = lower[rng.index(lower.len())];
        if rng.below(2) == 0 { [one, one + DUPLEX] } else { [one + DUPLEX, one] }
    }
}
