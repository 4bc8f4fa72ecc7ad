//! Marginal MAP: the values of some variables for which the sum over all others is largest.
//!
//! Sum and maximum do not commute: the order eliminates the variables that are summed first (Park and Darwiche,
//! "Complexity results and approximation strategies for MAP explanations", 2004).

use super::propagate::{Collected, Planned, Trouble};
use super::sliced::Sliced;
use super::{Evidence, Options, Tabled, Tree};
use crate::algebra::{OfNumbers, SumMax, SumProduct, WideSumProduct};
use crate::check::{MarginalsClaim, check_marginals};
use crate::elimination::{EliminationPlan, Source};
use crate::error::Error;
use crate::memory;
use crate::model::{Potentials, ROUNDOFF, Scaled};
use crate::order::{Method, Order};
use crate::stop::Stop;
use std::time::Instant;

/// The best values of some variables.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct MarginalMap {
    /// The natural logarithm of the sum at these values; minus infinity where no assignment has a product above 0.
    pub ln_value: f64,
    /// How far it may be off.
    pub error_bound: f64,
    /// A value of each variable that was to be maximised, in the order they were given; none where the sum is 0.
    pub values: Vec<u32>,
    /// Seconds that it took without the order.
    pub collect_s: f64,
}

/// A product, ready for the largest of its sums.
#[derive(Debug)]
pub struct PreparedMap<'a> {
    potentials: &'a Potentials,
    evidence: &'a Evidence,
    maximised: Vec<u32>,
    /// None where the evidence contradicts itself.
    tree: Option<Tabled>,
    /// By variable that is left, whether it is maximised.
    late: Vec<bool>,
    memory: u64,
    /// Seconds that the order took.
    pub order_s: f64,
}

impl<'a> PreparedMap<'a> {
    /// Slices tables, looks for an order and plans. Variables of `maximised` that are observed keep their values.
    ///
    /// # Errors
    /// Evidence or variables that do not fit; [`Error::Stopped`].
    pub fn new(
        potentials: &'a Potentials,
        evidence: &'a Evidence,
        maximised: &[u32],
        options: &Options,
        stop: &Stop,
    ) -> Result<Self, Error> {
        let n = potentials.domains.len();
        if let Some(variable) = maximised.iter().find(|&&variable| variable as usize >= n) {
            return Err(Error::Usage(format!("variable {variable} is to be maximised, but there are {n}")));
        }
        let is_maximised = |v| maximised.contains(&v);
        let sliced = Sliced::new(potentials, evidence, is_maximised, is_maximised, stop)?;
        let began = Instant::now();
        let mut late = Vec::new();
        let tree = match sliced {
            Some(sliced) => {
                late = sliced.variables.iter().map(|v| maximised.contains(v)).collect();
                let structure = sliced.structure();
                let methods = [Method::MinFill, Method::WeightedMinFill, Method::MinDegree];
                let order = |method| Order::constrained(&structure, method, 1, &late, stop);
                let orders = methods.into_iter().map(order);
                let best = orders.min_by(|a, b| a.joint_entries.total_cmp(&b.joint_entries));
                let order = best.expect("there are methods");
                stop.check()?;
                let (plan, placement) =
                    EliminationPlan::exact(&structure, &order, true, size_of::<f64>() as u64, stop)?;
                Some(Tabled { sliced, order, plan, placement })
            }
            None => None,
        };
        Ok(PreparedMap {
            potentials,
            evidence,
            maximised: maximised.to_vec(),
            tree,
            late,
            memory: options.memory.unwrap_or_else(|| memory::available() / 2),
            order_s: began.elapsed().as_secs_f64(),
        })
    }

    /// The sizes of the bucket tree.
    pub fn tree(&self) -> Option<Tree> {
        self.tree.as_ref().map(|tree| tree.sizes(true))
    }

