//! Intervals of posteriors if the sum is only bounded. If a part of the sum gives a value the posterior p, the value's
//! posterior in the whole is at least p times the part divided by the upper bound of the sum. It is at most 1 minus the
//! lower bounds of the other values.

use super::evidence::Evidence;
use super::floor::Floor;
use super::found::{SumBounds, Values};
use super::options::Options;
use super::prepared::{Marginals, compute};
use super::tuning;
use crate::error::Error;
use crate::model::{Potentials, Scaled};
use crate::order::Ordering;
use crate::stop::Stop;
use std::time::Instant;

/// Bounds on a sum and on posteriors.
#[derive(Clone, Debug)]
pub struct Bounded {
    /// Bounds on the sum.
    pub bounds: SumBounds,
    /// A part of the sum with the requested posteriors; `None` if no part was computed.
    pub part: Option<Box<Marginals>>,
}

/// The lower and the upper bound of a probability.
pub type Interval = [f64; 2];

impl From<SumBounds> for Bounded {
    fn from(bounds: SumBounds) -> Self {
        Bounded { bounds, part: None }
    }
}

impl Bounded {
    /// Returns an interval for the posterior of each value of a variable.
    pub fn intervals(&self, variable: usize, domain: u32) -> Box<[Interval]> {
        let known = self.part.as_ref().and_then(|part| Some((part, part.posteriors.get(variable)?.as_deref()?)));
        let Some((part, posterior)) = known else { return vec![[0.0, 1.0]; domain as usize].into() };
        let share = (part.ln_z - part.error_bound - self.bounds.upper).exp() * (1.0 - part.posterior_error);
        // the difference of logarithms and the results derived from it are rounded
        let rounding = (1.0 - 4.0 * f64::EPSILON * (1.0 + part.ln_z.abs() + self.bounds.upper.abs())).max(0.0);
        let least: Vec<f64> = posterior.iter().map(|p| (share * rounding * p).clamp(0.0, 1.0)).collect();
        let all: f64 = least.iter().sum();
        let most = |own: f64| (1.0 - (all - own) + 4.0 * f64::EPSILON * f64::from(domain)).clamp(own, 1.0);
        least.iter().map(|&own| [own, most(own)]).collect()
    }
}

/// The largest part so far with its posteriors.
#[derive(Debug)]
pub(super) struct Shares {
    /// For each variable of the search, its index in the whole product.
    variables: Vec<u32>,
    /// Options for sums of parts; `None` if no posteriors are requested.
    options: Option<Options>,
    part: Option<Box<Marginals>>,
    lower: Scaled,
    /// Seconds that the posteriors took.
    spent: f64,
}

impl Shares {
    /// Returns a state without a part. `places` is the position of each of `variables` in the elimination order.
    pub fn new(variables: &[u32], places: &[usize], potentials: &Potentials, options: &Options) -> Self {
        let mut whole = vec![usize::MAX; potentials.domains.len()];
        variables.iter().zip(places).for_each(|(&v, &place)| whole[v as usize] = place);
        let asks = options.variables.as_ref().is_none_or(|asked| !asked.is_empty());
        let own = || options.clone().with(|options| options.order = Ordering::Given(whole));
        Shares { variables: variables.to_vec(), options: asks.then(own), part: None, lower: Scaled::ZERO, spent: 0.0 }
    }

    /// Computes the posteriors of the search's largest part if that part is new and its share of `seconds` is not
    /// spent.
    ///
    /// # Errors
    /// Returns [`Error::Stopped`] if `stop` is set.
    pub fn step(
        &mut self,
        floor: &Floor<'_>,
        potentials: &Potentials,
        evidence: &Evidence,
        seconds: f64,
        stop: &Stop,
    ) -> Result<(), Error> {
        let (lower, values) = (floor.lower().0, floor.best());
        let Some(options) = &self.options else { return Ok(()) };
        if !lower.is_above(self.lower) || self.spent > seconds * tuning::CHECKING {
            return Ok(());
        }
        let began = Instant::now();
        let whole = |&(v, value): &(u32, u32)| (self.variables[v as usize], value);
        let mut evidence = evidence.clone();
        evidence.values.extend(values.iter().map(whole).collect::<Values>());
        match compute(potentials, &evidence, options, stop) {
            Ok(part) if part.ln_z > f64::NEG_INFINITY => (self.part, self.lower) = (Some(part.into()), lower),
            // the bounds do not depend on the part
            Ok(_) | Err(Error::Memory(_)) => self.lower = lower,
            Err(error) => return Err(error),
        }
        self.spent += began.elapsed().as_secs_f64();
        Ok(())
    }

    /// Returns the part together with bounds on the sum.
    pub fn with(self, bounds: SumBounds) -> Bounded {
        Bounded { bounds, part: self.part }
    }
}
