//! The unit in which the real numbers of a file become costs.

use super::decimal::Real;
use super::options::ReadOptions;
use super::tokens::Tokens;
use crate::error::Error;
use crate::model::rounding::MOST_DECIMALS;
use crate::model::{Cost, SUM_LIMIT, Units};

/// What the numbers of a file need as integers of one unit.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Range {
    decimals: u32,
    /// Of the largest absolute cost of each function.
    sum: f64,
}

impl Range {
    /// Adds the function whose costs these are.
    pub fn add(&mut self, function: &[Real]) {
        self.decimals = function.iter().map(|real| real.decimals()).fold(self.decimals, u32::max);
        self.sum += function.iter().map(|real| real.as_f64().abs()).fold(0.0, f64::max);
    }

    /// Adds functions of one cost each, as places among some.
    pub fn add_all(&mut self, costs: &[Real], places: impl Iterator<Item = usize>) {
        self.decimals = costs.iter().map(|real| real.decimals()).fold(self.decimals, u32::max);
        let sizes: Vec<f64> = costs.iter().map(|real| real.as_f64().abs()).collect();
        places.for_each(|place| self.sum += sizes[place]);
    }

    /// The unit: as many digits as the numbers have or `--precision` asks for, fewer where 64 bits cannot hold the sum.
    ///
    /// # Errors
    /// Numbers that 64-bit costs do not hold.
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

/// Turns real numbers into costs, and counts the functions that rounding changes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unit {
    decimals: u32,
    /// The functions changed so far.
    pub rounded: u64,
}

impl Unit {
    /// The costs of a function.
    pub fn costs<const N: usize>(&mut self, function: [Real; N]) -> [Cost; N] {
        self.rounded += u64::from(function.iter().any(|real| !real.units(self.decimals).1));
        function.map(|real| real.units(self.decimals).0)
    }

    /// The costs of a table.
    pub fn table(&mut self, function: &[Real]) -> Vec<Cost> {
        self.rounded += u64::from(function.iter().any(|real| !real.units(self.decimals).1));
        function.iter().map(|real| real.units(self.decimals).0).collect()
    }

    /// The units of the network.
    pub fn units(self, maximise: bool) -> Units {
        Units { decimals: self.decimals, maximise, rounded: self.rounded }
    }
}
