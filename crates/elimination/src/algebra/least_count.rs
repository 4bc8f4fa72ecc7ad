//! The semiring of least costs and the numbers of assignments that have them.

use super::{OfCosts, Semiring};
use crate::model::Cost;

/// The semiring of pairs of a least cost and the number of assignments with this cost, which sums costs and multiplies
/// numbers. An entry is `[cost, number]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeastCount {
    /// The largest cost; assignments that reach it are not counted. Six times it must fit 64 bits.
    pub cap: u64,
    /// The modulus of numbers, below 2^63; 0 for numbers that saturate at the largest one of 64 bits.
    pub modulus: u64,
}

impl LeastCount {
    fn product(self, a: u64, b: u64) -> u64 {
        match self.modulus {
            0 => a.saturating_mul(b),
            modulus => (u128::from(a) * u128::from(b) % u128::from(modulus)) as u64,
        }
    }

    fn sum(self, a: u64, b: u64) -> u64 {
        match self.modulus {
            0 => a.saturating_add(b),
            modulus => (a + b) % modulus,
        }
    }
}

impl Semiring for LeastCount {
    type Entry = [u64; 2];

    const HAS_VECTORS: bool = false;

    #[inline(always)]
    fn one(self) -> [u64; 2] {
        [0, 1]
    }
    #[inline(always)]
    fn zero(self) -> [u64; 2] {
        [self.cap, 0]
    }
    #[inline(always)]
    fn combine(self, a: [u64; 2], b: [u64; 2]) -> [u64; 2] {
        [a[0] + b[0], self.product(a[1], b[1])]
    }
    #[inline(always)]
    fn fold(self, a: [u64; 2], b: [u64; 2]) -> [u64; 2] {
        self.settle(match a[0].cmp(&b[0]) {
            std::cmp::Ordering::Less => a,
            std::cmp::Ordering::Equal => [a[0], self.sum(a[1], b[1])],
            std::cmp::Ordering::Greater => b,
        })
    }
    #[inline(always)]
    fn settle(self, a: [u64; 2]) -> [u64; 2] {
        if a[0] >= self.cap { self.zero() } else { a }
    }
}

/// A tuple counts once, with its cost.
impl OfCosts for LeastCount {
    #[inline(always)]
    fn of_cost(self, cost: Cost) -> [u64; 2] {
        self.settle([u64::try_from(cost).unwrap_or(0), 1])
    }
}
