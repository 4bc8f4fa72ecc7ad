//! Processes as flat influence diagrams, with a copy of each variable for each step.

use super::device::Device;
use super::idid::Models;
use super::tree::Room;
use crate::error::Error;
use crate::memory;
use crate::model::{Diagram, DiagramKind, Idid, Node, Pomdp, Potential};
use crate::stop::Stop;

/// An influence diagram under construction.
struct Growing {
    nodes: Vec<Node>,
    probabilities: Vec<Potential>,
    utilities: Vec<Potential>,
}

impl Growing {
    fn new() -> Self {
        Growing { nodes: Vec::new(), probabilities: Vec::new(), utilities: Vec::new() }
    }

    fn variable(&mut self, name: String, domain: usize, decision: bool) -> u32 {
        self.nodes.push(Node { name, domain: domain as u32, values: Vec::new(), decision });
        self.nodes.len() as u32 - 1
    }

    /// Returns a function from its value at each combination. Variables on which it does not depend are left out,
    /// except the last `keep` ones.
    fn function(&self, scope: &[u32], keep: usize, value: impl Fn(&[usize]) -> f64) -> Result<Potential, Error> {
        let size = |v: &u32| self.nodes[*v as usize].domain as usize;
        let entries = scope.iter().map(size).fold(1usize, usize::saturating_mul);
        memory::must_fit(entries.saturating_mul(8) as u64, || "a table of the flat diagram".into())?;
        let mut digits = vec![0; scope.len()];
        let mut table = Vec::with_capacity(entries);
        for _ in 0..entries {
            table.push(value(&digits));
            for (digit, v) in digits.iter_mut().zip(scope).rev() {
                *digit += 1;
                if *digit < size(v) {
                    break;
                }
                *digit = 0;
            }
        }
        let mut scope = scope.to_vec();
        for axis in (0..scope.len() - keep).rev() {
            let inner: usize = scope[axis + 1..].iter().map(size).product();
            let block = inner * size(&scope[axis]);
            let same = |block: &[f64]| block.chunks(inner).all(|slice| slice == &block[..inner]);
            if table.chunks(block).all(same) {
                table = table.chunks(block).flat_map(|block| block[..inner].to_vec()).collect();
                let _ = scope.remove(axis);
            }
        }
        Ok(Potential { scope: scope.into(), table: table.into() })
    }

    fn probability(&mut self, scope: &[u32], value: impl Fn(&[usize]) -> f64) -> Result<(), Error> {
        let made = self.function(scope, 1, value)?;
        self.probabilities.push(made);
        Ok(())
    }

    fn utility(&mut self, scope: &[u32], value: impl Fn(&[usize]) -> f64) -> Result<(), Error> {
        let made = self.function(scope, 0, value)?;
        self.utilities.push(made);
        Ok(())
    }

    /// Returns the diagram. Its blocks are the hidden variables, followed by the decisions and what is observed before
    /// each, backwards in time.
    fn finish(self, name: &str, hidden: Vec<u32>, decisions: &[u32], observed: &[Option<u32>]) -> Diagram {
        let mut blocks = vec![hidden];
        for (decision, observed) in decisions.iter().zip(observed).rev() {
            blocks.push(vec![*decision]);
            blocks.extend(observed.map(|observed| vec![observed]));
        }
        Diagram {
            name: name.into(),
            kind: DiagramKind::Recall,
            nodes: self.nodes,
            probabilities: self.probabilities,
            utilities: self.utilities,
            blocks,
            informed: Vec::new(),
        }
    }
}

/// Returns an entry of sparse rows.
fn at(rows: &crate::model::SparseRows, row: usize, column: usize) -> f64 {
    let row = rows.row(row);
    row.binary_search_by_key(&(column as u32), |&(own, _)| own).map_or(0.0, |place| row[place].1)
}

/// Returns the dynamic influence diagram of a process: hidden states, a decision for each step, and the observation
/// before it.
///
/// # Errors
/// Returns an error if there is no memory for a table.
pub fn flat_pomdp(pomdp: &Pomdp, horizon: usize) -> Result<Diagram, Error> {
    let mut growing = Growing::new();
    let (mut states, mut decisions, mut observed) = (Vec::new(), Vec::new(), Vec::new());
    for t in 0..horizon {
        let state = growing.variable(format!("state{t}"), pomdp.states.len(), false);
        match states.last().copied().zip(decisions.last().copied()) {
            None => {
                growing.probability(&[state], |d| pomdp.start[d[0]])?;
                observed.push(None);
            }
            Some((before, action)) => {
                let seen = growing.variable(format!("observation{t}"), pomdp.observed(), false);
                growing.probability(&[before, action, state], |d| at(&pomdp.transitions[d[1]], d[0], d[2]))?;
                growing.probability(&[state, action, seen], |d| at(&pomdp.observations[d[1]], d[0], d[2]))?;
                observed.push(Some(seen));
            }
        }
        let action = growing.variable(format!("action{t}"), pomdp.actions(), true);
        let values = (0..pomdp.actions()).map(|action| pomdp.action_name(action)).collect();
        growing.nodes[action as usize].values = values;
        let weight = pomdp.discount.powi(t as i32);
        growing.utility(&[state, action], |d| weight * pomdp.rewards[d[1]][d[0]])?;
        states.push(state);
        decisions.push(action);
    }
    Ok(growing.finish(&pomdp.name, states, &decisions, &observed))
}

