//! Walks by weights on hard functions. The weighted sum of violated functions goes down move by move; where no move lowers it, what is violated
//! there weighs more from now on, so that the walk leaves every such place in the end (Morris's breakout method, 1993; for clauses Thornton's
//! PAWS, 2004, and Lei and Cai's SATLike, 2018). A move is one of a variable of a violated function.

use super::rows::{Incidence, Rows};
use crate::rng::Rng;
use crate::stop::Stop;
use std::ops::Range;

/// Violated functions, drawn at random, whose variables' moves are looked at in a step. With 8 random formulas of 1000 variables and forced random
/// networks took several times as long (results/notes/weights.md).
const LOOKED_AT: usize = 30;
/// Variables, drawn at random, whose moves are looked at where nothing is violated.
const IMPROVED: usize = 50;
/// Places without a better move after which every weight above one falls by one, while a walk forgets.
const SMOOTHING: u32 = 10;
/// Places without a better move until a walk that forgets remembers all, and the other way round. They double each time it has done both: random
/// formulas want a short memory, completions of Latin squares a long one.
const PHASE: u32 = 4096;
/// No phase is longer than so many times that: weights stay below 2^17, and their sums in 32 bits.
const LONGEST: u32 = 4;
/// A variable that moved rests for so many steps, and up to as many more.
const REST: u64 = 3;
/// A mean difference in cost counts one in so many of a weight at first.
const PRESSURES: i64 = 8;
/// Steps between two looks at the stop flag.
const UNWATCHED: u64 = 64;
/// What it takes to look at a variable's values or at a row of a function, besides each of them, and nanoseconds of each.
const ROW_WORK: u64 = 6;
const VALUE_WORK: u64 = 2;

/// Not violated.
const NOWHERE: u32 = u32::MAX;

/// Who reads what: the functions of a core with their variables, all of them copied into rows.
#[derive(Debug, Default)]
pub(crate) struct Seats {
    /// First seat of each function, and the end.
    starts: Vec<u32>,
    seats: Vec<(u32, Incidence)>,
    /// First sum of each variable's values, and the end.
    sums: Vec<u32>,
}

impl Seats {
    pub fn new(rows: &Rows) -> Self {
        let (mut starts, mut seats) = (Vec::new(), Vec::new());
        for (function, variable, incidence) in rows.incidences_by_function() {
            starts.resize(function as usize + 1, seats.len() as u32);
            seats.push((variable, incidence));
        }
        starts.resize(rows.problem.functions.len() + 1, seats.len() as u32);
        let ends = rows.width.iter().scan(0, |end, &width| {
            *end += width;
            Some(*end)
        });
        Seats { starts, seats, sums: std::iter::once(0).chain(ends).collect() }
    }

    fn of(&self, function: u32) -> &[(u32, Incidence)] {
        &self.seats[self.starts[function as usize] as usize..self.starts[function as usize + 1] as usize]
    }

    fn sums(&self, variable: u32) -> Range<usize> {
        self.sums[variable as usize] as usize..self.sums[variable as usize + 1] as usize
    }
}

/// What a walk walks on.
#[derive(Clone, Copy)]
pub(crate) struct Land<'a> {
    pub rows: &'a Rows,
    pub seats: &'a Seats,
}

/// What a walk did.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Walked {
    pub moves: u64,
    /// Values looked at.
    pub looked_at: u64,
    pub work: u64,
}

/// One walk.
#[derive(Clone, Debug)]
pub(crate) struct Weigher {
    rng: Rng,
    values: Vec<u16>,
    /// Of functions.
    weights: Vec<i32>,
    /// Functions whose weight is above one.
    heavy: Vec<u32>,
    /// Functions that are violated, and where each stands there.
    violated: Vec<u32>,
    places: Vec<u32>,
    /// By variable and value: the weights of the functions that it would violate, and the costs of the others.
    hard: Vec<i32>,
    soft: Vec<i32>,
    /// When each variable moved, and until when it rests.
    moved: Vec<u64>,
    rests: Vec<u64>,
    step: u64,
    /// Places without a better move, and how many there are when the phase ends.
    stuck: u32,
    phase_end: u32,
    phases: u32,
    /// Whether no weight falls in this phase.
    remembers: bool,
    done: Walked,
    /// The fewest violated functions seen, the least cost without any, and an assignment that has it until it is taken.
    fewest: usize,
    cheapest: i64,
    found: Option<Vec<u16>>,
    /// What a weight counts and what a cost counts, nothing before there was an allowed assignment.
    unit: i64,
    pressure: i64,
}