    /// The best values; their sum is computed again by the checker.
    ///
    /// # Errors
    /// [`Error::Memory`] where tables would take more than they may; [`Error::Stopped`].
    pub fn run(&self, stop: &Stop) -> Result<MarginalMap, Error> {
        let began = Instant::now();
        let impossible =
            MarginalMap { ln_value: f64::NEG_INFINITY, error_bound: 0.0, values: Vec::new(), collect_s: 0.0 };
        let Some(tree) = &self.tree else { return Ok(impossible) };
        let bytes = tree.sizes(true).bytes;
        let fits = |bytes: u64| match bytes <= self.memory {
            true => Ok(()),
            false => Err(Error::Memory(format!("tables would take {bytes} bytes, {} are allowed", self.memory))),
        };
        fits(bytes)?;
        let found = match self.best(tree, SumProduct, stop) {
            Err(Trouble::Narrow) => {
                fits(bytes.saturating_mul(2))?;
                self.best(tree, WideSumProduct, stop)
            }
            found => found,
        };
        let (z, error, own) = found?;
        if z.mantissa == 0.0 {
            return Ok(MarginalMap { collect_s: began.elapsed().as_secs_f64(), ..impossible });
        }
        let ln_value = z.ln();
        let observed = |variable: u32| self.evidence.values.iter().find(|&&(seen, _)| seen == variable);
        let value = |&variable: &u32| {
            let place = tree.sliced.variables.binary_search(&variable);
            observed(variable).map_or_else(|| place.map_or(0, |place| own[place]), |&(_, value)| value)
        };
        let found = MarginalMap {
            ln_value,
            error_bound: tree.sliced.rounding + error + (2.0 + 2.0 * ln_value.abs()) * ROUNDOFF,
            values: self.maximised.iter().map(value).collect(),
            collect_s: began.elapsed().as_secs_f64(),
        };
        self.verify(&found, stop)?;
        Ok(found)
    }

    /// The sum at the values once more, by the checker.
    fn verify(&self, found: &MarginalMap, stop: &Stop) -> Result<(), Error> {
        let mut values = self.evidence.values.clone();
        values.extend(self.maximised.iter().copied().zip(found.values.iter().copied()));
        let claim = MarginalsClaim {
            values,
            weights: self.evidence.weights.clone(),
            ln_z: Some(found.ln_value),
            error_bound: found.error_bound,
            ..MarginalsClaim::default()
        };
        match check_marginals(self.potentials, &claim, stop) {
            Err(Error::Refused(what)) => Err(Error::Internal(format!("marginal MAP: {what}"))),
            other => other.map(drop),
        }
    }

    /// The largest sum, how far it may be off, and the values of what is left.
    fn best<S: OfNumbers>(&self, tree: &Tabled, numbers: S, stop: &Stop) -> Result<(Scaled, f64, Vec<u32>), Trouble> {
        let Tabled { sliced, plan, placement, .. } = tree;
        let planned = Planned { sliced, plan, placement };
        let late = |position: u32| plan.sequence.get(position as usize).is_some_and(|&v| self.late[v as usize]);
        let semiring = |position| SumMax { numbers, max: late(position) };
        let collected = planned.collect(&semiring, stop)?;
        let values = decode(planned, &semiring, &collected, &late, stop)?;
        Ok((collected.z, collected.error, values))
    }
}

/// Gives the variables that are maximised their best values, from the last eliminated on.
fn decode<S: OfNumbers>(
    Planned { sliced, plan, .. }: Planned<'_>,
    semiring: &dyn Fn(u32) -> S,
    collected: &Collected<S>,
    late: &dyn Fn(u32) -> bool,
    stop: &Stop,
) -> Result<Vec<u32>, Error> {
    let mut values = vec![0u32; plan.sequence.len()];
    let steps = stop.each(plan.steps.iter().rev());
    for step in steps {
        let step = step?;
        if !late(step.position) {
            continue;
        }
        let own = plan.sequence[step.position as usize] as usize;
        let mut best = (Scaled::ZERO, 0);
        for value in 0..sliced.domains[own] {
            values[own] = value;
            let mut product = Scaled::ONE;
            for input in &step.inputs {
                product = product.times(match input.source {
                    Source::Message(from) => {
                        let along = |index: usize, &p: &u32| {
                            let variable = plan.sequence[p as usize] as usize;
                            index * plan.domains[p as usize] as usize + values[variable] as usize
                        };
                        let at = input.scope.iter().fold(0, along);
                        semiring(step.position).value(collected.messages[from as usize][at])
                    }
                    Source::Function(f) => {
                        let function = &sliced.functions[f as usize];
                        let along = |index: usize, &v: &u32| {
                            index * sliced.domains[v as usize] as usize + values[v as usize] as usize
                        };
                        function.entry(function.scope.iter().fold(0, along))
                    }
                    Source::Unary => Scaled::ONE,
                });
            }
            if product.is_above(best.0) {
                best = (product, value);
            }
        }
        values[own] = best.1;
    }
    Ok(values)
}
