//! Automata for global cost functions that count or add.

use super::machine::{Machine, State};
use crate::model::{Cost, CountCost, Counting, FORBIDDEN, Linear, Measure, Price, Same, Target, ValueCount, add};

/// Returns the price of a deviation by `gap`.
pub(super) fn charge(price: Price, gap: i64) -> Cost {
    if gap == 0 {
        return 0;
    }
    let times = match price.measure {
        Measure::Hard => 1,
        Measure::Linear => i128::from(gap),
        Measure::Quadratic => i128::from(gap) * i128::from(gap),
    };
    times_cost(price.cost, times)
}

pub(super) fn times_cost(cost: Cost, times: i128) -> Cost {
    if cost >= FORBIDDEN && times > 0 {
        FORBIDDEN
    } else {
        i128::from(cost).saturating_mul(times).min(FORBIDDEN.into()) as Cost
    }
}

/// Returns how far a number is from its target.
pub(super) fn distance(target: Target, number: i64) -> i64 {
    match target {
        // both may be positive if `low > high`: no number is within then
        Target::Within(low, high) => low.saturating_sub(number).max(number.saturating_sub(high)).max(0),
        Target::Not(there) => i64::from(number == there),
    }
}

/// A state of [`Sum`] from which every completion meets the target.
const SURELY_RIGHT: i64 = i64::MIN;
/// A state of [`Sum`] from which no completion meets the target.
const SURELY_OFF: i64 = i64::MAX;

/// An automaton that adds weights. A state is the sum so far, then for each set of [`Linear::at_most_one`] the number
/// of its pairs seen so far.
pub(super) struct Sum {
    linear: Linear,
    /// For each step, the least and the largest sum that the remaining variables can add.
    rest: Vec<(i64, i64)>,
}

impl Sum {
    pub fn new(linear: Linear) -> Self {
        let mut rest = vec![(0i64, 0i64)];
        for weights in linear.weights.iter().rev() {
            let (low, high) = rest[rest.len() - 1];
            let bound = |most: fn(i64, i64) -> i64| weights.iter().copied().reduce(most).unwrap_or(0);
            rest.push((low.saturating_add(bound(i64::min)), high.saturating_add(bound(i64::max))));
        }
        rest.reverse();
        Sum { linear, rest }
    }

    /// Returns the sum before a step, replaced by a marker if the rest can no longer change whether it meets the
    /// target.
    fn settled(&self, step: usize, sum: i64) -> i64 {
        let (Target::Within(low, high), Measure::Hard) = (self.linear.target, self.linear.price.measure) else {
            return sum;
        };
        match self.rest[step] {
            (least, most) if sum.saturating_add(least) >= low && sum.saturating_add(most) <= high => SURELY_RIGHT,
            (least, most) if sum.saturating_add(most) < low || sum.saturating_add(least) > high => SURELY_OFF,
            _ => sum,
        }
    }
}

impl Machine for Sum {
    fn order(&self) -> Vec<usize> {
        (0..self.linear.weights.len()).collect()
    }

    fn starts(&self) -> Vec<(State, Cost)> {
        let mut state = vec![0; 1 + self.linear.at_most_one.len()];
        state[0] = self.settled(0, 0);
        vec![(state.into(), 0)]
    }

    fn step(&self, step: usize, from: &State, value: u32, to: &mut dyn FnMut(State, Cost)) {
        let mut state = from.clone();
        if state[0] != SURELY_RIGHT && state[0] != SURELY_OFF {
            let sum = state[0].saturating_add(self.linear.weights[step][value as usize]);
            state[0] = self.settled(step + 1, sum);
        }
        for (set, taken) in self.linear.at_most_one.iter().zip(&mut state[1..]) {
            let times = set.iter().filter(|&&pair| pair == (step as u32, value)).count() as i64;
            *taken += times;
            if *taken > 1 {
                return;
            }
        }
        to(state, 0);
    }

    fn end(&self, state: &State) -> Cost {
        match state[0] {
            SURELY_RIGHT => 0,
            SURELY_OFF => charge(self.linear.price, 1),
            sum => charge(self.linear.price, distance(self.linear.target, sum)),
        }
    }
}

/// A relaxed sum that counts in steps of several units and costs what the nearest reachable sum costs: a lower bound of
/// [`Sum`].
pub(super) struct Coarse {
    /// For each variable, the weight of each value in steps, rounded down.
    steps: Vec<Vec<i64>>,
    /// Number of units in a step.
    unit: i128,
    /// The largest total error of rounding down, in units.
    slack: i128,
    /// The target interval, less the least possible sum.
    target: (i128, i128),
    price: Price,
}

