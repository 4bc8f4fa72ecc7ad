//! Linear constraints of bits as tables.

use crate::model::{Builder, Cost, ModelError};
use std::collections::BTreeMap;

/// Combinations that are listed, and steps of the search for them.
const LISTED: usize = 1 << 12;
const STEPS: usize = 1 << 16;

/// Constraints of up to this number of variables list all combinations.
const DENSE: usize = 12;

/// The comparison of a constraint.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    AtLeast,
    AtMost,
    Equal,
}

/// Why a constraint is not read.
pub(super) enum Problem {
    /// It has too many combinations of either kind.
    Wide,
    Model(ModelError),
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

    /// Sets the range.
    pub fn close(&mut self, shape: Shape, bound: i64) {
        let bound = i128::from(bound) - self.constant;
        self.least = (shape != Shape::AtMost).then_some(bound);
        self.most = (shape != Shape::AtLeast).then_some(bound);
        self.weights.retain(|_, weight| *weight != 0);
    }

    /// How many variables it has.
    pub fn len(&self) -> usize {
        self.weights.len()
    }

    fn holds(&self, sum: i128) -> bool {
        self.least.is_none_or(|least| sum >= least) && self.most.is_none_or(|most| sum <= most)
    }

    /// Adds the function that costs this where the constraint is violated.
    pub fn add_to(&self, builder: &mut Builder, cost: Cost) -> Result<(), Problem> {
        let n = self.weights.len();
        let scope: Vec<u32> = self.weights.keys().copied().collect();
        let weights: Vec<i128> = self.weights.values().copied().collect();
        // least and most of the sums from each place on
        let mut rest = vec![(0, 0); n + 1];
        for place in (0..n).rev() {
            let (least, most) = rest[place + 1];
            rest[place] = (least + weights[place].min(0), most + weights[place].max(0));
        }
        if cost == 0 || self.listed(&weights, &rest, false, 1).is_some_and(|none| none.is_empty()) {
            return Ok(());
        }
        if n <= DENSE {
            let of = |index: usize| {
                let set = |place: usize| index >> (n - 1 - place) & 1 == 1;
                let sum = (0..n).filter(|&place| set(place)).map(|place| weights[place]).sum();
                if self.holds(sum) { 0 } else { cost }
            };
            return builder.dense(&scope, (0..1 << n).map(of).collect()).map(drop).map_err(Problem::Model);
        }
        for satisfied in [false, true] {
            if let Some(tuples) = self.listed(&weights, &rest, satisfied, LISTED) {
                let (default, own) = if satisfied { (cost, 0) } else { (0, cost) };
                let costs = vec![own; tuples.len() / n];
                return builder.sparse(&scope, default, tuples, costs).map(drop).map_err(Problem::Model);
            }
        }
        Err(Problem::Wide)
    }

    /// The combinations that satisfy or violate it; `None` where there are too many of them.
    fn listed(&self, weights: &[i128], rest: &[(i128, i128)], satisfied: bool, most: usize) -> Option<Vec<u32>> {
        let n = weights.len();
        let (mut tuples, mut steps) = (Vec::new(), 0);
        // values of the first variables and their sum
        let mut open = vec![(Vec::new(), 0i128)];
        while let Some((values, sum)) = open.pop() {
            steps += 1;
            if steps > STEPS {
                return None;
            }
            let (low, high) = (sum + rest[values.len()].0, sum + rest[values.len()].1);
            let above = self.least.is_none_or(|least| low >= least);
            let below = self.most.is_none_or(|most| high <= most);
            let none_holds = self.least.is_some_and(|least| high < least) || self.most.is_some_and(|most| low > most);
            if if satisfied { none_holds } else { above && below } {
                continue;
            }
            if values.len() == n {
                if self.holds(sum) == satisfied {
                    if tuples.len() >= most * n.max(1) {
                        return None;
                    }
                    tuples.extend(values);
                    if n == 0 {
                        tuples.push(0); // a mark of the one empty combination
                    }
                }
                continue;
            }
            for value in [1u32, 0] {
                let mut longer = values.clone();
                longer.push(value);
                open.push((longer, sum + i128::from(value) * weights[values.len()]));
            }
        }
        Some(tuples)
    }
}
