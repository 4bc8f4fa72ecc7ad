//! FANG's steps 1 to 10, which assign one variable.

use super::{Active, LocalHeuristic};
use crate::rng::{Rng, below};

/// The part of a state that the engine needs, besides what its heuristics read.
pub trait State {
    /// Returns the variables that await an assignment.
    fn active(&mut self) -> &mut Active;

    /// Returns the state's successor value: the random stream that decides all its assignments.
    fn rng(&mut self) -> &mut Rng;
}

/// Storage for the ratings and weights of one variable, kept between assignments so that none of them allocates.
///
/// The paper stores a rating and a 64-bit prefix sum for every possibility of every state (3.7). Here only the variable
/// being assigned has storage, one for each thread, and prefix sums exist only inside [`select`].
#[derive(Clone, Debug, Default)]
pub struct Scratch<R> {
    ratings: Vec<R>,
    weights: Vec<u32>,
}

/// Rates, aggregates, maps and assigns one variable by 64 random bits. Returns the selected possibility, or `None` if
/// all have weight 0. Activation is left to the caller.
#[inline(always)]
pub fn assign_variable<S: ?Sized, H: LocalHeuristic<S>>(
    heuristic: &H,
    state: &mut S,
    variable: usize,
    draw: u64,
    scratch: &mut Scratch<H::Rating>,
) -> Option<usize> {
    // arrays fix the trip count of loops over the most common rows at compile time: 0.7 to 0.85 of a sweep's time
    // (results/notes/cpu.md)
    match heuristic.possibilities(state, variable) {
        4 => assign_in(heuristic, state, variable, draw, &mut [H::Rating::default(); 4], &mut [0; 4]),
        8 => assign_in(heuristic, state, variable, draw, &mut [H::Rating::default(); 8], &mut [0; 8]),
        16 => assign_in(heuristic, state, variable, draw, &mut [H::Rating::default(); 16], &mut [0; 16]),
        n => {
            if scratch.weights.len() < n {
                scratch.ratings.resize(n, H::Rating::default());
                scratch.weights.resize(n, 0);
            }
            assign_in(heuristic, state, variable, draw, &mut scratch.ratings[..n], &mut scratch.weights[..n])
        }
    }
}

/// Like [`assign_variable`], but with room for the ratings and weights.
#[inline(always)]
fn assign_in<S: ?Sized, H: LocalHeuristic<S>>(
    heuristic: &H,
    state: &mut S,
    variable: usize,
    draw: u64,
    ratings: &mut [H::Rating],
    weights: &mut [u32],
) -> Option<usize> {
    let Some(possibility) = choose(heuristic, state, variable, draw, ratings, weights) else {
        heuristic.could_not_assign(state, variable);
        return None;
    };
    heuristic.assign(state, variable, possibility);
    Some(possibility)
}

/// Returns the possibility that [`assign_variable`] would take, or `None` if all have weight 0. Leaves the ratings in
/// `ratings`.
#[inline(always)]
pub fn choose<S: ?Sized, H: LocalHeuristic<S>>(
    heuristic: &H,
    state: &S,
    variable: usize,
    draw: u64,
    ratings: &mut [H::Rating],
    weights: &mut [u32],
) -> Option<usize> {
    heuristic.rate_all(state, variable, ratings);
    let aggregate = heuristic.aggregate_all(ratings);
    let total = heuristic.map_all(ratings, &aggregate, weights);
    (total > 0).then(|| select(weights, below(draw, total)))
}

/// Possibilities of a segment. Segments are skipped by their sums, which vectorise; prefix sums are computed only
/// within the selected one. Compared with a plain scan, 16 is ahead up to 10 possibilities, equal up to 64 and up to
/// twice as fast beyond; 32 and more lose up to a third on rows of 32 to 64 and gain nothing on those of 1000.
const SEGMENT: usize = 16;

/// Returns the possibility whose interval of the weights' prefix sums contains `v`, which must be below their sum.
///
/// The interval of possibility i is closed below and open above, left(i) <= v < right(i), so that a weight of 0 is
/// never selected. (Algorithm 1 prints the second comparison with the opposite sign.)
#[inline(always)]
pub fn select(weights: &[u32], mut v: u64) -> usize {
    let mut first = 0;
    while weights.len() - first > SEGMENT {
        let sum: u64 = weights[first..first + SEGMENT].iter().map(|&weight| u64::from(weight)).sum();
        if v < sum {
            break;
        }
        v -= sum;
        first += SEGMENT;
    }
    let segment = &weights[first..weights.len().min(first + SEGMENT)];
    // Counting the right ends up to v visits the whole segment but takes no unpredictable branch.
    let mut right = 0;
    let mut passed = 0;
    for &weight in segment {
        right += u64::from(weight);
        passed += usize::from(right <= v);
    }
    debug_assert!(passed < segment.len(), "v is not below the sum of the weights");
    first + passed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn select_finds_the_interval_of_every_value() {
        let rows: [&[u32]; 6] = [&[3], &[0, 2], &[2, 0], &[1, 0, 0, 4, 0], &[0, 0, 7, 0, 1], &[1; 100]];
        for row in rows {
            let expected = row.iter().enumerate().flat_map(|(i, &weight)| std::iter::repeat_n(i, weight as usize));
            for (v, possibility) in expected.enumerate() {
                assert_eq!(select(row, v as u64), possibility, "{row:?} at {v}");
            }
        }
    }

    #[test]
    fn select_meets_the_ends_of_64_bit_sums() {
        let row = vec![u32::MAX; 100_001];
        let weight = u64::from(u32::MAX);
        for possibility in [0, 1, 31, 32, 33, 65_536, 100_000] {
            let left = possibility as u64 * weight;
            assert_eq!(select(&row, left), possibility);
            assert_eq!(select(&row, left + weight - 1), possibility);
        }
    }
}
