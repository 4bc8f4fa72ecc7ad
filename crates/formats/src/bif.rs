//! The `.bif` format of Bayesian networks with names (Interchange Format for Bayesian Networks, 0.15).
//!
//! Each variable is declared by `variable NAME { type discrete [ k ] { v, ... }; }`. Its probabilities follow in
//! `probability ( NAME | PARENT, ... ) { ... }`, either as rows `(a, b) p, ...;` for the parents' values in any order,
//! with an optional `default p, ...;` for missing rows, or as one `table p, ...;`, in which the last parent varies
//! fastest and the variable itself slowest. Words may be quoted; commas in lists may be missing.

pub(super) mod words;

use super::bayes::{Conditional, File};
use super::options::ReadOptions;
use super::potential_costs::Parts;
use super::tokens::{Place, Tokens};
use crate::error::Error;
use crate::memory;
use crate::model::{Network, Numbers, Stated, Variable};
use words::{Word, Words};

/// Reads a network of costs.
pub(super) fn read(tokens: &mut Tokens<'_>, options: &ReadOptions) -> Result<Network, Error> {
    let parts = parse(tokens)?;
    let (file, stop) = (tokens.file(), tokens.stop());
    Parts { precision: options.precision, ..parts }.build(file, stop)
}

/// Reads variables and conditional probability tables; the tables are in the order of the variables.
pub(super) fn parse(tokens: &mut Tokens<'_>) -> Result<Parts, Error> {
    let mut words = Words::new(tokens, b"{}()[],;|")?;
    let mut file = File::default();
    if words.at_end() {
        return Err(words.error("network, variable or probability"));
    }
    while !words.at_end() {
        match words.keyword().as_deref() {
            Some("network") => words.skip_block()?,
            Some("variable") => file.variable(&mut words)?,
            Some("probability") => file.probability(&mut words)?,
            Some("property") => words.skip_statement()?,
            _ => return Err(words.error("network, variable or probability")),
        }
    }
    if let Some(name) = file.missing() {
        return Err(words.error(&format!("the probabilities of {name}")));
    }
    file.parts(tokens)
}

/// The conditional probability table of a variable while it is read.
struct Rows {
    /// The parents, then the variable itself.
    scope: Vec<u32>,
    sizes: Vec<usize>,
    doubles: Vec<f64>,
    decimals: Vec<(usize, crate::model::Decimal)>,
    /// The position of each row in the file; `None` for rows that have not been read.
    given: Vec<Option<Place>>,
}

impl File {
    fn variable(&mut self, words: &mut Words<'_, '_>) -> Result<(), Error> {
        words.take()?;
        let name: Box<str> = words.name("the name of a variable")?.into();
        if self.indices.contains_key(&name) {
            return Err(words.error("a name that no other variable has"));
        }
        words.take()?;
        words.expect('{')?;
        let mut values: Option<Box<[Box<str>]>> = None;
        while !words.is('}') {
            match words.keyword().as_deref() {
                Some("type") => {
                    words.take()?;
                    if words.keyword().as_deref() != Some("discrete") {
                        return Err(words.error("discrete"));
                    }
                    words.take()?;
                    words.expect('[')?;
                    let size: usize = words.parsed("a number of values, at least 1", |size| size > 0)?;
                    words.expect(']')?;
                    words.expect('{')?;
                    let mut names: Vec<Box<str>> = Vec::new();
                    while !words.is('}') {
                        names.push(words.name("the name of a value")?.into());
                        words.take()?;
                        words.skip(',')?;
                    }
                    if names.len() != size {
                        return Err(words.error(&format!("{size} values in all, {} are there", names.len())));
                    }
                    words.take()?;
                    words.skip(';')?;
                    values = Some(names.into());
                }
                Some("property") => words.skip_statement()?,
                _ => return Err(words.error("type, property or }")),
            }
        }
        let Some(values) = values else { return Err(words.error("the type of the variable")) };
        words.take()?;
        self.declare(name, values);
        Ok(())
    }

