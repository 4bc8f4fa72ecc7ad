//! Beliefs and actions of agents of lower levels, by recursion over the definition.

use crate::error::Error;
use crate::model::{Idid, Other, Pomdp};
use crate::stop::Stop;
use std::collections::{BTreeMap, HashMap};

/// Distance up to which the values of actions are tied.
const TIE: f64 = 1e-9;

/// By the key of an agent's belief: the belief, and the joint probability of each state with it.
pub(super) type Minds = BTreeMap<Vec<u64>, (Mind, Vec<f64>)>;

/// The belief of an agent.
#[derive(Clone, Debug)]
pub(super) enum Mind {
    /// The agent has observed something that it held impossible.
    Surprised,
    /// Probabilities of the states.
    Alone(Vec<f64>),
    /// Beliefs of the other agent, with the joint probabilities of the states.
    Together(Minds),
}

impl Mind {
    /// Returns the key of a belief, equal if beliefs agree in twelve digits, so that recursion recognises known ones.
    pub fn bits(&self) -> Vec<u64> {
        match self {
            Mind::Surprised => Vec::new(),
            Mind::Alone(belief) => bits(belief),
            Mind::Together(all) => {
                let of = |(key, (_, likely)): (&Vec<u64>, &(Mind, Vec<f64>))| {
                    [key.len() as u64].into_iter().chain(key.clone()).chain(bits(likely)).collect::<Vec<_>>()
                };
                all.iter().flat_map(of).collect()
            }
        }
    }

    /// Returns the initial belief of an agent, given its belief over states.
    pub fn new(other: &Other, belief: &[f64]) -> Mind {
        let Other::Interactive(diagram) = other else { return Mind::Alone(belief.to_vec()) };
        Mind::Together(beginning(diagram, belief))
    }
}

/// Returns the initial beliefs of a diagram's second agent, given the first agent's belief over states.
pub(super) fn beginning(diagram: &Idid, belief: &[f64]) -> Minds {
    let mut all = Minds::new();
    for (of_other, weight) in &diagram.models {
        let mind = Mind::new(&diagram.other, of_other);
        let states = likely(&mut all, &mind.bits(), &mind, belief.len());
        states.iter_mut().zip(belief).for_each(|(sum, p)| *sum += p * weight);
    }
    all
}

/// Returns the joint probabilities of `states` states with a belief, given its key; adds zeros if it is new.
pub(super) fn likely<'m>(all: &'m mut Minds, bits: &[u64], mind: &Mind, states: usize) -> &'m mut Vec<f64> {
    &mut all.entry(bits.to_vec()).or_insert_with(|| (mind.clone(), vec![0.0; states])).1
}

fn bits(belief: &[f64]) -> Vec<u64> {
    belief.iter().map(|p| (p * 1e12).round() as u64).collect()
}

/// An agent that solves its process, with the known values of its actions by belief and remaining steps.
pub(super) struct Agent<'a> {
    task: Task<'a>,
    known: HashMap<(Vec<u64>, usize), Vec<f64>>,
}

enum Task<'a> {
    Alone(&'a Pomdp),
    Together(&'a Idid, Box<Agent<'a>>),
}

impl<'a> Agent<'a> {
    /// Creates the agent that solves a process or a diagram.
    pub fn new(other: &'a Other) -> Self {
        match other {
            Other::Alone(process) => Agent { task: Task::Alone(process), known: HashMap::new() },
            Other::Interactive(diagram) => Agent::first(diagram),
        }
    }

    /// Creates the first agent of a diagram.
    pub fn first(diagram: &'a Idid) -> Self {
        let below = Box::new(Agent::new(&diagram.other));
        Agent { task: Task::Together(diagram, below), known: HashMap::new() }
    }

