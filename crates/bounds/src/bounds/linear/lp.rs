//! The linear program of an integer program: the columns and rows of the simplex method, scaled, and the way back.

use super::domains::Domains;
use super::program::{NO_HIGH, NO_LOW, Program};
use super::simplex::{Ended, Model, Simplex};
use crate::model::{Cost, FORBIDDEN};
use crate::rng::mix;

/// Relative size of the perturbation of costs, without which many iterations would gain nothing.
const PERTURBATION: f64 = 1e-6;

/// The linear program.
#[derive(Debug)]
pub struct Linear {
    pub simplex: Simplex,
    /// For each column of the program its column here; `u32::MAX` for the first of two values.
    places: Vec<u32>,
    row_scales: Vec<f64>,
    cost_scale: f64,
    /// The cost without columns.
    offset: f64,
}

impl Linear {
    /// Returns the number of rows that the linear program of a program has.
    pub fn rows(program: &Program) -> usize {
        let many = (0..program.variables()).filter(|&v| program.columns(v).len() > 2).count();
        program.rows.len() + many
    }

    /// Makes the linear program. A variable with two values has one column, and another a column for each value and a
    /// row that chooses one.
    pub fn new(program: &Program) -> Linear {
        let finite = |cost: Cost| if cost < FORBIDDEN { cost as f64 } else { 0.0 };
        let largest = program.costs.iter().map(|&cost| finite(cost).abs()).fold(1.0, f64::max);
        let cost_scale = largest.log2().floor().exp2();
        let scale = |row: &super::program::Row| {
            let largest = row.terms.iter().map(|&(_, weight)| weight.unsigned_abs()).max().unwrap_or(1);
            (largest as f64).log2().floor().exp2()
        };
        let row_scales: Vec<f64> = program.rows.iter().map(scale).collect();
        let mut model = Model::default();
        for (row, scale) in program.rows.iter().zip(&row_scales) {
            let low = if row.low == NO_LOW { f64::NEG_INFINITY } else { row.low as f64 / scale };
            let high = if row.high == NO_HIGH { f64::INFINITY } else { row.high as f64 / scale };
            model.rows.push((low, high));
        }
        let mut places = vec![u32::MAX; program.costs.len()];
        let mut offset = finite(program.constant);
        for v in 0..program.variables() {
            let columns = program.columns(v);
            if columns.len() == 1 {
                // the only value changes the rows' bounds
                offset += finite(program.costs[columns.start]);
                shift(&mut model, program, columns.start, &row_scales);
                continue;
            }
            let is_pair = columns.len() == 2;
            if is_pair {
                offset += finite(program.costs[columns.start]);
                shift(&mut model, program, columns.start, &row_scales);
            } else {
                model.rows.push((1.0, 1.0));
            }
            for column in columns.clone().skip(usize::from(is_pair)) {
                let weight = |&(row, weight): &(u32, i64)| (row, weight as f64 / row_scales[row as usize]);
                let mut terms: Vec<(u32, f64)> = program.terms[column].iter().map(weight).collect();
                let mut cost = finite(program.costs[column]);
                if is_pair {
                    cost -= finite(program.costs[columns.start]);
                    let others = program.terms[columns.start].iter().map(weight);
                    terms.extend(others.map(|(row, weight)| (row, -weight)));
                    merge(&mut terms);
                } else {
                    terms.push((model.rows.len() as u32 - 1, 1.0));
                }
                places[column] = model.costs.len() as u32;
                model.costs.push(cost / cost_scale);
                model.bounds.push((0.0, 1.0));
                model.terms.push(terms);
            }
        }
        prices(&mut model, program, &row_scales, cost_scale);
        for (at, cost) in (0..).zip(&mut model.costs) {
            let part = (mix(0, at) >> 11) as f64 / (1u64 << 53) as f64;
            *cost += PERTURBATION * (0.5 + part) * if *cost < 0.0 { -1.0 } else { 1.0 } * cost.abs().max(1e-3);
        }
        Linear { simplex: Simplex::new(&model), places, row_scales, cost_scale, offset }
    }

