//! Rows of probabilities while they are read.

use super::words::{Word, Words};
use crate::error::{Error, Warning};
use crate::model::SparseRows;

/// The deviations of a row's sum from 1 that produce a warning and an error.
pub(super) const ROUNDED: (f64, f64) = (1e-9, 1e-3);

/// The numbers of a row or a matrix, or a word that stands for them.
pub(super) enum Given<'a> {
    Uniform,
    Identity,
    Reset,
    Numbers(Vec<f64>, Word<'a>),
}

pub(super) fn sums_to(sum: f64) -> String {
    format!("they sum to {sum}")
}

/// Probabilities for each action and row.
pub(super) struct Table {
    pub rows: usize,
    pub columns: usize,
    entries: Vec<Vec<(u32, f64)>>,
}

impl Table {
    pub fn new(actions: usize, rows: usize, columns: usize) -> Self {
        Table { rows, columns, entries: vec![Vec::new(); actions * rows] }
    }

    pub fn put(&mut self, action: usize, row: usize, column: usize, number: f64) {
        let row = &mut self.entries[action * self.rows + row];
        match row.binary_search_by_key(&(column as u32), |&(own, _)| own) {
            Ok(place) => row[place].1 = number,
            Err(place) => row.insert(place, (column as u32, number)),
        }
    }

    /// Sets whole rows.
    pub fn set(
        &mut self,
        words: &Words<'_>,
        actions: &[usize],
        rows: &[usize],
        given: Given<'_>,
        start: &[f64],
    ) -> Result<(), Error> {
        let dense = |numbers: &[f64]| (0..).zip(numbers.iter().copied()).filter(|&(_, p)| p != 0.0).collect::<Vec<_>>();
        let uniform = vec![1.0 / self.columns as f64; self.columns];
        if let (Given::Reset, true) = (&given, self.columns != start.len()) {
            return Err(words.error(words.peek(0), "uniform or probabilities before it", None));
        }
        for &action in actions {
            for (place, &row) in rows.iter().enumerate() {
                self.entries[action * self.rows + row] = match &given {
                    Given::Uniform => dense(&uniform),
                    Given::Reset => dense(start),
                    Given::Identity => vec![(row as u32, 1.0)],
                    Given::Numbers(numbers, _) => dense(&numbers[place * self.columns..(place + 1) * self.columns]),
                };
            }
        }
        Ok(())
    }

    /// Returns the rows of each action after checking that each sums to 1.
    pub fn finish(
        self,
        words: &Words<'_>,
        states: &[String],
        what: &str,
        warnings: &mut Vec<Warning>,
    ) -> Result<Vec<SparseRows>, Error> {
        let at_end = || match words.error(None, "", None) {
            Error::Parse(error) => (error.file, error.line, error.column),
            _ => Default::default(),
        };
        for (place, row) in self.entries.iter().enumerate() {
            let sum: f64 = row.iter().map(|(_, p)| p).sum();
            let off = (sum - 1.0).abs();
            let (action, state) = (place / self.rows, place % self.rows);
            let of = || format!("{what} probabilities of action {action} and state {}", states[state]);
            if off > ROUNDED.1 {
                let expected = format!("{} that sum to 1", of());
                return Err(words.error(None, expected, Some(sums_to(sum))));
            }
            if off > ROUNDED.0 && warnings.len() < 10 {
                let (file, line, column) = at_end();
                warnings.push(Warning { file, line, column, message: format!("{} sum to {sum}", of()) });
            }
        }
        let rows = self.entries.chunks(self.rows);
        Ok(rows.map(|rows| SparseRows::new(rows.iter().map(|row| row.iter().copied()))).collect())
    }
}