impl Coarse {
    /// Returns an automaton with about `sums` different sums; `None` if the target is any number but one.
    pub fn new(linear: &Linear, sums: i128) -> Option<Self> {
        let Target::Within(low, high) = linear.target else { return None };
        let least = |weights: &Vec<i64>| i128::from(weights.iter().copied().min().unwrap_or(0));
        let above = |weights: &Vec<i64>| weights.iter().map(|&w| i128::from(w) - least(weights)).collect::<Vec<i128>>();
        let weights: Vec<Vec<i128>> = linear.weights.iter().map(above).collect();
        let largest = |of: &dyn Fn(i128) -> i128| {
            weights.iter().map(|own| own.iter().map(|&w| of(w)).max().unwrap_or(0)).sum::<i128>()
        };
        let unit = largest(&|w| w) / sums + 1;
        let shift: i128 = linear.weights.iter().map(least).sum();
        Some(Coarse {
            steps: weights.iter().map(|own| own.iter().map(|&w| (w / unit) as i64).collect()).collect(),
            unit,
            slack: largest(&|w| w % unit),
            target: (i128::from(low) - shift, i128::from(high) - shift),
            price: linear.price,
        })
    }
}

impl Machine for Coarse {
    fn order(&self) -> Vec<usize> {
        (0..self.steps.len()).collect()
    }

    fn starts(&self) -> Vec<(State, Cost)> {
        vec![([0].into(), 0)]
    }

    fn step(&self, step: usize, from: &State, value: u32, to: &mut dyn FnMut(State, Cost)) {
        to([from[0] + self.steps[step][value as usize]].into(), 0);
    }

    fn end(&self, state: &State) -> Cost {
        let least = i128::from(state[0]) * self.unit;
        let gap = (self.target.0 - least - self.slack).max(least - self.target.1).max(0);
        charge(self.price, gap.min(i64::MAX.into()) as i64)
    }
}

/// How numbers of variables with each value are priced.
pub(super) enum Rule {
    /// A price for each pair of variables with equal values.
    Pairs(Cost),
    /// Prices for violated bounds on the numbers.
    Bounds(Counting),
}

/// An automaton that counts variables by value. A state is the number of variables so far with each value, or with each
/// bounded value.
pub(super) struct Counts {
    pub sizes: Vec<u32>,
    pub rule: Rule,
}

impl Machine for Counts {
    fn order(&self) -> Vec<usize> {
        (0..self.sizes.len()).collect()
    }

    fn starts(&self) -> Vec<(State, Cost)> {
        let counters = match &self.rule {
            Rule::Pairs(_) => self.sizes.iter().max().copied().unwrap_or(0) as usize,
            Rule::Bounds(counting) => counting.bounds.len(),
        };
        vec![(vec![0; counters].into(), 0)]
    }

    fn step(&self, step: usize, from: &State, value: u32, to: &mut dyn FnMut(State, Cost)) {
        let mut state = from.clone();
        match &self.rule {
            Rule::Pairs(_) => state[value as usize] += 1,
            Rule::Bounds(counting) => {
                let value = counting.classes.as_ref().map_or(value, |classes| classes[step][value as usize]);
                if let Some(place) = counting.bounds.iter().position(|bound| bound.value == value) {
                    state[place] += 1;
                }
            }
        }
        to(state, 0);
    }

    fn end(&self, state: &State) -> Cost {
        match &self.rule {
            Rule::Pairs(price) => times_cost(*price, state.iter().map(|&n| i128::from(n * (n - 1) / 2)).sum()),
            Rule::Bounds(counting) => self.bounds(counting, state),
        }
    }
}

impl Counts {
    fn bounds(&self, Counting { bounds, cost, .. }: &Counting, counts: &[i64]) -> Cost {
        let gaps = || bounds.iter().zip(counts).map(|(bound, &n)| ((bound.low - n).max(0), (n - bound.high).max(0)));
        match cost {
            CountCost::Each(price) => gaps().fold(0, |sum, (short, excess)| add(sum, charge(*price, short + excess))),
            CountCost::Weighted(prices) => gaps().zip(prices).fold(0, |sum, ((short, excess), &(low, high))| {
                add(sum, add(times_cost(low, short.into()), times_cost(high, excess.into())))
            }),
            CountCost::Larger(price) => {
                let n = self.sizes.len() as i128;
                let values = self.sizes.iter().max().copied().unwrap_or(0);
                let low: i128 = bounds.iter().map(|bound| i128::from(bound.low)).sum();
                let all = (0..values).all(|value| bounds.iter().any(|bound| bound.value == value));
                let high: i128 = bounds.iter().map(|bound| i128::from(bound.high)).sum();
                if low > n || all && high < n {
                    return FORBIDDEN;
                }
                let add = |sum: (i128, i128), gap: (i64, i64)| (sum.0 + i128::from(gap.0), sum.1 + i128::from(gap.1));
                let (short, excess) = gaps().fold((0, 0), add);
                times_cost(*price, short.max(excess))
            }
        }
    }
}

