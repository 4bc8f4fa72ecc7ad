//! The `.uai` format (`MARKOV` and `BAYES`) and `.LG`, its twin with natural logarithms of potentials.
//!
//! The kind, the number of variables, their domain sizes, the number of functions, a line `arity variables…` for each,
//! then for each function the number of its entries and the entries, the last variable running fastest.
//!
//! A potential p becomes the cost -ln p in units of 10^-decimals, rounded to the nearest; p = 0 is forbidden.

use super::ReadOptions;
use super::limits::Domains;
use super::tokens::Tokens;
use crate::error::Error;
use crate::model::{Builder, Cost, FORBIDDEN, Network, Units};

/// Digits kept where nobody asks for a number of them.
const DECIMALS: u32 = 9;

/// More digits than a double has.
const MOST_DECIMALS: u32 = 15;

/// The sum over the functions of their largest finite cost stays below this, so that no sum of costs comes near
/// [`FORBIDDEN`].
const LARGEST_SUM: f64 = (1u64 << 57) as f64;

/// The finite costs of a function stay below this: the error of the logarithm and of the product with the scale, two
/// units in the last place of a double, is then below 2^-5 units (see [`rounded`]).
const LARGEST_COST: f64 = (1u64 << 46) as f64;

/// Log-potentials beyond this are refused. The logarithm of every double is within ±745.
const LARGEST_LOG: f64 = 1e9;

/// Reads a network of potentials.
pub(super) fn read(tokens: &mut Tokens<'_>, options: &ReadOptions) -> Result<Network, Error> {
    read_tables(tokens, options, Scale::Linear)
}

/// Reads a network of logarithms of potentials. They are natural ones: the documentation of toulbar2, whose format
/// this is, says "logarithm", and the optimum it proves for its protein 1cb6 (132.406) is the plain sum of the entries.
pub(super) fn read_log(tokens: &mut Tokens<'_>, options: &ReadOptions) -> Result<Network, Error> {
    read_tables(tokens, options, Scale::Log)
}

/// What the entries are.
#[derive(Clone, Copy)]
enum Scale {
    Linear,
    Log,
}

fn read_tables(tokens: &mut Tokens<'_>, options: &ReadOptions, scale: Scale) -> Result<Network, Error> {
    read_kind(tokens)?;
    let mut builder = Network::builder(tokens.file());
    let mut domains = Domains::default();
    let variables = tokens.count("the number of variables")?;
    for _ in 0..variables {
        let size = tokens.integer("a domain size")?;
        domains.declare(size, &mut builder, tokens)?;
    }
    let scopes = read_scopes(tokens, variables as u32)?;
    let mut tables = Vec::new();
    for (function, scope) in scopes.iter().enumerate() {
        tables.push(read_table(tokens, function, scope, &builder, scale)?);
    }
    tokens.finish(|| format!("the file announces {} functions", scopes.len()))?;

    let largest: Vec<f64> = tables.iter().map(|table| scale.largest(table)).collect();
    let decimals = choose_decimals(&largest, options.precision)
        .ok_or_else(|| tokens.error_with("smaller potentials", "their logarithms pass 64-bit arithmetic"))?;
    let mut inexact = 0;
    for (scope, table) in scopes.iter().zip(tables) {
        if tokens.stop().is_set() {
            return Err(Error::Stopped);
        }
        inexact += u64::from(table.iter().any(|&entry| !scale.is_exact(entry, decimals)));
        let function = builder.dense(scope, scale.costs(table, decimals));
        let _ = function.map_err(|error| tokens.error_with("a table that fits its scope", error.to_string()))?;
    }
    let _ = builder.units(Units { decimals, maximise: true, rounded: rounded(inexact) });
    Ok(builder.build())
}

fn read_kind(tokens: &mut Tokens<'_>) -> Result<(), Error> {
    let kind = tokens.word("MARKOV or BAYES")?.to_ascii_uppercase();
    match &kind[..] {
        b"MARKOV" | b"BAYES" => Ok(()),
        b"ID" | b"LIMID" => Err(tokens.error_with("MARKOV or BAYES", "influence diagrams are not read")),
        _ => Err(tokens.error("MARKOV or BAYES")),
    }
}

fn read_scopes(tokens: &mut Tokens<'_>, variables: u32) -> Result<Vec<Box<[u32]>>, Error> {
    let functions = tokens.count("the number of functions")?;
    let mut scopes = Vec::new();
    for _ in 0..functions {
        let arity = tokens.count("the arity of a function")?;
        if arity > variables as usize {
            return Err(tokens.error(format!("an arity of at most {variables}")));
        }
        let mut scope = Vec::new();
        for _ in 0..arity {
            let variable = tokens.index(variables, "a variable")?;
            // long scopes are left to the builder, which sorts
            if arity <= 64 && scope.contains(&variable) {
                return Err(tokens.error("a variable that the function does not have yet"));
            }
            scope.push(variable);
        }
        scopes.push(scope.into());
    }
    Ok(scopes)
}

