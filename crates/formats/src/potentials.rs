//! Files as products of potentials in their own numbers: for sums, whereas [`super::read`] is for optimisation.

use super::input::Source;
use super::list::Format;
use super::options::ReadOptions;
use super::potential_costs::Parts;
use super::tokens::Tokens;
use super::{bif, genie, hugin, input, uai, xmlbif};
use crate::error::Error;
use crate::files::cannot_read;
use crate::memory;
use crate::model::{
    Cost, Costs, FORBIDDEN, Factor, MOST_EXPONENTS, Network, Numbers, Potentials, ROUNDOFF, Scale, Scaled, Stated,
    Table,
};
use crate::stop::Stop;
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;
use std::io::Read;
use std::sync::Arc;

/// The maximum absolute power of ten of a file's numbers.
const MOST_TENS: i64 = 100_000;

/// The maximum absolute value of the logarithms of a file's numbers.
const MOST_LOGARITHM: f64 = (1u64 << 58) as f64;

/// Reads the functions of a file as products of potentials. Potentials of `.uai`, `.LG` and Bayesian networks are kept
/// as written. In any other format, a cost c becomes the potential exp(-c / `temperature`), and an entry of at least
/// `top` becomes 0; sums of costs are not compared with `top`. `options` apply to files of costs.
///
/// # Errors
/// Returns an error if the file cannot be read or parsed, or if a file of costs has no temperature, and
/// [`Error::Stopped`] or [`Error::Waiting`] if `stop` is set.
pub fn read_potentials(
    source: &Source,
    format: Option<Format>,
    options: &ReadOptions,
    temperature: Option<f64>,
    stop: &Stop,
) -> Result<Potentials, Error> {
    let format = super::list::format_of(source, format)?;
    read_as(format, super::input::read_tokens(source, stop)?, options, temperature)
}

/// Reads a product of potentials from a stream of bytes, compressed or not; `name` names it in messages.
///
/// # Errors
/// Returns an error if the stream cannot be read or parsed, or if costs have no temperature, and [`Error::Stopped`] or
/// [`Error::Waiting`] if `stop` is set.
pub fn read_potentials_from(
    reader: impl Read,
    name: &str,
    format: Format,
    temperature: Option<f64>,
    stop: &Stop,
) -> Result<Potentials, Error> {
    let source = input::decompress(Box::new(reader)).map_err(|error| cannot_read(name, error, stop))?;
    read_as(format, Tokens::new(source, name.to_string(), stop), &ReadOptions::default(), temperature)
}

fn read_as(
    format: Format,
    mut tokens: Tokens<'_>,
    options: &ReadOptions,
    temperature: Option<f64>,
) -> Result<Potentials, Error> {
    let parts = match format.of_text(&mut tokens)? {
        Format::Uai => uai::parse(&mut tokens, Scale::Potentials)?,
        Format::Lg => uai::parse(&mut tokens, Scale::Logarithms)?,
        Format::Bif => bif::parse(&mut tokens)?,
        Format::XmlBif => xmlbif::parse(&mut tokens)?,
        Format::Net => hugin::parse(&mut tokens)?,
        Format::Xdsl => genie::parse(&mut tokens)?,
        format => {
            let what = format!("{}: costs become potentials by --temperature T: exp(-cost / T)", tokens.file());
            // a file of Fangs may have numbers of its own
            if temperature.is_none() && format != Format::Fangs {
                return Err(Error::Usage(what));
            }
            let network = super::list::read_as(format, tokens, options)?;
            let own = network.reading().map(|_| 1.0);
            return potentials_of(&network, temperature.or(own).ok_or(Error::Usage(what))?);
        }
    };
    let (file, stop) = (tokens.file().to_string(), tokens.stop());
    let potentials = parts.potentials(&file, stop)?;
    Ok(Potentials { warnings: tokens.take_warnings(), ..potentials })
}

impl Parts {
    /// Returns the numbers as potentials, without a conversion to costs.
    fn potentials(self, file: &str, stop: &Stop) -> Result<Potentials, Error> {
        let mut potentials = Potentials::new(file);
        for variable in self.builder.build().variables() {
            let _ = potentials.variable(variable.clone())?;
        }
        let mut known: FxHashMap<*const Numbers, (Factor, f64)> = FxHashMap::default();
        let mut exponents = Exponents::default();
        for (scope, numbers) in self.scopes.iter().zip(&self.numbers) {
            stop.check()?;
            let (factor, rounding) = match known.entry(Arc::as_ptr(numbers)) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => new.insert(factor(numbers, self.scale, file)?),
            };
            exponents.add(factor, file)?;
            potentials.functions.push(Factor { scope: scope.clone(), ..factor.clone() });
            potentials.rounding += *rounding;
        }
        Ok(potentials)
    }
}

/// The sum over the functions of their largest absolute powers of two.
#[derive(Default)]
struct Exponents(i64);

