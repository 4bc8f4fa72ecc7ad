//! An assignment that is worth keeping, with what it costs.

use crate::error::Error;
use crate::rng::mix;
use crate::stop::Stop;
use crate::value_tables::{Energy, ValueTables};

/// The longest domain that local search has room for.
pub const LONGEST: u32 = u16::MAX as u32;

/// A 64-bit hash of an assignment, the same wherever it is computed.
pub fn hash(values: &[u16]) -> u64 {
    values.iter().enumerate().fold(0u64, |sum, (v, &value)| sum.wrapping_add(mix(u64::from(value), v as u64)))
}

/// An assignment kept in a pool.
#[derive(Clone, Debug)]
pub struct Elite {
    /// The value of each variable.
    pub values: Vec<u16>,
    /// What it costs.
    pub energy: Energy,
    /// Its [`hash()`].
    pub hash: u64,
}

impl Elite {
    /// A place that nothing has been found for yet: worse than anything.
    pub fn none() -> Self {
        Elite { values: Vec::new(), energy: Energy { total: i64::MAX, violations: 0 }, hash: 0 }
    }

    /// Whether it is an assignment.
    pub fn is_known(&self) -> bool {
        self.energy.total < i64::MAX
    }

    /// Which of these assignments differs from it in the fewest variables, the first of equals.
    pub fn nearest<'a>(&self, others: impl Iterator<Item = &'a [u16]>) -> Option<usize> {
        let complete = others.enumerate().filter(|(_, values)| values.len() == self.values.len());
        let differing = |values: &[u16]| values.iter().zip(&self.values).filter(|(a, b)| a != b).count();
        complete.min_by_key(|(_, values)| differing(values)).map(|(place, _)| place)
    }

    /// Evaluates an assignment.
    pub fn new(tables: &ValueTables, values: Vec<u16>) -> Self {
        Elite::until(tables, values, &Stop::new()).expect("no stop is set")
    }

    /// Evaluates an assignment, or returns [`Error::Stopped`].
    pub fn until(tables: &ValueTables, values: Vec<u16>, stop: &Stop) -> Result<Self, Error> {
        let energy = tables.energy_until(&values, stop)?;
        let hash = hash(&values);
        Ok(Elite { values, energy, hash })
    }
}
