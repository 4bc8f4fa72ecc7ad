//! Writes `.uai` and `.LG` files: the file's own numbers if the network has them, otherwise its costs.

use crate::model::{Cost, FORBIDDEN, Network, Scale, Stated};
use crate::potential_costs::Costing;
use crate::writing::as_tables;
use crate::writing::{decimal, refuse_large, refuse_top};
use std::f64::consts::LOG10_E;
use std::io::{self, Write};

/// The difference of log10 e and the double nearest to it.
const LOG10_E_REST: f64 = 1.098_319_650_216_765e-17;

/// Writes potentials.
pub(crate) fn write(network: &Network, out: &mut dyn Write) -> io::Result<()> {
    write_tables(network, out, Scale::Potentials)
}

/// Writes natural logarithms of potentials.
pub(crate) fn write_log(network: &Network, out: &mut dyn Write) -> io::Result<()> {
    write_tables(network, out, Scale::Logarithms)
}

fn write_tables(network: &Network, out: &mut dyn Write, scale: Scale) -> io::Result<()> {
    let network = as_tables(network)?;
    refuse_top(network)?;
    let words = |numbers: &[u32]| numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
    writeln!(out, "MARKOV\n{}\n{}", network.domains().len(), words(network.domains()))?;
    writeln!(out, "{}", network.functions().len())?;
    for function in network.functions() {
        writeln!(out, "{} {}", function.scope.len(), words(&function.scope))?;
    }
    for (index, function) in network.functions().iter().enumerate() {
        refuse_large(network, index)?;
        writeln!(out, "\n{}", function.combinations(network.domains()))?;
        let stated = network.reading().and_then(|reading| Some((reading.scale, reading.functions.get(index)?)));
        match stated {
            Some((own, numbers)) => {
                for number in numbers.iter() {
                    write!(out, " {}", written(number, own, scale))?;
                }
            }
            None => {
                let decimals = network.units().decimals;
                for cost in function.entries(network.domains()) {
                    write!(out, " {}", of_cost(cost, decimals, scale))?;
                }
            }
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Returns a number of scale `own` as text in scale `scale`.
fn written(number: Stated, own: Scale, scale: Scale) -> String {
    match (own, scale, number) {
        (Scale::Potentials, Scale::Potentials, Stated::Decimal(it)) => format!("{}e{}", it.digits, it.exponent),
        (Scale::Logarithms, Scale::Potentials, _) => potential(-own.minus_log(number)),
        (Scale::Potentials, Scale::Potentials, Stated::Double(double)) => shown(double),
        (_, Scale::Logarithms, _) => shown(-own.minus_log(number)),
    }
}

/// Returns a cost as the text of a potential or a logarithm.
fn of_cost(cost: Cost, decimals: u32, scale: Scale) -> String {
    match (cost, scale) {
        (FORBIDDEN.., Scale::Potentials) => "0".into(),
        (FORBIDDEN.., Scale::Logarithms) => "-inf".into(),
        (_, Scale::Potentials) => potential(-(cost as f64 / 10f64.powi(decimals as i32))),
        (_, Scale::Logarithms) => decimal(-i128::from(cost), decimals),
    }
}

/// Returns e to the power of a logarithm as text; the result may be out of the range of doubles.
fn potential(log: f64) -> String {
    let plain = log.exp();
    if log == f64::NEG_INFINITY || plain.is_normal() {
        return shown(plain);
    }
    let high = log * LOG10_E;
    let low = log.mul_add(LOG10_E, -high) + log * LOG10_E_REST;
    format!("{}e{}", 10f64.powf(high - high.floor() + low), high.floor())
}

/// Returns the shortest text that is read as the same double.
fn shown(double: f64) -> String {
    match double.abs() {
        0.0 => "0".into(),
        f64::INFINITY => "-inf".into(),
        1e-5..1e15 => double.to_string(),
        _ => format!("{double:e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check;
    use crate::stop::Stop;
    use crate::{self as formats, Format, ReadOptions, read_from};

    fn read(text: &[u8], format: Format) -> Network {
        read_from(text, "t", format, &ReadOptions::default(), &Stop::new()).expect("a network")
    }

    fn values(network: &Network) -> Vec<Option<f64>> {
        let of = |x: u32, y: u32| {
            let evaluation = check::evaluate(network, &[x, y]);
            evaluation.value(network, &[x, y]).map(|value| value.as_f64())
        };
        (0..2).flat_map(|x| (0..3).map(move |y| (x, y))).map(|(x, y)| of(x, y)).collect()
    }

    #[test]
    fn the_numbers_stay_what_they_are() {
        let potentials = "BAYES 2 2 3 3 1 0 2 1 0 0 2 0.4 1e-400 6 1 2.5 1e-300 5 0 0.125 1 3e400";
        let logs = "MARKOV 2 2 3 2 1 0 2 1 0 2 -0.4 -1e3 6 0 -inf 7.25 1 2 900.5";
        let costs = "t 2 3 3 100000000 2 3 1 0 3 1 1 2000 2 1 0 0 2 2 1 100000000 1 0 -7 0 12 0";
        for (text, format) in [(potentials, Format::Uai), (logs, Format::Lg), (costs, Format::Wcsp)] {
            let network = read(text.as_bytes(), format);
            let sign = if network.units().maximise { 1.0 } else { -1.0 };
            for to in [Format::Uai, Format::Lg] {
                let mut out = Vec::new();
                formats::write(&network, to, &mut out).expect("in memory");
                for (before, after) in values(&network).into_iter().zip(values(&read(&out, to))) {
                    let differ = before.map(|value| sign * value).zip(after).map(|(one, other)| (one - other).abs());
                    assert_eq!(before.is_some(), after.is_some(), "{text}");
                    assert!(differ.is_none_or(|differ| differ < 1e-9), "{text}: {before:?} and {after:?}");
                }
            }
        }
    }

    #[test]
    fn a_limit_that_matters_is_refused() {
        let network = read(b"t 2 3 2 5 2 3 1 0 3 1 1 4 1 1 1 0", Format::Wcsp);
        let error = formats::write(&network, Format::Uai, &mut Vec::new()).expect_err("4 + 1 reaches 5").to_string();
        assert!(error.contains("the limit on totals, 5"), "{error}");
    }
}
