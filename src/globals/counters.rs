//! Automata that count and add.

use super::machine::{Machine, State};
use crate::model::{Cost, CountCost, Counting, FORBIDDEN, Linear, Measure, Price, Same, Target, ValueCount, add};

/// What being off by `gap` costs.
fn charge(price: Price, gap: i64) -> Cost {
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

fn times_cost(cost: Cost, times: i128) -> Cost {
    if cost >= FORBIDDEN && times > 0 { FORBIDDEN } else { (i128::from(cost) * times).min(FORBIDDEN.into()) as Cost }
}

/// How far a number is from where it should be.
fn distance(target: Target, number: i64) -> i64 {
    match target {
        Target::Within(low, _) if number < low => low.saturating_sub(number),
        Target::Within(_, high) if number > high => number.saturating_sub(high),
        Target::Not(there) => i64::from(number == there),
        Target::Within(..) => 0,
    }
}

/// The sum so far, then for each set of pairs whether one of it is there.
pub(super) struct Sum(pub Linear);

impl Machine for Sum {
    fn order(&self) -> Vec<usize> {
        (0..self.0.weights.len()).collect()
    }

    fn starts(&self) -> Vec<(State, Cost)> {
        vec![(vec![0; 1 + self.0.at_most_one.len()].into(), 0)]
    }

    fn step(&self, step: usize, from: &State, value: u32, to: &mut dyn FnMut(State, Cost)) {
        let mut state = from.clone();
        state[0] = state[0].saturating_add(self.0.weights[step][value as usize]);
        for (set, taken) in self.0.at_most_one.iter().zip(&mut state[1..]) {
            let times = set.iter().filter(|&&pair| pair == (step as u32, value)).count() as i64;
            *taken += times;
            if *taken > 1 {
                return;
            }
        }
        to(state, 0);
    }

    fn end(&self, state: &State) -> Cost {
        charge(self.0.price, distance(self.0.target, state[0]))
    }
}

/// What numbers of variables with each value cost.
pub(super) enum Rule {
    /// A price for each pair of equal values.
    Pairs(Cost),
    /// Bounds.
    Bounds(Counting),
}

/// The number of variables so far with each value: of all values, or of those with bounds.
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
                let n = self.sizes.len() as i64;
                let values = self.sizes.iter().max().copied().unwrap_or(0);
                let low: i64 = bounds.iter().map(|bound| bound.low).sum();
                let all = (0..values).all(|value| bounds.iter().any(|bound| bound.value == value));
                let high: i64 = bounds.iter().map(|bound| bound.high).sum();
                if low > n || all && high < n {
                    return FORBIDDEN;
                }
                let (short, excess) = gaps().fold((0, 0), |sum, gap| (sum.0 + gap.0, sum.1 + gap.1));
                times_cost(*price, i128::from(short.max(excess)))
            }
        }
    }
}

/// For each value how often the left group has it, and the right one; without bounds only the difference.
pub(super) struct Groups {
    same: Same,
    arity: usize,
    /// The values that count.
    values: Vec<u32>,
}

impl Groups {
    pub fn new(same: Same, sizes: &[u32]) -> Self {
        let values = (0..sizes.iter().max().copied().unwrap_or(0)).collect();
        Groups::of(same, sizes, values)
    }

    /// Only these values count.
    pub fn of(same: Same, sizes: &[u32], values: Vec<u32>) -> Self {
        Groups { same, arity: sizes.len(), values }
    }
}

impl Machine for Groups {
    fn order(&self) -> Vec<usize> {
        // one of the left, one of the right, so that differences stay small
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

/// Reads each position of the first half, then its counterpart: the number of equal ones so far, and the value just
/// read.
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

/// The largest cost so far.
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
