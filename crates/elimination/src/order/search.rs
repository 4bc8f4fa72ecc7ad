//! The search for an order: repeated runs of rules with different random ties, in slices of counted steps.

use super::eliminate::{EFFORT, Rule, eliminate};
use super::sequence::{Method, Order};
use super::sweep;
use crate::graph::Graph;
use crate::model::Problem;
use crate::rng::mix;
use crate::stop::Stop;
use crate::threads;

/// Combinations up to which elimination may still become exact, by cutset conditioning or on a device.
const HOPEFUL: f64 = 1e13;

/// Largest number of concurrent runs that share one limit. It is fixed, so that threads cannot change the result.
const BATCH: u64 = 8;

/// Number of steps after which no restarts begin: some hundredths of a second.
const RESTARTS: u64 = 50_000_000;

/// A resumable search for elimination orders.
#[derive(Debug)]
pub struct OrderSearch {
    graph: Graph,
    domains: Vec<u32>,
    seed: u64,
    keep: usize,
    restarts: u32,
    /// The rules that alternate.
    rules: Vec<Method>,
    /// The rules that continue alone if exact elimination is out of reach; empty if all rules continue.
    greedy: Vec<Method>,
    /// The best orders of all rules, best first; `of_greedy` has those of the greedy rules.
    best: Vec<Order>,
    of_greedy: Vec<Order>,
    /// Number of runs made.
    made: u32,
    /// Number of steps of all runs; `dearest` is the number of steps of the longest run.
    steps: u64,
    dearest: u64,
}

impl OrderSearch {
    /// Creates a search for the `keep` best different orders of `rules`: each rule runs once, then `restarts` times
    /// with different random ties while runs are quick. Once `stop` is set, only one arbitrary order is left.
    pub fn new(problem: &Problem, rules: &[Method], seed: u64, restarts: u32, keep: usize, stop: &Stop) -> OrderSearch {
        OrderSearch {
            // empty once the flag is set, but then not used
            graph: Graph::new(problem, stop).unwrap_or_default(),
            domains: problem.domains.clone(),
            seed,
            keep: keep.max(1),
            restarts,
            rules: if rules.is_empty() { vec![Method::MinFill] } else { rules.to_vec() },
            greedy: Vec::new(),
            best: Vec::new(),
            of_greedy: Vec::new(),
            made: 0,
            steps: 0,
            dearest: 0,
        }
    }

    /// Creates a search among the orders of all rules if elimination may be exact, otherwise of the `greedy` ones,
    /// which must be the first of [`Method::ALL`]. Mini-buckets depend on the first buckets, which greedy rules keep
    /// small, and not on the sum of all: on scen06 mini-buckets of z = 5 reach a lower bound of 1214 by min-fill and
    /// 983 by the sweep.
    pub fn promising(
        problem: &Problem,
        greedy: &[Method],
        seed: u64,
        restarts: u32,
        keep: usize,
        stop: &Stop,
    ) -> OrderSearch {
        let all = Method::ALL.map(|(_, method)| method);
        debug_assert!(all.starts_with(greedy));
        OrderSearch { greedy: greedy.to_vec(), ..OrderSearch::new(problem, &all, seed, restarts, keep, stop) }
    }

    /// Returns the number of steps done, about a nanosecond each.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Returns the best order so far.
    pub fn best(&self) -> Option<&Order> {
        self.best.first()
    }

    /// Runs rules for about `slice` steps, but at least one run, and returns whether runs are left. Once `stop` is set
    /// only the first run is made.
    pub fn advance(&mut self, slice: u64, stop: &Stop) -> bool {
        let runs = (self.rules.len() as u32).saturating_mul(self.share().saturating_add(1));
        let first = self.made < self.rules.len() as u32;
        let kept = if self.rules == self.greedy { &self.of_greedy } else { &self.best };
        let hopeless = || kept.iter().all(|order| order.joint_entries.is_infinite());
        // if a run gave up counting, restarts would give up, too
        let enough = !first && (self.steps > RESTARTS || hopeless());
        if self.made >= runs || enough || (stop.is_set() && !self.best.is_empty()) {
            return false;
        }
        // the length of a run is unknown before the first, so one run is made unless the slice is unlimited
        let batch = match self.dearest {
            0 if slice < u64::MAX => 1,
            dearest => (slice / dearest.max(1)).clamp(1, BATCH) as u32,
        };
        let end = (self.made + batch).min(if first { self.rules.len() as u32 } else { runs });
        let found = threads::map(self.made..end, |index| self.run(index, stop));
        for (order, steps) in found {
            self.steps += steps;
            self.dearest = self.dearest.max(steps);
            let Some(order) = order else { continue };
            if order.method.is_some_and(|method| self.greedy.contains(&method)) {
                insert(&mut self.of_greedy, order.clone(), self.keep);
            }
            insert(&mut self.best, order, self.keep);
        }
        self.made = end;
        if first && end == self.rules.len() as u32 && !self.greedy.is_empty() && !self.is_hopeful() {
            // the first runs of the greedy rules are made already
            self.rules.clone_from(&self.greedy);
            self.made = self.rules.len() as u32;
        }
        true
    }

