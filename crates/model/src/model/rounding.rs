//! Conversion of tables of doubles to costs: integers in a common unit, each rounded once.

use super::Cost;

/// The maximum number of decimal digits, also that of `--precision`.
pub const MOST_DECIMALS: u32 = 15;

/// The powers of ten that integers and doubles hold exactly.
const POWERS: [u64; MOST_DECIMALS as usize + 1] = {
    let mut powers = [1; MOST_DECIMALS as usize + 1];
    let mut power = 1;
    while power < powers.len() {
        powers[power] = 10 * powers[power - 1];
        power += 1;
    }
    powers
};

/// The limit below which doubles represent integers exactly.
const EXACT: f64 = (1u64 << 53) as f64;
/// The absolute value from which on costs are rejected.
const TOO_LARGE: f64 = (1u64 << 59) as f64;

/// Rounds a finite double to the nearest multiple of 10^-`decimals`. Returns it in these units, with whether it is
/// exact. If the double is the one nearest to such a multiple, it counts as exact: 0.1 is one tenth.
///
/// Returns `None` if the double is too large for a cost, or NaN.
pub fn round(double: f64, decimals: u32) -> Option<(Cost, bool)> {
    let power = POWERS[decimals as usize];
    let scaled = double * power as f64;
    let nearest = scaled.round();
    if nearest.abs() < EXACT && nearest / power as f64 == double {
        return Some((nearest as Cost, true));
    }
    // a comparison with NaN is false, so NaN is tested separately
    if scaled.is_nan() || scaled.abs() >= TOO_LARGE {
        return None;
    }
    // the product of 53 and 50 bits is exact, so the result is rounded once
    let bits = double.to_bits();
    let (biased, fraction) = ((bits >> 52 & 0x7ff) as i32, bits & ((1 << 52) - 1));
    let (mantissa, exponent) = if biased == 0 { (fraction, -1074) } else { (fraction | 1 << 52, biased - 1075) };
    let product = u128::from(mantissa) * u128::from(power);
    let (units, exact) = match exponent {
        0.. => (product << exponent, true),
        -127.. => {
            let (units, rest) = (product >> -exponent, product & ((1 << -exponent) - 1));
            (units + (rest >> (-exponent - 1)), rest == 0)
        }
        _ => (0, product == 0),
    };
    let units = units as Cost;
    Some((if double < 0.0 { -units } else { units }, exact))
}

/// Returns the least number of decimals, at least `known`, that represent all finite doubles of a table exactly; `most`
/// if none below it does.
pub fn decimals(table: &[f64], known: u32, most: u32) -> u32 {
    let needs = |decimals: u32, double: f64| {
        let is_exact = |decimals: &u32| round(double, *decimals).is_none_or(|(_, exact)| exact);
        (decimals..most).find(is_exact).unwrap_or(most.max(decimals))
    };
    table.iter().filter(|double| double.is_finite()).fold(known, |decimals, &double| needs(decimals, double))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn decimal_numbers_are_exact_and_others_rounded_to_the_nearest_unit() {
        for (double, decimals, units, exact) in [
            (0.0, 0, 0, true),
            (-0.0, 3, 0, true),
            (0.1, 1, 1, true),
            (0.1, 15, 100_000_000_000_000, true),
            (-1.005, 3, -1005, true),
            (1.005, 2, 100, false), // the double is below the decimal number
            (2.5, 0, 3, false),
            (-2.5, 0, -3, false),
            (1.0 / 3.0, 6, 333_333, false),
            (5e-324, 15, 0, false),
            (1e17, 0, 100_000_000_000_000_000, true),
            (1e15 + 0.125, 2, 100_000_000_000_000_013, false),
        ] {
            assert_eq!(round(double, decimals), Some((units, exact)), "{double} {decimals}");
        }
        for double in [f64::INFINITY, f64::NAN, 1e18, -1e300] {
            assert_eq!(round(double, 1), None, "{double}");
        }
    }

    #[test]
    fn no_rounding_is_off_by_more_than_half_a_unit() {
        let mut rng = Rng::new(5);
        for _ in 0..20_000 {
            let digits = rng.below(1 << 53) as i64 - (1 << 52);
            let decimals = rng.below(8) as u32;
            let double = digits as f64 / 10f64.powi(rng.below(16) as i32);
            let Some((units, exact)) = round(double, decimals) else { continue };
            // a double is m / 2^k: |units * 2^k - m * 10^decimals| is at most half of 2^k
            let text = format!("{double:.60}");
            let (whole, behind) = text.split_once('.').expect("a point");
            let behind = &behind[..40];
            let stated: i128 = format!("{whole}{}", &behind[..decimals as usize]).parse().expect("digits");
            let rest: f64 = format!("0.{}", &behind[decimals as usize..]).parse().expect("digits");
            let stated_negative = double < 0.0;
            let off = (i128::from(units) - stated) as f64 * if stated_negative { -1.0 } else { 1.0 } - rest;
            assert!(off.abs() <= 0.5, "{double} {decimals}: {units}, off by {off}");
            let nearest = f64::EPSILON * double.abs() * POWERS[decimals as usize] as f64;
            assert!(!exact || off.abs() <= nearest, "{double} {decimals}");
        }
    }

    #[test]
    fn as_many_decimals_as_the_numbers_have() {
        assert_eq!(decimals(&[1.0, 2.0, f64::INFINITY], 0, 6), 0);
        assert_eq!(decimals(&[1.0, 0.25, 0.5], 0, 6), 2);
        assert_eq!(decimals(&[0.5], 3, 6), 3);
        assert_eq!(decimals(&[1.0 / 3.0], 0, 6), 6);
        assert_eq!(decimals(&[1.0 / 3.0], 2, 2), 2);
    }
}
