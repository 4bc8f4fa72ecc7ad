//! Finite automata that read the variables of a scope one after the other, and the tables made from them.

use crate::error::Error;
use crate::model::{Cost, FORBIDDEN, Odometer, Part, Parts, SparseTable, Table, add};
use crate::stop::Stop;
use rustc_hash::FxHashMap;

/// The maximum number of integers that the states of a layer hold: 256 MiB including the look-up map.
const NUMBERS: usize = 1 << 24;

/// A state of an automaton before states are numbered.
pub(super) type State = Box<[i64]>;

/// A function as a weighted automaton, possibly nondeterministic: the function's cost is the least cost of all paths.
pub(super) trait Machine {
    /// Returns the positions of the scope in reading order.
    fn order(&self) -> Vec<usize>;

    /// Returns the initial states and their costs.
    fn starts(&self) -> Vec<(State, Cost)>;

    /// Calls `to` with each successor of state `from` and the transition's cost, when the `step`-th position in reading
    /// order has `value`.
    fn step(&self, step: usize, from: &State, value: u32, to: &mut dyn FnMut(State, Cost));

    /// Returns the cost of ending in a state.
    fn end(&self, state: &State) -> Cost;
}

/// A transition: state before, value, state after, cost.
type Transition = (u32, u32, u32, Cost);

/// The states that an automaton reaches, in a layer before each variable and one after the last.
#[derive(Debug)]
pub(super) struct Layers {
    order: Vec<usize>,
    starts: Vec<(u32, Cost)>,
    /// The transitions of each step.
    transitions: Vec<Vec<Transition>>,
    /// Number of states in each layer.
    states: Vec<usize>,
    ends: Vec<Cost>,
}

/// A numbering of the states of a layer in order of appearance.
#[derive(Default)]
struct Numbers {
    known: FxHashMap<State, u32>,
    states: Vec<State>,
}

impl Numbers {
    fn of(&mut self, state: State) -> u32 {
        *self.known.entry(state).or_insert_with_key(|state| {
            self.states.push(state.clone());
            self.states.len() as u32 - 1
        })
    }
}

/// Adds a state to those that are reached, or lowers its cost.
fn reach(layer: &mut Vec<(u32, Cost)>, state: u32, cost: Cost) {
    match layer.iter_mut().find(|known| known.0 == state) {
        Some(known) => known.1 = known.1.min(cost),
        None => layer.push((state, cost)),
    }
}

impl Layers {
    /// Unfolds an automaton into layers. Returns `None` if it has more than `most` transitions, or a layer whose states
    /// take too much memory.
    pub fn new(machine: &dyn Machine, sizes: &[u32], most: usize, stop: &Stop) -> Result<Option<Self>, Error> {
        let order = machine.order();
        let mut layer = Numbers::default();
        let starts = machine.starts().into_iter().map(|(state, cost)| (layer.of(state), cost)).collect();
        let mut states = vec![layer.states.len()];
        let (mut transitions, mut count) = (Vec::with_capacity(order.len()), 0);
        for (step, &position) in order.iter().enumerate() {
            let mut next = Numbers::default();
            let mut taken: Vec<Transition> = Vec::new();
            for (from, state) in (0..).zip(&layer.states) {
                stop.check()?;
                for value in 0..sizes[position] {
                    let first = taken.len();
                    machine.step(step, state, value, &mut |to, cost| {
                        if cost >= FORBIDDEN {
                            return;
                        }
                        let to = next.of(to);
                        // parallel transitions count with their least cost
                        match taken[first..].iter_mut().find(|known| known.2 == to) {
                            Some(known) => known.3 = known.3.min(cost),
                            None => taken.push((from, value, to, cost)),
                        }
                    });
                    let width = next.states.first().map_or(0, |state| state.len());
                    if count + taken.len() > most || next.states.len().saturating_mul(width) > NUMBERS {
                        return Ok(None);
                    }
                }
            }
            count += taken.len();
            transitions.push(taken);
            states.push(next.states.len());
            layer = next;
        }
        let ends = layer.states.iter().map(|state| machine.end(state)).collect();
        Ok(Some(Layers { order, starts, transitions, states, ends }))
    }

    /// Returns the number of transitions.
    pub fn transitions(&self) -> usize {
        self.transitions.iter().map(Vec::len).sum()
    }

    /// Returns the costs of all assignments, with the last variable of the scope varying fastest.
    pub fn table(&self, sizes: &[u32], stop: &Stop) -> Result<Vec<Cost>, Error> {
        let n = self.order.len();
        // offsets of the transitions of each state and value: they are sorted by both
        let starts_of = |(step, transitions): (usize, &Vec<Transition>)| {
            let size = sizes[self.order[step]] as usize;
            let mut starts = vec![0usize; self.states[step] * size + 1];
            transitions.iter().for_each(|&(from, value, ..)| starts[from as usize * size + value as usize + 1] += 1);
            (1..starts.len()).for_each(|k| starts[k] += starts[k - 1]);
            starts
        };
        let places: Vec<Vec<usize>> = self.transitions.iter().enumerate().map(starts_of).collect();
        let mut strides = vec![1usize; n];
        for k in (1..n).rev() {
            strides[k - 1] = strides[k] * sizes[k] as usize;
        }
        let ordered: Vec<usize> = self.order.iter().map(|&position| sizes[position] as usize).collect();
        let mut costs = vec![0; ordered.iter().product()];
        // the reached states of each layer, with their least costs
        let mut layers: Vec<Vec<(u32, Cost)>> = vec![Vec::new(); n + 1];
        self.starts.iter().for_each(|&(state, cost)| reach(&mut layers[0], state, cost));
        let mut odometer = Odometer::new(ordered.clone());
        let mut changed = 0;
        loop {
            stop.check()?;
            for step in changed..n {
                let (before, after) = layers.split_at_mut(step + 1);
                after[0].clear();
                for &(from, so_far) in &before[step] {
                    let at = from as usize * ordered[step] + odometer.digits[step];
                    for &(.., to, cost) in &self.transitions[step][places[step][at]..places[step][at + 1]] {
                        reach(&mut after[0], to, add(so_far, cost));
                    }
                }
            }
            let last = layers[n].iter().map(|&(state, cost)| add(cost, self.ends[state as usize])).min();
            let index: usize =
                self.order.iter().zip(&odometer.digits).map(|(&position, &value)| strides[position] * value).sum();
            costs[index] = last.unwrap_or(FORBIDDEN);
            match odometer.advance() {
                Some(step) => changed = step,
                None => return Ok(costs),
            }
        }
    }

