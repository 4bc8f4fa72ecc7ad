//! Common parts of the writers: refusals of what a format cannot express, and costs as decimal numbers.

use super::global::{self, Style, Written};
use crate::model::{Cost, CostFunction, FORBIDDEN, Global, Network};
use std::io::{self, ErrorKind};

/// The maximum number of entries of a function that are written individually.
const ENTRIES: u64 = 1 << 26;

/// Returns the error that the format cannot express part of the network.
pub(super) fn refuse<T>(reason: impl Into<String>) -> io::Result<T> {
    Err(io::Error::new(ErrorKind::InvalidInput, reason.into()))
}

/// Refuses a limit on the cost of solutions that some assignment may reach without a forbidden entry.
pub(super) fn refuse_top(network: &Network) -> io::Result<()> {
    if !may_reach_top(network) {
        return Ok(());
    }
    let top = network.units().number(network.top());
    refuse(format!("the limit on totals, {top}, which the format has no place for (--without-top leaves it out)"))
}

/// Returns whether costs may reach `top` without a forbidden entry: the sum of the largest entries of all functions
/// does.
pub(crate) fn may_reach_top(network: &Network) -> bool {
    let top = network.top();
    let dearest = |function: &CostFunction| {
        let finite = function.table.costs().filter(|&cost| cost < FORBIDDEN);
        i128::from(finite.max().unwrap_or(0))
    };
    top < FORBIDDEN && network.functions().iter().map(dearest).sum::<i128>() >= i128::from(top)
}

/// Refuses a function with too many entries to write individually.
pub(super) fn refuse_large(network: &Network, function: usize) -> io::Result<()> {
    let entries = network.functions()[function].combinations(network.domains());
    if entries <= ENTRIES {
        return Ok(());
    }
    refuse(format!("function {function}, of {entries} entries: the format lists all of them, at most {ENTRIES} are"))
}

/// Refuses variables that are not Boolean.
pub(super) fn refuse_values(network: &Network) -> io::Result<()> {
    match network.domains().iter().position(|&domain| domain != 2) {
        None => Ok(()),
        Some(v) => refuse(format!(
            "the domain of {}, {}, as bits have 2 values",
            network.variable_name(v),
            network.domains()[v]
        )),
    }
}

/// Returns a number of units as a decimal, without trailing zeros.
pub(super) fn decimal(units: i128, decimals: u32) -> String {
    let digits = format!("{:0>width$}", units.unsigned_abs(), width = decimals as usize + 1);
    let (whole, rest) = digits.split_at(digits.len() - decimals as usize);
    let rest = rest.trim_end_matches('0');
    let sign = if units < 0 { "-" } else { "" };
    if rest.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{rest}") }
}

/// Iterates over the tuples of a function and their costs, the last variable varying fastest; costs of at least `top`
/// become [`FORBIDDEN`].
pub(super) fn entries<'a>(
    network: &'a Network,
    function: &'a CostFunction,
) -> impl Iterator<Item = (Vec<u32>, Cost)> + 'a {
    let (domains, top) = (network.domains(), network.top());
    let size = |&v: &u32| domains[v as usize];
    let mut values: Vec<u32> = vec![0; function.scope.len()];
    function.entries(domains).map(move |cost| {
        let now = values.clone();
        for (value, variable) in values.iter_mut().zip(&function.scope).rev() {
            *value = (*value + 1) % size(variable);
            if *value > 0 {
                break;
            }
        }
        (now, if cost >= top { FORBIDDEN } else { cost })
    })
}

/// Returns a network to be written, and its global functions as text. If one of them cannot be expressed in the format,
/// the network has tables in place of all of them, and there is no text.
pub(super) fn with_globals<'n>(
    network: &'n Network,
    style: impl Fn(&'n Network, &Global) -> Style<'n>,
) -> io::Result<(&'n Network, Vec<Vec<Written>>)> {
    match global::written(network, |global| style(network, global)) {
        Some(written) => Ok((network, written)),
        None => Ok((as_tables(network)?, Vec::new())),
    }
}

/// Returns the network with tables in place of its global functions, to be written; an error if that needs additional
/// variables.
pub(super) fn as_tables(network: &Network) -> io::Result<&Network> {
    let tables = network.expanded();
    match network.globals().next() {
        Some(global) if tables.domains().len() > network.domains().len() => {
            let what = format!("global cost functions that are too large for tables, such as {}", global.keyword);
            Err(io::Error::new(io::ErrorKind::InvalidInput, what))
        }
        _ => Ok(tables),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_have_the_digits_that_they_need() {
        for (units, decimals, text) in
            [(0, 0, "0"), (-7, 0, "-7"), (5, 3, "0.005"), (-1250, 3, "-1.25"), (12_000, 3, "12"), (0, 2, "0")]
        {
            assert_eq!(decimal(units, decimals), text);
        }
    }
}
