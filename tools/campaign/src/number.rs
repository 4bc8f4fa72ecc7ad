//! Exact decimals, and numbers of any size for sums of products. No code is shared with the library under test.

use std::cmp::Ordering;
use std::fmt;

/// ln 2 in two parts, the first with so few bits that its products with exponents of 20 bits are exact.
const LN_2_HIGH: f64 = 6.931_471_803_691_238e-1;
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;

/// An exact decimal number: `digits` times ten to the power of `exponent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decimal {
    /// The digits, with the sign.
    pub digits: i128,
    /// The power of ten.
    pub exponent: i32,
}

impl Decimal {
    /// Returns an integer.
    pub fn integer(digits: i128) -> Self {
        Decimal { digits, exponent: 0 }
    }

    /// Parses a decimal number in JSON's notation. Returns `None` if the text is no such number.
    pub fn parse(text: &str) -> Option<Self> {
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse().ok()?),
            None => (text, 0),
        };
        let (whole, behind) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        // trailing zeros only increase the number of digits
        let behind = behind.trim_end_matches('0');
        let digits = format!("{whole}{behind}").parse().ok()?;
        Some(Decimal { digits, exponent: exponent - behind.len() as i32 })
    }

    /// Returns the nearest double.
    pub fn as_f64(self) -> f64 {
        format!("{}e{}", self.digits, self.exponent).parse().unwrap_or(f64::NAN)
    }

    /// Returns the number in units of 10^-`decimals`, or `None` if it is not a whole number of units or exceeds 128
    /// bits.
    pub fn in_units(self, decimals: u32) -> Option<i128> {
        let shift = i64::from(self.exponent) + i64::from(decimals);
        let power = 10i128.checked_pow(u32::try_from(shift.unsigned_abs()).ok()?);
        match (self.digits, shift < 0, power) {
            (0, ..) => Some(0),
            (digits, false, Some(power)) => digits.checked_mul(power),
            (digits, true, Some(power)) if digits % power == 0 => Some(digits / power),
            _ => None,
        }
    }
}

impl fmt::Display for Decimal {
    /// Writes the number without an exponent if it has at most 30 digits after the decimal point and needs no trailing
    /// zeros.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Decimal { digits, exponent } = *self;
        let (sign, digits) = (if digits < 0 { "-" } else { "" }, digits.unsigned_abs());
        match exponent {
            0 => write!(f, "{sign}{digits}"),
            -30..0 => {
                let behind = exponent.unsigned_abs() as usize;
                let text = format!("{digits:0>width$}", width = behind + 1);
                let (whole, behind) = text.split_at(text.len() - behind);
                write!(f, "{sign}{whole}.{behind}")
            }
            _ => write!(f, "{sign}{digits}e{exponent}"),
        }
    }
}

/// A nonnegative number of any size: `mantissa` times two to the power of `exponent`. The highest bit of the mantissa
/// is set unless the number is 0. Products and quotients have a relative error of at most 2^-60.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wide {
    mantissa: u128,
    exponent: i64,
}

impl Wide {
    /// Zero.
    pub const ZERO: Wide = Wide { mantissa: 0, exponent: 0 };
    /// One.
    pub const ONE: Wide = Wide { mantissa: 1 << 127, exponent: -127 };

    fn normal(mantissa: u128, exponent: i64) -> Self {
        if mantissa == 0 {
            return Wide::ZERO;
        }
        let zeros = mantissa.leading_zeros();
        Wide { mantissa: mantissa << zeros, exponent: exponent - i64::from(zeros) }
    }

    /// Returns the absolute value of a decimal.
    pub fn of(decimal: Decimal) -> Self {
        let own = Wide::normal(decimal.digits.unsigned_abs(), 0);
        let power = Wide::normal(10, 0).power(decimal.exponent.unsigned_abs());
        if decimal.exponent >= 0 { own.times(power) } else { own.over(power) }
    }

    /// Returns e to the power of a finite double, with a relative error of at most (3 + |x|) 2^-53.
    pub fn exp(x: f64) -> Self {
        let powers = (x * std::f64::consts::LOG2_E).round();
        let rest = ((x - powers * LN_2_HIGH) - powers * LN_2_LOW).exp();
        // between 1/2 and 2, so that all bits are kept
        Wide::normal((rest * 2f64.powi(64)) as u128, powers as i64 - 64)
    }