    /// Restricts the columns to those that remain.
    pub fn restrict(&mut self, program: &Program, domains: &Domains) {
        for v in 0..program.variables() {
            let columns = program.columns(v);
            let is_pair = columns.len() == 2;
            for column in columns.clone() {
                let place = self.places[column];
                if place != u32::MAX {
                    let low = if is_pair && !domains.has(columns.start) { 1.0 } else { 0.0 };
                    let high = if domains.has(column) { 1.0 } else { 0.0 };
                    self.simplex.set_bounds(place as usize, (low, high));
                }
            }
        }
    }

    /// Improves the basis until it is optimal, no solution below `ub` is left, or `work` entries have been visited.
    pub fn solve(&mut self, ub: Cost, work: u64) -> Ended {
        let limit = if ub >= FORBIDDEN { f64::INFINITY } else { (ub as f64 - self.offset) / self.cost_scale };
        self.simplex.solve(limit + 1e-6 * limit.abs(), work)
    }

    /// Returns the value of a column, between 0 and 1.
    pub fn value(&self, program: &Program, column: usize) -> f64 {
        match self.places[column] {
            u32::MAX => {
                let columns = program.columns(program.owner[column] as usize);
                if columns.len() == 1 { 1.0 } else { 1.0 - self.value(program, columns.start + 1) }
            }
            place => self.simplex.value(place as usize),
        }
    }

    /// Returns the multipliers of the program's rows.
    pub fn multipliers(&self) -> Vec<f64> {
        let of = |(row, scale): (usize, &f64)| self.simplex.multiplier(row) * self.cost_scale / scale;
        self.row_scales.iter().enumerate().map(of).collect()
    }

    /// Returns multipliers that ignore costs and may prove that the rows contradict each other.
    pub fn ray(&self) -> Vec<f64> {
        let ray: Vec<f64> = self.row_scales.iter().zip(self.simplex.ray()).map(|(scale, ray)| ray / scale).collect();
        let largest = ray.iter().fold(0.0f64, |most, entry| most.max(entry.abs()));
        // rows that count little are noise
        let size = 1e6 / largest.max(f64::MIN_POSITIVE);
        ray.into_iter().map(|entry| if entry.abs() < 1e-9 * largest { 0.0 } else { entry * size }).collect()
    }
}

/// Subtracts the weights of a column that is always used from the bounds of the rows.
fn shift(model: &mut Model, program: &Program, column: usize, scales: &[f64]) {
    for &(row, weight) in &program.terms[column] {
        let (low, high) = &mut model.rows[row as usize];
        *low -= weight as f64 / scales[row as usize];
        *high -= weight as f64 / scales[row as usize];
    }
}

/// Adds up the terms of equal rows.
fn merge(terms: &mut Vec<(u32, f64)>) {
    terms.sort_unstable_by_key(|term| term.0);
    terms.dedup_by(|next, kept| {
        let is_equal = next.0 == kept.0;
        if is_equal {
            kept.1 += next.1;
        }
        is_equal
    });
    terms.retain(|term| term.1 != 0.0);
}

/// Adds a column for each price of a row: units below its lower bound, or above its upper bound.
fn prices(model: &mut Model, program: &Program, scales: &[f64], cost_scale: f64) {
    for (number, row) in program.rows.iter().enumerate() {
        let reach: f64 = row.terms.iter().map(|&(_, weight)| weight.abs() as f64).sum();
        let ends = [(row.low != NO_LOW, row.short, row.low, 1.0), (row.high != NO_HIGH, row.excess, row.high, -1.0)];
        for (is_there, price, end, sign) in ends {
            if is_there && price < FORBIDDEN {
                let most = (reach + (end as f64).abs()) / scales[number];
                model.costs.push(price as f64 * scales[number] / cost_scale);
                model.bounds.push((0.0, most));
                model.terms.push(vec![(number as u32, sign)]);
            }
        }
    }
}
