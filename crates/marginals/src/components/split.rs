//! Components of a product under a partial assignment, and their keys.

use super::assignment::{Assignment, bits};
use super::cache::put;
use super::residuals::{DIFFERS, low};
use super::{ComponentSearch, Sum};
use crate::model::Scaled;
use std::ops::Range;

/// Variables and functions of a component, as ranges of [`ComponentSearch::items`].
#[derive(Clone, Debug)]
pub(super) struct Component {
    pub variables: Range<usize>,
    pub functions: Range<usize>,
}

/// The components that walks have reached. Each component gets a higher number than the one before.
#[derive(Debug)]
pub(super) struct Seen {
    /// For each variable, the number of the last component that reached it.
    variables: Vec<u64>,
    /// For each function, the number of the last component that reached it.
    functions: Vec<u64>,
    last: u64,
    /// The variables that the last walk reached.
    reached: Vec<u32>,
    /// For each component of the present split, the positions in the items at which its next variable and its next
    /// function are listed; `usize::MAX` for components that are not listed.
    ends: Vec<(usize, usize)>,
}

impl Seen {
    pub fn new(variables: usize, functions: usize) -> Self {
        Seen {
            variables: vec![0; variables],
            functions: vec![0; functions],
            last: 0,
            reached: Vec::new(),
            ends: Vec::new(),
        }
    }

    /// Visits the component of a variable under the next number. Returns its number of functions.
    fn walk(&mut self, v: u32, assignment: &Assignment) -> usize {
        let Seen { variables, functions, last, reached, .. } = self;
        let Assignment { network, states, .. } = assignment;
        *last += 1;
        variables[v as usize] = *last;
        reached.clear();
        reached.push(v);
        let (mut at, mut met) = (0, 0);
        while let Some(&v) = reached.get(at) {
            at += 1;
            for axis in &network.on[v as usize] {
                let function = axis.function as usize;
                if functions[function] == *last {
                    continue;
                }
                let depends = network.residual_of(states[function]).depends;
                if depends >> axis.axis & 1 == 0 {
                    continue;
                }
                functions[function] = *last;
                met += 1;
                for (axis, &other) in network.functions[function].scope.iter().enumerate() {
                    if depends >> axis & 1 == 1 && variables[other as usize] != *last {
                        variables[other as usize] = *last;
                        reached.push(other);
                    }
                }
            }
            for ban in &network.bans[v as usize] {
                let function = ban.function as usize;
                if states[function] >= DIFFERS || functions[function] == *last {
                    continue;
                }
                functions[function] = *last;
                met += 1;
                for &other in &network.functions[function].scope {
                    if variables[other as usize] != *last && !assignment.is_given(other) {
                        variables[other as usize] = *last;
                        reached.push(other);
                    }
                }
            }
        }
        met
    }
}

impl ComponentSearch {
    /// Splits a component under the present values. Returns the product of its constants and of components of one
    /// variable, and opens the other components.
    pub(super) fn split(&mut self, whole: &Component) -> Sum {
        let mut product = Sum::ONE;
        for at in whole.functions.clone() {
            let function = self.items[at] as usize;
            if self.assignment.network.functions[function].banned.is_some() {
                continue;
            }
            let residual = self.assignment.network.residual_of(self.assignment.states[function]);
            if residual.depends == 0 {
                product = product.times(Sum { value: residual.scale, error: 0.0 });
            }
        }
        self.assignment.work += (whole.functions.len() + whole.variables.len()) as u64;
        let (first, open) = (self.seen.last + 1, self.open.len());
        self.seen.ends.clear();
        for at in whole.variables.clone() {
            let v = self.items[at];
            if self.assignment.is_given(v) || self.seen.variables[v as usize] >= first {
                continue;
            }
            let functions = self.seen.walk(v, &self.assignment);
            self.assignment.work += (self.seen.reached.len() + functions) as u64;
            match (self.seen.reached.len(), functions) {
                (_, 0) => {
                    let count = f64::from(self.assignment.values[v as usize].count_ones());
                    product = product.times(Sum { value: Scaled::new(count), error: 0.0 });
                    self.seen.ends.push((usize::MAX, usize::MAX));
                }
                (1, _) => {
                    product = product.times(self.sum_alone(v));
                    self.seen.ends.push((usize::MAX, usize::MAX));
                }
                (variables, _) => {
                    let begin = self.items.len();
                    let (middle, end) = (begin + variables, begin + variables + functions);
                    self.items.resize(end, 0);
                    self.seen.ends.push((begin, middle));
                    self.open.push(Component { variables: begin..middle, functions: middle..end });
                }
            }
        }
        if self.open.len() > open {
            self.list(whole, first);
        }
        self.open[open..].sort_by_key(|component| std::cmp::Reverse(component.variables.len()));
        product
    }