/// A move: what it changes the weighted sum by, since when the variable has stood still, and which.
type Rated = (i64, u64, (u32, u16));

impl Weigher {
    /// A walk from an assignment. Values that are forbidden by themselves are never taken.
    pub fn new(land: Land, mut values: Vec<u16>, remembers: bool, rng: Rng) -> Self {
        let Land { rows, seats } = land;
        let (n, functions) = (rows.variables(), rows.problem.functions.len());
        for (v, value) in values.iter_mut().enumerate() {
            let unary = &rows.unary(v)[..rows.domain(v)];
            if unary[usize::from(*value)] >= rows.hard {
                *value = (0..unary.len()).min_by_key(|&value| unary[value]).unwrap_or(0) as u16;
            }
        }
        let mut walk = Weigher {
            rng,
            values,
            weights: vec![1; functions],
            heavy: Vec::new(),
            violated: Vec::new(),
            places: vec![NOWHERE; functions],
            hard: vec![0; seats.sums[n] as usize],
            soft: (0..n).flat_map(|v| rows.unary(v)).copied().collect(),
            moved: vec![0; n],
            rests: vec![0; n],
            step: 0,
            stuck: 0,
            phase_end: PHASE,
            phases: 0,
            remembers,
            done: Walked::default(),
            fewest: usize::MAX,
            cheapest: i64::MAX,
            unit: 1,
            pressure: 0,
            found: None,
        };
        for function in 0..functions as u32 {
            for (place, (v, incidence)) in seats.of(function).iter().enumerate() {
                let sums = seats.sums(*v);
                let row = rows.row(rows.offset(incidence, &walk.values), sums.len());
                let sums = walk.hard[sums.clone()].iter_mut().zip(&mut walk.soft[sums]);
                for ((hard, soft), &cost) in sums.zip(row) {
                    let is_hard = cost >= rows.hard;
                    *hard += i32::from(is_hard);
                    *soft += if is_hard { 0 } else { cost };
                }
                if place == 0 && row[usize::from(walk.values[*v as usize])] >= rows.hard {
                    walk.violate(function);
                }
            }
        }
        walk
    }

    /// Goes on until so much work is done.
    pub fn walk(&mut self, land: Land, work: u64, stop: &Stop) -> Walked {
        self.done = Walked::default();
        while self.done.work < work {
            self.step += 1;
            if self.step.is_multiple_of(UNWATCHED) && stop.is_set() {
                break;
            }
            match self.violated.is_empty() {
                true => self.improve(land),
                false => self.repair(land),
            }
        }
        self.note(land);
        self.done
    }

    /// Keeps where the walk stands if fewer functions are violated than ever. On the way down that would be a copy a step.
    fn note(&mut self, land: Land) {
        if self.violated.len() < self.fewest {
            self.fewest = self.violated.len();
            self.found = Some(self.values.clone());
            if self.fewest == 0 {
                self.unit = PRESSURES * self.spread(land);
                self.pressure = 1;
            }
        }
    }

    /// The best assignment since it was last asked for, if any was better.
    pub fn take_found(&mut self) -> Option<Vec<u16>> {
        self.found.take()
    }

    /// One step towards fewer violated functions.
    fn repair(&mut self, land: Land) {
        let mut best = None;
        let all = self.violated.len() <= LOOKED_AT;
        for k in 0..self.violated.len().min(LOOKED_AT) {
            let function = self.violated[if all { k } else { self.rng.index(self.violated.len()) }];
            for &(v, _) in land.seats.of(function) {
                if self.rests[v as usize] <= self.step {
                    self.rate(land, v, &mut best);
                }
            }
        }
        if best.is_none_or(|(change, ..)| change >= 0) {
            self.weigh(land);
            best = None;
            let function = self.violated[self.rng.index(self.violated.len())];
            for &(v, _) in land.seats.of(function) {
                self.rate(land, v, &mut best);
            }
        }
        if let Some((_, _, (v, value))) = best {
            self.assign(land, v, value);
        }
    }

