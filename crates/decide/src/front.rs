//! Levels of belief trees, and the beliefs of a level on the host; `beliefs` has those on a device.

use super::process::{Process, best, dot};
use super::tuning::{BATCH, DIGITS};
use crate::elimination::executor::Failure;
use crate::error::Error;
use crate::stop::Stop;
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::Hasher;

/// Marks an observation that has probability 0.
pub(super) const NONE: u32 = u32::MAX;

/// The node to which an observation leads, and its probability.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub to: u32,
    pub p: f64,
}

/// The nodes of a step.
#[derive(Debug, Default)]
pub(super) struct Level {
    /// The number of nodes.
    pub nodes: usize,
    /// For each node, action and observation, the next node; in the last level, the vector of the leaf.
    pub edges: Vec<Edge>,
    /// The value of each action at each node; before values are backed up, only its reward.
    pub q: Vec<f64>,
    /// The largest distance of a belief from the one that it was merged with.
    pub merged: f64,
}

/// The outcome of expanding a level.
#[derive(Clone, Copy, Debug)]
pub(super) enum Grown {
    /// The number of nodes of the next level, and the largest distance of a belief from its node.
    Nodes(usize, f64),
    /// The next level has more nodes than the limit.
    TooMany,
    /// The device has no room; this many bytes are needed.
    NoRoom(u64),
}

/// The beliefs of a level, on the host or on a device.
pub(super) trait Front {
    /// Computes rewards and the values of all actions if the next step is the leaf, which has no nodes.
    fn evaluate<P: Process>(
        &mut self,
        process: &P,
        step: usize,
        vectors: &[Vec<f64>],
        level: &mut Level,
        stop: &Stop,
    ) -> Result<Grown, Failure>;

    /// Computes rewards and the edges to the beliefs of the next level, and replaces these beliefs by those.
    fn expand<P: Process>(
        &mut self,
        process: &P,
        step: usize,
        most: usize,
        level: &mut Level,
        stop: &Stop,
    ) -> Result<Grown, Failure>;

    /// Evaluates the level if the next step is the leaf, which has vectors; otherwise expands it to at most `most`
    /// nodes.
    fn take<P: Process>(
        &mut self,
        process: &P,
        step: usize,
        leaf: Option<&[Vec<f64>]>,
        most: usize,
        level: &mut Level,
        stop: &Stop,
    ) -> Result<Grown, Failure> {
        match leaf {
            Some(vectors) => self.evaluate(process, step, vectors, level, stop),
            None => self.expand(process, step, most, level, stop),
        }
    }
}

/// Beliefs on the host, one after the other.
#[derive(Debug, Default)]
pub(super) struct Local {
    pub beliefs: Vec<f64>,
    pub nodes: usize,
}

/// The children of a node before they are merged.
struct Siblings {
    /// The index among the node's edges, the probability and the hash of each child.
    edges: Vec<(usize, f64, u64)>,
    beliefs: Vec<f64>,
}

impl Level {
    /// Adds the values after the next step, which is the leaf, to the rewards of nodes from `first` on. `p` are the
    /// probabilities of the children, and `expected` returns the expectations of the vectors at a child.
    pub fn weigh<P: Process, I: Iterator<Item = f64> + Clone>(
        &mut self,
        process: &P,
        first: usize,
        p: &[f64],
        expected: impl Fn(usize) -> I,
    ) {
        let (actions, observations) = (process.actions(), process.observations());
        let edges = &mut self.edges[first * actions * observations..];
        for (place, (children, own)) in p.chunks(observations).zip(edges.chunks_mut(observations)).enumerate() {
            let mut after = 0.0;
            for (seen, (&p, edge)) in children.iter().zip(own).enumerate().filter(|(_, (p, _))| **p > 0.0) {
                let (vector, value) = best(expected(place * observations + seen));
                *edge = Edge { to: vector as u32, p };
                after += p * value;
            }
            self.q[first * actions + place] += process.discount() * after;
        }
    }
}

impl Local {
    /// Computes the rewards of all actions.
    fn reward<P: Process>(&self, process: &P, step: usize, level: &mut Level) {
        let (actions, own) = (process.actions(), process.states(step));
        level.q.par_iter_mut().enumerate().for_each(|(place, q)| {
            let belief = &self.beliefs[place / actions * own..][..own];
            *q = dot(belief, process.rewards(step, place % actions));
        });
    }
}

impl Front for Local {
    fn evaluate<P: Process>(
        &mut self,
        process: &P,
        step: usize,
        vectors: &[Vec<f64>],
        level: &mut Level,
        stop: &Stop,
    ) -> Result<Grown, Failure> {
        let (actions, observations, wide) = (process.actions(), process.observations(), process.states(step + 1));
        let own = process.states(step);
        self.reward(process, step, level);
        let edges = level.edges.par_chunks_mut(actions * observations);
        level.q.par_chunks_mut(actions).zip(edges).enumerate().try_for_each(|(node, (q, edges))| {
            stop.check()?;
            let belief = &self.beliefs[node * own..(node + 1) * own];
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
                *q += process.discount() * after;
            }
            Ok::<_, Error>(())
        })?;
        Ok(Grown::Nodes(0, 0.0))
    }

    fn expand<P: Process>(
        &mut self,
        process: &P,
        step: usize,
        most: usize,
        level: &mut Level,
        stop: &Stop,
    ) -> Result<Grown, Failure> {
        let (actions, observations) = (process.actions(), process.observations());
        let (own, wide) = (process.states(step), process.states(step + 1));
        self.reward(process, step, level);
        let mut next = Local::default();
        let mut merged = 0.0f64;
        let mut first: FxHashMap<u64, u32> = FxHashMap::default();
        // for each node, the next one with an equal hash
        let mut chain: Vec<u32> = Vec::new();
        let per_node = actions * observations;
        for batch in (0..self.nodes).step_by(BATCH) {
            stop.check()?;
            let end = (batch + BATCH).min(self.nodes);
            let beliefs = &self.beliefs;
            let grow = |node: usize| {
                let mut grown = Siblings { edges: Vec::new(), beliefs: Vec::new() };
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
            let grown: Vec<Siblings> = (batch..end).into_par_iter().map(grow).collect();
            for (node, grown) in (batch..end).zip(grown) {
                for ((place, p, hash), belief) in grown.edges.into_iter().zip(grown.beliefs.chunks(wide)) {
                    let mut at = first.get(&hash).copied().unwrap_or(NONE);
                    while at != NONE && !equal(&next.beliefs[at as usize * wide..][..wide], belief) {
                        at = chain[at as usize];
                    }
                    if at == NONE {
                        if next.nodes >= most {
                            return Ok(Grown::TooMany);
                        }
                        at = next.nodes as u32;
                        chain.push(first.insert(hash, at).unwrap_or(NONE));
                        next.beliefs.extend_from_slice(belief);
                        next.nodes += 1;
                    } else {
                        let known = &next.beliefs[at as usize * wide..][..wide];
                        let distance: f64 = known.iter().zip(belief).map(|(a, b)| (a - b).abs()).sum();
                        merged = merged.max(distance);
                    }
                    level.edges[node * per_node + place] = Edge { to: at, p };
                }
            }
        }
        *self = next;
        Ok(Grown::Nodes(self.nodes, merged))
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
