//! The arithmetic of expressions: IEEE doubles with + - * / and square roots, each rounded once, in a fixed order.
//! Devices use the same operations (`kernels/expression.cuh`), so that weights are equal to the last bit.
//!
//! Libraries differ in the last digits of exp and log. Both are therefore built from the four operations: Taylor series
//! with checkable coefficients, long enough for doubles. Nothing is contracted to a fused multiply-add.

use std::f64::consts::FRAC_1_SQRT_2;

/// 1.5 * 2^52: adding it rounds a number to an integer, which the low bits then hold.
const INTEGER: f64 = 6_755_399_441_055_744.0;
/// The high part of ln 2 = `LN_2_HIGH` + `LN_2_LOW`; it has 21 trailing zero bits, so that its products with exponents
/// are exact.
const LN_2_HIGH: f64 = f64::from_bits(0x3FE6_2E42_FEE0_0000);
const LN_2_LOW: f64 = f64::from_bits(0x3DEA_39EF_3579_3C76);
/// 1 / ln 2.
const LOG2_E: f64 = std::f64::consts::LOG2_E;

/// The coefficients 1 / 13!, ..., 1 / 1!, 1 / 0!.
const EXP: [f64; 14] = {
    let mut series = [1.0; 14];
    let (mut n, mut factorial) = (1, 1.0);
    while n < 14 {
        factorial *= n as f64;
        series[13 - n] = 1.0 / factorial;
        n += 1;
    }
    series
};

/// The coefficients 1 / 23, 1 / 21, ..., 1 / 3.
const LOG: [f64; 11] = {
    let mut series = [0.0; 11];
    let mut n = 0;
    while n < 11 {
        series[n] = 1.0 / (23 - 2 * n) as f64;
        n += 1;
    }
    series
};

/// Returns e^x within about a unit in the last place; 0 below -708 and infinity above 709.
#[inline(always)]
pub fn exp(x: f64) -> f64 {
    let shifted = x * LOG2_E + INTEGER;
    let k = shifted - INTEGER;
    let r = x - k * LN_2_HIGH - k * LN_2_LOW;
    let mut sum = EXP[0];
    for &coefficient in &EXP[1..] {
        sum = sum * r + coefficient;
    }
    // the sum is between 0.7 and 1.5; k is added to its exponent
    let scaled = f64::from_bits(sum.to_bits().wrapping_add(shifted.to_bits() << 52));
    let scaled = if x < -708.0 { 0.0 } else { scaled };
    let scaled = if x > 709.0 { f64::INFINITY } else { scaled };
    if x.is_nan() { x } else { scaled }
}

/// Returns the natural logarithm within a unit or two in the last place; minus infinity at 0, NaN below.
#[inline(always)]
pub fn log(x: f64) -> f64 {
    // numbers below 2^-1022 have no leading bit; a factor of 2^54 gives them one
    let small = x < f64::MIN_POSITIVE;
    let normal = if small { x * 18_014_398_509_481_984.0 } else { x };
    let bits = normal.to_bits();
    let mantissa = f64::from_bits(bits & 0x000F_FFFF_FFFF_FFFF | 0x3FE0_0000_0000_0000);
    // an integer below 2^52 in the low bits of 2^52
    let exponent = f64::from_bits(bits >> 52 | 0x4330_0000_0000_0000) - 4_503_599_627_370_496.0;
    let exponent = exponent - if small { 1022.0 + 54.0 } else { 1022.0 };
    // between sqrt(1/2) and sqrt(2)
    let low = mantissa < FRAC_1_SQRT_2;
    let m = if low { mantissa + mantissa } else { mantissa };
    let k = exponent - if low { 1.0 } else { 0.0 };
    // log m = 2 atanh s
    let f = m - 1.0;
    let s = f / (m + 1.0);
    let z = s * s;
    let mut sum = LOG[0];
    for &coefficient in &LOG[1..] {
        sum = sum * z + coefficient;
    }
    // 2 s = f - s f, whose term f is exact if it is small
    let tail = s * (f - 2.0 * z * sum);
    let result = k * LN_2_HIGH + (f - (tail - k * LN_2_LOW));
    let result = if x == f64::INFINITY { x } else { result };
    let result = if x == 0.0 { f64::NEG_INFINITY } else { result };
    if x < 0.0 || x.is_nan() { f64::NAN } else { result }
}

/// Returns the smaller number; NaN if either is NaN.
#[inline(always)]
pub fn min(a: f64, b: f64) -> f64 {
    if a < b || a.is_nan() { a } else { b }
}

/// Returns the larger number; NaN if either is NaN.
#[inline(always)]
pub fn max(a: f64, b: f64) -> f64 {
    if a > b || a.is_nan() { a } else { b }
}

/// Returns 1 for true and 0 for false.
#[inline(always)]
fn truth(holds: bool) -> f64 {
    if holds { 1.0 } else { 0.0 }
}

/// A function of one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Unary {
    Neg,
    Abs,
    Floor,
    Sqrt,
    Exp,
    Log,
    /// Whether the number is 0.
    Not,
}

/// A function of two numbers. Truth values are 1 and 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Binary {
    Add,
    Sub,
    Mul,
    Div,
    Min,
    Max,
    Less,
    AtMost,
    Equal,
    Differ,
}

/// A function of all values of a variable. Its result does not depend on their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Aggregate {
    Min,
    Max,
    /// The number of values for which the operand is true.
    Count,
}