    fn power(self, mut left: u32) -> Self {
        let (mut power, mut square) = (Wide::ONE, self);
        while left > 0 {
            if left & 1 == 1 {
                power = power.times(square);
            }
            square = square.times(square);
            left >>= 1;
        }
        power
    }

    /// Returns whether the number is 0.
    pub fn is_zero(self) -> bool {
        self.mantissa == 0
    }

    /// Returns the product.
    pub fn times(self, other: Wide) -> Self {
        let product = (self.mantissa >> 64) * (other.mantissa >> 64);
        Wide::normal(product, self.exponent + other.exponent + 128)
    }

    /// Returns the quotient by a number above 0.
    pub fn over(self, other: Wide) -> Self {
        Wide::normal(self.mantissa / (other.mantissa >> 64), self.exponent - other.exponent - 64)
    }

    /// Returns the sum.
    pub fn plus(self, other: Wide) -> Self {
        let (most, least) = match (self.mantissa, other.mantissa) {
            (0, _) => return other,
            (_, 0) => return self,
            _ if self.exponent >= other.exponent => (self, other),
            _ => (other, self),
        };
        let apart = u32::try_from(most.exponent - least.exponent).unwrap_or(u32::MAX);
        // one bit is reserved for the carry
        let small = least.mantissa.checked_shr(apart.saturating_add(1)).unwrap_or(0);
        Wide::normal((most.mantissa >> 1) + small, most.exponent + 1)
    }

    /// Returns the natural logarithm; minus infinity for 0.
    pub fn ln(self) -> f64 {
        let fraction = self.mantissa as f64 * 2f64.powi(-128);
        let exponent = self.exponent + 128;
        match exponent {
            // avoids cancellation near 1
            0 | 1 => (fraction * if exponent == 0 { 1.0 } else { 2.0 }).ln(),
            _ => exponent as f64 * LN_2_HIGH + (fraction.ln() + exponent as f64 * LN_2_LOW),
        }
    }

    /// Returns the quotient by a positive sum, as a double.
    pub fn part_of(self, sum: Wide) -> f64 {
        let Wide { mantissa, exponent } = self.over(sum);
        let scale = exponent.clamp(-4000, 4000) as i32;
        mantissa as f64 * 2f64.powi(scale / 2) * 2f64.powi(scale - scale / 2)
    }
}

impl PartialOrd for Wide {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Wide {
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |wide: &Wide| (wide.mantissa > 0, if wide.mantissa > 0 { wide.exponent } else { 0 }, wide.mantissa);
        key(self).cmp(&key(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact() {
        for (text, digits, exponent) in [("12", 12, 0), ("-0.50", -5, -1), ("1e3", 1, 3), ("2.5e-7", 25, -8)] {
            assert_eq!(Decimal::parse(text), Some(Decimal { digits, exponent }), "{text}");
        }
        assert_eq!(Decimal::parse("x"), None);
        assert_eq!(Decimal { digits: -5, exponent: -2 }.to_string(), "-0.05");
        assert_eq!(Decimal { digits: 12, exponent: 2 }.in_units(1), Some(12_000));
        assert_eq!(Decimal { digits: 125, exponent: -2 }.in_units(1), None);
        assert_eq!(Decimal { digits: (1 << 60) + 1, exponent: -3 }.to_string(), "1152921504606846.977");
    }

    #[test]
    fn wide_numbers_beyond_doubles() {
        let of = |digits, exponent| Wide::of(Decimal { digits, exponent });
        for exponent in [-2000, -700, -20, 0, 3, 700, 2000] {
            let ln = 7f64.ln() + f64::from(exponent) * std::f64::consts::LN_10;
            assert!((of(7, exponent).ln() - ln).abs() <= 4e-16 * ln.abs().max(1.0), "{exponent}");
        }
        let sum = of(1, 700).plus(of(3, 700)).times(of(1, -1400)).over(of(4, -700));
        assert!(sum.ln().abs() < 1e-17, "{}", sum.ln());
        assert!((of(1, 900).part_of(of(4, 900)) - 0.25).abs() < 1e-17);
        assert!(of(2, -900) < of(3, -900) && Wide::ZERO < of(1, -900) && of(9, -1) < of(1, 0));
        assert_eq!(Wide::ZERO.plus(Wide::ONE).times(Wide::ZERO), Wide::ZERO);
        for x in [0.0, -700.25, 1e4, 1e-9] {
            assert!((Wide::exp(x).ln() - x).abs() <= (3.0 + 2.0 * x.abs()) * 2f64.powi(-53), "{x}");
        }
    }
}
