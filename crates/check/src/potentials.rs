//! The value of an assignment by the file's own numbers, and a check of the integer costs against them.
//!
//! Logarithms are computed here independently of the reader, in fixed point from the digits and the exponent in the
//! file; only the numbers themselves are shared with the reader.

use super::{Evaluation, entry, saturate};
use crate::model::{Cost, FORBIDDEN, Network, Number, Numbers, Reading, Scale, Stated, Table};

/// Number of fractional bits in fixed point.
const POINT: u32 = 64;
/// ln 2 to the nearest 2^-64.
const LN_2: i128 = 0xb172_17f7_d1cf_79ac;
/// ln 10 to the nearest 2^-64.
const LN_10: i128 = 0x2_4d76_3776_aaa2_b05c;
/// A unit of cost in fixed point.
const UNIT: i128 = 1 << POINT;
/// Error allowed for a cost, in fixed point: half a unit and a thirty-second.
const OFF: i128 = UNIT / 2 + UNIT / 32;
/// Relative margin for sums of doubles.
const LOST: f64 = 1.0 / (1u64 << 50) as f64;

impl Evaluation {
    /// Returns the value of the assignment in the file's convention, by the file's own numbers; `None` if one of its
    /// entries is impossible.
    pub fn value(&self, network: &Network, assignment: &[u32]) -> Option<Number> {
        let units = network.units();
        match network.reading().filter(|reading| units.rounded > 0 || reading.witness.is_some()) {
            Some(reading) => stated(network, reading, assignment),
            None => (self.cost < FORBIDDEN).then(|| units.number(self.cost)),
        }
    }
}

/// Returns the sum of the file's numbers; `None` if one of them is impossible.
fn stated(network: &Network, reading: &Reading, assignment: &[u32]) -> Option<Number> {
    let (functions, domains) = (network.functions(), network.domains());
    let (mut sum, mut lost) = (0.0f64, 0.0f64);
    let mut add = |term: f64| {
        // the rounding errors of the sum are summed separately (Neumaier 1974)
        let total = sum + term;
        lost += if sum.abs() >= term.abs() { (sum - total) + term } else { (term - total) + sum };
        sum = total;
    };
    for (function, numbers) in functions.iter().zip(&reading.functions) {
        let along = |index: usize, &v: &u32| index * domains[v as usize] as usize + assignment[v as usize] as usize;
        let log = logarithm(reading.scale, numbers.get(function.scope.iter().fold(0, along)));
        if log == f64::NEG_INFINITY {
            return None;
        }
        add(log);
    }
    let mut integers = 0i128;
    for function in &functions[reading.functions.len()..] {
        match entry(function, domains, assignment) {
            FORBIDDEN.. => return None,
            cost => integers += i128::from(cost),
        }
    }
    add(-(saturate(integers) as f64) / network.units().scale());
    Some(Number::Real(sum + lost))
}

/// Returns the logarithm of a potential as a double.
fn logarithm(scale: Scale, stated: Stated) -> f64 {
    match (scale, stated) {
        (Scale::Logarithms, Stated::Double(log)) => log,
        (Scale::Potentials, Stated::Double(potential)) => potential.ln(),
        (_, Stated::Decimal(decimal)) => {
            let fixed = i128::from(decimal.exponent).checked_mul(LN_10).map(|log| log + ln(decimal.digits));
            fixed.map_or(decimal.exponent as f64 * std::f64::consts::LN_10, |log| log as f64 / UNIT as f64)
        }
    }
}

/// Checks the integer costs of a network against the file's own numbers.
///
/// # Errors
/// Returns a description of the first wrong cost.
pub fn verify(network: &Network) -> Result<(), String> {
    let Some(reading) = network.reading() else { return Ok(()) };
    let excess = reading.witness.as_ref().map(|witness| excess(network, reading, witness)).transpose()?;
    let mut rounded = 0u64;
    for (place, numbers) in reading.functions.iter().enumerate() {
        let wrong = |what: &str| format!("function {place}: {what}");
        let function = network.functions().get(place).ok_or_else(|| wrong("missing"))?;
        let Table::Dense(costs) = &function.table else { return Err(wrong("not a dense table")) };
        if costs.len() != numbers.len() {
            return Err(wrong("another number of entries than the file has"));
        }
        let mut least = None;
        let mut exact = true;
        for (index, (cost, stated)) in costs.iter().zip(numbers.iter()).enumerate() {
            let is_right = if cost < FORBIDDEN {
                exact &= is_exact(network, reading.scale, stated, cost);
                is_near(reading.scale, stated, cost, network.units().decimals)
            } else if logarithm(reading.scale, stated) == f64::NEG_INFINITY {
                true
            } else {
                let least = *least.get_or_insert_with(|| least_cost(reading.scale, numbers));
                let dear = -logarithm(reading.scale, stated);
                excess.is_some_and(|excess| dear - least - LOST * (dear.abs() + f64::abs(least)) > excess)
            };
            if !is_right {
                return Err(wrong(&format!("entry {index} costs {cost}, the file states {stated:?}")));
            }
        }
        rounded += u64::from(!exact);
    }
    let claimed = network.units().rounded;
    if claimed < rounded + rounded.div_ceil(16) {
        return Err(format!("{rounded} functions are rounded, the slack counts {claimed}"));
    }
    Ok(())
}

