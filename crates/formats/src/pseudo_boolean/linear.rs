//! Constraints on sums of Boolean variables, with coefficients of any size.

use super::products::Products;
use super::{DENSE, Product, add_tuple};
use crate::error::ModelError;
use crate::globals::{Decomposer, Refusal};
use crate::model::{Builder, COST_LIMIT, Cost, FORBIDDEN, Global, GlobalKind, Linear, Measure, Price, Target};
use crate::stop::Stop;
use num_bigint::BigInt;
use num_integer::Integer;
use std::collections::BTreeMap;

/// The largest number of Boolean variables of a constraint that becomes a table because it has products, or
/// coefficients that exceed 64 bits.
const TABLE: usize = 10;

/// The comparison of a constraint.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    AtLeast,
    AtMost,
    Equal,
}

/// A weighted sum of Boolean variables and products, and the interval in which it must lie.
#[derive(Clone, Default)]
pub(super) struct Constraint {
    weights: BTreeMap<u32, BigInt>,
    products: Vec<(BigInt, Product)>,
    /// The constant part of the sum.
    constant: BigInt,
    least: Option<BigInt>,
    most: Option<BigInt>,
}

/// The destination of the functions of constraints.
pub(super) struct Network<'n> {
    pub builder: &'n mut Builder,
    pub decomposer: &'n mut Decomposer,
    pub products: &'n mut Products,
    pub stop: &'n Stop,
}

impl Constraint {
    /// Adds a weighted product of literals.
    pub fn add(&mut self, weight: BigInt, product: Product) {
        let mut literals = product.iter();
        match (literals.next(), literals.next()) {
            (Some((&variable, &negated)), None) => self.add_literal(weight, variable, negated),
            _ => self.products.push((weight, product)),
        }
    }

    fn add_literal(&mut self, weight: BigInt, variable: u32, negated: bool) {
        if negated {
            self.constant += &weight;
        }
        *self.weights.entry(variable).or_default() += if negated { -weight } else { weight };
    }

    /// Sets the interval.
    pub fn close(&mut self, shape: Shape, bound: &BigInt) {
        self.least = (shape != Shape::AtMost).then(|| bound.clone());
        self.most = (shape != Shape::AtLeast).then(|| bound.clone());
    }

    /// Adds functions that cost `cost` if the constraint is violated: a table if it has products and few variables,
    /// otherwise a linear function, with a new variable for each product.
    ///
    /// # Errors
    /// Returns a [`Refusal`] if 64-bit sums cannot hold the coefficients, or if a function is too large.
    pub fn add_to(&self, network: &mut Network<'_>, cost: Cost) -> Result<(), Refusal> {
        if cost == 0 {
            return Ok(());
        }
        if self.products.is_empty() {
            return self.linear().add_to(network, cost);
        }
        let of_products = self.products.iter().flat_map(|(_, product)| product.keys());
        let mut scope: Vec<u32> = self.weights.keys().chain(of_products).copied().collect();
        scope.sort_unstable();
        scope.dedup();
        if scope.len() <= TABLE {
            return Ok(self.add_table(network.builder, scope, cost)?);
        }
        let mut plain = Constraint { products: Vec::new(), ..self.clone() };
        for (weight, product) in &self.products {
            let bit = network.products.bit(network.builder, product)?;
            plain.add_literal(weight.clone(), bit, false);
        }
        plain.linear().add_to(network, cost)
    }

    /// Returns the sum without its constant and its zero weights.
    fn linear(&self) -> Weighted {
        let weights = self.weights.iter().filter(|(_, weight)| **weight != BigInt::ZERO);
        let bound = |bound: &Option<BigInt>| bound.as_ref().map(|bound| bound - &self.constant);
        let weights = weights.map(|(&v, weight)| (v, weight.clone())).collect();
        Weighted { weights, least: bound(&self.least), most: bound(&self.most) }
    }

    /// Adds a table over these variables, which include all variables of the sum.
    fn add_table(&self, builder: &mut Builder, scope: Vec<u32>, cost: Cost) -> Result<(), ModelError> {
        let costs = (0..1usize << scope.len()).map(|index| {
            let bit = |v: u32| {
                let place = scope.iter().position(|&own| own == v).unwrap_or(0);
                index >> (scope.len() - 1 - place) & 1 == 1
            };
            let linear = self.weights.iter().filter(|(v, _)| bit(**v)).map(|(_, weight)| weight);
            let holds = |product: &Product| product.iter().all(|(&v, &negated)| bit(v) != negated);
            let products = self.products.iter().filter(|(_, product)| holds(product)).map(|(weight, _)| weight);
            let sum = linear.chain(products).sum::<BigInt>() + &self.constant;
            let is_within = self.least.as_ref().is_none_or(|least| sum >= *least)
                && self.most.as_ref().is_none_or(|most| sum <= *most);
            if is_within { 0 } else { cost }
        });
        let costs: Vec<Cost> = costs.collect();
        if costs.iter().any(|&cost| cost != 0) {
            let _ = builder.dense(&scope, costs)?;
        }
        Ok(())
    }
}

/// A sum of Boolean variables with nonzero weights, and the interval in which it must lie.
struct Weighted {
    weights: Vec<(u32, BigInt)>,
    least: Option<BigInt>,
    most: Option<BigInt>,
}

impl Weighted {
    /// Returns the least and the largest possible sum.
    fn range(&self) -> (BigInt, BigInt) {
        let side = |is_low: bool| {
            let own =
                self.weights.iter().map(|(_, weight)| weight).filter(|weight| (**weight < BigInt::ZERO) == is_low);
            own.sum::<BigInt>()
        };
        (side(true), side(false))
    }

