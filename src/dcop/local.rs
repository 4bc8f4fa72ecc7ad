//! Local search by agents that take turns together, as a baseline: DSA (Zhang, Wang, Xing and Wittenburg, "Distributed
//! stochastic search and distributed breakout", 2005, variant B), MGM (Maheswaran, Pearce and Tambe, "Distributed
//! algorithms for DCOP", 2004) and Max-sum (Farinelli, Rogers, Petcu and Jennings, 2008) on minus the costs.
//!
//! All agents read what their neighbours said in the cycle before, so threads and devices do not matter, and messages
//! follow from the graph.

use crate::elimination::decode::add_function;
use crate::error::Error;
use crate::graph::Graph;
use crate::model::{Cost, FORBIDDEN, Problem, Readers};
use crate::rng::{Rng, mix};
use crate::stop::Stop;

/// Algorithms of local search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalSearch {
    /// Each agent takes its best value with a probability.
    Dsa,
    /// The agent of the largest gain among its neighbours takes its best value.
    Mgm,
    /// Variables and functions send each other what values cost.
    MaxSum,
}

/// The choices of a local search.
#[derive(Clone, Copy, Debug)]
pub struct LocalOptions {
    /// Cycles at most.
    pub cycles: u64,
    /// Seed of first values and choices.
    pub seed: u64,
    /// With which probability an agent of DSA changes its value: 0.7, as in the paper's experiments and pyDCOP.
    pub probability: f64,
    /// The share of the last message that Max-sum keeps: 0.5, as pyDCOP.
    pub damping: f64,
}

impl Default for LocalOptions {
    fn default() -> Self {
        LocalOptions { cycles: 1000, seed: 1, probability: 0.7, damping: 0.5 }
    }
}

/// What a local search found.
#[derive(Clone, Debug, PartialEq)]
pub struct LocalFound {
    /// The best assignment that all agents together had.
    pub assignment: Vec<u32>,
    /// Its cost; [`FORBIDDEN`] where an entry forbids it.
    pub cost: Cost,
    /// Cycles until no agent had a reason to change, or the limit.
    pub cycles: u64,
    /// Messages.
    pub messages: u64,
    /// Values and costs in all messages.
    pub message_entries: u64,
}

/// Searches from `initial` values, random ones where there are none.
///
/// # Errors
/// [`Error::Stopped`] before the first cycle has ended.
pub fn run_local(
    problem: &Problem,
    algorithm: LocalSearch,
    initial: &[Option<u32>],
    options: LocalOptions,
    stop: &Stop,
) -> Result<LocalFound, Error> {
    let mut rng = Rng::new(options.seed);
    let first = problem.domains.iter().zip(initial).map(|(&domain, initial)| {
        let drawn = rng.below(u64::from(domain)) as u32;
        initial.unwrap_or(drawn)
    });
    let assignment: Vec<u32> = first.collect();
    let cost = problem.cost(&assignment);
    let found = LocalFound { assignment: assignment.clone(), cost, cycles: 0, messages: 0, message_entries: 0 };
    match algorithm {
        LocalSearch::MaxSum => MaxSum::new(problem, options).run(found, stop),
        _ => Moves::new(problem, stop)?.run(algorithm, assignment, found, options, stop),
    }
}

impl LocalFound {
    fn offer(&mut self, problem: &Problem, assignment: &[u32]) {
        let cost = problem.cost(assignment);
        if cost < self.cost {
            (self.cost, self.assignment) = (cost, assignment.to_vec());
        }
    }
}

/// DSA and MGM: agents that see their neighbours' values.
struct Moves<'a> {
    problem: &'a Problem,
    graph: Graph,
    incidence: Readers,
    /// The least cost of each function: it is violated where it costs more.
    least: Vec<Cost>,
}

impl<'a> Moves<'a> {
    fn new(problem: &'a Problem, stop: &Stop) -> Result<Self, Error> {
        let least = problem.functions.iter().map(|function| function.min(&problem.domains)).collect();
        let (graph, incidence) = (Graph::new(problem, stop)?, problem.incidence_until(stop)?);
        Ok(Moves { problem, graph, incidence, least })
    }

