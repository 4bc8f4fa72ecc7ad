//! Interactive dynamic influence diagrams (Adoe, Chen, Doshi, sections 2.2 and 4). The other agent's models are solved
//! and expanded, and become a part of the first agent's state. At levels above 1, a model solves the process that an
//! agent faces one level below.

use super::process::{Link, Process};
use super::tree::{Leaf, Room, Tree};
use super::tuning::INDIFFERENT;
use crate::error::Error;
use crate::model::{Idid, Other, Pomdp};
use crate::stop::Stop;
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;
use std::time::Instant;

/// The behavior of the models of a step.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Layer {
    /// For each model, its optimal actions with equal probabilities.
    pub actions: Vec<Vec<(u32, f64)>>,
    /// For each model, the model of the next step after each action and observation; entries of other than its own
    /// actions have no meaning.
    pub next: Vec<Vec<u32>>,
}

/// The expanded models of the other agent.
#[derive(Clone, Debug)]
pub(super) struct Models {
    /// The weight of each model at the beginning.
    pub weights: Vec<f64>,
    /// The models of each step of the first agent.
    pub layers: Vec<Layer>,
    /// The seconds to solve the models, and to expand them.
    pub seconds: (f64, f64),
    /// The number of actions of the other agent.
    other: usize,
}

/// The node of a model after an observation that it holds impossible; it acts at random from then on.
const SURPRISED: usize = usize::MAX;

impl Models {
    /// Solves all models, starting at the lowest level, and expands them. Equal beliefs of a step are one model.
    /// Returns `None` if a tree has no room.
    ///
    /// # Errors
    /// Returns [`Error::Stopped`] if `stop` is set.
    pub fn new(idid: &Idid, room: Room<'_>, stop: &Stop) -> Result<Option<Models>, Error> {
        let (other_horizon, horizon) = (idid.other_horizon, idid.horizon);
        match &idid.other {
            Other::Alone(process) => Models::of(process, idid.models.clone(), other_horizon, horizon, room, stop),
            Other::Interactive(below) => {
                let Some(models) = Models::new(below, room, stop)? else { return Ok(None) };
                let (merged, (solved, expanded)) = (models.merged(), models.seconds);
                let faced = Faced::new(below, &merged);
                let start = |(belief, weight): &(Vec<f64>, f64)| (faced.start(belief), *weight);
                let own = idid.models.iter().map(start).collect();
                let made = Models::of(&faced, own, other_horizon, horizon, room, stop)?;
                Ok(made.map(|made| Models { seconds: (made.seconds.0 + solved + expanded, made.seconds.1), ..made }))
            }
        }
    }

    /// Solves models of one process in one tree of `other_horizon` steps, and expands them for `horizon` steps.
    fn of<P: Process>(
        process: &P,
        models: Vec<(Vec<f64>, f64)>,
        other_horizon: usize,
        horizon: usize,
        room: Room<'_>,
        stop: &Stop,
    ) -> Result<Option<Models>, Error> {
        let begun = Instant::now();
        let mut roots: Vec<Vec<f64>> = Vec::new();
        let mut weights: Vec<f64> = Vec::new();
        let mut known: FxHashMap<Vec<u64>, usize> = FxHashMap::default();
        for (belief, weight) in models {
            match known.entry(belief.iter().map(|p| p.to_bits()).collect()) {
                Entry::Occupied(entry) => weights[*entry.get()] += weight,
                Entry::Vacant(entry) => {
                    let _ = entry.insert(roots.len());
                    roots.push(belief);
                    weights.push(weight);
                }
            }
        }
        // the values of all actions are needed up to the first agent's last step
        let (step, vectors) = match other_horizon == horizon {
            true => (other_horizon, vec![vec![0.0; process.states(other_horizon)]]),
            false => {
                let last = other_horizon - 1;
                (last, (0..process.actions()).map(|action| process.rewards(last, action).to_vec()).collect())
            }
        };
        let leaf = Leaf { step, vectors: &vectors };
        let Some(tree) = Tree::grow(process, &roots, leaf, room, stop)? else { return Ok(None) };
        let (solved, begun) = (begun.elapsed().as_secs_f64(), Instant::now());
        let (actions, seen) = (process.actions(), process.observations());
        let mut nodes: Vec<usize> = (0..roots.len()).collect();
        let mut layers = Vec::new();
        for step in 0..horizon {
            stop.check()?;
            let mut layer = Layer::default();
            let mut place: FxHashMap<usize, u32> = FxHashMap::default();
            let mut after = Vec::new();
            for &node in &nodes {
                let chosen = match node {
                    SURPRISED => uniform(0..actions as u32),
                    node => optimal(tree.q(step, node)),
                };
                // after the last step there is one model, whatever was observed
                let mut next = vec![0; actions * seen];
                if step + 1 < horizon {
                    for &(action, _) in &chosen {
                        for o in 0..seen {
                            let child = match node {
                                SURPRISED => None,
                                node => tree.child(step, node, action as usize, o),
                            };
                            let child = child.unwrap_or(SURPRISED);
                            next[action as usize * seen + o] = *place.entry(child).or_insert_with(|| {
                                after.push(child);
                                after.len() as u32 - 1
                            });
                        }
                    }
                }
                layer.actions.push(chosen);
                layer.next.push(next);
            }
            layers.push(layer);
            nodes = after;
        }
        let seconds = (solved, begun.elapsed().as_secs_f64());
        Ok(Some(Models { weights, layers, seconds, other: actions }))
    }

