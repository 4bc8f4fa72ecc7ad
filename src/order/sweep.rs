//! A sweep across the graph: the next variable is one beside those gone that leads on to the fewest others (King, "An automatic
//! reordering scheme for simultaneous equations derived from network systems", 1970). On grids and chains its frontier stays as
//! thin as the graph is, where greedy fill begins in many places and joins thick pieces in the end.

use crate::rng::mix;
use std::collections::{BTreeSet, VecDeque};

/// Sweeps every component from a variable at its edge; `seed` chooses from where that is looked for.
pub(super) fn sweep(neighbours: &[Vec<u32>], seed: u64) -> Vec<u32> {
    let n = neighbours.len();
    let mut frontier = Frontier {
        neighbours,
        seen: vec![None; n],
        count: 0,
        leads: neighbours.iter().map(|list| list.len() as u32).collect(),
        waiting: BTreeSet::new(),
    };
    let mut starts: Vec<u32> = (0..n as u32).collect();
    starts.sort_by_key(|&v| mix(seed, u64::from(v)));
    let mut sequence = Vec::with_capacity(n);
    for start in starts {
        if frontier.seen[start as usize].is_none() {
            frontier.see(farthest(neighbours, farthest(neighbours, start)));
            while let Some((_, _, v)) = frontier.waiting.pop_first() {
                sequence.push(v);
                neighbours[v as usize].iter().for_each(|&u| frontier.see(u));
            }
        }
    }
    sequence
}

/// The variables beside those gone.
struct Frontier<'a> {
    neighbours: &'a [Vec<u32>],
    /// When each variable was seen first.
    seen: Vec<Option<u32>>,
    count: u32,
    /// How many of its neighbours have not been seen.
    leads: Vec<u32>,
    /// By these, then by age.
    waiting: BTreeSet<(u32, u32, u32)>,
}

impl Frontier<'_> {
    fn see(&mut self, v: u32) {
        if self.seen[v as usize].is_some() {
            return;
        }
        self.seen[v as usize] = Some(self.count);
        self.count += 1;
        for &u in &self.neighbours[v as usize] {
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

/// The last variable that a breadth-first walk meets.
fn farthest(neighbours: &[Vec<u32>], start: u32) -> u32 {
    let mut met = vec![false; neighbours.len()];
    met[start as usize] = true;
    let (mut queue, mut last) = (VecDeque::from([start]), start);
    while let Some(v) = queue.pop_front() {
        last = v;
        for &u in &neighbours[v as usize] {
            if !std::mem::replace(&mut met[u as usize], true) {
                queue.push_back(u);
            }
        }
    }
    last
}
