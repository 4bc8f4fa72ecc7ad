//! The unit in which the real numbers of a file become integer costs.

use super::decimal::Real;
use super::options::ReadOptions;
use super::tokens::Tokens;
use crate::error::Error;
use crate::model::rounding::MOST_DECIMALS;
use crate::model::{Cost, SUM_LIMIT, Units};

/// The decimals and the magnitude of a file's numbers, from which the unit follows.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Range {
    decimals: u32,
    /// The sum over the functions of their largest absolute costs.
    sum: f64,
}

impl Range {
    /// Adds a function with these costs.
    pub fn add(&mut self, function: &[Real]) {
        self.decimals = function.iter().map(|real| real.decimals()).fold(self.decimals, u32::max);
        self.sum += function.iter().map(|real| real.as_f64().abs()).fold(0.0, f64::max);
    }

    /// Adds functions of one cost each, given as indices into `costs`.
    pub fn add_all(&mut self, costs: &[Real], places: impl Iterator<Item = usize>) {
        self.decimals = costs.iter().map(|real| real.decimals()).fold(self.decimals, u32::max);
        let sizes: Vec<f64> = costs.iter().map(|real| real.as_f64().abs()).collect();
        places.for_each(|place| self.sum += sizes[place]);
    }

    /// Returns the unit: as many decimal digits as the numbers have or `--precision` requests, fewer if 64 bits cannot
    /// hold the sum.
    ///
    /// # Errors
    /// Returns an error if 64-bit costs cannot hold the numbers.
    pub fn unit(&self, tokens: &Tokens<'_>, options: &ReadOptions) -> Result<Unit, Error> {
        let most = self.decimals.min(options.precision.unwrap_or(MOST_DECIMALS)).min(MOST_DECIMALS);
        let fits = |&decimals: &u32| self.sum * 10f64.powi(decimals as i32) < SUM_LIMIT;
        match (0..=most).rev().find(fits) {
            Some(decimals) => Ok(Unit { decimals, rounded: 0 }),
            None => Err(tokens.error_with(
                "smaller numbers",
                format!("the largest ones of all functions add up to {:e}, which passes 64-bit costs", self.sum),
            )),
        }
    }
}

/// Converts real numbers to costs, and counts the functions that rounding changes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unit {
    decimals: u32,
    /// The number of functions changed so far.
    pub rounded: u64,
}

impl Unit {
    /// Returns the costs of a function with `N` entries.
    pub fn costs<const N: usize>(&mut self, function: [Real; N]) -> [Cost; N] {
        self.rounded += u64::from(function.iter().any(|real| !real.units(self.decimals).1));
        function.map(|real| real.units(self.decimals).0)
    }

    /// Returns the costs of a table.
    pub fn table(&mut self, function: &[Real]) -> Vec<Cost> {
        self.rounded += u64::from(function.iter().any(|real| !real.units(self.decimals).1));
        function.iter().map(|real| real.units(self.decimals).0).collect()
    }

    /// Returns the units of the network.
    pub fn units(self, maximise: bool) -> Units {
        Units { decimals: self.decimals, maximise, rounded: self.rounded }
    }
}
