//! Multipliers of rows by the volume algorithm, for programs whose basis is too large for the simplex method.
//!
//! Each iteration lets every variable choose its best column under the present multipliers, and averages these choices.
//! The multipliers step from the best ones along what the average violates (Barahona and Anbil, "The volume algorithm",
//! 2000). The average estimates the values of a linear programming solution.

use super::domains::Domains;
use super::program::{NO_HIGH, NO_LOW, Program, Row};
use super::simplex::Ended;
use super::sparse::Sparse;
use crate::model::{Cost, FORBIDDEN};

/// Part of an average that the newest choice is.
const NEWEST: f64 = 0.1;
/// Iterations without improvement after which steps become shorter.
const PATIENCE: u32 = 20;
/// Factors on the length of steps after improvements and without any.
const LONGER: f64 = 1.1;
const SHORTER: f64 = 0.66;
/// Length of steps at which the method ends.
const SHORTEST: f64 = 1e-4;
/// Distance of the target from the bound, as a part of it, if no solution gives one.
const AHEAD: f64 = 0.05;

/// The multipliers and the average choice.
#[derive(Debug)]
pub struct Ascent {
    by_column: Sparse,
    costs: Vec<f64>,
    constant: f64,
    /// Bounds of the scaled rows, and of their multipliers.
    rows: Vec<[f64; 2]>,
    limits: Vec<[f64; 2]>,
    scales: Vec<f64>,
    firsts: Vec<u32>,
    is_there: Vec<bool>,
    best: Vec<f64>,
    best_bound: f64,
    /// The average choice, by column.
    average: Vec<f64>,
    length: f64,
    failures: u32,
    /// Entries visited.
    pub work: u64,
}

impl Ascent {
    /// Starts with multipliers of zero.
    pub fn new(program: &Program) -> Ascent {
        let scale = |row: &Row| row.terms.iter().fold(1.0f64, |most, &(_, weight)| most.max(weight.abs() as f64));
        let scales: Vec<f64> = program.rows.iter().map(scale).collect();
        let end = |is_there: bool, end: i64, scale: f64, none: f64| if is_there { end as f64 / scale } else { none };
        let bounds = |(row, &scale): (&Row, &f64)| {
            let low = end(row.low != NO_LOW, row.low, scale, f64::NEG_INFINITY);
            [low, end(row.high != NO_HIGH, row.high, scale, f64::INFINITY)]
        };
        let limit = |(row, &scale): (&Row, &f64)| {
            let price = |price: Cost| if price < FORBIDDEN { price as f64 * scale } else { f64::INFINITY };
            let most = if row.low == NO_LOW { 0.0 } else { price(row.short) };
            [if row.high == NO_HIGH { 0.0 } else { -price(row.excess) }, most]
        };
        let scaled = |terms: &Vec<(u32, i64)>| -> Vec<(u32, f64)> {
            terms.iter().map(|&(row, weight)| (row, weight as f64 / scales[row as usize])).collect()
        };
        let terms: Vec<Vec<(u32, f64)>> = program.terms.iter().map(scaled).collect();
        Ascent {
            by_column: Sparse::of(&terms),
            costs: program.costs.iter().map(|&cost| if cost < FORBIDDEN { cost as f64 } else { 0.0 }).collect(),
            constant: program.constant as f64,
            rows: program.rows.iter().zip(&scales).map(bounds).collect(),
            limits: program.rows.iter().zip(&scales).map(limit).collect(),
            firsts: program.firsts.clone(),
            is_there: vec![true; program.costs.len()],
            best: vec![0.0; program.rows.len()],
            best_bound: f64::NEG_INFINITY,
            average: vec![0.0; program.costs.len()],
            length: 1.0,
            failures: 0,
            work: 0,
            scales,
        }
    }

    /// Restricts the columns to those that remain. Steps begin with full length again.
    pub fn restrict(&mut self, domains: &Domains) {
        let mut has_changed = false;
        for (column, is_there) in self.is_there.iter_mut().enumerate() {
            let now = domains.has(column);
            has_changed |= std::mem::replace(is_there, now) != now;
        }
        if has_changed || self.best_bound == f64::NEG_INFINITY {
            (self.best_bound, self.length, self.failures) = (f64::NEG_INFINITY, 1.0, 0);
        }
    }

