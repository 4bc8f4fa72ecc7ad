//! Processes that are controlled by beliefs: POMDPs, and the process of an agent of an interactive diagram.

use crate::error::Error;
use crate::model::Pomdp;
use crate::stop::Stop;
use rayon::prelude::*;

/// A process in steps. A belief assigns a probability to each state of its step.
pub(super) trait Process: Sync {
    /// Returns the number of states at a step.
    fn states(&self, step: usize) -> usize;
    /// Returns the number of actions.
    fn actions(&self) -> usize;
    /// Returns the number of observations.
    fn observations(&self) -> usize;
    /// Returns the discount factor of the next step's rewards.
    fn discount(&self) -> f64;
    /// Returns the expected reward of an action in each state.
    fn rewards(&self, step: usize, action: usize) -> &[f64];
    /// Adds the probability of each observation and next state to `next`; the next state is the faster index.
    fn advance(&self, step: usize, action: usize, belief: &[f64], next: &mut [f64]);
    /// Returns the transitions of [`Process::advance`] as a list; a pair of indices may occur several times.
    fn links(&self, step: usize, action: usize) -> Vec<Link>;
    /// Returns the number of products that all actions take at a belief.
    fn work(&self, step: usize) -> f64;
}

/// The probability of an observation and a next state from a state, with the indices of [`Process::advance`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    pub from: u32,
    pub to: u32,
    pub p: f64,
}

impl Process for Pomdp {
    fn states(&self, _: usize) -> usize {
        self.states.len()
    }

    fn actions(&self) -> usize {
        self.actions()
    }

    fn observations(&self) -> usize {
        self.observed()
    }

    fn discount(&self) -> f64 {
        self.discount
    }

    fn rewards(&self, _: usize, action: usize) -> &[f64] {
        &self.rewards[action]
    }

    fn advance(&self, _: usize, action: usize, belief: &[f64], next: &mut [f64]) {
        let states = self.states.len();
        let mut predicted = vec![0.0; states];
        for (state, &weight) in belief.iter().enumerate().filter(|&(_, &weight)| weight > 0.0) {
            for &(to, p) in self.transitions[action].row(state) {
                predicted[to as usize] += weight * p;
            }
        }
        for (to, &weight) in predicted.iter().enumerate().filter(|&(_, &weight)| weight > 0.0) {
            for &(seen, q) in self.observations[action].row(to) {
                next[seen as usize * states + to] += weight * q;
            }
        }
    }

    fn links(&self, _: usize, action: usize) -> Vec<Link> {
        let states = self.states.len() as u32;
        let mut links = Vec::new();
        for from in 0..states {
            for &(to, p) in self.transitions[action].row(from as usize) {
                let seen = self.observations[action].row(to as usize).iter();
                links.extend(seen.map(|&(seen, q)| Link { from, to: seen * states + to, p: p * q }));
            }
        }
        links
    }

    fn work(&self, _: usize) -> f64 {
        self.transitions.iter().chain(&self.observations).map(|rows| rows.entries() as f64).sum()
    }
}

/// Returns the expectation of `values`, summed in the order of the states.
pub(super) fn dot(belief: &[f64], values: &[f64]) -> f64 {
    belief.iter().zip(values).map(|(b, v)| b * v).sum()
}

/// Returns the first index whose value is the largest up to rounding, and the largest value.
pub(super) fn best(values: impl Iterator<Item = f64> + Clone) -> (usize, f64) {
    best_beside(values, 1.0)
}

/// Like [`best`], but with the rounding error of numbers of `size`; a size above 1 counts as 1.
pub(super) fn best_beside(values: impl Iterator<Item = f64> + Clone, size: f64) -> (usize, f64) {
    let most = values.clone().fold(f64::NEG_INFINITY, f64::max);
    let tie = super::tuning::TIE * most.abs().max(size.min(1.0));
    let place = values.into_iter().position(|value| value >= most - tie).unwrap_or(0);
    (place, most)
}

/// Vectors that bound the value of a belief at a step.
#[derive(Clone, Debug)]
pub(super) struct Bounds {
    /// For each action, the value of taking it to the end; the largest expectation is a lower bound.
    pub blind: Vec<Vec<f64>>,
    /// The value if each state is observed; its expectation is an upper bound (Littman, Cassandra, Kaelbling, "Learning
    /// policies for partially observable environments", 1995).
    pub seen: Vec<f64>,
    /// The absolute error of entries against exact arithmetic, at most.
    pub error: f64,
}

/// Returns the bounds at each step up to the horizon; at the last step the lower bound is exact.
pub(super) fn bounds<P: Process>(process: &P, horizon: usize, stop: &Stop) -> Result<Vec<Bounds>, Error> {
    let actions = process.actions();
    let rewards = |step: usize| (0..actions).map(|action| process.rewards(step, action).to_vec()).collect::<Vec<_>>();
    let seen = |q: &[Vec<f64>]| -> Vec<f64> {
        (0..q[0].len()).map(|s| q.iter().map(|q| q[s]).fold(f64::NEG_INFINITY, f64::max)).collect()
    };
    let last = rewards(horizon - 1);
    let mut all = vec![Bounds { seen: seen(&last), blind: last, error: 0.0 }];
    for step in (0..horizon - 1).rev() {
        stop.check()?;
        let after = &all[all.len() - 1];
        let (states, wide) = (process.states(step), process.states(step + 1));
        // for each action and state, the expectations of both bounds of the next step
        let expected = |action: usize| -> Vec<(f64, f64)> {
            let of = |state: usize| {
                if stop.is_set() {
                    return (0.0, 0.0);
                }
                let mut belief = vec![0.0; states];
                belief[state] = 1.0;
                let mut next = vec![0.0; process.observations() * wide];
                process.advance(step, action, &belief, &mut next);
                let sums = |values: &[f64]| next.chunks(wide).map(|next| dot(next, values)).sum::<f64>();
                let reward = process.rewards(step, action)[state];
                let discount = process.discount();
                (reward + discount * sums(&after.blind[action]), reward + discount * sums(&after.seen))
            };
            (0..states).into_par_iter().map(of).collect()
        };
        let both: Vec<Vec<(f64, f64)>> = (0..actions).map(expected).collect();
        stop.check()?;
        let blind: Vec<Vec<f64>> = both.iter().map(|own| own.iter().map(|pair| pair.0).collect()).collect();
        let q: Vec<Vec<f64>> = both.iter().map(|own| own.iter().map(|pair| pair.1).collect()).collect();
        // each sum has a term, with three products, for each observation and next state
        let sums = (process.observations() * wide + 6) as f64 * f64::EPSILON;
        let most = q.iter().chain(&blind).flatten().fold(0.0f64, |most, value| most.max(value.abs()));
        let error = process.discount() * after.error * (1.0 + sums) + sums * most;
        all.push(Bounds { blind, seen: seen(&q), error });
    }
    all.reverse();
    Ok(all)
}
