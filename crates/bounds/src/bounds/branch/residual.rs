//! The residual problem at a node: its remaining values, the costs shifted between functions, and a trail for undoing.

use super::scan::Pair;
use super::static_data::{Entries, Function, NEVER, StaticData};
use crate::bounds::tuning::branch::{FUNCTION_WORK, LATE, Passes};
use crate::model::Cost;
use crate::stop::Stop;

/// The costs and values of a node, with a trail that leads back to its ancestors.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// Cost that every remaining assignment has, scaled and without the problem's own constant.
    pub constant: Cost,
    /// Scaled cost from which assignments are of no interest.
    pub limit: Cost,
    pub work: u64,
    /// Unary costs by value, then the costs taken from functions by scope position and value; negative if more was
    /// given.
    cells: Vec<Cost>,
    /// Remaining values by variable, ascending, at the front of the variable's range.
    values: Vec<u32>,
    counts: Vec<u32>,
    /// The level that last saved a block: a variable's values with their costs, or the costs taken at one scope
    /// position of a function.
    kept: Vec<u64>,
    /// Name of the current level; names are never reused.
    name: u64,
    names: u64,
    levels: Vec<Level>,
    trail: Vec<Kept>,
    old_cells: Vec<Cost>,
    old_values: Vec<u32>,
    /// Whether an assigned variable has been visited since its assignment, so that it has no more costs to give.
    settled: Vec<bool>,
    /// By function, how often one of its variables lost all values.
    pub failures: Vec<u32>,
    sum: Vec<Cost>,
    least: Vec<Cost>,
    row: Vec<Cost>,
    digits: Vec<u32>,
    sums: Vec<(Cost, usize)>,
    /// Functions of the visited variable, its position in their scopes, and whether variables to come read them.
    met: Vec<(u32, u32, bool)>,
}

/// A level of the trail: what to restore when it is undone.
#[derive(Clone, Debug)]
struct Level {
    name: u64,
    constant: Cost,
    trail: usize,
}

/// A block as it was before a level changed it.
#[derive(Clone, Debug)]
struct Kept {
    block: u32,
    cell: usize,
    cells: usize,
    /// Number of remaining values of a variable; 0 for costs taken from a function.
    count: u32,
    /// Whether the variable was settled.
    settled: bool,
}

/// Where a visited variable's remaining unary costs go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Give {
    /// They stay with the variable.
    Nowhere,
    /// To functions with variables to come in a forward pass.
    Forward,
    /// To functions with variables to come in a backward pass.
    Backward,
}

impl State {
    /// Creates the state with all values and without any shifts.
    pub fn new(data: &StaticData, limit: Cost) -> State {
        let mut cells: Vec<Cost> = Vec::with_capacity(data.cells);
        let mut values = Vec::new();
        for unary in &data.problem.unary {
            cells.extend(unary.iter().map(|&cost| data.scaled(cost)));
            values.extend(0..unary.len() as u32);
        }
        cells.resize(data.cells, 0);
        let blocks = data.variables() + data.functions.iter().map(|f| f.scope.len()).sum::<usize>();
        State {
            limit,
            cells,
            values,
            counts: data.problem.domains.clone(),
            kept: vec![0; blocks],
            settled: vec![false; data.variables()],
            failures: vec![0; data.functions.len()],
            ..State::default()
        }
    }

