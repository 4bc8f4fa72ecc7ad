//! Real numbers of a file, kept exactly as digits and a power of ten, and their costs: integers of one unit.

use super::options::ReadOptions;
use super::tokens::Tokens;
use crate::error::Error;
use crate::model::rounding::MOST_DECIMALS;
use crate::model::{Cost, SUM_LIMIT, Units};

/// Digits that are kept are below this, so that twice a number fits 64 bits, too.
const DIGITS: i64 = 10i64.pow(18);

/// A number: `digits` times ten to the power of `exponent`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Real {
    digits: i64,
    exponent: i64,
    /// Whether the file has further digits than those kept.
    cut: bool,
}

impl Real {
    /// An integer.
    pub fn integer(digits: i64) -> Real {
        Real { digits, ..Real::default() }
    }

    /// A small multiple.
    pub fn times(self, factor: i64) -> Real {
        debug_assert!(factor.abs() <= 2);
        Real { digits: self.digits * factor, ..self }
    }

    /// Whether it is 0.
    pub fn is_zero(self) -> bool {
        self.digits == 0
    }

    /// The number as a double.
    pub fn as_f64(self) -> f64 {
        // beyond these powers of ten all numbers are 0 or infinite
        match self.exponent.clamp(-1000, 1000) as i32 {
            _ if self.digits == 0 => 0.0,
            exponent if exponent < 0 => self.digits as f64 / 10f64.powi(-exponent),
            exponent => self.digits as f64 * 10f64.powi(exponent),
        }
    }

    /// Its decimal digits behind the point.
    pub fn decimals(self) -> u32 {
        u32::try_from(self.exponent.min(0).unsigned_abs()).unwrap_or(u32::MAX)
    }

    /// The nearest multiple of 10^-decimals, and whether it is the number itself.
    pub fn units(self, decimals: u32) -> (Cost, bool) {
        let shift = self.exponent.saturating_add(decimals.into());
        let ten = |power: i64| u32::try_from(power).ok().and_then(|power| 10i128.checked_pow(power));
        let digits = i128::from(self.digits);
        let (units, exact) = match ten(shift.saturating_abs()) {
            _ if digits == 0 => (0, true),
            // the sum of all numbers fits
            Some(tens) if shift >= 0 => (digits.saturating_mul(tens), true),
            None if shift >= 0 => (i128::from(self.digits.signum()) * i128::from(Cost::MAX), false),
            Some(tens) => ((digits + digits.signum() * (tens / 2)) / tens, digits % tens == 0),
            None => (0, false),
        };
        (units.clamp(Cost::MIN.into(), Cost::MAX.into()) as Cost, exact && !self.cut)
    }
}

/// Parses a word: a sign, digits with or without a point, an exponent.
pub(super) fn parse(word: &[u8]) -> Option<Real> {
    let (negative, text) = match word {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let (mut digits, mut exponent, mut cut) = (0i64, 0i64, false);
    let (mut point, mut any) = (false, false);
    for (at, &byte) in text.iter().enumerate() {
        match byte {
            b'0'..=b'9' => {
                any = true;
                let digit = i64::from(byte - b'0');
                if digits < DIGITS / 10 {
                    digits = 10 * digits + digit;
                    exponent -= i64::from(point);
                } else {
                    cut |= digit > 0;
                    exponent += i64::from(!point);
                }
            }
            b'.' if !point => point = true,
            b'e' | b'E' if any => {
                exponent = exponent.saturating_add(power(&text[at + 1..])?);
                break;
            }
            _ => return None,
        }
    }
    while digits != 0 && digits % 10 == 0 && exponent < 0 {
        digits /= 10;
        exponent += 1;
    }
    let exponent = if digits == 0 { 0 } else { exponent };
    any.then_some(Real { digits: if negative { -digits } else { digits }, exponent, cut })
}

/// Whether a number of at least 0 is at least another one, both without exponents and with digits of any length; `None`
/// if one of them is something else.
pub(super) fn is_at_least(number: &[u8], other: &[u8]) -> Option<bool> {
    fn parts(word: &[u8]) -> Option<(&[u8], &[u8])> {
        let text = word.strip_prefix(b"+").unwrap_or(word);
        let point = text.iter().position(|&byte| byte == b'.').unwrap_or(text.len());
        let (whole, behind) = (&text[..point], text.get(point + 1..).unwrap_or_default());
        let is_number = !(whole.is_empty() && behind.is_empty()) && whole.iter().chain(behind).all(u8::is_ascii_digit);
        let first = whole.iter().position(|&byte| byte != b'0').unwrap_or(whole.len());
        let last = behind.iter().rposition(|&byte| byte != b'0').map_or(0, |last| last + 1);
        is_number.then(|| (&whole[first..], &behind[..last]))
    }
    let (one, two) = (parts(number)?, parts(other)?);
    Some(one.0.len().cmp(&two.0.len()).then_with(|| one.cmp(&two)).is_ge())
}

/// The power of ten behind an `e`.
fn power(text: &[u8]) -> Option<i64> {
    let digits = text.strip_prefix(b"-").or(text.strip_prefix(b"+")).unwrap_or(text);
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    let value =
        digits.iter().fold(0i64, |value, byte| value.saturating_mul(10).saturating_add(byte.wrapping_sub(b'0').into()));
    is_number.then_some(if text.starts_with(b"-") { -value } else { value })
}

/// What the numbers of a file need as integers of one unit.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Range {
    decimals: u32,
    /// Of the largest absolute cost of each function.
    sum: f64,
}

