//! Exact sums by search, for products whose tables do not fit. The search branches on the values of a variable, zeros
//! rule out values of other variables, and independent components are summed separately. The sum of a component that
//! occurred before, under any assignment, is taken from a cache (component caching: Sang, Beame and Kautz, "Performing
//! Bayesian inference by weighted model counting", 2005; recursive conditioning: Darwiche, 2001). Without zeros and
//! equal tables it makes no more combinations than elimination.

mod cache;
mod residuals;
#[cfg(test)]
mod tests;

use super::sliced::Sliced;
use crate::error::Error;
use crate::model::{ROUNDOFF, Scaled};
use crate::stop::Stop;
use cache::{Cache, Key, put};
use residuals::{Network, low};
use std::ops::Range;

/// A sum and its relative error.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sum {
    pub value: Scaled,
    pub error: f64,
}

impl Sum {
    const ZERO: Sum = Sum { value: Scaled::ZERO, error: 0.0 };
    const ONE: Sum = Sum { value: Scaled::ONE, error: 0.0 };

    fn times(self, other: Sum) -> Sum {
        Sum { value: self.value.times(other.value), error: self.error + other.error + ROUNDOFF }
    }

    fn plus(self, other: Sum) -> Sum {
        match (self.value.mantissa == 0.0, other.value.mantissa == 0.0) {
            (true, _) => other,
            (_, true) => self,
            _ => Sum { value: self.value.plus(other.value), error: self.error.max(other.error) + ROUNDOFF },
        }
    }

    /// Returns the sum times a power of two, exactly.
    fn shifted(self, exponent: i64) -> Sum {
        match self.value.mantissa > 0.0 {
            true => Sum { value: Scaled { exponent: self.value.exponent + exponent, ..self.value }, ..self },
            false => self,
        }
    }
}

/// Variables and functions of a component, as ranges of [`ComponentSearch::items`].
#[derive(Clone, Debug)]
struct Component {
    variables: Range<usize>,
    functions: Range<usize>,
}

/// A component that is being summed over the values of one of its variables.
#[derive(Debug)]
struct Frame {
    component: Component,
    key: Key,
    /// The exponent of the power of two that its functions have in common and that the key leaves out.
    exponent: i64,
    variable: u32,
    /// The values still to be tried, a bit each.
    left: u64,
    /// The sum over the values that are done.
    sum: Sum,
    /// The product of the components of the present value that are done; `None` between values.
    product: Option<Sum>,
    /// The lengths of the trail, of the open components and of the items before the present value.
    trail: usize,
    open: usize,
    items: usize,
}

/// A search for the exact sum, which advances in slices of work.
#[derive(Debug)]
pub(super) struct ComponentSearch {
    network: Network,
    /// The position of each variable in the elimination order; the last variable of a component is branched on first.
    places: Vec<usize>,
    /// For each function, the index of its residual under the present partial assignment.
    states: Vec<u32>,
    /// For each variable, the values that are left, a bit each.
    values: Vec<u64>,
    /// Changes to undo: a variable with its previous values, or with 0 if its functions knew of its only value.
    trail: Vec<(u32, u64)>,
    /// Variables with one value left whose functions are not updated yet.
    given: Vec<u32>,
    frames: Vec<Frame>,
    /// The components of the present values that are not summed yet; within a frame, the smallest is last.
    open: Vec<Component>,
    items: Vec<u32>,
    cache: Cache,
    seen: Seen,
    /// A buffer for the key that is being made.
    bytes: Vec<u8>,
    done: Option<Sum>,
    work: u64,
}

/// The components that walks have reached. Each component gets a higher number than the one before.
#[derive(Debug)]
/// For each variable and for each function, the number of the last component that reached it.
struct Seen {
    variables: Vec<u64>,
    functions: Vec<u64>,
    last: u64,
    /// The variables that the last walk reached.
    reached: Vec<u32>,
    /// For each component of the present split, the positions in the items at which its next variable and its next
    /// function are listed; `usize::MAX` for components that are not listed.
    ends: Vec<(usize, usize)>,
}

