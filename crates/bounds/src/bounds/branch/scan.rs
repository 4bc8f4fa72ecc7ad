//! The least entries of a binary function for each value of one of its variables.

use super::static_data::NEVER;
use crate::model::Cost;

/// Amount added to entries of removed values: more than any other cost.
const GONE: Cost = 1 << 60;
/// Rows are read as a whole if at least one in this many values is left: as many entries as the widest vectors hold.
const WHOLE: usize = 8;
/// Combinations below which entries are looked up one by one, to save the call of the vector code. Neither number was
/// tuned.
const FEW: usize = 32;

/// The entries of a binary function and the remaining values of its variables.
pub(crate) struct Pair<'a> {
    /// All entries, one row for each value of the first variable.
    pub entries: &'a [Cost],
    /// Entries of a row.
    pub stride: usize,
    /// The remaining values of the first and of the second variable.
    pub values: [&'a [u32]; 2],
    /// The costs taken from the function for each value of the first and of the second variable.
    pub taken: [&'a [Cost]; 2],
}

impl Pair<'_> {
    /// Appends to `least`, for each remaining value of the variable at `place`, the least entry less the costs taken.
    /// `row` is scratch memory for a row.
    pub fn least(&self, place: usize, least: &mut Vec<Cost>, row: &mut Vec<Cost>) {
        let [xs, ys] = self.values;
        if ys.len() * WHOLE < self.stride || xs.len() * ys.len() < FEW {
            self.look_up(place, least);
        } else {
            pulp::Arch::new().dispatch(Whole { pair: self, place, least, row });
        }
    }

    #[inline(always)]
    fn row(&self, value: u32) -> &[Cost] {
        &self.entries[value as usize * self.stride..][..self.stride]
    }

    /// Looks up the entries of remaining values alone.
    fn look_up(&self, place: usize, least: &mut Vec<Cost>) {
        let [xs, ys] = self.values;
        if place == 0 {
            least.extend(xs.iter().map(|&a| {
                let row = self.row(a);
                let of = |&b: &u32| row[b as usize] - self.taken[1][b as usize];
                ys.iter().map(of).min().unwrap_or(NEVER) - self.taken[0][a as usize]
            }));
        } else {
            least.resize(ys.len(), NEVER);
            for &a in xs {
                let (row, own) = (self.row(a), self.taken[0][a as usize]);
                for (least, &b) in least.iter_mut().zip(ys) {
                    *least = (*least).min(row[b as usize] - own);
                }
            }
            for (least, &b) in least.iter_mut().zip(ys) {
                *least -= self.taken[1][b as usize];
            }
        }
    }
}

/// [`Pair::least`] by whole rows, compiled for each vector instruction set. It uses loops because only inlined code is
/// compiled so, and what iterators call is not always inlined.
struct Whole<'a, 'b> {
    pair: &'a Pair<'b>,
    place: usize,
    least: &'a mut Vec<Cost>,
    row: &'a mut Vec<Cost>,
}

impl pulp::WithSimd for Whole<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let Whole { pair, place, least, row } = self;
        let [xs, ys] = pair.values;
        row.clear();
        if place == 0 {
            row.resize(pair.stride, -GONE);
            ys.iter().for_each(|&b| row[b as usize] = pair.taken[1][b as usize]);
            for &a in xs {
                let mut rest = Cost::MAX;
                for (cost, taken) in pair.row(a).iter().zip(&*row) {
                    rest = rest.min(cost - taken);
                }
                least.push(rest - pair.taken[0][a as usize]);
            }
        } else {
            row.resize(pair.stride, NEVER);
            for &a in xs {
                let own = pair.taken[0][a as usize];
                for (least, cost) in row.iter_mut().zip(pair.row(a)) {
                    *least = (*least).min(cost - own);
                }
            }
            for &b in ys {
                least.push(row[b as usize] - pair.taken[1][b as usize]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn whole_rows_say_what_entries_looked_up_say() {
        let mut rng = Rng::new(48);
        let mut row = Vec::new();
        for _ in 0..500 {
            let sizes = [1 + rng.index(20), 1 + rng.index(40)];
            let cost = |rng: &mut Rng| if rng.below(9) == 0 { NEVER } else { rng.below(1000) as Cost };
            let entries: Vec<Cost> = (0..sizes[0] * sizes[1]).map(|_| cost(&mut rng)).collect();
            let taken = sizes.map(|size| (0..size).map(|_| rng.below(2000) as Cost - 1000).collect::<Vec<_>>());
            let values = sizes.map(|size| {
                let mut left: Vec<u32> = (0..size as u32).filter(|_| rng.below(3) > 0).collect();
                if left.is_empty() {
                    left.push(rng.index(size) as u32);
                }
                left
            });
            let pair = Pair {
                entries: &entries,
                stride: sizes[1],
                values: [&values[0], &values[1]],
                taken: [&taken[0], &taken[1]],
            };
            for place in 0..2 {
                let (mut looked_up, mut whole) = (Vec::new(), Vec::new());
                pair.look_up(place, &mut looked_up);
                pulp::Arch::new().dispatch(Whole { pair: &pair, place, least: &mut whole, row: &mut row });
                assert_eq!(whole, looked_up);
            }
        }
    }
}
