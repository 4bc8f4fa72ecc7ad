//! Numbers in a file's own convention, exact if costs are exact.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use std::cmp::Ordering;
use std::fmt;

/// The maximum number of decimals of a [`Number::Decimal`] read from text: their power of ten fits 64 bits.
const MOST_DECIMALS: usize = 18;

/// A number in the file's convention: an exact integer or decimal, or a floating-point number.
#[derive(Clone, Copy, Debug)]
pub enum Number {
    /// An exact integer.
    Integer(i64),
    /// An exact decimal number.
    Decimal {
        /// The number in units of 10^-`decimals`.
        units: i64,
        /// Decimal digits, at most 18.
        decimals: u32,
    },
    /// A floating-point number.
    Real(f64),
}

impl Number {
    /// Returns the number as a double, for gaps and charts.
    pub fn as_f64(self) -> f64 {
        match self {
            Number::Integer(i) => i as f64,
            Number::Decimal { units, decimals } => units as f64 / 10f64.powi(decimals as i32),
            Number::Real(r) => r,
        }
    }

    /// Parses a decimal number in JSON syntax, exactly if it has neither an exponent nor too many digits. Returns
    /// `None` if it is not a finite number.
    pub fn parse(text: &str) -> Option<Number> {
        if let Ok(integer) = text.parse() {
            return Some(Number::Integer(integer));
        }
        let exact = text.split_once('.').and_then(|(whole, behind)| {
            let fits =
                !behind.is_empty() && behind.len() <= MOST_DECIMALS && behind.bytes().all(|b| b.is_ascii_digit());
            let units = fits.then(|| format!("{whole}{behind}").parse().ok())??;
            Some(Number::Decimal { units, decimals: behind.len() as u32 })
        });
        exact.or_else(|| Some(Number::Real(text.parse().ok().filter(|real: &f64| real.is_finite())?)))
    }

    /// Returns the absolute difference of two numbers, rounded once if both are exact: it is 0 only if they are equal.
    pub fn distance(self, other: Number) -> f64 {
        match (self.exact(), other.exact()) {
            (Some((a, a_decimals)), Some((b, b_decimals))) => {
                let decimals = a_decimals.max(b_decimals);
                let units = |units: i64, own: u32| i128::from(units) * 10i128.pow(decimals - own);
                (units(a, a_decimals) - units(b, b_decimals)).unsigned_abs() as f64 / 10f64.powi(decimals as i32)
            }
            _ => (self.as_f64() - other.as_f64()).abs(),
        }
    }

    /// Returns the largest integer, in units of 10^-`decimals`, that is at most the number, or at most minus the number
    /// if `negated`. For doubles the result may be slightly larger, because their product is rounded.
    pub(super) fn floor(self, decimals: u32, negated: bool) -> i128 {
        let sign = if negated { -1 } else { 1 };
        match self.exact() {
            Some((units, own)) => (sign * i128::from(units) * 10i128.pow(decimals)).div_euclid(10i128.pow(own)),
            None => {
                let scaled = f64::from(sign as i8) * self.as_f64() * 10f64.powi(decimals as i32);
                (scaled + 2.0 * scaled.abs() * f64::EPSILON).ceil() as i128
            }
        }
    }

    /// Returns the units and decimals of an exact number, else `None`.
    fn exact(self) -> Option<(i64, u32)> {
        match self {
            Number::Integer(i) => Some((i, 0)),
            Number::Decimal { units, decimals } => Some((units, decimals)),
            Number::Real(_) => None,
        }
    }
}

impl From<f64> for Number {
    fn from(real: f64) -> Number {
        Number::Real(real)
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Number) -> bool {
        self.partial_cmp(other) == Some(Ordering::Equal)
    }
}

