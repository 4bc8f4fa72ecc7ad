//! Bayesian networks in formats with names: variables, and a conditional probability table for each of them.

use super::potential_costs::Parts;
use super::tokens::{Place, Tokens};
use crate::error::Error;
use crate::model::{Diagram, Network, Node, Numbers, Scale, Stated, Variable};
use rustc_hash::FxHashMap;
use std::borrow::Borrow;
use std::sync::Arc;

/// The largest deviation from 1 of a sum of probabilities that produces no warning: more than the error of rounding a
/// dozen values to six digits.
const SUM_SLACK: f64 = 1e-5;

/// The number of rows that get individual warnings; one more warning counts the rest.
const MOST_ROWS: u64 = 10;

/// The conditional probability table of a variable.
pub(super) struct Conditional {
    /// The parents, then the variable itself, which varies fastest.
    pub scope: Box<[u32]>,
    pub numbers: Arc<Numbers>,
    /// The position of each row in the file, or a single position of the whole table.
    pub places: Vec<Place>,
}

/// The part of a Bayesian network that has been read so far.
#[derive(Default)]
pub(super) struct File {
    pub variables: Vec<Variable>,
    /// The index of each variable, by name.
    pub indices: FxHashMap<Box<str>, u32>,
    /// The table of each variable; `None` until it has been read.
    pub tables: Vec<Option<Conditional>>,
}

impl File {
    /// Adds a variable.
    pub fn declare(&mut self, name: Box<str>, values: Box<[Box<str>]>) {
        let index = self.variables.len() as u32;
        self.variables.push(Variable { domain: values.len() as u32, name: Some(name.clone()), values: Some(values) });
        let _ = self.indices.insert(name, index);
        self.tables.push(None);
    }

    /// Returns the number of entries of a table over these variables.
    pub fn entries(&self, scope: &[u32]) -> usize {
        scope.iter().fold(1, |product, &v| product.saturating_mul(self.variables[v as usize].domain as usize))
    }

    /// Returns the name of a variable without a table; `None` if all have one.
    pub fn missing(&self) -> Option<&str> {
        let missing = self.tables.iter().position(Option::is_none)?;
        self.variables[missing].name.as_deref()
    }

    /// Returns the parts of the network, after warning about rows that do not sum to 1.
    pub fn parts(self, tokens: &mut Tokens<'_>) -> Result<Parts, Error> {
        warn_of_sums(&self.variables, self.tables.iter().flatten(), &mut |place, text| tokens.warn(place, text));
        let mut builder = Network::builder(tokens.file());
        for variable in self.variables {
            let _ = builder.named_variable(variable)?;
        }
        let (scopes, numbers) = self.tables.into_iter().flatten().map(|table| (table.scope, table.numbers)).unzip();
        Ok(Parts { builder, scopes, numbers, scale: Scale::Potentials, precision: None, fixed: Vec::new() })
    }
}

/// Warns about rows of an influence diagram's probability tables that do not sum to 1. The probabilities are those of
/// the last variable of a scope; `places` gives the position of each table in the file.
pub(super) fn warn_of_sums_of(diagram: &Diagram, places: &[Place], warn: &mut dyn FnMut(Place, String)) {
    let variable = |node: &Node| {
        let values = node.values.iter().map(|value| value.as_str().into()).collect();
        let values = (!node.values.is_empty()).then_some(values);
        Variable { domain: node.domain, name: Some(node.name.as_str().into()), values }
    };
    let variables: Vec<Variable> = diagram.nodes.iter().map(variable).collect();
    let tables = diagram.probabilities.iter().zip(places).map(|(own, &place)| Conditional {
        scope: own.scope.clone(),
        numbers: Numbers::new(own.table.to_vec(), Vec::new()).into(),
        places: vec![place],
    });
    warn_of_sums(&variables, tables, warn);
}

/// Warns about rows of probability tables that do not sum to 1.
pub(super) fn warn_of_sums(
    variables: &[Variable],
    tables: impl IntoIterator<Item: Borrow<Conditional>>,
    warn: &mut dyn FnMut(Place, String),
) {
    let mut sums = RowSums::default();
    for table in tables {
        sums.check(variables, table.borrow(), warn);
    }
    if let Some(place) = sums.further {
        warn(place, format!("rows of probabilities that do not sum to 1: {} more", sums.rows - MOST_ROWS));
    }
}

/// Counts rows that do not sum to 1.
#[derive(Default)]
struct RowSums {
    rows: u64,
    /// The position of the first row without an individual warning.
    further: Option<Place>,
}

impl RowSums {
    /// Checks all rows of a table.
    fn check(&mut self, variables: &[Variable], table: &Conditional, warn: &mut dyn FnMut(Place, String)) {
        let Some((&own, parents)) = table.scope.split_last() else { return };
        let size = variables[own as usize].domain as usize;
        let value = |stated: Stated| match stated {
            Stated::Double(double) => double,
            Stated::Decimal(decimal) if decimal.exponent < 0 => 0.0,
            Stated::Decimal(_) => f64::INFINITY,
        };
        for row in 0..table.numbers.len() / size {
            let sum: f64 = match table.numbers.as_doubles() {
                Some(doubles) => doubles[row * size..(row + 1) * size].iter().sum(),
                None => (row * size..(row + 1) * size).map(|index| value(table.numbers.get(index))).sum(),
            };
            if (sum - 1.0).abs() <= SUM_SLACK {
                continue;
            }
            let place = table.places.get(row).or(table.places.first()).copied().unwrap_or((1, 1));
            self.rows += 1;
            if self.rows > MOST_ROWS {
                let _ = self.further.get_or_insert(place);
                continue;
            }
            let name = variables[own as usize].name.as_deref().map_or_else(|| format!("x{own}"), str::to_string);
            let what = match parents {
                [] => format!("the probabilities of {name}"),
                _ => format!("row ({}) of the probabilities of {name}", row_names(variables, parents, row)),
            };
            let verb = if parents.is_empty() { ["sum", "are"] } else { ["sums", "is"] };
            warn(
                place,
                match sum {
                    0.0 => format!("{what} {} all 0", verb[1]),
                    _ => format!("{what} {} to {}, not 1; used as written", verb[0], (sum * 1e9).round() / 1e9),
                },
            );
        }
    }
}

/// Returns the values of the parents in a row, with the last parent varying fastest.
fn row_names(variables: &[Variable], parents: &[u32], mut row: usize) -> String {
    let mut names = Vec::new();
    for &parent in parents.iter().rev() {
        let Variable { domain, values, .. } = &variables[parent as usize];
        let value = row % *domain as usize;
        row /= *domain as usize;
        names.push(values.as_ref().map_or_else(|| value.to_string(), |values| values[value].to_string()));
    }
    names.reverse();
    names.join(", ")
}

#[cfg(test)]
mod tests;
