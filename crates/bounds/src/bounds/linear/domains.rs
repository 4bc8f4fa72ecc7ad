//! The remaining columns of a program's variables, and their reduction by the bounds of the rows.

use super::program::{NO_HIGH, NO_LOW, Program};
use crate::model::FORBIDDEN;

/// The remaining columns, as bits, and their number for each variable.
#[derive(Clone, Debug, Default)]
pub struct Domains {
    bits: Vec<u64>,
    counts: Vec<u32>,
}

/// The terms of a row that belong to one variable.
#[derive(Clone, Copy, Debug)]
struct Group {
    variable: u32,
    /// Indices of the row's terms.
    from: u32,
    to: u32,
}

/// Removes columns that no assignment within the hard bounds of the rows uses.
#[derive(Debug, Default)]
pub struct Propagator {
    groups: Vec<Vec<Group>>,
    queue: Vec<u32>,
    is_queued: Vec<bool>,
    /// Least and largest weight of each group of the row at hand.
    ranges: Vec<(i64, i64)>,
    /// Number of terms looked at.
    pub work: u64,
}

impl Domains {
    /// Returns all columns of a program that are not forbidden.
    pub fn new(program: &Program) -> Domains {
        let mut bits = vec![0u64; program.costs.len().div_ceil(64)];
        for (column, &cost) in program.costs.iter().enumerate() {
            bits[column / 64] |= u64::from(cost < FORBIDDEN) << (column % 64);
        }
        let mut domains = Domains::default();
        domains.load(program, &bits);
        domains
    }

    /// Takes up the columns of a node.
    pub fn load(&mut self, program: &Program, bits: &[u64]) {
        self.bits.clear();
        self.bits.extend_from_slice(bits);
        self.counts.clear();
        for v in 0..program.variables() {
            let count = program.columns(v).filter(|&column| self.has(column)).count();
            self.counts.push(count as u32);
        }
    }

    /// Returns the columns as bits.
    pub fn bits(&self) -> &[u64] {
        &self.bits
    }

    /// Returns whether a column remains.
    #[inline]
    pub fn has(&self, column: usize) -> bool {
        self.bits[column / 64] >> (column % 64) & 1 == 1
    }

    /// Returns the number of remaining columns of a variable.
    #[inline]
    pub fn count(&self, variable: usize) -> u32 {
        self.counts[variable]
    }

    /// Returns whether some variable has no column left.
    pub fn is_empty(&self) -> bool {
        self.counts.contains(&0)
    }
}

impl Propagator {
    /// Prepares the rows of a program.
    pub fn new(program: &Program) -> Propagator {
        let groups = |row: &super::program::Row| {
            let mut groups: Vec<Group> = Vec::new();
            for (at, &(column, _)) in (0..).zip(&row.terms) {
                let variable = program.owner[column as usize];
                match groups.last_mut() {
                    Some(last) if last.variable == variable => last.to = at + 1,
                    _ => groups.push(Group { variable, from: at, to: at + 1 }),
                }
            }
            groups
        };
        Propagator {
            groups: program.rows.iter().map(groups).collect(),
            is_queued: vec![false; program.rows.len()],
            ..Propagator::default()
        }
    }

    /// Queues all rows.
    pub fn queue_all(&mut self) {
        (0..self.groups.len() as u32).for_each(|row| self.queue(row));
    }

    fn queue(&mut self, row: u32) {
        if !std::mem::replace(&mut self.is_queued[row as usize], true) {
            self.queue.push(row);
        }
    }

    /// Removes a column, and queues the rows of its variable.
    pub fn remove(&mut self, program: &Program, domains: &mut Domains, column: usize) {
        if !domains.has(column) {
            return;
        }
        domains.bits[column / 64] &= !(1 << (column % 64));
        let variable = program.owner[column] as usize;
        domains.counts[variable] -= 1;
        for own in program.columns(variable) {
            program.terms[own].iter().for_each(|&(row, _)| self.queue(row));
        }
    }

    /// Keeps one column of a variable.
    pub fn fix(&mut self, program: &Program, domains: &mut Domains, column: usize) {
        let variable = program.owner[column] as usize;
        program.columns(variable).filter(|&own| own != column).for_each(|own| self.remove(program, domains, own));
    }

    /// Works on the queue until it is empty. Returns whether each variable still has a column and each row may be
    /// satisfied.
    pub fn run(&mut self, program: &Program, domains: &mut Domains) -> bool {
        let mut is_open = !domains.is_empty();
        while let Some(row) = self.queue.pop() {
            self.is_queued[row as usize] = false;
            is_open = is_open && self.row(program, domains, row as usize);
        }
        is_open
    }

    /// Removes the columns that a row excludes. Returns whether the row may be satisfied.
    fn row(&mut self, program: &Program, domains: &mut Domains, number: usize) -> bool {
        let row = &program.rows[number];
        let low = if row.short >= FORBIDDEN { row.low } else { NO_LOW };
        let high = if row.excess >= FORBIDDEN { row.high } else { NO_HIGH };
        if low == NO_LOW && high == NO_HIGH {
            return true;
        }
        self.work += row.terms.len() as u64;
        let mut ranges = std::mem::take(&mut self.ranges);
        ranges.clear();
        let (mut least, mut most) = (0i64, 0i64);
        for group in &self.groups[number] {
            let (mut of_least, mut of_most, mut seen) = (i64::MAX, i64::MIN, 0);
            for &(column, weight) in &row.terms[group.from as usize..group.to as usize] {
                if domains.has(column as usize) {
                    (of_least, of_most, seen) = (of_least.min(weight), of_most.max(weight), seen + 1);
                }
            }
            if seen < domains.count(group.variable as usize) {
                // the other columns weigh nothing
                (of_least, of_most) = (of_least.min(0), of_most.max(0));
            }
            if of_least > of_most {
                self.ranges = ranges;
                return false;
            }
            (least, most) = (least + of_least, most + of_most);
            ranges.push((of_least, of_most));
        }
        let is_open = (high == NO_HIGH || least <= high) && (low == NO_LOW || most >= low);
        if is_open {
            let room = [
                if high == NO_HIGH { i64::MAX } else { high - least },
                if low == NO_LOW { i64::MAX } else { most - low },
            ];
            self.cut(program, domains, number, &ranges, room);
        }
        self.ranges = ranges;
        is_open && !domains.is_empty()
    }

    /// Removes columns whose weight exceeds the least of its variable by more than `room[0]`, or falls below the
    /// largest by more than `room[1]`.
    fn cut(&mut self, program: &Program, domains: &mut Domains, number: usize, ranges: &[(i64, i64)], room: [i64; 2]) {
        for (at, &(least, most)) in ranges.iter().enumerate() {
            if most - least <= room[0] && most - least <= room[1] {
                continue;
            }
            let Group { variable, from, to } = self.groups[number][at];
            let mut terms = program.rows[number].terms[from as usize..to as usize].iter().peekable();
            for column in program.columns(variable as usize) {
                let weight = terms.next_if(|term| term.0 as usize == column).map_or(0, |term| term.1);
                if domains.has(column) && (weight - least > room[0] || most - weight > room[1]) {
                    self.remove(program, domains, column);
                }
            }
        }
    }
}
