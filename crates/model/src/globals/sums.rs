//! Global cost functions as sums: each sum adds a weight for the value of each of its variables, and its total has a
//! price. The effect of a move is then computed without visiting the other variables.

use super::counters::{charge, distance, times_cost};
use crate::device::shared::{constants, device_structs};
use crate::model::{
    Cost, CountCost, Counting, FORBIDDEN, Function, Global, GlobalKind, Linear, Measure, Network, Price, Same, Target,
};

/// The numbers of rules and measures in the CUDA kernels.
const OFF: u32 = 0;
const NOT: u32 = 1;
const WITHIN: u32 = 2;
const OUTSIDE: u32 = 3;
const PAIRS: u32 = 4;
const HARD: u32 = 0;
const LINEAR: u32 = 1;
const QUADRATIC: u32 = 2;

/// Returns the declarations of these constants for the kernel sources.
pub fn declared() -> String {
    constants! {
        u32: OFF, NOT, WITHIN, OUTSIDE, PAIRS, HARD, LINEAR, QUADRATIC;
        i64: FORBIDDEN;
    }
}

device_structs! {
    /// The struct `Sum` of `kernels/sum.cuh`.
    #[derive(Clone, Copy, Debug)]
    pub struct SumArgument as "Sum" {
        /// The lower end of the interval of totals that cost nothing. For `NOT`, the one number to avoid.
        low: i64,
        high: i64,
        /// The cost of each unit below `low`, and `excess` that of each unit above `high`. If there is a single price,
        /// both equal it.
        short as "short_": i64,
        excess: i64,
        limit: i64,
        step: f64,
        rule: u32,
        measure: u32,
    }
}

/// How a total is priced.
#[derive(Clone, Copy, Debug)]
enum Rule {
    /// A price for the distance of the total from its target.
    Off(Target, Price),
    /// A price for the distance of the total from the interval between both numbers.
    Within(i64, i64, Price),
    /// A cost for each unit below `low`, and one for each unit above `high`.
    Outside { low: i64, high: i64, short: Cost, excess: Cost },
    /// A cost for each pair among the counted variables, whose number is the total.
    Pairs(Cost),
}

/// A sum of a network, with the price of its total.
#[derive(Clone, Copy, Debug)]
pub struct Sum {
    rule: Rule,
    /// The cost from which on a total is forbidden.
    limit: Cost,
    /// The mean absolute value of its nonzero weights, at least 1.
    pub step: f64,
}

impl Sum {
    /// Returns the cost of a total; `None` if it is forbidden.
    #[inline]
    pub fn cost(&self, total: i64) -> Option<Cost> {
        let cost = match self.rule {
            Rule::Off(target, price) => charge(price, distance(target, total)),
            Rule::Within(low, high, price) => charge(price, (low - total).max(0) + (total - high).max(0)),
            Rule::Outside { low, high, short, excess } => {
                times_cost(short, (low - total).max(0).into()) + times_cost(excess, (total - high).max(0).into())
            }
            Rule::Pairs(price) => times_cost(price, i128::from(total) * i128::from(total - 1) / 2),
        };
        (cost < self.limit.min(FORBIDDEN)).then_some(cost)
    }

    /// Returns how far a total is from the nearest one that costs nothing.
    #[inline]
    pub fn distance(&self, total: i64) -> i64 {
        match self.rule {
            Rule::Off(target, _) => distance(target, total),
            Rule::Within(low, high, _) | Rule::Outside { low, high, .. } => (low - total).max(total - high).max(0),
            Rule::Pairs(_) => (total - 1).max(0),
        }
    }

    /// Returns the sum in the form that kernels read.
    pub fn argument(&self) -> SumArgument {
        let (rule, [low, high], [short, excess], measure) = match self.rule {
            Rule::Off(Target::Within(low, high), Price { cost, measure }) => (OFF, [low, high], [cost; 2], measure),
            Rule::Off(Target::Not(there), Price { cost, measure }) => (NOT, [there; 2], [cost; 2], measure),
            Rule::Within(low, high, Price { cost, measure }) => (WITHIN, [low, high], [cost; 2], measure),
            Rule::Outside { low, high, short, excess } => (OUTSIDE, [low, high], [short, excess], Measure::Linear),
            Rule::Pairs(cost) => (PAIRS, [0; 2], [cost; 2], Measure::Linear),
        };
        let measure = match measure {
            Measure::Hard => HARD,
            Measure::Linear => LINEAR,
            Measure::Quadratic => QUADRATIC,
        };
        let (limit, step) = (self.limit.min(FORBIDDEN), self.step);
        SumArgument { low, high, short, excess, limit, step, rule, measure }
    }
}

