//! Exact sums by search, for products whose tables do not fit. The search branches on the values of a variable, zeros
//! rule out values of other variables, and independent components are summed separately. The sum of a component that
//! occurred before, under any assignment, is taken from a cache (component caching: Sang, Beame and Kautz, "Performing
//! Bayesian inference by weighted model counting", 2005; recursive conditioning: Darwiche, 2001). Without zeros and
//! equal tables it makes no more combinations than elimination.
//!
//! If zeros leave a variable no value, the [analysis] derives a clause that rules out values earlier from then on.
//! Clauses take no part in components, because they follow from the whole product. If a component is 0, clauses may
//! have ruled out values of its siblings that these have on their own, so the sums of the siblings leave the cache
//! (Thurley, "sharpSAT: counting models with advanced component caching and implicit BCP", 2006).

mod analysis;
mod assignment;
mod cache;
mod clauses;
mod residuals;
mod split;
#[cfg(test)]
mod tests;

use super::sliced::Sliced;
use super::tuning::components as tuning;
use crate::error::Error;
use crate::model::{ROUNDOFF, Scaled};
use crate::stop::Stop;
use analysis::{Analysis, Learnt};
use assignment::{Assignment, Reason};
use cache::{Cache, Key};
use residuals::Network;
use split::{Component, Seen};

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
    /// The length of the trail before the component.
    trail: usize,
    /// The length of the trail before the present value.
    base: usize,
    /// The number of open components before the present value.
    open: usize,
    /// The number of items before the present value.
    items: usize,
    /// The number of the first cache entry since the component was entered.
    entered: u64,
    /// The number of the first cache entry since the present value was chosen.
    chosen: u64,
}

/// A search for the exact sum, which advances in slices of work.
#[derive(Debug)]
pub(super) struct ComponentSearch {
    assignment: Assignment,
    analysis: Analysis,
    /// Clauses that imply values after more of the search is undone, in ascending order of their frames.
    pending: Vec<Pending>,
    /// The position of each variable in the elimination order; later variables of a component are branched on first.
    places: Vec<usize>,
    frames: Vec<Frame>,
    /// The components of the present values that are not summed yet; within a frame, the smallest is last.
    open: Vec<Component>,
    items: Vec<u32>,
    cache: Cache,
    seen: Seen,
    /// A buffer for the key that is being made.
    bytes: Vec<u8>,
    /// A buffer for the number of functions of each variable of a component.
    counts: Vec<u32>,
    done: Option<Sum>,
}

