//! A first assignment of the network as it is, for the time that reductions and tables take: on 100000 variables seconds.
//! Variables take their best values one after the other, each by what came before it: next is the one with the fewest best values
//! left, of these the one that would lose most by another (on a graph to color that is DSATUR; Brelaz, "New methods to color the
//! vertices of a graph", 1979). Then again where a neighbour changed (iterated conditional modes; Besag, "On the statistical
//! analysis of dirty pictures", 1986).

use crate::model::{Cost, FORBIDDEN, Network, Table};
use crate::stop::Stop;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// How often all entries around a variable are looked at, on average and at most.
const VISITS: u64 = 8;

/// No value yet.
const NONE: u32 = u32::MAX;

/// What a value costs: forbidden entries count first.
type Price = (i32, Cost);

/// How much a variable needs its value now: the number of best ones, and what another one costs more.
type Urgency = (Reverse<usize>, Price);

fn urgency(prices: &[Price]) -> Urgency {
    let best = prices.iter().min().copied().unwrap_or_default();
    let count = prices.iter().filter(|&&price| price == best).count();
    let next = prices.iter().filter(|&&price| price > best).min().copied().unwrap_or(best);
    (Reverse(count), (next.0 - best.0, next.1.saturating_sub(best.1)))
}

/// An assignment that no single variable betters, or what there was when the work ended or `stop` was set. It may hold forbidden
/// combinations.
pub(crate) fn assignment(network: &Network, stop: &Stop) -> Vec<u32> {
    let n = network.domains().len();
    let mut greedy = Greedy::new(network);
    let mut queue: VecDeque<u32> = greedy.construct(stop).into();
    let mut queued = vec![true; n];
    let mut left = VISITS.saturating_mul((0..n as u32).map(|v| greedy.work(v)).sum());
    while let Some(v) = queue.pop_front() {
        queued[v as usize] = false;
        let Some(rest) = left.checked_sub(greedy.work(v)).filter(|_| !stop.is_set()) else { break };
        left = rest;
        if greedy.visit(v) {
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

    /// Gives every variable a value; returns them in the order in which they got theirs.
    fn construct(&mut self, stop: &Stop) -> Vec<u32> {
        let network = self.network;
        let n = self.values.len();
        let mut prices: Vec<Vec<Price>> =
            network.domains().iter().map(|&domain| vec![(0, 0); domain as usize]).collect();
        let mut missing: Vec<usize> = network.functions().iter().map(|function| function.scope.len()).collect();
        for (f, function) in network.functions().iter().enumerate() {
            if let [v] = function.scope[..] {
                self.add(f, v, &mut prices[v as usize]);
            }
        }
        let degree = |greedy: &Self, v: usize| greedy.incident(v as u32).len();
        let mut known: Vec<Urgency> = prices.iter().map(|prices| urgency(prices)).collect();
        let mut heap: BinaryHeap<_> = (0..n).map(|v| (known[v], degree(self, v), Reverse(v))).collect();
        let mut order = Vec::with_capacity(n);
        while let Some((urgent, _, Reverse(v))) = heap.pop() {
            // looked at before, or in the heap with what it needs now
            if self.values[v] != NONE || urgent != known[v] {
                continue;
            }
            let best = (0..).zip(&prices[v]).min_by_key(|&(_, price)| price);
            self.values[v] = best.map_or(0, |(value, _)| value);
            order.push(v as u32);
            if stop.is_set() {
                continue;
            }
            for place in self.starts[v]..self.starts[v + 1] {
                let f = self.incident[place as usize] as usize;
                missing[f] -= 1;
                if missing[f] != 1 {
                    continue;
                }
                let last = network.functions()[f].scope.iter().find(|&&u| self.values[u as usize] == NONE);
                if let Some(&u) = last {
                    self.add(f, u, &mut prices[u as usize]);
                    let now = urgency(&prices[u as usize]);
                    if now != known[u as usize] {
                        known[u as usize] = now;
                        heap.push((now, degree(self, u as usize), Reverse(u as usize)));
                    }
                }
            }
        }
        order
    }

    /// The functions on a variable.
    fn incident(&self, v: u32) -> &[u32] {
        &self.incident[self.starts[v as usize] as usize..self.starts[v as usize + 1] as usize]
    }

    /// Entries that a visit looks at.
    fn work(&self, v: u32) -> u64 {
        (self.incident(v).len() as u64 + 1) * u64::from(self.network.domains()[v as usize])
    }

    /// Gives a variable its best value, its own where that is as good, and says whether it is another one now.
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

    /// Adds what the values of a variable cost by one of its functions, whose other variables have values.
    fn add(&self, f: usize, v: u32, prices: &mut [Price]) {
        let (function, domains) = (&self.network.functions()[f], self.network.domains());
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