/// The sums of a network, and what each value adds to them.
#[derive(Debug, Default)]
pub struct Sums {
    /// All sums.
    pub sums: Vec<Sum>,
    /// For each value of each variable, the offset of its terms in `terms`; then the end.
    pub starts: Vec<u32>,
    /// Pairs of a sum and a weight, grouped by value.
    pub terms: Vec<(u32, i64)>,
    /// For each variable, the index of its first value in `starts`.
    pub firsts: Vec<u32>,
    /// For each sum, the offset of its variables (then the end), and the variables of all sums.
    pub readers: (Vec<u32>, Vec<u32>),
}

impl Sums {
    /// Returns whether a function is worth treating as sums: it consists of sums, and its tables add variables to the
    /// network or have more than three variables.
    pub fn has(network: &Network, number: usize) -> bool {
        let Some(Function::Global(global)) = network.function(number) else { return false };
        let is_sum = match &global.kind {
            GlobalKind::Linear(_) | GlobalKind::EqualPairs { .. } | GlobalKind::Same(_) => true,
            GlobalKind::Counting(counting) => !matches!(counting.cost, CountCost::Larger(_)),
            _ => false,
        };
        let own = network.domains().len() as u32;
        is_sum && network.parts(number).any(|part| part.scope.len() > 3 || part.scope.iter().any(|&v| v >= own))
    }

    /// Returns the sums of all functions for which [`Sums::has`] holds, over the variables of the expanded network.
    pub fn of(network: &Network) -> Sums {
        let domains = network.expanded().domains();
        let mut draft = Draft { terms: Vec::new(), sums: Vec::new() };
        for number in (0..network.function_count()).filter(|&number| Sums::has(network, number)) {
            if let Some(Function::Global(global)) = network.function(number) {
                draft.add(global, domains);
            }
        }
        draft.finish(domains)
    }

    /// Returns the sums that a value changes, ascending, with its nonzero weights.
    #[inline]
    pub fn terms(&self, variable: usize, value: usize) -> &[(u32, i64)] {
        let at = self.firsts[variable] as usize + value;
        &self.terms[self.starts[at] as usize..self.starts[at + 1] as usize]
    }

    /// Returns the variables of a sum, each once.
    #[inline]
    pub fn readers(&self, sum: usize) -> &[u32] {
        &self.readers.1[self.readers.0[sum] as usize..self.readers.0[sum + 1] as usize]
    }

    /// Returns the total of each sum.
    pub fn totals(&self, values: &[u16]) -> Vec<i64> {
        let mut totals = vec![0; self.sums.len()];
        for (v, &value) in values.iter().enumerate() {
            self.terms(v, value.into()).iter().for_each(|&(sum, weight)| totals[sum as usize] += weight);
        }
        totals
    }
}

/// The sums and terms of a network while they are collected.
struct Draft {
    sums: Vec<Sum>,
    /// Tuples of variable, value, sum and weight.
    terms: Vec<(u32, u32, u32, i64)>,
}

impl Draft {
    fn add(&mut self, global: &Global, domains: &[u32]) {
        let Global { scope, kind, limit, .. } = global;
        match kind {
            GlobalKind::Linear(Linear { weights, target, price, at_most_one }) => {
                let of = |place: usize, value: u32| weights[place][value as usize];
                self.sum(Rule::Off(*target, *price), *limit, scope, domains, of);
                for set in at_most_one {
                    let times = |place: usize, value: u32| {
                        set.iter().filter(|&&pair| pair == (place as u32, value)).count() as i64
                    };
                    let rule = Rule::Off(Target::Within(0, 1), Price::HARD);
                    self.sum(rule, *limit, scope, domains, times);
                }
            }
            GlobalKind::EqualPairs { price } => {
                for value in 0..largest(scope, domains) {
                    let is = |_: usize, own: u32| i64::from(own == value);
                    self.sum(Rule::Pairs(*price), *limit, scope, domains, is);
                }
            }
            GlobalKind::Counting(counting) => self.counts(counting, global, domains),
            GlobalKind::Same(same) => self.groups(same, global, domains),
            _ => {}
        }
    }