    fn probability(&mut self, words: &mut Words<'_, '_>) -> Result<(), Error> {
        words.take()?;
        words.expect('(')?;
        let mut scope: Vec<u32> = Vec::new();
        while !words.is(')') {
            let name = words.name("the name of a variable")?;
            let Some(&variable) = self.indices.get(name) else { return Err(words.error("a variable declared above")) };
            if scope.contains(&variable) {
                return Err(words.error("a variable that is not there yet"));
            }
            if scope.is_empty() && self.tables[variable as usize].is_some() {
                return Err(words.error("a variable whose probabilities are not given yet"));
            }
            scope.push(variable);
            words.take()?;
            words.skip(if scope.len() == 1 { '|' } else { ',' })?;
        }
        let Some(&own) = scope.first() else { return Err(words.error("the name of a variable")) };
        words.take()?;
        words.expect('{')?;
        scope.rotate_left(1);
        let sizes: Vec<usize> = scope.iter().map(|&v| self.variables[v as usize].domain as usize).collect();
        let entries = self.entries(&scope);
        memory::must_fit(entries.saturating_mul(16) as u64, || {
            format!(
                "{}: the probabilities of {}",
                words.file(),
                self.variables[own as usize].name.as_deref().unwrap_or("")
            )
        })?;
        let count = entries / sizes[sizes.len() - 1];
        let (doubles, given) = (vec![0.0; entries], vec![None; count]);
        let mut rows = Rows { scope, sizes, doubles, decimals: Vec::new(), given };
        let mut default = None;
        while !words.is('}') {
            let keyword = words.keyword();
            match (words.word(), keyword.as_deref()) {
                (Word::Mark('('), _) => self.row(&mut rows, words)?,
                (_, Some("table")) => rows.table(words)?,
                (_, Some("default")) => {
                    let place = words.place();
                    words.take()?;
                    default = Some((probabilities(words, rows.sizes[rows.sizes.len() - 1])?, place));
                }
                (_, Some("property")) => words.skip_statement()?,
                _ => return Err(words.error("table, default, a row such as (a, b) 0.1, 0.9; or }")),
            }
        }
        if let Some(row) = rows.given.iter().position(Option::is_none) {
            match default {
                Some((default, place)) => {
                    let open = (0..rows.given.len()).filter(|&row| rows.given[row].is_none());
                    open.collect::<Vec<_>>().into_iter().for_each(|row| rows.fill(row, &default, place));
                }
                None => return Err(words.error(&format!("the row ({})", self.names(&rows, row).join(", ")))),
            }
        }
        words.take()?;
        rows.decimals.sort_unstable_by_key(|&(index, _)| index);
        let (scope, places) = (rows.scope.into(), rows.given.into_iter().flatten().collect());
        let numbers = Numbers::new(rows.doubles, rows.decimals).into();
        self.tables[own as usize] = Some(Conditional { scope, numbers, places });
        Ok(())
    }

    /// Reads a row `(a, b) p, ...;`.
    fn row(&self, rows: &mut Rows, words: &mut Words<'_, '_>) -> Result<(), Error> {
        let place = words.place();
        words.take()?;
        let mut row = 0;
        for &parent in &rows.scope[..rows.scope.len() - 1] {
            let Variable { domain, values, .. } = &self.variables[parent as usize];
            let name = words.name("the name of a value")?;
            let value = values.iter().flatten().position(|known| **known == *name);
            let Some(value) = value else {
                let parent = self.variables[parent as usize].name.as_deref().unwrap_or_default();
                return Err(words.error(&format!("a value of {parent}")));
            };
            row = row * *domain as usize + value;
            words.take()?;
            words.skip(',')?;
        }
        if rows.given[row].is_some() {
            return Err(words.error("a row that is not given yet"));
        }
        words.expect(')')?;
        let own = probabilities(words, rows.sizes[rows.sizes.len() - 1])?;
        rows.fill(row, &own, place);
        Ok(())
    }

    /// Returns the names of the parents' values in a row.
    fn names(&self, rows: &Rows, mut row: usize) -> Vec<String> {
        let mut names = Vec::new();
        for (&variable, &size) in rows.scope.iter().zip(&rows.sizes).rev().skip(1) {
            let values = self.variables[variable as usize].values.as_deref().unwrap_or_default();
            names.push(values[row % size].to_string());
            row /= size;
        }
        names.reverse();
        names
    }
}

impl Rows {
    fn fill(&mut self, row: usize, probabilities: &[Stated], place: Place) {
        for (index, stated) in (row * probabilities.len()..).zip(probabilities) {
            match *stated {
                Stated::Double(double) => self.doubles[index] = double,
                Stated::Decimal(decimal) => {
                    self.doubles[index] = f64::NAN;
                    self.decimals.push((index, decimal));
                }
            }
        }
        self.given[row] = Some(place);
    }

    /// Reads `table p, ...;`: all rows at once, with the values of the variable varying slowest.
    fn table(&mut self, words: &mut Words<'_, '_>) -> Result<(), Error> {
        if self.given.iter().any(Option::is_some) {
            return Err(words.error("} or a row, as there are rows already"));
        }
        let place = words.place();
        words.take()?;
        let all = probabilities(words, self.doubles.len())?;
        for row in 0..self.given.len() {
            let own: Vec<Stated> = all.iter().copied().skip(row).step_by(self.given.len()).collect();
            self.fill(row, &own, place);
        }
        Ok(())
    }
}

/// Reads `count` probabilities and a semicolon.
fn probabilities(words: &mut Words<'_, '_>, count: usize) -> Result<Vec<Stated>, Error> {
    let mut all = Vec::new();
    for place in 0..count {
        all.push(words.number(&format!("a probability: {count} here, {place} are there"))?);
        words.skip(',')?;
    }
    words.expect(';')?;
    Ok(all)
}

#[cfg(test)]
mod tests;
