//! The value function of a POMDP as the maximum of linear functions (vectors) of the belief, computed backwards from
//! the horizon.
//!
//! Incremental pruning (Cassandra, Littman, Zhang, 1997) adds, for each action, the vectors of one observation after
//! the other. It drops vectors that no belief needs after each addition; a small matrix game decides whether one is
//! needed.

use super::process::{best, dot};
use super::tuning::{PIVOTS, TIE};
use crate::error::Error;
use crate::model::{PolicyGraph, PolicyNode, Pomdp};
use crate::stop::Stop;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

/// A linear function of beliefs: the expected value of a conditional plan in each state.
#[derive(Clone, Debug)]
struct Vector {
    values: Vec<f64>,
    action: usize,
    /// For each observation, the index of the vector at the next step.
    next: Vec<u32>,
}

/// The vectors for each number of steps to go, from 1.
#[derive(Debug)]
pub(super) struct Vectors {
    sets: Vec<Vec<Vector>>,
    /// The absolute error of values against exact arithmetic, at most.
    pub error_bound: f64,
}

impl Vectors {
    /// Computes the vectors of a process and a horizon. Returns `None` if a step or an intermediate sum needs more than
    /// `most` vectors.
    ///
    /// # Errors
    /// Returns [`Error::Stopped`] if `stop` is set.
    pub fn new(pomdp: &Pomdp, horizon: usize, most: usize, stop: &Stop) -> Result<Option<Vectors>, Error> {
        let (actions, seen) = (pomdp.actions(), pomdp.observed());
        let mut made = Vectors { sets: Vec::new(), error_bound: 0.0 };
        let unit = f64::EPSILON / 2.0;
        let mut largest = 0.0;
        for _ in 0..horizon {
            stop.check()?;
            let before = made.sets.last();
            let of_action = |action: usize| -> Result<Option<Vec<Vector>>, Error> {
                let own = Vector { values: pomdp.rewards[action].clone(), action, next: Vec::new() };
                let Some(before) = before else { return Ok(Some(vec![own])) };
                let mut sums = vec![own];
                for observation in 0..seen {
                    let projected: Vec<(u32, Vec<f64>)> =
                        (0..).zip(before).map(|(k, v)| (k, project(pomdp, action, observation, &v.values))).collect();
                    let projected = distinct(projected, stop)?;
                    if sums.len().saturating_mul(projected.len()) > most {
                        return Ok(None);
                    }
                    let mut all = Vec::new();
                    for sum in &sums {
                        for (k, values) in &projected {
                            let values = sum.values.iter().zip(values).map(|(a, b)| a + b).collect();
                            let next = sum.next.iter().copied().chain([*k]).collect();
                            all.push(Vector { values, action, next });
                        }
                    }
                    sums = prune(all, stop)?;
                }
                Ok(Some(sums))
            };
            let sets: Vec<Option<Vec<Vector>>> =
                (0..actions).into_par_iter().map(of_action).collect::<Result<_, Error>>()?;
            let Some(sets) = sets.into_iter().collect::<Option<Vec<_>>>() else { return Ok(None) };
            let set = prune(sets.concat(), stop)?;
            if set.len() > most {
                return Ok(None);
            }
            largest = set.iter().flat_map(|v| &v.values).fold(largest, |most: f64, value| most.max(value.abs()));
            // rounding of the sums, and the loss by pruning
            let operations = (pomdp.states.len() + seen + 2) as f64 * unit;
            let dropped = (seen + 1) as f64 * TIE;
            made.error_bound = pomdp.discount * made.error_bound + largest * (operations + dropped);
            made.sets.push(set);
        }
        Ok(Some(made))
    }

    /// Returns the value of a belief with all steps to go.
    pub fn value(&self, belief: &[f64]) -> f64 {
        self.best(self.sets.len(), belief).1
    }

    /// Returns the value of a belief with `to_go` steps to go, at least 1. If the belief sums to p, the value is
    /// multiplied by p.
    pub fn largest(&self, to_go: usize, belief: &[f64]) -> f64 {
        self.best(to_go, belief).1
    }

    fn best(&self, to_go: usize, belief: &[f64]) -> (usize, f64) {
        best(self.sets[to_go - 1].iter().map(|v| dot(belief, &v.values)))
    }

    /// Returns the number of vectors of all steps.
    pub fn count(&self) -> u64 {
        self.sets.iter().map(|set| set.len() as u64).sum()
    }

    /// Returns the policy from a belief.
    pub fn policy(&self, belief: &[f64], actions: Vec<String>, observations: Vec<String>) -> PolicyGraph {
        let horizon = self.sets.len();
        let seen = observations.len();
        let mut nodes: Vec<PolicyNode> = Vec::new();
        let mut level = vec![self.best(horizon, belief).0];
        for step in 0..horizon {
            let set = &self.sets[horizon - 1 - step];
            let mut known: FxHashMap<u32, usize> = FxHashMap::default();
            let mut next = Vec::new();
            let first = nodes.len() + level.len();
            for &vector in &level {
                let Vector { action, next: to, .. } = &set[vector];
                let mut id = |to: &u32| {
                    Some(*known.entry(*to).or_insert_with(|| {
                        next.push(*to as usize);
                        first + next.len() - 1
                    }))
                };
                let next = if to.is_empty() { vec![None; seen] } else { to.iter().map(&mut id).collect() };
                nodes.push(PolicyNode { step, action: *action, next });
            }
            level = next;
        }
        PolicyGraph { horizon, actions, observations, nodes }
    }
}

