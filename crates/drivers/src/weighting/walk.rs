//! Constraint-weighting walks on hard functions. Moves decrease the weighted sum of violated functions. In a local
//! minimum the weights of the violated functions rise, so that the walk eventually leaves it (Morris's breakout method,
//! 1993; for clauses Thornton's PAWS, 2004, and Lei and Cai's SATLike, 2018). Each move changes a variable of a
//! violated function.

use super::incidences::{IncidenceLists, WalkInput, sums_of};
use crate::constants::walks::LOOK_EVERY;
use crate::constants::weighting::{
    IMPROVED, LONGEST, LOOKED_AT, PHASE, PRESSURES, REST, ROW_WORK, SMOOTHING, VALUE_WORK,
};
use crate::device::shared::{constants, device_structs};
use crate::error::Error;
use crate::rng::{below, mix};
use crate::stop::Stop;
use crate::value_tables::{RowEntry, ValueTables, on_rows};
use crate::walks::search::{Limit, Progress, Walk};

/// The number of the draw of a violated function.
const AT_RANDOM: u64 = 1 << 8;
/// The number of the draw of the steps for which a variable is not moved again.
const RESTING: u64 = AT_RANDOM + 1;
/// The unit of the weights of values in a focused step.
const FOCUS: u64 = 1 << 40;
/// Largest number of steps of a walk, because they are counted in 32 bits.
const LAST: u32 = 1 << 30;
const NOWHERE: u32 = u32::MAX;

/// Returns the declarations of the constants for the kernels.
pub(super) fn declared() -> String {
    constants! {
        u32: LOOKED_AT, IMPROVED, SMOOTHING, PHASE, LONGEST, REST, LOOK_EVERY, NOWHERE;
        u64: AT_RANDOM, RESTING;
        i64: PRESSURES;
    }
}

device_structs! {
    /// The progress of a walk: all of it except its tables.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub(crate) struct WeightingProgress as "WalkProgress" {
        /// The key from which draws are mixed.
        key: u64,
        /// The cost of the present assignment, without violated functions.
        cost: i64,
        /// The lowest cost without violations.
        cheapest: i64,
        /// The factor of a weight.
        unit: i64,
        /// The factor of a cost; 0 before the first feasible assignment.
        pressure: i64,
        /// Moves made.
        pub moves: u64,
        /// Values evaluated.
        pub looked_at: u64,
        step: u32,
        /// Number of local minima in this phase.
        stuck: u32,
        /// Number of local minima at which the phase ends; 0 if the walk is [focused](WeightingProgress::focused).
        pub(crate) phase_end: u32,
        phases: u32,
        /// Whether no weight falls in this phase.
        remembers: u32,
        /// Number of violated functions.
        violated: u32,
        /// Number of functions whose weight is above one.
        heavy: u32,
        /// Lowest number of violated functions so far.
        fewest: u32,
    }
}

impl WeightingProgress {
    pub fn new(key: u64, remembers: bool) -> Self {
        let (cheapest, fewest, remembers) = (i64::MAX, u32::MAX, u32::from(remembers));
        WeightingProgress {
            key,
            cheapest,
            unit: 1,
            phase_end: PHASE,
            remembers,
            fewest,
            ..WeightingProgress::default()
        }
    }

    /// Returns the progress of a walk that is focused until nothing is violated: no weight rises, and a step changes a
    /// random variable of one violated function, with a probability that decreases with the number of functions that
    /// the new value violates (Balint and Schöning's probSAT, 2012). Only walks on the CPU are focused.
    pub fn focused(key: u64) -> Self {
        WeightingProgress { phase_end: 0, ..WeightingProgress::new(key, false) }
    }

    fn is_focused(&self) -> bool {
        self.phase_end == 0
    }

    /// Returns the walk with the counters of `other`, which it replaces.
    pub fn after(self, other: &WeightingProgress) -> Self {
        WeightingProgress { moves: other.moves, looked_at: other.looked_at, ..self }
    }

