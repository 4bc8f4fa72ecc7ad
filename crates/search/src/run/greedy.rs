//! First assignments of the unreduced network while threads, reductions and tables are prepared, which takes seconds
//! with 100000 variables. Variables take their best values one after the other, given those before. The next variable
//! is the one with the fewest best values, ties broken by the largest loss with another value (on graph coloring this
//! is DSATUR; Brelaz, "New methods to color the vertices of a graph", 1979). Then variables change again after a change
//! of a neighbour (iterated conditional modes; Besag, "On the statistical analysis of dirty pictures", 1986). Finally
//! kicks for a tenth of a millisecond, the time that networks of a few variables take (iterated local search; Lourenco,
//! Martin and Stuetzle, "Iterated local search", 2003).

use crate::core::elite::LONGEST;
use crate::error::Error;
use crate::memory;
use crate::model::{Cost, Entry, FORBIDDEN, Network, Readers, Table, on_entries};
use crate::rng::Rng;
use crate::stop::Stop;
use crate::tuning::tuning;
use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};
use std::ops::ControlFlow;

const NONE: u32 = u32::MAX;

/// The cost of a value: the number of forbidden entries, then the sum of the others.
type Price = (i32, Cost);

/// The urgency of a variable: its number of best values, and the loss with another value.
type Urgency = (Reverse<usize>, Price);

fn add(sum: &mut Price, price: Price) {
    *sum = (sum.0 + price.0, sum.1.saturating_add(price.1));
}

fn cheapest(prices: &[Price]) -> u32 {
    (0..).zip(prices).min_by_key(|&(_, price)| price).map_or(0, |(value, _)| value)
}

fn urgency(prices: &[Price]) -> Urgency {
    let best = prices.iter().min().copied().unwrap_or_default();
    let count = prices.iter().filter(|&&price| price == best).count();
    let next = prices.iter().filter(|&&price| price > best).min().copied().unwrap_or(best);
    (Reverse(count), (next.0 - best.0, next.1.saturating_sub(best.1)))
}

/// Reports assignments by greedy choices. The first one cannot be improved by changing a single variable, unless the
/// work limit or `stop` ended the descent. Further ones are better, as long as `found` returns `Continue`. They may
/// contain forbidden tuples. Returns one as good as the last. The values that `given` has for the first variables do
/// not change.
pub(crate) fn assignments(
    network: &Network,
    given: &[Option<u32>],
    rng: &mut Rng,
    stop: &Stop,
    found: &mut dyn FnMut(&[u32]) -> ControlFlow<()>,
) -> Vec<u32> {
    let n = network.domains().len() as u32;
    let Ok(mut greedy) = Greedy::new(network, given, stop) else {
        let mut values: Vec<u32> = given.iter().map(|value| value.unwrap_or(0)).collect();
        values.resize(n as usize, 0);
        return values;
    };
    for v in greedy.construct(stop) {
        greedy.enqueue(v);
    }
    let all = stop.each(0..n).map(|v| v.map(|v| greedy.work(v))).sum::<Result<u64, Error>>();
    let mut left = tuning().run.visits.saturating_mul(all.unwrap_or(0));
    let _ = greedy.descend(None, &mut left, stop);
    greedy.kicks(rng, stop, found);
    greedy.values
}

/// Returns whether memory suffices for a price of each value, and no domain is too long for local search.
pub(crate) fn fits(network: &Network) -> bool {
    let values: u64 = network.domains().iter().map(|&domain| u64::from(domain)).sum();
    network.domains().iter().all(|&domain| domain <= LONGEST)
        && memory::must_fit(values * size_of::<Price>() as u64, || "prices".into()).is_ok()
}

struct Greedy<'a> {
    network: &'a Network,
    /// Fixed values.
    given: &'a [Option<u32>],
    readers: Readers,
    values: Vec<u32>,
    prices: Vec<Price>,
    /// Variables to visit, each at most once.
    queue: VecDeque<u32>,
    queued: Vec<bool>,
    /// Variables that have changed since the last kick, with their values before it.
    changed: Vec<(u32, u32)>,
}

impl<'a> Greedy<'a> {
    fn new(network: &'a Network, given: &'a [Option<u32>], stop: &Stop) -> Result<Self, Error> {
        let n = network.domains().len();
        let readers = Readers::of(n, || network.functions().iter().map(|function| &function.scope[..]), stop)?;
        let mut values: Vec<u32> = given.iter().map(|value| value.unwrap_or(NONE)).collect();
        values.resize(n, NONE);
        Ok(Greedy {
            network,
            given,
            readers,
            values,
            prices: Vec::new(),
            queue: VecDeque::new(),
            queued: vec![false; n],
            changed: Vec::new(),
        })
    }

    fn is_given(&self, v: u32) -> bool {
        self.given.get(v as usize).is_some_and(Option::is_some)
    }