/// Returns an upper bound on the excess of a witness's cost over the functions' least costs.
fn excess(network: &Network, reading: &Reading, witness: &[u32]) -> Result<f64, String> {
    let domains = network.domains();
    if witness.len() != domains.len() || witness.iter().zip(domains).any(|(value, domain)| value >= domain) {
        return Err("the witness is no assignment".into());
    }
    let above = |(function, numbers): (&crate::model::CostFunction, &std::sync::Arc<Numbers>)| {
        let along = |index: usize, &v: &u32| index * domains[v as usize] as usize + witness[v as usize] as usize;
        let cost = -logarithm(reading.scale, numbers.get(function.scope.iter().fold(0, along)));
        let least = least_cost(reading.scale, numbers);
        cost - least + LOST * (cost.abs() + least.abs())
    };
    let sum: f64 = network.functions().iter().zip(&reading.functions).map(above).sum();
    // evidence must not exclude the witness
    let evidence = &network.functions()[reading.functions.len()..];
    if sum.is_nan() || evidence.iter().any(|function| entry(function, domains, witness) >= FORBIDDEN) {
        return Err("the witness is impossible".into());
    }
    Ok(sum + LOST * sum)
}

fn least_cost(scale: Scale, numbers: &Numbers) -> f64 {
    numbers.iter().map(|stated| -logarithm(scale, stated)).fold(f64::INFINITY, f64::min)
}

/// Returns whether a cost is minus the logarithm, rounded to the nearest unit.
fn is_near(scale: Scale, stated: Stated, cost: Cost, decimals: u32) -> bool {
    let units = 10i128.pow(decimals);
    let log = match (scale, stated) {
        (Scale::Logarithms, Stated::Double(log)) => fixed(log, units),
        (Scale::Potentials, Stated::Double(potential)) if potential > 0.0 => {
            let (mantissa, exponent) = parts(potential);
            (ln(mantissa) + i128::from(exponent) * LN_2).checked_mul(units)
        }
        (Scale::Potentials, Stated::Decimal(decimal)) => {
            let log = i128::from(decimal.exponent).checked_mul(LN_10);
            log.and_then(|log| (log + ln(decimal.digits)).checked_mul(units))
        }
        _ => None,
    };
    log.is_some_and(|log| ((i128::from(cost) << POINT) + log).abs() <= OFF)
}

fn is_exact(network: &Network, scale: Scale, stated: Stated, cost: Cost) -> bool {
    match (scale, stated) {
        (Scale::Potentials, Stated::Double(potential)) => potential == 1.0 && cost == 0,
        // the decimal that the double was read from
        (Scale::Logarithms, Stated::Double(log)) => cost as f64 / network.units().scale() == -log,
        (_, Stated::Decimal(_)) => false,
    }
}

/// Returns a double times `units` in fixed point; `None` if that is too large.
fn fixed(double: f64, units: i128) -> Option<i128> {
    if double == 0.0 {
        return Some(0);
    }
    let (mantissa, exponent) = parts(double.abs());
    let product = i128::from(mantissa).checked_mul(units)?;
    let shift = exponent + POINT as i32;
    let size = if shift <= 0 {
        product.checked_shr(shift.unsigned_abs()).unwrap_or(0)
    } else if product.leading_zeros() > shift.unsigned_abs() {
        product << shift
    } else {
        return None;
    };
    Some(if double < 0.0 { -size } else { size })
}

/// Returns a positive normal double as an integer and an exponent of two.
fn parts(double: f64) -> (u64, i32) {
    let bits = double.to_bits();
    ((bits & ((1 << 52) - 1)) | (1 << 52), (bits >> 52) as i32 - 1075)
}

/// Returns the natural logarithm of a positive integer in fixed point: by powers of two down to 1 <= m < 2, and ln m =
/// 2 artanh((m - 1) / (m + 1)).
fn ln(number: u64) -> i128 {
    let zeros = number.leading_zeros();
    let m = u128::from(number << zeros);
    let z = ((m - (1 << 63)) << POINT) / (m + (1 << 63));
    let square = (z * z) >> POINT;
    let (mut power, mut sum, mut odd) = (z, z, 1);
    while power > 0 {
        power = (power * square) >> POINT;
        odd += 2;
        sum += power / odd;
    }
    2 * sum as i128 + i128::from(63 - zeros) * LN_2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_of_integers() {
        for number in [1, 2, 3, 7, 10, 1_000_003, 9_999_999_999_999_999_999, u64::MAX] {
            let (own, double) = (ln(number) as f64 / UNIT as f64, (number as f64).ln());
            assert!((own - double).abs() <= 4e-16 * double, "{number}: {own} {double}");
        }
        assert!((ln(10) - LN_10).abs() < 64, "{}", ln(10) - LN_10);
        assert_eq!(ln(1 << 52) - 52 * LN_2, 0);
    }

    #[test]
    fn doubles_in_fixed_point() {
        assert_eq!(fixed(-1.5, 1000), Some(-1500 * UNIT));
        assert_eq!(fixed(2f64.powi(-80), 1), Some(0));
        assert_eq!(fixed(1e300, 1), None);
    }
}
