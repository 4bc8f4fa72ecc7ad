//! Policies of processes: the probability of each state and node, step by step.

use super::minds::{Agent, Minds, Situation, beginning, both, likely};
use super::refused;
use crate::error::Error;
use crate::model::{Idid, JointPolicy, PolicyGraph, Pomdp};
use crate::stop::Stop;
use std::collections::BTreeMap;

/// Checks that a policy graph fits a process with these numbers of actions and observations.
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

/// Returns the node to which an observation leads from a node.
fn after(graph: &PolicyGraph, node: usize, seen: usize) -> Result<usize, Error> {
    match graph.nodes[node].next[seen] {
        Some(next) => Ok(next),
        None => refused(format!("node {node} of the policy has no next one for observation {seen}, which is possible")),
    }
}

/// Returns the expected discounted sum of rewards over a policy's steps.
///
/// # Errors
/// Returns [`Error::Refused`] if the policy does not fit the process, and [`Error::Stopped`] once `stop` is set.
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

/// Returns the expected discounted sum of rewards of agents that act on their own observations.
///
/// # Errors
/// Returns [`Error::Refused`] if the policies do not fit the process, and [`Error::Stopped`] once `stop` is set.
pub fn worth_in_team(pomdp: &Pomdp, policy: &JointPolicy, stop: &Stop) -> Result<f64, Error> {
    let (states, graphs) = (pomdp.states.len(), &policy.agents);
    let horizon = graphs.first().map_or(0, |graph| graph.horizon);
    if graphs.len() != pomdp.agents.len() || graphs.iter().any(|graph| graph.horizon != horizon) {
        return refused("there is not one policy for each agent, all of the same number of steps");
    }
    for (graph, agent) in graphs.iter().zip(&pomdp.agents) {
        fits(graph, agent.actions.len(), agent.observations.len())?;
    }
    // by the nodes of all agents, the joint probability of each state with them
    let mut here: BTreeMap<Vec<usize>, Vec<f64>> = BTreeMap::from([(vec![0; graphs.len()], pomdp.start.clone())]);
    let (mut worth, mut weight) = (0.0, 1.0);
    for step in 0..horizon {
        let mut next: BTreeMap<Vec<usize>, Vec<f64>> = BTreeMap::new();
        for (nodes, likely) in &here {
            stop.check()?;
            let own = graphs.iter().zip(nodes).zip(&pomdp.agents);
            let action =
                own.fold(0, |joint, ((graph, &node), agent)| joint * agent.actions.len() + graph.nodes[node].action);
            for (state, &p) in likely.iter().enumerate().filter(|&(_, &p)| p > 0.0) {
                worth += weight * p * pomdp.rewards[action][state];
                if step + 1 == horizon {
                    continue;
                }
                for &(to, t) in pomdp.transitions[action].row(state) {
                    for &(seen, o) in pomdp.observations[action].row(to as usize) {
                        if p * t * o > 0.0 {
                            let observed = pomdp.observation_of(seen as usize);
                            let own = graphs.iter().zip(nodes).zip(observed);
                            let leads = own.map(|((graph, &node), seen)| after(graph, node, seen));
                            let leads = leads.collect::<Result<Vec<usize>, Error>>()?;
                            next.entry(leads).or_insert_with(|| vec![0.0; states])[to as usize] += p * t * o;
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

/// Returns the expected discounted sum of rewards of the first agent's policy, against another agent that solves the
/// model in the diagram.
///
/// # Errors
/// Returns [`Error::Refused`] if the policy does not fit, and [`Error::Stopped`] once `stop` is set.
pub fn worth_in_idid(idid: &Idid, graph: &PolicyGraph, stop: &Stop) -> Result<f64, Error> {
    let frame = &idid.frame;
    let acts = frame.agents[1].actions.len();
    fits(graph, frame.agents[0].actions.len(), frame.agents[0].observations.len())?;
    let mut other = Agent::new(&idid.other);
    // by node, the other agent's beliefs with the joint probabilities of the states
    let mut here = BTreeMap::from([(0, beginning(idid, &idid.belief))]);
    let (mut worth, mut discount) = (0.0, 1.0);
    for step in 0..graph.horizon {
        let mut next: BTreeMap<usize, Minds> = BTreeMap::new();
        for (&node, minds) in &here {
            let action = graph.nodes[node].action;
            for (mind, now) in minds.values() {
                let to_go = idid.other_horizon - step;
                let chosen = other.chosen(mind, to_go, stop)?;
                for &theirs in &chosen {
                    let rewards = &frame.rewards[action * acts + theirs];
                    let gain: f64 = now.iter().zip(rewards).map(|(p, r)| p * r).sum();
                    worth += discount * gain / chosen.len() as f64;
                }
                if step + 1 == graph.horizon {
                    continue;
                }
                let mut missing = None;
                let situation = Situation { mind, likely: now, action, to_go };
                both(idid, &mut other, situation, stop, |mine, to, p, (bits, mind)| match after(graph, node, mine) {
                    Ok(node) => likely(next.entry(node).or_default(), bits, mind, now.len())[to] += p,
                    Err(error) => missing = Some(error),
                })?;
                missing.map_or(Ok(()), Err)?;
            }
        }
        here = next;
        discount *= frame.discount;
    }
    Ok(worth)
}

/// Returns the value of the best policy of the first agent, by the definition.
///
/// # Errors
/// Returns [`Error::Stopped`] once `stop` is set, and an error for numbers beyond doubles.
pub fn best_in_idid(idid: &Idid, stop: &Stop) -> Result<f64, Error> {
    let whole = crate::model::Other::Interactive(Box::new(idid.clone()));
    let mind = super::minds::Mind::new(&whole, &idid.belief);
    let values = Agent::first(idid).values(&mind, idid.horizon, stop)?;
    Ok(values.into_iter().fold(f64::NEG_INFINITY, f64::max))
}
