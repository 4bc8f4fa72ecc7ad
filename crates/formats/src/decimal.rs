//! Decimal numbers as files write them: in units of a power of ten ([`fixed`]); as a double if that keeps full
//! precision, otherwise as digits and exponent ([`parse`]); and as digits and a power of ten ([`Real`]).

use crate::model::{Cost, Decimal, Stated, Units};

/// The number of digits that a [`Decimal`] keeps.
const DIGITS: u32 = 19;

/// The exponent beyond which a number has no digit left, or exceeds 64 bits.
const FAR: i64 = 1 << 20;

/// The powers of ten that doubles hold exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];

/// Parses a decimal number `[+-]digits[.digits][e[+-]digits]` in units of 10^-`decimals`. Further digits are truncated,
/// and the result is clamped to 64 bits.
pub(super) fn fixed(word: &[u8], decimals: u32) -> Option<i64> {
    let (word, exponent) = match word.iter().position(|byte| byte.eq_ignore_ascii_case(&b'e')) {
        Some(at) => (&word[..at], Some(&word[at + 1..])),
        None => (word, None),
    };
    let exponent = exponent.map_or(Some(0), power)?;
    let (negative, text) = match word.split_first()? {
        (b'-', rest) => (true, rest),
        (b'+', rest) => (false, rest),
        _ => (false, word),
    };
    let mut parts = text.splitn(2, |&byte| byte == b'.');
    let (whole, behind) = (parts.next()?, parts.next().unwrap_or_default());
    if whole.is_empty() && behind.is_empty() || !whole.iter().chain(behind).all(u8::is_ascii_digit) {
        return None;
    }
    // the number of digits before the point once it is moved; it may exceed the digits that matter because of leading
    // zeros
    let before = whole.len() as i64 + i64::from(decimals) + exponent.clamp(-FAR, FAR);
    let digits = whole.iter().chain(behind).chain(std::iter::repeat(&b'0')).take(before.max(0) as usize);
    let value = digits.fold(0i64, |value, &digit| value.saturating_mul(10).saturating_add((digit - b'0').into()));
    Some(if negative { -value } else { value })
}

/// Parses a word as a number. Returns digits and exponent if the number is outside of the range of normal doubles, and
/// `None` if the word is not a number.
pub(super) fn parse(word: &[u8]) -> Option<Stated> {
    if let Some(double) = plain(word) {
        return Some(Stated::Double(double));
    }
    let double: f64 = std::str::from_utf8(word).ok()?.parse().ok()?;
    if double.is_normal() { Some(Stated::Double(double)) } else { Some(extreme(word, double)) }
}

/// Parses the common case of few digits and a small exponent: doubles hold the digits and the power of ten exactly, so
/// their product or quotient is rounded once, as in std (Clinger, "How to read floating point numbers accurately",
/// 1990). Returns `None` in other cases.
#[inline]
fn plain(word: &[u8]) -> Option<f64> {
    let (mut digits, mut behind, mut point) = (0u64, 0i32, false);
    let (mut exponent, mut count) = (0, 0);
    // 18 digits fit 64 bits
    let mut rest = if word.len() <= 18 { word.iter() } else { return None };
    while let Some(&byte) = rest.next() {
        match byte.wrapping_sub(b'0') {
            digit @ 0..=9 => {
                digits = 10 * digits + u64::from(digit);
                behind += i32::from(point);
                count += 1;
            }
            _ if byte == b'.' && !point => point = true,
            _ if byte | 0x20 == b'e' => {
                exponent = small_exponent(rest.as_slice())?;
                rest = [].iter();
            }
            _ => return None,
        }
    }
    if count == 0 || digits >= 1 << 53 {
        return None;
    }
    let (digits, power) = (digits as f64, exponent - behind);
    let tens = *POWERS.get(power.unsigned_abs() as usize)?;
    Some(if power < 0 { digits / tens } else { digits * tens })
}

/// Parses an exponent of one or two digits; `None` if it is anything else.
fn small_exponent(text: &[u8]) -> Option<i32> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    let value = match digits {
        [ones] if ones.is_ascii_digit() => i32::from(ones - b'0'),
        [tens, ones] if tens.is_ascii_digit() && ones.is_ascii_digit() => {
            10 * i32::from(tens - b'0') + i32::from(ones - b'0')
        }
        _ => return None,
    };
    Some(if negative { -value } else { value })
}

/// Returns the meaning of a word whose double is 0, subnormal, infinite or NaN.
#[cold]
fn extreme(word: &[u8], double: f64) -> Stated {
    match (digits(word.strip_prefix(b"-").unwrap_or(word)), double.is_sign_negative()) {
        (None, _) => Stated::Double(double),
        (Some(decimal), false) => Stated::Decimal(decimal),
        // a negative number is not a potential; as a logarithm it is practically 0, or an error if it is out of range
        (Some(_), true) if double.is_infinite() => Stated::Double(f64::NAN),
        (Some(_), true) => Stated::Double(-f64::MIN_POSITIVE),
    }
}

