//! Bounds before anything is eliminated or expanded: the value of the best policy lies between sums of the extremes of
//! utilities or rewards. They take one scan of the input, so that a run that is stopped at once has an interval.

use crate::model::{Diagram, Pomdp, Potential, SparseRows};

/// Bounds on a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Interval {
    pub least: f64,
    pub most: f64,
}

impl Interval {
    const ZERO: Interval = Interval { least: 0.0, most: 0.0 };
    const ONE: Interval = Interval { least: 1.0, most: 1.0 };

    /// Returns the smallest interval that contains all numbers.
    pub fn of(numbers: impl Iterator<Item = f64>) -> Interval {
        let none = Interval { least: f64::INFINITY, most: f64::NEG_INFINITY };
        numbers.fold(none, |all, x| Interval { least: all.least.min(x), most: all.most.max(x) })
    }

    fn plus(self, other: Interval) -> Interval {
        Interval { least: self.least + other.least, most: self.most + other.most }
    }

    fn times(self, other: Interval) -> Interval {
        let products =
            [self.least * other.least, self.least * other.most, self.most * other.least, self.most * other.most];
        Interval::of(products.into_iter())
    }

    fn widened(self, by: f64) -> Interval {
        Interval { least: self.least - by, most: self.most + by }
    }

    /// Returns the largest absolute value.
    fn size(self) -> f64 {
        self.least.abs().max(self.most.abs())
    }

    /// Returns the interval if both ends are finite and in order, otherwise `None`.
    fn finite(self) -> Option<Interval> {
        (self.least.is_finite() && self.most.is_finite() && self.least <= self.most).then_some(self)
    }
}

/// Returns bounds on the value of the best policy of a diagram, conditional on the observation if there is one.
/// `irregular` is the relative amount by which the value depends on rows that do not sum to 1. Returns `None` if the
/// probabilities are not those of an acyclic network, or if numbers are too large.
pub(super) fn of_diagram(diagram: &Diagram, conditional: bool, irregular: f64) -> Option<Interval> {
    // given an observation, the value is a weighted mean, whatever the probabilities sum to
    let mass = if conditional { Interval::ONE } else { mass(diagram)? };
    let utilities = diagram.utilities.iter().map(|utility| Interval::of(utility.table.iter().copied()));
    let (sum, size) = utilities.fold((Interval::ZERO, 0.0), |(sum, size), own| (sum.plus(own), size + own.size()));
    let domain = |function: &Potential| function.scope.last().map_or(1, |&v| diagram.nodes[v as usize].domain);
    let terms = diagram.probabilities.iter().map(|function| f64::from(domain(function)) + 2.0).sum::<f64>();
    let slack = irregular + f64::EPSILON * (terms + diagram.utilities.len() as f64);
    sum.times(mass).widened(slack * size * mass.most.max(1.0)).finite()
}

/// Returns bounds on the sum of the products of all probabilities under any policy, from the extremes of the sums of
/// rows. Returns `None` if a probability is negative or the network has a cycle.
fn mass(diagram: &Diagram) -> Option<Interval> {
    let n = diagram.nodes.len();
    let mut functions = vec![0usize; n];
    let (mut children, mut parents) = (vec![Vec::new(); n], vec![0usize; n]);
    let mut all = Interval::ONE;
    if diagram.probabilities.iter().any(|function| function.table.iter().any(|&p| p < 0.0)) {
        return None;
    }
    for function in &diagram.probabilities {
        let Some((&child, others)) = function.scope.split_last() else {
            all = all.times(Interval::of(function.table.iter().copied()));
            continue;
        };
        functions[child as usize] += 1;
        parents[child as usize] += others.len();
        others.iter().for_each(|&parent| children[parent as usize].push(child));
        let rows = function.table.chunks(diagram.nodes[child as usize].domain as usize);
        all = all.times(Interval::of(rows.map(|row| row.iter().sum::<f64>())));
    }
    for (decision, sees) in diagram.decisions() {
        parents[decision as usize] += sees.len();
        sees.iter().for_each(|&seen| children[seen as usize].push(decision));
    }
    // Summed from the last variables to the first, each function contributes a sum of its rows. If a variable has two
    // functions, or a decision has one, single entries contribute, and none exceeds that sum.
    let once = |v: usize| functions[v] == usize::from(!diagram.nodes[v].decision);
    if !(0..n).all(once) {
        all.least = 0.0;
        // a variable without probabilities contributes its number of values
        let free = (0..n).filter(|&v| functions[v] == 0 && !diagram.nodes[v].decision);
        all.most *= free.map(|v| f64::from(diagram.nodes[v].domain)).product::<f64>();
    }
    let mut ready: Vec<usize> = (0..n).filter(|&v| parents[v] == 0).collect();
    let mut sorted = 0;
    while let Some(v) = ready.pop() {
        sorted += 1;
        for &child in &children[v] {
            parents[child as usize] -= 1;
            if parents[child as usize] == 0 {
                ready.push(child as usize);
            }
        }
    }
    (sorted == n).then_some(all)
}

/// Returns bounds on the value of the best policy of a process from a belief, or `None` if numbers are too large.
pub(super) fn of_process(pomdp: &Pomdp, start: &[f64], horizon: usize) -> Option<Interval> {
    let sums = |rows: &SparseRows| Interval::of((0..rows.len()).map(|row| rows.row(row).iter().map(|(_, p)| p).sum()));
    let joined = |tables: &[SparseRows]| Interval::of(tables.iter().map(sums).flat_map(|own| [own.least, own.most]));
    let step = joined(&pomdp.transitions).times(joined(&pomdp.observations));
    let reward = Interval::of(pomdp.rewards.iter().flatten().copied());
    let (mut weight, mut value, mut size) = (Interval::of([start.iter().sum()].into_iter()), Interval::ZERO, 0.0);
    for _ in 0..horizon {
        let own = reward.times(weight);
        (value, size) = (value.plus(own), size + own.size());
        weight = weight.times(step).times(Interval { least: pomdp.discount, most: pomdp.discount });
    }
    let terms = horizon * (pomdp.states.len() + pomdp.observed() + 4);
    value.widened(f64::EPSILON * terms as f64 * size).finite()
}
