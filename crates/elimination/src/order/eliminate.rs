//! Elimination on the graph: joins a variable's neighbours by edges, removes the variable, and adds up sizes.

use super::sequence::{Method, Order};
use crate::error::Error;
use crate::graph::Graph;
use crate::rng::mix;
use crate::stop::Stop;
use crate::threads::Large;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The rule that chooses the next variable.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rule<'a> {
    /// The best score; a random number for each variable breaks ties. Variables that `late` marks come after all others
    /// whose cliques have at most `most` entries.
    Greedy { method: Method, seed: u64, late: &'a [bool], most: f64 },
    /// A given sequence.
    Given(&'a [u32]),
}

impl<'a> Rule<'a> {
    fn method(self) -> Option<Method> {
        match self {
            Rule::Greedy { method, .. } => Some(method),
            Rule::Given(_) => None,
        }
    }

    fn given(self) -> Option<&'a [u32]> {
        match self {
            Rule::Greedy { .. } => None,
            Rule::Given(sequence) => Some(sequence),
        }
    }
}

/// Number of basic steps after which one run of a rule no longer follows fill edges: some tenths of a second. The
/// remaining graph is then too dense for bucket elimination, and mini-buckets need only a rough order of it.
pub(super) const EFFORT: u64 = 140_000_000;

/// Eliminates all variables and returns the order and the number of steps. The order is `None` if the sum of joint
/// tables exceeds `limit`. After `effort` steps no more fill edges are added: the remaining degrees complete the order,
/// and its cost is infinite. A stopped run returns an arbitrary order of infinite cost, because neighbours may be
/// missing.
pub(super) fn eliminate(
    graph: &Graph,
    domains: &[u32],
    rule: Rule<'_>,
    limit: f64,
    effort: u64,
    stop: &Stop,
) -> (Option<Order>, u64) {
    counted(graph, domains, rule, limit, effort, stop).unwrap_or_else(|_| {
        let order = Order { method: rule.method(), ..Order::uncounted(rule.given(), domains.len()) };
        (Some(order), 0)
    })
}

/// Like [`eliminate`], but returns [`Error::Stopped`] instead of an arbitrary order.
fn counted(
    graph: &Graph,
    domains: &[u32],
    rule: Rule<'_>,
    limit: f64,
    effort: u64,
    stop: &Stop,
) -> Result<(Option<Order>, u64), Error> {
    stop.check()?;
    let (method, given) = (rule.method(), rule.given());
    let (seed, late, most) = match rule {
        Rule::Greedy { seed, late, most, .. } => (seed, late, most),
        Rule::Given(_) => (0, &[][..], f64::INFINITY),
    };
    let mut left = Remaining::new(graph, domains, method, effort, stop)?;
    let sequence = Vec::with_capacity(domains.len());
    let mut order = Order { sequence, method, width: 0, joint_entries: 0.0, largest: 1.0 };
    let tag = |v: u32| mix(seed, u64::from(v));
    let joint = |left: &Remaining, v: u32| {
        let neighbours = left.adjacency[v as usize].iter().map(|&u| f64::from(domains[u as usize]));
        neighbours.product::<f64>() * f64::from(domains[v as usize])
    };
    let large = |left: &Remaining, v: u32| most < f64::INFINITY && joint(left, v) > most;
    let turn = |left: &Remaining, v: u32| match late.get(v as usize) {
        Some(true) => 1u8,
        _ => 2 * u8::from(large(left, v)),
    };
    let ranked = |left: &Remaining| -> Result<BinaryHeap<_>, Error> {
        // capacity for new scores: moving a million entries takes as long as making them
        let mut all = Vec::with_capacity(if method.is_some() { 2 * domains.len() } else { 0 });
        for v in stop.each(left.variables().filter(|_| method.is_some())) {
            let v = v?;
            all.push(Reverse((turn(left, v), left.score(v), tag(v), v)));
        }
        Ok(all.into())
    };
    let mut heap = ranked(&left)?;
    for place in 0..domains.len() {
        stop.check()?;
        let v = match given {
            Some(sequence) => sequence[place],
            None => loop {
                stop.check()?; // many entries may be out of date
                let Reverse((before, score, _, v)) =
                    heap.pop().expect("every variable left has its current score in the heap");
                if left.alive[v as usize] && (turn(&left, v), left.score(v)) == (before, score) {
                    break v;
                }
            },
        };
        if left.filling && left.effort == 0 {
            left.filling = false;
            order.joint_entries = f64::INFINITY;
            // each remaining variable may neighbour all others
            order.width = order.width.max((domains.len() - place - 1) as u32);
            left.forget_scores(stop)?;
            heap = ranked(&left)?;
        }
        if left.filling {
            let entries: f64 = left.adjacency[v as usize].iter().map(|&u| f64::from(domains[u as usize])).product();
            order.width = order.width.max(left.adjacency[v as usize].len() as u32);
            order.largest = order.largest.max(entries);
            order.joint_entries += entries * f64::from(domains[v as usize]);
        }
        if order.joint_entries > limit {
            return Ok((None, effort - left.effort));
        }
        order.sequence.push(v);
        left.remove(v, stop)?;
        if method.is_some() {
            heap.extend(left.touched.iter().map(|&u| Reverse((turn(&left, u), left.scores[u as usize], tag(u), u))));
            left.touched.clear();
        }
    }
    if left.filling {
        order.sequence = postorder(&order.sequence, &left.adjacency, stop)?;
    }
    Ok((Some(order), effort - left.effort))
}