/// Returns the digits and the power of ten of a number that std can parse; `None` if it is 0 or an infinity by name.
fn digits(word: &[u8]) -> Option<Decimal> {
    let text = word.strip_prefix(b"+").unwrap_or(word);
    let (mantissa, exponent) = match text.iter().position(|byte| matches!(byte, b'e' | b'E')) {
        Some(at) => (&text[..at], power(&text[at + 1..]).unwrap_or_default()),
        None => (text, 0),
    };
    let (mut digits, mut kept, mut shift, mut behind_point) = (0u64, 0, 0i64, false);
    for &byte in mantissa {
        match byte {
            b'.' => behind_point = true,
            b'0'..=b'9' if kept < DIGITS => {
                digits = 10 * digits + u64::from(byte - b'0');
                kept += u32::from(digits > 0);
                shift -= i64::from(behind_point);
            }
            b'0'..=b'9' => shift += i64::from(!behind_point),
            _ => return None,
        }
    }
    (digits > 0).then(|| Decimal { digits, exponent: exponent.saturating_add(shift) })
}

/// Parses the exponent after an `e`, a signed integer that saturates at 64 bits; `None` if it is not a number.
fn power(text: &[u8]) -> Option<i64> {
    let digits = text.strip_prefix(b"-").or(text.strip_prefix(b"+")).unwrap_or(text);
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    let add = |value: i64, &byte: &u8| value.saturating_mul(10).saturating_add(i64::from(byte.wrapping_sub(b'0')));
    let value = digits.iter().fold(0, add);
    is_number.then_some(if text.starts_with(b"-") { -value } else { value })
}

/// Formats a cost with all its digits, in the file's convention.
pub(super) fn of_cost(cost: Cost, units: &Units) -> String {
    let signed = if units.maximise { -i128::from(cost) } else { cost.into() };
    let scale = 10i128.pow(units.decimals);
    let sign = if signed < 0 { "-" } else { "" };
    let (whole, behind) = (signed.abs() / scale, signed.abs() % scale);
    match units.decimals {
        0 => format!("{sign}{whole}"),
        digits => format!("{sign}{whole}.{behind:0width$}", width = digits as usize),
    }
}

/// The number that digits stay below, so that twice a number fits 64 bits too.
const REAL_DIGITS: i64 = 10i64.pow(18);

/// A number with up to 18 significant digits: `digits` times ten to the power of `exponent`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Real {
    digits: i64,
    exponent: i64,
    /// Whether the file has further digits, which were truncated.
    cut: bool,
}

impl Real {
    /// Parses a word: an optional sign, digits with or without a point, an optional exponent. `None` if it is not a
    /// number.
    pub fn parse(word: &[u8]) -> Option<Real> {
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
                    if digits < REAL_DIGITS / 10 {
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

    /// Converts an integer.
    pub fn integer(digits: i64) -> Real {
        Real { digits, ..Real::default() }
    }

    /// Multiplies the number by a factor from -2 to 2.
    pub fn times(self, factor: i64) -> Real {
        debug_assert!(factor.abs() <= 2);
        Real { digits: self.digits * factor, ..self }
    }

    /// Returns whether the number is 0.
    pub fn is_zero(self) -> bool {
        self.digits == 0
    }

    /// Returns the number as a double.
    pub fn as_f64(self) -> f64 {
        // beyond these powers of ten all numbers are 0 or infinite
        match self.exponent.clamp(-1000, 1000) as i32 {
            _ if self.digits == 0 => 0.0,
            exponent if exponent < 0 => self.digits as f64 / 10f64.powi(-exponent),
            exponent => self.digits as f64 * 10f64.powi(exponent),
        }
    }

    /// Returns the number of decimal digits after the point.
    pub fn decimals(self) -> u32 {
        u32::try_from(self.exponent.min(0).unsigned_abs()).unwrap_or(u32::MAX)
    }

    /// Returns the nearest multiple of 10^-`decimals` in these units, clamped to 64 bits, and whether it is exact.
    pub fn units(self, decimals: u32) -> (Cost, bool) {
        let shift = self.exponent.saturating_add(decimals.into());
        let ten = |power: i64| u32::try_from(power).ok().and_then(|power| 10i128.checked_pow(power));
        let digits = i128::from(self.digits);
        let (units, exact) = match ten(shift.saturating_abs()) {
            _ if digits == 0 => (0, true),
            // saturation is safe because the caller chose units in which the sum of all numbers fits
            Some(tens) if shift >= 0 => (digits.saturating_mul(tens), true),
            None if shift >= 0 => (i128::from(self.digits.signum()) * i128::from(Cost::MAX), false),
            Some(tens) => ((digits + digits.signum() * (tens / 2)) / tens, digits % tens == 0),
            None => (0, false),
        };
        (units.clamp(Cost::MIN.into(), Cost::MAX.into()) as Cost, exact && !self.cut)
    }
}

/// Returns whether a nonnegative number is at least another one. Both may have any number of digits, but no exponent;
/// `None` if one of them is not such a number.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_numbers_are_exact_and_cut_off() {
        for (word, decimals, value) in [
            ("3.19", 1, 31),
            ("-3.19", 1, -31),
            ("-0.5", 1, -5),
            ("+7", 3, 7000),
            (".5", 2, 50),
            ("5.", 0, 5),
            ("0.1000000000000000055", 18, 100_000_000_000_000_005),
            ("1e3", 2, 100_000),
            ("-12.5E-1", 3, -1250),
            ("1e-05", 4, 0),
            ("0.00012e5", 0, 12),
            ("0e99999999999999999999", 0, 0),
            ("1e99999999999999999999", 0, i64::MAX),
            ("99999999999999999999", 0, i64::MAX),
            ("-99999999999999999999", 2, -i64::MAX),
        ] {
            assert_eq!(fixed(word.as_bytes(), decimals), Some(value), "{word}");
        }
        assert_eq!([&b""[..], b"-", b".", b"1e", b"1.2.3", b"inf", b"0x1"].map(|word| fixed(word, 2)), [None; 7]);
    }

