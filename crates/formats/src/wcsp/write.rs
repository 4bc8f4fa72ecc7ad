//! Writes `.wcsp` files.

use crate::global::Style;
use crate::model::{Cost, CostFunction, FORBIDDEN, Function, Network, Table};
use crate::writing::with_globals;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::io::{self, Write};

/// Writes a network as `.wcsp`, with costs in its integer units. Shared tables remain shared, and global functions keep
/// their form.
///
/// # Errors
/// Returns errors of writing to `out`, and [`io::ErrorKind::InvalidInput`] if the format cannot express the network: an
/// entry reaches `top` and a negative one may compensate for it, or a global function has neither a keyword nor a
/// table.
pub(crate) fn write(network: &Network, out: &mut dyn Write) -> io::Result<()> {
    let (network, globals) = with_globals(network, |network, _| Style::Wcsp { top: network.top(), nested: write })?;
    refuse_compensated(network)?;
    let domains = network.domains();
    let largest = domains.iter().max().copied().unwrap_or(1);
    let functions = network.functions();
    let count = functions.len() + globals.iter().map(Vec::len).sum::<usize>();
    writeln!(out, "{} {} {largest} {count} {}", word(&network.name), domains.len(), network.top())?;
    let sizes: Vec<String> = domains.iter().map(u32::to_string).collect();
    writeln!(out, "{}", sizes.join(" "))?;

    let mut uses: FxHashMap<usize, u32> = FxHashMap::default();
    for function in functions {
        *uses.entry(function.table.address()).or_default() += 1;
    }
    let mut offered: FxHashMap<usize, usize> = FxHashMap::default();
    let mut globals = globals.into_iter();
    for function in network.all_functions() {
        let function = match function {
            Function::Table(function) => function,
            Function::Global(global) => {
                let scope: Vec<String> = global.scope.iter().map(u32::to_string).collect();
                for part in globals.next().unwrap_or_default() {
                    writeln!(
                        out,
                        "{} {} -1 {} {}",
                        scope.len(),
                        scope.join(" "),
                        part.keyword,
                        part.parameters.trim_end()
                    )?;
                }
                continue;
            }
        };
        let table = function.table.address();
        let arity = function.scope.len();
        let earlier = offered.get(&table).copied();
        let offers = earlier.is_none() && arity > 0 && uses[&table] > 1;
        write!(out, "{}{arity}", if offers { "-" } else { "" })?;
        for variable in &function.scope {
            write!(out, " {variable}")?;
        }
        match earlier {
            Some(number) => writeln!(out, " 0 -{number}")?,
            None => write_table(function, domains, network.top(), out)?,
        }
        if offers {
            let number = offered.len() + 1;
            let _ = offered.insert(table, number);
        }
    }
    Ok(())
}

/// Returns a name as one word.
fn word(name: &str) -> String {
    let word: String = name.chars().map(|c| if c.is_whitespace() || c.is_control() { '_' } else { c }).collect();
    if word.is_empty() { "unknown".into() } else { word }
}

/// Refuses entries that reach `top` if a negative cost may compensate for them, because entries that reach `top` are
/// forbidden in the file.
fn refuse_compensated(network: &Network) -> io::Result<()> {
    let top = network.top();
    let negative = || network.functions().iter().any(|function| function.min(network.domains()) < 0);
    let reaches = |cost: Cost| cost >= top && cost < FORBIDDEN;
    let dear = network.functions().iter().position(|function| match &function.table {
        Table::Dense(costs) => costs.iter().any(reaches),
        Table::Sparse(table) => table.costs().iter().copied().any(reaches) || reaches(table.default_cost()),
    });
    match dear.filter(|_| negative()) {
        Some(function) => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("function {function} has a cost of at least top, {top}, that negative costs may make up for"),
        )),
        None => Ok(()),
    }
}

fn write_table(function: &CostFunction, domains: &[u32], top: Cost, out: &mut dyn Write) -> io::Result<()> {
    // forbidden tuples cost `top`, as in files of other programs
    let shown = |cost: Cost| if cost >= top { top.max(0) } else { cost };
    match &function.table {
        Table::Sparse(table) => {
            writeln!(out, " {} {}", shown(table.default_cost()), table.len())?;
            for (values, cost) in table.iter() {
                write_tuple(values, shown(cost), out)?;
            }
        }
        Table::Dense(costs) => {
            let default = most_frequent(costs.iter().map(shown));
            let listed = costs.iter().filter(|&cost| shown(cost) != default).count();
            writeln!(out, " {default} {listed}")?;
            let mut values = vec![0u32; function.scope.len()];
            for cost in costs.iter().map(shown) {
                if cost != default {
                    write_tuple(&values, cost, out)?;
                }
                for (value, &variable) in values.iter_mut().zip(&function.scope).rev() {
                    *value += 1;
                    if *value < domains[variable as usize] {
                        break;
                    }
                    *value = 0;
                }
            }
        }
    }
    Ok(())
}

fn write_tuple(values: &[u32], cost: Cost, out: &mut dyn Write) -> io::Result<()> {
    for value in values {
        write!(out, "{value} ")?;
    }
    writeln!(out, "{cost}")
}

/// Returns the most frequent cost, the least one if there are several; it becomes the default. It is never -1, which
/// would mark a global function in other programs.
fn most_frequent(costs: impl Iterator<Item = Cost>) -> Cost {
    let mut counts: FxHashMap<Cost, usize> = FxHashMap::default();
    for cost in costs.filter(|&cost| cost != -1) {
        *counts.entry(cost).or_default() += 1;
    }
    counts.into_iter().max_by_key(|&(cost, count)| (count, Reverse(cost))).map_or(0, |(cost, _)| cost)
}
