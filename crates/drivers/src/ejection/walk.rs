//! A walk of ejection chains, with the cost of every value, given the values of the other variables, kept up to date.

use super::kept::Kept;
use crate::constants::ejection::{COLD, LOOK_WORK};
use crate::constants::walks::LOOK_EVERY;
use crate::core::layout::{Affected, MoveLayout};
use crate::error::Error;
use crate::rng::Rng;
use crate::stop::Stop;
use crate::value_tables::{Row, ValueTables};

/// The tables that a walk reads.
#[derive(Clone, Copy)]
pub(super) struct ChainTables<'a> {
    pub tables: &'a ValueTables,
    pub layout: &'a MoveLayout,
    /// The variables that have more than one value and a function.
    pub free: &'a [u32],
    /// Largest work of a move.
    pub longest: u64,
}

/// A few moves, compiled for the vector instruction set of the machine.
struct Steps<'a> {
    walk: &'a mut ChainWalk,
    core: ChainTables<'a>,
    rng: &'a mut Rng,
    end: u64,
}

impl pulp::WithSimd for Steps<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let Steps { walk, core, rng, end } = self;
        let (moves, work) = (walk.moves + u64::from(LOOK_EVERY), walk.work + LOOK_WORK);
        while walk.work < end.min(work) && walk.moves < moves.min(walk.length) {
            walk.step(core, rng);
        }
    }
}

/// The state of a walk, whose temperature falls.
#[derive(Clone, Debug)]
pub(super) struct ChainWalk {
    kept: Kept,
    /// Whether the assignment is feasible.
    allowed: bool,
    /// The energy of the first assignment.
    begun: i64,
    pub best: Vec<u16>,
    pub best_energy: i64,
    /// The variables that accepted moves have changed since the best assignment, some more than once.
    newer: Vec<u32>,
    /// The temperature of the first move.
    warmth: f64,
    /// Number of moves of the walk.
    length: u64,
    pub moves: u64,
    /// The variables that the present move has changed, with their values before it.
    changed: Vec<(u32, u16)>,
    /// For each variable, the number of the last move that changed it.
    by: Vec<u64>,
    /// Sum and number of the cost increases of complete moves.
    climbs: (i64, u64),
    pub work: u64,
    pub ratings: u64,
}

impl ChainWalk {
    /// # Errors
    /// [`Error::Stopped`].
    pub fn new(
        core: ChainTables<'_>,
        values: Vec<u16>,
        allowed: bool,
        warmth: f64,
        length: u64,
        stop: &Stop,
    ) -> Result<ChainWalk, Error> {
        let kept = Kept::new(core.tables, core.layout, values, stop)?;
        Ok(ChainWalk {
            best: kept.values.clone(),
            newer: Vec::new(),
            by: vec![0; kept.values.len()],
            begun: kept.energy,
            allowed,
            best_energy: kept.energy,
            kept,
            warmth,
            length,
            moves: 0,
            changed: Vec::new(),
            climbs: (0, 0),
            work: 0,
            ratings: 0,
        })
    }

    /// Returns the values, and the cost of each value.
    #[cfg(test)]
    pub fn state(&self) -> (&[u16], &[i32]) {
        (&self.kept.values, &self.kept.costs)
    }

    #[cfg(test)]
    pub fn energy(&self) -> i64 {
        self.kept.energy
    }

    /// Returns whether all moves are made.
    pub fn is_over(&self) -> bool {
        self.moves >= self.length
    }

    /// Returns the average cost of complete moves that increase the cost; `None` if there was none.
    pub fn climb(&self) -> Option<f64> {
        let (sum, count) = self.climbs;
        (count > 0).then(|| sum as f64 / count as f64)
    }

    /// Returns the number of moves of the next walk.
    pub fn next_length(&self) -> u64 {
        if self.best_energy < self.begun { self.length } else { self.length.saturating_mul(2) }
    }

