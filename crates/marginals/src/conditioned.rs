//! Sums whose tables do not fit, by conditioning on a cutset: the variables of the cutset take each of their values in
//! turn, and the sums of the slices add up (Pearl, "Probabilistic reasoning in intelligent systems", 1988, section
//! 4.3). All slices share one plan.

use super::prepared::Tabled;
use super::propagate::{Planned, Posteriors, Propagated, Trouble};
use super::sliced::{Sliced, slice};
use super::tuning;
use crate::elimination::{MOST_WORK, widest};
use crate::error::Error;
use crate::model::{ROUNDOFF, Scaled};
use crate::order::Order;
use crate::stop::Stop;
use std::time::{Duration, Instant};

/// A cutset, and the plan that all slices share.
#[derive(Debug)]
pub(super) struct Conditioned {
    /// The cutset, by the variables' indices in the whole product.
    cut: Vec<u32>,
    /// The domain size of each variable of the cutset.
    sizes: Vec<u32>,
    /// For each variable that is left, whether its posterior is requested.
    asked: Vec<bool>,
    /// The slice in which every variable of the cutset has its first value.
    left: Tabled,
}

/// A function that propagates a slice with the requested variables, within a time limit if there is one.
pub(super) type Each<'a> = &'a mut dyn FnMut(Planned<'_>, &[bool], Option<Duration>) -> Result<Propagated, Trouble>;

/// Limits on the work and the time of all slices.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allowed {
    /// The combinations that all slices may make together.
    entries: f64,
    /// The time by which the slices should have ended.
    until: Option<Instant>,
}

impl Allowed {
    /// Returns limits of a few times the combinations of the whole tree, and of no more than can be made in the time.
    pub fn new(whole: &Tabled, until: Option<Instant>) -> Self {
        let in_time = |until: Instant| remaining(until).as_secs_f64() * tuning::COMBINATIONS_OF_A_SECOND;
        let entries = whole.order.joint_entries * MOST_WORK as f64;
        Allowed { entries: until.map_or(entries, |until| entries.min(in_time(until))), until }
    }
}

fn remaining(until: Instant) -> Duration {
    until.saturating_duration_since(Instant::now())
}

impl Conditioned {
    /// Adds the variables that the largest cliques share to the cutset until the tree `fits` with the requested
    /// variables. Returns `None` if the slices would exceed the limits.
    pub fn new(
        whole: &Tabled,
        asked: &[bool],
        allowed: Allowed,
        fits: &dyn Fn(&Tabled, &[bool]) -> bool,
        stop: &Stop,
    ) -> Result<Option<Self>, Error> {
        let mut own = Conditioned { cut: Vec::new(), sizes: Vec::new(), asked: asked.to_vec(), left: whole.clone() };
        while own.entries() <= allowed.entries {
            if !own.cut.is_empty() && fits(&own.left, &own.asked) {
                return Ok(Some(own));
            }
            let Some(next) = widest(&own.left.plan, |_| true, stop)? else { break };
            own.cut_by(next, stop)?;
        }
        Ok(None)
    }

    /// Returns the combinations of all slices.
    fn entries(&self) -> f64 {
        self.left.order.joint_entries * self.count()
    }

    /// Returns the number of slices.
    fn count(&self) -> f64 {
        self.sizes.iter().map(|&size| f64::from(size)).product()
    }

    /// Adds a variable to the cutset, by its index among those left.
    fn cut_by(&mut self, next: u32, stop: &Stop) -> Result<(), Error> {
        let Tabled { sliced, order, placement, .. } = &self.left;
        self.cut.push(sliced.variables[next as usize]);
        self.sizes.push(sliced.domains[next as usize]);
        let _ = self.asked.remove(next as usize);
        let sequence = order.sequence.iter().filter(|&&v| v != next).map(|&v| v - u32::from(v > next));
        let sequence: Vec<u32> = sequence.collect();
        let (sliced, keep_messages) = (sliced.with_values(&[(next as usize, 0)]), placement.keep_messages);
        let order = Order::given(&sliced.structure(), &sequence, stop)?;
        self.left = Tabled::along(sliced, order, keep_messages, stop)?;
        Ok(())
    }

