//! The Lagrangean bound of a program, in integers: each row is priced by a multiplier, whatever its source, and each
//! variable then takes its best value by itself. No rounding of multipliers makes the bound invalid.

use super::domains::Domains;
use super::program::{NO_HIGH, NO_LOW, Program, Row};
use crate::model::{Cost, FORBIDDEN};

/// Multipliers of rows as integers, times a power of two.
#[derive(Clone, Debug, Default)]
pub struct Multipliers {
    /// Exponent of the power of two.
    pub bits: u32,
    pub of_rows: Vec<i64>,
}

/// The exact value of a Lagrangean relaxation.
#[derive(Clone, Debug, Default)]
pub struct Lagrangean {
    /// The exponent of the power of two by which all numbers are scaled.
    bits: u32,
    /// The least total.
    total: i128,
    /// The cost of each column after pricing the rows.
    reduced: Vec<i128>,
    /// For each variable the least cost of its remaining columns.
    least: Vec<i128>,
}

impl Multipliers {
    /// Rounds multipliers that ignore costs, to prove that the rows contradict each other. Only hard bounds can.
    pub fn of_ray(program: &Program, reals: &[f64], most_bits: u32) -> Multipliers {
        let is_hard = |row: &Row, real: f64| if real > 0.0 { row.short } else { row.excess } >= FORBIDDEN;
        let hard = |(row, &real): (&Row, &f64)| if is_hard(row, real) { real } else { 0.0 };
        let reals: Vec<f64> = program.rows.iter().zip(reals).map(hard).collect();
        Multipliers::rounded(program, &reals, most_bits)
    }

    /// Rounds multipliers to integers that the prices of each row allow.
    pub fn rounded(program: &Program, reals: &[f64], most_bits: u32) -> Multipliers {
        let largest = reals.iter().fold(1.0f64, |most, real| most.max(real.abs()));
        // 2^50 keeps the product with a weight below 2^110
        let bits = most_bits.min((50 - (largest.log2().ceil() as i64).clamp(0, 50)) as u32);
        let factor = (1u64 << bits) as f64;
        let rounded = |(row, real): (usize, &f64)| {
            let row = &program.rows[row];
            let limit = |price: Cost| if price >= FORBIDDEN { i64::MAX } else { price.saturating_mul(1 << bits) };
            let most = if row.low == NO_LOW { 0 } else { limit(row.short) };
            let least = if row.high == NO_HIGH { 0 } else { -limit(row.excess) };
            // the conversion saturates, and makes 0 of what is no number
            ((real * factor).round() as i64).clamp(least, most)
        };
        Multipliers { bits, of_rows: reals.iter().enumerate().map(rounded).collect() }
    }
}

impl Lagrangean {
    /// Evaluates multipliers. Without `costs`, the columns cost nothing, and a positive total proves that no assignment
    /// satisfies the rows. Returns `None` if a number exceeds 128 bits.
    pub fn evaluate(&mut self, program: &Program, domains: &Domains, by: &Multipliers, costs: bool) -> Option<()> {
        self.bits = by.bits;
        let scaled = |cost: Cost| i128::from(cost) << by.bits;
        let mut total = if costs { scaled(program.constant) } else { 0 };
        for (row, &multiplier) in program.rows.iter().zip(&by.of_rows) {
            let end = match multiplier {
                0 => continue,
                1.. => row.low,
                _ => row.high,
            };
            total = total.checked_add(i128::from(multiplier) * i128::from(end))?;
        }
        self.reduced.clear();
        self.least.clear();
        for v in 0..program.variables() {
            let mut least = i128::MAX;
            for column in program.columns(v) {
                if !domains.has(column) {
                    self.reduced.push(i128::MAX);
                    continue;
                }
                let mut cost = if costs { scaled(program.costs[column]) } else { 0 };
                for &(row, weight) in &program.terms[column] {
                    cost = cost.checked_sub(i128::from(by.of_rows[row as usize]) * i128::from(weight))?;
                }
                self.reduced.push(cost);
                least = least.min(cost);
            }
            self.least.push(least);
            total = total.checked_add(least)?;
        }
        self.total = total;
        Some(())
    }

    /// Returns whether the multipliers prove that no assignment satisfies the rows.
    pub fn is_contradiction(&self) -> bool {
        self.total > 0
    }

    /// Returns the lower bound, raised to the next cost that a solution can have.
    pub fn bound(&self, program: &Program) -> Cost {
        self.raised(program, self.total)
    }

    /// Returns the lower bound on the solutions with a remaining column of a variable.
    pub fn bound_with(&self, program: &Program, variable: usize, column: usize) -> Cost {
        self.raised(program, self.total.saturating_add(self.excess(variable, column)))
    }

    /// Returns the excess of a remaining column's cost over the least of its variable.
    pub fn excess(&self, variable: usize, column: usize) -> i128 {
        self.reduced[column].saturating_sub(self.least[variable])
    }

    /// Rounds a scaled total up to the next cost that a solution can have.
    fn raised(&self, program: &Program, total: i128) -> Cost {
        let round_up = |number: i128, unit: i128| number.div_euclid(unit) + i128::from(number.rem_euclid(unit) > 0);
        let cost = round_up(total, 1i128 << self.bits);
        let step = i128::from(program.step);
        let raised = program.base() + round_up(cost - program.base(), step) * step;
        raised.clamp(i128::from(Cost::MIN), i128::from(FORBIDDEN)) as Cost
    }
}