/// The cost of adding an edge, in steps: it touches lists all over memory, whereas scans are sequential.
const EDGE: u64 = 100;

/// The graph of the remaining variables, with a score for each, updated as edges change.
struct Remaining {
    adjacency: Large<Vec<u32>>,
    alive: Vec<bool>,
    /// Each variable's weight in fill scores: 1, or its domain size.
    weights: Vec<u64>,
    /// The sum of the weights of all neighbours.
    around: Vec<u64>,
    /// Fill or degree, depending on the method.
    scores: Vec<u64>,
    /// Variables whose score the last removal changed, without repetitions.
    touched: Vec<u32>,
    touched_at: Vec<u32>,
    marks: Vec<u32>,
    mark: u32,
    removals: u32,
    by_fill: bool,
    filling: bool,
    effort: u64,
}

impl Remaining {
    fn new(graph: &Graph, domains: &[u32], method: Option<Method>, effort: u64, stop: &Stop) -> Result<Self, Error> {
        let n = domains.len();
        let weights: Vec<u64> = match method {
            Some(Method::WeightedMinFill) => domains.iter().map(|&d| u64::from(d)).collect(),
            _ => vec![1; n],
        };
        let of = |v: usize| graph.neighbours(v).iter().map(|&u| weights[u as usize]).sum();
        let around = stop.each(0..n).map(|v| v.map(of)).collect::<Result<_, Error>>()?;
        let adjacency = stop.each(0..n).map(|v| v.map(|v| graph.neighbours(v).to_vec()));
        let mut remaining = Remaining {
            adjacency: adjacency.collect::<Result<_, Error>>()?,
            alive: vec![true; n],
            weights,
            around,
            scores: (0..n).map(|v| graph.neighbours(v).len() as u64).collect(),
            touched: Vec::new(),
            touched_at: vec![0; n],
            marks: vec![0; n],
            mark: 0,
            removals: 0,
            by_fill: false,
            filling: true,
            effort,
        };
        if matches!(method, Some(Method::MinFill | Method::WeightedMinFill)) {
            remaining.count_fill(stop)?;
        }
        Ok(remaining)
    }

    /// Counts the fill of every variable: the weight of all pairs of neighbours minus that of the pairs that are
    /// joined. If that alone takes too long (in dense graphs, in which fill means little), degrees remain the score.
    fn count_fill(&mut self, stop: &Stop) -> Result<(), Error> {
        let degrees = |list: &Vec<u32>| list.iter().map(|&u| self.adjacency[u as usize].len() as u64).sum::<u64>();
        let steps = stop.each(&self.adjacency).map(|list| list.map(degrees)).sum::<Result<u64, Error>>()?;
        if steps > self.effort {
            return Ok(());
        }
        self.effort -= steps;
        self.by_fill = true;
        for v in stop.each(0..self.adjacency.len()) {
            let v = v?;
            self.mark += 1;
            for &u in &self.adjacency[v] {
                self.marks[u as usize] = self.mark;
            }
            let mut twice = 0;
            for &u in &self.adjacency[v] {
                let joined: u64 = self.adjacency[u as usize]
                    .iter()
                    .filter(|&&w| self.marks[w as usize] == self.mark)
                    .map(|&w| self.weights[w as usize])
                    .sum();
                twice += self.weights[u as usize] * (self.around[v] - self.weights[u as usize] - joined);
            }
            self.scores[v] = twice / 2;
        }
        Ok(())
    }

    fn score(&self, v: u32) -> u64 {
        self.scores[v as usize]
    }

    fn variables(&self) -> impl Iterator<Item = u32> {
        (0..self.alive.len() as u32).filter(|&v| self.alive[v as usize])
    }

    /// Replaces all scores by degrees.
    fn forget_scores(&mut self, stop: &Stop) -> Result<(), Error> {
        self.by_fill = false;
        for item in stop.each(self.scores.iter_mut().zip(&self.adjacency)) {
            let (score, list) = item?;
            *score = list.len() as u64;
        }
        Ok(())
    }

    fn touch(&mut self, v: u32) {
        if self.touched_at[v as usize] != self.removals {
            self.touched_at[v as usize] = self.removals;
            self.touched.push(v);
        }
    }

