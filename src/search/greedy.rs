//! A first assignment of the network as it is, for the time that reductions and tables take: on 100000 variables seconds.
//! Variables take their best values one after the other, each by what came before it, and again where a neighbour changed (iterated
//! conditional modes; Besag, "On the statistical analysis of dirty pictures", 1986).

use crate::model::{Cost, FORBIDDEN, Network, Table};
use crate::stop::Stop;
use std::collections::VecDeque;

/// How often all entries around a variable are looked at, on average and at most.
const VISITS: u64 = 8;

/// No value yet.
const NONE: u32 = u32::MAX;

/// What a value costs: forbidden entries count first.
type Price = (u32, Cost);

/// An assignment that no single variable betters, or what there was when the work ended or `stop` was set. It may hold forbidden
/// combinations.
pub(crate) fn assignment(network: &Network, stop: &Stop) -> Vec<u32> {
    let n = network.domains().len();
    let mut greedy = Greedy::new(network);
    let mut order: Vec<u32> = (0..n as u32).collect();
    order.sort_by_key(|&v| std::cmp::Reverse(greedy.incident(v).len()));
    let mut queue: VecDeque<u32> = order.into();
    let mut queued = vec![true; n];
    let mut left = VISITS.saturating_mul((0..n as u32).map(|v| greedy.work(v)).sum());
    while let Some(v) = queue.pop_front() {
        queued[v as usize] = false;
        let first = greedy.values[v as usize] == NONE;
        if !first {
            let Some(rest) = left.checked_sub(greedy.work(v)).filter(|_| !stop.is_set()) else { break };
            left = rest;
        }
        if greedy.visit(v) {
            // those without a value come anyway
            for &f in greedy.incident(v) {
                for &u in &network.functions()[f as usize].scope {
                    if u != v && !std::mem::replace(&mut queued[u as usize], true) {
                        queue.push_back(u);
                    }
                }
            }
        }
    }
    greedy.values
}

struct Greedy<'a> {
    network: &'a Network,
    starts: Vec<u32>,
    incident: Vec<u32>,
    values: Vec<u32>,
    prices: Vec<Price>,
}

impl<'a> Greedy<'a> {
    fn new(network: &'a Network) -> Self {
        let n = network.domains().len();
        let mut starts = vec![0u32; n + 1];
        let scopes = || network.functions().iter().map(|function| &function.scope);
        scopes().flatten().for_each(|&v| starts[v as usize + 1] += 1);
        (0..n).for_each(|v| starts[v + 1] += starts[v]);
        let mut place = starts.clone();
        let mut incident = vec![0; starts[n] as usize];
        for (f, scope) in (0..).zip(scopes()) {
            for &v in scope {
                incident[place[v as usize] as usize] = f;
                place[v as usize] += 1;
            }
        }
        Greedy { network, starts, incident, values: vec![NONE; n], prices: Vec::new() }
    }

    /// The functions on a variable.
    fn incident(&self, v: u32) -> &[u32] {
        &self.incident[self.starts[v as usize] as usize..self.starts[v as usize + 1] as usize]
    }

    /// Entries that a visit looks at.
    fn work(&self, v: u32) -> u64 {
        (self.incident(v).len() as u64 + 1) * u64::from(self.network.domains()[v as usize])
    }

    /// Gives a variable its best value, its own where that is as good, and says whether it is another one now. Functions of
    /// variables without a value do not count.
    fn visit(&mut self, v: u32) -> bool {
        let domain = self.network.domains()[v as usize];
        let mut prices = std::mem::take(&mut self.prices);
        prices.clear();
        prices.resize(domain as usize, (0, 0));
        for &f in self.incident(v) {
            self.add(f as usize, v, &mut prices);
        }
        let own = self.values[v as usize];
        let best = (0..domain).min_by_key(|&value| (prices[value as usize], value != own)).unwrap_or(0);
        self.prices = prices;
        self.values[v as usize] = best;
        best != own
    }

    fn add(&self, f: usize, v: u32, prices: &mut [Price]) {
        let (function, domains) = (&self.network.functions()[f], self.network.domains());
        if function.scope.iter().any(|&u| u != v && self.values[u as usize] == NONE) {
            return;
        }
        let top = self.network.top().min(FORBIDDEN);
        let pay = |price: &mut Price, cost: Cost| {
            if cost >= top {
                price.0 += 1;
            } else {
                price.1 = price.1.saturating_add(cost);
            }
        };
        let value = |u: u32| if u == v { 0 } else { self.values[u as usize] };
        match &function.table {
            Table::Dense(costs) => {
                let (mut index, mut stride, mut own) = (0, 1, 1);
                for &u in function.scope.iter().rev() {
                    index += stride * value(u) as usize;
                    if u == v {
                        own = stride;
                    }
                    stride *= domains[u as usize] as usize;
                }
                let entries = costs[index..].iter().step_by(own);
                prices.iter_mut().zip(entries).for_each(|(price, &cost)| pay(price, cost));
            }
            Table::Sparse(_) => {
                for (candidate, price) in (0..).zip(prices) {
                    pay(price, function.cost_at(domains, |u| if u == v { candidate } else { value(u) }));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check;
    use crate::generate::generate;

    #[test]
    fn no_single_variable_betters_it() {
        let parameters =
            [("random", vec![("n", "20"), ("d", "4")]), ("grid", vec![("side", "8")]), ("coloring", vec![("n", "30")])];
        for (family, parameters) in parameters {
            for seed in 0..10 {
                let network = generate(family, &parameters, seed).expect("known parameters");
                let mut values = assignment(&network, &Stop::new());
                let price = |values: &[u32]| {
                    let evaluation = check::evaluate(&network, values);
                    (evaluation.violated.len(), evaluation.soft)
                };
                let best = price(&values);
                for v in 0..values.len() {
                    let own = values[v];
                    for value in 0..network.domains()[v] {
                        values[v] = value;
                        assert!(price(&values) >= best, "{family} {seed}: variable {v} prefers {value} to {own}");
                    }
                    values[v] = own;
                }
            }
        }
    }
}