    /// Computes the sum and the posteriors with one call of `each` per slice; only the first call has a time limit.
    /// Returns `None` if the slices done so far show that there is too little time for all.
    ///
    /// # Errors
    /// Returns [`Trouble`] if a slice fails.
    pub fn run(
        &self,
        whole: &Tabled,
        asked: &[bool],
        allowed: Allowed,
        each: Each<'_>,
        stop: &Stop,
    ) -> Result<Option<Propagated>, Trouble> {
        let own = |&v: &u32| whole.sliced.variables.binary_search(&v).unwrap_or_default();
        let cut: Vec<usize> = self.cut.iter().map(own).collect();
        let variables: Vec<usize> = self.left.sliced.variables.iter().map(own).collect();
        let mut sums = Sums::new(&whole.sliced.domains, asked);
        let (mut values, mut pace) = (vec![0; cut.len()], Pace::new(self.count(), allowed.until));
        loop {
            stop.check()?;
            let fixed: Vec<(usize, u32)> = cut.iter().copied().zip(values.iter().copied()).collect();
            let slice = whole.sliced.with_values(&fixed);
            if slice.is_possible() {
                let Tabled { plan, placement, .. } = &self.left;
                match each(Planned { sliced: &slice, plan, placement }, &self.asked, pace.limit()) {
                    Ok(mut found) => {
                        found.error += slice.rounding - whole.sliced.rounding;
                        sums.add(found, &variables, &fixed);
                    }
                    // the first slice took longer than its share
                    Err(Trouble::Failed(error)) if error.is_stop() && !stop.is_set() => return Ok(None),
                    Err(trouble) => return Err(trouble),
                }
            }
            if !pace.goes_on() {
                return Ok(None);
            }
            if !next(&mut values, &self.sizes) {
                return Ok(Some(sums.finish(self.count())));
            }
        }
    }
}

/// An estimate of whether the slices end in time.
struct Pace {
    /// The number of slices.
    count: f64,
    /// The number of slices that are done.
    done: f64,
    until: Option<Instant>,
    /// The end of the first slice, which may have waited for kernels and is not counted.
    first: Instant,
}

impl Pace {
    fn new(count: f64, until: Option<Instant>) -> Self {
        Pace { count, done: 0.0, until, first: Instant::now() }
    }

    /// Returns the time limit of the next slice; only the first one has a limit, because its time is unknown.
    fn limit(&self) -> Option<Duration> {
        let share = |until| remaining(until).div_f64(self.count.min(tuning::FIRST_SLICE));
        self.until.filter(|_| self.done == 0.0).map(share)
    }

    /// Counts a slice as done. Returns whether there is time for the others.
    fn goes_on(&mut self) -> bool {
        self.done += 1.0;
        if self.done == 1.0 {
            self.first = Instant::now();
        }
        let each = self.first.elapsed().as_secs_f64() / (self.done - 1.0).max(1.0);
        self.until.is_none_or(|until| each * (self.count - self.done) <= remaining(until).as_secs_f64())
    }
}

/// Returns a flag that is set after `share`, if it is given, or when `stop` is set.
pub(super) fn limited(share: Option<Duration>, stop: &Stop) -> Stop {
    let limit = stop.below();
    share.into_iter().for_each(|share| limit.set_at(Instant::now() + share));
    limit
}

/// Advances to the next combination of values. Returns false after the last one.
fn next(values: &mut [u32], sizes: &[u32]) -> bool {
    for (value, size) in values.iter_mut().zip(sizes) {
        *value += 1;
        if *value < *size {
            return true;
        }
        *value = 0;
    }
    false
}