    fn counts(&mut self, Counting { bounds, cost, classes }: &Counting, global: &Global, domains: &[u32]) {
        for (k, bound) in bounds.iter().enumerate() {
            let rule = match cost {
                CountCost::Each(price) => Rule::Within(bound.low, bound.high, *price),
                CountCost::Weighted(costs) => {
                    let (short, excess) = costs[k];
                    Rule::Outside { low: bound.low, high: bound.high, short, excess }
                }
                CountCost::Larger(_) => return,
            };
            let class = |place: usize, value: u32| match classes {
                Some(classes) => classes[place][value as usize],
                None => value,
            };
            let is = |place: usize, value: u32| i64::from(class(place, value) == bound.value);
            self.sum(rule, global.limit, &global.scope, domains, is);
        }
    }

    fn groups(&mut self, same: &Same, global: &Global, domains: &[u32]) {
        let times = |group: &[u32], place: usize| group.iter().filter(|&&own| own as usize == place).count() as i64;
        for value in 0..largest(&global.scope, domains) {
            let of = |own: u32, weight: i64| if own == value { weight } else { 0 };
            let target = Target::Within(if same.one_sided { i64::MIN } else { 0 }, 0);
            let apart = |place: usize, own: u32| of(own, times(&same.left, place) - times(&same.right, place));
            self.sum(Rule::Off(target, same.price), global.limit, &global.scope, domains, apart);
            for bound in same.bounds.iter().filter(|bound| bound.value == value) {
                for group in [&same.left, &same.right] {
                    let rule = Rule::Within(bound.low, bound.high, same.price);
                    let in_group = |place: usize, own: u32| of(own, times(group, place));
                    self.sum(rule, global.limit, &global.scope, domains, in_group);
                }
            }
        }
    }

    fn sum(&mut self, rule: Rule, limit: Cost, scope: &[u32], domains: &[u32], weight: impl Fn(usize, u32) -> i64) {
        let (number, first) = (self.sums.len() as u32, self.terms.len());
        for (place, &v) in scope.iter().enumerate() {
            for value in 0..domains[v as usize] {
                match weight(place, value) {
                    0 => {}
                    weight => self.terms.push((v, value, number, weight)),
                }
            }
        }
        let own = &self.terms[first..];
        let step = own.iter().map(|term| term.3.unsigned_abs() as f64).sum::<f64>() / own.len().max(1) as f64;
        self.sums.push(Sum { rule, limit, step: step.max(1.0) });
    }

    fn finish(mut self, domains: &[u32]) -> Sums {
        let mut firsts = Vec::with_capacity(domains.len());
        let mut values = 0;
        for &domain in domains {
            firsts.push(values);
            values += domain;
        }
        self.terms.sort_unstable();
        let mut starts = vec![0u32; values as usize + 1];
        for &(v, value, ..) in &self.terms {
            starts[(firsts[v as usize] + value) as usize + 1] += 1;
        }
        (0..values as usize).for_each(|k| starts[k + 1] += starts[k]);
        let mut pairs: Vec<(u32, u32)> = self.terms.iter().map(|&(v, _, sum, _)| (sum, v)).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let mut ends = vec![0u32; self.sums.len() + 1];
        pairs.iter().for_each(|&(sum, _)| ends[sum as usize + 1] += 1);
        (0..self.sums.len()).for_each(|k| ends[k + 1] += ends[k]);
        Sums {
            sums: self.sums,
            starts,
            terms: self.terms.into_iter().map(|(_, _, sum, weight)| (sum, weight)).collect(),
            firsts,
            readers: (ends, pairs.into_iter().map(|pair| pair.1).collect()),
        }
    }
}

fn largest(scope: &[u32], domains: &[u32]) -> u32 {
    scope.iter().map(|&v| domains[v as usize]).max().unwrap_or(0)
}