    /// Returns the orders, best first: at least one if there was a run.
    pub fn into_orders(self) -> Vec<Order> {
        let of_all = self.greedy.is_empty() || self.is_hopeful();
        if of_all { self.best } else { self.of_greedy }
    }

    /// Returns the number of restarts of each rule. If all rules continue instead of the greedy ones, they share the
    /// restarts.
    fn share(&self) -> u32 {
        let all = !self.greedy.is_empty() && self.rules.len() > self.greedy.len();
        if all { self.restarts / self.rules.len() as u32 } else { self.restarts }
    }

    fn is_hopeful(&self) -> bool {
        self.best.first().is_some_and(|order| order.joint_entries <= HOPEFUL)
    }

    /// Makes one run, which gives up if its order costs more than the worst order kept. Returns the order and the
    /// number of steps.
    fn run(&self, index: u32, stop: &Stop) -> (Option<Order>, u64) {
        let method = self.rules[index as usize % self.rules.len()];
        let seed = mix(self.seed, u64::from(index));
        let worst = |orders: &[Order]| orders.get(self.keep - 1).map_or(f64::INFINITY, |order| order.joint_entries);
        let of_greedy = if self.greedy.contains(&method) { worst(&self.of_greedy) } else { 0.0 };
        ordered(&self.graph, &self.domains, method, seed, worst(&self.best).max(of_greedy), stop)
    }
}

/// Makes one run of a rule with the random ties of a seed. Returns the order, `None` if it costs more than `limit`, and
/// the number of steps.
pub(super) fn ordered(
    graph: &Graph,
    domains: &[u32],
    method: Method,
    seed: u64,
    limit: f64,
    stop: &Stop,
) -> (Option<Order>, u64) {
    // a stopped order is arbitrary
    let sequence = (method == Method::Sweep && !stop.is_set()).then(|| sweep::sweep(graph, seed, stop).ok()).flatten();
    let greedy = Rule::Greedy { method, seed, late: &[], most: f64::INFINITY };
    let rule = sequence.as_ref().map_or(greedy, |sequence| Rule::Given(sequence));
    let (order, steps) = eliminate(graph, domains, rule, limit, EFFORT, stop);
    (order.map(|order| Order { method: Some(method), ..order }), steps)
}

/// Inserts an order if it is new and among the `keep` best.
fn insert(orders: &mut Vec<Order>, order: Order, keep: usize) {
    if orders.iter().any(|known| known.sequence == order.sequence) {
        return;
    }
    let place = orders.partition_point(|known| known.rank() <= order.rank());
    orders.insert(place, order);
    orders.truncate(keep);
}

/// Returns the best order of `methods`: each runs once, then `restarts` times with different random ties while runs are
/// quick.
pub fn best_order(problem: &Problem, methods: &[Method], seed: u64, restarts: u32, stop: &Stop) -> Order {
    best_orders(problem, methods, seed, restarts, 1, stop).swap_remove(0)
}

/// Returns the `keep` best different orders, best first; at least one. Setting `stop` ends the restarts, and the orders
/// found by then are returned.
pub fn best_orders(
    problem: &Problem,
    methods: &[Method],
    seed: u64,
    restarts: u32,
    keep: usize,
    stop: &Stop,
) -> Vec<Order> {
    all_of(OrderSearch::new(problem, methods, seed, restarts, keep, stop), stop)
}

/// Returns the best order of [`OrderSearch::promising`].
pub fn promising_order(problem: &Problem, greedy: &[Method], seed: u64, restarts: u32, stop: &Stop) -> Order {
    all_of(OrderSearch::promising(problem, greedy, seed, restarts, 1, stop), stop).swap_remove(0)
}

fn all_of(mut search: OrderSearch, stop: &Stop) -> Vec<Order> {
    while search.advance(u64::MAX, stop) {}
    search.into_orders()
}