/// Sums over slices.
struct Sums {
    z: Scaled,
    /// The largest relative error of a slice's sum.
    error: f64,
    /// The largest relative error of a slice's posteriors.
    posterior_error: f64,
    /// For each requested variable, the sum of each of its values.
    values: Vec<Option<Vec<Scaled>>>,
    collect_s: f64,
    distribute_s: f64,
}

impl Sums {
    fn new(domains: &[u32], asked: &[bool]) -> Self {
        let nothing = |(&domain, &asked): (&u32, &bool)| asked.then(|| vec![Scaled::ZERO; domain as usize]);
        Sums {
            z: Scaled::ZERO,
            error: 0.0,
            posterior_error: 0.0,
            values: domains.iter().zip(asked).map(nothing).collect(),
            collect_s: 0.0,
            distribute_s: 0.0,
        }
    }

    /// Adds a slice with the posteriors of `variables` and with the values of `fixed`, both by indices in the whole
    /// product.
    fn add(&mut self, found: Propagated, variables: &[usize], fixed: &[(usize, u32)]) {
        self.collect_s += found.collect_s;
        self.distribute_s += found.distribute_s;
        self.error = self.error.max(found.error);
        if found.z.mantissa == 0.0 {
            return;
        }
        self.posterior_error = self.posterior_error.max(found.posterior_error);
        self.z = self.z.plus(found.z);
        for (&variable, posterior) in variables.iter().zip(found.posteriors) {
            let (Some(values), Some(posterior)) = (&mut self.values[variable], posterior) else { continue };
            for (value, part) in values.iter_mut().zip(posterior) {
                *value = value.plus(found.z.times(Scaled::new(part)));
            }
        }
        for &(variable, value) in fixed {
            if let Some(values) = &mut self.values[variable] {
                values[value as usize] = values[value as usize].plus(found.z);
            }
        }
    }

    /// Returns the result of `count` slices.
    fn finish(self, count: f64) -> Propagated {
        let error = self.error + count * ROUNDOFF;
        let is_possible = self.z.mantissa > 0.0;
        let part = |values: Vec<Scaled>| -> Box<[f64]> {
            let sum = values.iter().fold(Scaled::ZERO, |sum, &value| sum.plus(value));
            values.iter().map(|value| value.part_of(sum)).collect()
        };
        let most = self.values.iter().flatten().map(Vec::len).max();
        let posteriors: Posteriors = match is_possible {
            true => self.values.into_iter().map(|values| values.map(part)).collect(),
            false => Vec::new(),
        };
        // a posterior is the quotient of a value's sum and the sum of all values, which both have errors
        let of_values = |most: usize| 2.0 * (error + self.posterior_error) + (most + 4) as f64 * ROUNDOFF;
        let posterior_error = most.map_or(0.0, of_values);
        let Sums { z, collect_s, distribute_s, .. } = self;
        Propagated { z, error, posteriors, posterior_error, collect_s, distribute_s }
    }
}

impl Sliced {
    /// Returns the product with some variables at given values; the variables are given by their indices among those
    /// left. All slices of the same variables have functions of the same scopes in the same order.
    pub fn with_values(&self, values: &[(usize, u32)]) -> Sliced {
        let mut observed = vec![None; self.variables.len()];
        values.iter().for_each(|&(v, value)| observed[v] = Some(value));
        let mut sliced = Sliced {
            variables: (0..self.variables.len() as u32).filter(|&v| observed[v as usize].is_none()).collect(),
            functions: Vec::with_capacity(self.functions.len()),
            least: Vec::new(),
            domains: Vec::new(),
            left_out: Vec::new(),
            ..*self
        };
        for function in &self.functions {
            let own = slice(function, &self.domains, &observed);
            if own.scope.is_empty() {
                sliced.constant = sliced.constant.times(own.entry(0));
                sliced.rounding += ROUNDOFF;
            } else {
                sliced.functions.push(own);
            }
        }
        sliced.renumber(&self.domains);
        sliced.variables.iter_mut().for_each(|v| *v = self.variables[*v as usize]);
        sliced
    }
}