    /// Gives a value to every variable that has none. Returns these variables in the order of the choices.
    fn construct(&mut self, stop: &Stop) -> Vec<u32> {
        let network = self.network;
        let n = self.values.len();
        let mut starts = Vec::with_capacity(n);
        let all = network.domains().iter().fold(0, |start, &domain| {
            starts.push(start);
            start + domain as usize
        });
        let mut prices: Vec<Price> = vec![(0, 0); all];
        let of = |v: usize| starts[v]..starts[v] + network.domains()[v] as usize;
        let mut missing = vec![0; network.functions().len()];
        for (f, function) in stop.each(network.functions().iter().enumerate()).flatten() {
            let mut open = function.scope.iter().filter(|&&v| self.values[v as usize] == NONE);
            missing[f] = open.clone().count();
            if let (Some(&v), 1) = (open.next(), missing[f]) {
                self.add(f, v, &mut prices[of(v as usize)]);
            }
        }
        let degree = |greedy: &Self, v: usize| greedy.readers[v].len();
        let urgencies = stop.each(0..n).flatten().map(|v| urgency(&prices[of(v)]));
        let mut known: Vec<Urgency> = urgencies.collect();
        known.resize(n, urgency(&[]));
        let entries = stop.each(0..n).flatten().map(|v| (known[v], degree(self, v), Reverse(v)));
        let mut heap = BinaryHeap::from(entries.collect::<Vec<_>>());
        let mut order = Vec::with_capacity(n);
        while let Some((urgent, _, Reverse(v))) = heap.pop() {
            if stop.is_set() {
                break;
            }
            // it has a value already, or is in the heap with its present urgency
            if self.values[v] != NONE || urgent != known[v] {
                continue;
            }
            self.values[v] = cheapest(&prices[of(v)]);
            order.push(v as u32);
            for &f in &self.readers[v] {
                let f = f as usize;
                missing[f] -= 1;
                if missing[f] != 1 {
                    continue;
                }
                let last = network.functions()[f].scope.iter().find(|&&u| self.values[u as usize] == NONE);
                if let Some(&u) = last {
                    self.add(f, u, &mut prices[of(u as usize)]);
                    let now = urgency(&prices[of(u as usize)]);
                    if now != known[u as usize] {
                        known[u as usize] = now;
                        heap.push((now, degree(self, u as usize), Reverse(u as usize)));
                    }
                }
            }
        }
        // the remaining variables if the construction was stopped
        let rest = self.values.iter_mut().enumerate().filter(|(_, value)| **value == NONE);
        rest.for_each(|(v, value)| *value = cheapest(&prices[of(v)]));
        order
    }

    /// Visits queued variables, except a held one, until none would change or the work limit is reached. Returns the
    /// change of the total price.
    fn descend(&mut self, held: Option<u32>, left: &mut u64, stop: &Stop) -> Price {
        let mut change = (0, 0);
        while let Some(v) = self.queue.pop_front() {
            self.queued[v as usize] = false;
            let rest = left.checked_sub(self.work(v)).filter(|_| !stop.is_set());
            *left = rest.unwrap_or(0);
            if rest.is_some() && held != Some(v) {
                add(&mut change, self.visit(v, None));
            }
        }
        change
    }

    /// Gives a variable another value, lets its neighbours and then all variables react, and undoes changes for the
    /// worse.
    fn kicks(&mut self, rng: &mut Rng, stop: &Stop, found: &mut dyn FnMut(&[u32]) -> ControlFlow<()>) {
        let domains = self.network.domains();
        let movable = |v: &u32| domains[*v as usize] > 1 && !self.readers[*v as usize].is_empty() && !self.is_given(*v);
        let movable: Vec<u32> = (0..domains.len() as u32).filter(movable).collect();
        let mut left = tuning().run.kicked;
        let mut wants = found(&self.values);
        while wants.is_continue() && left > 0 && !movable.is_empty() {
            let v = movable[rng.index(movable.len())];
            let own = self.values[v as usize];
            let other = rng.index(domains[v as usize] as usize - 1) as u32;
            self.changed.clear();
            left = left.saturating_sub(self.work(v));
            let mut change = self.visit(v, Some(other + u32::from(other >= own)));
            add(&mut change, self.descend(Some(v), &mut left, stop));
            self.enqueue(v);
            add(&mut change, self.descend(None, &mut left, stop));
            match change.cmp(&(0, 0)) {
                Ordering::Less => wants = found(&self.values),
                Ordering::Equal => {}
                Ordering::Greater => {
                    while let Some((v, value)) = self.changed.pop() {
                        self.values[v as usize] = value;
                    }
                }
            }
        }
    }

    fn enqueue(&mut self, v: u32) {
        if !std::mem::replace(&mut self.queued[v as usize], true) {
            self.queue.push_back(v);
        }
    }