    /// Returns the number of models of each step.
    pub fn per_step(&self) -> Vec<usize> {
        self.layers.iter().map(|layer| layer.actions.len()).collect()
    }

    /// Merges models of equal behavior up to the horizon, for any observations. Classes are refined backwards from the
    /// horizon, as in the minimisation of automata (Rathnasabapathy, Doshi, Gmytrasiewicz, "Exact solutions of
    /// interactive POMDPs using behavioral equivalence", 2006).
    pub fn merged(&self) -> Models {
        let mut layers: Vec<Layer> = Vec::new();
        // the class of each model of the next step
        let mut classes: Vec<u32> = vec![0];
        for layer in self.layers.iter().rev() {
            let mut known: FxHashMap<(Vec<u32>, Vec<u32>), u32> = FxHashMap::default();
            let mut merged = Layer::default();
            let mut own = Vec::new();
            for (actions, next) in layer.actions.iter().zip(&layer.next) {
                let taken: Vec<u32> = actions.iter().map(|&(action, _)| action).collect();
                let mut leads = vec![0; next.len()];
                let each = next.len() / self.other;
                for &action in &taken {
                    for o in 0..each {
                        let at = action as usize * each + o;
                        leads[at] = classes[next[at] as usize];
                    }
                }
                own.push(*known.entry((taken, leads.clone())).or_insert_with(|| {
                    merged.actions.push(actions.clone());
                    merged.next.push(leads);
                    merged.actions.len() as u32 - 1
                }));
            }
            layers.push(merged);
            classes = own;
        }
        layers.reverse();
        let mut weights = vec![0.0; layers[0].actions.len()];
        self.weights.iter().zip(&classes).for_each(|(weight, &class)| weights[class as usize] += weight);
        Models { weights, layers, ..self.clone() }
    }
}

/// Returns the actions whose value is the largest within [`INDIFFERENT`], with equal probabilities.
fn optimal(q: &[f64]) -> Vec<(u32, f64)> {
    let most = q.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    uniform((0..).zip(q).filter(|&(_, &value)| value > most - INDIFFERENT).map(|(action, _)| action))
}

fn uniform(actions: impl Iterator<Item = u32>) -> Vec<(u32, f64)> {
    let actions: Vec<u32> = actions.collect();
    let share = 1.0 / actions.len() as f64;
    actions.into_iter().map(|action| (action, share)).collect()
}

/// The process of the first agent. Its states are pairs of a state and a model of the other agent; the model is the
/// faster index.
#[derive(Debug)]
pub(super) struct Faced<'a> {
    frame: &'a Pomdp,
    models: &'a Models,
    /// The expected rewards of each step and own action.
    rewards: Vec<Vec<Vec<f64>>>,
    /// For each step and action of the other agent, the models that take it, and how often.
    takers: Vec<Vec<Vec<(u32, f64)>>>,
}

