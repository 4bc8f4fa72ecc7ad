//! Writes `.wcnf` files, with a clause for each tuple of a function that costs more than the function's minimum.

use crate::model::{Cost, CostFunction, FORBIDDEN, Network, SUM_LIMIT, Table};
use crate::writing::as_tables;
use crate::writing::{decimal, entries, refuse, refuse_large, refuse_top, refuse_values};
use std::io::{self, Write};

/// Writes a network of Boolean variables with the header `p wcnf`, which keeps variables that occur in no clause.
///
/// # Errors
/// Returns errors of writing to `out`, and [`io::ErrorKind::InvalidInput`] for what clauses cannot express: other
/// variables, maximisation, a negative constant, a limit on the cost of solutions.
pub(crate) fn write(network: &Network, out: &mut dyn Write) -> io::Result<()> {
    let network = as_tables(network)?;
    let units = network.units();
    if units.maximise {
        return refuse("maximisation: clauses have costs");
    }
    refuse_values(network)?;
    refuse_top(network)?;
    // weights, with `None` for hard clauses
    let mut clauses: Vec<(Option<i128>, Vec<i64>)> = Vec::new();
    let mut constant = 0i128;
    for (index, function) in network.functions().iter().enumerate() {
        let base = function.table.costs().min().unwrap_or(0);
        let is_hard = |cost: Cost| cost >= FORBIDDEN;
        if is_hard(base) {
            clauses.push((None, Vec::new()));
            continue;
        }
        constant += i128::from(base);
        let mut clause = |values: &[u32], cost: Cost| {
            let literal = |(&v, &value): (&u32, &u32)| (i64::from(v) + 1) * if value == 0 { 1 } else { -1 };
            let weight = (!is_hard(cost)).then(|| i128::from(cost) - i128::from(base));
            if cost != base {
                clauses.push((weight, function.scope.iter().zip(values).map(literal).collect()));
            }
        };
        match few(function, base) {
            Some(tuples) => tuples.for_each(|(values, cost)| clause(values, cost)),
            None => {
                refuse_large(network, index)?;
                entries(network, function).for_each(|(values, cost)| clause(&values, cost));
            }
        }
    }
    match constant {
        0 => {}
        1.. => clauses.push((Some(constant), Vec::new())),
        _ => return refuse(format!("a negative constant, {constant}: weights are at least 0")),
    }
    let total = clauses.iter().filter_map(|(weight, _)| *weight).sum::<i128>();
    if total as f64 + 1.0 >= SUM_LIMIT {
        let total = decimal(total, units.decimals);
        return refuse(format!("weights that total {total}, which are too large to be read as 64-bit costs"));
    }
    // an integer, even if weights are decimals
    let top = total / 10i128.pow(units.decimals) + 1;
    writeln!(out, "p wcnf {} {} {top}", network.domains().len(), clauses.len())?;
    for (weight, literals) in &clauses {
        match weight {
            Some(weight) => write!(out, "{}", decimal(*weight, units.decimals))?,
            None => write!(out, "{top}")?,
        }
        for literal in literals {
            write!(out, " {literal}")?;
        }
        writeln!(out, " 0")?;
    }
    Ok(())
}

/// Returns the listed tuples if all other tuples have the base cost, else `None`.
fn few(function: &CostFunction, base: Cost) -> Option<impl Iterator<Item = (&[u32], Cost)>> {
    match &function.table {
        Table::Sparse(table) if table.default_cost() == base => Some(table.iter()),
        _ => None,
    }
}