/// Returns, for each state, the discounted value of a vector of the next step after an action, weighted with the
/// probability of an observation.
fn project(pomdp: &Pomdp, action: usize, observation: usize, values: &[f64]) -> Vec<f64> {
    let seen = &pomdp.observations[action];
    let weighted: Vec<f64> = values
        .iter()
        .enumerate()
        .map(|(state, value)| {
            let row = seen.row(state);
            row.binary_search_by_key(&(observation as u32), |&(o, _)| o).map_or(0.0, |at| row[at].1 * value)
        })
        .collect();
    let of = |state: usize| {
        let row = pomdp.transitions[action].row(state).iter();
        pomdp.discount * row.map(|&(to, p)| p * weighted[to as usize]).sum::<f64>()
    };
    (0..values.len()).map(of).collect()
}

/// Drops vectors that another one dominates in every state.
fn distinct(mut all: Vec<(u32, Vec<f64>)>, stop: &Stop) -> Result<Vec<(u32, Vec<f64>)>, Error> {
    let mut kept: Vec<(u32, Vec<f64>)> = Vec::new();
    // a vector that dominates another has the larger sum
    all.sort_by(|a, b| b.1.iter().sum::<f64>().total_cmp(&a.1.iter().sum()).then(a.0.cmp(&b.0)));
    for (k, values) in all {
        stop.check()?;
        if !kept.iter().any(|(_, other)| other.iter().zip(&values).all(|(a, b)| a >= b)) {
            kept.push((k, values));
        }
    }
    Ok(kept)
}

/// Keeps the vectors that are the largest at some belief by more than [`TIE`], relatively (Lark's algorithm).
fn prune(all: Vec<Vector>, stop: &Stop) -> Result<Vec<Vector>, Error> {
    let numbered = (0..).zip(&all).map(|(k, v)| (k, v.values.clone())).collect();
    let mut left: Vec<Vector> = Vec::new();
    for (k, _) in distinct(numbered, stop)? {
        left.push(all[k as usize].clone());
    }
    let largest = left.iter().flat_map(|v| &v.values).fold(1.0, |most: f64, value| most.max(value.abs()));
    let mut kept: Vec<Vector> = Vec::new();
    while let Some(candidate) = left.first() {
        stop.check()?;
        match witness(&candidate.values, &kept, TIE * largest) {
            None => drop(left.remove(0)),
            Some(belief) => {
                let (place, _) = best(left.iter().map(|v| dot(&belief, &v.values)));
                kept.push(left.remove(place));
            }
        }
    }
    // in the order of the actions, because ties go to the first vector
    kept.sort_by(|a, b| a.action.cmp(&b.action).then_with(|| a.next.cmp(&b.next)));
    Ok(kept)
}

/// Returns a belief at which a vector exceeds all others by more than `least`, or `None` if there is none.
///
/// The best such belief is the first player's strategy in the game with payoffs `vector - other`. The simplex method on
/// the second player's side begins at a feasible point (Dantzig, "Linear programming and extensions", 1963, chapter
/// 13).
fn witness(vector: &[f64], others: &[Vector], least: f64) -> Option<Vec<f64>> {
    let (rows, columns) = (vector.len(), others.len());
    if columns == 0 {
        return Some(vec![1.0 / rows as f64; rows]);
    }
    let payoff = |row: usize, column: usize| vector[row] - others[column].values[row];
    let lowest = (0..rows).flat_map(|r| (0..columns).map(move |c| payoff(r, c))).fold(f64::INFINITY, f64::min);
    let shift = 1.0 - lowest;
    // columns of the tableau: payoffs, slacks, right-hand side; the objective is a separate row
    let width = columns + rows + 1;
    let mut table: Vec<Vec<f64>> = (0..rows)
        .map(|r| {
            let mut row: Vec<f64> = (0..columns).map(|c| payoff(r, c) + shift).collect();
            row.extend((0..rows).map(|slack| f64::from(u8::from(slack == r))));
            row.push(1.0);
            row
        })
        .collect();
    let mut objective: Vec<f64> = (0..width).map(|c| if c < columns { -1.0 } else { 0.0 }).collect();
    let keep = || Some(vec![1.0 / rows as f64; rows]);
    for pivot in 0.. {
        let enter = (0..width - 1).min_by(|&a, &b| objective[a].total_cmp(&objective[b]))?;
        if objective[enter] >= -1e-13 {
            break;
        }
        if pivot > PIVOTS * (rows + 1) {
            return keep();
        }
        let ratios = (0..rows).filter(|&r| table[r][enter] > 1e-13).map(|r| (table[r][width - 1] / table[r][enter], r));
        let Some((_, leave)) = ratios.min_by(|a, b| a.0.total_cmp(&b.0)) else { return keep() };
        let by = table[leave][enter];
        table[leave].iter_mut().for_each(|entry| *entry /= by);
        let row = table[leave].clone();
        let others = table.iter_mut().enumerate().filter(|&(r, _)| r != leave).map(|(_, row)| row);
        for other in others.chain([&mut objective]) {
            let factor = other[enter];
            if factor != 0.0 {
                other.iter_mut().zip(&row).for_each(|(entry, own)| *entry -= factor * own);
            }
        }
    }
    let total = objective[width - 1];
    if !total.is_finite() || total <= 0.0 || 1.0 / total - shift > least {
        let weights: Vec<f64> = objective[columns..columns + rows].iter().map(|w| w.max(0.0)).collect();
        let sum: f64 = weights.iter().sum();
        return if sum > 0.0 { Some(weights.iter().map(|w| w / sum).collect()) } else { keep() };
    }
    None
}
