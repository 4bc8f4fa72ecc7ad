//! Upper bounds on sums, and on largest sums, by weighted mini-buckets.
//!
//! By Hoelder's inequality the sum over x of a product of functions f_i is at most the product of (sum over x of
//! f_i^(1/w_i))^w_i, for weights w_i above 0 that add up to 1. In the limit of weight 0 the largest value of a function
//! counts (Liu and Ihler, "Bounding the partition function using Hoelder's inequality", 2011; with a weight of 1 for
//! one mini-bucket it is the bound of Dechter and Rish, 2003). A maximised variable has weights of 0. The bound also
//! holds if it is eliminated before a summed one, because the largest sum is at most the sum of largest values (Park
//! and Darwiche, "Solving MAP exactly using systematic search", 2003).

use super::sliced::Sliced;
use crate::algebra::{OfNumbers, Range, SumMax, SumProduct};
use crate::elimination::cpu::{Store, poll};
use crate::elimination::executor::Task;
use crate::elimination::{EliminationPlan, Factors, Placement, Source, scatter};
use crate::error::Error;
use crate::model::{LEAST_EXPONENT, ROUNDOFF, Scaled, scale};
use crate::stop::Stop;
use crate::tensor::storage::Storage;
use rayon::prelude::*;

/// Entries between two checks of the stop flag.
const CHUNK: usize = 1 << 14;

/// How the mini-buckets of a bucket share its weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Weights {
    /// All mini-buckets have equal weights.
    Equal,
    /// The first mini-bucket has all the weight; the others are maximised.
    First,
}

/// Functions divided by their largest entry and raised to the power of their step.
#[derive(Debug)]
struct Powered<'a> {
    sliced: &'a Sliced,
    /// The power of each function.
    powers: Vec<f64>,
    /// The largest entry of each function.
    largest: Vec<f64>,
}

impl Factors<SumMax<SumProduct>> for Powered<'_> {
    fn load(&self, source: Source, variables: &[u32], semiring: SumMax<SumProduct>) -> Storage<f64> {
        let Source::Function(f) = source else { return [1.0].into_iter().collect() };
        let function = &self.sliced.functions[f as usize];
        let (power, largest) = (self.powers[f as usize], self.largest[f as usize]);
        let entry = |entry| raised(entry / largest, power);
        scatter(&function.table, &function.scope, variables, &self.sliced.domains, semiring, entry)
    }
}

/// Returns the upper bound that a plan gives, rounded up; its buckets may be split. `late` marks the maximised
/// variables.
///
/// # Errors
/// Returns an error if there is no memory for a table, and [`Error::Stopped`] if `stop` is set.
pub(super) fn upper(
    sliced: &Sliced,
    plan: &EliminationPlan,
    placement: &Placement,
    weights: Weights,
    late: &[bool],
    stop: &Stop,
) -> Result<Scaled, Error> {
    let shares = shares(plan, weights, late);
    let spreads: Vec<Spread> = sliced.functions.iter().map(|function| Spread::of(&function.table)).collect();
    let largest = spreads.iter().map(|spread| spread.largest).collect();
    let mut factors = Powered { sliced, powers: vec![1.0; sliced.functions.len()], largest };
    for (step, &weight) in plan.steps.iter().zip(&shares) {
        for input in &step.inputs {
            if let (Source::Function(f), true) = (input.source, weight > 0.0) {
                factors.powers[f as usize] = 1.0 / weight;
            }
        }
    }
    let task = |max| Task { plan, placement, factors: &factors, semiring: SumMax { numbers: SumProduct, max } };
    let mut store = Store::new(task(false));
    let mut least = vec![0i64; plan.steps.len()];
    let times_largest = |z: Scaled, own: &Spread| z.times(Scaled::new(own.largest));
    let mut z = spreads.iter().fold(sliced.taken_out(), times_largest);
    let mut error = sliced.rounding + sliced.functions.len() as f64 * ROUNDOFF;
    for (index, (step, &weight)) in plan.steps.iter().zip(&shares).enumerate() {
        stop.check()?;
        let mut smallest = 0i64;
        for input in &step.inputs {
            let power = if weight > 0.0 { 1.0 / weight } else { 1.0 };
            let own = match input.source {
                Source::Message(from) => {
                    let message = &mut store.messages[from as usize];
                    if power == 1.0 {
                        least[from as usize] - 1
                    } else {
                        // without this division, powers of a message below 1 could all be below the range of doubles
                        let own = Spread::of(message);
                        z = z.times(Scaled::new(own.largest));
                        raise(message, own.largest, power, stop)?;
                        own.least
                    }
                }
                Source::Function(f) => spreads[f as usize].least,
                Source::Unary => 0,
            };
            smallest += ((own as f64 * power).floor() as i64).max(LEAST_EXPONENT);
        }
        while !store.slice(task(weight == 0.0), index, poll())?.1 {
            stop.check()?;
        }
        let message = &mut store.messages[index];
        let added = plan.domains[step.position as usize];
        if smallest < LEAST_EXPONENT {
            // products below the range of doubles became 0; at most this much is missing
            let missing = scale(f64::from(added), LEAST_EXPONENT);
            message.iter_mut().for_each(|entry| *entry += missing);
        }
        raise(message, 1.0, if weight > 0.0 { weight } else { 1.0 }, stop)?;
        let Range { exponent, least: own } = SumProduct.normalise(message);
        least[index] = own;
        z.exponent += exponent;
        // roundings of the powers (two each), of the quotients and of the products
        error += f64::from(5 * step.inputs.len() as u32 + added + 4) * ROUNDOFF;
        if let ([], [root]) = (&step.scope[..], &store.messages[index][..]) {
            z = z.times(Scaled::new(*root));
        }
    }
    Ok(z.times(Scaled::new(1.0 + 2.0 * error)))
}

