//! Bounds on a sum, updated while the sums of its parts are computed or bounded.

use crate::model::{ROUNDOFF, Scaled};

/// Pairs of a variable and its value.
pub(super) type Values = Vec<(u32, u32)>;

/// An exact sum, or a lower bound on one.
#[derive(Clone, Debug)]
pub(super) struct Sum {
    /// The sum.
    pub sum: Scaled,
    /// The relative error, at most.
    pub error: f64,
    /// The values of the maximised variables at which the sum is attained.
    pub values: Values,
}

/// Bounds on the sum over all assignments, or on the largest sum of marginal MAP.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SumBounds {
    /// The lower bound on the logarithm of the sum; minus infinity if there is none.
    pub lower: f64,
    /// The upper bound on the logarithm of the sum.
    pub upper: f64,
    /// The number of parts (products with some variables fixed) whose sums are exact up to rounding.
    pub exact_parts: u64,
    /// The number of parts with upper bounds only that may still change the result.
    pub open_parts: u64,
}

impl SumBounds {
    /// The bounds before anything is computed.
    pub(super) const NONE: SumBounds =
        SumBounds { lower: f64::NEG_INFINITY, upper: f64::INFINITY, exact_parts: 0, open_parts: 1 };

    /// Returns the intersection of two intervals of the same sum.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let later = if other.open_parts == 0 || self.open_parts > 0 { other } else { self };
        let upper = self.upper.min(other.upper);
        SumBounds { lower: self.lower.max(other.lower).min(upper), upper, ..later }
    }

    /// Returns bounds for an exact sum with the logarithm `ln` and its absolute `error`.
    pub(super) fn near(ln: f64, error: f64) -> Self {
        SumBounds { lower: ln - error, upper: ln + error, exact_parts: 1, open_parts: 0 }
    }
}

/// How the sums of parts combine to that of the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fold {
    /// The sums of the parts are added.
    Sum,
    /// The largest sum of a part counts.
    Max,
}

impl Fold {
    fn both(self, a: Scaled, b: Scaled) -> Scaled {
        match self {
            Fold::Sum => a.plus(b),
            Fold::Max => {
                if b.is_above(a) {
                    b
                } else {
                    a
                }
            }
        }
    }
}

/// The combined sum of the exact parts, and the best bounds.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub fold: Fold,
    /// The sum of the exact parts, or the largest of their sums.
    pub lower: Scaled,
    /// The relative error of `lower`.
    pub error: f64,
    /// The values of the maximised variables that attain `lower`; empty if there are none.
    pub best: Values,
    /// The best bounds so far.
    pub last: SumBounds,
}

impl Found {
    pub fn new(fold: Fold) -> Self {
        Found { fold, lower: Scaled::ZERO, error: 0.0, best: Vec::new(), last: SumBounds::NONE }
    }

    /// Records the sum of the whole, which replaces the sums of parts.
    pub fn whole(&mut self, sum: Sum) {
        (self.lower, self.error) = (Scaled::ZERO, 0.0);
        self.exact(sum);
    }

    /// Records the exact sum of one more part.
    pub fn exact(&mut self, sum: Sum) {
        self.last.exact_parts += 1;
        self.known(&sum);
    }

    /// Records a sum that is a lower bound on the whole, or the sum of a part.
    pub fn known(&mut self, Sum { sum, error, values }: &Sum) {
        self.error = self.error.max(*error) + if self.fold == Fold::Sum { ROUNDOFF } else { 0.0 };
        if self.fold == Fold::Max && sum.is_above(self.lower) {
            self.best.clone_from(values);
        }
        self.lower = self.fold.both(self.lower, *sum);
    }

    /// Records an upper bound on the whole.
    pub fn at_most(&mut self, upper: Scaled) {
        self.last.upper = self.last.upper.min(raised(upper.ln(), ROUNDOFF));
    }

    /// Records a lower bound on the whole with its relative error.
    pub fn at_least(&mut self, lower: Scaled, error: f64) {
        self.last.lower = raised(lower.ln(), -error).max(self.last.lower).min(self.last.upper);
    }

    /// Returns the logarithm of the combined sum of exact parts, and its absolute error.
    pub fn sum(&self) -> (f64, f64) {
        let ln = self.lower.ln();
        (ln, self.error + (2.0 + 2.0 * ln.abs()) * ROUNDOFF)
    }

    /// Returns whether a part with this upper bound may change the result.
    pub fn may_gain(&self, upper: Scaled) -> bool {
        upper.mantissa > 0.0 && (self.fold == Fold::Sum || upper.is_above(self.lower))
    }

    /// Returns an upper bound on the whole if parts with these upper bounds are open, and the number of roundings that
    /// the bound does not account for.
    fn all(&self, open: impl Iterator<Item = Scaled>) -> (Scaled, f64) {
        let known = self.lower.times(Scaled::new(1.0 + self.error));
        let add = |(all, count): (Scaled, f64), upper: Scaled| (self.fold.both(all, upper), count + 1.0);
        open.fold((known, 4.0), add)
    }

    /// Returns an upper bound on the whole if parts with these upper bounds are open, rounded up.
    pub fn most(&self, open: impl Iterator<Item = Scaled>) -> Scaled {
        let (all, count) = self.all(open);
        all.times(Scaled::new(1.0 + 2.0 * count * ROUNDOFF))
    }

    /// Updates the bounds for open parts with these upper bounds.
    pub fn bounds(&mut self, open: impl Iterator<Item = Scaled> + Clone) {
        let (all, count) = self.all(open.clone());
        self.last.open_parts = open.filter(|&upper| self.may_gain(upper)).count() as u64;
        self.last.upper = self.last.upper.min(raised(all.ln(), count * ROUNDOFF));
        self.last.lower = raised(self.lower.ln(), -self.error).max(self.last.lower).min(self.last.upper);
    }
}

/// Returns the logarithm after a relative change `by` of its number and the logarithm's own rounding, both in the
/// direction of `by`.
fn raised(ln: f64, by: f64) -> f64 {
    if ln.is_finite() { ln + by + by.signum() * (2.0 + 2.0 * ln.abs()) * ROUNDOFF } else { ln }
}
