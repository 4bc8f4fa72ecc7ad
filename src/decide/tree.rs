//! Belief trees, level by level, in which equal beliefs of a level are one node.

use super::process::{Process, best, dot};
use super::tuning::{BATCH, DIGITS};
use crate::error::Error;
use crate::memory;
use crate::model::{PolicyGraph, PolicyNode};
use crate::stop::Stop;
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::Hasher;

/// An observation that cannot be made.
const NONE: u32 = u32::MAX;

/// Where an observation leads, and its probability.
#[derive(Clone, Copy, Debug)]
struct Edge {
    to: u32,
    p: f64,
}

/// The nodes of a step.
#[derive(Debug, Default)]
struct Level {
    /// Beliefs, one after the other.
    beliefs: Vec<f64>,
    nodes: usize,
    /// For each node, action and observation; in the last level edges lead to vectors of the leaf.
    edges: Vec<Edge>,
    /// The value of each action at each node.
    q: Vec<f64>,
    /// The largest distance of a belief from the one that it was merged with.
    merged: f64,
}

/// What a tree may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// Most nodes of a level.
    pub nodes: usize,
    /// Bytes of all levels.
    pub bytes: u64,
}

/// A finished tree.
#[derive(Debug)]
pub(super) struct Tree {
    levels: Vec<Level>,
    actions: usize,
    observations: usize,
    /// How far values may be from those of exact arithmetic.
    pub error_bound: f64,
}

/// The children of a node before they are merged.
struct Grown {
    /// Place among the node's edges, probability, hash.
    edges: Vec<(usize, f64, u64)>,
    beliefs: Vec<f64>,
}

impl Tree {
    /// Grows a tree from some beliefs at step 0. At step `leaf` a belief is worth the most that a vector of `vectors`
    /// expects. Nothing where a level has no room.
    ///
    /// # Errors
    /// [`Error::Stopped`].
    pub fn grow<P: Process>(
        process: &P,
        roots: &[Vec<f64>],
        (leaf, vectors): (usize, &[Vec<f64>]),
        room: Room,
        stop: &Stop,
    ) -> Result<Option<Tree>, Error> {
        let (actions, observations) = (process.actions(), process.observations());
        let mut tree = Tree { levels: Vec::new(), actions, observations, error_bound: 0.0 };
        let mut level = Level { nodes: roots.len(), beliefs: roots.concat(), ..Level::default() };
        let mut bytes = 0u64;
        for step in 0..leaf {
            let per_node = 8 * (process.states(step) + actions) + size_of::<Edge>() * actions * observations;
            bytes = bytes.saturating_add((level.nodes * per_node) as u64);
            if bytes > room.bytes {
                return Ok(None);
            }
            let last = step + 1 == leaf;
            let left = (room.bytes - bytes) / (8 * process.states(step + 1) as u64 + 16).max(1);
            let nodes = room.nodes.min(usize::try_from(left).unwrap_or(usize::MAX)).min(NONE as usize - 1);
            memory::reserve(&mut level.edges, level.nodes * actions * observations)?;
            level.edges.resize(level.nodes * actions * observations, Edge { to: NONE, p: 0.0 });
            level.q.resize(level.nodes * actions, 0.0);
            let next = if last {
                level.evaluate(process, step, vectors, stop)?;
                Some(Level::default())
            } else {
                level.expand(process, step, nodes, stop)?
            };
            tree.levels.push(level);
            match next {
                Some(next) => level = next,
                None => return Ok(None),
            }
        }
        if leaf == 0 {
            // one step without observations
            level.q = level.beliefs.chunks(process.states(0)).flat_map(|b| vectors.iter().map(|v| dot(b, v))).collect();
            tree.actions = vectors.len();
            tree.levels.push(level);
        }
        tree.back_up(process);
        tree.error_bound = tree.error(process, leaf, vectors);
        Ok(Some(tree))
    }

    /// The values of a step's actions at a node.
    pub fn q(&self, step: usize, node: usize) -> &[f64] {
        &self.levels[step].q[node * self.actions..(node + 1) * self.actions]
    }

    /// The value of a root.
    pub fn value(&self, root: usize) -> f64 {
        best(self.q(0, root).iter().copied()).1
    }

    /// The best action at a node.
    pub fn action(&self, step: usize, node: usize) -> usize {
        best(self.q(step, node).iter().copied()).0
    }

    /// The node that an action and an observation lead to.
    pub fn child(&self, step: usize, node: usize, action: usize, seen: usize) -> Option<usize> {
        let edge = self.levels[step].edges[(node * self.actions + action) * self.observations + seen];
        (edge.to != NONE).then_some(edge.to as usize)
    }

    /// Nodes of all levels.
    pub fn nodes(&self) -> u64 {
        self.levels.iter().map(|level| level.nodes as u64).sum()
    }

