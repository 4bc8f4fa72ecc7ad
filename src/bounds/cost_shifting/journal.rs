//! What cost shifting did, in terms that others can check.
//!
//! Moving costs needs no reason, so only where they ended up counts, until a value is lost: that it is too dear can be
//! seen from the costs at that moment. The journal therefore tells of moves before each loss, and of those after the
//! last, each row as the difference to when it was last told of.

use crate::model::{Cost, Problem};

/// A line of the journal. Variables, values and functions are those of the problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// Costs went from a function to the values of one of its variables.
    Move {
        /// The function.
        function: u32,
        /// The variable.
        variable: u32,
        /// How much to each value that is not lost, ascending.
        amounts: Vec<Cost>,
    },
    /// No solution of interest has one of these values.
    Lost {
        /// The variable.
        variable: u32,
        /// The values.
        values: Vec<u32>,
    },
}

/// The lines so far, and what they do not tell yet.
#[derive(Clone, Debug)]
pub(crate) struct Journal {
    entries: Vec<Entry>,
    /// For each variable the functions that read it and its place there.
    incidence: Vec<Vec<(u32, u32)>>,
    /// What the lines tell of, by variable, function of the variable and value.
    told: Vec<Vec<Vec<Cost>>>,
    lost: Vec<Vec<bool>>,
    /// Variables visited since the last loss, and whether each is among them.
    visited: Vec<u32>,
    is_visited: Vec<bool>,
}

impl Journal {
    /// Nothing has happened to the problem.
    pub fn new(problem: &Problem) -> Journal {
        let n = problem.variables();
        let mut incidence = vec![Vec::new(); n];
        for (function, scope) in (0..).zip(problem.functions.iter().map(|function| &function.scope)) {
            for (place, &v) in (0..).zip(scope) {
                incidence[v as usize].push((function, place));
            }
        }
        let sizes = || problem.domains.iter().map(|&domain| domain as usize);
        let told =
            incidence.iter().zip(sizes()).map(|(functions, size)| vec![vec![0; size]; functions.len()]).collect();
        let lost = sizes().map(|size| vec![false; size]).collect();
        Journal { entries: Vec::new(), incidence, told, lost, visited: Vec::new(), is_visited: vec![false; n] }
    }

    /// A variable has collected what its functions cost; `lost` tells which of its values are too dear now. `taken` is
    /// what has been taken from each value of a function's variable by the place in its scope.
    pub fn visited<'a>(
        &mut self,
        variable: u32,
        lost: impl Iterator<Item = bool>,
        taken: impl Fn(u32, u32) -> &'a [Cost],
    ) {
        let v = variable as usize;
        if !std::mem::replace(&mut self.is_visited[v], true) {
            self.visited.push(variable);
        }
        let mut values = Vec::new();
        for ((value, lost), known) in (0..).zip(lost).zip(&mut self.lost[v]) {
            if lost && !std::mem::replace(known, true) {
                values.push(value);
            }
        }
        if !values.is_empty() {
            self.tell_moves(taken, (variable, &values));
            self.entries.push(Entry::Lost { variable, values });
            // what it gives away from here on is still to be told
            self.visited.push(variable);
            self.is_visited[v] = true;
        }
    }

    /// All lines, those of the moves since the last loss included.
    pub fn complete<'a>(&self, taken: impl Fn(u32, u32) -> &'a [Cost]) -> Vec<Entry> {
        let mut journal = self.clone();
        journal.tell_moves(taken, (0, &[]));
        journal.entries
    }

    /// Tells what has changed about the values left. What a value that is lost now has paid makes no difference to what
    /// the others of its variable cost at least; it stands in the row all the same, as it leaves only afterwards.
    fn tell_moves<'a>(&mut self, taken: impl Fn(u32, u32) -> &'a [Cost], losing: (u32, &[u32])) {
        for variable in std::mem::take(&mut self.visited) {
            let v = variable as usize;
            self.is_visited[v] = false;
            let leaving = |value: usize| variable == losing.0 && losing.1.contains(&(value as u32));
            for (&(function, place), told) in self.incidence[v].iter().zip(&mut self.told[v]) {
                let present = |value: usize| !self.lost[v][value] || leaving(value);
                let row = taken(function, place).iter().zip(told).enumerate().filter(|&(value, _)| present(value));
                let amounts: Vec<Cost> = row
                    .map(
                        |(value, (&taken, told))| {
                            if leaving(value) { 0 } else { taken - std::mem::replace(told, taken) }
                        },
                    )
                    .collect();
                if amounts.iter().any(|&amount| amount != 0) {
                    self.entries.push(Entry::Move { function, variable, amounts });
                }
            }
        }
    }
}