    fn add_to(mut self, network: &mut Network<'_>, cost: Cost) -> Result<(), Refusal> {
        loop {
            let (low, high) = self.range();
            self.least = self.least.filter(|least| *least > low);
            self.most = self.most.filter(|most| *most < high);
            let is_empty = match (&self.least, &self.most) {
                (None, None) => return Ok(()),
                (Some(least), Some(most)) => least > most,
                (Some(least), None) => *least > high,
                (None, Some(most)) => *most < low,
            };
            // an interval may contain no possible sum although each of its ends alone can be reached
            if is_empty || self.least.as_ref().is_some_and(|least| *least > high) {
                let _ = network.builder.dense(&[], vec![cost]).map_err(Refusal::from)?;
                return Ok(());
            }
            if &high - &low < BigInt::from(COST_LIMIT) {
                return self.add_small(network, cost);
            }
            if !self.shrink(&low) {
                break;
            }
        }
        match (self.least.take(), self.most.take()) {
            // a violated equation is violated on exactly one side
            (Some(least), Some(most)) => {
                let weights = self.weights.clone();
                Weighted { weights, least: Some(least), most: None }.add_to(network, cost)?;
                Weighted { weights: self.weights, least: None, most: Some(most) }.add_to(network, cost)
            }
            (least, most) if self.weights.len() <= TABLE => {
                let scope = self.weights.iter().map(|&(v, _)| v).collect();
                let weights = self.weights.into_iter().collect();
                let constraint = Constraint { weights, least, most, ..Constraint::default() };
                Ok(constraint.add_table(network.builder, scope, cost)?)
            }
            _ => {
                let (low, high) = self.range();
                let (bits, most) = ((high - low).bits(), COST_LIMIT.ilog2());
                Err(Refusal::TooLarge(format!(
                    "coefficients whose total has {bits} bits, after division by their greatest common divisor and \
                     caps at the bound; with more than {TABLE} variables at most {most} bits fit"
                )))
            }
        }
    }

    /// Makes the weights smaller without changing the constraint: divides them by their greatest common divisor, or
    /// caps those that alone decide the comparison. Returns false if neither is possible.
    fn shrink(&mut self, low: &BigInt) -> bool {
        let divisor = self.weights.iter().fold(BigInt::ZERO, |divisor, (_, weight)| divisor.gcd(weight));
        if divisor > BigInt::from(1) {
            self.weights.iter_mut().for_each(|(_, weight)| *weight = &*weight / &divisor);
            self.least = self.least.take().map(|least| least.div_ceil(&divisor));
            self.most = self.most.take().map(|most| most.div_floor(&divisor));
            return true;
        }
        // rewritten as a sum of literals with positive weights that must reach this bound
        let high: BigInt = self.range().1;
        let reach = match (&self.least, &self.most) {
            (Some(least), None) => least - low,
            (None, Some(most)) => high - most,
            _ => return false,
        };
        let is_cut = |weight: &BigInt| weight.magnitude() > reach.magnitude();
        if !self.weights.iter().any(|(_, weight)| is_cut(weight)) {
            return false;
        }
        for (_, weight) in &mut self.weights {
            if is_cut(weight) {
                *weight = if *weight < BigInt::ZERO { -&reach } else { reach.clone() };
            }
        }
        let (low, high) = self.range();
        self.least = self.least.take().map(|_| low + &reach);
        self.most = self.most.take().map(|_| high - &reach);
        true
    }

    /// Adds a constraint whose sums fit 64 bits: as a clause if few variables are involved and one assignment violates
    /// it, otherwise as a global function.
    fn add_small(self, network: &mut Network<'_>, cost: Cost) -> Result<(), Refusal> {
        // sums and bounds are below the limit on costs
        let fits = |number: &BigInt| i64::try_from(number).unwrap_or(i64::MAX);
        let scope: Vec<u32> = self.weights.iter().map(|&(v, _)| v).collect();
        let weights: Vec<i64> = self.weights.iter().map(|(_, weight)| fits(weight)).collect();
        let low: i64 = weights.iter().map(|&weight| weight.min(0)).sum();
        let high: i64 = weights.iter().map(|&weight| weight.max(0)).sum();
        let least = self.least.as_ref().map_or(low, fits);
        let most = self.most.as_ref().map_or(high, fits);
        // the least change of the sum from either extreme
        let step = weights.iter().map(|weight| weight.abs()).min().unwrap_or(0);
        // whether the only violating assignment has the least (true) or the largest sum (false)
        let violated = match (low < least, high > most) {
            (true, false) if low + step >= least => Some(true),
            (false, true) if high - step <= most => Some(false),
            _ => None,
        };
        if let Some(at_least_sum) = violated.filter(|_| scope.len() <= DENSE) {
            let tuple = weights.iter().map(|&weight| u32::from((weight < 0) == at_least_sum));
            return Ok(add_tuple(network.builder, &scope, tuple, cost)?);
        }
        let linear = Linear {
            weights: weights.iter().map(|&weight| vec![0, weight]).collect(),
            target: Target::Within(least, most),
            price: Price { cost, measure: Measure::Hard },
            at_most_one: Vec::new(),
        };
        let kind = GlobalKind::Linear(linear);
        let global = Global { scope: scope.into(), keyword: "linear".into(), kind, limit: FORBIDDEN };
        network.decomposer.add(network.builder, global, network.stop).map(drop)
    }
}