    /// Improves the multipliers until steps are short, the bound reaches `ub`, or `work` entries have been visited.
    pub fn solve(&mut self, ub: Cost, work: u64) -> Ended {
        let end = self.work.saturating_add(work);
        let ub = if ub < FORBIDDEN { ub as f64 } else { f64::INFINITY };
        let mut choice = vec![0u32; self.firsts.len() - 1];
        if self.best_bound == f64::NEG_INFINITY {
            let multipliers = self.best.clone();
            self.best_bound = self.choose(&multipliers, &mut choice);
            self.average.fill(0.0);
            choice.iter().for_each(|&column| self.average[column as usize] = 1.0);
        }
        while self.work < end {
            if self.best_bound >= ub {
                return Ended::Limit;
            }
            let violated = self.violated();
            let size: f64 = violated.iter().map(|gap| gap * gap).sum();
            if size < 1e-12 || self.length < SHORTEST {
                return Ended::Optimal;
            }
            let ahead = self.best_bound + AHEAD * self.best_bound.abs().max(1.0);
            let step = self.length * (ahead.min(ub) - self.best_bound) / size;
            let moved = |(at, gap): (usize, &f64)| {
                let [least, most] = self.limits[at];
                (self.best[at] + step * gap).clamp(least, most)
            };
            let multipliers: Vec<f64> = violated.iter().enumerate().map(moved).collect();
            let bound = self.choose(&multipliers, &mut choice);
            self.average.iter_mut().for_each(|value| *value *= 1.0 - NEWEST);
            choice.iter().for_each(|&column| self.average[column as usize] += NEWEST);
            if bound > self.best_bound {
                (self.best, self.best_bound, self.failures) = (multipliers, bound, 0);
                self.length = (self.length * LONGER).min(2.0);
            } else {
                self.failures += 1;
                if self.failures >= PATIENCE {
                    (self.failures, self.length) = (0, self.length * SHORTER);
                }
            }
        }
        Ended::Work
    }

    /// Returns the average value of a column.
    pub fn value(&self, column: usize) -> f64 {
        self.average[column]
    }

    /// Returns the multipliers of the program's rows.
    pub fn multipliers(&self) -> Vec<f64> {
        self.best.iter().zip(&self.scales).map(|(multiplier, scale)| multiplier / scale).collect()
    }

    /// Lets each variable choose its best column; returns the bound.
    fn choose(&mut self, multipliers: &[f64], choice: &mut [u32]) -> f64 {
        let mut bound = self.constant;
        for (&multiplier, [low, high]) in multipliers.iter().zip(&self.rows) {
            if multiplier != 0.0 {
                bound += multiplier * if multiplier > 0.0 { low } else { high };
            }
        }
        for (columns, choice) in self.firsts.windows(2).zip(choice) {
            let mut least = f64::INFINITY;
            for column in columns[0] as usize..columns[1] as usize {
                if self.is_there[column] {
                    let terms = self.by_column.of_index(column);
                    let priced: f64 = terms.iter().map(|&(row, weight)| weight * multipliers[row as usize]).sum();
                    let cost = self.costs[column] - priced;
                    if cost < least {
                        (least, *choice) = (cost, column as u32);
                    }
                }
            }
            bound += if least.is_finite() { least } else { 0.0 };
        }
        self.work += 2 * (self.by_column.len() + self.costs.len() + multipliers.len()) as u64;
        bound
    }

    /// Returns by how much the average choice violates each row, if its multiplier may move that way.
    fn violated(&mut self) -> Vec<f64> {
        let mut totals = vec![0.0; self.rows.len()];
        for (column, &value) in self.average.iter().enumerate().filter(|(_, value)| **value > 1e-9) {
            self.by_column.of_index(column).iter().for_each(|&(row, weight)| totals[row as usize] += weight * value);
        }
        self.work += self.by_column.len() as u64;
        let gap = |(at, total): (usize, f64)| {
            let ([low, high], multiplier) = (self.rows[at], self.best[at]);
            match multiplier {
                _ if multiplier > 0.0 => low - total,
                _ if multiplier < 0.0 => high - total,
                _ if total < low => low - total,
                _ if total > high => high - total,
                _ => 0.0,
            }
        };
        totals.into_iter().enumerate().map(gap).collect()
    }
}