impl Range {
    /// Adds the function whose costs these are.
    pub fn add(&mut self, function: &[Real]) {
        self.decimals = function.iter().map(|real| real.decimals()).fold(self.decimals, u32::max);
        self.sum += function.iter().map(|real| real.as_f64().abs()).fold(0.0, f64::max);
    }

    /// Adds functions of one cost each, as places among some.
    pub fn add_all(&mut self, costs: &[Real], places: impl Iterator<Item = usize>) {
        self.decimals = costs.iter().map(|real| real.decimals()).fold(self.decimals, u32::max);
        let sizes: Vec<f64> = costs.iter().map(|real| real.as_f64().abs()).collect();
        places.for_each(|place| self.sum += sizes[place]);
    }

    /// The unit: as many digits as the numbers have or `--precision` asks for, fewer where 64 bits cannot hold the sum.
    ///
    /// # Errors
    /// Numbers that 64-bit costs do not hold.
    pub fn unit(&self, tokens: &Tokens<'_>, options: &ReadOptions) -> Result<Unit, Error> {
        let most = self.decimals.min(options.precision.unwrap_or(MOST_DECIMALS)).min(MOST_DECIMALS);
        let fits = |&decimals: &u32| self.sum * 10f64.powi(decimals as i32) < SUM_LIMIT;
        match (0..=most).rev().find(fits) {
            Some(decimals) => Ok(Unit { decimals, rounded: 0 }),
            None => Err(tokens.error_with(
                "smaller numbers",
                format!("the largest ones of all functions add up to {:e}, which passes 64-bit costs", self.sum),
            )),
        }
    }
}

/// Turns real numbers into costs, and counts the functions that rounding changes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unit {
    decimals: u32,
    /// The functions changed so far.
    pub rounded: u64,
}

impl Unit {
    /// The costs of a function.
    pub fn costs<const N: usize>(&mut self, function: [Real; N]) -> [Cost; N] {
        self.rounded += u64::from(function.iter().any(|real| !real.units(self.decimals).1));
        function.map(|real| real.units(self.decimals).0)
    }

    /// The same of a table.
    pub fn table(&mut self, function: &[Real]) -> Vec<Cost> {
        self.rounded += u64::from(function.iter().any(|real| !real.units(self.decimals).1));
        function.iter().map(|real| real.units(self.decimals).0).collect()
    }

    /// The units of the network.
    pub fn units(self, maximise: bool) -> Units {
        Units { decimals: self.decimals, maximise, rounded: self.rounded }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn real(text: &str) -> Real {
        parse(text.as_bytes()).expect("a number")
    }

    #[test]
    fn exponents_of_any_size_overflow_nothing() {
        for (text, double, decimals) in [
            ("1e-2147483648", 0.0, 1 << 31),
            ("-1e-9223372036854775808", 0.0, u32::MAX),
            ("0.001e-9223372036854775807", 0.0, u32::MAX),
            ("-3e9223372036854775807", f64::NEG_INFINITY, 0),
            ("0e-99999999999999999999", 0.0, 0),
            ("25e-1", 2.5, 1),
        ] {
            let real = parse(text.as_bytes()).expect(text);
            assert_eq!((real.as_f64(), real.decimals()), (double, decimals), "{text}");
            let _ = real.units(3);
        }
    }

    #[test]
    fn numbers_are_kept_as_they_are_written() {
        for (text, digits, exponent) in [
            ("0", 0, 0),
            ("-12", -12, 0),
            ("+7500.", 7500, 0),
            ("0.50", 5, -1),
            (".25", 25, -2),
            ("-1.5e3", -15, 2),
            ("2E-3", 2, -3),
            ("1000", 1000, 0),
            ("0.000e9", 0, 0),
        ] {
            assert_eq!(real(text), Real { digits, exponent, cut: false }, "{text}");
        }
        assert!(real("1234567890123456789.5").cut);
        assert_eq!(real("1234567890123456789").as_f64(), 1.234_567_890_123_456_7e18);
        for text in ["", "-", ".", "e5", "1e", "1e-", "1.2.3", "0x1", "nan", "inf", "1e5x"] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn digits_of_any_length_compare() {
        for (one, two, expected) in [
            ("10", "9", Some(true)),
            ("9.5", "10", Some(false)),
            ("0010.50", "+10.5", Some(true)),
            ("10.49", "10.5", Some(false)),
            ("18446744073709551617", "18446744073709551616", Some(true)),
            ("18446744073709551615", "18446744073709551616", Some(false)),
            (".5", "0.5", Some(true)),
            ("-1", "0", None),
            ("1e3", "1", None),
            (".", "1", None),
        ] {
            assert_eq!(is_at_least(one.as_bytes(), two.as_bytes()), expected, "{one} {two}");
        }
    }

    #[test]
    fn rounding_is_to_the_nearest_unit_and_told() {
        for (text, decimals, units, exact) in [
            ("1.25", 2, 125, true),
            ("1.25", 1, 13, false),
            ("-1.25", 1, -13, false),
            ("1.24", 1, 12, false),
            ("3", 4, 30_000, true),
            ("2e3", 0, 2000, true),
            ("1e-40", 15, 0, false),
            ("0e99", 3, 0, true),
        ] {
            assert_eq!(real(text).units(decimals), (units, exact), "{text}");
        }
        assert_eq!(real("1e99").units(0), (Cost::MAX, false));
    }
}
