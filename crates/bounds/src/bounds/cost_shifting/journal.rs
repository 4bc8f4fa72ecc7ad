//! What cost shifting did, as steps of a certificate.
//!
//! Moving costs needs no reason, so only where they ended up counts, until a value is lost: that it is too dear can be
//! seen from the costs at that moment. The journal therefore tells of moves before each loss, and of those after the
//! last, each row as the difference to when it was last told of.

use crate::certificate::Step;
use crate::model::{Cost, Problem};
use std::sync::Arc;

/// The steps so far, of the problem's variables and values, and what they do not tell yet.
#[derive(Clone, Debug)]
pub(crate) struct Journal {
    problem: Arc<Problem>,
    steps: Vec<Step>,
    /// For each variable the functions that read it and its place there.
    incidence: Vec<Vec<(u32, u32)>>,
    /// What the steps tell of, by variable, function of the variable and value.
    told: Vec<Vec<Vec<Cost>>>,
    lost: Vec<Vec<bool>>,
    /// Variables visited since the last loss, and whether each is among them.
    visited: Vec<u32>,
    is_visited: Vec<bool>,
}

impl Journal {
    /// Nothing has happened to the problem.
    pub fn new(problem: &Arc<Problem>) -> Journal {
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
        let (steps, visited, is_visited) = (Vec::new(), Vec::new(), vec![false; n]);
        Journal { problem: problem.clone(), steps, incidence, told, lost, visited, is_visited }
    }

    /// A variable has collected what its functions cost; `lost` tells which of its values are too dear now. `taken` is
    /// what has been taken from each value of a function's variable by the place in its scope.
    pub fn visited(&mut self, variable: u32, lost: impl Iterator<Item = bool>, taken: impl Fn(u32, u32) -> Vec<Cost>) {
        let v = variable as usize;
        if !std::mem::replace(&mut self.is_visited[v], true) {
            self.visited.push(variable);
        }
        let known = lost.zip(&mut self.lost[v]).map(|(lost, known)| lost && !std::mem::replace(known, true));
        let values: Box<[u32]> = (0..).zip(known).filter(|&(_, new)| new).map(|(value, _)| value).collect();
        if !values.is_empty() {
            self.tell_moves(taken, variable, &values);
            self.steps.push(Step::TooDear { variable, values });
            // what it gives away from here on is still to be told
            self.visited.push(variable);
            self.is_visited[v] = true;
        }
    }

    /// All steps, the moves since the last loss included.
    pub fn complete(&self, taken: impl Fn(u32, u32) -> Vec<Cost>) -> Vec<Step> {
        let mut journal = self.clone();
        journal.tell_moves(taken, 0, &[]);
        journal.steps
    }

    /// Tells what has changed about the values left; `losing` is about to lose `values`. What a value that is lost now
    /// has paid makes no difference to what the others of its variable cost at least. It stands in the row all the
    /// same, as it leaves only afterwards.
    fn tell_moves(&mut self, taken: impl Fn(u32, u32) -> Vec<Cost>, losing: u32, values: &[u32]) {
        for variable in std::mem::take(&mut self.visited) {
            let v = variable as usize;
            self.is_visited[v] = false;
            let leaving = |value: usize| variable == losing && values.contains(&(value as u32));
            for (&(function, place), told) in self.incidence[v].iter().zip(&mut self.told[v]) {
                let row = taken(function, place).into_iter().zip(told).enumerate();
                let row = row.filter(|&(value, _)| !self.lost[v][value] || leaving(value));
                let amount = |(value, (taken, told))| match leaving(value) {
                    true => 0,
                    false => taken - std::mem::replace(told, taken),
                };
                let amounts: Box<[Cost]> = row.map(amount).collect();
                if amounts.iter().any(|&amount| amount != 0) {
                    let scope = self.problem.functions[function as usize].scope[..].into();
                    self.steps.push(Step::Move { scope, variable, amounts });
                }
            }
        }
    }
}