/// Returns the weight of each step; 0 if the largest value counts.
fn shares(plan: &EliminationPlan, weights: Weights, late: &[bool]) -> Vec<f64> {
    let mut shares = vec![0.0; plan.steps.len()];
    for (bounds, &variable) in plan.first.windows(2).zip(&plan.sequence) {
        if late[variable as usize] {
            continue;
        }
        let bucket = bounds[0] as usize..bounds[1] as usize;
        // lowered steps are maximised; each bucket has at least one other step
        let summed: Vec<usize> = bucket.filter(|&step| !plan.steps[step].lowered).collect();
        for (place, &step) in summed.iter().enumerate() {
            shares[step] = match weights {
                Weights::Equal => 1.0 / summed.len() as f64,
                Weights::First => f64::from(u8::from(place == 0)),
            };
        }
    }
    shares
}

/// The spread of a table's entries.
#[derive(Clone, Copy, Debug)]
struct Spread {
    /// The largest entry; 1 if all are 0.
    largest: f64,
    /// An exponent of two, at most 0, such that no quotient of an entry above 0 and the largest entry is below that
    /// power.
    least: i64,
}

impl Spread {
    fn of(table: &[f64]) -> Self {
        let largest = table.iter().copied().fold(0.0, f64::max);
        let least = table.iter().copied().filter(|&entry| entry > 0.0).fold(largest, f64::min);
        match largest > 0.0 {
            true => Spread { largest, least: Scaled::new(least / largest).exponent - 1 },
            false => Spread { largest: 1.0, least: 0 },
        }
    }
}

/// Divides all entries by `largest` and raises them to a power.
fn raise(table: &mut [f64], largest: f64, power: f64, stop: &Stop) -> Result<(), Error> {
    if power == 1.0 {
        return Ok(());
    }
    table.par_chunks_mut(CHUNK).try_for_each(|entries| {
        entries.iter_mut().for_each(|entry| *entry = raised(*entry / largest, power));
        stop.check()
    })
}

/// Returns a power of an entry; a positive entry never becomes 0.
#[inline]
fn raised(entry: f64, power: f64) -> f64 {
    let all = match power {
        1.0 => return entry,
        2.0 => entry * entry,
        0.5 => entry.sqrt(),
        _ => entry.powf(power),
    };
    if entry > 0.0 { all.max(scale(1.0, LEAST_EXPONENT)) } else { 0.0 }
}
