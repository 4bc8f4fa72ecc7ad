//! Smaller products with the same sum: axes on which a table does not depend, variables with one possible value and
//! variables that another one determines are left out. That lowers the induced width of networks with deterministic
//! functions, because elimination connects all neighbours of a variable and substitution none.

use crate::error::Error;
use crate::model::{Factor, Odometer};
use crate::stop::Stop;
use crate::tensor;
use std::collections::BTreeSet;

/// A variable that was left out of a product because it has one value for each value of another variable.
#[derive(Clone, Debug, PartialEq)]
/// The variable that was left out.
pub struct LeftOut {
    pub variable: u32,
    /// The other variable; `None` if all values but one have a sum of 0.
    /// Its value for each value of the other variable, or its only value.
    pub by: Option<u32>,
    pub values: Box<[u32]>,
}

impl LeftOut {
    /// Returns the only value of the variable if all others have a sum of 0.
    pub fn fixed(&self) -> Option<u32> {
        if self.by.is_none() { self.values.first().copied() } else { None }
    }
}

/// The variables that a product keeps although they follow from others.
#[derive(Clone, Copy)]
pub(super) enum Keep<'a> {
    /// All variables are kept.
    All,
    /// The variables for which this is true are kept, unless they have only one value.
    These(&'a dyn Fn(u32) -> bool),
}

/// A product that is being simplified.
pub(super) struct Simplifier<'a> {
    domains: &'a [u32],
    /// Whether a variable is never substituted.
    keeps: &'a dyn Fn(u32) -> bool,
    pub functions: Vec<Factor>,
    /// For each variable, the functions that have or had it in their scope.
    on: Vec<Vec<usize>>,
    /// For each variable, which values may have a sum above 0.
    possible: Vec<Vec<bool>>,
    /// The functions that are still to be examined.
    open: BTreeSet<usize>,
    /// The variables left out, each in terms of later ones and of those that stay.
    pub left_out: Vec<LeftOut>,
}

impl<'a> Simplifier<'a> {
    pub fn new(functions: Vec<Factor>, domains: &'a [u32], keeps: &'a dyn Fn(u32) -> bool) -> Self {
        let mut on = vec![Vec::new(); domains.len()];
        for (index, function) in functions.iter().enumerate() {
            function.scope.iter().for_each(|&v| on[v as usize].push(index));
        }
        let possible = domains.iter().map(|&domain| vec![true; domain as usize]).collect();
        let open = (0..functions.len()).collect();
        Simplifier { domains, keeps, functions, on, possible, open, left_out: Vec::new() }
    }

    /// Simplifies the product as far as possible. Returns false if every product is 0.
    ///
    /// # Errors
    /// Returns [`Error::Stopped`] if `stop` is set.
    pub fn run(&mut self, stop: &Stop) -> Result<bool, Error> {
        while let Some(index) = self.open.pop_first() {
            stop.check()?;
            self.drop_axes(index);
            if !self.rule_out(index) {
                return Ok(false);
            }
            if let Some(determined) = self.determined(index) {
                self.leave_out(determined);
            }
        }
        Ok(true)
    }

    /// Removes the axes on which a function does not depend.
    fn drop_axes(&mut self, index: usize) {
        let mut axis = 0;
        while let Some(&variable) = self.functions[index].scope.get(axis) {
            let function = &self.functions[index];
            let inner = strides(function, self.domains)[axis];
            let slabs = &mut function.table.chunks_exact(inner * self.domains[variable as usize] as usize);
            if slabs.all(|slab| slab.chunks_exact(inner).all(|row| *row == slab[..inner])) {
                self.functions[index] = substitute(function, self.domains, variable, None, &[0]);
            } else {
                axis += 1;
            }
        }
    }

    /// Rules out values for which a function has no entry above 0 (arc consistency: Mackworth, 1977). Returns false if
    /// no assignment is left.
    fn rule_out(&mut self, index: usize) -> bool {
        let scope = self.functions[index].scope.clone();
        let mut seen: Vec<Vec<bool>> = scope.iter().map(|&v| vec![false; self.domains[v as usize] as usize]).collect();
        self.entries(index, |digits| {
            for (seen, &digit) in seen.iter_mut().zip(digits) {
                seen[digit] = true;
            }
        });
        for (&v, seen) in scope.iter().zip(seen) {
            let left: Vec<u32> = (0..).zip(&seen).filter(|(_, seen)| **seen).map(|(value, _)| value).collect();
            if left.is_empty() {
                return false;
            }
            if seen == self.possible[v as usize] {
                continue;
            }
            self.possible[v as usize] = seen;
            self.open.extend(self.on[v as usize].iter().filter(|&&other| other != index));
            if let &[value] = &left[..] {
                self.leave_out(LeftOut { variable: v, by: None, values: [value].into() });
            }
        }
        true
    }

