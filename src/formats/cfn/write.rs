//! Writes `.cfn`.

use crate::formats::as_tables;
use crate::model::{Cost, CostFunction, FORBIDDEN, Network, Odometer, Table, Units};
use std::io::{self, Write};

/// Writes a network as `.cfn`: names, sense and decimals are kept, tables are written in full or as tuples.
///
/// # Errors
/// Errors of writing to `out`; [`io::ErrorKind::InvalidInput`] for names that the format cannot hold, for networks
/// whose costs were rounded, and for global functions that are no tables.
pub(in crate::formats) fn write(network: &Network, out: &mut dyn Write) -> io::Result<()> {
    let invalid = |what: String| Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    if network.reading().is_some() {
        return invalid("rounded logarithms of potentials".into());
    }
    if network.units().rounded > 0 {
        return invalid("costs that were rounded, as bounds would not take that off (more decimals keep them)".into());
    }
    let network = as_tables(network)?;
    let units = network.units();
    let name = |name: &str, what: &str| match is_name(name) {
        true => Ok(name.to_string()),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{what} `{name}`, which is no name there"))),
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

/// In full up to three variables; toulbar2 1.3 misreads larger full tables.
const FULL: usize = 3;

fn write_table(function: &CostFunction, network: &Network, out: &mut dyn Write) -> io::Result<()> {
    let shown = |cost: Cost| if cost >= FORBIDDEN { "inf".into() } else { decimal(cost, network.units()) };
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