    /// Rates a variable's moves; costs count once there was an allowed assignment.
    fn rate(&mut self, Land { rows, seats }: Land, v: u32, best: &mut Option<Rated>) {
        let (sums, held, domain) = (seats.sums(v), usize::from(self.values[v as usize]), rows.domain(v as usize));
        let (hard, soft) = (&self.hard[sums.clone()][..domain], &self.soft[sums][..domain]);
        for value in (0..domain).filter(|&value| value != held) {
            let change =
                self.unit * i64::from(hard[value] - hard[held]) + self.pressure * i64::from(soft[value] - soft[held]);
            let rated = (change, self.moved[v as usize], (v, value as u16));
            if best.is_none_or(|best| rated < best) && rows.unary(v as usize)[value] < rows.hard {
                *best = Some(rated);
            }
        }
        self.done.looked_at += domain as u64;
        self.done.work += VALUE_WORK * (ROW_WORK + domain as u64);
    }

    /// What is violated weighs more from now on.
    fn weigh(&mut self, land: Land) {
        self.note(land);
        for k in 0..self.violated.len() {
            let function = self.violated[k];
            if self.weights[function as usize] == 1 {
                self.heavy.push(function);
            }
            self.change_weight(land, function, 1);
        }
        self.stuck += 1;
        if self.stuck >= self.phase_end {
            if self.remembers {
                for function in std::mem::take(&mut self.heavy) {
                    self.change_weight(land, function, 1 - self.weights[function as usize]);
                }
            }
            self.remembers = !self.remembers;
            self.pressure = self.pressure.min(1);
            self.phases += 1;
            (self.stuck, self.phase_end) = (0, PHASE << (self.phases / 2).min(LONGEST));
        } else if !self.remembers && self.stuck.is_multiple_of(SMOOTHING) {
            let mut heavy = std::mem::take(&mut self.heavy);
            heavy.retain(|&function| {
                self.change_weight(land, function, -1);
                self.weights[function as usize] > 1
            });
            self.heavy = heavy;
        }
    }

