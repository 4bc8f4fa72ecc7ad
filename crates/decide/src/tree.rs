//! Belief trees, level by level; equal beliefs of a level are one node.

use super::beliefs::Remote;
use super::device::Device;
use super::front::{Edge, Front, Grown, Level, Local, NONE};
use super::process::{Process, best, dot};
use crate::elimination::Gpu;
use crate::elimination::executor::Failure;
use crate::error::Error;
use crate::memory;
use crate::model::{PolicyGraph, PolicyNode};
use crate::stop::Stop;
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The limits of a tree, and the device that computes it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room<'a> {
    /// The largest number of nodes of a level.
    pub nodes: usize,
    /// Bytes of all levels.
    pub bytes: u64,
    /// The device.
    pub device: &'a Device,
}

/// The end of a tree: at this step, the value of a belief is the largest expectation of a vector.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaf<'a> {
    pub step: usize,
    pub vectors: &'a [Vec<f64>],
}

/// The beliefs of a level, on the host or on a device.
enum Beliefs {
    Here(Local),
    There(Remote),
}

/// The outcome of growing a tree.
enum Ended {
    Grown(Tree),
    /// A level has no room.
    TooMany,
    /// A level has no room on the device; this many bytes are needed.
    NoRoom(Arc<Gpu>, u64),
    Lost(Arc<Gpu>, Failure),
}

/// A finished tree.
#[derive(Debug)]
pub(super) struct Tree {
    levels: Vec<Level>,
    actions: usize,
    observations: usize,
    /// The absolute error of values against exact arithmetic, at most.
    pub error_bound: f64,
}

impl Tree {
    /// Grows a tree from some beliefs at step 0 to its leaf. Returns `None` if a level has no room.
    ///
    /// # Errors
    /// Returns [`Error::Stopped`] if `stop` is set.
    pub fn grow<P: Process>(
        process: &P,
        roots: &[Vec<f64>],
        leaf: Leaf<'_>,
        room: Room<'_>,
        stop: &Stop,
    ) -> Result<Option<Tree>, Error> {
        let mut ended = Tree::grow_in(process, roots, leaf, room, true, stop)?;
        match &ended {
            Ended::NoRoom(gpu, bytes) => room.device.no_room(gpu, *bytes),
            Ended::Lost(gpu, Failure::Device(error)) => room.device.lose(gpu, error),
            _ => {}
        }
        if let Ended::NoRoom(..) | Ended::Lost(..) = ended {
            ended = Tree::grow_in(process, roots, leaf, room, false, stop)?;
        }
        match ended {
            Ended::Grown(tree) => Ok(Some(tree)),
            _ => Ok(None),
        }
    }

    /// Grows a tree, on the host alone unless it may grow `anywhere`.
    fn grow_in<P: Process>(
        process: &P,
        roots: &[Vec<f64>],
        leaf: Leaf<'_>,
        room: Room<'_>,
        anywhere: bool,
        stop: &Stop,
    ) -> Result<Ended, Error> {
        let (actions, observations) = (process.actions(), process.observations());
        let mut tree = Tree { levels: Vec::new(), actions, observations, error_bound: 0.0 };
        let mut front = Beliefs::Here(Local { nodes: roots.len(), beliefs: roots.concat() });
        let mut nodes = roots.len();
        let (mut bytes, mut merged) = (0u64, 0.0);
        for step in 0..leaf.step {
            // levels are kept, beliefs are not
            let per_node = 8 * actions + size_of::<Edge>() * actions * observations;
            bytes = bytes.saturating_add((nodes * per_node) as u64);
            let here = (8 * process.states(step) * nodes) as u64;
            if bytes.saturating_add(here) > room.bytes {
                return Ok(Ended::TooMany);
            }
            let left = (room.bytes - bytes - here) / (8 * process.states(step + 1) as u64 + 16).max(1);
            let most = room.nodes.min(usize::try_from(left).unwrap_or(usize::MAX)).min(NONE as usize - 1);
            let mut level = Level { nodes, merged, ..Level::default() };
            memory::reserve(&mut level.edges, nodes * actions * observations)?;
            level.edges.resize(nodes * actions * observations, Edge { to: NONE, p: 0.0 });
            level.q.resize(nodes * actions, 0.0);
            let work = process.work(step) * nodes as f64;
            if let Beliefs::Here(own) = &front
                && anywhere
                && let Some(gpu) = room.device.gpu(work, false, stop)?
            {
                match Remote::new(&gpu, &own.beliefs, nodes) {
                    Ok(remote) => front = Beliefs::There(remote),
                    Err(error) => return Ok(Ended::Lost(gpu, error.into())),
                }
            }
            let last = (step + 1 == leaf.step).then_some(leaf.vectors);
            let took = match &mut front {
                Beliefs::Here(own) => own.take(process, step, last, most, &mut level, stop),
                Beliefs::There(own) => own.take(process, step, last, most, &mut level, stop),
            };
            let took = match (took, &front) {
                (Ok(took), _) => took,
                (Err(Failure::Host(error)), _) => return Err(error),
                (Err(failure), Beliefs::There(own)) => return Ok(Ended::Lost(own.gpu().clone(), failure)),
                (Err(Failure::Device(error)), _) => return Err(Error::Internal(error.to_string())),
            };
            tree.levels.push(level);
            match (took, &front) {
                (Grown::Nodes(made, distance), _) => (nodes, merged) = (made, distance),
                (Grown::NoRoom(bytes), Beliefs::There(own)) => return Ok(Ended::NoRoom(own.gpu().clone(), bytes)),
                _ => return Ok(Ended::TooMany),
            }
        }
        if let Beliefs::There(own) = &front {
            room.device.served(own.gpu());
        }
        if leaf.step == 0 {
            // one step without observations
            let expected = |b: &Vec<f64>| leaf.vectors.iter().map(|v| dot(b, v)).collect::<Vec<_>>();
            let q = roots.iter().flat_map(expected).collect();
            tree.actions = leaf.vectors.len();
            tree.levels.push(Level { nodes, q, ..Level::default() });
        }
        tree.back_up(process);
        tree.error_bound = tree.error(process, leaf);
        Ok(Ended::Grown(tree))
    }

