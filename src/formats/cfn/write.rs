//! Writes `.cfn`.

use crate::formats::as_tables;
use crate::model::{Cost, CostFunction, FORBIDDEN, Network, Table, Units};
use std::io::{self, Write};

/// Writes a network as `.cfn`: names, sense and decimals are kept, tables are written in full or as tuples.
///
/// # Errors
/// Errors of writing to `out`; [`io::ErrorKind::InvalidInput`] for names that the format cannot hold, for networks
/// whose costs are rounded logarithms, and for global functions that are no tables.
pub(in crate::formats) fn write(network: &Network, out: &mut dyn Write) -> io::Result<()> {
    let invalid = |what: String| Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    if network.units().rounded > 0 || network.reading().is_some() {
        return invalid("its costs are rounded logarithms of potentials, which .cfn has no place for".into());
    }
    let network = as_tables(network)?;
    let units = network.units();
    let name = |name: &str, what: &str| match is_name(name) {
        true => Ok(name.to_string()),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{what} `{name}` is no name in .cfn"))),
    };
    let sense = if units.maximise { '>' } else { '<' };
    let problem = quoted(&network.name);
    writeln!(out, "{{\n  problem: {{name: \"{problem}\", mustbe: \"{sense}{}\"}},", decimal(network.top(), units))?;
    writeln!(out, "  variables: {{")?;
    for (index, variable) in network.variables().iter().enumerate() {
        write!(out, "    \"{}\": ", name(&network.variable_name(index), "the variable")?)?;
        match &variable.values {
            None => writeln!(out, "{},", variable.domain)?,
            Some(values) => {
                let values = values.iter().map(|value| Ok(format!("\"{}\"", name(value, "the value")?)));
                writeln!(out, "[{}],", values.collect::<io::Result<Vec<_>>>()?.join(", "))?;
            }
        }
    }
    writeln!(out, "  }},\n  functions: {{")?;
    for (index, function) in network.functions().iter().enumerate() {
        let own = network.function_name(index).filter(|name| is_name(name));
        let own = own.map_or_else(|| format!("f{index}"), str::to_string);
        let scope: Vec<String> =
            function.scope.iter().map(|&v| format!("\"{}\"", network.variable_name(v as usize))).collect();
        write!(out, "    \"{own}\": {{scope: [{}], ", scope.join(", "))?;
        write_table(function, network, out)?;
        writeln!(out, "}},")?;
    }
    writeln!(out, "  }}\n}}")
}

/// Whether a word is read back as it is: without separators, brackets and comments, not beginning like a number.
fn is_name(name: &str) -> bool {
    let is_plain = |c: char| !c.is_whitespace() && !c.is_control() && !"\"{}[]:,".contains(c);
    !name.is_empty()
        && name.chars().all(is_plain)
        && !name.starts_with(|c: char| c.is_ascii_digit() || c == '#')
        && !name.contains("//")
}

/// The name of a problem, as one word.
fn quoted(name: &str) -> String {
    let plain = |c: char| if c.is_whitespace() || c.is_control() || "\"{}[]:,/#".contains(c) { '_' } else { c };
    let word: String = name.chars().map(plain).collect();
    if word.is_empty() { "unknown".into() } else { word }
}

/// A cost with all its digits, in the sense of the file.
fn decimal(cost: Cost, units: &Units) -> String {
    let signed = if units.maximise { -i128::from(cost) } else { cost.into() };
    let scale = 10i128.pow(units.decimals);
    let sign = if signed < 0 { "-" } else { "" };
    let (whole, behind) = (signed.abs() / scale, signed.abs() % scale);
    match units.decimals {
        0 => format!("{sign}{whole}"),
        digits => format!("{sign}{whole}.{behind:0width$}", width = digits as usize),
    }
}

fn write_table(function: &CostFunction, network: &Network, out: &mut dyn Write) -> io::Result<()> {
    let shown = |cost: Cost| if cost >= FORBIDDEN { "inf".into() } else { decimal(cost, network.units()) };
    match &function.table {
        Table::Dense(costs) => {
            write!(out, "costs: [")?;
            for (place, &cost) in costs.iter().enumerate() {
                write!(out, "{}{}", if place > 0 { ", " } else { "" }, shown(cost))?;
            }
            write!(out, "]")
        }
        Table::Sparse(table) => {
            write!(out, "defaultcost: {}, costs: [", shown(table.default_cost()))?;
            for (values, cost) in table.iter() {
                write!(out, "\n      ")?;
                for value in values {
                    write!(out, "{value}, ")?;
                }
                write!(out, "{},", shown(cost))?;
            }
            write!(out, "]")
        }
    }
}
