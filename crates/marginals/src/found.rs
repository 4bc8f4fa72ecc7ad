//! What is known of a sum while its parts become known: exact parts, and bounds from both sides.

use crate::model::{ROUNDOFF, Scaled};

/// Variables and values.
pub(super) type Values = Vec<(u32, u32)>;

/// A sum that is known, or what it is at least.
#[derive(Clone, Debug)]
pub(super) struct Sum {
    pub sum: Scaled,
    /// How far it may be off, relatively.
    pub error: f64,
    /// The values of the maximised variables.
    pub values: Values,
}

/// Bounds on the sum over all assignments, or on the largest of sums.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SumBounds {
    /// The logarithm of the sum is at least this; minus infinity where nothing is known.
    pub lower: f64,
    /// And at most this.
    pub upper: f64,
    /// Parts whose sums are known exactly, up to rounding.
    pub exact_parts: u64,
    /// Parts that are bounded only.
    pub open_parts: u64,
}

impl SumBounds {
    /// Nothing is known.
    pub(super) const NONE: SumBounds =
        SumBounds { lower: f64::NEG_INFINITY, upper: f64::INFINITY, exact_parts: 0, open_parts: 1 };

    /// Returns the intersection of two intervals of the same sum.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let later = if other.open_parts == 0 || self.open_parts > 0 { other } else { self };
        let upper = self.upper.min(other.upper);
        SumBounds { lower: self.lower.max(other.lower).min(upper), upper, ..later }
    }

    /// A logarithm is known but for an error.
    pub(super) fn near(ln: f64, error: f64) -> Self {
        SumBounds { lower: ln - error, upper: ln + error, exact_parts: 1, open_parts: 0 }
    }
}

/// How parts make the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fold {
    /// Their sums are added.
    Sum,
    /// The largest of them counts.
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

/// Exact parts so far, and the best bounds.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub fold: Fold,
    pub lower: Scaled,
    /// Relative error of the sum of exact parts.
    pub error: f64,
    /// The values of the maximised variables that have the largest sum so far.
    pub best: Values,
    pub last: SumBounds,
}

impl Found {
    pub fn new(fold: Fold) -> Self {
        Found { fold, lower: Scaled::ZERO, error: 0.0, best: Vec::new(), last: SumBounds::NONE }
    }

    /// The whole is known: what is known of its parts counts no more.
    pub fn whole(&mut self, sum: Sum) {
        (self.lower, self.error) = (Scaled::ZERO, 0.0);
        self.exact(sum);
    }

    /// A part is known.
    pub fn exact(&mut self, sum: Sum) {
        self.last.exact_parts += 1;
        self.known(&sum);
    }

    /// The whole is known to be at least so much.
    pub fn known(&mut self, Sum { sum, error, values }: &Sum) {
        self.error = self.error.max(*error) + if self.fold == Fold::Sum { ROUNDOFF } else { 0.0 };
        if self.fold == Fold::Max && sum.is_above(self.lower) {
            self.best.clone_from(values);
        }
        self.lower = self.fold.both(self.lower, *sum);
    }

    /// No more than this is the whole.
    pub fn at_most(&mut self, upper: Scaled) {
        self.last.upper = self.last.upper.min(raised(upper.ln(), ROUNDOFF));
    }

    /// The whole is at least so much, which may be off by an error, relatively.
    pub fn at_least(&mut self, lower: Scaled, error: f64) {
        self.last.lower = raised(lower.ln(), -error).max(self.last.lower).min(self.last.upper);
    }

    /// The logarithm of what is known exactly, and how far it may be off.
    pub fn sum(&self) -> (f64, f64) {
        let ln = self.lower.ln();
        (ln, self.error + (2.0 + 2.0 * ln.abs()) * ROUNDOFF)
    }

    /// Whether a part that is no more than this could matter.
    pub fn may_gain(&self, upper: Scaled) -> bool {
        upper.mantissa > 0.0 && (self.fold == Fold::Sum || upper.is_above(self.lower))
    }

    /// No more than this is the whole once parts of these upper bounds are open, but for `count` roundings.
    fn all(&self, open: impl Iterator<Item = Scaled>) -> (Scaled, f64) {
        let known = self.lower.times(Scaled::new(1.0 + self.error));
        let add = |(all, count): (Scaled, f64), upper: Scaled| (self.fold.both(all, upper), count + 1.0);
        open.fold((known, 4.0), add)
    }

    /// No more than this is the whole once parts of these upper bounds are open, rounded up.
    pub fn most(&self, open: impl Iterator<Item = Scaled>) -> Scaled {
        let (all, count) = self.all(open);
        all.times(Scaled::new(1.0 + 2.0 * count * ROUNDOFF))
    }

    /// The bounds once parts of these upper bounds are open.
    pub fn bounds(&mut self, open: impl Iterator<Item = Scaled> + Clone) {
        let (all, count) = self.all(open.clone());
        self.last.open_parts = open.filter(|&upper| self.may_gain(upper)).count() as u64;
        self.last.upper = self.last.upper.min(raised(all.ln(), count * ROUNDOFF));
        self.last.lower = raised(self.lower.ln(), -self.error).max(self.last.lower).min(self.last.upper);
    }
}

/// A logarithm moved by a relative error of its number, and by its own rounding in the same direction.
fn raised(ln: f64, by: f64) -> f64 {
    if ln.is_finite() { ln + by + by.signum() * (2.0 + 2.0 * ln.abs()) * ROUNDOFF } else { ln }
}