    fn change_weight(&mut self, Land { rows, seats }: Land, function: u32, change: i32) {
        self.weights[function as usize] += change;
        for &(v, ref incidence) in seats.of(function) {
            let sums = seats.sums(v);
            let row = rows.row(rows.offset(incidence, &self.values), sums.len());
            self.done.work += VALUE_WORK * (ROW_WORK + row.len() as u64);
            for (sum, &cost) in self.hard[sums].iter_mut().zip(row) {
                *sum += if cost >= rows.hard { change } else { 0 };
            }
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

    /// Gives a variable another value and brings all sums up to date.
    fn assign(&mut self, Land { rows, seats }: Land, v: u32, value: u16) {
        let old = std::mem::replace(&mut self.values[v as usize], value);
        self.moved[v as usize] = self.step;
        self.rests[v as usize] = self.step + REST + self.rng.below(REST + 1);
        self.done.moves += 1;
        let step = i64::from(value) - i64::from(old);
        for (incidence, &function) in rows.incidences(v as usize).iter().zip(rows.functions_on(v as usize)) {
            let row = rows.offset(incidence, &self.values);
            let is_hard = |value: u16| rows.entries()[row + usize::from(value)] >= rows.hard;
            match (is_hard(old), is_hard(value)) {
                (false, true) => self.violate(function),
                (true, false) => self.satisfy(function),
                _ => {}
            }
            let weight = self.weights[function as usize];
            for &(u, ref incidence) in seats.of(function).iter().filter(|seat| seat.0 != v) {
                let after = rows.offset(incidence, &self.values);
                let before = (after as i64 - step * i64::from(rows.stride(incidence, v))) as usize;
                let sums = seats.sums(u);
                self.done.work += VALUE_WORK * (ROW_WORK + sums.len() as u64);
                let changes = rows.row(before, sums.len()).iter().zip(rows.row(after, sums.len()));
                let sums = self.hard[sums.clone()].iter_mut().zip(&mut self.soft[sums]);
                for ((hard, soft), (&gone, &come)) in sums.zip(changes) {
                    let (was, is) = (gone >= rows.hard, come >= rows.hard);
                    *hard += weight * (i32::from(is) - i32::from(was));
                    *soft += if is { 0 } else { come } - if was { 0 } else { gone };
                }
            }
        }
    }

    /// What a variable's values differ by in cost, on average.
    fn spread(&self, Land { rows, seats }: Land) -> i64 {
        let spread = |v: usize| {
            let costs = &self.soft[seats.sums(v as u32)][..rows.domain(v)];
            let costs = costs.iter().filter(|&&cost| cost < rows.hard);
            i64::from(costs.clone().max().unwrap_or(&0) - costs.min().unwrap_or(&0))
        };
        let spreads: Vec<i64> = (0..rows.variables()).map(spread).filter(|&spread| spread > 0).collect();
        (spreads.iter().sum::<i64>() / spreads.len().max(1) as i64).max(1)
    }

    /// Nothing is violated: one step towards less cost. Where there is none, costs count more from now on, until one leads through a violation.
    fn improve(&mut self, land: Land) {
        self.note(land);
        let mut best = None;
        for _ in 0..IMPROVED {
            let v = self.rng.index(land.rows.variables()) as u32;
            self.rate(land, v, &mut best);
        }
        if let Some((_, _, (v, value))) = best.filter(|best| best.0 < 0) {
            return self.assign(land, v, value);
        }
        let energy = land.rows.energy(&self.values);
        self.done.work += land.rows.variables() as u64 * ROW_WORK;
        if energy.total < self.cheapest {
            self.cheapest = energy.total;
            self.found = Some(self.values.clone());
        }
        self.pressure += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::testing::{assignment, price, random_dense};
    use std::sync::Arc;

    /// The walk's weights and sums against those of a fresh one where it stands.
    fn compare(land: Land, walk: &Weigher, case: u32) {
        let mut fresh = Weigher::new(land, walk.values.clone(), false, Rng::new(0));
        assert_eq!(fresh.values, walk.values, "case {case}");
        for (function, &weight) in walk.weights.iter().enumerate() {
            fresh.change_weight(land, function as u32, weight - 1);
        }
        assert!(fresh.hard == walk.hard && fresh.soft == walk.soft, "case {case}");
        let sorted = |functions: &[u32]| {
            let mut functions = functions.to_vec();
            functions.sort_unstable();
            functions
        };
        assert_eq!(sorted(&fresh.violated), sorted(&walk.violated), "case {case}");
        let weighs = |function: &u32| walk.weights[*function as usize] > 1;
        assert_eq!(
            sorted(&walk.heavy),
            (0..walk.weights.len() as u32).filter(weighs).collect::<Vec<_>>(),
            "case {case}"
        );
    }

    #[test]
    fn sums_and_violations_are_those_counted_anew() {
        let mut rng = Rng::new(1);
        let (mut heavy, mut solved) = (0, 0);
        for case in 0..1000 {
            let problem = Arc::new(random_dense(&mut rng));
            let rows = Rows::new(&problem, price(&problem));
            let seats = Seats::new(&rows);
            let land = Land { rows: &rows, seats: &seats };
            let mut walk = Weigher::new(land, assignment(&problem, &mut rng), case % 2 == 0, rng.split());
            // phases end often
            walk.phase_end = 20;
            for _ in 0..5 {
                let walked = walk.walk(land, 10_000, &Stop::new());
                assert!(walked.work >= 10_000 && walked.looked_at > 0, "case {case}");
                compare(land, &walk, case);
            }
            heavy += usize::from(!walk.heavy.is_empty());
            let Some(found) = walk.take_found() else { continue };
            let energy = rows.energy(&found);
            let of_functions = problem.functions.iter().filter(|f| rows.entry(f, &found) >= crate::model::FORBIDDEN);
            // a variable may have no value that is allowed by itself
            assert!(walk.fewest > 0 || of_functions.count() == 0, "case {case}: {energy:?}");
            solved += usize::from(walk.fewest == 0);
            assert!(walk.take_found().is_none());
        }
        assert!(heavy > 50 && solved > 500, "{heavy} {solved}");
    }
}