    fn frame(&self) -> &'a Pomdp {
        match &self.task {
            Task::Alone(process) => process,
            Task::Together(diagram, _) => &diagram.frame,
        }
    }

    /// Returns the numbers of its actions and of its observations.
    fn sizes(&self) -> [usize; 2] {
        let own = &self.frame().agents[0];
        [own.actions.len(), own.observations.len()]
    }

    /// Returns the actions that it takes, with equal probabilities.
    pub fn chosen(&mut self, mind: &Mind, to_go: usize, stop: &Stop) -> Result<Vec<usize>, Error> {
        let actions = 0..self.sizes()[0];
        if let Mind::Surprised = mind {
            return Ok(actions.collect());
        }
        let values = self.values(mind, to_go, stop)?;
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Ok(actions.filter(|&action| values[action] > most - TIE).collect())
    }

    /// Returns the value of each action.
    pub fn values(&mut self, mind: &Mind, to_go: usize, stop: &Stop) -> Result<Vec<f64>, Error> {
        stop.check()?;
        let key = (mind.bits(), to_go);
        if let Some(known) = self.known.get(&key) {
            return Ok(known.clone());
        }
        let ([actions, observations], discount) = (self.sizes(), self.frame().discount);
        let mut values = Vec::new();
        for action in 0..actions {
            let mut value = self.reward(mind, action, to_go, stop)?;
            for seen in 0..if to_go > 1 { observations } else { 0 } {
                let (next, p) = self.update(mind, action, seen, to_go, stop)?;
                if p > 0.0 {
                    let after = self.values(&next, to_go - 1, stop)?;
                    value += discount * p * after.into_iter().fold(f64::NEG_INFINITY, f64::max);
                }
            }
            values.push(value);
        }
        let _ = self.known.insert(key, values.clone());
        Ok(values)
    }

    fn reward(&mut self, mind: &Mind, action: usize, to_go: usize, stop: &Stop) -> Result<f64, Error> {
        let expect = |likely: &[f64], rewards: &[f64]| likely.iter().zip(rewards).map(|(p, r)| p * r).sum::<f64>();
        match (mind, &mut self.task) {
            (Mind::Alone(belief), Task::Alone(process)) => Ok(expect(belief, &process.rewards[action])),
            (Mind::Together(all), Task::Together(diagram, below)) => {
                let mut sum = 0.0;
                for (of_other, likely) in all.values() {
                    let chosen = below.chosen(of_other, others(diagram, to_go), stop)?;
                    for &theirs in &chosen {
                        let joint = action * diagram.frame.agents[1].actions.len() + theirs;
                        sum += expect(likely, &diagram.frame.rewards[joint]) / chosen.len() as f64;
                    }
                }
                Ok(sum)
            }
            _ => Ok(0.0),
        }
    }

    /// Returns the belief after an action and an observation, and the probability of the observation; `Surprised` if it
    /// is impossible.
    pub fn update(
        &mut self,
        mind: &Mind,
        action: usize,
        seen: usize,
        to_go: usize,
        stop: &Stop,
    ) -> Result<(Mind, f64), Error> {
        match (mind, &mut self.task) {
            (Mind::Alone(belief), Task::Alone(process)) => {
                let mut next = vec![0.0; belief.len()];
                for (state, &p) in belief.iter().enumerate() {
                    for &(to, t) in process.transitions[action].row(state) {
                        let row = process.observations[action].row(to as usize).iter();
                        let o: f64 = row.filter(|&&(o, _)| o as usize == seen).map(|&(_, q)| q).sum();
                        next[to as usize] += p * t * o;
                    }
                }
                let sum: f64 = next.iter().sum();
                next.iter_mut().for_each(|p| *p /= sum);
                Ok(if sum > 0.0 { (Mind::Alone(next), sum) } else { (Mind::Surprised, 0.0) })
            }
            (Mind::Together(all), Task::Together(diagram, below)) => {
                let mut next = Minds::new();
                for (of_other, now) in all.values() {
                    let leads = |mine: usize, to: usize, p: f64, (bits, mind): &(Vec<u64>, Mind)| {
                        if mine == seen {
                            likely(&mut next, bits, mind, now.len())[to] += p;
                        }
                    };
                    let to_go = others(diagram, to_go);
                    let now = Situation { mind: of_other, likely: now, action, to_go };
                    both(diagram, below, now, stop, leads)?;
                }
                let sum: f64 = next.values().flat_map(|(_, likely)| likely).sum();
                next.values_mut().flat_map(|(_, likely)| likely).for_each(|p| *p /= sum);
                Ok(if sum > 0.0 { (Mind::Together(next), sum) } else { (Mind::Surprised, 0.0) })
            }
            _ => Ok((Mind::Surprised, 0.0)),
        }
    }
}

/// Returns the remaining steps of the other agent of a diagram if the first agent has `to_go`.
fn others(diagram: &Idid, to_go: usize) -> usize {
    diagram.other_horizon - (diagram.horizon - to_go)
}

/// The situation of two agents before they act.
#[derive(Clone, Copy)]
pub(super) struct Situation<'a> {
    /// Belief of the other agent.
    pub mind: &'a Mind,
    /// Joint probability of each state with that belief.
    pub likely: &'a [f64],
    /// Action of the first agent.
    pub action: usize,
    /// Remaining steps of the other agent.
    pub to_go: usize,
}

/// Calls `leads` with the first agent's observation, the next state, their probability, and the other agent's next
/// belief, for each outcome of a step in which the first agent acts and the other one takes its best actions.
pub(super) fn both(
    diagram: &Idid,
    other: &mut Agent<'_>,
    now: Situation<'_>,
    stop: &Stop,
    mut leads: impl FnMut(usize, usize, f64, &(Vec<u64>, Mind)),
) -> Result<(), Error> {
    let (frame, Situation { mind, likely, action, to_go }) = (&diagram.frame, now);
    let [acts, seen] = [frame.agents[1].actions.len(), frame.agents[1].observations.len()];
    let chosen = other.chosen(mind, to_go, stop)?;
    for &theirs in &chosen {
        let (joint, share) = (action * acts + theirs, 1.0 / chosen.len() as f64);
        let mut minds = Vec::new();
        for o in 0..seen {
            let (after, _) = other.update(mind, theirs, o, to_go, stop)?;
            minds.push((after.bits(), after));
        }
        for (state, p) in likely.iter().map(|p| p * share).enumerate().filter(|&(_, p)| p > 0.0) {
            for &(to, t) in frame.transitions[joint].row(state) {
                for &(pair, o) in frame.observations[joint].row(to as usize) {
                    let (mine, theirs) = (pair as usize / seen, pair as usize % seen);
                    if p * t * o > 0.0 {
                        leads(mine, to as usize, p * t * o, &minds[theirs]);
                    }
                }
            }
        }
    }
    Ok(())
}
