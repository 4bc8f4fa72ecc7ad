//! Max-sum (Farinelli, Rogers, Petcu and Jennings, "Decentralised coordination of low-power embedded devices using the
//! max-sum algorithm", AAMAS 2008) on negated costs, in fixed-point integers.
//!
//! On a component of the factor graph without cycles, messages are those of dynamic programming. They are constant
//! after as many cycles as the longest path has functions. A final traversal from a root to the leaves, in which each
//! variable takes earlier choices into account, then finds an optimum even if values tie. On other components, messages
//! are damped, and each value costs a random fraction more, so that ties do not block agents; the sum of all fractions
//! is less than one unit of cost.

use super::cycles::{CYCLES, Cycle, LocalFound, LocalOptions, Penalties};
use crate::error::Error;
use crate::model::{Odometer, Problem, Readers};
use crate::rng::mix;
use crate::stop::Stop;
use rayon::prelude::*;

/// The messages from a function to its variables, or from these to the function: for each variable of the scope, an
/// amount for each value.
type Messages = Vec<Vec<i128>>;

/// Largest number of fractional bits: fractions are drawn from up to 2^20 numbers for each of 2^20 variables.
const FRACTION: u32 = 40;
/// The denominator of the damping.
const SHARES: i128 = 1 << 10;
/// Entries of a function between two checks of the stop flag.
const POLL: usize = 1 << 16;

/// The state of Max-sum on the factor graph.
pub(super) struct MaxSum<'a> {
    problem: &'a Problem,
    options: LocalOptions,
    penalties: Penalties,
    incidence: Readers,
    forest: Forest,
    /// The number of fractional bits.
    fraction: u32,
    /// The unary costs of each variable, with a random fraction for each value.
    preferences: Vec<Vec<i128>>,
    from_functions: Vec<Messages>,
    to_functions: Vec<Messages>,
}

/// The order in which the final traversal visits variables, and the functions on components with cycles.
struct Forest {
    order: Vec<u32>,
    /// For each function, whether its component has a cycle.
    is_cyclic: Vec<bool>,
}

impl Forest {
    fn new(problem: &Problem, incidence: &Readers) -> Self {
        let mut order: Vec<u32> = Vec::with_capacity(problem.variables());
        let mut is_cyclic = vec![false; problem.functions.len()];
        let (mut known, mut seen) = (vec![false; problem.variables()], vec![false; problem.functions.len()]);
        for root in 0..problem.variables() as u32 {
            if std::mem::replace(&mut known[root as usize], true) {
                continue;
            }
            let (begin, mut functions, mut cycle) = (order.len(), Vec::new(), false);
            order.push(root);
            let mut next = begin;
            while next < order.len() {
                let v = order[next];
                next += 1;
                for &f in &incidence[v as usize] {
                    if std::mem::replace(&mut seen[f as usize], true) {
                        continue;
                    }
                    functions.push(f);
                    for &u in problem.functions[f as usize].scope.iter().filter(|&&u| u != v) {
                        if std::mem::replace(&mut known[u as usize], true) {
                            cycle = true;
                        } else {
                            order.push(u);
                        }
                    }
                }
            }
            functions.into_iter().for_each(|f| is_cyclic[f as usize] = cycle);
        }
        Forest { order, is_cyclic }
    }
}

impl<'a> MaxSum<'a> {
    /// Returns a state whose messages are zero.
    ///
    /// # Errors
    /// Returns [`Error::Stopped`] if `stop` is set.
    pub fn new(problem: &'a Problem, options: LocalOptions, stop: &Stop) -> Result<Self, Error> {
        let penalties = Penalties::new(problem);
        let incidence = problem.incidence(stop)?;
        let forest = Forest::new(problem, &incidence);
        // the sum of all amounts at an entry stays below 2^126
        let arity = problem.functions.iter().map(|function| function.scope.len() as u32 + 1).max().unwrap_or(1);
        let fraction = penalties.most().leading_zeros().saturating_sub(3 + arity.ilog2()).min(FRACTION);
        let finest = (1u64 << fraction) / (problem.variables() as u64 + 1);
        let fractions = |v: usize, value: usize| match finest {
            0 => 0,
            _ => i128::from(mix(options.seed ^ mix(v as u64, 0), value as u64) % finest),
        };
        let preference =
            |v: usize, value: usize| (penalties.value(v, problem.unary[v][value]) << fraction) + fractions(v, value);
        let row = |v: usize| (0..problem.unary[v].len()).map(|value| preference(v, value)).collect();
        let preferences = (0..problem.variables()).map(row).collect();
        let blank = |scope: &[u32]| scope.iter().map(|&v| vec![0; problem.domains[v as usize] as usize]).collect();
        let blank: Vec<Messages> = problem.functions.iter().map(|function| blank(&function.scope)).collect();
        let (from_functions, to_functions) = (blank.clone(), blank);
        stop.check()?;
        Ok(MaxSum {
            problem,
            options,
            penalties,
            incidence,
            forest,
            fraction,
            preferences,
            from_functions,
            to_functions,
        })
    }

