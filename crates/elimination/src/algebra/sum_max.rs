//! A semiring of products of numbers that aggregates by their sum or by their maximum.

use super::{Division, OfNumbers, Range, Semiring};
use crate::model::Scaled;

/// A semiring of numbers that aggregates by the maximum if `max` is set, otherwise by the sum: one type for plans in
/// which some steps sum and others maximise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SumMax<S> {
    /// The semiring of the numbers.
    pub numbers: S,
    /// Whether to aggregate by the maximum instead of the sum.
    pub max: bool,
}

impl<S: OfNumbers> Semiring for SumMax<S> {
    type Entry = S::Entry;

    const HAS_VECTORS: bool = S::HAS_VECTORS;

    #[inline(always)]
    fn one(self) -> S::Entry {
        self.numbers.one()
    }
    #[inline(always)]
    fn zero(self) -> S::Entry {
        self.numbers.zero()
    }
    #[inline(always)]
    fn combine(self, a: S::Entry, b: S::Entry) -> S::Entry {
        self.numbers.combine(a, b)
    }
    #[inline(always)]
    fn fold(self, a: S::Entry, b: S::Entry) -> S::Entry {
        if self.max { self.numbers.larger(a, b) } else { self.numbers.fold(a, b) }
    }
    #[inline(always)]
    fn settle(self, a: S::Entry) -> S::Entry {
        self.numbers.settle(a)
    }
}

impl<S: OfNumbers> Division for SumMax<S> {
    #[inline(always)]
    fn divide(self, all: S::Entry, part: S::Entry) -> S::Entry {
        self.numbers.divide(all, part)
    }
}

impl<S: OfNumbers> OfNumbers for SumMax<S> {
    fn of_double(self, double: f64) -> S::Entry {
        self.numbers.of_double(double)
    }
    fn value(self, entry: S::Entry) -> Scaled {
        self.numbers.value(entry)
    }
    fn larger(self, a: S::Entry, b: S::Entry) -> S::Entry {
        self.numbers.larger(a, b)
    }
    fn normalise(self, table: &mut [S::Entry]) -> Range {
        self.numbers.normalise(table)
    }
    fn range(self) -> i64 {
        self.numbers.range()
    }
}
