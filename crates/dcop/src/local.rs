//! Local search by agents in synchronous cycles, as a baseline: DSA (Zhang, Wang, Xing and Wittenburg, "Distributed
//! stochastic search and distributed breakout", 2005, variant B), MGM (Maheswaran, Pearce and Tambe, "Distributed
//! algorithms for DCOP", 2004) and Max-sum ([`MaxSum`]).
//!
//! All agents read what their neighbours sent in the previous cycle. Results therefore do not depend on threads or
//! devices, and the number of messages follows from the graph.

use super::cycles::{CYCLES, Cycle, LocalFound, LocalOptions, Penalties};
use super::max_sum::MaxSum;
use crate::elimination::add_function;
use crate::error::Error;
use crate::graph::Graph;
use crate::model::{Problem, Readers};
use crate::rng::{Rng, mix};
use crate::stop::Stop;

/// An algorithm of local search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalSearch {
    /// Each agent takes its best value with a probability.
    Dsa,
    /// The agent with the largest gain among its neighbours takes its best value.
    Mgm,
    /// Variables and functions exchange messages with the costs of values.
    MaxSum,
}

/// Searches from `initial` values; variables without one start from a random value. Returns the best assignment so far
/// if `stop` is set.
///
/// # Errors
/// Returns [`Error::Stopped`] if `stop` is set before the cost of the initial values is known.
pub fn run_local(
    problem: &Problem,
    algorithm: LocalSearch,
    initial: &[Option<u32>],
    options: LocalOptions,
    stop: &Stop,
) -> Result<LocalFound, Error> {
    watch_local(problem, algorithm, initial, options, &mut |_| (), stop)
}

/// Searches like [`run_local`] and calls `watch` at the end of each cycle.
///
/// # Errors
/// Returns [`Error::Stopped`] if `stop` is set before the cost of the initial values is known.
pub fn watch_local(
    problem: &Problem,
    algorithm: LocalSearch,
    initial: &[Option<u32>],
    options: LocalOptions,
    watch: &mut dyn FnMut(Cycle<'_>),
    stop: &Stop,
) -> Result<LocalFound, Error> {
    let mut rng = Rng::new(options.seed);
    let first = problem.domains.iter().zip(initial).map(|(&domain, initial)| {
        let drawn = rng.below(u64::from(domain)) as u32;
        initial.unwrap_or(drawn)
    });
    let assignment: Vec<u32> = first.collect();
    let cost = problem.cost_until(&assignment, stop)?;
    let mut found = LocalFound { assignment: assignment.clone(), cost, cycles: 0, messages: 0, message_entries: 0 };
    let ended = match algorithm {
        LocalSearch::MaxSum => MaxSum::new(problem, options, stop).map(|mut sums| sums.run(&mut found, watch, stop)),
        _ => Moves::new(problem, stop).map(|moves| moves.run(algorithm, assignment, &mut found, options, watch, stop)),
    };
    match ended {
        Err(error) if !error.is_stop() => Err(error),
        _ => Ok(found),
    }
}

/// The state of DSA and MGM, whose agents see their neighbours' values.
struct Moves<'a> {
    problem: &'a Problem,
    graph: Graph,
    incidence: Readers,
    penalties: Penalties,
}

/// The move that an agent proposes in a cycle.
struct Wish {
    /// The cost of the present value minus that of the proposed one.
    gain: i128,
    value: u32,
    /// Whether another value costs no more than the present one.
    is_other: bool,
    draw: u64,
}

impl<'a> Moves<'a> {
    fn new(problem: &'a Problem, stop: &Stop) -> Result<Self, Error> {
        let (graph, incidence) = (Graph::new(problem, stop)?, problem.incidence(stop)?);
        Ok(Moves { problem, graph, incidence, penalties: Penalties::new(problem) })
    }

    fn run(
        &self,
        algorithm: LocalSearch,
        mut values: Vec<u32>,
        found: &mut LocalFound,
        options: LocalOptions,
        watch: &mut dyn FnMut(Cycle<'_>),
        stop: &Stop,
    ) {
        let edges = self.graph.arrays().1.len() as u64;
        let is_mgm = algorithm == LocalSearch::Mgm;
        let limit = options.cycles.unwrap_or(CYCLES);
        while found.cycles < limit && !stop.is_set() {
            let seed = options.seed ^ found.cycles.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let wish = |v: usize| self.wish(v, &values, is_mgm, mix(seed, v as u64));
            let Ok(wishes) = stop.each(0..values.len()).map(|v| v.map(wish)).collect::<Result<Vec<Wish>, Error>>()
            else {
                break;
            };
            // DSA sends each value to each neighbour, MGM each gain as well
            let rounds = 1 + u64::from(is_mgm);
            found.messages += rounds * edges;
            found.message_entries += rounds * edges;
            let wants = |v: usize| match is_mgm {
                true => wishes[v].gain > 0,
                false => wishes[v].gain > 0 || (wishes[v].is_other && self.is_violated(v, &values)),
            };
            let wanting: Vec<usize> = (0..values.len()).filter(|&v| wants(v)).collect();
            let moves = |v: usize| match is_mgm {
                true => {
                    let beats = |&u: &u32| (wishes[v].gain, u as usize) > (wishes[u as usize].gain, v);
                    self.graph.neighbours(v).iter().all(beats)
                }
                false => ((wishes[v].draw & 0xffff_ffff) as f64) < options.probability * 2f64.powi(32),
            };
            for &v in wanting.iter().filter(|&&v| moves(v)) {
                values[v] = wishes[v].value;
            }
            found.cycles += 1;
            found.offer(self.problem, &values);
            watch(found.cycle(&values));
            if wanting.is_empty() {
                break;
            }
        }
    }

    /// Returns the best value of a variable: the first one for MGM, for DSA a random one other than the present value.
    fn wish(&self, v: usize, values: &[u32], is_mgm: bool, draw: u64) -> Wish {
        let row = self.row(v, values);
        let own = values[v];
        let best = row.iter().copied().min().unwrap_or(0);
        let is_best = |&value: &u32| row[value as usize] == best;
        let all = || (0..row.len() as u32).filter(is_best);
        let others: Vec<u32> = all().filter(|&value| value != own).collect();
        let value = match others.len() {
            0 => own,
            _ if is_mgm => all().next().unwrap_or(own),
            count => others[(draw >> 32) as usize % count],
        };
        Wish { gain: row[own as usize] - best, value, is_other: !others.is_empty(), draw }
    }

    /// Returns the cost of each value of a variable to its agent.
    fn row(&self, v: usize, values: &[u32]) -> Vec<i128> {
        let unary = &self.problem.unary[v];
        let mut row: Vec<i128> = unary.iter().map(|&cost| self.penalties.value(v, cost)).collect();
        let mut own = Vec::new();
        for &f in &self.incidence[v] {
            own.clear();
            own.resize(row.len(), 0);
            add_function(self.problem, &self.problem.functions[f as usize], v as u32, values, &mut own);
            row.iter_mut().zip(&own).for_each(|(sum, &cost)| *sum += self.penalties.entry(f as usize, cost));
        }
        row
    }

    fn is_violated(&self, v: usize, values: &[u32]) -> bool {
        let cost = |f: usize| self.problem.functions[f].cost(&self.problem.domains, values);
        self.incidence[v].iter().any(|&f| self.penalties.entry(f as usize, cost(f as usize)) > 0)
    }
}
