//! Policies of processes: how likely each state and node is, step by step.

use super::refused;
use crate::error::Error;
use crate::model::{Idid, PolicyGraph, Pomdp};
use crate::stop::Stop;
use std::collections::{BTreeMap, HashMap};

/// Actions of the other agent whose values are so near tie.
const TIE: f64 = 1e-9;

fn fits(graph: &PolicyGraph, actions: usize, observations: usize) -> Result<(), Error> {
    let last = graph.nodes.len();
    if graph.nodes.first().is_none_or(|node| node.step != 0) {
        return refused("the policy has no first node of step 0");
    }
    for (number, node) in graph.nodes.iter().enumerate() {
        let leads = |to: &usize| *to < last && graph.nodes[*to].step == node.step + 1;
        if node.action >= actions || node.next.len() != observations || !node.next.iter().flatten().all(leads) {
            return refused(format!("node {number} of the policy does not fit the process"));
        }
    }
    Ok(())
}

/// Where an observation leads from a node.
fn after(graph: &PolicyGraph, node: usize, seen: usize) -> Result<usize, Error> {
    match graph.nodes[node].next[seen] {
        Some(next) => Ok(next),
        None => refused(format!("node {node} of the policy has no next one for observation {seen}, which is possible")),
    }
}

/// The expected sum of rewards of a policy's steps.
///
/// # Errors
/// [`Error::Refused`] where the policy does not fit the process; [`Error::Stopped`].
pub fn worth_in_pomdp(pomdp: &Pomdp, graph: &PolicyGraph, stop: &Stop) -> Result<f64, Error> {
    let states = pomdp.states.len();
    fits(graph, pomdp.actions(), pomdp.observed())?;
    let mut here: BTreeMap<usize, Vec<f64>> = BTreeMap::from([(0, pomdp.start.clone())]);
    let (mut worth, mut weight) = (0.0, 1.0);
    for step in 0..graph.horizon {
        let mut next: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        for (&node, likely) in &here {
            stop.check()?;
            let action = graph.nodes[node].action;
            for (state, &p) in likely.iter().enumerate().filter(|&(_, &p)| p > 0.0) {
                worth += weight * p * pomdp.rewards[action][state];
                if step + 1 == graph.horizon {
                    continue;
                }
                for &(to, t) in pomdp.transitions[action].row(state) {
                    for &(seen, o) in pomdp.observations[action].row(to as usize) {
                        if p * t * o > 0.0 {
                            let node = after(graph, node, seen as usize)?;
                            next.entry(node).or_insert_with(|| vec![0.0; states])[to as usize] += p * t * o;
                        }
                    }
                }
            }
        }
        here = next;
        weight *= pomdp.discount;
    }
    Ok(worth)
}

/// The other agent's process, solved by recursion over its beliefs.
struct Other<'a> {
    pomdp: &'a Pomdp,
    known: HashMap<(Vec<u64>, usize), Vec<f64>>,
}

impl Other<'_> {
    /// The value of each action.
    fn values(&mut self, belief: &[f64], to_go: usize, stop: &Stop) -> Result<Vec<f64>, Error> {
        stop.check()?;
        let key = (bits(belief), to_go);
        if let Some(known) = self.known.get(&key) {
            return Ok(known.clone());
        }
        let mut values = Vec::new();
        for action in 0..self.pomdp.actions() {
            let mut value: f64 = belief.iter().zip(&self.pomdp.rewards[action]).map(|(b, r)| b * r).sum();
            if to_go > 1 {
                for seen in 0..self.pomdp.observed() {
                    let (next, p) = self.update(belief, action, seen);
                    if p > 0.0 {
                        let after = self.values(&next, to_go - 1, stop)?;
                        let best = after.into_iter().fold(f64::NEG_INFINITY, f64::max);
                        value += self.pomdp.discount * p * best;
                    }
                }
            }
            values.push(value);
        }
        let _ = self.known.insert(key, values.clone());
        Ok(values)
    }

    /// The belief after an action and an observation, and how likely that is.
    fn update(&self, belief: &[f64], action: usize, seen: usize) -> (Vec<f64>, f64) {
        let mut next = vec![0.0; belief.len()];
        for (state, &p) in belief.iter().enumerate() {
            for &(to, t) in self.pomdp.transitions[action].row(state) {
                let row = self.pomdp.observations[action].row(to as usize).iter();
                let o: f64 = row.filter(|&&(o, _)| o as usize == seen).map(|&(_, q)| q).sum();
                next[to as usize] += p * t * o;
            }
        }
        let sum: f64 = next.iter().sum();
        if sum > 0.0 {
            next.iter_mut().for_each(|p| *p /= sum);
        }
        (next, sum)
    }
}

