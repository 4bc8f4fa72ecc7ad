//! Sums whose tables do not fit: some variables have each of their values in turn, and what each slice comes to adds up
//! (conditioning on a cutset; Pearl, "Probabilistic reasoning in intelligent systems", 1988, section 4.3). All slices
//! share one plan.

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

/// Variables that have each of their values in turn, and the plan of what is left.
#[derive(Debug)]
pub(super) struct Conditioned {
    /// The variables, by their indices in the whole.
    cut: Vec<u32>,
    /// By them, how many values they have.
    sizes: Vec<u32>,
    /// By variable that is left, whether it is asked for.
    asked: Vec<bool>,
    /// What is left with the first value of each.
    left: Tabled,
}

/// What propagates a slice, of which some variables are asked for, in so much time.
pub(super) type Each<'a> = &'a mut dyn FnMut(Planned<'_>, &[bool], Option<Duration>) -> Result<Propagated, Trouble>;

/// How much slices may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allowed {
    /// Combinations of all of them.
    entries: f64,
    /// When they should have ended.
    until: Option<Instant>,
}

impl Allowed {
    /// A few times as many combinations as the whole, and no more than can be done in time.
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
    /// Cuts a tree by the variables that its largest cliques share until it `fits`, with what is asked for. Nothing
    /// where its slices would take more than allowed.
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

    /// Combinations of all slices.
    fn entries(&self) -> f64 {
        self.left.order.joint_entries * self.count()
    }

    /// How many slices there are.
    fn count(&self) -> f64 {
        self.sizes.iter().map(|&size| f64::from(size)).product()
    }

    /// Takes out a variable, by its index among those left.
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

    /// The sum and the posteriors by `each` slice, of which the first may take so long only. Nothing where slices say
    /// that there is too little time for all.
    ///
    /// # Errors
    /// [`Trouble`].
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
                    // it took longer than there is time for
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

/// Whether slices end in time.
struct Pace {
    /// How many there are, and how many are done.
    count: f64,
    done: f64,
    until: Option<Instant>,
    /// The end of the first one: it had kernels to wait for.
    first: Instant,
}

impl Pace {
    fn new(count: f64, until: Option<Instant>) -> Self {
        Pace { count, done: 0.0, until, first: Instant::now() }
    }

    /// How long the next one may take: of the first one is not known how long it does.
    fn limit(&self) -> Option<Duration> {
        let share = |until| remaining(until).div_f64(self.count.min(tuning::FIRST_SLICE));
        self.until.filter(|_| self.done == 0.0).map(share)
    }

    /// Whether there is time for the others, once another one is done.
    fn goes_on(&mut self) -> bool {
        self.done += 1.0;
        if self.done == 1.0 {
            self.first = Instant::now();
        }
        let each = self.first.elapsed().as_secs_f64() / (self.done - 1.0).max(1.0);
        self.until.is_none_or(|until| each * (self.count - self.done) <= remaining(until).as_secs_f64())
    }
}

/// A flag that is set once a share of the time is over, if there is one.
pub(super) fn limited(share: Option<Duration>, stop: &Stop) -> Stop {
    let limit = stop.below();
    share.into_iter().for_each(|share| limit.set_at(Instant::now() + share));
    limit
}

/// The next combination of values; false after the last one.
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
    /// Relative errors of a slice's sum, and of its posteriors, at most.
    error: f64,
    posterior_error: f64,
    /// By variable that is asked for, what its values come to.
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

    /// Adds a slice of some variables, the others being fixed; by their indices in the whole.
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

    /// What `count` slices come to.
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
        // of a value, and of the sum of all of them
        let of_values = |most: usize| 2.0 * (error + self.posterior_error) + (most + 4) as f64 * ROUNDOFF;
        let posterior_error = most.map_or(0.0, of_values);
        let Sums { z, collect_s, distribute_s, .. } = self;
        Propagated { z, error, posteriors, posterior_error, collect_s, distribute_s }
    }
}

impl Sliced {
    /// What is left where some variables, by their indices among those left, have values. All such slices have
    /// functions of the same variables in the same order.
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
