//! An assignment worth keeping, with its cost.

use crate::error::Error;
use crate::rng::mix;
use crate::stop::Stop;
use crate::value_tables::{Energy, ValueTables};

/// The largest domain size that local search supports.
pub const LONGEST: u32 = u16::MAX as u32;

/// Returns a 64-bit hash of an assignment, equal on every machine and device.
pub fn hash(values: &[u16]) -> u64 {
    values.iter().enumerate().fold(0u64, |sum, (v, &value)| sum.wrapping_add(mix(u64::from(value), v as u64)))
}

/// An assignment kept in a pool.
#[derive(Clone, Debug)]
pub struct Elite {
    /// The value of each variable.
    pub values: Vec<u16>,
    /// The energy of the assignment.
    pub energy: Energy,
    /// The [`hash()`] of `values`.
    pub hash: u64,
}

impl Elite {
    /// Returns a placeholder without an assignment, worse than any elite.
    pub fn none() -> Self {
        Elite { values: Vec::new(), energy: Energy { total: i64::MAX, violations: 0 }, hash: 0 }
    }

    /// Returns whether it is an assignment and not a placeholder.
    pub fn is_known(&self) -> bool {
        self.energy.total < i64::MAX
    }

    /// Returns the index of the assignment that differs from this one in the fewest variables, the first of equals.
    /// Skips assignments of another length; returns `None` if none is left.
    pub fn nearest<'a>(&self, others: impl Iterator<Item = &'a [u16]>) -> Option<usize> {
        let complete = others.enumerate().filter(|(_, values)| values.len() == self.values.len());
        let differing = |values: &[u16]| values.iter().zip(&self.values).filter(|(a, b)| a != b).count();
        complete.min_by_key(|(_, values)| differing(values)).map(|(place, _)| place)
    }

    /// Evaluates an assignment.
    pub fn new(tables: &ValueTables, values: Vec<u16>) -> Self {
        Elite::until(tables, values, &Stop::new()).expect("no stop is set")
    }

    /// Evaluates an assignment. Returns [`Error::Stopped`] if it is stopped first.
    pub fn until(tables: &ValueTables, values: Vec<u16>, stop: &Stop) -> Result<Self, Error> {
        let energy = tables.energy_until(&values, stop)?;
        let hash = hash(&values);
        Ok(Elite { values, energy, hash })
    }
}
