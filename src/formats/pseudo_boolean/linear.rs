//! Linear constraints of bits.

use crate::globals::{Decomposer, Refusal};
use crate::model::{Builder, COST_LIMIT, Cost, FORBIDDEN, Global, GlobalKind, Linear, Measure, Price, Target};
use crate::stop::Stop;
use std::collections::BTreeMap;

/// The comparison of a constraint.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    AtLeast,
    AtMost,
    Equal,
}

/// A sum of weighted bits and the range it must stay in.
#[derive(Default)]
pub(super) struct Constraint {
    weights: BTreeMap<u32, i128>,
    /// What is added to the sum.
    constant: i128,
    least: Option<i128>,
    most: Option<i128>,
}

impl Constraint {
    /// Adds a bit or its negation.
    pub fn add(&mut self, weight: i64, variable: u32, negated: bool) {
        let weight = i128::from(weight);
        if negated {
            self.constant += weight;
        }
        *self.weights.entry(variable).or_default() += if negated { -weight } else { weight };
    }

    /// Sets the range. False where the numbers are too large for 64 bits.
    pub fn close(&mut self, shape: Shape, bound: i64) -> bool {
        let bound = i128::from(bound) - self.constant;
        self.least = (shape != Shape::AtMost).then_some(bound);
        self.most = (shape != Shape::AtLeast).then_some(bound);
        self.weights.retain(|_, weight| *weight != 0);
        let sum: i128 = self.weights.values().map(|weight| weight.abs()).sum();
        sum.max(bound.abs()) < COST_LIMIT.into()
    }

    /// Adds the function that costs this where the constraint is violated: a clause where one assignment of few bits
    /// violates it, else a global function.
    pub fn add_to(
        &self,
        builder: &mut Builder,
        cost: Cost,
        decomposer: &mut Decomposer,
        stop: &Stop,
    ) -> Result<(), Refusal> {
        let scope: Vec<u32> = self.weights.keys().copied().collect();
        let weights: Vec<i128> = self.weights.values().copied().collect();
        let low: i128 = weights.iter().map(|&weight| weight.min(0)).sum();
        let high: i128 = weights.iter().map(|&weight| weight.max(0)).sum();
        let (least, most) = (self.least.unwrap_or(low), self.most.unwrap_or(high));
        if cost == 0 || low >= least && high <= most {
            return Ok(());
        }
        if low > most || high < least || least > most {
            let _ = builder.dense(&[], vec![cost])?;
            return Ok(());
        }
        // the smallest step away from either end
        let step = weights.iter().map(|weight| weight.abs()).min().unwrap_or(0);
        // whether the one assignment that violates it has the least sum or the largest
        let violated = match (low < least, high > most) {
            (true, false) if low + step >= least => Some(true),
            (false, true) if high - step <= most => Some(false),
            _ => None,
        };
        if let Some(at_least_sum) = violated.filter(|_| scope.len() <= super::DENSE) {
            let tuple = weights.iter().map(|&weight| u32::from((weight < 0) == at_least_sum));
            return Ok(super::add_tuple(builder, &scope, tuple, cost)?);
        }
        // they fit: see `close`
        let fits = |number: i128| number as i64;
        let linear = Linear {
            weights: weights.iter().map(|&weight| vec![0, fits(weight)]).collect(),
            target: Target::Within(fits(least.max(low)), fits(most.min(high))),
            price: Price { cost, measure: Measure::Hard },
            at_most_one: Vec::new(),
        };
        let kind = GlobalKind::Linear(linear);
        let global = Global { scope: scope.into(), keyword: "linear".into(), kind, limit: FORBIDDEN };
        decomposer.add(builder, global, stop).map(drop)
    }
}
