//! The meaning of a [`Network`](super::Network)'s integer costs in the file's own convention.

use super::{Cost, Number};

/// How integer costs translate to the numbers of a file.
///
/// The value of an assignment in the file's convention is `±(sum of costs) / 10^decimals`, with a minus sign if the
/// file maximises. `rounded` counts the functions whose entries were rounded to the nearest unit: each can be off by
/// half a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Units {
    /// The number of decimal digits that a unit stands for.
    pub decimals: u32,
    /// Whether the file's values grow when costs fall: log values of `.uai`, and files that state it.
    pub maximise: bool,
    /// The number of functions whose entries were rounded.
    pub rounded: u64,
}

impl Units {
    /// Integer costs, minimised, exact.
    pub const INTEGER: Units = Units { decimals: 0, maximise: false, rounded: 0 };

    /// Returns the number of units in one unit of the file.
    pub fn scale(&self) -> f64 {
        10f64.powi(self.decimals as i32)
    }

    /// Converts a cost to the file's convention.
    pub fn number(&self, cost: Cost) -> Number {
        let signed = if self.maximise { -cost } else { cost };
        match self.decimals {
            0 => Number::Integer(signed),
            decimals => Number::Decimal { units: signed, decimals },
        }
    }

    /// Returns whether a value is better than another one, both in the file's convention.
    pub fn is_better(&self, value: Number, other: Number) -> bool {
        if self.maximise { value > other } else { value < other }
    }

    /// Returns a cost that no value at least as good as `worst` exceeds; if `worst` is exact, it is the least such
    /// cost.
    pub fn largest_cost(&self, worst: Number) -> Cost {
        worst.floor(self.decimals, self.maximise).clamp(Cost::MIN.into(), Cost::MAX.into()) as Cost
    }

    /// Converts a lower bound on the cost to the file's convention, with the rounding error subtracted: an upper bound
    /// if the file maximises.
    pub fn bound(&self, cost: Cost) -> Number {
        if self.rounded == 0 {
            return self.number(cost);
        }
        // half a unit for each function, rounded up to whole units, so that decisions use integers only
        self.number(cost.saturating_sub(self.rounded.div_ceil(2) as Cost))
    }

    /// Returns the largest rounding error of a sum, in the file's unit. If `proved` gives an optimal value and its
    /// bound, this is their distance, the remaining uncertainty.
    pub fn precision_slack(&self, proved: Option<(Number, Number)>) -> f64 {
        match proved {
            Some((value, bound)) => bound.distance(value),
            None => self.rounded.div_ceil(2) as f64 / self.scale(),
        }
    }
}
