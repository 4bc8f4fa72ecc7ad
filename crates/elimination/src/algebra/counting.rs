//! The counting semiring: numbers of assignments, with sum and product.

use super::{OfCosts, Semiring};
use crate::model::{Cost, FORBIDDEN};

/// The semiring of numbers of assignments. Numbers of `most` and above are not distinguished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Counting {
    /// The largest entry; larger numbers are clamped to it.
    pub most: u64,
}

impl Semiring for Counting {
    type Entry = u64;

    #[inline(always)]
    fn one(self) -> u64 {
        1
    }
    #[inline(always)]
    fn zero(self) -> u64 {
        0
    }
    #[inline(always)]
    fn combine(self, a: u64, b: u64) -> u64 {
        a.saturating_mul(b)
    }
    #[inline(always)]
    fn fold(self, a: u64, b: u64) -> u64 {
        a.saturating_add(b).min(self.most)
    }
    #[inline(always)]
    fn settle(self, a: u64) -> u64 {
        a.min(self.most)
    }
}

/// A feasible tuple has the entry 1, a forbidden one the entry 0.
impl OfCosts for Counting {
    #[inline(always)]
    fn of_cost(self, cost: Cost) -> u64 {
        u64::from(cost < FORBIDDEN)
    }
}
