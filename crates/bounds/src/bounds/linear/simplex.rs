//! A dual simplex method with bounded columns, whose multipliers price the rows of a program.
//!
//! Its numbers are floats and only choose the multipliers: the bound is evaluated in integers (`exact`). All columns
//! are bounded, so the basis of the rows' totals is dual feasible, and any change of bounds keeps the basis dual
//! feasible: nodes of a search continue from the basis of the preceding node. The inverse of the basis is stored dense.
//! Leaving rows are chosen by dual steepest edge (Forrest and Goldfarb, "Steepest-edge simplex algorithms for linear
//! programming", 1992), entering columns by the ratio test with bound flips (Maros, "A generalized dual phase-2 simplex
//! algorithm", 2003).

use super::sparse::{Sparse, dot};

/// Distance beyond a bound that does not count.
const FEASIBLE: f64 = 1e-7;
/// Least absolute value of a pivot.
const PIVOT: f64 = 1e-7;
/// Ratios that count as equal.
const TIE: f64 = 1e-10;
/// Largest relative difference between two computations of a pivot; beyond it the inverse is made afresh.
const DRIFT: f64 = 1e-6;
/// Iterations after which values and reduced costs are computed afresh.
const REFRESH: u64 = 64;

/// A linear program: minimise the cost of the columns, whose rows' totals have bounds.
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// Costs of the columns.
    pub costs: Vec<f64>,
    /// Bounds of the columns.
    pub bounds: Vec<(f64, f64)>,
    /// Bounds of the rows' totals, infinite if there are none.
    pub rows: Vec<(f64, f64)>,
    /// For each column its rows and weights.
    pub terms: Vec<Vec<(u32, f64)>>,
}

/// How a call of [`Simplex::solve`] ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The columns are an optimum.
    Optimal,
    /// The rows contradict each other by the multipliers of [`Simplex::ray`].
    Infeasible,
    /// The objective has reached the limit.
    Limit,
    /// The work is used up.
    Work,
    /// Rounding errors prevent progress.
    Stuck,
}

/// The state of the method. Columns of rows' totals follow the others.
#[derive(Clone, Debug)]
pub struct Simplex {
    rows: usize,
    columns: usize,
    by_column: Sparse,
    by_row: Sparse,
    costs: Vec<f64>,
    bounds: Vec<(f64, f64)>,
    /// The basic column of each position.
    basis: Vec<u32>,
    /// The position of each basic column, else `u32::MAX`.
    place: Vec<u32>,
    values: Vec<f64>,
    reduced: Vec<f64>,
    inverse: Vec<f64>,
    weights: Vec<f64>,
    ray: Vec<f64>,
    /// Entries visited.
    pub work: u64,
    iterations: u64,
    /// Whether no iteration has followed the last computation of values afresh.
    is_fresh: bool,
    // space for an iteration
    alpha: Vec<f64>,
    touched: Vec<u32>,
    ratios: Vec<(f64, u32)>,
}

impl Simplex {
    /// Starts from the basis of the rows' totals.
    pub fn new(model: &Model) -> Simplex {
        let (rows, columns) = (model.rows.len(), model.costs.len());
        let by_column = Sparse::of(&model.terms);
        let by_row = by_column.turned(rows);
        let all = rows + columns;
        let mut simplex = Simplex {
            rows,
            columns,
            by_row,
            by_column,
            costs: model.costs.iter().copied().chain(std::iter::repeat_n(0.0, rows)).collect(),
            bounds: model.bounds.iter().chain(&model.rows).copied().collect(),
            basis: Vec::new(),
            place: Vec::new(),
            values: vec![0.0; all],
            reduced: vec![0.0; all],
            inverse: Vec::new(),
            weights: Vec::new(),
            ray: vec![0.0; rows],
            work: 0,
            iterations: 0,
            is_fresh: false,
            alpha: vec![0.0; all],
            touched: Vec::new(),
            ratios: Vec::new(),
        };
        simplex.reset();
        simplex.refresh();
        simplex
    }

    /// Changes the bounds of a column.
    pub fn set_bounds(&mut self, column: usize, bounds: (f64, f64)) {
        self.bounds[column] = bounds;
    }

    /// Returns the value of a column.
    pub fn value(&self, column: usize) -> f64 {
        self.values[column]
    }

    /// Returns the multiplier of a row.
    pub fn multiplier(&self, row: usize) -> f64 {
        // the total's column is the negated unit vector
        self.reduced[self.columns + row]
    }

    /// Returns the multipliers that show why the rows contradict each other.
    pub fn ray(&self) -> &[f64] {
        &self.ray
    }

