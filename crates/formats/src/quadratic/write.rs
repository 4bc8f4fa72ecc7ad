//! Writes `.qpbo` and `.sparse` files: the coefficients of a sum of functions of one and two Boolean variables.

use crate::model::{FORBIDDEN, Network};
use crate::writing::as_tables;
use crate::writing::{decimal, entries, refuse, refuse_top, refuse_values};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// The coefficients of a sum, times four, so that those of spins are integers too.
#[derive(Default)]
struct Coefficients {
    constant: i128,
    linear: BTreeMap<u32, i128>,
    /// The coefficients of pairs, by the pair with the smaller variable first.
    pairs: BTreeMap<[u32; 2], i128>,
}

/// Writes a `.qpbo` file, of Boolean variables, or of spins if only these need no constant.
///
/// # Errors
/// Returns errors of writing to `out`, and [`io::ErrorKind::InvalidInput`] for what such sums cannot express: other
/// variables, functions of three variables, forbidden values, a constant, a limit on the cost of solutions.
pub(crate) fn write(network: &Network, out: &mut dyn Write) -> io::Result<()> {
    let bits = Coefficients::of_bits(network)?;
    let spins = bits.of_spins();
    let n = network.domains().len() as i64;
    match (bits.constant, spins.constant) {
        (0, _) => bits.write(network, n, out),
        (_, 0) => spins.write(network, -n, out),
        (constant, _) => refuse_constant(network, constant),
    }
}

/// Writes a `.sparse` file.
///
/// # Errors
/// Returns errors of writing to `out`, and [`io::ErrorKind::InvalidInput`] for what such sums cannot express:
/// maximisation, other variables, functions of three variables, forbidden values, a constant, a limit on the cost of
/// solutions.
pub(crate) fn write_sparse(network: &Network, out: &mut dyn Write) -> io::Result<()> {
    if network.units().maximise {
        return refuse("maximisation: the format minimises");
    }
    let bits = Coefficients::of_bits(network)?;
    match bits.constant {
        0 => bits.write(network, network.domains().len() as i64, out),
        constant => refuse_constant(network, constant),
    }
}

fn refuse_constant<T>(network: &Network, constant: i128) -> io::Result<T> {
    let constant =
        decimal(if network.units().maximise { -constant } else { constant } * 25, network.units().decimals + 2);
    refuse(format!("a constant, {constant}, beside the terms of variables"))
}

impl Coefficients {
    fn of_bits(network: &Network) -> io::Result<Coefficients> {
        let network = as_tables(network)?;
        refuse_values(network)?;
        refuse_top(network)?;
        let mut sum = Coefficients::default();
        for (index, function) in network.functions().iter().enumerate() {
            if function.scope.len() > 2 {
                return refuse(format!("function {index}, of {} variables: terms have two", function.scope.len()));
            }
            // the cost of a tuple contributes to the coefficients of the set of variables that are 1 in it, and of all
            // larger sets
            for (values, cost) in entries(network, function) {
                if cost >= FORBIDDEN {
                    return refuse(format!("function {index}, which forbids values: terms only cost"));
                }
                let cost = 4 * i128::from(cost);
                let [at_zero, slope] = [|value: u32| i128::from(value == 0), |value: u32| 2 * i128::from(value) - 1];
                match (&function.scope[..], &values[..]) {
                    (&[x, y], &[a, b]) => {
                        sum.constant += at_zero(a) * at_zero(b) * cost;
                        *sum.linear.entry(x).or_default() += slope(a) * at_zero(b) * cost;
                        *sum.linear.entry(y).or_default() += at_zero(a) * slope(b) * cost;
                        *sum.pairs.entry([x.min(y), x.max(y)]).or_default() += slope(a) * slope(b) * cost;
                    }
                    (&[x], &[a]) => {
                        sum.constant += at_zero(a) * cost;
                        *sum.linear.entry(x).or_default() += slope(a) * cost;
                    }
                    _ => sum.constant += cost,
                }
            }
        }
        sum.linear.retain(|_, value| *value != 0);
        sum.pairs.retain(|_, value| *value != 0);
        Ok(sum)
    }

    /// Converts the coefficients to spins s, with the Boolean variable x = (1 - s) / 2.
    fn of_spins(&self) -> Coefficients {
        let mut sum = Coefficients { constant: self.constant, ..Coefficients::default() };
        for (&v, &value) in &self.linear {
            sum.constant += value / 2;
            *sum.linear.entry(v).or_default() -= value / 2;
        }
        for (&[x, y], &value) in &self.pairs {
            sum.constant += value / 4;
            *sum.linear.entry(x).or_default() -= value / 4;
            *sum.linear.entry(y).or_default() -= value / 4;
            *sum.pairs.entry([x, y]).or_default() += value / 4;
        }
        sum.linear.retain(|_, value| *value != 0);
        sum
    }

    /// Writes the entries; an entry for a pair counts twice, so it is half of the coefficient.
    fn write(&self, network: &Network, n: i64, out: &mut dyn Write) -> io::Result<()> {
        let (units, sign) = (network.units(), if network.units().maximise { -1 } else { 1 });
        let mut count = (self.linear.len() + self.pairs.len()) as i64;
        // without entries, no sign could express the sense
        let empty = count == 0 && n != 0;
        count += i64::from(empty);
        writeln!(out, "{n} {}", if units.maximise { -count } else { count })?;
        if empty {
            writeln!(out, "1 1 0")?;
        }
        for (v, value) in &self.linear {
            writeln!(out, "{0} {0} {1}", v + 1, decimal(sign * value * 25, units.decimals + 2))?;
        }
        for ([x, y], value) in &self.pairs {
            writeln!(out, "{} {} {}", x + 1, y + 1, decimal(sign * value * 125, units.decimals + 3))?;
        }
        Ok(())
    }
}
