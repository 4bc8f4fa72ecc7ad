//! Warnings about programs that are known to list the variables of tables in an order other than the format's.

use crate::repeated::Repeated;
use crate::tokens::{Place, Tokens};

/// The largest deviation from 1 of a sum of many probabilities rounded to two digits.
const ROUNDED_SUM: f64 = 0.05;

/// Warns about comments, because the only known program that writes them lists the variables of large tables in another
/// order than the format's.
pub(super) fn warn_of_comments(tokens: &mut Tokens<'_>, scopes: &[Box<[u32]>]) {
    if let Some(place) = tokens.commented
        && scopes.iter().any(|scope| scope.len() > 2)
    {
        let message = "comments as pyAgrum writes them: tables of three and more variables are read as listed, though \
                       pyAgrum lists the variables in another order than that of the entries";
        tokens.warn(place, message.into());
    }
}

/// Detects BAYES tables that are distributions of their last variable only if the first variable varies fastest.
pub(super) struct Reversed {
    possible: bool,
    tables: Repeated,
}

impl Reversed {
    /// Starts a detection; it checks nothing if `possible` is false.
    pub(super) fn new(possible: bool) -> Self {
        Reversed { possible, tables: Repeated::default() }
    }

    pub(super) fn note(&mut self, size: usize, table: &[f64], place: Place) {
        let rows = table.len() / size;
        // a sum of 0 marks a row of impossible conditions
        let is_one = |sum: f64| sum == 0.0 || (sum - 1.0).abs() < ROUNDED_SUM;
        let sums = |entry: &dyn Fn(usize, usize) -> usize| {
            (0..rows).all(|row| is_one((0..size).map(|value| table[entry(row, value)]).sum()))
        };
        self.possible = self.possible && sums(&|row, value| value * rows + row);
        if self.possible && !sums(&|row, value| row * size + value) {
            self.tables.note(place);
        }
    }

    /// Returns whether some table is a distribution only in the other order.
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