    /// Returns the objective of the present values, which is a lower bound up to rounding.
    pub fn objective(&self) -> f64 {
        self.costs.iter().zip(&self.values).map(|(cost, value)| cost * value).sum()
    }

    /// Improves the basis until it is optimal, the objective reaches `limit`, or `work` entries have been visited.
    pub fn solve(&mut self, limit: f64, work: u64) -> Ended {
        let end = self.work.saturating_add(work);
        self.refresh();
        let mut troubles = 0;
        loop {
            if self.work >= end {
                return Ended::Work;
            }
            let Some((position, beyond)) = self.leaving() else { return Ended::Optimal };
            self.price(position);
            let Some(entering) = self.entering(beyond) else {
                if !self.is_fresh && troubles < 2 {
                    troubles += 1;
                    self.refresh();
                    continue;
                }
                let sign = if beyond < 0.0 { -1.0 } else { 1.0 };
                let row = &self.inverse[position * self.rows..][..self.rows];
                self.ray.iter_mut().zip(row).for_each(|(ray, &entry)| *ray = sign * entry);
                return Ended::Infeasible;
            };
            if !self.pivot(position, entering, beyond) {
                troubles += 1;
                if troubles > 3 {
                    return Ended::Stuck;
                }
                self.invert();
                self.refresh();
                continue;
            }
            self.iterations += 1;
            self.is_fresh = false;
            if self.iterations.is_multiple_of(REFRESH) {
                self.refresh();
            }
            if self.iterations.is_multiple_of(8) && self.objective() >= limit {
                return Ended::Limit;
            }
        }
    }

    /// Makes the rows' totals the basis.
    fn reset(&mut self) {
        let (rows, columns) = (self.rows, self.columns);
        self.basis = (0..rows).map(|row| (columns + row) as u32).collect();
        self.place = vec![u32::MAX; columns + rows];
        (0..rows).for_each(|row| self.place[columns + row] = row as u32);
        self.inverse = vec![0.0; rows * rows];
        (0..rows).for_each(|row| self.inverse[row * rows + row] = -1.0);
        self.weights = vec![1.0; rows];
    }

    /// Makes the inverse afresh, by one exchange for each column of the basis.
    fn invert(&mut self) {
        let wanted: Vec<u32> = self.basis.iter().copied().filter(|&column| (column as usize) < self.columns).collect();
        let kept: Vec<bool> = (0..self.rows).map(|row| self.place[self.columns + row] != u32::MAX).collect();
        self.reset();
        let mut is_free: Vec<bool> = kept.iter().map(|kept| !kept).collect();
        for column in wanted {
            let direction = self.direction(column as usize);
            let best = (0..self.rows).filter(|&at| is_free[at]);
            let best = best.max_by(|&a, &b| direction[a].abs().total_cmp(&direction[b].abs()));
            let Some(position) = best.filter(|&at| direction[at].abs() > PIVOT) else { continue };
            is_free[position] = false;
            self.exchange(position, column as usize, &direction);
        }
        self.weights.fill(1.0);
    }

    /// Computes the reduced costs, places the nonbasic columns at the bounds that suit them, and computes the basic
    /// values.
    fn refresh(&mut self) {
        self.is_fresh = true;
        let (rows, columns) = (self.rows, self.columns);
        let mut prices = vec![0.0; rows];
        for (position, &basic) in self.basis.iter().enumerate() {
            let cost = self.costs[basic as usize];
            if cost != 0.0 {
                let row = &self.inverse[position * rows..][..rows];
                prices.iter_mut().zip(row).for_each(|(price, entry)| *price += cost * entry);
            }
        }
        let mut totals = vec![0.0; rows];
        for column in 0..columns + rows {
            if self.place[column] != u32::MAX {
                self.reduced[column] = 0.0;
                continue;
            }
            let reduced = match column.checked_sub(columns) {
                Some(row) => prices[row],
                None => {
                    let terms = self.by_column.of_index(column);
                    self.costs[column] - terms.iter().map(|&(row, weight)| weight * prices[row as usize]).sum::<f64>()
                }
            };
            self.reduced[column] = reduced;
            let value = self.suited(column);
            self.values[column] = value;
            if value != 0.0 {
                match column.checked_sub(columns) {
                    Some(row) => totals[row] -= value,
                    None => {
                        let terms = self.by_column.of_index(column);
                        terms.iter().for_each(|&(row, weight)| totals[row as usize] += weight * value);
                    }
                }
            }
        }
        for position in 0..rows {
            let row = &self.inverse[position * rows..][..rows];
            self.values[self.basis[position] as usize] = -dot(row, &totals);
        }
        self.work += (2 * rows * rows + 2 * self.by_column.len() + columns) as u64;
    }