/// An automaton that compares two groups of variables. A state has two entries for each value: how often the left and
/// the right group take it or, if there are no bounds, the difference and 0.
pub(super) struct Groups {
    same: Same,
    arity: usize,
    /// The values that are counted.
    values: Vec<u32>,
}

impl Groups {
    pub fn new(same: Same, sizes: &[u32]) -> Self {
        let values = (0..sizes.iter().max().copied().unwrap_or(0)).collect();
        Groups::of(same, sizes, values)
    }

    /// Returns the automaton that counts only `values`.
    pub fn of(same: Same, sizes: &[u32], values: Vec<u32>) -> Self {
        Groups { same, arity: sizes.len(), values }
    }
}

impl Machine for Groups {
    fn order(&self) -> Vec<usize> {
        // alternate between left and right, so that differences stay small
        let longest = self.same.left.len().max(self.same.right.len());
        let both = |k: usize| [self.same.left.get(k), self.same.right.get(k)];
        let mut order: Vec<usize> = (0..longest).flat_map(both).flatten().map(|&position| position as usize).collect();
        let rest: Vec<usize> = (0..self.arity).filter(|position| !order.contains(position)).collect();
        order.extend(rest);
        order
    }

    fn starts(&self) -> Vec<(State, Cost)> {
        vec![(vec![0; 2 * self.values.len()].into(), 0)]
    }

    fn step(&self, step: usize, from: &State, value: u32, to: &mut dyn FnMut(State, Cost)) {
        let mut state = from.clone();
        let position = self.order()[step] as u32;
        if let Some(place) = self.values.iter().position(|&own| own == value) {
            for (side, group) in [&self.same.left, &self.same.right].into_iter().enumerate() {
                let times = group.iter().filter(|&&own| own == position).count() as i64;
                if self.same.bounds.is_empty() {
                    state[2 * place] += if side == 0 { times } else { -times };
                } else {
                    state[2 * place + side] += times;
                }
            }
        }
        to(state, 0);
    }

    fn end(&self, state: &State) -> Cost {
        let Same { one_sided, price, bounds, .. } = &self.same;
        self.values.iter().zip(state.chunks_exact(2)).fold(0, |sum, (value, counts)| {
            let difference = counts[0] - counts[1];
            let off = if *one_sided { difference.max(0) } else { difference.abs() };
            let of = |bound: &&ValueCount| bound.value == *value;
            let gaps = bounds.iter().filter(of).flat_map(|bound| {
                [counts[0], counts[1]].map(|count| (bound.low - count).max(0) + (count - bound.high).max(0))
            });
            gaps.fold(add(sum, charge(*price, off)), |sum, gap| add(sum, charge(*price, gap)))
        })
    }
}

/// An automaton that reads each position of the first half and then its counterpart in the second half. A state is the
/// number of matching nonzero pairs so far and the value just read.
pub(super) struct Overlap {
    pub arity: usize,
    pub target: Target,
    pub price: Price,
}

impl Machine for Overlap {
    fn order(&self) -> Vec<usize> {
        let half = self.arity / 2;
        let paired = (0..half).flat_map(|i| [i, i + half]);
        paired.chain(2 * half..self.arity).collect()
    }

    fn starts(&self) -> Vec<(State, Cost)> {
        vec![([0, 0].into(), 0)]
    }

    fn step(&self, step: usize, from: &State, value: u32, to: &mut dyn FnMut(State, Cost)) {
        let value = i64::from(value);
        let state = match step {
            _ if step >= self.arity / 2 * 2 => [from[0], 0],
            _ if step.is_multiple_of(2) => [from[0], value],
            _ => [from[0] + i64::from(value == from[1] && value != 0), 0],
        };
        to(state.into(), 0);
    }

    fn end(&self, state: &State) -> Cost {
        charge(self.price, distance(self.target, state[0]))
    }
}

/// An automaton whose state is the largest cost so far, given the cost of each value of each variable.
pub(super) struct Largest(pub Vec<Vec<Cost>>);

impl Machine for Largest {
    fn order(&self) -> Vec<usize> {
        (0..self.0.len()).collect()
    }

    fn starts(&self) -> Vec<(State, Cost)> {
        vec![([Cost::MIN].into(), 0)]
    }

    fn step(&self, step: usize, from: &State, value: u32, to: &mut dyn FnMut(State, Cost)) {
        to([from[0].max(self.0[step][value as usize])].into(), 0);
    }

    fn end(&self, state: &State) -> Cost {
        if self.0.is_empty() { 0 } else { state[0] }
    }
}