    /// Makes moves for `work`.
    pub fn advance(&mut self, core: ChainTables<'_>, work: u64, rng: &mut Rng, stop: &Stop) {
        let end = self.work.saturating_add(work);
        while self.work < end && !self.is_over() && !stop.is_set() {
            pulp::Arch::new().dispatch(Steps { walk: self, core, rng, end });
        }
    }

    /// Makes one compound move, and accepts or undoes it.
    #[inline(always)]
    fn step(&mut self, core: ChainTables<'_>, rng: &mut Rng) {
        self.moves += 1;
        self.work += 100;
        self.changed.clear();
        let before = self.kept.energy;
        let (v, value) = self.begin(core, rng);
        self.take(core, v, value);
        let complete = self.repair(core, rng);
        if complete {
            self.settle(core);
            let climb = self.kept.energy - before;
            if climb > 0 {
                self.climbs = (self.climbs.0.saturating_add(climb), self.climbs.1 + 1);
            }
            let cold = (self.moves as f64 / self.length as f64) * COLD.ln();
            let temperature = self.warmth * (-cold).exp();
            if climb <= 0 || (climb as f64) < -temperature * (1.0 - rng.unit()).ln() {
                self.note();
                return;
            }
        }
        for place in (0..self.changed.len()).rev() {
            let (v, value) = self.changed[place];
            self.set(core, v as usize, value);
        }
    }

    /// Records an accepted move.
    #[inline(always)]
    fn note(&mut self) {
        if self.newer.len() < self.kept.values.len() {
            self.newer.extend(self.changed.iter().map(|change| change.0));
        }
        if self.kept.energy >= self.best_energy {
            return;
        }
        self.best_energy = self.kept.energy;
        if self.newer.len() < self.kept.values.len() {
            self.newer.drain(..).for_each(|v| self.best[v as usize] = self.kept.values[v as usize]);
        } else {
            self.newer.clear();
            self.best.copy_from_slice(&self.kept.values);
        }
    }

    /// Draws a variable, one of a violated function if there are any, and the best of some of its other values.
    #[inline(always)]
    fn begin(&mut self, core: ChainTables<'_>, rng: &mut Rng) -> (usize, u16) {
        let draw = |rng: &mut Rng| core.free[rng.index(core.free.len())] as usize;
        let mut v = draw(rng);
        if !self.allowed {
            let violates =
                |v: usize| self.kept.costs_of(core.layout, v)[usize::from(self.kept.values[v])] >= core.tables.hard;
            let mut drawn = std::iter::repeat_with(|| draw(rng)).take(core.free.len()).zip(1..);
            let (found, work) = drawn.find(|&(v, _)| violates(v)).unwrap_or((v, core.free.len() as u64));
            (v, self.work) = (found, self.work + work);
        }
        let domain = core.tables.domain(v);
        // the number of candidate values is between one and all, with small and large numbers alike
        let tried = (domain as f64).powf(rng.unit()) as usize;
        let first = rng.index(domain);
        let tried = (first..first + tried.clamp(1, domain)).map(|value| value % domain);
        let costs = self.kept.costs_of(core.layout, v);
        let own = usize::from(self.kept.values[v]);
        let next = (own + 1 + rng.index(domain - 1)) % domain;
        let value = tried.filter(|&value| value != own).min_by_key(|&value| costs[value]).unwrap_or(next);
        (v, value as u16)
    }

    /// Repairs the functions that changes have violated. Each is repaired by one variable that has not changed yet,
    /// with its value of lowest cost. Returns whether all could be repaired.
    #[inline(always)]
    fn repair(&mut self, core: ChainTables<'_>, rng: &mut Rng) -> bool {
        let ChainTables { tables, layout, .. } = core;
        let (begun, mut next) = (self.work, 0);
        while next < self.changed.len() {
            let v = self.changed[next].0 as usize;
            let mut rows = layout.affected(v);
            self.work += 2 * rows.len() as u64;
            for &function in tables.functions_on(v) {
                let others = tables.problem.functions[function as usize].scope.len() - 1;
                let (of_function, behind) = rows.split_at(others);
                rows = behind;
                if self.entries(core, v, &of_function[0]).at(usize::from(self.value(&of_function[0]))) < tables.hard {
                    continue;
                }
                let Some((u, value)) = self.cheapest(core, v, of_function, rng) else {
                    if self.allowed {
                        return false;
                    }
                    continue;
                };
                self.take(core, u, value);
            }
            if self.work - begun > core.longest {
                return false;
            }
            next += 1;
        }
        true
    }

