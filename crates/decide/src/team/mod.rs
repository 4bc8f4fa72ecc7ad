//! Teams: agents that act on their own observations only (Dec-POMDPs). The value of agents that share all observations
//! is an upper bound; the value of a joint policy, as `check` computes it, is a lower bound.

mod ascent;
mod search;
#[cfg(test)]
mod tests;

use super::alpha::Vectors;
use super::process::{bounds, dot};
use super::tuning::{AT_ONCE, DIGITS, FIRST, TEAM_VECTORS, TIE};
use super::{Method, Options, Solution};
use crate::check;
use crate::error::Error;
use crate::model::{JointPolicy, Policy, PolicyGraph, PolicyNode, Pomdp};
use crate::stop::Stop;
use ascent::Ascent;
use search::Team;

/// A function that solves the process in which all agents share their observations, and reports intermediate results.
type Shared<'a> = dyn Fn(&mut dyn FnMut(&Solution)) -> Result<Solution, Error> + 'a;

/// Solves a process of several agents that do not share their observations, starting from an interval with its value.
/// `shared` solves the process in which they do.
///
/// # Errors
/// Returns the error of `shared` if there is no policy, which is [`Error::Stopped`] if `stop` is set.
pub(super) fn solve_team(
    pomdp: &Pomdp,
    interval: &Solution,
    options: &Options,
    shared: &Shared<'_>,
    stop: &Stop,
    tell: &mut dyn FnMut(&Solution),
) -> Result<Solution, Error> {
    let horizon = interval.horizon.unwrap_or(1);
    let mut found = Solution { method: Method::Team, ..interval.clone() };
    if let Some(graphs) = constant(pomdp, horizon)
        && found.offer(pomdp, graphs, &stop.unheeded())
    {
        tell(&found);
    }
    Ascent::new(pomdp, horizon, stop).run(&mut |graphs| {
        if found.offer(pomdp, graphs, stop) {
            tell(&found);
        }
    });
    let lower = found.clone();
    let limited = |shared: &Solution| {
        let bound = shared.bound.map(|bound| bound + shared.error_bound).or(lower.bound);
        Solution { bound, nodes: shared.nodes, ..lower.clone() }
    };
    match shared(&mut |shared| tell(&limited(shared))) {
        Ok(solution) => found = limited(&solution),
        Err(error) if found.meu.is_none() => return Err(error),
        Err(_) => return Ok(found),
    }
    tell(&found);
    improve(pomdp, horizon, options, &mut found, stop)?;
    Ok(found)
}

/// Returns the joint policy that takes the best constant joint action in every step, or `None` if that takes long.
fn constant(pomdp: &Pomdp, horizon: usize) -> Option<Vec<PolicyGraph>> {
    let links: usize = pomdp.transitions.iter().chain(&pomdp.observations).map(|rows| rows.entries()).sum();
    if links as f64 * horizon as f64 > AT_ONCE {
        return None;
    }
    let worth = |action: usize| {
        let (mut belief, mut weight, mut worth) = (pomdp.start.clone(), 1.0, 0.0);
        for _ in 0..horizon {
            worth += weight * dot(&belief, &pomdp.rewards[action]);
            weight *= pomdp.discount;
            let mut next = vec![0.0; belief.len()];
            for (state, p) in belief.iter().enumerate() {
                pomdp.transitions[action].row(state).iter().for_each(|&(to, t)| next[to as usize] += p * t);
            }
            belief = next;
        }
        worth
    };
    let mut rest = (0..pomdp.actions()).max_by(|&a, &b| worth(a).total_cmp(&worth(b)))?;
    let mut graphs: Vec<PolicyGraph> = Vec::new();
    for agent in pomdp.agents.iter().rev() {
        let (action, seen) = (rest % agent.actions.len(), agent.observations.len());
        rest /= agent.actions.len();
        let next = |step: usize| vec![(step + 1 < horizon).then_some(step + 1); seen];
        let nodes = (0..horizon).map(|step| PolicyNode { step, action, next: next(step) }).collect();
        let (actions, observations) = (agent.actions.clone(), agent.observations.clone());
        graphs.push(PolicyGraph { horizon, actions, observations, nodes });
    }
    graphs.reverse();
    Some(graphs)
}