    fn run(
        &self,
        algorithm: LocalSearch,
        mut values: Vec<u32>,
        mut found: LocalFound,
        options: LocalOptions,
        stop: &Stop,
    ) -> Result<LocalFound, Error> {
        let n = values.len();
        let edges = self.graph.arrays().1.len() as u64;
        let is_mgm = algorithm == LocalSearch::Mgm;
        let mut row = Vec::new();
        while found.cycles < options.cycles && !stop.is_set() {
            let mut wishes = Vec::with_capacity(n);
            for v in 0..n {
                self.row(v, &values, &mut row);
                let best = row.iter().copied().min().unwrap_or(0);
                // forbidden values are all alike
                let gain = row[values[v] as usize].saturating_sub(best);
                let ties: Vec<u32> =
                    (0..).zip(&row).filter(|(_, cost)| **cost == best).map(|(value, _)| value).collect();
                let draw = mix(options.seed ^ found.cycles.wrapping_mul(0x9e37_79b9_7f4a_7c15), v as u64);
                let wish = match is_mgm {
                    true => ties[0],
                    false => ties[(draw >> 32) as usize % ties.len()],
                };
                wishes.push((gain, wish, draw));
            }
            // DSA: each value to each neighbour; MGM: each gain, too
            let rounds = 1 + u64::from(is_mgm);
            found.messages += rounds * edges;
            found.message_entries += rounds * edges;
            let before = values.clone();
            let mut quiet = true;
            for v in 0..n {
                let (gain, wish, draw) = wishes[v];
                let moves = match algorithm {
                    LocalSearch::Mgm => {
                        let beats = |&u: &u32| {
                            let other = wishes[u as usize].0;
                            gain > other || (gain == other && v < u as usize)
                        };
                        gain > 0 && self.graph.neighbours(v).iter().all(beats)
                    }
                    _ => {
                        let wants = gain > 0 || (wish != before[v] && self.is_violated(v, &before));
                        quiet &= !wants;
                        wants && ((draw & 0xffff_ffff) as f64) < options.probability * 2f64.powi(32)
                    }
                };
                if moves {
                    values[v] = wish;
                    quiet = false;
                }
            }
            found.cycles += 1;
            found.offer(self.problem, &values);
            if quiet {
                break;
            }
        }
        Ok(found)
    }

    /// What each value of a variable costs its agent.
    fn row(&self, v: usize, values: &[u32], row: &mut Vec<Cost>) {
        row.clone_from(&self.problem.unary[v]);
        for &f in &self.incidence[v] {
            add_function(self.problem, &self.problem.functions[f as usize], v as u32, values, row);
        }
    }

    fn is_violated(&self, v: usize, values: &[u32]) -> bool {
        self.incidence[v]
            .iter()
            .any(|&f| self.problem.functions[f as usize].cost(&self.problem.domains, values) > self.least[f as usize])
    }
}

/// Max-sum on the factor graph.
struct MaxSum<'a> {
    problem: &'a Problem,
    options: LocalOptions,
    /// A cost that is more than all finite ones together, in place of what is forbidden.
    forbidden: f64,
    /// For each function and each variable of it, what the function says of the variable's values.
    from_functions: Vec<Vec<Vec<f64>>>,
    from_variables: Vec<Vec<Vec<f64>>>,
}

impl<'a> MaxSum<'a> {
    fn new(problem: &'a Problem, options: LocalOptions) -> Self {
        let dearest =
            |costs: &mut dyn Iterator<Item = Cost>| costs.filter(|&cost| cost < FORBIDDEN).max().unwrap_or(0) as f64;
        let unary = problem.unary.iter().map(|costs| dearest(&mut costs.iter().copied())).sum::<f64>();
        let functions = problem.functions.iter().map(|function| dearest(&mut function.table.costs())).sum::<f64>();
        let blank = || {
            let of = |scope: &[u32]| scope.iter().map(|&v| vec![0.0; problem.domains[v as usize] as usize]).collect();
            problem.functions.iter().map(|function| of(&function.scope)).collect::<Vec<Vec<Vec<f64>>>>()
        };
        let forbidden = 1.0 + unary + functions;
        MaxSum { problem, options, forbidden, from_functions: blank(), from_variables: blank() }
    }