fn read_table(
    tokens: &mut Tokens<'_>,
    function: usize,
    scope: &[u32],
    builder: &Builder,
    scale: Scale,
) -> Result<Vec<f64>, Error> {
    let sizes = scope.iter().filter_map(|&variable| builder.domain(variable));
    let combinations = sizes.fold(1u64, |n, size| n.saturating_mul(u64::from(size)));
    let entries = tokens.count("a number of entries")?;
    if entries as u64 != combinations {
        return Err(tokens.error(format!("{combinations} entries, as the scope of function {function} has it")));
    }
    // what the file claims is no reason to allocate much: the table grows as its entries arrive
    let mut table = Vec::with_capacity(entries.min(1 << 12));
    for _ in 0..entries {
        let entry = tokens.real("a potential")?;
        scale.check(entry).map_err(|expected| tokens.error(expected))?;
        table.push(entry);
    }
    table.shrink_to_fit();
    Ok(table)
}

impl Scale {
    fn check(self, entry: f64) -> Result<(), &'static str> {
        match self {
            Scale::Linear if !(0.0..f64::INFINITY).contains(&entry) => Err("a finite potential of at least 0"),
            Scale::Log if entry != f64::NEG_INFINITY && !(-LARGEST_LOG..=LARGEST_LOG).contains(&entry) => {
                Err("a log-potential, -inf or within ±1e9")
            }
            _ => Ok(()),
        }
    }

    /// Minus the natural logarithm of a potential; infinite where it is 0.
    fn minus_log(self, entry: f64) -> f64 {
        match self {
            Scale::Linear => -entry.ln(),
            Scale::Log => -entry,
        }
    }

    /// Whether the cost is exact: a logarithm that is not rounded, as it has no more than `decimals` digits.
    fn is_exact(self, entry: f64, decimals: u32) -> bool {
        let scale = 10f64.powi(decimals as i32);
        match self {
            Scale::Linear => entry == 0.0 || entry == 1.0,
            Scale::Log => entry == f64::NEG_INFINITY || (entry * scale).round() / scale == entry,
        }
    }

    /// The largest finite |logarithm| of a table, by its extremes: two logarithms instead of one an entry.
    fn largest(self, table: &[f64]) -> f64 {
        let impossible = match self {
            Scale::Linear => 0.0,
            Scale::Log => f64::NEG_INFINITY,
        };
        let possible = table.iter().copied().filter(|&entry| entry != impossible);
        let (least, greatest) = possible.fold((f64::INFINITY, impossible), |(l, g), e| (l.min(e), g.max(e)));
        [least, greatest].into_iter().map(|e| self.minus_log(e).abs()).filter(|log| log.is_finite()).fold(0.0, f64::max)
    }

    /// The table in integers, in the same allocation.
    fn costs(self, table: Vec<f64>, decimals: u32) -> Vec<Cost> {
        let scale = 10f64.powi(decimals as i32);
        let mut last = (f64::NAN, 0); // neighbouring entries are often equal, and a logarithm costs more than a look
        let convert = |entry: f64| {
            if entry != last.0 {
                let log = self.minus_log(entry);
                last = (entry, if log == f64::INFINITY { FORBIDDEN } else { (log * scale).round() as Cost });
            }
            last.1
        };
        table.into_iter().map(convert).collect()
    }
}

/// As many digits as asked for, fewer where 64 bits cannot hold the costs.
fn choose_decimals(largest: &[f64], asked: Option<u32>) -> Option<u32> {
    let sum: f64 = largest.iter().sum();
    let most = largest.iter().copied().fold(0.0, f64::max);
    let fits = |&decimals: &u32| {
        let scale = 10f64.powi(decimals as i32);
        sum * scale < LARGEST_SUM && most * scale < LARGEST_COST
    };
    (0..=asked.unwrap_or(DECIMALS).min(MOST_DECIMALS)).rev().find(fits)
}

