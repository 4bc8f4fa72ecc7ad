//! Plain simulated annealing on one thread, as a baseline for networks on which complete solvers find no good
//! solutions. It shares the readers with Fangs, but no part of its search.

use crate::model::{Cost, FORBIDDEN, Network};
use crate::rng::Rng;
use std::time::Instant;

/// Sweeps of the first anneal; each later anneal has twice the sweeps of the one before.
const FIRST_SWEEPS: u32 = 250;
/// The last temperature as a fraction of the first.
const COLDEST: f64 = 2e-3;

/// One state of a network.
pub struct Annealing<'a> {
    network: &'a Network,
    /// The functions on each variable.
    incident: Vec<Vec<u32>>,
    /// The cost that replaces that of a forbidden tuple during an anneal.
    penalty: Cost,
    values: Vec<u32>,
}

impl<'a> Annealing<'a> {
    /// Returns the state with all variables at value 0.
    pub fn new(network: &'a Network) -> Self {
        let mut incident = vec![Vec::new(); network.domains().len()];
        let mut highest: Cost = 1;
        for (index, function) in (0..).zip(network.functions()) {
            function.scope.iter().for_each(|&v| incident[v as usize].push(index));
            let costs = function.entries(network.domains());
            highest = costs.filter(|&cost| cost < network.top().min(FORBIDDEN)).fold(highest, |a, b| a.max(b.abs()));
        }
        let values = vec![0; network.domains().len()];
        Annealing { network, incident, penalty: highest.saturating_mul(4), values }
    }

    /// Returns the cost of some functions and the number of those whose tuple is forbidden.
    fn cost(&self, functions: impl Iterator<Item = u32>) -> (Cost, i64) {
        functions.fold((0, 0), |(sum, violations), index| {
            let cost = self.network.functions()[index as usize].cost(self.network.domains(), &self.values);
            let forbidden = cost >= self.network.top().min(FORBIDDEN);
            (sum + if forbidden { self.penalty } else { cost }, violations + i64::from(forbidden))
        })
    }

    /// Gives `v` another value. Returns the changes of the cost and of the number of violated functions.
    fn set(&mut self, v: usize, value: u32) -> (Cost, i64) {
        let before = self.cost(self.incident[v].iter().copied());
        self.values[v] = value;
        let after = self.cost(self.incident[v].iter().copied());
        (after.0 - before.0, after.1 - before.1)
    }

    /// Returns the mean absolute change of cost of random moves.
    fn hot(&mut self, rng: &mut Rng, movable: &[usize]) -> f64 {
        let mut sum = 0.0;
        for _ in 0..1000 {
            let v = movable[rng.index(movable.len())];
            let value = rng.index(self.network.domains()[v] as usize) as u32;
            sum += self.set(v, value).0.abs() as f64;
        }
        (sum / 1000.0).max(1e-3)
    }

    /// Anneals for `seconds` and reports the cost of each new incumbent, in the network's units.
    pub fn run(&mut self, seconds: f64, rng: &mut Rng, report: &mut dyn FnMut(Cost)) {
        let domains = self.network.domains();
        let movable: Vec<usize> = (0..domains.len()).filter(|&v| domains[v] > 1).collect();
        for (value, &domain) in self.values.iter_mut().zip(domains) {
            *value = rng.index(domain.max(1) as usize) as u32;
        }
        let began = Instant::now();
        let all = || 0..self.network.functions().len() as u32;
        let hot = if movable.is_empty() { 1.0 } else { self.hot(rng, &movable) };
        let (mut cost, mut violations) = self.cost(all());
        let mut best = Cost::MAX;
        let mut sweeps = FIRST_SWEEPS;
        loop {
            for sweep in 0..sweeps {
                let temperature = hot * COLDEST.powf(f64::from(sweep) / f64::from(sweeps));
                for _ in 0..movable.len().max(1) {
                    if violations == 0 && cost < best && cost < self.network.top() {
                        best = cost;
                        report(best);
                    }
                    if movable.is_empty() {
                        return;
                    }
                    let v = movable[rng.index(movable.len())];
                    let (old, value) = (self.values[v], rng.index(domains[v] as usize) as u32);
                    let (delta, more) = self.set(v, value);
                    if delta > 0 && rng.unit() >= (-(delta as f64) / temperature).exp() {
                        self.values[v] = old;
                    } else {
                        (cost, violations) = (cost + delta, violations + more);
                    }
                }
                if began.elapsed().as_secs_f64() > seconds {
                    return;
                }
            }
            sweeps = sweeps.saturating_mul(2);
        }
    }
}