impl ComponentSearch {
    /// Returns a search for the sum of a product in about `memory` bytes, or `None` if its tables have more than
    /// `states` entries under all partial assignments. `places` are the variables' positions in an elimination order.
    ///
    /// # Errors
    /// Returns [`Error::Stopped`] if `stop` is set.
    pub fn new(
        sliced: &Sliced,
        places: Vec<usize>,
        states: u64,
        memory: u64,
        stop: &Stop,
    ) -> Result<Option<Self>, Error> {
        // a residual takes some ten bytes an entry
        let Some(network) = Network::new(sliced, states.min(memory / 16), stop)? else { return Ok(None) };
        let (variables, functions) = (network.domains.len(), network.functions.len());
        let mut search = ComponentSearch {
            places,
            states: network.functions.iter().map(|function| function.free).collect(),
            values: network.domains.iter().map(|&domain| low(domain as usize)).collect(),
            trail: Vec::new(),
            given: Vec::new(),
            frames: Vec::new(),
            open: Vec::new(),
            items: (0..variables as u32).chain(0..functions as u32).collect(),
            cache: Cache::new(memory / 2),
            seen: Seen {
                variables: vec![0; variables],
                functions: vec![0; functions],
                last: 0,
                reached: Vec::new(),
                ends: Vec::new(),
            },
            bytes: Vec::new(),
            done: None,
            work: 0,
            network,
        };
        let whole = Component { variables: 0..variables, functions: variables..variables + functions };
        let constant = Sum { value: sliced.constant, error: 0.0 };
        search.frames.push(Frame {
            component: whole.clone(),
            key: Key::default(),
            exponent: 0,
            variable: 0,
            left: 0,
            sum: Sum::ZERO,
            product: None,
            trail: 0,
            open: 0,
            items: search.items.len(),
        });
        if search.prepare() {
            let product = search.split(&whole).times(constant);
            search.frames[0].product = Some(product);
        }
        Ok(Some(search))
    }

    /// Rules out the values that have no support from the start. Returns whether every variable has a value left.
    fn prepare(&mut self) -> bool {
        for v in 0..self.values.len() {
            if self.values[v].is_power_of_two() {
                self.given.push(v as u32);
            }
        }
        (0..self.states.len()).all(|function| self.look(function)) && self.propagate()
    }

    /// Continues for about `work` units, which take little time. Returns the sum once it is known.
    pub fn advance(&mut self, work: u64, stop: &Stop) -> Option<Sum> {
        let end = self.work.saturating_add(work);
        while self.done.is_none() && self.work < end && !stop.is_set() {
            self.step();
        }
        self.done
    }

    /// Returns a lower bound on the sum: the terms that are complete so far.
    pub fn lower(&self) -> Sum {
        let mut opened = self.open.len();
        let mut below = None::<Sum>;
        for frame in self.frames.iter().rev() {
            let product = match (frame.product, below) {
                _ if opened > frame.open => Sum::ZERO,
                (Some(product), Some(sum)) => product.times(sum),
                (Some(product), None) => product,
                (None, _) => Sum::ZERO,
            };
            below = Some(frame.sum.plus(product));
            opened = frame.open;
        }
        self.done.or(below).unwrap_or(Sum::ZERO)
    }

    /// Returns the number of sums in the cache.
    pub fn kept(&self) -> usize {
        self.cache.len()
    }