    /// Runs cycles of messages until none changes. Values are chosen by a traversal after 1, 2, 4, … cycles and at the
    /// end. `watch` is called after each cycle.
    pub fn run(&mut self, found: &mut LocalFound, watch: &mut dyn FnMut(Cycle<'_>), stop: &Stop) {
        let sides: u64 = self.from_functions.iter().map(|messages| messages.len() as u64).sum();
        let entries: u64 = self.from_functions.iter().flatten().map(|message| message.len() as u64).sum();
        let has_cycles = self.forest.is_cyclic.iter().any(|&cyclic| cyclic);
        let limit = self.options.cycles.unwrap_or(if has_cycles { CYCLES } else { u64::MAX });
        let mut last = Vec::new();
        while found.cycles < limit && !stop.is_set() {
            let beliefs = self.beliefs();
            self.send_to_functions(&beliefs);
            let changes = self.send_from_functions(stop);
            if stop.is_set() {
                break;
            }
            found.cycles += 1;
            found.messages += 2 * sides;
            found.message_entries += 2 * entries;
            let mut values: Vec<u32> = self.beliefs().iter().map(|row| least(row)).collect();
            if values != last {
                found.offer(self.problem, &values);
                last.clone_from(&values);
            }
            if !changes || found.cycles == limit || found.cycles.is_power_of_two() {
                found.messages += sides;
                found.message_entries += sides;
                if let Some(chosen) = self.values(stop).into_iter().next() {
                    found.offer(self.problem, &chosen);
                    values = chosen;
                }
            }
            watch(found.cycle(&values));
            if !changes {
                break;
            }
        }
    }

    /// Returns the cost of each value of each variable by all messages of its functions.
    fn beliefs(&self) -> Vec<Vec<i128>> {
        let mut beliefs = self.preferences.clone();
        for (function, messages) in self.problem.functions.iter().zip(&self.from_functions) {
            for (&v, message) in function.scope.iter().zip(messages) {
                beliefs[v as usize].iter_mut().zip(message).for_each(|(sum, amount)| *sum += amount);
            }
        }
        beliefs
    }

    /// Sends each function the costs of a variable's values by all other functions, with the least cost subtracted.
    fn send_to_functions(&mut self, beliefs: &[Vec<i128>]) {
        let functions = self.problem.functions.par_iter().zip(&self.from_functions).zip(&mut self.to_functions);
        functions.for_each(|((function, received), sent)| {
            for ((&v, received), sent) in function.scope.iter().zip(received).zip(sent) {
                let rest = || beliefs[v as usize].iter().zip(received).map(|(all, own)| all - own);
                let least = rest().min().unwrap_or(0);
                sent.iter_mut().zip(rest()).for_each(|(sent, rest)| *sent = rest - least);
            }
        });
    }

    /// Sends each variable the least costs of its values by each function. Returns whether a message changed.
    fn send_from_functions(&mut self, stop: &Stop) -> bool {
        let mut all = std::mem::take(&mut self.from_functions);
        let kept = (self.options.damping.clamp(0.0, 1.0) * SHARES as f64) as i128;
        let changes = |(f, old): (usize, &mut Messages)| -> bool {
            let kept = if self.forest.is_cyclic[f] { kept } else { 0 };
            let Some(new) = self.best(f, stop, |_| true) else { return false };
            let mut changes = false;
            for (old, new) in old.iter_mut().flatten().zip(new.into_iter().flatten()) {
                let damped = *old
                    + ((new - *old) / SHARES) * (SHARES - kept)
                    + (((new - *old) % SHARES) * (SHARES - kept)).div_euclid(SHARES);
                changes |= damped != *old;
                *old = damped;
            }
            changes
        };
        let any = all.par_iter_mut().enumerate().map(changes).reduce(|| false, |a, b| a | b);
        self.from_functions = all;
        any
    }

    /// Returns, for each value of each variable of a function, the least sum of the function's cost and the messages of
    /// its other variables, among the combinations that `admits` accepts; `None` if stopped.
    fn best(&self, f: usize, stop: &Stop, admits: impl Fn(&[usize]) -> bool) -> Option<Messages> {
        let function = &self.problem.functions[f];
        let received = &self.to_functions[f];
        let mut new: Messages = received.iter().map(|message| vec![i128::MAX; message.len()]).collect();
        let mut odometer = Odometer::new(received.iter().map(Vec::len).collect());
        for (index, cost) in function.entries(&self.problem.domains).enumerate() {
            if index % POLL == POLL - 1 && stop.is_set() {
                return None;
            }
            if admits(&odometer.digits) {
                let terms = || odometer.digits.iter().zip(received).map(|(&digit, message)| message[digit]);
                let sum = (self.penalties.entry(f, cost) << self.fraction) + terms().sum::<i128>();
                for ((new, &digit), term) in new.iter_mut().zip(&odometer.digits).zip(terms()) {
                    new[digit] = new[digit].min(sum - term);
                }
            }
            let _ = odometer.advance();
        }
        Some(new)
    }

    /// Chooses values, each variable after those that are nearer to its root. Returns `None` if stopped.
    fn values(&self, stop: &Stop) -> Option<Vec<u32>> {
        let mut values: Vec<Option<u32>> = vec![None; self.problem.variables()];
        for &v in &self.forest.order {
            let mut row = self.preferences[v as usize].clone();
            stop.check().ok()?;
            for &f in &self.incidence[v as usize] {
                let scope = &self.problem.functions[f as usize].scope;
                let place = scope.iter().position(|&u| u == v).unwrap_or(0);
                let admits = |digits: &[usize]| {
                    let mut chosen =
                        scope.iter().zip(digits).filter_map(|(&u, &digit)| Some((values[u as usize]?, digit)));
                    chosen.all(|(value, digit)| value as usize == digit)
                };
                let is_free = scope.iter().all(|&u| values[u as usize].is_none());
                let conditional = match is_free {
                    true => None,
                    false => Some(self.best(f as usize, stop, admits)?),
                };
                let messages = conditional.as_ref().unwrap_or(&self.from_functions[f as usize]);
                row.iter_mut().zip(&messages[place]).for_each(|(sum, amount)| *sum += amount);
            }
            values[v as usize] = Some(least(&row));
        }
        values.into_iter().collect()
    }
}

/// Returns the first value of the least cost.
fn least(row: &[i128]) -> u32 {
    (0..).zip(row).min_by_key(|&(_, cost)| cost).map_or(0, |(value, _)| value)
}