    /// Returns the bound of a nonbasic column at which its reduced cost allows no improvement.
    fn suited(&self, column: usize) -> f64 {
        let (low, high) = self.bounds[column];
        if (self.reduced[column] >= 0.0 && low.is_finite()) || !high.is_finite() {
            if low.is_finite() { low } else { 0.0 }
        } else {
            high
        }
    }

    /// Returns the position whose value violates its bounds most for its weight, and the distance from the bound.
    fn leaving(&mut self) -> Option<(usize, f64)> {
        let mut best: Option<(usize, f64)> = None;
        let mut best_score = 0.0;
        for (position, &basic) in self.basis.iter().enumerate() {
            let (low, high) = self.bounds[basic as usize];
            let value = self.values[basic as usize];
            let beyond = if value < low - FEASIBLE {
                value - low
            } else if value > high + FEASIBLE {
                value - high
            } else {
                continue;
            };
            let score = beyond * beyond / self.weights[position];
            if score > best_score {
                (best, best_score) = (Some((position, beyond)), score);
            }
        }
        self.work += self.rows as u64;
        best
    }

    /// Computes the row of a position in all nonbasic columns.
    fn price(&mut self, position: usize) {
        for &column in &self.touched {
            self.alpha[column as usize] = 0.0;
        }
        self.touched.clear();
        let (rows, columns) = (self.rows, self.columns);
        for row in 0..rows {
            let entry = self.inverse[position * rows + row];
            if entry.abs() < 1e-14 {
                continue;
            }
            if self.place[columns + row] == u32::MAX {
                self.alpha[columns + row] = -entry;
                self.touched.push((columns + row) as u32);
            }
            let terms = self.by_row.of_index(row);
            self.work += terms.len() as u64;
            for &(column, weight) in terms {
                let column = column as usize;
                if self.place[column] == u32::MAX {
                    if self.alpha[column] == 0.0 {
                        self.touched.push(column as u32);
                    }
                    self.alpha[column] += entry * weight;
                }
            }
        }
        self.touched.sort_unstable();
        self.touched.dedup();
        self.work += rows as u64;
    }

    /// Chooses the entering column, and moves columns that the step passes to their other bounds.
    fn entering(&mut self, beyond: f64) -> Option<usize> {
        let sign = if beyond < 0.0 { -1.0 } else { 1.0 };
        self.ratios.clear();
        for &column in &self.touched {
            let at = column as usize;
            let (low, high) = self.bounds[at];
            let alpha = sign * self.alpha[at];
            if alpha.abs() < PIVOT || low == high {
                continue;
            }
            let is_low = self.values[at] <= low;
            if (is_low && alpha > 0.0) || (!is_low && alpha < 0.0) {
                self.ratios.push(((self.reduced[at] / alpha).max(0.0), column));
            }
        }
        self.work += self.touched.len() as u64;
        self.ratios.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut slope = beyond.abs();
        let mut at = 0;
        let mut chosen = None;
        while at < self.ratios.len() {
            // columns of equal ratio are passed together
            let ratio = self.ratios[at].0;
            let tied = self.ratios[at..].iter().take_while(|other| other.0 <= ratio + TIE).count();
            let range = |column: u32| self.bounds[column as usize].1 - self.bounds[column as usize].0;
            let size = |column: u32| self.alpha[column as usize].abs();
            let group = &self.ratios[at..at + tied];
            let lost: f64 = group.iter().map(|&(_, column)| size(column) * range(column)).sum();
            let best = group.iter().map(|&(_, column)| column).max_by(|&a, &b| size(a).total_cmp(&size(b)));
            if slope - lost < 0.0 || at + tied == self.ratios.len() {
                chosen = best.map(|column| (column as usize, at));
                // even if all columns pass, the position stays beyond its bound
                if slope - lost >= 0.0 {
                    chosen = None;
                }
                break;
            }
            slope -= lost;
            at += tied;
        }
        let (entering, passed) = chosen?;
        let mut totals: Vec<(u32, f64)> = Vec::new();
        for &(_, column) in &self.ratios[..passed] {
            let at = column as usize;
            let (low, high) = self.bounds[at];
            let other = if self.values[at] <= low { high } else { low };
            let change = other - self.values[at];
            self.values[at] = other;
            match at.checked_sub(self.columns) {
                Some(row) => totals.push((row as u32, -change)),
                None => totals.extend(self.by_column.of_index(at).iter().map(|&(row, w)| (row, w * change))),
            }
        }
        if !totals.is_empty() {
            self.move_basis(&totals);
        }
        Some(entering)
    }