    /// Opens a component, completes a value or begins one.
    fn step(&mut self) {
        let Some(frame) = self.frames.last_mut() else { return };
        if let Some(product) = frame.product {
            if self.open.len() > frame.open {
                return self.enter();
            }
            frame.sum = frame.sum.plus(product);
            frame.product = None;
            let (trail, items) = (frame.trail, frame.items);
            self.undo(trail);
            self.items.truncate(items);
            return;
        }
        if frame.left == 0 {
            return self.leave();
        }
        let (variable, value) = (frame.variable, frame.left & frame.left.wrapping_neg());
        frame.left ^= value;
        let component = frame.component.clone();
        if self.narrow(variable, value) && self.propagate() {
            let product = self.split(&component);
            if let Some(frame) = self.frames.last_mut() {
                frame.product = Some(product);
            }
        } else {
            let trail = self.frames.last().map_or(0, |frame| frame.trail);
            self.undo(trail);
        }
    }

    /// Delivers the sum of the smallest open component if the cache has it; otherwise opens a frame for the component.
    fn enter(&mut self) {
        let Some(component) = self.open.pop() else { return };
        let exponent = self.name(&component);
        let key: Key = self.bytes.as_slice().into();
        if let Some(sum) = self.cache.find(&key) {
            return self.deliver(sum.shifted(exponent));
        }
        let place = |&v: &u32| self.places[v as usize];
        let last = self.items[component.variables.clone()].iter().copied().max_by_key(place);
        let variable = last.unwrap_or(0);
        self.frames.push(Frame {
            component,
            key,
            exponent,
            variable,
            left: self.values[variable as usize],
            sum: Sum::ZERO,
            product: None,
            trail: self.trail.len(),
            open: self.open.len(),
            items: self.items.len(),
        });
    }

    /// Closes the top frame after all values of its variable, and delivers its sum.
    fn leave(&mut self) {
        let Some(Frame { key, exponent, sum, .. }) = self.frames.pop() else { return };
        if self.frames.is_empty() {
            self.done = Some(sum);
            return;
        }
        self.cache.keep(key, sum.shifted(-exponent));
        self.deliver(sum);
    }

    /// Multiplies the sum of a component into the product of the present value.
    fn deliver(&mut self, sum: Sum) {
        let Some(frame) = self.frames.last_mut() else { return };
        if sum.value.mantissa == 0.0 {
            frame.product = Some(Sum::ZERO);
            self.open.truncate(frame.open);
            return;
        }
        frame.product = frame.product.map(|product| product.times(sum));
    }

    /// Restricts a variable to the values of `allowed`. Returns whether a value is left.
    fn narrow(&mut self, v: u32, allowed: u64) -> bool {
        let before = self.values[v as usize];
        let after = before & allowed;
        if after != before {
            self.trail.push((v, before));
            self.values[v as usize] = after;
            if after.is_power_of_two() {
                self.given.push(v);
            }
        }
        after != 0
    }

    /// Updates functions of variables with one value, and rules out values. Returns whether each variable has a value
    /// left.
    fn propagate(&mut self) -> bool {
        while let Some(v) = self.given.pop() {
            let digit = self.values[v as usize].trailing_zeros() + 1;
            self.trail.push((v, 0));
            for &(function, _, step) in &self.network.on[v as usize] {
                self.states[function as usize] += digit * step;
            }
            self.work += self.network.on[v as usize].len() as u64;
            for k in 0..self.network.on[v as usize].len() {
                if !self.look(self.network.on[v as usize][k].0 as usize) {
                    self.given.clear();
                    return false;
                }
            }
        }
        true
    }

    /// Rules out values without support in a function. Returns whether each of its variables has a value left.
    fn look(&mut self, function: usize) -> bool {
        let residual = self.network.residual_of(self.states[function]);
        if residual.scale.mantissa == 0.0 {
            return false;
        }
        let own = &self.network.functions[function];
        let arity = self.network.supports(own, residual).len();
        (0..arity).all(|axis| {
            let own = &self.network.functions[function];
            let (v, allowed) = (own.scope[axis], self.network.supports(own, residual)[axis]);
            self.narrow(v, allowed)
        })
    }

