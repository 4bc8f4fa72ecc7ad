//! Policies of teams by coordinate ascent. Each agent remembers its last observations. One of its actions after the
//! other is replaced by the best one against all others, from the last step to the first, until none changes (a form of
//! Nair, Tambe, Yokoo, Pynadath and Marsella, "Taming decentralized POMDPs", IJCAI 2003, that allows any memory).

use crate::model::{PolicyGraph, PolicyNode, Pomdp};
use crate::process::best;
use crate::rng::Rng;
use crate::stop::Stop;
use crate::tuning::{ASCENT, RESTARTS_OF_TEAMS};

/// The action for each step, agent and memory.
type Rules = Vec<Vec<Vec<usize>>>;

/// A coordinate ascent for a process and a horizon.
pub(super) struct Ascent<'a> {
    pomdp: &'a Pomdp,
    horizon: usize,
    /// The number of observations that each agent remembers.
    memory: usize,
    stop: &'a Stop,
}

impl<'a> Ascent<'a> {
    /// Returns an ascent whose agents remember as many observations as the work of a sweep allows.
    pub fn new(pomdp: &'a Pomdp, horizon: usize, stop: &'a Stop) -> Self {
        let mut ascent = Ascent { pomdp, horizon, memory: 0, stop };
        while ascent.memory + 1 < horizon {
            ascent.memory += 1;
            if ascent.work() > ASCENT {
                ascent.memory -= 1;
                break;
            }
        }
        ascent
    }

    /// Returns the number of products of a sweep.
    fn work(&self) -> f64 {
        let links = self.pomdp.transitions.iter().chain(&self.pomdp.observations).map(|rows| rows.entries() as f64);
        let joint = |step: usize| (0..self.pomdp.agents.len()).map(|i| self.size(step, i) as f64).product::<f64>();
        links.sum::<f64>() * (0..self.horizon).map(joint).sum::<f64>()
    }

    /// Returns the number of memories of an agent at a step.
    fn size(&self, step: usize, agent: usize) -> usize {
        self.pomdp.agents[agent].observations.len().saturating_pow(step.min(self.memory) as u32)
    }

    fn sizes(&self, step: usize) -> Vec<usize> {
        (0..self.pomdp.agents.len()).map(|i| self.size(step, i)).collect()
    }

    /// Passes the graphs of policies that no single change improves to `take`, each better than those before by the
    /// ascent's own sums. The first ascent starts from each agent's first action, the others from random ones.
    pub fn run(&self, take: &mut dyn FnMut(Vec<PolicyGraph>)) {
        let mut rng = Rng::new(1);
        let mut best = f64::NEG_INFINITY;
        for restart in 0..RESTARTS_OF_TEAMS {
            let draw = |rng: &mut Rng, agent: usize| match restart {
                0 => 0,
                _ => rng.below(self.pomdp.agents[agent].actions.len() as u64) as usize,
            };
            let of_step = |rng: &mut Rng, step: usize| -> Vec<Vec<usize>> {
                (0..self.pomdp.agents.len()).map(|i| (0..self.size(step, i)).map(|_| draw(rng, i)).collect()).collect()
            };
            let mut rules: Rules = (0..self.horizon).map(|step| of_step(&mut rng, step)).collect();
            let mut last = f64::NEG_INFINITY;
            while let Some(value) = self.sweep(&mut rules) {
                if value <= last + 1e-9 * value.abs().max(1.0) {
                    break;
                }
                last = value;
            }
            if last > best {
                best = last;
                take(self.graphs(&rules));
            }
            if self.stop.is_set() {
                return;
            }
        }
    }

    fn joint_action(&self, rules: &[Vec<usize>], own: &[usize]) -> usize {
        let agents = self.pomdp.agents.iter().zip(rules).zip(own);
        agents.fold(0, |joint, ((agent, rule), &own)| joint * agent.actions.len() + rule[own])
    }

    /// Returns the joint memory after a joint observation.
    fn after(&self, step: usize, own: &[usize], observed: &[usize]) -> usize {
        (0..own.len()).fold(0, |joint, i| {
            let size = self.size(step + 1, i);
            joint * size + (own[i] * self.pomdp.agents[i].observations.len() + observed[i]) % size
        })
    }

    /// Improves all rules from the last step to the first. Returns the value, or `None` if stopped.
    fn sweep(&self, rules: &mut Rules) -> Option<f64> {
        let states = self.pomdp.states.len();
        let likely = self.forwards(rules)?;
        let mut value = Vec::new();
        for step in (0..self.horizon).rev() {
            let sizes = self.sizes(step);
            let joints: usize = sizes.iter().product();
            // the value of each joint action at each joint memory, for each state
            let mut worth = Vec::with_capacity(joints);
            for joint in 0..joints {
                self.stop.check().ok()?;
                let own = digits(joint, &sizes);
                let of = |action: usize| -> Vec<f64> {
                    (0..states).map(|s| self.worth(step, &own, action, s, &value)).collect()
                };
                worth.push((0..self.pomdp.actions()).map(of).collect::<Vec<_>>());
            }
            self.improve(&mut rules[step], &sizes, &likely[step], &worth);
            let taken = |joint: usize| worth[joint][self.joint_action(&rules[step], &digits(joint, &sizes))].clone();
            value = (0..joints).flat_map(taken).collect();
        }
        Some(value.iter().zip(&self.pomdp.start).map(|(value, p)| value * p).sum())
    }

