//! The meaning of a [`Network`](super::Network)'s integers in the file's own convention.

use super::{Cost, Number};

/// How integer costs translate to the numbers of the file.
///
/// The value of an assignment in the file's convention is `±(sum of costs) / 10^decimals`, the sign
/// being minus where the file maximises. `rounded` counts the functions whose entries were rounded to
/// the nearest unit: each can be off by half a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Units {
    /// Decimal digits behind the point of one unit.
    pub decimals: u32,
    /// The file's values grow where costs fall: log values of `.uai`, files that say so.
    pub maximise: bool,
    /// Functions whose entries were rounded.
    pub rounded: u64,
}

impl Units {
    /// Integer costs, minimised, exact.
    pub const INTEGER: Units = Units { decimals: 0, maximise: false, rounded: 0 };

    /// Units in one of the file's own unit.
    pub fn scale(&self) -> f64 {
        10f64.powi(self.decimals as i32)
    }

    /// A cost in the file's convention.
    pub fn number(&self, cost: Cost) -> Number {
        let signed = if self.maximise { -cost } else { cost };
        match self.decimals {
            0 => Number::Integer(signed),
            decimals => Number::Decimal { units: signed, decimals },
        }
    }

    /// Whether a value is better than another one, both in the file's convention.
    pub fn is_better(&self, value: Number, other: Number) -> bool {
        if self.maximise { value > other } else { value < other }
    }

    /// A cost that no value at least as good as `worst` exceeds: the largest of theirs where `worst` is exact.
    pub fn largest_cost(&self, worst: Number) -> Cost {
        worst.floor(self.decimals, self.maximise).clamp(Cost::MIN.into(), Cost::MAX.into()) as Cost
    }

    /// A lower bound on the cost in the file's convention, with the rounding taken off: an upper bound
    /// where the file maximises.
    pub fn bound(&self, cost: Cost) -> Number {
        if self.rounded == 0 {
            return self.number(cost);
        }
        // half a unit for each function, rounded up to whole units: the decision stays integer
        self.number(cost.saturating_sub(self.rounded.div_ceil(2) as Cost))
    }

    /// The largest rounding error of a sum, in the file's unit; where a value is `proved` optimal by its bound, the
    /// remaining uncertainty.
    pub fn precision_slack(&self, proved: Option<(Number, Number)>) -> f64 {
        match proved {
            Some((value, bound)) => bound.distance(value),
            None => self.rounded.div_ceil(2) as f64 / self.scale(),
        }
    }
}