    /// Removes `v`, after joining its neighbours if fill edges are still followed. The list of `v` itself is kept.
    fn remove(&mut self, v: u32, stop: &Stop) -> Result<(), Error> {
        self.removals += 1;
        self.alive[v as usize] = false;
        let ring = std::mem::take(&mut self.adjacency[v as usize]);
        if !self.filling {
            // lists keep removed variables: only degrees are updated
            for &u in ring.iter() {
                if self.alive[u as usize] {
                    self.scores[u as usize] -= 1;
                    self.touched.push(u);
                }
            }
            return Ok(());
        }
        if !(self.by_fill && self.scores[v as usize] == 0) {
            self.join(&ring, v, stop)?;
        }
        let own = self.weights[v as usize];
        let ring_weight: u64 = ring.iter().map(|&u| self.weights[u as usize]).sum();
        for &u in &ring {
            let index = u as usize;
            if self.by_fill {
                // pairs of v with the neighbours of u that are not neighbours of v
                let outside = self.around[index] - own - (ring_weight - self.weights[index]);
                self.scores[index] -= own * outside;
            }
            self.around[index] -= own;
            let list = &mut self.adjacency[index];
            self.effort = self.effort.saturating_sub(list.len() as u64 + EDGE);
            if let Some(place) = list.iter().position(|&w| w == v) {
                let _ = list.swap_remove(place);
            }
            if !self.by_fill {
                self.scores[index] = list.len() as u64;
            }
            self.touch(u);
        }
        self.touched.retain(|&u| self.alive[u as usize]);
        self.adjacency[v as usize] = ring;
        Ok(())
    }

    /// Joins all pairs of `ring`, the neighbours of `v`.
    fn join(&mut self, ring: &[u32], v: u32, stop: &Stop) -> Result<(), Error> {
        for (place, &a) in ring.iter().enumerate() {
            if place > 0 {
                stop.check()?;
            }
            self.mark += 1;
            let mark = self.mark;
            for &x in &self.adjacency[a as usize] {
                self.marks[x as usize] = mark;
            }
            self.effort = self.effort.saturating_sub((self.adjacency[a as usize].len() + ring.len()) as u64);
            for &b in &ring[place + 1..] {
                if self.marks[b as usize] == mark {
                    continue;
                }
                if self.by_fill {
                    self.count_edge(a, b, v);
                }
                self.effort = self.effort.saturating_sub(EDGE);
                self.adjacency[a as usize].push(b);
                self.adjacency[b as usize].push(a);
                self.around[a as usize] += self.weights[b as usize];
                self.around[b as usize] += self.weights[a as usize];
                self.marks[b as usize] = mark;
            }
        }
        Ok(())
    }

    /// Updates scores for a new edge `a`-`b`: common neighbours lose a missing pair, and both ends gain the pairs of
    /// their new neighbour with old ones that are not adjacent to it. The neighbours of `a` are marked.
    fn count_edge(&mut self, a: u32, b: u32, v: u32) {
        let list = std::mem::take(&mut self.adjacency[b as usize]);
        self.effort = self.effort.saturating_sub(list.len() as u64);
        let (weight_a, weight_b) = (self.weights[a as usize], self.weights[b as usize]);
        let mut common = 0;
        for &x in &list {
            if self.marks[x as usize] == self.mark {
                common += self.weights[x as usize];
                if x != v {
                    self.scores[x as usize] -= weight_a * weight_b;
                    self.touch(x);
                }
            }
        }
        self.scores[a as usize] += weight_b * (self.around[a as usize] - common);
        self.scores[b as usize] += weight_a * (self.around[b as usize] - common);
        self.adjacency[b as usize] = list;
    }
}

/// Reorders an elimination sequence so that each subtree of messages is contiguous. The cliques are equal, but messages
/// are consumed soon after they are computed, so few are alive at a time. `neighbours[v]` are the neighbours of `v`
/// when it is eliminated.
fn postorder(sequence: &[u32], neighbours: &[Vec<u32>], stop: &Stop) -> Result<Vec<u32>, Error> {
    let n = sequence.len();
    let mut position = vec![0u32; n];
    for (place, &v) in sequence.iter().enumerate() {
        position[v as usize] = place as u32;
    }
    let parent = |v: u32| neighbours[v as usize].iter().map(|&u| position[u as usize]).min();
    // subtree sizes decide where each subtree's stretch of the new sequence begins
    let mut sizes = vec![1u32; n];
    for item in stop.each(sequence.iter().enumerate()) {
        let (place, &v) = item?;
        if let Some(up) = parent(v) {
            sizes[up as usize] += sizes[place];
        }
    }
    // from the root down: the end of each subtree's stretch, assigned to the children from the right
    let mut ends = vec![0u32; n];
    let mut free = n as u32;
    let mut result = vec![0u32; n];
    for item in stop.each(sequence.iter().enumerate().rev()) {
        let (place, &v) = item?;
        let end = match parent(v) {
            Some(up) => {
                let end = ends[up as usize];
                ends[up as usize] -= sizes[place];
                end
            }
            None => {
                let end = free;
                free -= sizes[place];
                end
            }
        };
        result[end as usize - 1] = v;
        ends[place] = end - 1;
    }
    Ok(result)
}