impl Exponents {
    /// Adds a function. Returns an error if the sum exceeds [`MOST_EXPONENTS`].
    fn add(&mut self, factor: &Factor, file: &str) -> Result<(), Error> {
        let (most, least) = factor.range();
        self.0 = self.0.saturating_add(most.abs().max(least.abs()));
        if self.0 <= MOST_EXPONENTS {
            return Ok(());
        }
        Err(Error::Usage(format!("{file}: products of its numbers are beyond e to the power of +-{MOST_LOGARITHM:e}")))
    }
}

/// Returns a logarithm, or an error if it is too large.
fn admitted(log: f64, file: &str) -> Result<f64, Error> {
    if log == f64::NEG_INFINITY || log.abs() <= MOST_LOGARITHM {
        return Ok(log);
    }
    let hint = "write -inf in .LG, or 0 in .uai, for what is impossible";
    Err(Error::Usage(format!("{file}: a logarithm of {log:e}, read are those up to +-{MOST_LOGARITHM:e} ({hint})")))
}

/// Returns the table of a file's numbers, and a bound on the relative error of its entries.
fn factor(numbers: &Numbers, scale: Scale, file: &str) -> Result<(Factor, f64), Error> {
    let mut rounding = ROUNDOFF;
    for stated in numbers.iter() {
        rounding = rounding.max(match (scale, stated) {
            (Scale::Logarithms, Stated::Double(log)) if log.is_finite() => {
                (3.0 + 2.0 * admitted(log, file)?.abs()) * ROUNDOFF
            }
            (_, Stated::Decimal(decimal)) if decimal.exponent.abs() > MOST_TENS => {
                let what =
                    format!("a potential has the power {} of ten, at most {MOST_TENS} are read", decimal.exponent);
                return Err(Error::Usage(format!("{file}: {what}")));
            }
            (_, Stated::Decimal(decimal)) => (2.0 + decimal.exponent.abs() as f64 / 512.0) * ROUNDOFF,
            _ => 0.0,
        });
    }
    let value = |stated: Stated| match (scale, stated) {
        (Scale::Logarithms, Stated::Double(log)) => Scaled::exp(log),
        (_, stated) => Scaled::of(stated),
    };
    let made = match numbers.as_doubles() {
        Some(doubles) => Factor::whole(&[], doubles.len(), |index| value(Stated::Double(doubles[index]))),
        None => Factor::whole(&[], numbers.len(), |index| value(numbers.get(index))),
    };
    Ok((made, rounding))
}

