//! The meaning of a [`Network`](super::Network)'s integers in the file's own convention.

use super::Cost;
use serde::{Deserialize, Serialize};
use std::fmt;

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
        if self.decimals == 0 { Number::Integer(signed) } else { Number::Real(signed as f64 / self.scale()) }
    }

    /// Whether a value is better than another one, both in the file's convention.
    pub fn is_better(&self, value: Number, other: Number) -> bool {
        let (value, other) = (value.as_f64(), other.as_f64());
        if self.maximise { value > other } else { value < other }
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
            Some((value, bound)) => (bound.as_f64() - value.as_f64()).abs(),
            None => self.rounded.div_ceil(2) as f64 / self.scale(),
        }
    }
}

/// A number in the file's convention: an integer or a real.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Number {
    /// An exact integer.
    Integer(i64),
    /// A real number.
    Real(f64),
}

impl Number {
    /// As a float, for gaps and charts.
    pub fn as_f64(self) -> f64 {
        match self {
            Number::Integer(i) => i as f64,
            Number::Real(r) => r,
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Number::Integer(i) => write!(f, "{i}"),
            Number::Real(r) => write!(f, "{r}"),
        }
    }
}
