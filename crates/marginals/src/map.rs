//! Marginal MAP: the values of some variables for which the sum over all others is largest.
//!
//! Sum and maximum do not commute: the order eliminates the summed variables before the maximised ones (Park and
//! Darwiche, "Complexity results and approximation strategies for MAP explanations", 2004).

use super::evidence::Evidence;
use super::options::Options;
use super::prepared::{Tabled, Tree};
use super::propagate::{Collected, Planned, Trouble};
use super::rows::{self, Listed};
use super::simplify::Keep;
use super::sliced::Sliced;
use crate::algebra::{OfNumbers, SumMax, SumProduct, WideSumProduct};
use crate::check::{MarginalsClaim, check_marginals};
use crate::elimination::{EliminationPlan, Source};
use crate::error::Error;
use crate::memory;
use crate::model::{Potentials, ROUNDOFF, Scaled};
use crate::order::{Method, Order};
use crate::stop::Stop;
use std::time::Instant;

/// A solution of marginal MAP.
#[derive(Clone, Debug, PartialEq)]
pub struct MarginalMap {
    /// The natural logarithm of the sum at these values; minus infinity if no assignment has a product above 0.
    pub ln_value: f64,
    /// The absolute error of `ln_value`, at most.
    pub error_bound: f64,
    /// A value of each maximised variable, in the order in which they were given; empty if the sum is 0.
    pub values: Vec<u32>,
    /// The seconds that the computation took without the search for an order.
    pub collect_s: f64,
}

/// A product that is ready for marginal MAP.
#[derive(Debug)]
pub struct PreparedMap<'a> {
    pub(super) potentials: &'a Potentials,
    pub(super) evidence: &'a Evidence,
    pub(super) maximised: Vec<u32>,
    /// The sliced product and its plan; `None` if the evidence contradicts itself.
    pub(super) tree: Option<Tabled>,
    /// For each variable that is left, whether it is maximised.
    pub(super) late: Vec<bool>,
    pub(super) options: Options,
    memory: u64,
    /// The seconds that the search for an order took.
    pub order_s: f64,
}

impl<'a> PreparedMap<'a> {
    /// Slices the tables, searches for an order and plans. Variables of `maximised` that are observed keep their
    /// values.
    ///
    /// # Errors
    /// Returns an error if evidence or variables do not fit, and [`Error::Stopped`] if `stop` is set.
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
        let sliced = Sliced::new(potentials, evidence, is_maximised, Keep::These(&is_maximised), stop)?;
        let began = Instant::now();
        let mut late = Vec::new();
        let tree = match sliced {
            Some(sliced) => {
                late = sliced.variables.iter().map(|v| maximised.contains(v)).collect();
                let structure = sliced.structure();
                let methods = [Method::MinFill, Method::WeightedMinFill, Method::MinDegree];
                let order = |method| Order::constrained(&structure, method, 1, &late, f64::INFINITY, stop);
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
            options: options.clone(),
            memory: options.memory.unwrap_or_else(|| memory::available() / 2),
            order_s: began.elapsed().as_secs_f64(),
        })
    }

    /// Returns the sizes of the bucket tree, or `None` if the evidence contradicts itself.
    pub fn tree(&self) -> Option<Tree> {
        self.tree.as_ref().map(|tree| tree.sizes(true))
    }

    /// Computes the best values; the checker recomputes their sum.
    ///
    /// # Errors
    /// Returns [`Error::Memory`] if the tables exceed the memory limit, and [`Error::Stopped`] if `stop` is set.
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
        let found = match largest(tree.planned(), &self.late, SumProduct, Made::Tables, stop) {
            Err(Trouble::Narrow) => {
                fits(bytes.saturating_mul(2))?;
                largest(tree.planned(), &self.late, WideSumProduct, Made::Tables, stop)
            }
            found => found,
        };
        let (z, error, own) = found?.ok_or_else(|| Error::Internal("tables have no rows".into()))?;
        if z.mantissa == 0.0 {
            return Ok(MarginalMap { collect_s: began.elapsed().as_secs_f64(), ..impossible });
        }
        let ln_value = z.ln();
        let observed = |variable: u32| self.evidence.values.iter().find(|&&(seen, _)| seen == variable);
        let value = |&variable: &u32| match tree.sliced.variables.binary_search(&variable) {
            Ok(place) => own[place],
            Err(_) => observed(variable).map_or_else(|| tree.sliced.fixed(variable).unwrap_or(0), |&(_, value)| value),
        };
        let found = MarginalMap {
            ln_value,
            error_bound: tree.sliced.rounding + error + (2.0 + 2.0 * ln_value.abs()) * ROUNDOFF,
            values: self.maximised.iter().map(value).collect(),
            collect_s: began.elapsed().as_secs_f64(),
        };
        self.verify(&found.values, found.ln_value, found.error_bound, false, stop)?;
        Ok(found)
    }

    /// Returns whether the tables fit into the memory limit.
    pub fn fits(&self) -> bool {
        self.tree.as_ref().is_none_or(|tree| tree.sizes(true).bytes <= self.memory)
    }

    /// Lets the checker recompute the sum at the values. The sum must equal `ln_value`, or not be below it if
    /// `at_least` is set.
    pub(super) fn verify(
        &self,
        values: &[u32],
        ln_value: f64,
        error_bound: f64,
        at_least: bool,
        stop: &Stop,
    ) -> Result<(), Error> {
        let mut all = self.evidence.values.clone();
        all.extend(self.maximised.iter().copied().zip(values.iter().copied()));
        let claim = MarginalsClaim {
            values: all,
            weights: self.evidence.weights.clone(),
            ln_z: Some(ln_value),
            at_least,
            error_bound,
            ..MarginalsClaim::default()
        };
        match check_marginals(self.potentials, &claim, stop) {
            Err(Error::Refused(what)) => Err(Error::Internal(format!("marginal MAP: {what}"))),
            other => other.map(drop),
        }
    }
}