/// Searches for the best joint policy.
fn improve(pomdp: &Pomdp, horizon: usize, options: &Options, found: &mut Solution, stop: &Stop) -> Result<(), Error> {
    // an upper bound for each number of steps to go
    let heard = |error: Error| if error.is_stop() { Ok(()) } else { Err(error) };
    let vectors = match Vectors::new(pomdp, horizon, options.nodes.min(TEAM_VECTORS), stop) {
        Ok(vectors) => vectors,
        Err(error) => return heard(error),
    };
    let products = pomdp.states.len().pow(2) as f64 * (pomdp.actions() * pomdp.observed() * horizon) as f64;
    let seen = match (&vectors, products <= FIRST) {
        (None, true) => match bounds(pomdp, horizon, stop) {
            Ok(bounds) => bounds,
            Err(error) => return heard(error),
        },
        (None, false) => return Ok(()),
        _ => Vec::new(),
    };
    let upper = |to_go: usize, belief: &[f64]| match &vectors {
        Some(vectors) => vectors.largest(to_go, belief),
        None => dot(belief, &seen[horizon - to_go].seen),
    };
    let span: f64 = (0..horizon).map(|step| pomdp.discount.powi(step as i32)).sum::<f64>() * pomdp.largest_reward();
    let tolerance = vectors.as_ref().map_or(0.0, |vectors| vectors.error_bound) + TIE * span.max(1.0);
    let mut team = Team::new(pomdp, horizon, &upper, options.nodes, stop);
    let (graphs, is_complete) = team.run(found.meu.unwrap_or(f64::NEG_INFINITY), tolerance);
    if let Some(graphs) = graphs {
        let _ = found.offer(pomdp, graphs, &Stop::new());
    }
    found.nodes = Some(team.nodes);
    if is_complete && found.meu.is_some() {
        found.exact = true;
        found.bound = found.meu;
        // merged histories differ in the last digit kept of each probability
        let merged = (team.widest * pomdp.states.len() * horizon) as f64 / DIGITS * span;
        found.error_bound += tolerance + merged;
    }
    Ok(())
}

impl Solution {
    /// Accepts a joint policy if its value, as `check` computes it, is larger. Returns whether it is.
    fn offer(&mut self, pomdp: &Pomdp, agents: Vec<PolicyGraph>, stop: &Stop) -> bool {
        let policy = JointPolicy { agents };
        let Ok(worth) = check::worth_in_team(pomdp, &policy, stop) else { return false };
        if self.meu.is_some_and(|known| known >= worth) {
            return false;
        }
        let first = pomdp.agents.iter().zip(&policy.agents);
        self.first_decision =
            first.map(|(agent, graph)| (agent.name.clone(), graph.actions[graph.nodes[0].action].clone())).collect();
        // each sum has at most as many terms as there are joint memories and states
        let terms = |step: usize| {
            let of_step = |graph: &PolicyGraph| graph.nodes.iter().filter(|node| node.step == step).count() as f64;
            policy.agents.iter().map(of_step).product::<f64>() * pomdp.states.len() as f64
        };
        let horizon = self.horizon.unwrap_or(1);
        let operations = (0..horizon).map(|step| terms(step) + 4.0).sum::<f64>();
        let weights = (0..horizon).map(|step| pomdp.discount.powi(step as i32)).sum::<f64>();
        self.error_bound = operations * f64::EPSILON * weights * pomdp.largest_reward();
        self.meu = Some(worth);
        self.policy = Some(Policy::Joint(policy));
        true
    }
}
