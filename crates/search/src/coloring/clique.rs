//! Large cliques. The vertices of a clique all have different colors, so its size is a lower bound on the number of
//! colors.
//!
//! In each clique one vertex comes first in the smallest-last order, and the others are among its later neighbours,
//! which are few (Eppstein and Strash, "Listing all maximal cliques in large sparse real-world graphs", 2011). For each
//! vertex, a branch and bound searches its later neighbours for a larger clique, with a greedy coloring as the bound
//! (Tomita and Seki, "An efficient branch-and-bound algorithm for finding a maximum clique", 2003). A limit on the
//! number of leaves ends it early, so that every vertex is tried; later passes over the vertices have higher limits.

use super::dsatur::SmallestLast;
use crate::error::Error;
use crate::graph::Graph;
use crate::stop::Stop;
use crate::tuning::tuning;

/// The search for a maximum clique, in slices.
#[derive(Debug, Default)]
pub(super) struct Cliques {
    best: Vec<u32>,
    /// The vertices, those with many later neighbours first.
    starts: Vec<u32>,
    /// The position of each vertex in the smallest-last order.
    place: Vec<u32>,
    /// The position in `starts` of the next vertex.
    next: usize,
    /// The largest number of leaves for each vertex in this pass.
    leaves: u64,
    /// Whether the limit has cut off the search of a vertex in this pass.
    cut: bool,
    complete: bool,
    /// For each vertex, its local index in the current branch and bound; `u32::MAX` outside it.
    local: Vec<u32>,
}

impl Cliques {
    /// Starts with a clique of one vertex, or of none if the graph is empty.
    pub fn new(graph: &Graph, smallest_last: &SmallestLast, stop: &Stop) -> Result<Self, Error> {
        let n = graph.len();
        let mut place = vec![0; n];
        smallest_last.order.iter().enumerate().for_each(|(p, &v)| place[v as usize] = p as u32);
        let later =
            |v: u32| graph.neighbours(v as usize).iter().filter(|&&u| place[u as usize] > place[v as usize]).count();
        let later = stop.each(0..n as u32).map(|v| Ok(later(v?))).collect::<Result<Vec<_>, Error>>()?;
        let mut starts: Vec<u32> = (0..n as u32).collect();
        starts.sort_by_key(|&v| std::cmp::Reverse(later[v as usize]));
        let best = starts.first().copied().into_iter().collect();
        let local = vec![u32::MAX; n];
        Ok(Cliques { best, starts, place, next: 0, leaves: 1, cut: false, complete: false, local })
    }

    pub fn best(&self) -> &[u32] {
        &self.best
    }

    /// Searches for a larger clique, for about `work` adjacency entries. Returns whether the best clique is proved to
    /// be a maximum clique.
    pub fn search(&mut self, graph: &Graph, work: u64, stop: &Stop) -> bool {
        let mut left = work as i64;
        while left > 0 && !self.complete && !stop.is_set() {
            let Some(&v) = self.starts.get(self.next) else {
                self.complete = !self.cut;
                (self.next, self.cut, self.leaves) = (0, false, self.leaves.saturating_mul(tuning().coloring.more));
                continue;
            };
            self.next += 1;
            let later = |&u: &u32| self.place[u as usize] > self.place[v as usize];
            let candidates: Vec<u32> = graph.neighbours(v as usize).iter().copied().filter(later).collect();
            left -= graph.neighbours(v as usize).len() as i64 + 1;
            if candidates.len() < self.best.len() {
                // the starts that follow have no more candidates than this one
                self.next = self.starts.len();
                continue;
            }
            let mut branch = Branch::new(graph, &candidates, &mut self.local, self.best.len() as u32 - 1, self.leaves);
            branch.expand(branch.all(), &mut Vec::new(), stop);
            self.cut |= branch.leaves == 0;
            left -= branch.work as i64;
            if let Some(found) = branch.found {
                self.best = found.into_iter().map(|local| candidates[local as usize]).chain([v]).collect();
            }
        }
        self.complete
    }
}

type Bits = Vec<u64>;

/// The branch and bound on the later neighbours of one vertex, by their local indices.
struct Branch {
    near: Vec<Bits>,
    /// The size that a clique must exceed to be found.
    size: u32,
    /// The largest clique found, by local indices.
    found: Option<Vec<u32>>,
    /// Number of leaves that remain.
    leaves: u64,
    work: u64,
}

impl Branch {
    fn new(graph: &Graph, candidates: &[u32], local: &mut [u32], size: u32, leaves: u64) -> Self {
        let words = candidates.len().div_ceil(64);
        candidates.iter().enumerate().for_each(|(index, &u)| local[u as usize] = index as u32);
        let mut work = 0;
        let row = |&u: &u32| {
            let mut row = vec![0u64; words];
            work += graph.neighbours(u as usize).len() as u64;
            for &w in graph.neighbours(u as usize) {
                let index = local[w as usize] as usize;
                if index < candidates.len() {
                    row[index / 64] |= 1 << (index % 64);
                }
            }
            row
        };
        let near = candidates.iter().map(row).collect();
        candidates.iter().for_each(|&u| local[u as usize] = u32::MAX);
        Branch { near, size, found: None, leaves, work }
    }

    fn all(&self) -> Bits {
        let mut all = vec![0u64; self.near.len().div_ceil(64)];
        (0..self.near.len()).for_each(|index| all[index / 64] |= 1 << (index % 64));
        all
    }

    /// Searches for larger cliques that contain `clique` and members of `candidates`. Each candidate is adjacent to all
    /// of `clique`.
    fn expand(&mut self, mut candidates: Bits, clique: &mut Vec<u32>, stop: &Stop) {
        let order = self.by_colors(&candidates);
        for &(index, colors) in order.iter().rev() {
            if clique.len() as u32 + colors <= self.size {
                break;
            }
            if self.leaves == 0 || stop.is_set() {
                return;
            }
            clique.push(index);
            let near = &self.near[index as usize];
            let rest: Bits = candidates.iter().zip(near).map(|(a, b)| a & b).collect();
            if rest.iter().any(|&word| word != 0) {
                self.expand(rest, clique, stop);
            } else {
                self.size = clique.len() as u32;
                self.found = Some(clique.clone());
                self.leaves -= 1;
            }
            let _ = clique.pop();
            candidates[index as usize / 64] &= !(1 << (index % 64));
        }
        // a branch that ends by the bound counts as a leaf
        self.leaves = self.leaves.saturating_sub(1);
    }

    /// Returns the candidates ordered by the classes of a greedy coloring, each with the number of classes up to its
    /// own. No clique among the candidates up to it is larger than that number.
    fn by_colors(&mut self, candidates: &Bits) -> Vec<(u32, u32)> {
        let (mut left, mut colors, mut order) = (candidates.clone(), 0, Vec::new());
        while left.iter().any(|&word| word != 0) {
            colors += 1;
            let mut class = left.clone();
            for word in 0..class.len() {
                while class[word] != 0 {
                    let index = 64 * word + class[word].trailing_zeros() as usize;
                    order.push((index as u32, colors));
                    left[word] &= !(1 << (index % 64));
                    class[word] &= !(1 << (index % 64));
                    class.iter_mut().zip(&self.near[index]).skip(word).for_each(|(class, near)| *class &= !near);
                    self.work += (class.len() - word) as u64;
                }
            }
        }
        order
    }
}