/// Beliefs are equal where twelve digits are: recursion must meet what it knows.
fn bits(belief: &[f64]) -> Vec<u64> {
    belief.iter().map(|p| (p * 1e12).round() as u64).collect()
}

/// What the other agent may believe; nothing once it saw what it held impossible.
type Model = Option<Vec<f64>>;

/// By node and the bits of a model: the model, and how likely each state is.
type Situations = BTreeMap<(usize, Option<Vec<u64>>), (Model, Vec<f64>)>;

/// The expected sum of rewards of the first agent's policy, against another one that solves its own process.
///
/// # Errors
/// [`Error::Refused`] where the policy does not fit; [`Error::Stopped`].
pub fn worth_in_idid(idid: &Idid, graph: &PolicyGraph, stop: &Stop) -> Result<f64, Error> {
    let frame = &idid.frame;
    let [acts, seen] = [frame.agents[1].actions.len(), frame.agents[1].observations.len()];
    fits(graph, frame.agents[0].actions.len(), frame.agents[0].observations.len())?;
    let mut other = Other { pomdp: &idid.other, known: HashMap::new() };
    let mut here: Situations = BTreeMap::new();
    for (belief, weight) in &idid.models {
        let entry = here.entry((0, Some(bits(belief))));
        let (_, likely) = entry.or_insert_with(|| (Some(belief.clone()), vec![0.0; frame.states.len()]));
        likely.iter_mut().zip(&idid.belief).for_each(|(sum, p)| *sum += weight * p);
    }
    let (mut worth, mut discount) = (0.0, 1.0);
    for step in 0..graph.horizon {
        let mut next: Situations = BTreeMap::new();
        for ((node, _), (model, likely)) in &here {
            stop.check()?;
            let chosen: Vec<usize> = match model {
                Some(belief) => {
                    let values = other.values(belief, idid.other_horizon - step, stop)?;
                    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                    (0..acts).filter(|&action| values[action] > most - TIE).collect()
                }
                None => (0..acts).collect(),
            };
            for &theirs in &chosen {
                let share = 1.0 / chosen.len() as f64;
                let joint = graph.nodes[*node].action * acts + theirs;
                let leads: Vec<Model> = (0..seen)
                    .map(|o| {
                        let (after, p) = other.update(model.as_ref()?, theirs, o);
                        (p > 0.0).then_some(after)
                    })
                    .collect();
                for (state, p) in likely.iter().map(|p| p * share).enumerate().filter(|&(_, p)| p > 0.0) {
                    worth += discount * p * frame.rewards[joint][state];
                    if step + 1 == graph.horizon {
                        continue;
                    }
                    for &(to, t) in frame.transitions[joint].row(state) {
                        for &(both, o) in frame.observations[joint].row(to as usize) {
                            let (mine, theirs) = (both as usize / seen, both as usize % seen);
                            if p * t * o > 0.0 {
                                let key = (after(graph, *node, mine)?, leads[theirs].as_deref().map(bits));
                                let fresh = || (leads[theirs].clone(), vec![0.0; frame.states.len()]);
                                next.entry(key).or_insert_with(fresh).1[to as usize] += p * t * o;
                            }
                        }
                    }
                }
            }
        }
        here = next;
        discount *= frame.discount;
    }
    Ok(worth)
}