    /// Returns the variable of a function on `v`, among those that have not changed, and its value that repair the
    /// function at the lowest cost.
    #[inline(always)]
    fn cheapest(&mut self, core: ChainTables<'_>, v: usize, rows: &[Affected], rng: &mut Rng) -> Option<(usize, u16)> {
        let (mut found, mut ties) = (None, 0);
        let mut least = i32::MAX;
        for row in rows.iter().filter(|row| self.by[row.variable as usize] != self.moves) {
            let u = row.variable as usize;
            let costs = self.kept.costs_of(core.layout, u);
            let own = costs[usize::from(self.kept.values[u])];
            let entries = self.entries(core, v, row);
            for (value, (&cost, entry)) in costs.iter().zip(entries.iter()).enumerate().take(core.tables.domain(u)) {
                if entry >= core.tables.hard || cost - own > least {
                    continue;
                }
                ties = if cost - own < least { 1 } else { ties + 1 };
                least = cost - own;
                if rng.below(ties) == 0 {
                    found = Some((u, value as u16));
                }
            }
        }
        let rated: u64 = rows.iter().map(|row| core.layout.range(row.variable as usize).len() as u64).sum();
        self.ratings += rated;
        self.work += rated;
        found
    }

    /// Gives the neighbours of changed variables values of lower cost, each once.
    #[inline(always)]
    fn settle(&mut self, core: ChainTables<'_>) {
        let (begun, mut next) = (self.work, 0);
        while next < self.changed.len() && self.work - begun < core.longest {
            for row in core.layout.affected(self.changed[next].0 as usize) {
                let u = row.variable as usize;
                if self.by[u] == self.moves {
                    continue;
                }
                let costs = self.kept.costs_of(core.layout, u);
                let (own, rated) = (costs[usize::from(self.kept.values[u])], costs.len() as u64);
                let least = costs.iter().copied().min().unwrap_or(own);
                let place = if least < own { costs.iter().position(|&cost| cost == least) } else { None };
                self.ratings += rated;
                self.work += 4 + rated / 4;
                if let Some(value) = place {
                    self.take(core, u, value as u16);
                }
            }
            next += 1;
        }
    }

    /// Changes a variable as a part of the move.
    #[inline(always)]
    fn take(&mut self, core: ChainTables<'_>, v: usize, value: u16) {
        self.changed.push((v as u32, self.kept.values[v]));
        self.by[v] = self.moves;
        self.set(core, v, value);
    }

    #[inline(always)]
    fn set(&mut self, core: ChainTables<'_>, v: usize, value: u16) {
        self.kept.set(core.tables, core.layout, v, value);
        let rows = core.layout.affected(v);
        self.work += 20 + rows.iter().map(|row| core.layout.range(row.variable as usize).len() as u64 / 2).sum::<u64>();
    }

    /// Returns the present value of the variable of a row.
    #[inline(always)]
    fn value(&self, row: &Affected) -> u16 {
        self.kept.values[row.variable as usize]
    }

    /// Returns the costs of the function of a row, which `v` affects, for each value of the row's variable.
    #[inline(always)]
    fn entries<'a>(&self, core: ChainTables<'a>, v: usize, row: &Affected) -> Row<'a> {
        let others = row.shift(core.layout, &self.kept.values);
        let at = row.base + others + u32::from(self.kept.values[v]) * row.stride;
        core.tables.row(at as usize, core.layout.range(row.variable as usize).len())
    }
}