/// Exact numbers are compared as integers, and an integer is compared exactly with a double. A decimal number equals
/// the doubles nearest to it.
impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Number) -> Option<Ordering> {
        match (*self, *other) {
            (Number::Integer(a), Number::Real(b)) => with_real(a, b),
            (Number::Real(a), Number::Integer(b)) => with_real(b, a).map(Ordering::reverse),
            (a, b) => match (a.exact(), b.exact()) {
                (Some((a, a_decimals)), Some((b, b_decimals))) => {
                    let common = |units: i64, more: u32| i128::from(units) * 10i128.pow(more);
                    Some(common(a, b_decimals).cmp(&common(b, a_decimals)))
                }
                _ => a.as_f64().partial_cmp(&b.as_f64()),
            },
        }
    }
}

/// Compares an integer with a double; `None` if the double is NaN.
fn with_real(integer: i64, real: f64) -> Option<Ordering> {
    // the integer part of a double below 2^100 is exact in 128 bits
    let below = real.clamp(-1e30, 1e30).floor();
    let order = i128::from(integer).cmp(&(below as i128));
    let has_fraction = below < real;
    (!real.is_nan()).then(|| if order == Ordering::Equal && has_fraction { Ordering::Less } else { order })
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Number::Integer(i) => write!(f, "{i}"),
            Number::Decimal { units, decimals } => {
                let power = 10u64.pow(decimals);
                let (whole, behind) = (units.unsigned_abs() / power, units.unsigned_abs() % power);
                let behind = format!("{behind:0width$}", width = decimals as usize);
                let behind = behind.trim_end_matches('0');
                let (sign, point) = (if units < 0 { "-" } else { "" }, if behind.is_empty() { "" } else { "." });
                write!(f, "{sign}{whole}{point}{behind}")
            }
            Number::Real(r) => write!(f, "{r}"),
        }
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Number::Integer(i) => serializer.serialize_i64(i),
            // a double keeps 15 digits, is written with a point, and is read back unchanged
            Number::Decimal { units, .. } if units.unsigned_abs() < 10u64.pow(f64::DIGITS) => {
                serializer.serialize_f64(self.as_f64())
            }
            Number::Decimal { .. } => {
                let raw = RawValue::from_string(self.to_string()).map_err(serde::ser::Error::custom)?;
                raw.serialize(serializer)
            }
            Number::Real(r) => serializer.serialize_f64(r),
        }
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Number, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        Number::parse(raw.get()).ok_or_else(|| serde::de::Error::custom("expected a number"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Number {
        Number::parse(text).expect("a number")
    }

    #[test]
    fn large_numbers_are_compared_and_written_exactly() {
        // each number is less than the next, and doubles cannot distinguish most of them
        let ascending = [
            "-9007199254740993",
            "-9007199254740992.5",
            "-9007199254740992",
            "-0.5",
            "0",
            "0.000000000000000001",
            "1e-3",
            "9007199254740992.0",
            "9007199254740992.25",
            "9007199254740992.3",
            "9007199254740993",
            "4611686018427387903",
            "4611686018427387904",
            "1e30",
        ];
        for (a, one) in ascending.iter().enumerate() {
            for (b, other) in ascending.iter().enumerate() {
                let (x, y) = (number(one), number(other));
                assert_eq!(x.partial_cmp(&y), Some(a.cmp(&b)), "{one} {other}");
                assert_eq!(x.distance(y) == 0.0, a == b, "{one} {other}");
            }
            let written = serde_json::to_string(&number(one)).expect("JSON");
            let read: Number = serde_json::from_str(&written).expect("a number");
            assert_eq!(read, number(one), "{one}: {written}");
        }
        let json = |text: &str| serde_json::to_string(&number(text)).expect("JSON");
        // converted to doubles, these would lose the last digit
        for exact in ["9007199254740992.25", "9007199.254740991", "-8999999.999999999"] {
            assert_eq!(json(exact), exact);
        }
        assert_eq!(["2.50", "3.00", "-0.5"].map(json), ["2.5", "3.0", "-0.5"]);
        assert_eq!(["2.50", "3.00", "-0.05", "-0.0"].map(|text| number(text).to_string()), ["2.5", "3", "-0.05", "0"]);
        assert_eq!(["", "-", "x", "1.x", "inf", "NaN"].map(Number::parse).map(|read| read.is_none()), [true; 6]);
    }
}