    fn worth(&self, step: usize, own: &[usize], action: usize, state: usize, value: &[f64]) -> f64 {
        let (pomdp, states) = (self.pomdp, self.pomdp.states.len());
        let mut later = 0.0;
        if step + 1 < self.horizon {
            for &(to, t) in pomdp.transitions[action].row(state) {
                for &(seen, o) in pomdp.observations[action].row(to as usize) {
                    let memory = self.after(step, own, &pomdp.observation_of(seen as usize));
                    later += t * o * value[memory * states + to as usize];
                }
            }
        }
        pomdp.rewards[action][state] + pomdp.discount * later
    }

    /// Replaces actions of a step by better ones, until none changes.
    fn improve(&self, rules: &mut [Vec<usize>], sizes: &[usize], likely: &[f64], worth: &[Vec<Vec<f64>>]) {
        let states = self.pomdp.states.len();
        let joints: usize = sizes.iter().product();
        loop {
            let mut changed = false;
            for agent in 0..sizes.len() {
                let acts = self.pomdp.agents[agent].actions.len();
                let mut sums = vec![vec![0.0; acts]; sizes[agent]];
                for joint in 0..joints {
                    let own = digits(joint, sizes);
                    let kept = rules[agent][own[agent]];
                    for (action, sum) in sums[own[agent]].iter_mut().enumerate() {
                        rules[agent][own[agent]] = action;
                        let worth = &worth[joint][self.joint_action(rules, &own)];
                        *sum += worth.iter().zip(&likely[joint * states..]).map(|(w, p)| w * p).sum::<f64>();
                    }
                    rules[agent][own[agent]] = kept;
                }
                for (own, sums) in sums.iter().enumerate() {
                    let (action, most) = best(sums.iter().copied());
                    let kept = sums[rules[agent][own]];
                    if most > kept + 1e-12 * most.abs().max(1.0) {
                        rules[agent][own] = action;
                        changed = true;
                    }
                }
            }
            if !changed {
                return;
            }
        }
    }

    /// Returns for each step the probability of each joint memory and state, or `None` if stopped.
    fn forwards(&self, rules: &Rules) -> Option<Vec<Vec<f64>>> {
        let (pomdp, states) = (self.pomdp, self.pomdp.states.len());
        let mut all = vec![pomdp.start.clone()];
        for step in 0..self.horizon - 1 {
            self.stop.check().ok()?;
            let (sizes, joints) = (self.sizes(step), self.sizes(step + 1).iter().product::<usize>());
            let mut next = vec![0.0; joints * states];
            for (place, &p) in all[step].iter().enumerate().filter(|&(_, &p)| p > 0.0) {
                let own = digits(place / states, &sizes);
                let action = self.joint_action(&rules[step], &own);
                for &(to, t) in pomdp.transitions[action].row(place % states) {
                    for &(seen, o) in pomdp.observations[action].row(to as usize) {
                        let memory = self.after(step, &own, &pomdp.observation_of(seen as usize));
                        next[memory * states + to as usize] += p * t * o;
                    }
                }
            }
            all.push(next);
        }
        Some(all)
    }

    fn graphs(&self, rules: &Rules) -> Vec<PolicyGraph> {
        let graph = |i: usize| {
            let agent = &self.pomdp.agents[i];
            let seen = agent.observations.len();
            let mut nodes: Vec<PolicyNode> = Vec::new();
            for (step, rule) in rules.iter().enumerate() {
                let after = nodes.len() + rule[i].len();
                let is_last = step + 1 == self.horizon;
                for (own, &action) in rule[i].iter().enumerate() {
                    let lead = |o: usize| (!is_last).then(|| after + (own * seen + o) % self.size(step + 1, i));
                    nodes.push(PolicyNode { step, action, next: (0..seen).map(lead).collect() });
                }
            }
            let (actions, observations) = (agent.actions.clone(), agent.observations.clone());
            PolicyGraph { horizon: self.horizon, actions, observations, nodes }
        };
        (0..self.pomdp.agents.len()).map(graph).collect()
    }
}

/// Returns the digits of a number of mixed radix; the last one is the fastest.
fn digits(mut number: usize, sizes: &[usize]) -> Vec<usize> {
    let mut digits = vec![0; sizes.len()];
    for (digit, &size) in digits.iter_mut().zip(sizes).rev() {
        *digit = number % size;
        number /= size;
    }
    digits
}