    /// Returns whether another walk should replace it.
    pub fn is_over(&self) -> bool {
        self.key == 0 || self.step >= LAST
    }
}

impl Progress for WeightingProgress {
    fn counted(&self) -> (u64, u64) {
        (self.moves, self.looked_at)
    }

    /// Returns the lowest number of violated functions, then the lowest cost without any.
    fn quality(&self) -> (u32, i64) {
        (self.fewest, self.cheapest)
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct WeightingWalk {
    progress: WeightingProgress,
    values: Vec<u16>,
    weights: Vec<i32>,
    /// Functions whose weight is above one.
    heavy: Vec<u32>,
    /// The violated functions.
    violated: Vec<u32>,
    /// The position of each function in `violated`; [`NOWHERE`] if it is satisfied.
    places: Vec<u32>,
    /// For each variable and value, the total weight of the functions that it would violate.
    hard: Vec<i32>,
    /// For each variable and value, the total cost of the functions that it would not violate.
    soft: Vec<i32>,
    /// The step at which each variable last moved.
    moved: Vec<u32>,
    /// The step until which each variable is not moved again.
    rests: Vec<u32>,
    work: u64,
    best: Vec<u16>,
}

/// A move: the change of the weighted sum, the step at which the variable last moved, the variable and the value.
type Rated = (i64, u32, (u32, u16));
/// A move worse than any other.
const NO_MOVE: Rated = (i64::MAX, u32::MAX, (u32::MAX, u16::MAX));

impl WeightingWalk {
    #[cfg(test)]
    pub fn new(input: WalkInput, values: Vec<u16>, progress: WeightingProgress) -> Self {
        WeightingWalk::until(input, values, progress, &Stop::new()).expect("no stop is set")
    }

    /// Begins a walk.
    ///
    /// # Errors
    /// [`Error::Stopped`].
    pub fn until(input: WalkInput, values: Vec<u16>, progress: WeightingProgress, stop: &Stop) -> Result<Self, Error> {
        let WalkInput { tables, incidences } = input;
        let (n, functions) = (tables.variables(), tables.problem.functions.len());
        let mut walk = WeightingWalk {
            progress,
            best: values.clone(),
            values,
            weights: vec![1; functions],
            heavy: Vec::new(),
            violated: Vec::new(),
            places: vec![NOWHERE; functions],
            hard: vec![0; tables.moves()],
            soft: Vec::with_capacity(tables.moves()),
            moved: vec![0; n],
            rests: vec![0; n],
            work: 0,
        };
        walk.progress.cost = 0;
        for v in stop.each(0..n) {
            let v = v?;
            let unary = tables.unary(v);
            walk.soft.extend(unary);
            walk.progress.cost += i64::from(unary[usize::from(walk.values[v])]);
        }
        for function in stop.each(0..functions as u32) {
            let function = function?;
            for (place, (v, incidence)) in incidences.of(function).iter().enumerate() {
                let sums = sums_of(tables, *v);
                let row = tables.row(tables.offset(incidence, &walk.values), sums.len());
                let sums = walk.hard[sums.clone()].iter_mut().zip(&mut walk.soft[sums]);
                for ((hard, soft), cost) in sums.zip(row.iter()) {
                    let is_hard = cost >= tables.hard;
                    *hard += i32::from(is_hard);
                    *soft += if is_hard { 0 } else { cost };
                }
                let cost = row.at(usize::from(walk.values[*v as usize]));
                match (place, cost >= tables.hard) {
                    (0, true) => walk.violate(function),
                    (0, false) => walk.progress.cost += i64::from(cost),
                    _ => {}
                }
            }
        }
        walk.progress.violated = walk.violated.len() as u32;
        Ok(walk)
    }

    /// Records the present assignment if fewer functions are violated than ever before. It is not called during a
    /// descent, because it would copy the assignment at every step.
    fn note(&mut self, input: WalkInput) {
        if (self.violated.len() as u32) < self.progress.fewest {
            if self.violated.is_empty() && self.progress.is_focused() {
                self.progress.phase_end = PHASE;
            }
            self.progress.fewest = self.violated.len() as u32;
            self.best.copy_from_slice(&self.values);
            if self.progress.fewest == 0 {
                self.progress.unit = PRESSURES * self.spread(input);
                self.progress.pressure = 1;
            }
        }
    }

    /// Makes one step towards fewer violated functions.
    fn repair(&mut self, input: WalkInput, draw: u64, stop: &Stop) -> Result<(), Error> {
        let count = self.violated.len();
        let drawn = |number| below(mix(draw, number), count as u64) as usize;
        let mut best = NO_MOVE;
        for k in 0..count.min(LOOKED_AT) {
            let function = self.violated[if count <= LOOKED_AT { k } else { drawn(k as u64) }];
            for &(v, _) in input.incidences.of(function) {
                if self.rests[v as usize] <= self.progress.step {
                    self.rate(input, v, &mut best);
                }
            }
        }
        if best.0 >= 0 {
            self.raise_weights(input, stop)?;
            best = NO_MOVE;
            for &(v, _) in input.incidences.of(self.violated[drawn(AT_RANDOM)]) {
                self.rate(input, v, &mut best);
            }
        }
        if best != NO_MOVE {
            let (v, value) = best.2;
            self.assign(input, draw, v, value);
        }
        Ok(())
    }

    /// Makes one step of a focused walk.
    fn focus(&mut self, input: WalkInput, draw: u64) {
        let tables = input.tables;
        let function = self.violated[below(mix(draw, AT_RANDOM), self.violated.len() as u64) as usize];
        let (mut total, mut choice) = (0, None);
        for &(v, _) in input.incidences.of(function) {
            let (domain, held) = (tables.domain(v as usize), self.values[v as usize]);
            let (sums, unary) = (&self.hard[sums_of(tables, v)][..domain], &tables.unary(v as usize)[..domain]);
            for (value, (&violated, &own)) in (0u16..).zip(sums.iter().zip(unary)) {
                if value == held || own >= tables.hard {
                    continue;
                }
                // all weights are 1, so that `violated` counts functions
                let weight = (FOCUS / (10 * violated as u64 + 9).pow(2)).max(1);
                total += weight;
                // each value is chosen in proportion to its weight
                if below(mix(mix(draw, u64::from(v)), u64::from(value)), total) < weight {
                    choice = Some((v, value));
                }
            }
            self.progress.looked_at += domain as u64;
            self.work += VALUE_WORK * (ROW_WORK + domain as u64);
        }
        if let Some((v, value)) = choice {
            self.assign(input, draw, v, value);
        }
    }

    /// Evaluates a variable's moves. Costs count after the first feasible assignment.
    fn rate(&mut self, WalkInput { tables, .. }: WalkInput, v: u32, best: &mut Rated) {
        let (sums, held, domain) =
            (sums_of(tables, v), usize::from(self.values[v as usize]), tables.domain(v as usize));
        let (hard, soft) = (&self.hard[sums.clone()][..domain], &self.soft[sums][..domain]);
        let WeightingProgress { unit, pressure, .. } = self.progress;
        let (weights, cost, unary) = (hard[held], soft[held], &tables.unary(v as usize)[..domain]);
        for value in 0..domain {
            let change = unit * i64::from(hard[value] - weights) + pressure * i64::from(soft[value] - cost);
            // most moves are worse than the best
            if change > best.0 || value == held || unary[value] >= tables.hard {
                continue;
            }
            *best = (*best).min((change, self.moved[v as usize], (v, value as u16)));
        }
        self.progress.looked_at += domain as u64;
        self.work += VALUE_WORK * (ROW_WORK + domain as u64);
    }

    /// Raises the weights of the violated functions.
    fn raise_weights(&mut self, input: WalkInput, stop: &Stop) -> Result<(), Error> {
        self.note(input);
        for k in stop.each(0..self.violated.len()) {
            let function = self.violated[k?];
            if self.weights[function as usize] == 1 {
                self.heavy.push(function);
            }
            self.change_weight(input, function, 1);
        }
        self.progress.stuck += 1;
        if self.progress.stuck >= self.progress.phase_end {
            if self.progress.remembers == 1 {
                for function in stop.each(std::mem::take(&mut self.heavy)) {
                    let function = function?;
                    self.change_weight(input, function, 1 - self.weights[function as usize]);
                }
            }
            let progress = &mut self.progress;
            progress.remembers ^= 1;
            progress.pressure = progress.pressure.min(1);
            progress.phases += 1;
            (progress.stuck, progress.phase_end) = (0, PHASE << (progress.phases / 2).min(LONGEST));
        } else if self.progress.remembers == 0 && self.progress.stuck.is_multiple_of(SMOOTHING) {
            for function in stop.each(std::mem::take(&mut self.heavy)) {
                let function = function?;
                self.change_weight(input, function, -1);
                if self.weights[function as usize] > 1 {
                    self.heavy.push(function);
                }
            }
        }
        Ok(())
    }

    fn change_weight(&mut self, WalkInput { tables, incidences }: WalkInput, function: u32, change: i32) {
        self.weights[function as usize] += change;
        for &(v, ref incidence) in incidences.of(function) {
            let sums = sums_of(tables, v);
            let (row, width) = (tables.offset(incidence, &self.values), sums.len());
            self.work += VALUE_WORK * (ROW_WORK + width as u64);
            let sums = self.hard[sums].iter_mut();
            let costs = tables.rows();
            on_rows!(costs, entries => {
                for (sum, cost) in sums.zip(&entries[row..row + width]) {
                    *sum += if cost.cost() >= tables.hard { change } else { 0 };
                }
            });
        }
    }

    fn violate(&mut self, function: u32) {
        self.places[function as usize] = self.violated.len() as u32;
        self.violated.push(function);
    }

    fn satisfy(&mut self, function: u32) {
        let place = std::mem::replace(&mut self.places[function as usize], NOWHERE) as usize;
        let _ = self.violated.swap_remove(place);
        if let Some(&other) = self.violated.get(place) {
            self.places[other as usize] = place as u32;
        }
    }

    /// Gives a variable another value and updates all sums.
    fn assign(&mut self, WalkInput { tables, incidences }: WalkInput, draw: u64, v: u32, value: u16) {
        let old = std::mem::replace(&mut self.values[v as usize], value);
        let sums = &self.soft[sums_of(tables, v)];
        self.progress.cost += i64::from(sums[usize::from(value)] - sums[usize::from(old)]);
        self.moved[v as usize] = self.progress.step;
        self.rests[v as usize] = self.progress.step + REST + below(mix(draw, RESTING), u64::from(REST) + 1) as u32;
        self.progress.moves += 1;
        let step = i64::from(value) - i64::from(old);
        for (incidence, &function) in tables.incidences(v as usize).iter().zip(tables.functions_on(v as usize)) {
            let row = tables.offset(incidence, &self.values);
            let is_hard = |value: u16| tables.row(row + usize::from(value), 1).at(0) >= tables.hard;
            match (is_hard(old), is_hard(value)) {
                (false, true) => self.violate(function),
                (true, false) => self.satisfy(function),
                _ => {}
            }
            let weight = self.weights[function as usize];
            for &(u, ref incidence) in incidences.of(function).iter().filter(|incidence| incidence.0 != v) {
                let after = tables.offset(incidence, &self.values);
                let before = (after as i64 - step * i64::from(tables.stride(incidence, v))) as usize;
                let sums = sums_of(tables, u);
                self.work += VALUE_WORK * (ROW_WORK + sums.len() as u64);
                let width = sums.len();
                let sums = self.hard[sums.clone()].iter_mut().zip(&mut self.soft[sums]);
                on_rows!(tables.rows(), entries => {
                    let changes = entries[before..before + width].iter().zip(&entries[after..after + width]);
                    for ((hard, soft), (gone, come)) in sums.zip(changes) {
                        let (gone, come) = (gone.cost(), come.cost());
                        let (was, is) = (gone >= tables.hard, come >= tables.hard);
                        *hard += weight * (i32::from(is) - i32::from(was));
                        *soft += if is { 0 } else { come } - if was { 0 } else { gone };
                    }
                });
            }
        }
    }

    /// Returns the average difference between the highest and the lowest cost of a variable's values.
    fn spread(&self, WalkInput { tables, .. }: WalkInput) -> i64 {
        let spread = |v: usize| {
            let costs = &self.soft[sums_of(tables, v as u32)][..tables.domain(v)];
            let costs = costs.iter().filter(|&&cost| cost < tables.hard);
            i64::from(costs.clone().max().unwrap_or(&0) - costs.min().unwrap_or(&0))
        };
        let spreads: Vec<i64> = (0..tables.variables()).map(spread).filter(|&spread| spread > 0).collect();
        (spreads.iter().sum::<i64>() / spreads.len().max(1) as i64).max(1)
    }

    /// Makes one step towards lower cost while nothing is violated. If there is none, the factor of costs rises, until
    /// a step leads through a violation.
    fn improve(&mut self, input: WalkInput, draw: u64) {
        self.note(input);
        let mut best = NO_MOVE;
        for k in 0..IMPROVED {
            let v = below(mix(draw, k), input.tables.variables() as u64) as u32;
            self.rate(input, v, &mut best);
        }
        if best.0 < 0 {
            let (v, value) = best.2;
            return self.assign(input, draw, v, value);
        }
        if self.progress.cost < self.progress.cheapest {
            self.progress.cheapest = self.progress.cost;
            self.best.copy_from_slice(&self.values);
        }
        self.progress.pressure += 1;
    }
}

impl Walk<WeightingProgress, IncidenceLists> for WeightingWalk {
    fn begin(
        &mut self,
        tables: &ValueTables,
        incidences: &IncidenceLists,
        progress: WeightingProgress,
        values: &[u16],
        stop: &Stop,
    ) -> Result<(), Error> {
        *self = WeightingWalk::until(WalkInput { tables, incidences }, values.to_vec(), progress, stop)?;
        Ok(())
    }

    fn walk(&mut self, tables: &ValueTables, incidences: &IncidenceLists, limit: Limit, stop: &Stop) -> u64 {
        let input = WalkInput { tables, incidences };
        self.work = 0;
        let mut steps = 0;
        while steps < limit.steps && self.work < limit.work {
            steps += 1;
            self.progress.step += 1;
            if self.progress.step.is_multiple_of(LOOK_EVERY) && stop.is_set() {
                break;
            }
            let draw = mix(self.progress.key, u64::from(self.progress.step));
            let ended = match self.violated.is_empty() {
                true => {
                    self.improve(input, draw);
                    Ok(())
                }
                false if self.progress.is_focused() => {
                    self.focus(input, draw);
                    Ok(())
                }
                false => self.repair(input, draw, stop),
            };
            if ended.is_err() {
                // some weights are raised, and the walk continues from there
                break;
            }
        }
        self.note(input);
        (self.progress.violated, self.progress.heavy) = (self.violated.len() as u32, self.heavy.len() as u32);
        self.work
    }

    fn progress(&self) -> WeightingProgress {
        self.progress
    }

    fn best(&self) -> &[u16] {
        &self.best
    }
}

#[cfg(test)]
#[path = "walk_tests.rs"]
mod tests;