    /// Changes the basic values after changes of the rows' totals by nonbasic columns.
    fn move_basis(&mut self, totals: &[(u32, f64)]) {
        let mut dense = vec![0.0; self.rows];
        totals.iter().for_each(|&(row, change)| dense[row as usize] += change);
        let changed: Vec<usize> = (0..self.rows).filter(|&row| dense[row] != 0.0).collect();
        for position in 0..self.rows {
            let row = &self.inverse[position * self.rows..][..self.rows];
            let change: f64 = changed.iter().map(|&at| row[at] * dense[at]).sum();
            self.values[self.basis[position] as usize] -= change;
        }
        self.work += (self.rows * changed.len()) as u64;
    }

    /// Returns the change of the basic values for a unit of a column, negated.
    fn direction(&mut self, column: usize) -> Vec<f64> {
        let rows = self.rows;
        let of = |position: usize| {
            let row = &self.inverse[position * rows..][..rows];
            match column.checked_sub(self.columns) {
                Some(at) => -row[at],
                None => self.by_column.of_index(column).iter().map(|&(at, weight)| row[at as usize] * weight).sum(),
            }
        };
        let direction = (0..rows).map(of).collect();
        self.work += (rows * if column < self.columns { self.by_column.of_index(column).len() } else { 1 }) as u64;
        direction
    }

    /// Makes a column enter at a position. Returns `false`, and changes no basis, if the pivot is not reliable.
    fn pivot(&mut self, position: usize, entering: usize, beyond: f64) -> bool {
        let direction = self.direction(entering);
        let (pivot, expected) = (direction[position], self.alpha[entering]);
        if pivot.abs() < PIVOT || (pivot - expected).abs() > DRIFT * (1.0 + pivot.abs()) {
            return false;
        }
        let leaving = self.basis[position] as usize;
        let (low, high) = self.bounds[leaving];
        let value = self.values[leaving];
        let target = if beyond < 0.0 { low } else { high };
        let step = (value - target) / pivot;
        for (at, &basic) in self.basis.iter().enumerate() {
            self.values[basic as usize] -= step * direction[at];
        }
        self.values[entering] += step;
        self.values[leaving] = target;
        let dual = self.reduced[entering] / pivot;
        for &column in &self.touched {
            self.reduced[column as usize] -= dual * self.alpha[column as usize];
        }
        (self.reduced[entering], self.reduced[leaving]) = (0.0, -dual);
        self.steepen(position, &direction);
        self.exchange(position, entering, &direction);
        self.work += 3 * self.rows as u64 + self.touched.len() as u64;
        true
    }

    /// Updates the weights of dual steepest edge.
    fn steepen(&mut self, position: usize, direction: &[f64]) {
        let rows = self.rows;
        let row = &self.inverse[position * rows..][..rows];
        let exact = dot(row, row);
        let pivot = direction[position];
        for (at, &entry) in direction.iter().enumerate() {
            if at == position || entry.abs() < 1e-12 {
                continue;
            }
            let other = &self.inverse[at * rows..][..rows];
            let product = dot(other, row);
            let ratio = entry / pivot;
            self.weights[at] = (self.weights[at] - 2.0 * ratio * product + ratio * ratio * exact).max(1e-4);
            self.work += rows as u64;
        }
        self.weights[position] = (exact / (pivot * pivot)).max(1e-4);
    }

    /// Replaces the column of a position in the basis.
    fn exchange(&mut self, position: usize, entering: usize, direction: &[f64]) {
        let rows = self.rows;
        let pivot = direction[position];
        let (before, rest) = self.inverse.split_at_mut(position * rows);
        let (own, after) = rest.split_at_mut(rows);
        own.iter_mut().for_each(|entry| *entry /= pivot);
        let others = before.chunks_exact_mut(rows).zip(0..).chain(after.chunks_exact_mut(rows).zip(position + 1..));
        for (row, at) in others {
            let factor = direction[at];
            if factor.abs() >= 1e-14 {
                row.iter_mut().zip(&*own).for_each(|(entry, own)| *entry -= factor * own);
                self.work += rows as u64;
            }
        }
        let leaving = self.basis[position] as usize;
        self.place[leaving] = u32::MAX;
        self.place[entering] = position as u32;
        self.basis[position] = entering as u32;
    }
}
