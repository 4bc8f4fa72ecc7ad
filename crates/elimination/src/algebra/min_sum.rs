//! The min-sum semiring of costs: entries are added, and the minimum eliminates a variable.

use super::{Division, Entry, OfCosts, Semiring};
use crate::model::Cost;
use std::ops::Add;

/// An integer type for the costs in a table.
pub trait CostEntry: Entry + Ord + Add<Output = Self> {
    /// Returns the entry of a cost that fits the type; a larger cost is truncated.
    fn from_cost(cost: Cost) -> Self;
    /// Returns the entry as a cost.
    fn cost(self) -> Cost;
}

impl CostEntry for i32 {
    #[inline(always)]
    fn from_cost(cost: Cost) -> Self {
        cost as i32
    }
    #[inline(always)]
    fn cost(self) -> Cost {
        Cost::from(self)
    }
}

impl CostEntry for i64 {
    #[inline(always)]
    fn from_cost(cost: Cost) -> Self {
        cost
    }
    #[inline(always)]
    fn cost(self) -> Cost {
        self
    }
}

/// The semiring of costs of at least 0, with minimum and sum. Costs of `cap` and above are not distinguished, because
/// no solution of interest has them. [`TERMS`](super::TERMS) times `cap` must fit the entry type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct MinSum<E> {
    /// The largest entry; larger sums are clamped to it.
    pub cap: E,
}

impl<E: CostEntry> Semiring for MinSum<E> {
    type Entry = E;

    #[inline(always)]
    fn one(self) -> E {
        E::default()
    }
    #[inline(always)]
    fn zero(self) -> E {
        self.cap
    }
    #[inline(always)]
    fn combine(self, a: E, b: E) -> E {
        a + b
    }
    #[inline(always)]
    fn fold(self, a: E, b: E) -> E {
        b.min(a)
    }
    #[inline(always)]
    fn settle(self, a: E) -> E {
        a.min(self.cap)
    }
}

impl<E: CostEntry> Division for MinSum<E> {
    #[inline(always)]
    fn divide(self, all: E, part: E) -> E {
        E::from_cost(all.cost() - part.cost())
    }
}

impl<E: CostEntry> OfCosts for MinSum<E> {
    #[inline(always)]
    fn of_cost(self, cost: Cost) -> E {
        E::from_cost(cost.min(self.cap.cost()))
    }
}