impl<'a> Faced<'a> {
    /// Returns the process of an interactive diagram with these models.
    pub fn new(idid: &'a Idid, models: &'a Models) -> Self {
        let frame = &idid.frame;
        let [own, other] = [0, 1].map(|agent| frame.agents[agent].actions.len());
        let states = frame.states.len();
        let rewards = |layer: &Layer| -> Vec<Vec<f64>> {
            let of = |action: usize| -> Vec<f64> {
                let pairs = (0..states).flat_map(|state| layer.actions.iter().map(move |taken| (state, taken)));
                let sum = |(state, taken): (usize, &Vec<(u32, f64)>)| {
                    taken.iter().map(|&(j, p)| p * frame.rewards[action * other + j as usize][state]).sum()
                };
                pairs.map(sum).collect()
            };
            (0..own).map(of).collect()
        };
        let takers = |layer: &Layer| {
            let mut takers = vec![Vec::new(); other];
            for (model, taken) in (0..).zip(&layer.actions) {
                taken.iter().for_each(|&(action, p)| takers[action as usize].push((model, p)));
            }
            takers
        };
        Faced {
            frame,
            models,
            rewards: models.layers.iter().map(rewards).collect(),
            takers: models.layers.iter().map(takers).collect(),
        }
    }

    /// Returns the initial belief over pairs of a state and a model.
    pub fn start(&self, belief: &[f64]) -> Vec<f64> {
        belief.iter().flat_map(|p| self.models.weights.iter().map(move |weight| p * weight)).collect()
    }
}

impl Process for Faced<'_> {
    fn states(&self, step: usize) -> usize {
        self.frame.states.len() * self.models.layers.get(step).map_or(1, |layer| layer.actions.len())
    }

    fn actions(&self) -> usize {
        self.frame.agents[0].actions.len()
    }

    fn observations(&self) -> usize {
        self.frame.agents[0].observations.len()
    }

    fn discount(&self) -> f64 {
        self.frame.discount
    }

    fn rewards(&self, step: usize, action: usize) -> &[f64] {
        &self.rewards[step][action]
    }

    fn advance(&self, step: usize, action: usize, belief: &[f64], next: &mut [f64]) {
        let states = self.frame.states.len();
        let [other, seen] = [self.frame.agents[1].actions.len(), self.frame.agents[1].observations.len()];
        let layer = &self.models.layers[step];
        let (models, wide) = (layer.actions.len(), self.states(step + 1));
        let after = wide / states;
        let mut predicted = Vec::new();
        for (j, takers) in self.takers[step].iter().enumerate().filter(|(_, takers)| !takers.is_empty()) {
            let joint = action * other + j;
            // for each next state, the weights of the models that take the action
            predicted.clear();
            predicted.resize(states * takers.len(), 0.0);
            for state in 0..states {
                let own = &belief[state * models..(state + 1) * models];
                for &(to, p) in self.frame.transitions[joint].row(state) {
                    let sums = &mut predicted[to as usize * takers.len()..][..takers.len()];
                    for (sum, &(model, often)) in sums.iter_mut().zip(takers) {
                        *sum += p * often * own[model as usize];
                    }
                }
            }
            for (to, weights) in predicted.chunks(takers.len()).enumerate() {
                for &(o, q) in self.frame.observations[joint].row(to) {
                    let (mine, theirs) = (o as usize / seen, o as usize % seen);
                    let sums = &mut next[mine * wide + to * after..][..after];
                    for (&weight, &(model, _)) in weights.iter().zip(takers) {
                        sums[layer.next[model as usize][j * seen + theirs] as usize] += q * weight;
                    }
                }
            }
        }
    }

    fn links(&self, step: usize, action: usize) -> Vec<Link> {
        let frame = self.frame;
        let (states, seen) = (frame.states.len(), frame.agents[1].observations.len());
        let layer = &self.models.layers[step];
        let (models, wide) = (layer.actions.len(), self.states(step + 1));
        let after = wide / states;
        let mut links = Vec::new();
        for (j, takers) in self.takers[step].iter().enumerate() {
            let joint = action * self.takers[step].len() + j;
            for state in 0..states {
                for &(to, p) in frame.transitions[joint].row(state) {
                    for &(o, q) in frame.observations[joint].row(to as usize) {
                        let (mine, theirs) = (o as usize / seen, o as usize % seen);
                        let link = |&(model, often): &(u32, f64)| Link {
                            from: (state * models) as u32 + model,
                            to: (mine * wide + to as usize * after) as u32
                                + layer.next[model as usize][j * seen + theirs],
                            p: p * often * q,
                        };
                        links.extend(takers.iter().map(link));
                    }
                }
            }
        }
        links
    }

    fn work(&self, step: usize) -> f64 {
        let takers = &self.takers[step];
        let of = |joint: usize| self.frame.transitions[joint].entries() + self.frame.observations[joint].entries();
        let all = (0..self.actions() * takers.len()).map(|joint| takers[joint % takers.len()].len() * of(joint));
        all.sum::<usize>() as f64
    }
}
