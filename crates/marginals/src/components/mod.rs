//! The sum by search, where tables do not fit: a variable is given each of its values, zeros rule out values of others,
//! and what falls apart is summed apart. A component that was met before, under any assignment, is not summed again
//! (component caching: Sang, Beame and Kautz, "Performing Bayesian inference by weighted model counting", 2005;
//! recursive conditioning: Darwiche, 2001). Without zeros and equal tables it looks at no more than elimination does.

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

/// A sum, and how far it may be off, relatively.
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

    /// Times a power of two, exactly.
    fn shifted(self, exponent: i64) -> Sum {
        match self.value.mantissa > 0.0 {
            true => Sum { value: Scaled { exponent: self.value.exponent + exponent, ..self.value }, ..self },
            false => self,
        }
    }
}

/// Variables and functions in [`ComponentSearch::items`].
#[derive(Clone, Debug)]
struct Component {
    variables: Range<usize>,
    functions: Range<usize>,
}

/// A component that is being summed, over the values of one of its variables.
#[derive(Debug)]
struct Frame {
    component: Component,
    key: Key,
    /// The power of two that its functions have in common beyond what the key says.
    exponent: i64,
    variable: u32,
    /// Values to come.
    left: u64,
    /// What earlier values came to, and what the present one has come to, if there is one.
    sum: Sum,
    product: Option<Sum>,
    /// Where what the present value changed, opened and listed begins.
    trail: usize,
    open: usize,
    items: usize,
}

/// A search, between two of its turns.
#[derive(Debug)]
pub(super) struct ComponentSearch {
    network: Network,
    /// Places in the elimination order: the last of a component comes first.
    places: Vec<usize>,
    /// By function the state of its variables; by variable the values that are left.
    states: Vec<u32>,
    values: Vec<u64>,
    /// Changes: a variable with the values that it had, none where it was given its only one.
    trail: Vec<(u32, u64)>,
    /// Variables with one value that their functions do not know of yet.
    given: Vec<u32>,
    frames: Vec<Frame>,
    /// Components of the present values, those of a frame on top of those of the one below, smallest last.
    open: Vec<Component>,
    items: Vec<u32>,
    cache: Cache,
    seen: Seen,
    /// A key that is being made.
    bytes: Vec<u8>,
    done: Option<Sum>,
    work: u64,
}

/// What a walk over components has met: numbers that grow from component to component.
#[derive(Debug)]
struct Seen {
    variables: Vec<u64>,
    functions: Vec<u64>,
    last: u64,
    /// Variables that the last walk has reached.
    reached: Vec<u32>,
    /// Where the variables and functions of each component are listed next; nowhere of those that are not.
    ends: Vec<(usize, usize)>,
}

impl ComponentSearch {
    /// A search for the sum of a product, with so many bytes for what it keeps; nothing where its tables have more than
    /// `states` entries under all partial assignments. `places` are those of an elimination order.
    ///
    /// # Errors
    /// [`Error::Stopped`].
    pub fn new(
        sliced: &Sliced,
        places: Vec<usize>,
        states: u64,
        memory: u64,
        stop: &Stop,
    ) -> Result<Option<Self>, Error> {
        // what is kept of a state takes some ten bytes an entry
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

    /// Rules out what has no support from the start.
    fn prepare(&mut self) -> bool {
        for v in 0..self.values.len() {
            if self.values[v].is_power_of_two() {
                self.given.push(v as u32);
            }
        }
        (0..self.states.len()).all(|function| self.look(function)) && self.propagate()
    }

    /// Goes on for so much work, not long; the sum, once it is known.
    pub fn advance(&mut self, work: u64, stop: &Stop) -> Option<Sum> {
        let end = self.work.saturating_add(work);
        while self.done.is_none() && self.work < end && !stop.is_set() {
            self.step();
        }
        self.done
    }

    /// At least this is the sum: what is known of it so far.
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

    /// Sums that are kept.
    pub fn kept(&self) -> usize {
        self.cache.len()
    }

    /// Opens a component, ends a value or begins one.
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

    /// The smallest open component: its sum where it is known, else a frame for it.
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

    /// All values of the frame's variable have been looked at.
    fn leave(&mut self) {
        let Some(Frame { key, exponent, sum, .. }) = self.frames.pop() else { return };
        if self.frames.is_empty() {
            self.done = Some(sum);
            return;
        }
        self.cache.keep(key, sum.shifted(-exponent));
        self.deliver(sum);
    }

    /// A component of the present value has this sum.
    fn deliver(&mut self, sum: Sum) {
        let Some(frame) = self.frames.last_mut() else { return };
        if sum.value.mantissa == 0.0 {
            frame.product = Some(Sum::ZERO);
            self.open.truncate(frame.open);
            return;
        }
        frame.product = frame.product.map(|product| product.times(sum));
    }

    /// Leaves a variable these of its values; whether there is one.
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

    /// Tells functions of variables with one value, and rules out what these then do not allow; whether all variables
    /// have a value left.
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

    /// Rules out what a function does not allow.
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

    /// Takes changes back.
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

    /// What a component comes to under the present values: the product of what is constant in it, which is returned,
    /// and smaller components, which are opened.
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

    /// Walks over what hangs together with a variable, under the next number; how many functions that has.
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

    /// Lists the components that were met from this number on, in the order of the whole: so keys need not be sorted.
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

    /// The sum of a component of one variable.
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

    /// Writes a component's key; returns the power of two that its functions have in common beyond that.
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
            // all variables but those with all of their values
            if values[v as usize] != low(network.domains[v as usize] as usize) {
                put(bytes, u64::from(v));
                put(bytes, values[v as usize]);
            }
        }
        self.work += (component.functions.len() + component.variables.len()) as u64;
        exponent
    }
}