/// Returns the dynamic influence diagram of the first agent, in which the other agent's models are a chance variable of
/// each step (Adoe, Chen, Doshi, figure 2).
///
/// # Errors
/// Returns an error if there is no memory for a table or if a step has more than a million models, and
/// [`Error::Stopped`] if `stop` is set.
pub fn flat_idid(idid: &Idid, stop: &Stop) -> Result<Diagram, Error> {
    let device = Device::default();
    let room = Room { nodes: 1 << 20, bytes: memory::available() / 2, device: &device };
    match Models::new(idid, room, stop)? {
        Some(models) => flat(idid, &models),
        None => Err(Error::Memory("the models of the other agent reach too many beliefs".into())),
    }
}

pub(super) fn flat(idid: &Idid, models: &Models) -> Result<Diagram, Error> {
    let frame = &idid.frame;
    let [own, other] = [0, 1].map(|agent| &frame.agents[agent]);
    let (acts, seen) = (other.actions.len(), other.observations.len());
    let mut growing = Growing::new();
    let (mut hidden, mut decisions, mut observed) = (Vec::new(), Vec::new(), Vec::new());
    let mut before: Option<[u32; 4]> = None;
    for (t, layer) in models.layers.iter().enumerate() {
        let state = growing.variable(format!("state{t}"), frame.states.len(), false);
        let model = growing.variable(format!("model{t}"), layer.actions.len(), false);
        hidden.extend([state, model]);
        match before {
            None => {
                growing.probability(&[state], |d| idid.belief[d[0]])?;
                growing.probability(&[model], |d| models.weights[d[0]])?;
                observed.push(None);
            }
            Some([last, theirs, action, reaction]) => {
                let joint = |i: usize, j: usize| i * acts + j;
                let transition = |d: &[usize]| at(&frame.transitions[joint(d[1], d[2])], d[0], d[3]);
                growing.probability(&[last, action, reaction, state], transition)?;
                let mine = growing.variable(format!("observation{t}"), own.observations.len(), false);
                let other_seen = growing.variable(format!("other_observation{t}"), seen, false);
                let both =
                    |d: &[usize], i: usize, j: usize| at(&frame.observations[joint(d[1], d[2])], d[0], i * seen + j);
                let of_mine = |d: &[usize], i: usize| (0..seen).map(|j| both(d, i, j)).sum::<f64>();
                growing.probability(&[state, action, reaction, mine], |d| of_mine(d, d[3]))?;
                // the other agent's observation, given the own one; if that is impossible, any distribution will do
                let independent = (0..frame.actions()).all(|joint| factors(frame, joint, seen));
                let of_other = |d: &[usize], j: usize| (0..own.observations.len()).map(|i| both(d, i, j)).sum::<f64>();
                if independent {
                    growing.probability(&[state, action, reaction, other_seen], |d| of_other(d, d[3]))?;
                } else {
                    let given = |d: &[usize]| match of_mine(d, d[3]) {
                        sum if sum > 0.0 => both(d, d[3], d[4]) / sum,
                        _ => 1.0 / seen as f64,
                    };
                    growing.probability(&[state, action, reaction, mine, other_seen], given)?;
                }
                let layer = &models.layers[t - 1];
                let taken = |m: usize, j: usize| layer.actions[m].iter().any(|&(action, _)| action as usize == j);
                let next = |d: &[usize]| match taken(d[0], d[1]) {
                    true => layer.next[d[0]][d[1] * seen + d[2]] as usize,
                    false => 0,
                };
                growing
                    .probability(&[theirs, reaction, other_seen, model], |d| f64::from(u8::from(next(d) == d[3])))?;
                hidden.push(other_seen);
                observed.push(Some(mine));
            }
        }
        let reaction = growing.variable(format!("other_action{t}"), acts, false);
        let often = |m: usize, j: usize| layer.actions[m].iter().find(|(action, _)| *action as usize == j);
        growing.probability(&[model, reaction], |d| often(d[0], d[1]).map_or(0.0, |&(_, p)| p))?;
        hidden.push(reaction);
        let action = growing.variable(format!("action{t}"), own.actions.len(), true);
        growing.nodes[action as usize].values = own.actions.clone();
        let weight = frame.discount.powi(t as i32);
        growing.utility(&[state, action, reaction], |d| weight * frame.rewards[d[1] * acts + d[2]][d[0]])?;
        decisions.push(action);
        before = Some([state, model, action, reaction]);
    }
    Ok(growing.finish(&idid.name, hidden, &decisions, &observed))
}

/// Returns whether both agents' observations after a joint action are independent in each state, up to rounding.
fn factors(frame: &Pomdp, joint: usize, seen: usize) -> bool {
    let rows = &frame.observations[joint];
    let mine = frame.agents[0].observations.len();
    (0..rows.len()).all(|state| {
        let entry = |i: usize, j: usize| at(rows, state, i * seen + j);
        let first: Vec<f64> = (0..mine).map(|i| (0..seen).map(|j| entry(i, j)).sum()).collect();
        let second: Vec<f64> = (0..seen).map(|j| (0..mine).map(|i| entry(i, j)).sum()).collect();
        let near = |i: usize, j: usize| (entry(i, j) - first[i] * second[j]).abs() <= 1e-15;
        (0..mine).all(|i| (0..seen).all(|j| near(i, j)))
    })
}