/// The form of messages.
#[derive(Clone, Copy, Debug)]
pub(super) enum Made {
    /// Dense tables.
    Tables,
    /// Lists of entries above 0, with at most this many rows in all.
    Rows(usize),
}

/// Messages as tables or as lists.
pub(super) enum Messages<S: OfNumbers> {
    Tables(Collected<S>),
    Rows(Listed<S>),
}

impl<S: OfNumbers> Messages<S> {
    /// Computes all messages. Returns `None` if lists would have too many rows.
    pub fn collect(
        planned: Planned<'_>,
        semiring: &dyn Fn(u32) -> S,
        made: Made,
        stop: &Stop,
    ) -> Result<Option<Self>, Trouble> {
        match made {
            Made::Tables => Ok(Some(Messages::Tables(planned.collect(semiring, stop)?))),
            Made::Rows(most) => Ok(rows::collect(planned, semiring, most, stop)?.map(Messages::Rows)),
        }
    }

    /// Returns the sum over all assignments and its relative error.
    pub fn sum(&self) -> (Scaled, f64) {
        match self {
            Messages::Tables(Collected { z, error, .. }) | Messages::Rows(Listed { z, error, .. }) => (*z, *error),
        }
    }

    /// Returns the entry of the message of step `from` over `scope` at the given values.
    fn value(&self, plan: &EliminationPlan, from: u32, scope: &[u32], semiring: S, values: &[u32]) -> Scaled {
        let value = |position: u32| values[plan.sequence[position as usize] as usize];
        match self {
            Messages::Tables(collected) => {
                let along = |index: usize, &p: &u32| index * plan.domains[p as usize] as usize + value(p) as usize;
                semiring.value(collected.messages[from as usize][scope.iter().fold(0, along)])
            }
            Messages::Rows(listed) => listed.value(from, semiring, value),
        }
    }
}

/// Returns the largest sum of a plan, its relative error, and values of the variables that are left. `late` marks the
/// maximised variables; values of the others have no meaning. If a sum follows a maximum, the result is an upper bound
/// on the largest sum. Returns `None` if lists would have too many rows.
pub(super) fn largest<S: OfNumbers>(
    planned: Planned<'_>,
    late: &[bool],
    numbers: S,
    made: Made,
    stop: &Stop,
) -> Result<Option<(Scaled, f64, Vec<u32>)>, Trouble> {
    let plan = planned.plan;
    let late = |position: u32| plan.sequence.get(position as usize).is_some_and(|&v| late[v as usize]);
    let semiring = |position| SumMax { numbers, max: late(position) };
    let Some(messages) = Messages::collect(planned, &semiring, made, stop)? else { return Ok(None) };
    let values = match planned.placement.keep_messages {
        true => decode(planned, &semiring, &messages, &late, &mut best, stop)?,
        false => vec![0; plan.sequence.len()],
    };
    let (sum, error) = messages.sum();
    Ok(Some((sum, error, values)))
}

/// Returns the index of the first of the largest products.
pub(super) fn best(products: &[Scaled]) -> u32 {
    let better = |best: usize, at: usize| if products[at].is_above(products[best]) { at } else { best };
    (1..products.len()).fold(0, better) as u32
}

/// Assigns values from the last eliminated variable on. `pick` chooses the value of each position that is `decided`,
/// from the product of its bucket for each value given those assigned before. Undecided variables have value 0.
pub(super) fn decode<S: OfNumbers>(
    Planned { sliced, plan, .. }: Planned<'_>,
    semiring: &dyn Fn(u32) -> S,
    messages: &Messages<S>,
    decided: &dyn Fn(u32) -> bool,
    pick: &mut dyn FnMut(&[Scaled]) -> u32,
    stop: &Stop,
) -> Result<Vec<u32>, Error> {
    let mut values = vec![0u32; plan.sequence.len()];
    for position in stop.each((0..plan.sequence.len()).rev()) {
        let position = position?;
        if !decided(position as u32) {
            continue;
        }
        let own = plan.sequence[position] as usize;
        let mut products = Vec::with_capacity(sliced.domains[own] as usize);
        for value in 0..sliced.domains[own] {
            values[own] = value;
            let mut product = Scaled::ONE;
            for input in plan.bucket(position).iter().flat_map(|step| step.inputs.iter()) {
                product = product.times(match input.source {
                    Source::Message(from) => {
                        messages.value(plan, from, &input.scope, semiring(position as u32), &values)
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
            products.push(product);
        }
        values[own] = pick(&products);
    }
    Ok(values)
}
