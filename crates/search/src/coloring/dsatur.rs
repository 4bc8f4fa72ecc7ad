//! First colorings: by saturation (DSATUR; Brelaz, "New methods to color the vertices of a graph", 1979), and in
//! reverse smallest-last order (Matula and Beck, "Smallest-last ordering and clustering and graph coloring algorithms",
//! 1983).

use crate::error::Error;
use crate::graph::Graph;
use crate::stop::Stop;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

pub(super) const NONE: u32 = u32::MAX;
/// Vertices between two checks of the stop flag: less than a millisecond.
const LOOK: usize = 256;

/// Returns the DSATUR coloring; `None` if it needs more than `most` colors or is stopped. The next vertex is the one
/// with the most colors among its neighbours, ties broken by the most neighbours. It takes the first color that none of
/// its neighbours has.
pub(super) fn dsatur(graph: &Graph, most: u32, stop: &Stop) -> Option<Vec<u32>> {
    let n = graph.len();
    let words = most.div_ceil(64) as usize;
    let mut near = vec![0u64; n * words];
    let mut colors = vec![NONE; n];
    let mut saturation = vec![0u32; n];
    let rank = |saturation: u32, v: usize| (saturation, graph.neighbours(v).len() as u32, Reverse(v as u32));
    // an entry for each saturation that a vertex has had: the highest comes first, and the later ones are skipped
    let mut waiting: BinaryHeap<_> = (0..n).map(|v| rank(0, v)).collect();
    let mut steps = 0usize;
    while let Some((_, _, Reverse(v))) = waiting.pop() {
        let v = v as usize;
        if colors[v] != NONE {
            continue;
        }
        steps += 1;
        if steps.is_multiple_of(LOOK) && stop.is_set() {
            return None;
        }
        let taken = &near[v * words..(v + 1) * words];
        let word = taken.iter().position(|&word| word != u64::MAX)?;
        let color = (64 * word) as u32 + taken[word].trailing_ones();
        if color >= most {
            return None;
        }
        colors[v] = color;
        let (word, bit) = (color as usize / 64, 1u64 << (color % 64));
        for &u in graph.neighbours(v) {
            let u = u as usize;
            if colors[u] == NONE && near[u * words + word] & bit == 0 {
                near[u * words + word] |= bit;
                saturation[u] += 1;
                waiting.push(rank(saturation[u], u));
            }
        }
    }
    Some(colors)
}

/// The smallest-last order, in which the vertex with the fewest remaining neighbours is removed next, and the core
/// numbers: the largest number of remaining neighbours of any vertex removed so far. The vertices whose core number is
/// at least k remain (the k-core) when vertices with fewer than k neighbours are removed one after the other.
#[derive(Debug, Default)]
pub(super) struct SmallestLast {
    pub order: Vec<u32>,
    pub core: Vec<u32>,
}

impl SmallestLast {
    /// Computes both by a counting sort of the degrees that exchanges keep up to date (Batagelj and Zaversnik, "An O(m)
    /// algorithm for cores decomposition of networks", 2003).
    pub fn new(graph: &Graph, stop: &Stop) -> Result<Self, Error> {
        let n = graph.len();
        let mut degree: Vec<u32> = (0..n).map(|v| graph.neighbours(v).len() as u32).collect();
        // positions at which the vertices of each degree begin
        let mut starts = vec![0usize; degree.iter().max().map_or(1, |&most| most as usize + 2)];
        degree.iter().for_each(|&d| starts[d as usize + 1] += 1);
        (1..starts.len()).for_each(|d| starts[d] += starts[d - 1]);
        let (mut order, mut place, mut free) = (vec![0u32; n], vec![0usize; n], starts.clone());
        for v in 0..n {
            place[v] = free[degree[v] as usize];
            order[place[v]] = v as u32;
            free[degree[v] as usize] += 1;
        }
        for next in stop.each(0..n) {
            let next = next?;
            let v = order[next] as usize;
            for &u in graph.neighbours(v) {
                let u = u as usize;
                if degree[u] > degree[v] {
                    // u becomes the last of the vertices with one neighbour less
                    let d = degree[u] as usize;
                    let first = starts[d];
                    let other = order[first] as usize;
                    order.swap(first, place[u]);
                    (place[other], place[u]) = (place[u], first);
                    starts[d] = first + 1;
                    degree[u] -= 1;
                }
            }
        }
        Ok(SmallestLast { order, core: degree })
    }

    /// Colors the vertices outside the `k`-core, the last removed first. Each takes a color that none of its neighbours
    /// has.
    pub fn complete(&self, graph: &Graph, k: u32, colors: &mut [u32]) {
        let mut taken = vec![NONE; k as usize];
        let left_out = self.order.partition_point(|&v| self.core[v as usize] < k);
        self.order[..left_out].iter().for_each(|&v| colors[v as usize] = NONE);
        for &v in self.order[..left_out].iter().rev() {
            for &u in graph.neighbours(v as usize) {
                if let Some(mark) = taken.get_mut(colors[u as usize] as usize) {
                    *mark = v;
                }
            }
            colors[v as usize] = taken.iter().position(|&mark| mark != v).map_or(NONE, |color| color as u32);
        }
    }
}
