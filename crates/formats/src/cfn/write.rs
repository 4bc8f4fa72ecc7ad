//! Writes `.cfn` files.

use crate::decimal;
use crate::global::Style;
use crate::model::{Cost, CostFunction, FORBIDDEN, Function, Network, Odometer, Table};
use crate::writing::with_globals;
use rustc_hash::FxHashSet;
use std::io::{self, Write};

/// Writes a network as `.cfn`. Sense, decimals and global functions are kept, and so are names that the format can
/// hold; tables are written in full or as tuples. Logarithms are written as rounded costs.
///
/// # Errors
/// Returns errors of writing to `out`, and [`io::ErrorKind::InvalidInput`] for costs that were rounded and are no
/// logarithms, and for global functions that have neither a keyword nor a table.
pub(crate) fn write(network: &Network, out: &mut dyn Write) -> io::Result<()> {
    if network.units().rounded > 0 && network.reading().is_none() {
        let what = "costs that were rounded, as bounds would not take that off (more decimals keep them)";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    }
    let (network, globals) = with_globals(network, |network, _| Style::Cfn { units: network.units(), nested: write })?;
    let units = network.units();
    let sense = if units.maximise { '>' } else { '<' };
    let problem = quoted(&network.name);
    writeln!(
        out,
        "{{\n  problem: {{name: \"{problem}\", mustbe: \"{sense}{}\"}},",
        decimal::of_cost(network.top(), units)
    )?;
    writeln!(out, "  variables: {{")?;
    let variables = network.variables().iter().enumerate();
    let names = held((0..variables.len()).map(|index| network.variable_name(index)), 'x');
    for (index, variable) in variables {
        write!(out, "    \"{}\": ", names[index])?;
        let values = variable.values.as_deref().filter(|values| !are_indices(values));
        match values {
            None => writeln!(out, "{},", variable.domain)?,
            Some(values) => {
                let values = held(values.iter().map(|value| value.to_string()), 'v');
                let values: Vec<String> = values.iter().map(|value| format!("\"{value}\"")).collect();
                writeln!(out, "[{}],", values.join(", "))?;
            }
        }
    }
    writeln!(out, "  }},\n  functions: {{")?;
    let scope = |scope: &[u32]| {
        let scope: Vec<String> = scope.iter().map(|&v| format!("\"{}\"", names[v as usize])).collect();
        scope.join(", ")
    };
    let mut globals = globals.into_iter();
    for (index, function) in network.all_functions().enumerate() {
        let own = network.function_name(index).filter(|name| is_name(name));
        let own = own.map_or_else(|| format!("f{index}"), str::to_string);
        match function {
            Function::Table(function) => {
                write!(out, "    \"{own}\": {{scope: [{}], ", scope(&function.scope))?;
                write_table(function, network, out)?;
                writeln!(out, "}},")?;
            }
            Function::Global(global) => {
                for (place, part) in globals.next().unwrap_or_default().into_iter().enumerate() {
                    let part_of = if place == 0 { String::new() } else { format!("_part{place}") };
                    let (keyword, parameters) = (part.keyword, part.parameters);
                    write!(out, "    \"{own}{part_of}\": {{scope: [{}], ", scope(&global.scope))?;
                    writeln!(out, "type: {keyword}, params: {{{parameters}}}}},")?;
                }
            }
        }
    }
    writeln!(out, "  }}\n}}")
}

/// Returns whether the names of all values are their indices.
fn are_indices(values: &[Box<str>]) -> bool {
    (0..).zip(values).all(|(index, value): (usize, _)| **value == *index.to_string())
}

/// Returns names that the format can hold: other characters become `_`, a name that begins like a number is prefixed
/// with a letter, and a number is appended to names that would otherwise be equal.
fn held(names: impl Iterator<Item = String>, letter: char) -> Vec<String> {
    let names: Vec<String> = names.collect();
    let mut known: FxHashSet<String> = names.iter().filter(|name| is_name(name)).cloned().collect();
    let change = |name: String| {
        if is_name(&name) {
            return name;
        }
        let mut plain = quoted(&name);
        if !is_name(&plain) {
            plain.insert(0, letter);
        }
        let others = (2..).map(|number: u64| format!("{plain}_{number}"));
        let free = std::iter::once(plain.clone()).chain(others).find(|name| !known.contains(name)).unwrap_or_default();
        let _ = known.insert(free.clone());
        free
    };
    names.into_iter().map(change).collect()
}

/// Returns whether a word is read back unchanged: it has no separators, brackets or comments, and does not begin with a
/// digit.
fn is_name(name: &str) -> bool {
    let is_plain = |c: char| !c.is_whitespace() && !c.is_control() && !"\"{}[]:,".contains(c);
    !name.is_empty()
        && name.chars().all(is_plain)
        && !name.starts_with(|c: char| c.is_ascii_digit() || c == '#')
        && !name.contains("//")
}

/// Returns the name of a problem as one word.
fn quoted(name: &str) -> String {
    let plain = |c: char| if c.is_whitespace() || c.is_control() || "\"{}[]:,/#".contains(c) { '_' } else { c };
    let word: String = name.chars().map(plain).collect();
    if word.is_empty() { "unknown".into() } else { word }
}

/// The largest number of variables of a table that is written in full; toulbar2 1.3 misreads larger full tables.
const FULL: usize = 3;

fn write_table(function: &CostFunction, network: &Network, out: &mut dyn Write) -> io::Result<()> {
    let shown = |cost: Cost| if cost >= FORBIDDEN { "inf".into() } else { decimal::of_cost(cost, network.units()) };
    let default = match &function.table {
        Table::Dense(costs) if function.scope.len() <= FULL => {
            let costs: Vec<String> = costs.iter().map(shown).collect();
            return write!(out, "costs: [{}]", costs.join(", "));
        }
        Table::Dense(_) => 0,
        Table::Sparse(table) => table.default_cost(),
    };
    write!(out, "defaultcost: {}, costs: [", shown(default))?;
    let mut tuple = |values: &[u32], cost: Cost| {
        let values: Vec<String> = values.iter().map(u32::to_string).collect();
        write!(out, "\n      {}, {},", values.join(", "), shown(cost))
    };
    match &function.table {
        Table::Sparse(table) => table.iter().try_for_each(|(values, cost)| tuple(values, cost))?,
        Table::Dense(costs) => {
            let mut odometer =
                Odometer::new(function.scope.iter().map(|&v| network.domains()[v as usize] as usize).collect());
            for cost in costs {
                if cost != default {
                    tuple(&odometer.digits.iter().map(|&digit| digit as u32).collect::<Vec<u32>>(), cost)?;
                }
                let _ = odometer.advance();
            }
        }
    }
    write!(out, "]")
}