    /// Returns the work of a visit: entries to look up, times the length of their scopes.
    fn work(&self, v: u32) -> u64 {
        let scopes = self.readers[v as usize].iter().map(|&f| self.network.functions()[f as usize].scope.len() as u64);
        (scopes.sum::<u64>() + 1) * u64::from(self.network.domains()[v as usize])
    }

    /// Gives a variable the value `value` or its best one, preferring its own among equals, and queues its neighbours
    /// if it changes. Returns the change of the total price.
    fn visit(&mut self, v: u32, value: Option<u32>) -> Price {
        let network = self.network;
        let domain = network.domains()[v as usize];
        if domain < 2 || self.is_given(v) {
            return (0, 0);
        }
        let mut prices = std::mem::take(&mut self.prices);
        prices.clear();
        prices.resize(domain as usize, (0, 0));
        for &f in &self.readers[v as usize] {
            self.add(f as usize, v, &mut prices);
        }
        let own = self.values[v as usize];
        let best = || (0..domain).min_by_key(|&value| (prices[value as usize], value != own)).unwrap_or(0);
        let new = value.unwrap_or_else(best);
        let (before, after) = (prices[own as usize], prices[new as usize]);
        self.prices = prices;
        if new != own {
            self.values[v as usize] = new;
            self.changed.push((v, own));
            for place in 0..self.readers[v as usize].len() {
                let f = self.readers[v as usize][place];
                network.functions()[f as usize].scope.iter().filter(|&&u| u != v).for_each(|&u| self.enqueue(u));
            }
        }
        (after.0 - before.0, after.1.saturating_sub(before.1))
    }

    /// Adds the costs of a variable's values by one of its functions, whose other variables have values.
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
                on_entries!(costs, entries => {
                    let entries = entries[index..].iter().step_by(own);
                    prices.iter_mut().zip(entries).for_each(|(price, entry)| pay(price, entry.cost()));
                });
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

    /// Returns the number of violated functions and the soft cost.
    fn price(network: &Network, values: &[u32]) -> (usize, Cost) {
        let evaluation = check::evaluate(network, values);
        (evaluation.violated.len(), evaluation.soft)
    }

    fn networks() -> impl Iterator<Item = (String, Network)> {
        let families =
            [("random", vec![("n", "20"), ("d", "4")]), ("grid", vec![("side", "8")]), ("coloring", vec![("n", "30")])];
        families.into_iter().flat_map(|(family, parameters)| {
            let network = move |seed| generate(family, &parameters, seed).expect("known parameters");
            (0..10).map(move |seed| (format!("{family} {seed}"), network(seed)))
        })
    }

    #[test]
    fn no_single_variable_betters_the_first() {
        for (name, network) in networks() {
            let mut values = Vec::new();
            let _ = assignments(&network, &[], &mut Rng::new(1), &Stop::new(), &mut |first| {
                values = first.to_vec();
                ControlFlow::Break(())
            });
            let best = price(&network, &values);
            for v in 0..values.len() {
                let own = values[v];
                for value in 0..network.domains()[v] {
                    values[v] = value;
                    assert!(price(&network, &values) >= best, "{name}: variable {v} prefers {value} to {own}");
                }
                values[v] = own;
            }
        }
    }

    #[test]
    fn what_is_given_stays_and_the_rest_fits_it() {
        let mut better = 0;
        for (name, network) in networks() {
            let given: Vec<Option<u32>> =
                (0..).zip(network.domains()).map(|(v, &domain)| (v % 3 == 0).then_some(v % domain)).collect();
            let mut told = Vec::new();
            let last = assignments(&network, &given, &mut Rng::new(1), &Stop::new(), &mut |values| {
                told.push(price(&network, values));
                ControlFlow::Continue(())
            });
            let all = || given.iter().zip(&last).enumerate();
            assert!(all().all(|(_, (given, value))| given.is_none_or(|given| given == *value)), "{name}");
            assert_eq!(told.last(), Some(&price(&network, &last)), "{name}");
            for (v, (given, _)) in all() {
                for value in (0..network.domains()[v]).filter(|_| given.is_none()) {
                    let mut other = last.clone();
                    other[v] = value;
                    assert!(price(&network, &other) >= price(&network, &last), "{name}: {v} prefers {value}");
                }
            }
            let zeros: Vec<u32> = given.iter().map(|given| given.unwrap_or(0)).collect();
            better += usize::from(price(&network, &last) < price(&network, &zeros));
        }
        assert!(better > 20, "{better}");
    }

    #[test]
    fn kicks_find_better_ones() {
        let mut better = 0;
        for (name, network) in networks() {
            let mut told = Vec::new();
            let last = assignments(&network, &[], &mut Rng::new(1), &Stop::new(), &mut |values| {
                told.push(price(&network, values));
                ControlFlow::Continue(())
            });
            assert!(told.is_sorted_by(|a, b| a > b), "{name}: {told:?}");
            assert_eq!(told.last(), Some(&price(&network, &last)), "{name}");
            better += told.len() - 1;
        }
        assert!(better > 30, "{better}");
    }
}
