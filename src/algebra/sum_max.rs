//! Products of numbers that are not negative, of which the sum or the largest counts.

use super::Semiring;

/// + or max, and times on doubles: one type for plans whose steps do one or the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SumMaxProduct {
    /// The largest, else the sum.
    pub max: bool,
}

impl Semiring for SumMaxProduct {
    type Entry = f64;

    #[inline(always)]
    fn one(self) -> f64 {
        1.0
    }
    #[inline(always)]
    fn zero(self) -> f64 {
        0.0
    }
    #[inline(always)]
    fn combine(self, a: f64, b: f64) -> f64 {
        a * b
    }
    #[inline(always)]
    fn fold(self, a: f64, b: f64) -> f64 {
        match self.max {
            true if b > a => b,
            true => a,
            false => a + b,
        }
    }
    #[inline(always)]
    fn settle(self, a: f64) -> f64 {
        a
    }
}