/// How many functions to count as rounded: half a unit for each of them is what [`Units::bound`] takes off. One in
/// sixteen is added, as rounding follows a computation in doubles that is itself off by up to 1/32 of a unit.
fn rounded(inexact: u64) -> u64 {
    inexact + inexact.div_ceil(16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::{Format, read_from};
    use crate::model::Table;
    use crate::stop::Stop;

    fn parse(text: &str, format: Format, precision: Option<u32>) -> Result<Network, Error> {
        let options = ReadOptions { precision, ..ReadOptions::default() };
        read_from(text.as_bytes(), "t.uai", format, &options, &Stop::new())
    }

    fn table(network: &Network, function: usize) -> &[Cost] {
        match &network.functions()[function].table {
            Table::Dense(costs) => costs,
            Table::Sparse(_) => panic!("tables of potentials are dense"),
        }
    }

    #[test]
    fn potentials() {
        for kind in ["MARKOV", "BAYES", "bayes"] {
            let text = format!("{kind}\n2\n2 3\n3\n1 0\n2 0 1\n0\n\n2\n 0.5 5e-1\n\n6\n1 0 .25\n1 2 1e-300\n\n1 1.0\n");
            let network = parse(&text, Format::Uai, None).expect("a network");
            assert_eq!(network.domains(), &[2, 3]);
            assert_eq!(table(&network, 0), &[693_147_181; 2]);
            assert_eq!(table(&network, 1), &[0, FORBIDDEN, 1_386_294_361, 0, -693_147_181, 690_775_527_898]);
            assert_eq!(table(&network, 2), &[0]);
            assert_eq!(*network.units(), Units { decimals: 9, maximise: true, rounded: 3 });
        }
    }

    #[test]
    fn logarithms() {
        let network = parse("MARKOV 1 5 1 1 0 5 0 -0.0 -inf -1.531 2e-1", Format::Lg, Some(3)).expect("a network");
        assert_eq!(table(&network, 0), &[0, 0, FORBIDDEN, 1531, -200]);
        assert_eq!(*network.units(), Units { decimals: 3, maximise: true, rounded: 0 });
        let network = parse("MARKOV 1 1 1 1 0 1 -1.5316", Format::Lg, Some(3)).expect("a network");
        assert_eq!((table(&network, 0), network.units().rounded), (&[1532][..], 2));
    }

    #[test]
    fn exact_tables_cost_no_precision() {
        let network = parse("MARKOV 1 2 1 1 0 2 0 1", Format::Uai, None).expect("a network");
        assert_eq!((network.units().rounded, network.units().precision_slack()), (0, 0.0));
    }

    #[test]
    fn digits_follow_the_range() {
        let decimals = |text: &str, asked| parse(text, Format::Lg, asked).expect("a network").units().decimals;
        assert_eq!(decimals("MARKOV 1 1 1 1 0 1 -1", Some(99)), 13);
        assert_eq!(decimals("MARKOV 1 1 1 1 0 1 -1e9", None), 4);
        assert_eq!(decimals("MARKOV 1 1 1 1 0 1 -300", None), 9);
        assert_eq!(decimals("MARKOV 1 1 1 1 0 1 -300", Some(0)), 0);
    }

    #[test]
    fn misfits() {
        for (text, part) in [
            ("", "1:1: found the end of the file, expected MARKOV or BAYES"),
            ("LIMID 1", "1:1: found `LIMID`, expected MARKOV or BAYES (influence diagrams"),
            ("MARKOV 1 0", "1:10: found `0`, expected a domain size of at least 1"),
            ("MARKOV 1 99999999999", "domains of at most"),
            ("MARKOV 99999999999 2 2", "found the end of the file"),
            ("MARKOV 1 2 99999999999 1 0", "found the end of the file"),
            ("MARKOV 1 2 1 99999999999 0", "expected an arity of at most 1"),
            ("MARKOV 2 2 2 1 2 1 1 4", "expected a variable that"),
            ("MARKOV 1 2 1 1 1 4", "expected a variable in 0..1"),
            ("MARKOV 1 2 1 1 0 99999999999 1", "found `99999999999`, expected 2 entries"),
            ("MARKOV 1 2 1 1 0 2 1", "found the end of the file, expected a potential"),
            ("MARKOV 1 2 1 1 0 2 1\n-1", "2:1: found `-1`, expected a finite potential"),
            ("MARKOV 1 2 1 1 0 2 1\nnan", "2:1: found `nan`"),
            ("MARKOV 1 2 1 1 0 2 1\ninf", "2:1: found `inf`"),
            ("MARKOV 1 2 1 1 0 2 1 1\n7", "2:1: found `7`, expected the end of the file"),
        ] {
            let error = parse(text, Format::Uai, None).expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
        for text in ["MARKOV 1 1 1 1 0 1 inf", "MARKOV 1 1 1 1 0 1 -1e10", "MARKOV 1 1 1 1 0 1 nan"] {
            assert!(parse(text, Format::Lg, None).expect_err(text).to_string().contains("expected a log-potential"));
        }
    }
}