    /// Returns the values of a step's actions at a node.
    pub fn q(&self, step: usize, node: usize) -> &[f64] {
        &self.levels[step].q[node * self.actions..(node + 1) * self.actions]
    }

    /// Returns the value of a root.
    pub fn value(&self, root: usize) -> f64 {
        best(self.q(0, root).iter().copied()).1
    }

    /// Returns the best action at a node.
    pub fn action(&self, step: usize, node: usize) -> usize {
        best(self.q(step, node).iter().copied()).0
    }

    /// Returns the node after an action and an observation, or `None` if the observation has probability 0.
    pub fn child(&self, step: usize, node: usize, action: usize, seen: usize) -> Option<usize> {
        let edge = self.levels[step].edges[(node * self.actions + action) * self.observations + seen];
        (edge.to != NONE).then_some(edge.to as usize)
    }

    /// Returns the number of nodes of all levels.
    pub fn nodes(&self) -> u64 {
        self.levels.iter().map(|level| level.nodes as u64).sum()
    }

    fn back_up<P: Process>(&mut self, process: &P) {
        let (actions, observations) = (self.actions, self.observations);
        for step in (0..self.levels.len().saturating_sub(1)).rev() {
            let (before, after) = self.levels.split_at_mut(step + 1);
            let (level, next) = (&mut before[step], &after[0]);
            let values: Vec<f64> = next.q.par_chunks(actions).map(|q| best(q.iter().copied()).1).collect();
            let edges = &level.edges;
            level.q.par_iter_mut().enumerate().for_each(|(place, q)| {
                let edges = &edges[place * observations..(place + 1) * observations];
                let after: f64 = edges.iter().filter(|e| e.to != NONE).map(|e| e.p * values[e.to as usize]).sum();
                *q += process.discount() * after;
            });
        }
    }

    /// Returns a bound on the absolute error. The relative error of a belief grows with each step by its sums and its
    /// division, that of a value by its own sums. Merging adds the distance of the beliefs times the spread of values.
    fn error<P: Process>(&self, process: &P, leaf: Leaf<'_>) -> f64 {
        let Leaf { step: leaf, vectors } = leaf;
        let unit = f64::EPSILON / 2.0;
        let most = |values: &[f64]| values.iter().fold(0.0f64, |most, value| most.max(value.abs()));
        let mut value = vectors.iter().map(|v| most(v)).fold(0.0, f64::max);
        let of_belief = |step: usize| {
            let sums: usize = (0..step).map(|step| process.states(step) + process.states(step + 1) + 8).sum();
            2.0 * sums as f64 * unit
        };
        let mut error = (process.states(leaf) as f64 * unit + of_belief(leaf)) * value;
        for step in (0..leaf).rev() {
            let merged = if step + 1 < leaf { self.levels[step + 1].merged } else { 0.0 };
            error = process.discount() * (error + merged * value);
            let reward = (0..process.actions()).map(|action| most(process.rewards(step, action))).fold(0.0, f64::max);
            value = reward + process.discount() * value;
            let sums = (process.states(step) + process.observations() + 3) as f64;
            error += (sums * unit + of_belief(step)) * value;
        }
        error
    }

    /// Returns the policy from a root, with equal nodes merged from the end. Vector `k` of the leaf stands for action
    /// `k` in all remaining steps.
    pub fn policy(&self, horizon: usize, actions: Vec<String>, observations: Vec<String>) -> PolicyGraph {
        let leaf = if self.levels[0].edges.is_empty() { 0 } else { self.levels.len() };
        // for each level, the nodes that the policy reaches
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
        // from the end, so that nodes are numbered backwards
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
