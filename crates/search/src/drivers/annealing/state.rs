//! A state of the local search: one assignment of the core with its random stream.

use crate::context::value_tables::{Energy, ValueTables};
use crate::error::Error;
use crate::fang;
use crate::fang::Active;
use crate::rng::{Rng, mix};
use crate::stop::Stop;

/// The longest domain that local search has room for.
pub(crate) const LONGEST: u32 = u16::MAX as u32;

/// One assignment, its active variables, its successor value, and what was done to it.
#[derive(Clone, Debug)]
pub(crate) struct State {
    pub values: Vec<u16>,
    pub active: Active,
    pub rng: Rng,
    pub moves: u64,
    pub ratings: u64,
}

impl State {
    /// All variables at value 0, none active.
    pub fn new(variables: usize, rng: Rng) -> Self {
        State { values: vec![0; variables], active: Active::new(variables), rng, moves: 0, ratings: 0 }
    }
}

impl fang::State for State {
    #[inline(always)]
    fn active(&mut self) -> &mut Active {
        &mut self.active
    }

    #[inline(always)]
    fn rng(&mut self) -> &mut Rng {
        &mut self.rng
    }
}

/// A 64-bit hash of an assignment, the same wherever it is computed.
pub(crate) fn hash(values: &[u16]) -> u64 {
    values.iter().enumerate().fold(0u64, |sum, (v, &value)| sum.wrapping_add(mix(u64::from(value), v as u64)))
}

/// An assignment kept in a pool.
#[derive(Clone, Debug)]
pub(crate) struct Elite {
    pub values: Vec<u16>,
    pub energy: Energy,
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

    /// The same, or [`Error::Stopped`].
    pub fn until(tables: &ValueTables, values: Vec<u16>, stop: &Stop) -> Result<Self, Error> {
        let energy = tables.energy_until(&values, stop)?;
        let hash = hash(&values);
        Ok(Elite { values, energy, hash })
    }
}