    /// Returns a variable of the function that another one of no larger domain determines.
    fn determined(&self, index: usize) -> Option<LeftOut> {
        let function = &self.functions[index];
        let (scope, size) = (&function.scope, |v: u32| self.domains[v as usize] as usize);
        let mut above = 0;
        self.entries(index, |_| above += 1);
        let is_candidate = |&(_, &v): &(usize, &u32)| !(self.keeps)(v) && above * size(v) <= function.table.len();
        for (axis, &variable) in scope.iter().enumerate().filter(is_candidate) {
            let others = scope.iter().enumerate().filter(|&(_, &by)| by != variable && size(by) <= size(variable));
            for (by_axis, &by) in others {
                let mut values = vec![None; size(by)];
                let mut is_function = true;
                self.entries(index, |digits| {
                    let value = values[digits[by_axis]].get_or_insert(digits[axis] as u32);
                    is_function &= *value == digits[axis] as u32;
                });
                if is_function {
                    // a value without an entry above 0 has a sum of 0, whatever it is mapped to
                    let values = values.into_iter().map(Option::unwrap_or_default).collect();
                    return Some(LeftOut { variable, by: Some(by), values });
                }
            }
        }
        None
    }

    /// Calls `with` for each entry above 0 whose values are all possible.
    fn entries(&self, index: usize, mut with: impl FnMut(&[usize])) {
        let Factor { scope, table, .. } = &self.functions[index];
        let mut odometer = Odometer::new(scope.iter().map(|&v| self.domains[v as usize] as usize).collect());
        for &entry in table.iter() {
            let is_possible = |(&v, &digit): (&u32, &usize)| self.possible[v as usize][digit];
            if entry > 0.0 && scope.iter().zip(&odometer.digits).all(is_possible) {
                with(&odometer.digits);
            }
            let _ = odometer.advance();
        }
    }

    /// Substitutes a variable in all functions.
    fn leave_out(&mut self, own: LeftOut) {
        let LeftOut { variable, by, values } = &own;
        for index in std::mem::take(&mut self.on[*variable as usize]) {
            let function = &self.functions[index];
            if function.scope.contains(variable) {
                self.functions[index] = substitute(function, self.domains, *variable, *by, values);
                let _ = self.open.insert(index);
                by.iter().for_each(|&by| self.on[by as usize].push(index));
            }
        }
        self.left_out.push(own);
    }
}

/// Returns a function with one variable replaced by its value for each value of another, or by one value.
fn substitute(function: &Factor, domains: &[u32], variable: u32, by: Option<u32>, values: &[u32]) -> Factor {
    let (mut scope, mut axes, mut own) = (Vec::new(), Vec::new(), 0);
    for (&v, stride) in function.scope.iter().zip(strides(function, domains)) {
        if v == variable {
            own = stride;
        } else {
            scope.push(v);
            axes.push(stride);
        }
    }
    if let Some(by) = by.filter(|by| !scope.contains(by)) {
        scope.push(by);
        axes.push(0);
    }
    let mut places = vec![if by.is_none() { values[0] as usize * own } else { 0 }];
    for (&v, stride) in scope.iter().zip(axes) {
        let along = |value: usize| value * stride + if by == Some(v) { values[value] as usize * own } else { 0 };
        let domain = domains[v as usize] as usize;
        places = places.into_iter().flat_map(|at| (0..domain).map(move |value| at + along(value))).collect();
    }
    // a part of a table fits doubles if the whole does
    Factor::of(&scope, places.len(), |index| function.entry(places[index])).swap_remove(0)
}

/// Returns the distance of entries with adjacent values of each variable.
pub(super) fn strides(function: &Factor, domains: &[u32]) -> Vec<usize> {
    let sizes: Vec<usize> = function.scope.iter().map(|&v| domains[v as usize] as usize).collect();
    tensor::strides(&sizes)
}