/// Returns the potentials of a network: the numbers of its file if it was read from potentials, otherwise exp(-c /
/// `temperature`) for a cost c, or exp(v / `temperature`) for a value v that is maximised.
///
/// # Errors
/// Returns an error if global functions are too large for tables, or if there is too little memory for sparse tables in
/// dense form.
pub fn potentials_of(network: &Network, temperature: f64) -> Result<Potentials, Error> {
    let network =
        super::writing::as_tables(network).map_err(|error| Error::Usage(format!("{}: {error}", network.name)))?;
    let stated = network.reading().map_or(0, |reading| reading.functions.len());
    let temperature = if stated > 0 { 1.0 } else { temperature };
    let mut potentials = Potentials::new(network.name.clone());
    for variable in network.variables() {
        let _ = potentials.variable(variable.clone())?;
    }
    potentials.warnings = network.warnings().to_vec();
    let unit = network.units().scale() * temperature;
    let value = |cost: Cost| if cost >= FORBIDDEN { Scaled::ZERO } else { Scaled::exp(-(cost as f64 / unit)) };
    let entries = |scope: &[u32]| {
        scope.iter().fold(1u64, |product, &v| product.saturating_mul(u64::from(network.domains()[v as usize])))
    };
    let mut known: FxHashMap<usize, Factor> = FxHashMap::default();
    let mut exponents = Exponents::default();
    for (scope, numbers) in network.reading().into_iter().flat_map(|reading| {
        let scopes = network.functions().iter().map(|function| &function.scope);
        scopes.zip(&reading.functions).map(|(scope, numbers)| (scope, (numbers, reading.scale)))
    }) {
        let (factor, rounding) = factor(numbers.0, numbers.1, &network.name)?;
        exponents.add(&factor, &network.name)?;
        potentials.functions.push(Factor { scope: scope[..].into(), ..factor });
        potentials.rounding += rounding;
    }
    for function in &network.functions()[stated..] {
        let dense: Costs = match &function.table {
            Table::Dense(costs) => costs.clone(),
            Table::Sparse(table) => {
                let all = entries(&function.scope);
                memory::must_fit(all.saturating_mul(32), || format!("a function of {all} entries as a table"))?;
                let mut dense = vec![table.default_cost(); all as usize];
                for (values, cost) in table.iter() {
                    let along = |index: usize, (&v, &value): (&u32, &u32)| {
                        index * network.domains()[v as usize] as usize + value as usize
                    };
                    dense[function.scope.iter().zip(values).fold(0, along)] = cost;
                }
                dense.into()
            }
        };
        let highest = dense.iter().filter(|&cost| cost < FORBIDDEN).map(Cost::unsigned_abs).max().unwrap_or(0);
        let largest = admitted(highest as f64 / unit, &network.name)?;
        let factor = known.entry(function.table.address());
        let factor = factor.or_insert_with(|| Factor::whole(&[], dense.len(), |index| value(dense.get(index))));
        exponents.add(factor, &network.name)?;
        potentials.functions.push(Factor { scope: function.scope[..].into(), ..factor.clone() });
        potentials.rounding += (3.0 + 2.0 * largest) * ROUNDOFF;
    }
    Ok(potentials)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, format: Format, temperature: Option<f64>) -> Result<Potentials, Error> {
        read_potentials_from(text.as_bytes(), "t", format, temperature, &Stop::new())
    }

    #[test]
    fn numbers_stay_as_they_are_written() {
        let text = "MARKOV\n2\n2 3\n3\n1 0\n2 0 1\n0\n\n2\n 0.3 1e-400\n\n6\n1 0 .25\n1 2 1e-300\n\n1 3\n";
        let potentials = read(text, Format::Uai, None).expect("potentials");
        assert_eq!(potentials.domains, [2, 3]);
        assert_eq!(potentials.value(&[0, 2]), Scaled::new(0.3 * 0.25 * 3.0));
        assert_eq!(potentials.value(&[0, 1]), Scaled::ZERO);
        let small = potentials.value(&[1, 2]).ln() + 700.0 * std::f64::consts::LN_10 - 3f64.ln();
        assert!(small.abs() < 1e-12, "{small}");
        let text = "MARKOV 1 3 2 1 0 1 0 3 0 -inf -2000.5 3 1.5 1 1";
        let potentials = read(text, Format::Lg, None).expect("potentials");
        assert!((potentials.value(&[2]).ln() + 1999.5).abs() < 1e-12);
        assert_eq!(potentials.value(&[1]), Scaled::ZERO);
    }

    #[test]
    fn logarithms_beyond_all_exponents_are_refused() {
        let two = |first: &str, second: &str| read(&format!("MARKOV 1 2 1 1 0 2 {first} {second}"), Format::Lg, None);
        let far = two("-123456789012345", "3").expect("potentials");
        assert_eq!((far.functions.len(), far.functions[0].table.len()), (1, 2));
        assert!((far.value(&[0]).ln() / -123_456_789_012_345.0 - 1.0).abs() < 1e-12);
        assert!((far.value(&[1]).ln() - 3.0).abs() < 1e-12);
        for (first, second) in [("-9223372036854775807", "-5e18"), ("0", "-1e300"), ("3e17", "0"), ("1e308", "1e308")] {
            let error = two(first, second).expect_err("too large").to_string();
            assert!(error.contains("a logarithm of") && error.contains("-inf"), "{first} {second}: {error}");
        }
        let many = format!("MARKOV 1 2 9 {}{}", "1 0 ".repeat(9), "2 1e17 -1e17 ".repeat(9));
        assert!(read(&many, Format::Lg, None).expect_err("too large").to_string().contains("products"));
        let cold = read("t 1 2 1 10\n2\n1 0 5 1\n1 3\n", Format::Wcsp, Some(1e-300)).expect_err("too large");
        assert!(cold.to_string().contains("a logarithm of"), "{cold}");
    }

    #[test]
    fn costs_need_a_temperature() {
        let text = "t 2 2 3 10\n2 2\n2 0 1 2 1\n0 0 10\n1 0 1 0\n0 3 0\n";
        let error = read(text, Format::Wcsp, None).expect_err("no temperature").to_string();
        assert!(error.contains("--temperature"), "{error}");
        let potentials = read(text, Format::Wcsp, Some(0.5)).expect("potentials");
        assert_eq!(potentials.value(&[0, 0]), Scaled::ZERO);
        assert!((potentials.value(&[1, 0]).ln() + 12.0).abs() < 1e-13);
    }

    #[test]
    fn networks_have_the_potentials_of_their_files() {
        let text = "MARKOV\n2\n2 3\n2\n1 0\n2 0 1\n\n2\n 0.3 0.7\n\n6\n1 0 .25\n1 2 1e-300\n";
        let stop = Stop::new();
        let network = |text: &str, format| {
            super::super::read_from(text.as_bytes(), "t", format, &ReadOptions::default(), &stop).expect("a network")
        };
        let mut markov = network(text, Format::Uai);
        let own = read(text, Format::Uai, None).expect("potentials");
        let same = potentials_of(&markov, 3.0).expect("potentials");
        assert_eq!((&same.functions, same.rounding), (&own.functions, own.rounding));
        markov.observe(&[(0, 1)]).expect("a value");
        let observed = potentials_of(&markov, 1.0).expect("potentials");
        assert_eq!(observed.value(&[0, 0]), Scaled::ZERO);
        assert_eq!(observed.value(&[1, 1]), own.value(&[1, 1]));
        // three different values of three variables
        let global = "t 3 3 1 10\n3 3 3\n3 0 1 2 -1 salldiff var 10\n";
        let all = potentials_of(&network(global, Format::Wcsp), 1.0).expect("potentials");
        assert_eq!((all.value(&[0, 1, 2]), all.value(&[0, 1, 1])), (Scaled::ONE, Scaled::ZERO));
    }
}