    fn back_up<P: Process>(&mut self, process: &P) {
        let (actions, observations) = (self.actions, self.observations);
        for step in (0..self.levels.len().saturating_sub(1)).rev() {
            let (before, after) = self.levels.split_at_mut(step + 1);
            let (level, next) = (&mut before[step], &after[0]);
            let values: Vec<f64> = next.q.par_chunks(actions).map(|q| best(q.iter().copied()).1).collect();
            let (beliefs, edges, wide) = (&level.beliefs, &level.edges, process.states(step));
            level.q.par_iter_mut().enumerate().for_each(|(place, q)| {
                let (node, action) = (place / actions, place % actions);
                let edges = &edges[place * observations..(place + 1) * observations];
                let after: f64 = edges.iter().filter(|e| e.to != NONE).map(|e| e.p * values[e.to as usize]).sum();
                let belief = &beliefs[node * wide..(node + 1) * wide];
                *q = dot(belief, process.rewards(step, action)) + process.discount() * after;
            });
        }
    }

    /// Rounding: the relative error of a belief grows with each step by its sums and its division, that of a value by
    /// its own sums; merging adds what it moved times the spread of values.
    fn error<P: Process>(&self, process: &P, leaf: usize, vectors: &[Vec<f64>]) -> f64 {
        let unit = f64::EPSILON / 2.0;
        let most = |values: &[f64]| values.iter().fold(0.0f64, |most, value| most.max(value.abs()));
        let mut value = vectors.iter().map(|v| most(v)).fold(0.0, f64::max);
        let of_belief = |step: usize| {
            let sums: usize = (0..step).map(|step| process.states(step) + process.states(step + 1) + 8).sum();
            2.0 * sums as f64 * unit
        };
        let mut error = (process.states(leaf) as f64 * unit + of_belief(leaf)) * value;
        for (step, level) in self.levels.iter().enumerate().take(leaf).rev() {
            let merged = if step + 1 < leaf { self.levels[step + 1].merged } else { 0.0 };
            error = process.discount() * (error + merged * value);
            let reward = (0..process.actions()).map(|action| most(process.rewards(step, action))).fold(0.0, f64::max);
            value = reward + process.discount() * value;
            let sums = (level.beliefs.len() / level.nodes.max(1) + process.observations() + 3) as f64;
            error += (sums * unit + of_belief(step)) * value;
        }
        error
    }

    /// The policy from a root, equal nodes merged from the end. Leaf vector `k` stands for doing action `k` to the end.
    pub fn policy(&self, horizon: usize, actions: Vec<String>, observations: Vec<String>) -> PolicyGraph {
        let leaf = if self.levels[0].edges.is_empty() { 0 } else { self.levels.len() };
        // nodes that the policy reaches, by level
        let mut reached: Vec<Vec<usize>> = vec![vec![0]];
        for step in 0..leaf {
            let own = reached[step].iter();
            let mut next: Vec<usize> = own
                .flat_map(|&node| {
                    let action = self.action(step, node);
                    (0..self.observations).filter_map(move |seen| self.child(step, node, action, seen))
                })
                .collect();
            next.sort_unstable();
            next.dedup();
            reached.push(next);
        }
        if leaf == 0 {
            reached[0] = vec![self.action(0, 0)];
        }
        // from the end: made nodes are numbered backwards
        let mut made: Vec<PolicyNode> = Vec::new();
        let mut known: FxHashMap<(usize, usize, Vec<Option<usize>>), usize> = FxHashMap::default();
        let mut number = |step: usize, action: usize, next: Vec<Option<usize>>| {
            *known.entry((step, action, next.clone())).or_insert_with(|| {
                made.push(PolicyNode { step, action, next });
                made.len() - 1
            })
        };
        let mut ids: FxHashMap<usize, usize> = FxHashMap::default();
        for &action in &reached[leaf] {
            let mut id = number(horizon - 1, action, vec![None; self.observations]);
            for step in (leaf..horizon - 1).rev() {
                id = number(step, action, vec![Some(id); self.observations]);
            }
            let _ = ids.insert(action, id);
        }
        for step in (0..leaf).rev() {
            let mut own = FxHashMap::default();
            for &node in &reached[step] {
                let action = self.action(step, node);
                let to = |seen: usize| self.child(step, node, action, seen).map(|child| ids[&child]);
                let next = (0..self.observations).map(to).collect();
                let _ = own.insert(node, number(step, action, next));
            }
            ids = own;
        }
        // by step, so that the root is first
        let mut order: Vec<usize> = (0..made.len()).collect();
        order.sort_by_key(|&node| (made[node].step, usize::MAX - node));
        let mut place = vec![0; made.len()];
        order.iter().enumerate().for_each(|(new, &old)| place[old] = new);
        let renamed = |old: usize| {
            let PolicyNode { step, action, ref next } = made[old];
            PolicyNode { step, action, next: next.iter().map(|to| to.map(|to| place[to])).collect() }
        };
        let nodes = order.iter().map(|&old| renamed(old)).collect();
        PolicyGraph { horizon, actions, observations, nodes }
    }
}

