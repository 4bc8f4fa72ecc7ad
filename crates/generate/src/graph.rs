//! Random graphs as lists of edges, the lower vertex first.

use crate::rng::Rng;
use rustc_hash::FxHashSet;

/// Returns floor(p n(n-1)/2).
pub(super) fn share_of_pairs(n: u32, p: f64) -> u64 {
    let pairs = u64::from(n) * u64::from(n).saturating_sub(1) / 2;
    // a product like 0.3 * 10 may be below the whole number by rounding
    ((p * pairs as f64 + 1e-6).floor() as u64).min(pairs)
}

/// Returns a connected graph of `edges` edges, at least `n` - 1: a random tree first, then random pairs. (Drawing whole
/// graphs until one is connected would be uniform, but would not end in practice for sparse ones.)
pub(super) fn connected(n: u32, edges: usize, rng: &mut Rng) -> Vec<[u32; 2]> {
    let mut order: Vec<u32> = (0..n).collect();
    rng.shuffle(&mut order);
    let tree: Vec<_> = (1..n as usize).map(|i| ascending(order[i], order[rng.index(i)])).collect();
    distinct(n, edges, tree.iter().copied().collect(), tree, rng)
}

/// Adds random pairs that are not in `seen` to `list` until it has `edges` of them, and sorts it. `edges` must not
/// exceed the number of pairs.
pub(super) fn distinct(
    n: u32,
    edges: usize,
    mut seen: FxHashSet<[u32; 2]>,
    mut list: Vec<[u32; 2]>,
    rng: &mut Rng,
) -> Vec<[u32; 2]> {
    while list.len() < edges {
        let edge = ascending(rng.index(n as usize) as u32, rng.index(n as usize) as u32);
        if edge[0] != edge[1] && seen.insert(edge) {
            list.push(edge);
        }
    }
    list.sort_unstable();
    list
}

/// Returns a graph made by preferential attachment, with two edges for each new vertex: 2(n - 2) + 1 edges in all.
pub(super) fn preferential(n: u32, rng: &mut Rng) -> Vec<[u32; 2]> {
    let mut edges = Vec::new();
    if n >= 2 {
        edges.push([0, 1]);
    }
    for new in 2..n {
        // an end of a random edge is a vertex with probability proportional to its degree
        let before = edges.len();
        let end = |rng: &mut Rng| edges[rng.index(before)][rng.index(2)];
        let first = end(rng);
        let second = loop {
            let vertex = end(rng);
            if vertex != first {
                break vertex;
            }
        };
        edges.push([first, new]);
        edges.push([second, new]);
    }
    edges
}

/// Returns a grid with vertices numbered row by row; `wrap` joins opposite sides if that gives new edges.
pub(super) fn grid(rows: u32, columns: u32, wrap: bool) -> Vec<[u32; 2]> {
    let mut edges = Vec::new();
    let at = |row: u32, column: u32| row * columns + column;
    for row in 0..rows {
        for column in 0..columns {
            if column + 1 < columns {
                edges.push([at(row, column), at(row, column + 1)]);
            } else if wrap && columns > 2 {
                edges.push([at(row, 0), at(row, column)]);
            }
            if row + 1 < rows {
                edges.push([at(row, column), at(row + 1, column)]);
            } else if wrap && rows > 2 {
                edges.push([at(0, column), at(row, column)]);
            }
        }
    }
    edges
}

fn ascending(a: u32, b: u32) -> [u32; 2] {
    [a.min(b), a.max(b)]
}