    /// Lists the components with numbers from `first` on in the order of the whole, so that keys need no sorting.
    fn list(&mut self, whole: &Component, first: u64) {
        let Seen { variables, functions, ends, .. } = &mut self.seen;
        let own = |number: u64| number.checked_sub(first).map(|own| own as usize);
        for at in whole.variables.clone() {
            let v = self.items[at];
            let end = own(variables[v as usize]).and_then(|own| ends.get_mut(own));
            if let Some((end, _)) = end.filter(|(end, _)| *end < usize::MAX) {
                self.items[*end] = v;
                *end += 1;
            }
        }
        for at in whole.functions.clone() {
            let function = self.items[at];
            let end = own(functions[function as usize]).and_then(|own| ends.get_mut(own));
            if let Some((_, end)) = end.filter(|(_, end)| *end < usize::MAX) {
                self.items[*end] = function;
                *end += 1;
            }
        }
    }

    /// Returns the sum of a component that has one variable.
    fn sum_alone(&self, v: u32) -> Sum {
        let Assignment { network, states, values, .. } = &self.assignment;
        let mut sum = Sum::ZERO;
        for value in bits(values[v as usize]) {
            let mut product = Sum::ONE;
            for axis in &network.on[v as usize] {
                let state = states[axis.function as usize];
                if network.residual_of(state).depends >> axis.axis & 1 == 1 {
                    let value = network.residual_of(state + (value + 1) * axis.step).scale;
                    product = product.times(Sum { value, error: 0.0 });
                }
            }
            sum = sum.plus(product);
        }
        sum
    }

    /// Writes the key of a component into the buffer. Returns the exponent of the power of two that its functions have
    /// in common and that the key leaves out.
    ///
    /// The key lists the variables, the residuals other than those of unassigned functions, and the values of variables
    /// that have not all of theirs. Functions that are as if unassigned follow from the variables.
    pub(super) fn name(&mut self, component: &Component) -> i64 {
        let ComponentSearch { assignment, items, bytes, .. } = self;
        let Assignment { network, states, values, .. } = assignment;
        bytes.clear();
        put(bytes, component.variables.len() as u64);
        let mut last = 0;
        for &v in &items[component.variables.clone()] {
            put(bytes, u64::from(v - last));
            last = v;
        }
        let (mut exponent, mut last) = (0, 0);
        for &function in &items[component.functions.clone()] {
            let own = &network.functions[function as usize];
            let state = states[function as usize];
            let id = if own.banned.is_some() {
                if state == 0 { None } else { Some(own.first_id) }
            } else {
                let (residual, free) = (network.residual_of(state), network.residual_of(own.free));
                exponent += residual.scale.exponent - free.scale.exponent;
                if residual.id == free.id { None } else { Some(own.first_id + residual.id) }
            };
            if let Some(id) = id {
                put(bytes, u64::from(id - last) + 1);
                last = id;
            }
        }
        // no difference of numbers is written as 0
        put(bytes, 0);
        for &v in &items[component.variables.clone()] {
            if values[v as usize] != low(network.domains[v as usize] as usize) {
                put(bytes, u64::from(v));
                put(bytes, values[v as usize]);
            }
        }
        assignment.work += (component.functions.len() + component.variables.len()) as u64;
        exponent
    }
}
