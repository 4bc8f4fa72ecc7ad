//! The semirings that elimination computes in.
//!
//! Bucket elimination needs no more than a commutative semiring (Aji and McEliece, "The generalized distributive law",
//! 2000): one operation that combines functions and one that eliminates a variable from the combination.

mod counting;
mod least_count;
mod min_sum;
mod sum_max;
mod sum_product;

pub use counting::Counting;
pub use least_count::LeastCount;
pub use min_sum::{CostEntry, MinSum};
pub use sum_max::SumMax;
pub use sum_product::{OfNumbers, Range, SumProduct, WideSumProduct};

use crate::model::Cost;
use std::fmt::Debug;

/// An entry of a table: a plain value whose bytes may be copied.
pub trait Entry: bytemuck::Pod + Default + PartialEq + Debug + Send + Sync {}
impl<E: bytemuck::Pod + Default + PartialEq + Debug + Send + Sync> Entry for E {}

/// The largest number of settled entries that may be combined before the result is settled.
pub const TERMS: usize = 5;

/// A commutative semiring. Its laws hold for settled entries: entries of tables, [`one`](Self::one),
/// [`zero`](Self::zero) and the results of [`settle`](Self::settle).
pub trait Semiring: Copy + Debug + Send + Sync + 'static {
    /// The type of the entries of tables.
    type Entry: Entry;

    /// Whether loops over entries are compiled for each set of vector instructions. False if a combination branches,
    /// because vector instructions then gain nothing.
    const HAS_VECTORS: bool = true;

    /// Returns the neutral element of [`combine`](Self::combine).
    fn one(self) -> Self::Entry;
    /// Returns the neutral element of [`fold`](Self::fold). Folding an entry with it settles the entry.
    fn zero(self) -> Self::Entry;
    /// Combines the entries of two functions. Up to [`TERMS`] settled entries may be combined; the result is not
    /// settled.
    fn combine(self, a: Self::Entry, b: Self::Entry) -> Self::Entry;
    /// Aggregates the entries of two values of an eliminated variable. The result is settled if one of both is.
    fn fold(self, a: Self::Entry, b: Self::Entry) -> Self::Entry;
    /// Returns the settled entry that represents a combination of at most [`TERMS`] entries.
    fn settle(self, a: Self::Entry) -> Self::Entry;

    /// Returns `times` copies of an entry folded together.
    fn repeat(self, entry: Self::Entry, mut times: u64) -> Self::Entry {
        let (mut sum, mut power) = (self.zero(), entry);
        while times > 0 {
            if times & 1 == 1 {
                sum = self.fold(sum, power);
            }
            power = self.settle(self.fold(power, power));
            times >>= 1;
        }
        sum
    }
}

/// A semiring in which a factor can be removed from a combination.
pub trait Division: Semiring {
    /// Returns a settled combination without a settled factor of it. The result is an arbitrary settled entry if either
    /// is zero.
    fn divide(self, all: Self::Entry, part: Self::Entry) -> Self::Entry;
}

/// A semiring into whose entries costs can be converted.
pub trait OfCosts: Semiring {
    /// Returns the entry of a cost. The cost may be [`FORBIDDEN`](crate::model::FORBIDDEN).
    fn of_cost(self, cost: Cost) -> Self::Entry;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    fn laws<S: Semiring<Entry: PartialEq>>(semiring: S, entries: &mut dyn FnMut() -> S::Entry) {
        let s = semiring;
        let settled = |a, b| s.settle(s.combine(a, b));
        for _ in 0..10_000 {
            let (a, b, c) = (entries(), entries(), entries());
            assert_eq!(settled(a, b), settled(b, a));
            assert_eq!(settled(settled(a, b), c), settled(a, settled(b, c)));
            assert_eq!(s.fold(a, b), s.fold(b, a));
            assert_eq!(s.fold(s.fold(a, b), c), s.fold(a, s.fold(b, c)));
            assert_eq!(settled(a, s.fold(b, c)), s.fold(settled(a, b), settled(a, c)));
            assert_eq!((settled(a, s.one()), s.fold(a, s.zero()), settled(a, s.zero())), (a, a, s.zero()));
            let many = [a, b, c, entries(), entries()];
            let combined = many.into_iter().fold(s.one(), |all, entry| s.combine(all, entry));
            let stepwise = many.into_iter().fold(s.one(), settled);
            assert_eq!((s.settle(combined), s.fold(s.zero(), combined)), (stepwise, stepwise));
            let times = u64::from(c.bits());
            assert_eq!(s.repeat(a, times), (0..times).fold(s.zero(), |sum, _| s.fold(sum, a)));
        }
    }

    /// Derives a small number from the bytes of an entry.
    trait Bits {
        fn bits(self) -> u8;
    }
    impl<E: Entry> Bits for E {
        fn bits(self) -> u8 {
            bytemuck::bytes_of(&self)[0] % 16
        }
    }

    #[test]
    fn the_laws_hold_at_the_limits_too() {
        let mut rng = Rng::new(5);
        let cap = (i32::MAX - 4) / 5;
        laws(MinSum { cap }, &mut || (rng.below(u64::from(cap as u32) + 1) as i32).min(cap));
        laws(MinSum { cap: 60i64 }, &mut || rng.below(61) as i64);
        laws(Counting { most: u64::MAX }, &mut || rng.draw() >> rng.below(64));
        for modulus in [0, 7, (1 << 62) - 57] {
            let semiring = LeastCount { cap: 20, modulus };
            let number = |rng: &mut Rng| if modulus == 0 { rng.draw() >> rng.below(64) } else { rng.below(modulus) };
            // the number of a cost that is not reached may be 0 because of the modulus
            laws(semiring, &mut || semiring.settle([rng.below(25), number(&mut rng)]));
        }
        laws(Counting { most: 1000 }, &mut || rng.below(1001));
        laws(SumMax { numbers: SumProduct, max: true }, &mut || rng.below(1 << 7) as f64);
        // small integers, whose products and multiples doubles hold exactly
        laws(SumProduct, &mut || rng.below(1 << 7) as f64);
        laws(WideSumProduct, &mut || WideSumProduct.of_double(rng.below(1 << 7) as f64));
    }
}