    fn finite(&self, cost: Cost) -> f64 {
        if cost >= FORBIDDEN { self.forbidden } else { cost as f64 }
    }

    fn run(mut self, mut found: LocalFound, stop: &Stop) -> Result<LocalFound, Error> {
        let problem = self.problem;
        let sent: u64 = self.from_functions.iter().map(|scope| scope.len() as u64).sum();
        let entries: u64 = self.from_functions.iter().flatten().map(|message| message.len() as u64).sum();
        let mut last = Vec::new();
        while found.cycles < self.options.cycles && !stop.is_set() {
            let mut change = 0f64;
            for f in 0..problem.functions.len() {
                stop.check().or_else(|error| if found.cycles > 0 { Ok(()) } else { Err(error) })?;
                change = change.max(self.function(f));
            }
            let beliefs = self.beliefs();
            self.variables(&beliefs);
            let values: Vec<u32> = beliefs
                .iter()
                .map(|row| {
                    row.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1)).map_or(0, |(value, _)| value as u32)
                })
                .collect();
            found.cycles += 1;
            found.messages += 2 * sent;
            found.message_entries += 2 * entries;
            if values != last {
                found.offer(problem, &values);
                last = values;
            }
            if change < 1e-6 {
                break;
            }
        }
        Ok(found)
    }

    /// The messages of a function; how much they changed at most.
    fn function(&mut self, f: usize) -> f64 {
        let problem = self.problem;
        let function = &problem.functions[f];
        let sizes: Vec<usize> = function.scope.iter().map(|&v| problem.domains[v as usize] as usize).collect();
        let mut digits = vec![0usize; sizes.len()];
        let mut new: Vec<Vec<f64>> = sizes.iter().map(|&size| vec![f64::INFINITY; size]).collect();
        for cost in function.entries(&problem.domains) {
            let terms = || digits.iter().enumerate().map(|(place, &digit)| self.from_variables[f][place][digit]);
            let sum = self.finite(cost) + terms().sum::<f64>();
            for (place, term) in terms().enumerate().collect::<Vec<_>>() {
                let slot = &mut new[place][digits[place]];
                *slot = slot.min(sum - term);
            }
            for place in (0..digits.len()).rev() {
                digits[place] += 1;
                if digits[place] < sizes[place] {
                    break;
                }
                digits[place] = 0;
            }
        }
        let damping = self.options.damping;
        let mut change = 0f64;
        for (old, new) in self.from_functions[f].iter_mut().zip(new) {
            for (old, new) in old.iter_mut().zip(new) {
                let damped = damping * *old + (1.0 - damping) * new;
                change = change.max((damped - *old).abs());
                *old = damped;
            }
        }
        change
    }

    /// What each value of each variable costs by all that its functions say.
    fn beliefs(&self) -> Vec<Vec<f64>> {
        let unary = self.problem.unary.iter();
        let mut beliefs: Vec<Vec<f64>> =
            unary.map(|costs| costs.iter().map(|&cost| self.finite(cost)).collect()).collect();
        for (function, messages) in self.problem.functions.iter().zip(&self.from_functions) {
            for (&v, message) in function.scope.iter().zip(messages) {
                beliefs[v as usize].iter_mut().zip(message).for_each(|(sum, said)| *sum += said);
            }
        }
        beliefs
    }

    /// The messages of the variables: what all other functions say, less its least.
    fn variables(&mut self, beliefs: &[Vec<f64>]) {
        for (f, function) in self.problem.functions.iter().enumerate() {
            for (place, &v) in function.scope.iter().enumerate() {
                let said = &self.from_functions[f][place];
                let rest = || beliefs[v as usize].iter().zip(said).map(|(all, own)| all - own);
                let least = rest().fold(f64::INFINITY, f64::min);
                let message = rest().map(|cost| cost - least).collect();
                self.from_variables[f][place] = message;
            }
        }
    }
}
