//! The reduced problem of a network.

use super::{Cost, CostFunction, FORBIDDEN, add};
use crate::error::Error;
use crate::stop::Stop;
use crate::threads;
use std::ops::Index;

/// The reduced problem: a cost network in the form that search and inference work on.
///
/// All entries are at least 0, and a forbidden entry is exactly [`FORBIDDEN`](super::FORBIDDEN). Unary costs are
/// separate. Every function has an arity of at least 2 and a scope in ascending order, and no two functions have equal
/// scopes. An assignment is a solution only if its cost is below `top`.
#[derive(Clone, Debug)]
pub struct Problem {
    /// The domain size of each variable.
    pub domains: Vec<u32>,
    /// The cost of each value of each variable.
    pub unary: Vec<Vec<Cost>>,
    /// Functions of two and more variables.
    pub functions: Vec<CostFunction>,
    /// The constant cost of every assignment; may be negative.
    pub constant: Cost,
    /// Assignments of at least this cost are infeasible.
    pub top: Cost,
}

impl Drop for Problem {
    fn drop(&mut self) {
        let parts = self.unary.len() + self.functions.len();
        threads::free((std::mem::take(&mut self.unary), std::mem::take(&mut self.functions)), parts);
    }
}

impl Problem {
    /// Returns the number of variables.
    pub fn variables(&self) -> usize {
        self.domains.len()
    }

    /// Returns the cost of an assignment, [`FORBIDDEN`](super::FORBIDDEN) if an entry forbids it. It is not capped at
    /// `top`.
    pub fn cost(&self, assignment: &[u32]) -> Cost {
        self.cost_until(assignment, &Stop::new()).expect("the flag is not set")
    }

    /// Computes the cost of an assignment like [`Problem::cost`], but can be stopped.
    ///
    /// # Errors
    /// Returns [`Error::Stopped`] if `stop` is set.
    pub fn cost_until(&self, assignment: &[u32], stop: &Stop) -> Result<Cost, Error> {
        let mut total = self.constant;
        for item in stop.finish(self.unary.iter().zip(assignment)) {
            let (unary, &value) = item?;
            total = add(total, unary[value as usize]);
        }
        let of_part = |functions: &[CostFunction]| {
            let cost = |total, function: &CostFunction| add(total, function.cost(&self.domains, assignment));
            functions.iter().fold(0, cost)
        };
        let parts = threads::finish_in_parts(&self.functions, stop, of_part)?;
        Ok(parts.into_iter().fold(total, add))
    }

    /// Returns the number of functions that forbid an assignment.
    ///
    /// # Errors
    /// Returns [`Error::Stopped`] if `stop` is set.
    pub fn violated(&self, assignment: &[u32], stop: &Stop) -> Result<usize, Error> {
        let of_part = |functions: &[CostFunction]| {
            functions.iter().filter(|function| function.cost(&self.domains, assignment) >= FORBIDDEN).count()
        };
        Ok(threads::finish_in_parts(&self.functions, stop, of_part)?.into_iter().sum())
    }

    /// Returns, for each variable, the indices of the functions that read it, ascending.
    ///
    /// # Errors
    /// Returns [`Error::Stopped`] if `stop` is set.
    pub fn incidence(&self, stop: &Stop) -> Result<Readers, Error> {
        Readers::of(self.variables(), || self.functions.iter().map(|function| &function.scope[..]), stop)
    }
}

/// For each variable, the indices of the functions that read it, ascending; stored in two flat lists.
#[derive(Clone, Debug, Default)]
pub struct Readers {
    starts: Vec<u32>,
    functions: Vec<u32>,
}

impl Readers {
    /// Builds the lists for functions with these scopes.
    pub fn of<'a, I: Iterator<Item = &'a [u32]>>(
        variables: usize,
        scopes: impl Fn() -> I,
        stop: &Stop,
    ) -> Result<Readers, Error> {
        let mut starts = vec![0u32; variables + 1];
        for scope in stop.each(scopes()) {
            scope?.iter().for_each(|&v| starts[v as usize + 1] += 1);
        }
        (0..variables).for_each(|v| starts[v + 1] += starts[v]);
        let (mut free, mut functions) = (starts.clone(), vec![0; starts[variables] as usize]);
        for item in stop.each((0..).zip(scopes())) {
            let (index, scope) = item?;
            for &v in scope {
                functions[free[v as usize] as usize] = index;
                free[v as usize] += 1;
            }
        }
        Ok(Readers { starts, functions })
    }

    /// Returns the lists of `variables` variables that no function reads.
    pub fn of_none(variables: usize) -> Readers {
        Readers { starts: vec![0; variables + 1], functions: Vec::new() }
    }
}

impl Index<usize> for Readers {
    type Output = [u32];

    #[inline]
    fn index(&self, variable: usize) -> &[u32] {
        &self.functions[self.starts[variable] as usize..self.starts[variable + 1] as usize]
    }
}