/// A learnt clause that implies a value as soon as its first literal is open again.
#[derive(Clone, Copy, Debug)]
struct Pending {
    clause: u32,
    /// The level since which all its literals but the first one are false.
    level: u32,
    /// The number of frames in the last of which the value is removed; `usize::MAX` if none has it removed.
    frames: usize,
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
        let constant = Sum { value: sliced.constant.times(network.constant), error: ROUNDOFF };
        let values = network.domains.iter().map(|&domain| domain as usize).sum();
        let mut search = ComponentSearch {
            assignment: Assignment::new(network, memory / tuning::CLAUSES),
            analysis: Analysis::new(variables, values),
            pending: Vec::new(),
            places,
            frames: Vec::new(),
            open: Vec::new(),
            items: (0..variables as u32).chain(0..functions as u32).collect(),
            cache: Cache::new(memory / 2),
            seen: Seen::new(variables, functions),
            bytes: Vec::new(),
            counts: vec![0; variables],
            done: None,
        };
        let whole = Component { variables: 0..variables, functions: variables..variables + functions };
        search.push(whole.clone(), Key::default(), 0, None);
        if search.assignment.prepare() && search.test_values(stop)? {
            let product = search.split(&whole).times(constant);
            search.frames[0].product = Some(product);
        }
        Ok(Some(search))
    }

    /// Removes values that propagation refutes, as far as the work for that goes. Returns whether each variable has a
    /// value left.
    fn test_values(&mut self, stop: &Stop) -> Result<bool, Error> {
        let (end, mut changed, mut round) = (self.assignment.work + tuning::TESTS, true, 0);
        while changed && round < tuning::TEST_ROUNDS {
            (changed, round) = (false, round + 1);
            for v in 0..self.assignment.values.len() as u32 {
                stop.check()?;
                let before = self.assignment.values[v as usize];
                if self.assignment.is_given(v) {
                    continue;
                }
                for value in assignment::bits(before) {
                    let trail = self.assignment.trail.len();
                    let is_open =
                        self.assignment.narrow(v, 1 << value, Reason::Decision) && self.assignment.propagate();
                    self.assignment.undo(trail);
                    if is_open {
                        continue;
                    }
                    changed = true;
                    if !self.assignment.narrow(v, !(1 << value), Reason::Decision) || !self.assignment.propagate() {
                        return Ok(false);
                    }
                }
                if self.assignment.work > end {
                    return Ok(true);
                }
            }
        }
        Ok(true)
    }

    /// Continues for about `work` units, which take little time. Returns the sum once it is known.
    pub fn advance(&mut self, work: u64, stop: &Stop) -> Option<Sum> {
        let end = self.assignment.work.saturating_add(work);
        while self.done.is_none() && self.assignment.work < end && !stop.is_set() {
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
            return self.end_value();
        }
        if frame.left != 0 {
            // clauses that were learnt under earlier values may have removed some
            frame.left &= self.assignment.values[frame.variable as usize];
        }
        if frame.left == 0 {
            return self.leave();
        }
        let (variable, value) = (frame.variable, frame.left & frame.left.wrapping_neg());
        frame.left ^= value;
        frame.chosen = self.cache.now();
        let component = frame.component.clone();
        self.assignment.work += 1;
        self.assignment.level = self.frames.len() as u32 - 1;
        if self.assignment.narrow(variable, value, Reason::Decision) && self.assignment.propagate() {
            let product = self.split(&component);
            if let Some(frame) = self.frames.last_mut() {
                frame.product = Some(product);
            }
        } else {
            self.learn();
            self.end_value();
        }
    }

    /// Adds the clause that the present conflict implies.
    fn learn(&mut self) {
        let Some(Learnt { literals, level }) = self.analysis.learn(&mut self.assignment) else {
            self.done = Some(Sum::ZERO);
            return;
        };
        let Assignment { clauses, trail, .. } = &mut self.assignment;
        if clauses.is_full() {
            let mut needed: Vec<u32> = self.pending.iter().map(|pending| pending.clause).collect();
            needed.extend(trail.iter().filter_map(|entry| match entry.reason {
                Reason::Clause(clause) => Some(clause),
                _ => None,
            }));
            needed.sort_unstable();
            clauses.drop_half(|clause| needed.binary_search(&clause).is_ok());
        }
        let is_watched = literals.len() > 1;
        let clause = self.assignment.clauses.add(literals);
        if is_watched {
            self.assignment.watch(clause);
        }
        self.pending.push(Pending { clause, level, frames: usize::MAX });
    }

    /// Undoes the present value, and rules out what clauses learnt since imply without it.
    fn end_value(&mut self) {
        let frames = self.frames.len();
        let Some(frame) = self.frames.last_mut() else { return };
        self.assignment.undo(frame.base);
        self.items.truncate(frame.items);
        if self.pending.last().is_none_or(|pending| pending.frames <= frames) {
            return;
        }
        self.assignment.level = frames.saturating_sub(2) as u32;
        let is_open = self.assert_pending(frames) && self.assignment.propagate();
        if self.assignment.conflict.is_some() {
            self.learn();
        }
        let Some(frame) = self.frames.last_mut() else { return };
        if is_open {
            frame.base = self.assignment.trail.len();
        } else {
            frame.left = 0;
        }
    }

    /// Removes values that clauses learnt in later frames than the last one of `frames` imply. Returns whether each
    /// variable has a value left and each of these clauses an open literal.
    fn assert_pending(&mut self, frames: usize) -> bool {
        let begin = self.pending.partition_point(|pending| pending.frames <= frames);
        let (level, mut kept, mut is_open) = (self.assignment.level, begin, true);
        for at in begin..self.pending.len() {
            let own = self.pending[at];
            let Some(literal) = self.assignment.last_literal(own.clause) else { continue };
            let is_false = literal.is_false(&self.assignment.values);
            if is_open && !is_false {
                is_open = self.assignment.narrow(literal.variable, literal.mask, Reason::Clause(own.clause));
            }
            let is_short = self.assignment.clauses.list[own.clause as usize].len() <= tuning::SHORT;
            if is_false || (own.level < level && is_short) {
                self.pending[kept] = Pending { frames, ..own };
                kept += 1;
            }
            is_open &= !is_false;
        }
        self.pending.truncate(kept);
        is_open
    }

    /// Delivers the sum of the smallest open component if the cache has it; otherwise opens a frame for the component.
    fn enter(&mut self) {
        let Some(component) = self.open.pop() else { return };
        let exponent = self.name(&component);
        let key = Key::new(&self.bytes);
        if let Some(sum) = self.cache.find(&key) {
            let now = self.cache.now();
            return self.deliver(sum.shifted(exponent), now);
        }
        let variable = self.choose(&component);
        self.push(component, key, exponent, variable);
    }

    /// Returns the variable of a component that is branched on: a late one of the elimination order, which separates
    /// the component. In formulas, variables with many functions and of recent conflicts are preferred as well (VSADS:
    /// Sang, Beame and Kautz, "Heuristics for fast exact model counting", 2005).
    fn choose(&mut self, component: &Component) -> Option<u32> {
        let variables = &self.items[component.variables.clone()];
        if !self.assignment.network.is_formula {
            return variables.iter().copied().max_by_key(|&v| self.places[v as usize]);
        }
        variables.iter().for_each(|&v| self.counts[v as usize] = 0);
        for &function in &self.items[component.functions.clone()] {
            for &v in &self.assignment.network.functions[function as usize].scope {
                self.counts[v as usize] += 1;
            }
        }
        let late = tuning::LATE / self.places.len() as f64;
        let score = |v: u32| {
            let (count, place) = (f64::from(self.counts[v as usize]), self.places[v as usize] as f64);
            late * place + count + self.analysis.activity(v)
        };
        variables.iter().copied().max_by(|&a, &b| score(a).total_cmp(&score(b)))
    }

    /// Opens a frame for a component; without a variable it has no values to try.
    fn push(&mut self, component: Component, key: Key, exponent: i64, variable: Option<u32>) {
        self.frames.push(Frame {
            component,
            key,
            exponent,
            variable: variable.unwrap_or(0),
            left: variable.map_or(0, |variable| self.assignment.values[variable as usize]),
            sum: Sum::ZERO,
            product: None,
            trail: self.assignment.trail.len(),
            base: self.assignment.trail.len(),
            open: self.open.len(),
            items: self.items.len(),
            entered: self.cache.now(),
            chosen: self.cache.now(),
        });
    }

    /// Closes the top frame after all values of its variable, and delivers its sum.
    fn leave(&mut self) {
        let Some(Frame { key, exponent, sum, trail, entered, .. }) = self.frames.pop() else { return };
        if self.frames.is_empty() {
            self.done = Some(sum);
            return;
        }
        self.assignment.undo(trail);
        self.cache.keep(key, sum.shifted(-exponent));
        self.deliver(sum, entered);
    }

    /// Multiplies the sum of a component, which was entered when `entered` was the next insertion into the cache, into
    /// the product of the present value.
    fn deliver(&mut self, sum: Sum, entered: u64) {
        let Some(frame) = self.frames.last_mut() else { return };
        if sum.value.mantissa == 0.0 {
            frame.product = Some(Sum::ZERO);
            // if other components are left, one of them may be the cause of this 0
            let end = if self.open.len() > frame.open { self.cache.now() } else { entered };
            self.cache.remove(frame.chosen, end);
            self.open.truncate(frame.open);
            return;
        }
        frame.product = frame.product.map(|product| product.times(sum));
    }
}