impl Level {
    /// The values of all actions where the next step is the leaf.
    fn evaluate<P: Process>(
        &mut self,
        process: &P,
        step: usize,
        vectors: &[Vec<f64>],
        stop: &Stop,
    ) -> Result<(), Error> {
        let (actions, observations, wide) = (process.actions(), process.observations(), process.states(step + 1));
        let own = process.states(step);
        let beliefs = &self.beliefs;
        let edges = self.edges.par_chunks_mut(actions * observations);
        self.q.par_chunks_mut(actions).zip(edges).enumerate().try_for_each(|(node, (q, edges))| {
            stop.check()?;
            let belief = &beliefs[node * own..(node + 1) * own];
            let mut next = vec![0.0; observations * wide];
            for (action, q) in q.iter_mut().enumerate() {
                next.fill(0.0);
                process.advance(step, action, belief, &mut next);
                let mut after = 0.0;
                for (edge, next) in edges[action * observations..].iter_mut().zip(next.chunks(wide)) {
                    let p: f64 = next.iter().sum();
                    if p > 0.0 {
                        let (vector, value) = best(vectors.iter().map(|v| dot(next, v)));
                        *edge = Edge { to: vector as u32, p };
                        after += value;
                    }
                }
                *q = dot(belief, process.rewards(step, action)) + process.discount() * after;
            }
            Ok(())
        })
    }

    /// The next level, and the edges that lead there. Nothing where it has more than `most` nodes.
    fn expand<P: Process>(
        &mut self,
        process: &P,
        step: usize,
        most: usize,
        stop: &Stop,
    ) -> Result<Option<Level>, Error> {
        let (actions, observations) = (process.actions(), process.observations());
        let (own, wide) = (process.states(step), process.states(step + 1));
        let mut next = Level::default();
        let mut first: FxHashMap<u64, u32> = FxHashMap::default();
        // the next node of the same hash
        let mut chain: Vec<u32> = Vec::new();
        let per_node = actions * observations;
        for batch in (0..self.nodes).step_by(BATCH) {
            stop.check()?;
            let end = (batch + BATCH).min(self.nodes);
            let beliefs = &self.beliefs;
            let grow = |node: usize| {
                let mut grown = Grown { edges: Vec::new(), beliefs: Vec::new() };
                let mut after = vec![0.0; observations * wide];
                for action in 0..actions {
                    after.fill(0.0);
                    process.advance(step, action, &beliefs[node * own..(node + 1) * own], &mut after);
                    for (seen, after) in after.chunks(wide).enumerate() {
                        let p: f64 = after.iter().sum();
                        if p > 0.0 {
                            let from = grown.beliefs.len();
                            grown.beliefs.extend(after.iter().map(|weight| weight / p));
                            grown.edges.push((action * observations + seen, p, hash(&grown.beliefs[from..])));
                        }
                    }
                }
                grown
            };
            let grown: Vec<Grown> = (batch..end).into_par_iter().map(grow).collect();
            for (node, grown) in (batch..end).zip(grown) {
                for ((place, p, hash), belief) in grown.edges.into_iter().zip(grown.beliefs.chunks(wide)) {
                    let mut at = first.get(&hash).copied().unwrap_or(NONE);
                    while at != NONE && !equal(&next.beliefs[at as usize * wide..][..wide], belief) {
                        at = chain[at as usize];
                    }
                    if at == NONE {
                        if next.nodes >= most {
                            return Ok(None);
                        }
                        at = next.nodes as u32;
                        chain.push(first.insert(hash, at).unwrap_or(NONE));
                        next.beliefs.extend_from_slice(belief);
                        next.nodes += 1;
                    } else {
                        let known = &next.beliefs[at as usize * wide..][..wide];
                        let distance: f64 = known.iter().zip(belief).map(|(a, b)| (a - b).abs()).sum();
                        next.merged = next.merged.max(distance);
                    }
                    self.edges[node * per_node + place] = Edge { to: at, p };
                }
            }
        }
        Ok(Some(next))
    }
}

fn rounded(weight: f64) -> i64 {
    (weight * DIGITS).round() as i64
}

fn hash(belief: &[f64]) -> u64 {
    let mut hasher = FxHasher::default();
    belief.iter().for_each(|&weight| hasher.write_i64(rounded(weight)));
    hasher.finish()
}

fn equal(a: &[f64], b: &[f64]) -> bool {
    a.iter().zip(b).all(|(&a, &b)| rounded(a) == rounded(b))
}
