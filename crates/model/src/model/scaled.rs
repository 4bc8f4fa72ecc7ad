//! Nonnegative numbers of any magnitude: a double times a power of two.

use super::{Decimal, Stated};

/// The high part of ln 2, with so few bits that its products with exponents of 20 bits are exact.
const LN_2_HIGH: f64 = 6.931_471_803_691_238e-1;
/// The low part of ln 2.
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;

/// The unit roundoff of doubles.
pub const ROUNDOFF: f64 = f64::EPSILON / 2.0;

/// The difference of exponents from which on a number does not change a larger one when added.
const APART: i64 = 80;

/// The number `mantissa` times two to the power of `exponent`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scaled {
    /// The mantissa, in [1/2, 1), or 0.
    pub mantissa: f64,
    /// The power of two; 0 if the mantissa is 0.
    pub exponent: i64,
}

impl Scaled {
    /// Zero.
    pub const ZERO: Scaled = Scaled { mantissa: 0.0, exponent: 0 };
    /// One.
    pub const ONE: Scaled = Scaled { mantissa: 0.5, exponent: 1 };

    /// Converts a finite, nonnegative double exactly.
    pub fn new(double: f64) -> Self {
        Scaled::with(double, 0)
    }

    /// Multiplies a nonnegative double by a power of two exactly.
    pub fn with(double: f64, exponent: i64) -> Self {
        if double == 0.0 {
            return Scaled::ZERO;
        }
        let (mantissa, own) = split(double);
        Scaled { mantissa, exponent: exponent + own }
    }

    /// Converts a number of a file, with a relative error of at most (1 + e / 512) [`ROUNDOFF`]s if the absolute value
    /// of its power of ten is e.
    pub fn of(stated: Stated) -> Self {
        match stated {
            Stated::Double(double) => Scaled::new(double),
            Stated::Decimal(decimal) => Scaled::of_decimal(decimal),
        }
    }

    /// Returns e to the power of x, for x below infinity and not NaN, with a relative error of at most (2 + |x|)
    /// [`ROUNDOFF`]s.
    pub fn exp(x: f64) -> Self {
        if x == f64::NEG_INFINITY {
            return Scaled::ZERO;
        }
        let powers = (x * std::f64::consts::LOG2_E).round();
        Scaled::with(((x - powers * LN_2_HIGH) - powers * LN_2_LOW).exp(), powers as i64)
    }

    /// Converts a decimal number with 64-bit integers: each product is truncated to its leading bits.
    fn of_decimal(Decimal { digits, exponent }: Decimal) -> Self {
        let times = |(a, m): (u64, i64), (b, n): (u64, i64)| {
            let product = u128::from(a) * u128::from(b);
            let zeros = product.leading_zeros();
            ((product << zeros >> 64) as u64, m + n + 64 - i64::from(zeros))
        };
        let normal = |a: u64| (a << a.leading_zeros(), -i64::from(a.leading_zeros()));
        let (mut power, mut square, mut left) = (normal(1), normal(10), exponent.unsigned_abs());
        while left > 0 {
            if left & 1 == 1 {
                power = times(power, square);
            }
            square = times(square, square);
            left >>= 1;
        }
        let (leading, shift) = match (normal(digits), power) {
            (own, power) if exponent >= 0 => times(own, power),
            ((own, m), (power, n)) => {
                let quotient = (u128::from(own) << 63) / u128::from(power);
                (quotient as u64, m - n - 63)
            }
        };
        Scaled::with(leading as f64, shift)
    }

    /// Returns the product of both numbers.
    pub fn times(self, other: Scaled) -> Self {
        Scaled::with(self.mantissa * other.mantissa, self.exponent + other.exponent)
    }

    /// Returns the sum of both numbers.
    pub fn plus(self, other: Scaled) -> Self {
        let (most, least) = match (self.mantissa == 0.0, other.mantissa == 0.0) {
            (true, _) => return other,
            (_, true) => return self,
            _ if self.exponent >= other.exponent => (self, other),
            _ => (other, self),
        };
        let apart = least.exponent - most.exponent;
        let small = if apart < -APART { 0.0 } else { scale(least.mantissa, apart) };
        Scaled::with(most.mantissa + small, most.exponent)
    }

