//! Learnt clauses: disjunctions of literals, each of which says that a variable has one of some values.

use super::tuning::{BYTES_OF_A_CLAUSE, BYTES_OF_A_LITERAL, DECAY};

/// States that a variable has one of the values of a mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Literal {
    pub variable: u32,
    pub mask: u64,
}

impl Literal {
    /// Returns whether all values that are left satisfy the literal.
    pub fn is_true(self, values: &[u64]) -> bool {
        values[self.variable as usize] & !self.mask == 0
    }

    /// Returns whether no value that is left satisfies the literal.
    pub fn is_false(self, values: &[u64]) -> bool {
        values[self.variable as usize] & self.mask == 0
    }
}

/// A watch of a clause on a value of a variable: the clause is visited when the value is removed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Watch {
    pub clause: u32,
    /// A literal of the clause; while it is true, the clause needs no visit.
    pub blocker: Literal,
}

/// Clauses within a memory limit. The first two literals of a clause are watched.
#[derive(Debug)]
pub(super) struct Clauses {
    /// The literals of each clause; none if its number is free.
    pub list: Vec<Vec<Literal>>,
    activities: Vec<f32>,
    free: Vec<u32>,
    /// For each value of each variable, the watches on it.
    pub watches: Vec<Vec<Watch>>,
    /// The activity that a use adds.
    gain: f32,
    bytes: u64,
    /// Bytes that the clauses may take.
    most: u64,
}

impl Clauses {
    /// Returns no clauses over `atoms` values of variables.
    pub fn new(atoms: usize, most: u64) -> Self {
        Clauses {
            list: Vec::new(),
            activities: Vec::new(),
            free: Vec::new(),
            watches: vec![Vec::new(); atoms],
            gain: 1.0,
            bytes: 0,
            most,
        }
    }

    /// Adds a clause, which is not watched yet, and returns its number.
    pub fn add(&mut self, literals: Vec<Literal>) -> u32 {
        self.bytes += bytes(&literals);
        let clause = match self.free.pop() {
            Some(clause) => {
                self.list[clause as usize] = literals;
                clause
            }
            None => {
                self.list.push(literals);
                self.activities.push(0.0);
                self.list.len() as u32 - 1
            }
        };
        self.activities[clause as usize] = self.gain;
        clause
    }

    /// Records that a conflict used a clause.
    pub fn used(&mut self, clause: u32) {
        self.activities[clause as usize] += self.gain;
    }

    /// Lowers the activities of all clauses relative to later uses.
    pub fn age(&mut self) {
        self.gain /= DECAY as f32;
        if self.gain > 1e20 {
            self.activities.iter_mut().for_each(|activity| *activity /= self.gain);
            self.gain = 1.0;
        }
    }

    /// Returns whether the clauses take more memory than they may.
    pub fn is_full(&self) -> bool {
        self.bytes > self.most
    }

    /// Drops the less active half of the clauses, except those for which `is_needed` is true.
    pub fn drop_half(&mut self, is_needed: impl Fn(u32) -> bool) {
        let is_candidate = |&clause: &u32| self.list[clause as usize].len() > 2 && !is_needed(clause);
        let mut candidates: Vec<u32> = (0..self.list.len() as u32).filter(is_candidate).collect();
        candidates.sort_by(|&a, &b| self.activities[a as usize].total_cmp(&self.activities[b as usize]));
        candidates.truncate(candidates.len().div_ceil(2));
        for &clause in &candidates {
            self.bytes -= bytes(&self.list[clause as usize]);
            self.list[clause as usize] = Vec::new();
        }
        let list = &self.list;
        self.watches.iter_mut().for_each(|own| own.retain(|watch| !list[watch.clause as usize].is_empty()));
        self.free.extend(candidates);
    }
}

fn bytes(literals: &[Literal]) -> u64 {
    BYTES_OF_A_CLAUSE + BYTES_OF_A_LITERAL * literals.len() as u64
}
