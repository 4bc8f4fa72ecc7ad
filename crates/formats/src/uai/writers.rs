//! Warnings about programs known to list the variables of tables in another order than the format's.

use crate::repeated::Repeated;
use crate::tokens::{Place, Tokens};

/// Largest deviation from 1 of a sum of probabilities rounded to two digits, over many values.
const ROUNDED_SUM: f64 = 0.05;

/// The only known writer of comments lists the variables of large tables in another order than the format's.
pub(super) fn warn_of_comments(tokens: &mut Tokens<'_>, scopes: &[Box<[u32]>]) {
    if let Some(place) = tokens.commented
        && scopes.iter().any(|scope| scope.len() > 2)
    {
        let message = "comments as pyAgrum writes them: tables of three and more variables are read as listed, though \
                       pyAgrum lists the variables in another order than that of the entries";
        tokens.warn(place, message.into());
    }
}

/// Whether BAYES tables are distributions of the variable listed last only if the first variable runs fastest.
pub(super) struct Reversed {
    possible: bool,
    tables: Repeated,
}

impl Reversed {
    /// Checks nothing where `possible` is false.
    pub(super) fn new(possible: bool) -> Self {
        Reversed { possible, tables: Repeated::default() }
    }

    pub(super) fn note(&mut self, size: usize, table: &[f64], place: Place) {
        let rows = table.len() / size;
        // 0 marks rows of impossible conditions
        let is_one = |sum: f64| sum == 0.0 || (sum - 1.0).abs() < ROUNDED_SUM;
        let sums = |entry: &dyn Fn(usize, usize) -> usize| {
            (0..rows).all(|row| is_one((0..size).map(|value| table[entry(row, value)]).sum()))
        };
        self.possible = self.possible && sums(&|row, value| value * rows + row);
        if self.possible && !sums(&|row, value| row * size + value) {
            self.tables.note(place);
        }
    }

    /// Whether a table is a distribution only in the other order.
    pub(super) fn is_certain(&self) -> bool {
        self.possible && self.tables.is_noted()
    }

    pub(super) fn warn(&self, tokens: &mut Tokens<'_>) {
        if self.possible {
            self.tables.warn(tokens, |times| {
                format!(
                    "a BAYES table ({times} in all) that is a distribution of its last variable only if the first one \
                     runs fastest, as pgmpy writes it; read with the last one fastest, as the format has it"
                )
            });
        }
    }
}