    /// Returns the number's fraction of `sum`, which must be positive, as a double.
    pub fn part_of(self, sum: Scaled) -> f64 {
        scale(self.mantissa / sum.mantissa, self.exponent - sum.exponent)
    }

    /// Returns whether the number is larger than `other`.
    pub fn is_above(self, other: Scaled) -> bool {
        let key = |scaled: Scaled| (scaled.mantissa > 0.0, scaled.exponent);
        match key(self).cmp(&key(other)) {
            std::cmp::Ordering::Equal => self.mantissa > other.mantissa,
            order => order.is_gt(),
        }
    }

    /// Returns the natural logarithm; minus infinity for zero.
    pub fn ln(self) -> f64 {
        // near 1, scale the mantissa so that no digits cancel
        if self.exponent == 1 {
            return (2.0 * self.mantissa).ln();
        }
        let exponent = self.exponent as f64;
        exponent * LN_2_HIGH + (self.mantissa.ln() + exponent * LN_2_LOW)
    }

    /// Returns the number as a double; infinity or 0 if it is outside of the range of doubles.
    pub fn double(self) -> f64 {
        scale(self.mantissa, self.exponent)
    }
}

/// Splits a positive double into a mantissa in [1/2, 1) and an exponent.
fn split(double: f64) -> (f64, i64) {
    let bits = double.to_bits();
    match (bits >> 52) as i64 {
        0 => {
            let (mantissa, exponent) = split(double * 2f64.powi(64));
            (mantissa, exponent - 64)
        }
        biased => (f64::from_bits((bits & !(0x7ff << 52)) | (1022 << 52)), biased - 1022),
    }
}

/// Multiplies a double by a power of two; the result is rounded only if it is subnormal.
pub fn scale(double: f64, exponent: i64) -> f64 {
    // three factors, none of which is out of range on its own
    let exponent = exponent.clamp(-3000, 3000) as i32;
    let third = exponent / 3;
    double * 2f64.powi(third) * 2f64.powi(third) * 2f64.powi(exponent - 2 * third)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_are_split_exactly() {
        for double in [1.0, 0.5, 0.1, 5e-324, 1e-310, f64::MIN_POSITIVE, f64::MAX, 3.0] {
            let scaled = Scaled::new(double);
            assert!((0.5..1.0).contains(&scaled.mantissa));
            assert_eq!(scaled.double(), double);
        }
        assert_eq!((Scaled::new(0.0), Scaled::new(1.0)), (Scaled::ZERO, Scaled::ONE));
        assert_eq!(Scaled::ZERO.ln(), f64::NEG_INFINITY);
        assert_eq!(Scaled::new(0.75).times(Scaled::new(4.0)).double(), 3.0);
    }

    #[test]
    fn decimals_and_exponentials_beyond_doubles() {
        let decimal = |digits, exponent| Scaled::of(Stated::Decimal(Decimal { digits, exponent }));
        for (digits, exponent) in [(1, 0), (25, -2), (123_456_789, 12), (7, -300), (u64::MAX, 280), (1, -5)] {
            let double: f64 = format!("{digits}e{exponent}").parse().expect("a number");
            assert!((decimal(digits, exponent).double() / double - 1.0).abs() <= 2.0 * ROUNDOFF, "{digits}e{exponent}");
        }
        assert!((decimal(1, -400).ln() + 400.0 * std::f64::consts::LN_10).abs() < 1e-12);
        assert!((decimal(1, 4000).ln() / (4000.0 * std::f64::consts::LN_10) - 1.0).abs() < 4.0 * ROUNDOFF);
        for x in [0.0, 1e-9, -0.7, 12.25, -699.0, 700.0, 1e4, -123_456.0] {
            let exp = Scaled::exp(x);
            assert!((exp.ln() - x).abs() <= (2.0 + x.abs()) * f64::EPSILON, "{x}: {}", exp.ln() - x);
        }
        assert_eq!((Scaled::exp(f64::NEG_INFINITY), Scaled::exp(0.0)), (Scaled::ZERO, Scaled::ONE));
    }

    #[test]
    fn scaling_ends_at_the_range_of_doubles() {
        assert_eq!(
            [scale(0.5, 1), scale(0.5, -1073), scale(0.5, -9000), scale(0.5, 9000)],
            [1.0, 5e-324, 0.0, f64::INFINITY]
        );
    }
}