impl Unary {
    #[inline(always)]
    pub fn apply(self, x: f64) -> f64 {
        match self {
            Unary::Neg => -x,
            Unary::Abs => x.abs(),
            Unary::Floor => x.floor(),
            Unary::Sqrt => x.sqrt(),
            Unary::Exp => exp(x),
            Unary::Log => log(x),
            Unary::Not => truth(x == 0.0),
        }
    }
}

impl Binary {
    #[inline(always)]
    pub fn apply(self, x: f64, y: f64) -> f64 {
        match self {
            Binary::Add => x + y,
            Binary::Sub => x - y,
            Binary::Mul => x * y,
            Binary::Div => x / y,
            Binary::Min => min(x, y),
            Binary::Max => max(x, y),
            Binary::Less => truth(x < y),
            Binary::AtMost => truth(x <= y),
            Binary::Equal => truth(x == y),
            Binary::Differ => truth(x != y),
        }
    }
}

impl Aggregate {
    pub const fn of_none(self) -> f64 {
        match self {
            Aggregate::Min => f64::INFINITY,
            Aggregate::Max => f64::NEG_INFINITY,
            Aggregate::Count => 0.0,
        }
    }

    /// Adds one more value. The addition of 0 turns -0 into 0, so that the order does not matter.
    #[inline(always)]
    pub fn with(self, so_far: f64, x: f64) -> f64 {
        match self {
            Aggregate::Min => min(so_far, x + 0.0),
            Aggregate::Max => max(so_far, x + 0.0),
            Aggregate::Count => so_far + x,
        }
    }
}

/// The largest weight.
pub const LARGEST: u32 = 1 << 20;

/// Returns a weight as an integer: `weight / largest` of [`LARGEST`], rounded to nearest, ties to even, at most
/// `LARGEST`; 0 for weights not above 0. If `largest` is infinite, only infinite weights are above 0.
#[inline(always)]
pub fn scale(weight: f64, largest: f64) -> u32 {
    let share = if largest == f64::INFINITY { truth(weight == largest) } else { weight / largest };
    let share = if share < 1.0 { share } else { 1.0 };
    // the sum of 2^52 and an integer below it has the integer in its low bits
    let rounded = (share * f64::from(LARGEST) + 4_503_599_627_370_496.0).to_bits() as u32;
    if weight > 0.0 && largest > 0.0 { rounded } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    /// Returns the difference in units in the last place.
    fn units(a: f64, b: f64) -> f64 {
        if a == b { 0.0 } else { ((a - b) / (b.abs() * f64::EPSILON)).abs() }
    }

    #[test]
    fn exp_and_log_are_near_those_of_the_library() {
        let mut rng = Rng::new(1);
        let (mut worst_exp, mut worst_log) = (0.0f64, 0.0f64);
        for _ in 0..200_000 {
            let x = (rng.unit() - 0.5) * 1400.0;
            let near = (rng.unit() - 0.5) * 2.0;
            for x in [x, near] {
                worst_exp = worst_exp.max(units(exp(x), x.exp()));
            }
            let positive = f64::from_bits(rng.below(0x7FF0_0000_0000_0000));
            for x in [positive, 1.0 + near, positive * f64::MIN_POSITIVE] {
                worst_log = worst_log.max(if x > 0.0 { units(log(x), x.ln()) } else { 0.0 });
            }
        }
        assert!(worst_exp < 2.0 && worst_log < 2.0, "exp {worst_exp}, log {worst_log}");
    }

    #[test]
    fn ends() {
        let inf = f64::INFINITY;
        assert_eq!([exp(0.0), exp(-0.0), exp(-inf), exp(-708.1), exp(inf), exp(709.1)], [1.0, 1.0, 0.0, 0.0, inf, inf]);
        assert!(exp(-708.0) > 0.0 && exp(709.0).is_finite() && exp(f64::NAN).is_nan());
        assert_eq!([log(1.0), log(0.0), log(-0.0), log(inf)], [0.0, -inf, -inf, inf]);
        assert!(log(-1.0).is_nan() && log(-inf).is_nan() && log(f64::NAN).is_nan());
        assert!(units(log(5e-324), 5e-324f64.ln()) < 2.0);
        assert!(min(f64::NAN, 1.0).is_nan() && min(1.0, f64::NAN).is_nan() && max(f64::NAN, 1.0).is_nan());
    }

    #[test]
    fn weights() {
        let inf = f64::INFINITY;
        assert_eq!([scale(3.0, 3.0), scale(9.0, 3.0), scale(1.5, 3.0)], [LARGEST, LARGEST, LARGEST / 2]);
        assert_eq!([scale(0.0, 3.0), scale(-1.0, 3.0), scale(f64::NAN, 3.0), scale(1.0, f64::NAN)], [0; 4]);
        assert_eq!([scale(inf, inf), scale(1e300, inf), scale(inf, 1.0), scale(1.0, 0.0)], [LARGEST, 0, LARGEST, 0]);
        assert_eq!([scale(5e-324, 5e-324), scale(f64::MAX, f64::MAX), scale(1.0, f64::MAX)], [LARGEST, LARGEST, 0]);
        assert_eq!([scale(2.5 / 1048576.0, 1.0), scale(3.5 / 1048576.0, 1.0), scale(0.5 / 1048576.0, 1.0)], [2, 4, 0]);
    }
}