    /// Returns the remaining values of a variable, ascending.
    pub fn values<'a>(&'a self, data: &StaticData, v: usize) -> &'a [u32] {
        let first = data.first[v] as usize;
        &self.values[first..first + self.counts[v] as usize]
    }

    pub fn count(&self, v: usize) -> u32 {
        self.counts[v]
    }

    /// Returns whether a variable with a single value has been visited: it has no more costs to pass on.
    pub fn is_settled(&self, v: usize) -> bool {
        self.settled[v]
    }

    pub fn unary(&self, data: &StaticData, v: usize, value: u32) -> Cost {
        self.cells[data.first[v] as usize + value as usize]
    }

    pub fn taken(&self, function: &Function, place: usize, value: u32) -> Cost {
        self.cells[function.taken[place] + value as usize]
    }

    /// Begins a level of the trail.
    pub fn push(&mut self) {
        self.levels.push(Level { name: self.name, constant: self.constant, trail: self.trail.len() });
        self.names += 1;
        self.name = self.names;
    }

    /// Undoes the last level of the trail.
    pub fn pop(&mut self, data: &StaticData) {
        let Some(level) = self.levels.pop() else { return };
        for kept in self.trail.drain(level.trail..).rev() {
            let from = self.old_cells.len() - kept.cells;
            self.cells[kept.cell..kept.cell + kept.cells].copy_from_slice(&self.old_cells[from..]);
            self.old_cells.truncate(from);
            if (kept.block as usize) < data.variables() {
                let (first, count) = (data.first[kept.block as usize] as usize, kept.count as usize);
                let from = self.old_values.len() - count;
                self.values[first..first + count].copy_from_slice(&self.old_values[from..]);
                self.old_values.truncate(from);
                self.counts[kept.block as usize] = kept.count;
                self.settled[kept.block as usize] = kept.settled;
            }
        }
        self.constant = level.constant;
        self.name = level.name;
    }

    pub fn clear(&mut self, data: &StaticData) {
        while !self.levels.is_empty() {
            self.pop(data);
        }
    }

    fn keep_variable(&mut self, data: &StaticData, v: usize) {
        if self.levels.is_empty() || std::mem::replace(&mut self.kept[v], self.name) == self.name {
            return;
        }
        let (first, end) = (data.first[v] as usize, data.first[v + 1] as usize);
        let count = self.counts[v];
        self.old_cells.extend_from_slice(&self.cells[first..end]);
        self.old_values.extend_from_slice(&self.values[first..first + count as usize]);
        self.trail.push(Kept { block: v as u32, cell: first, cells: end - first, count, settled: self.settled[v] });
    }

    fn keep_taken(&mut self, function: &Function, place: usize, size: usize) {
        let block = function.block as usize + place;
        if self.levels.is_empty() || std::mem::replace(&mut self.kept[block], self.name) == self.name {
            return;
        }
        let cell = function.taken[place];
        self.old_cells.extend_from_slice(&self.cells[cell..cell + size]);
        self.trail.push(Kept { block: block as u32, cell, cells: size, count: 0, settled: false });
    }

    /// Restricts a variable to some of its values, given in ascending order. Returns whether any is left.
    pub fn restrict(&mut self, data: &StaticData, v: usize, keep: &[u32]) -> bool {
        self.keep_variable(data, v);
        let first = data.first[v] as usize;
        let mut count = 0;
        for at in 0..self.counts[v] as usize {
            let value = self.values[first + at];
            if keep.binary_search(&value).is_ok() {
                self.values[first + count] = value;
                count += 1;
            }
        }
        self.counts[v] = count as u32;
        count > 0
    }

    /// Visits a variable: collects the least costs of its functions for each of its values, moves the least sum to the
    /// constant, removes values that reach the limit, and passes the rest on. Returns whether a solution below the
    /// limit may be left.
    pub fn visit(&mut self, data: &StaticData, v: usize, give: Give) -> bool {
        self.keep_variable(data, v);
        let (first, count) = (data.first[v] as usize, self.counts[v] as usize);
        let size = data.first[v + 1] as usize - first;
        let mut sum = std::mem::take(&mut self.sum);
        let mut least = std::mem::take(&mut self.least);
        sum.clear();
        sum.extend(self.values[first..first + count].iter().map(|&value| self.cells[first + value as usize]));
        let mut met = std::mem::take(&mut self.met);
        met.clear();
        let (mut onward, mut back) = (0, 0);
        for &(index, place) in &data.incidence[v] {
            let function = &data.functions[index as usize];
            if !self.least(data, function, place as usize, &mut least) {
                continue;
            }
            let open = |&u: &u32| self.counts[u as usize] > 1;
            let after = function.scope.iter().any(|u| *u as usize > v && open(u));
            let before = function.scope.iter().any(|u| (*u as usize) < v && open(u));
            onward += Cost::from(after);
            back += Cost::from(before);
            met.push((index, place, if give == Give::Forward { after } else { before }));
            if least.iter().all(|&least| least == 0) {
                continue;
            }
            self.keep_taken(function, place as usize, size);
            let values = &self.values[first..first + count];
            let taken = &mut self.cells[function.taken[place as usize]..];
            for ((sum, &least), &value) in sum.iter_mut().zip(&least).zip(values) {
                if least >= NEVER / 2 {
                    *sum = NEVER;
                } else {
                    *sum = (*sum + least).min(NEVER);
                    taken[value as usize] += least;
                }
            }
        }
        let lowest = sum.iter().copied().min().unwrap_or(NEVER);
        self.constant = self.constant.saturating_add(lowest).min(NEVER);
        let mut left = 0;
        if self.constant < self.limit {
            for (at, sum) in sum.iter().enumerate() {
                let rest = sum - lowest;
                if rest + self.constant < self.limit {
                    let value = self.values[first + at];
                    self.values[first + left] = value;
                    self.cells[first + value as usize] = rest;
                    left += 1;
                }
            }
            self.counts[v] = left as u32;
        }
        if left == 0 {
            data.incidence[v].iter().for_each(|&(index, _)| self.failures[index as usize] += 1);
        }
        self.settled[v] = count == 1;
        self.sum = sum;
        self.least = least;
        if give != Give::Nowhere && left > 1 {
            let ahead = if give == Give::Forward { onward } else { back };
            self.give(data, v, &met, ahead, onward.max(back));
        }
        self.met = met;
        left > 0
    }

    /// Gives shares of a variable's unary costs to its `ahead` functions that have variables to come; a share is one in
    /// `parts`.
    fn give(&mut self, data: &StaticData, v: usize, met: &[(u32, u32, bool)], ahead: Cost, parts: Cost) {
        let (first, left) = (data.first[v] as usize, self.counts[v] as usize);
        let size = data.first[v + 1] as usize - first;
        let small = |&value: &u32| self.cells[first + value as usize] < parts;
        if ahead == 0 || self.values[first..first + left].iter().all(small) {
            return;
        }
        for &(index, place, _) in met.iter().filter(|(_, _, ahead)| *ahead) {
            let (function, place) = (&data.functions[index as usize], place as usize);
            self.keep_taken(function, place, size);
            for at in first..first + left {
                let value = self.values[at] as usize;
                let share = self.cells[first + value] / parts;
                self.cells[function.taken[place] + value] -= share;
            }
        }
        for at in first..first + left {
            let cell = first + self.values[at] as usize;
            self.cells[cell] -= self.cells[cell] / parts * ahead;
        }
    }

    /// Makes forward and backward passes over all variables while they raise the constant by a large enough part of the
    /// gap to the limit. Returns whether a solution below the limit may be left.
    pub fn propagate(&mut self, data: &StaticData, passes: Passes, stop: &Stop) -> bool {
        let n = data.variables();
        for pass in 0..passes.most {
            let before = self.constant;
            for at in 0..n {
                let (v, give) = if pass % 2 == 0 { (at, Give::Forward) } else { (n - 1 - at, Give::Backward) };
                if !self.settled[v] && !self.visit(data, v, give) {
                    return false;
                }
            }
            let slow = (self.constant - before).saturating_mul(passes.part) < self.limit - self.constant;
            if pass % 2 == 1 && slow || stop.is_set() {
                break;
            }
        }
        true
    }

    /// Returns whether a function has few enough entries to take part in cost shifting.
    fn takes_part(&self, function: &Function) -> bool {
        let few = |function: &Function| {
            let left = |product: u64, &u: &u32| product.saturating_mul(u64::from(self.counts[u as usize]));
            function.scope.iter().fold(1, left) <= LATE
        };
        matches!(function.entries, Entries::Dense(_)) || few(function)
    }

    /// Computes the least entry of a function, less the costs taken, for each remaining value of the variable at a
    /// scope position; about [`NEVER`] if all of them are forbidden. Returns whether the function takes part.
    fn least(&mut self, data: &StaticData, function: &Function, place: usize, least: &mut Vec<Cost>) -> bool {
        if !self.takes_part(function) {
            return false;
        }
        least.clear();
        let mut row = std::mem::take(&mut self.row);
        match (&function.entries, &function.scope[..]) {
            (Entries::Dense(entries), &[x, y]) => {
                let pair = Pair {
                    entries,
                    stride: function.strides[0],
                    values: [x, y].map(|u| self.values(data, u as usize)),
                    taken: [0, 1].map(|place: usize| &self.cells[function.taken[place]..]),
                };
                let work = pair.values.iter().map(|values| values.len() as u64).product::<u64>();
                pair.least(place, least, &mut row);
                self.work += work + FUNCTION_WORK;
            }
            _ => self.least_of_many(data, function, place, least),
        }
        self.row = row;
        true
    }

    /// Computes [`State::least`] for functions of any arity, dense or sparse.
    fn least_of_many(&mut self, data: &StaticData, function: &Function, place: usize, least: &mut Vec<Cost>) {
        let mut digits = std::mem::take(&mut self.digits);
        let mut sums = std::mem::take(&mut self.sums);
        let arity = function.scope.len();
        // two halves: the odometer of each position, and the values that it stands for
        digits.clear();
        digits.resize(2 * arity, 0);
        let (at, values) = digits.split_at_mut(arity);
        for (value, &u) in values.iter_mut().zip(&function.scope) {
            *value = self.values(data, u as usize)[0];
        }
        let own = self.values(data, function.scope[place] as usize);
        let stride = function.strides[place];
        least.resize(own.len(), NEVER);
        // for the positions before each: the costs taken, and the offset of the entries
        sums.clear();
        sums.resize(arity + 1, (0, 0));
        let (mut rows, mut changed) = (0, 0);
        'all: loop {
            for k in changed..arity {
                let (taken, base) = sums[k];
                let value = values[k] as usize;
                sums[k + 1] = match k == place {
                    true => (taken, base),
                    false => (taken + self.cells[function.taken[k] + value], base + value * function.strides[k]),
                };
            }
            let (outer, base) = sums[arity];
            match &function.entries {
                Entries::Dense(entries) => {
                    for (least, &a) in least.iter_mut().zip(own) {
                        *least = (*least).min(entries[base + a as usize * stride] - outer);
                    }
                }
                Entries::Sparse(_) => {
                    for (least, &a) in least.iter_mut().zip(own) {
                        values[place] = a;
                        *least = (*least).min(function.entry(data, values) - outer);
                    }
                }
            }
            rows += 1;
            for k in (0..arity).rev().filter(|&k| k != place) {
                let left = self.values(data, function.scope[k] as usize);
                at[k] += 1;
                if (at[k] as usize) < left.len() {
                    values[k] = left[at[k] as usize];
                    changed = k;
                    continue 'all;
                }
                at[k] = 0;
                values[k] = left[0];
            }
            break;
        }
        for (least, &a) in least.iter_mut().zip(own) {
            *least -= self.cells[function.taken[place] + a as usize];
        }
        self.work += (rows * own.len()) as u64 + 2 * FUNCTION_WORK;
        (self.digits, self.sums) = (digits, sums);
    }
}
