//! Partially observable processes of the campaign, solved by recursion over beliefs.

use crate::call::{File, Settings};
use crate::diagram::row;
use crate::network::one_of;
use crate::task::Problem;
use fangs_base::rng::Rng;
use std::fmt::Write;

/// A process of one agent. Probabilities are in 16ths, rewards in quarters.
#[derive(Clone, Debug, PartialEq)]
pub struct Process {
    /// The numbers of states, actions and observations.
    pub sizes: [usize; 3],
    /// The number of steps.
    pub horizon: usize,
    /// The discount, in quarters.
    pub discount: u32,
    /// The initial belief.
    pub start: Vec<i64>,
    /// For each action and state, the probabilities of the next states.
    pub transitions: Vec<Vec<i64>>,
    /// For each action and resulting state, the probabilities of the observations.
    pub observations: Vec<Vec<i64>>,
    /// For each action and state, the reward.
    pub rewards: Vec<i64>,
}

impl Process {
    /// Returns a random process.
    pub fn random(rng: &mut Rng) -> Process {
        let sizes = [1 + rng.index(3), 1 + rng.index(3), 1 + rng.index(2)];
        let [states, actions, observations] = sizes;
        let certain = one_of(rng, &[0, 20, 70]);
        let rows = |rng: &mut Rng, values: usize| {
            (0..actions * states).map(|_| row(rng, values as u32, certain)).collect::<Vec<_>>()
        };
        Process {
            sizes,
            horizon: 1 + rng.index(3),
            discount: 1 + rng.below(4) as u32,
            start: row(rng, states as u32, certain),
            transitions: rows(rng, states),
            observations: rows(rng, observations),
            rewards: (0..actions * states).map(|_| rng.below(80) as i64 - 40).collect(),
        }
    }

    /// Returns the largest expected utility.
    pub fn best(&self) -> f64 {
        let start: Vec<f64> = self.start.iter().map(|&parts| parts as f64 / 16.0).collect();
        self.value(&start, self.horizon)
    }

    /// Returns the value of an unnormalised belief, in proportion to its sum.
    fn value(&self, belief: &[f64], steps: usize) -> f64 {
        if steps == 0 {
            return 0.0;
        }
        let [states, actions, observations] = self.sizes;
        let of_action = |action: usize| {
            let at = |state: usize| action * states + state;
            let own = |state: usize| belief[state] * self.rewards[at(state)] as f64 / 4.0;
            let reward: f64 = (0..states).map(own).sum();
            let next: Vec<f64> = (0..states)
                .map(|to| (0..states).map(|state| belief[state] * self.transitions[at(state)][to] as f64 / 16.0).sum())
                .collect();
            let seen = |observation: usize| {
                let seen = |to: usize| next[to] * self.observations[at(to)][observation] as f64 / 16.0;
                self.value(&(0..states).map(seen).collect::<Vec<_>>(), steps - 1)
            };
            reward + f64::from(self.discount) / 4.0 * (0..observations).map(seen).sum::<f64>()
        };
        (0..actions).map(of_action).fold(f64::NEG_INFINITY, f64::max)
    }

    fn write(&self, text: &mut String) -> std::fmt::Result {
        let [states, actions, observations] = self.sizes;
        let parts =
            |row: &[i64]| row.iter().map(|&parts| (parts as f64 / 16.0).to_string()).collect::<Vec<_>>().join(" ");
        writeln!(text, "discount: {}\nvalues: reward", f64::from(self.discount) / 4.0)?;
        writeln!(text, "states: {states}\nactions: {actions}\nobservations: {observations}")?;
        writeln!(text, "start:\n{}", parts(&self.start))?;
        for action in 0..actions {
            for state in 0..states {
                let at = action * states + state;
                writeln!(text, "T: {action} : {state}\n{}", parts(&self.transitions[at]))?;
                writeln!(text, "O: {action} : {state}\n{}", parts(&self.observations[at]))?;
                writeln!(text, "R: {action} : {state} : * : * {}", self.rewards[at] as f64 / 4.0)?;
            }
        }
        Ok(())
    }
}

impl Problem for Process {
    fn smaller(&self) -> Vec<Self> {
        let mut all = Vec::new();
        if self.horizon > 1 {
            all.push(Process { horizon: self.horizon - 1, ..self.clone() });
        }
        if self.discount < 4 {
            all.push(Process { discount: 4, ..self.clone() });
        }
        for place in (0..self.rewards.len()).filter(|&place| self.rewards[place] != 0) {
            let mut process = self.clone();
            process.rewards[place] = 0;
            all.push(process);
        }
        let certain = |row: &[i64]| (0..row.len()).map(|place| if place == 0 { 16 } else { 0 }).collect::<Vec<_>>();
        for place in 0..self.transitions.len() {
            let mut process = self.clone();
            process.transitions[place] = certain(&self.transitions[place]);
            all.push(process);
            let mut process = self.clone();
            process.observations[place] = certain(&self.observations[place]);
            all.push(process);
        }
        all.push(Process { start: certain(&self.start), ..self.clone() });
        all.retain(|process| process != self);
        all
    }

    fn files(&self) -> Vec<File> {
        let mut text = String::new();
        self.write(&mut text).expect("text is written to memory");
        vec![File { ending: "POMDP", text }]
    }

    fn complete(&self, settings: &mut Settings) {
        settings.set("horizon", self.horizon);
    }
}
