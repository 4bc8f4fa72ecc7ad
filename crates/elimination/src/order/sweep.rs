//! A sweep across the graph: the next variable is the neighbour of the eliminated ones that adds the fewest others
//! (King, "An automatic reordering scheme for simultaneous equations derived from network systems", 1970). On grids and
//! chains its frontier stays as narrow as the graph, whereas greedy fill begins in many places and joins wide pieces at
//! the end.

use crate::error::Error;
use crate::graph::Graph;
use crate::rng::mix;
use crate::stop::Stop;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// Sweeps every component from a variable at its edge; `seed` chooses where the search for that variable begins.
pub(super) fn sweep(graph: &Graph, seed: u64, stop: &Stop) -> Result<Vec<u32>, Error> {
    let n = graph.len();
    let leads = stop.each(0..n).map(|v| v.map(|v| graph.neighbours(v).len() as u32));
    let leads = leads.collect::<Result<_, Error>>()?;
    let mut frontier = Frontier { graph, seen: vec![None; n], count: 0, leads, waiting: BTreeSet::new() };
    // a component needs only one start
    let starts = stop.each(0..n as u32).map(|v| v.map(|v| Reverse((mix(seed, u64::from(v)), v))));
    let mut starts = BinaryHeap::from(starts.collect::<Result<Vec<_>, Error>>()?);
    stop.check()?;
    let mut sequence = Vec::with_capacity(n);
    let mut walk = Walk { met: vec![false; n], queue: Vec::new() };
    while sequence.len() < n
        && let Some(Reverse((_, start))) = starts.pop()
    {
        stop.check()?;
        if frontier.seen[start as usize].is_none() {
            let edge = walk.farthest(graph, start, stop)?;
            frontier.see(walk.farthest(graph, edge, stop)?);
            while let Some((_, _, v)) = frontier.waiting.pop_first() {
                stop.check()?;
                sequence.push(v);
                graph.neighbours(v as usize).iter().for_each(|&u| frontier.see(u));
            }
        }
    }
    Ok(sequence)
}

/// The neighbours of the eliminated variables.
struct Frontier<'a> {
    graph: &'a Graph,
    /// The time at which each variable was first seen.
    seen: Vec<Option<u32>>,
    count: u32,
    /// Number of each variable's neighbours that have not been seen.
    leads: Vec<u32>,
    /// Variables to eliminate as (number of unseen neighbours, time at which they were seen, variable).
    waiting: BTreeSet<(u32, u32, u32)>,
}

impl Frontier<'_> {
    fn see(&mut self, v: u32) {
        if self.seen[v as usize].is_some() {
            return;
        }
        self.seen[v as usize] = Some(self.count);
        self.count += 1;
        for &u in self.graph.neighbours(v as usize) {
            let leads = self.leads[u as usize];
            self.leads[u as usize] = leads - 1;
            if let Some(age) = self.seen[u as usize]
                && self.waiting.remove(&(leads, age, u))
            {
                let _ = self.waiting.insert((leads - 1, age, u));
            }
        }
        let _ = self.waiting.insert((self.leads[v as usize], self.count - 1, v));
    }
}

/// A breadth-first search.
struct Walk {
    /// The variables that the search has met; all false between two searches.
    met: Vec<bool>,
    queue: Vec<u32>,
}

impl Walk {
    /// Returns the last variable that a search meets. It takes time linear in the edges of the component, because there
    /// may be a million components.
    fn farthest(&mut self, graph: &Graph, start: u32, stop: &Stop) -> Result<u32, Error> {
        self.queue.clear();
        self.queue.push(start);
        self.met[start as usize] = true;
        let mut head = 0;
        while let Some(&v) = self.queue.get(head) {
            stop.check()?;
            head += 1;
            for &u in graph.neighbours(v as usize) {
                if !std::mem::replace(&mut self.met[u as usize], true) {
                    self.queue.push(u);
                }
            }
        }
        self.queue.iter().for_each(|&v| self.met[v as usize] = false);
        Ok(self.queue.last().copied().unwrap_or(start))
    }
}
