//! The record of cost shifting as steps of a certificate.
//!
//! Moving costs needs no justification, so only the totals of the moves matter, until a value is removed: that its cost
//! reaches the limit follows from the costs at that moment. The journal therefore records the moves before each
//! removal, and those after the last, each row as the difference from its last record.

use crate::certificate::Step;
use crate::model::{Cost, Problem};
use std::sync::Arc;

/// The steps recorded so far, in the problem's variables and values, and the state that they describe.
#[derive(Clone, Debug)]
pub(crate) struct Journal {
    problem: Arc<Problem>,
    steps: Vec<Step>,
    /// For each variable, the functions that read it and its position in their scopes.
    incidence: Vec<Vec<(u32, u32)>>,
    /// Costs that the recorded moves have taken, by variable, function of the variable, and value.
    told: Vec<Vec<Vec<Cost>>>,
    /// Whether each value has been removed.
    lost: Vec<Vec<bool>>,
    /// Variables visited since the last removal.
    visited: Vec<u32>,
    /// Whether each variable is in `visited`.
    is_visited: Vec<bool>,
}

impl Journal {
    /// Creates the journal of a problem without any moves.
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

    /// Records the visit of a variable that has collected costs from its functions. `lost` states for each of its
    /// values whether its cost now reaches the limit. `taken` returns the costs taken from a function for each value of
    /// the variable at a position of its scope.
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
            // what the variable passes on from here is still to be recorded
            self.visited.push(variable);
            self.is_visited[v] = true;
        }
    }

    /// Returns all steps, including the moves since the last removal.
    pub fn complete(&self, taken: impl Fn(u32, u32) -> Vec<Cost>) -> Vec<Step> {
        let mut journal = self.clone();
        journal.tell_moves(taken, 0, &[]);
        journal.steps
    }

    /// Records the changes of the remaining values; `losing` is about to lose `values`. The costs taken for a value
    /// that is removed now do not change the least costs of the variable's other values. Its entry is still part of the
    /// row, with amount 0, because it is removed only afterwards.
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