    /// Undoes changes until the trail has length `to`.
    fn undo(&mut self, to: usize) {
        self.given.clear();
        while self.trail.len() > to {
            let Some((v, before)) = self.trail.pop() else { return };
            if before != 0 {
                self.values[v as usize] = before;
                continue;
            }
            let digit = self.values[v as usize].trailing_zeros() + 1;
            for &(function, _, step) in &self.network.on[v as usize] {
                self.states[function as usize] -= digit * step;
            }
        }
    }

    /// Splits a component under the present values. Returns the product of its constants and of components of one
    /// variable, and opens the other components.
    fn split(&mut self, whole: &Component) -> Sum {
        let mut product = Sum::ONE;
        for at in whole.functions.clone() {
            let residual = self.network.residual_of(self.states[self.items[at] as usize]);
            if residual.depends == 0 {
                product = product.times(Sum { value: residual.scale, error: 0.0 });
            }
        }
        self.work += (whole.functions.len() + whole.variables.len()) as u64;
        let (first, open) = (self.seen.last + 1, self.open.len());
        self.seen.ends.clear();
        for at in whole.variables.clone() {
            let v = self.items[at];
            if self.values[v as usize].is_power_of_two() || self.seen.variables[v as usize] >= first {
                continue;
            }
            let functions = self.walk(v);
            match (self.seen.reached.len(), functions) {
                (_, 0) => {
                    let count = f64::from(self.values[v as usize].count_ones());
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

    /// Visits the component of a variable under the next number. Returns its number of functions.
    fn walk(&mut self, v: u32) -> usize {
        let Seen { variables, functions, last, reached, .. } = &mut self.seen;
        *last += 1;
        variables[v as usize] = *last;
        reached.clear();
        reached.push(v);
        let (mut at, mut met) = (0, 0);
        while let Some(&v) = reached.get(at) {
            at += 1;
            for &(function, axis, _) in &self.network.on[v as usize] {
                let depends = self.network.residual_of(self.states[function as usize]).depends;
                if depends >> axis & 1 == 0 || functions[function as usize] == *last {
                    continue;
                }
                functions[function as usize] = *last;
                met += 1;
                for (axis, &other) in self.network.functions[function as usize].scope.iter().enumerate() {
                    if depends >> axis & 1 == 1 && variables[other as usize] != *last {
                        variables[other as usize] = *last;
                        reached.push(other);
                    }
                }
            }
        }
        self.work += (at + met) as u64;
        met
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
    fn sum_alone(&mut self, v: u32) -> Sum {
        let (mut sum, mut left) = (Sum::ZERO, self.values[v as usize]);
        while left != 0 {
            let digit = left.trailing_zeros() + 1;
            left &= left - 1;
            let mut product = Sum::ONE;
            for &(function, axis, step) in &self.network.on[v as usize] {
                let state = self.states[function as usize];
                if self.network.residual_of(state).depends >> axis & 1 == 1 {
                    let value = self.network.residual_of(state + digit * step).scale;
                    product = product.times(Sum { value, error: 0.0 });
                }
            }
            sum = sum.plus(product);
        }
        sum
    }

    /// Writes the key of a component into the buffer. Returns the exponent of the power of two that its functions have
    /// in common and that the key leaves out.
    fn name(&mut self, component: &Component) -> i64 {
        let ComponentSearch { network, items, bytes, states, values, .. } = self;
        bytes.clear();
        put(bytes, component.functions.len() as u64);
        let (mut exponent, mut last) = (0, 0);
        for &function in &items[component.functions.clone()] {
            let residual = network.residual_of(states[function as usize]);
            put(bytes, u64::from(residual.id - last));
            last = residual.id;
            exponent += residual.scale.exponent - 1;
        }
        for &v in &items[component.variables.clone()] {
            // variables that have all their values are left out of the key
            if values[v as usize] != low(network.domains[v as usize] as usize) {
                put(bytes, u64::from(v));
                put(bytes, values[v as usize]);
            }
        }
        self.work += (component.functions.len() + component.variables.len()) as u64;
        exponent
    }
}