    /// Merges states with equal continuations, and drops those from which no final state is reachable. An end cost of
    /// at least `limit` becomes forbidden.
    pub fn minimised(mut self, limit: Cost) -> Self {
        let mut kinds: FxHashMap<Cost, u32> = FxHashMap::default();
        let mut classes: Vec<Option<u32>> = Vec::with_capacity(self.ends.len());
        let mut ends = Vec::new();
        for &end in &self.ends {
            let end = if end >= limit { FORBIDDEN } else { end };
            classes.push((end < FORBIDDEN).then(|| {
                *kinds.entry(end).or_insert_with(|| {
                    ends.push(end);
                    ends.len() as u32 - 1
                })
            }));
        }
        self.ends = ends;
        let last = self.states.len() - 1;
        self.states[last] = self.ends.len();
        for step in (0..self.transitions.len()).rev() {
            let mut leaving: Vec<Vec<(u32, u32, Cost)>> = vec![Vec::new(); self.states[step]];
            for &(from, value, to, cost) in &self.transitions[step] {
                if let Some(to) = classes[to as usize] {
                    leaving[from as usize].push((value, to, cost));
                }
            }
            let mut known: FxHashMap<Vec<(u32, u32, Cost)>, u32> = FxHashMap::default();
            let mut kept = Vec::new();
            classes = leaving
                .into_iter()
                .map(|mut list| {
                    list.sort_unstable();
                    // of parallel transitions to merged states, keep the one of least cost
                    list.dedup_by_key(|&mut (value, to, _)| (value, to));
                    let number = known.len() as u32;
                    (!list.is_empty()).then(|| {
                        *known.entry(list).or_insert_with_key(|list| {
                            kept.extend(list.iter().map(|&(value, to, cost)| (number, value, to, cost)));
                            number
                        })
                    })
                })
                .collect();
            self.states[step] = known.len();
            self.transitions[step] = kept;
        }
        let starts = self.starts.iter().filter_map(|&(state, cost)| Some((classes[state as usize]?, cost)));
        self.starts = starts.collect();
        self
    }

    /// Returns an upper bound on the cost of every feasible path.
    pub fn most(&self) -> Cost {
        let largest = |costs: &mut dyn Iterator<Item = Cost>| costs.filter(|&cost| cost < FORBIDDEN).max().unwrap_or(0);
        let mut most = largest(&mut self.starts.iter().map(|start| start.1));
        for transitions in &self.transitions {
            most = add(most, largest(&mut transitions.iter().map(|transition| transition.3)));
        }
        add(most, largest(&mut self.ends.iter().copied()))
    }

    /// Adds a table for each variable, over the state before it, the variable and the state after it.
    pub fn chain(&self, scope: &[u32], parts: &mut Parts) {
        let last = self.transitions.len().saturating_sub(1);
        let first = parts.added.len() as u32;
        for (step, (transitions, &position)) in self.transitions.iter().zip(&self.order).enumerate() {
            let mut entries: FxHashMap<Vec<u32>, Cost> = FxHashMap::default();
            let mut enter = |tuple: Vec<u32>, cost: Cost| {
                let own = entries.entry(tuple).or_insert(FORBIDDEN);
                *own = cost.min(*own);
            };
            for &(from, value, to, cost) in transitions {
                let cost = if step == last { add(cost, self.ends[to as usize]) } else { cost };
                let mut tuple = Vec::with_capacity(3);
                let begins = self.starts.iter().filter(|start| step > 0 || start.0 == from);
                let begin = if step > 0 { 0 } else { begins.map(|start| start.1).min().unwrap_or(FORBIDDEN) };
                if step > 0 {
                    tuple.push(from);
                }
                tuple.push(value);
                if step < last {
                    tuple.push(to);
                }
                let cost = add(cost, begin);
                if cost < FORBIDDEN {
                    enter(tuple, cost);
                }
            }
            let mut read = Vec::with_capacity(3);
            if step > 0 {
                read.push(Part::Added(first + step as u32 - 1));
            }
            read.push(Part::Own(scope[position]));
            if step < last {
                read.push(Part::Added(first + step as u32));
                parts.added.push(self.states[step + 1].max(1) as u32);
            }
            let mut rows: Vec<(Vec<u32>, Cost)> = entries.into_iter().collect();
            rows.sort_unstable();
            let costs = rows.iter().map(|row| row.1).collect();
            let tuples = rows.into_iter().flat_map(|row| row.0).collect();
            parts
                .tables
                .push((read.clone(), Table::Sparse(SparseTable::new(read.len(), FORBIDDEN, tuples, costs).into())));
        }
    }
}