    #[test]
    fn what_doubles_hold_stays_a_double() {
        for text in ["0", "-0.0", "0e-99999", "1", "0.1", "-3e5", "2.3e-308", "1.7e308", "inf", "-inf", "-0e999"] {
            let value = text.parse::<f64>().expect("a number of std");
            assert_eq!(parse(text.as_bytes()), Some(Stated::Double(value)), "{text}");
        }
        assert_eq!(parse(b"-1e-400"), Some(Stated::Double(-f64::MIN_POSITIVE)), "negative, if next to nothing");
        for text in ["nan", "-1e400"] {
            assert!(matches!(parse(text.as_bytes()), Some(Stated::Double(nan)) if nan.is_nan()), "{text}");
        }
        for text in ["", "1..2", "0x1", "1e", "e5", "--1"] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn a_few_digits_are_as_std_has_them() {
        let mut rng = crate::rng::Rng::new(1);
        for _ in 0..100_000 {
            let digits = rng.draw() % 10u64.pow(1 + rng.below(16) as u32);
            let mut text = digits.to_string();
            text.insert(rng.index(text.len() + 1), '.');
            if rng.below(2) == 0 {
                text += &format!("{}{}", ["e", "E-", "e+"][rng.index(3)], rng.below(30));
            }
            assert_eq!(plain(text.as_bytes()).or_else(|| text.parse().ok()), text.parse().ok(), "{text}");
        }
        assert_eq!([&b"0"[..], b".5", b"7.", b"000.250", b"5e-10"].map(plain), [0.0, 0.5, 7.0, 0.25, 5e-10].map(Some));
        assert_eq!(
            [&b""[..], b".", b"e5", b"1.2.3", b"-1", b"1e", b"1e-", b"1e1.5", b"9999999999999999", b"1e300"].map(plain),
            [None; 10]
        );
    }

    #[test]
    fn what_they_do_not_hold_keeps_its_digits() {
        for (text, digits, exponent) in [
            ("1e-400", 1, -400),
            ("+12.50E-500", 1250, -502),
            ("0.00031e-320", 31, -325),
            ("5e-324", 5, -324),
            ("1e400", 1, 400),
            ("123456789012345678901234e+300", 1_234_567_890_123_456_789, 305),
            ("1.23456789012345678901234e-310", 1_234_567_890_123_456_789, -328),
            ("1e-99999999999999999999", 1, -i64::MAX),
        ] {
            assert_eq!(parse(text.as_bytes()), Some(Stated::Decimal(Decimal { digits, exponent })), "{text}");
        }
        let long = format!("0.{}7", "0".repeat(400));
        assert_eq!(parse(long.as_bytes()), Some(Stated::Decimal(Decimal { digits: 7, exponent: -401 })));
        let long = format!("7{}.0", "0".repeat(400));
        let Some(Stated::Decimal(Decimal { digits, exponent })) = parse(long.as_bytes()) else { panic!("a decimal") };
        assert_eq!((digits, exponent), (7 * 10u64.pow(18), 382));
    }

    fn real(text: &str) -> Real {
        Real::parse(text.as_bytes()).expect("a number")
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
            let real = Real::parse(text.as_bytes()).expect(text);
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
            assert_eq!(Real::parse(text.as_bytes()), None, "{text}");
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
