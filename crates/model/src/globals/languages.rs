//! Automata for global cost functions about languages, trees and nested networks.

use super::machine::{Machine, State};
use crate::model::{Automaton, Cost, FORBIDDEN, Grammar, Network, Repair, add};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// A weighted automaton that reads the variables. Insertions are handled together with the next letter.
pub(super) struct Regular {
    automaton: Automaton,
    arity: usize,
    /// The least cost of insertions that lead from each state to each other state.
    inserted: Vec<Vec<Cost>>,
}

impl Regular {
    pub fn new(automaton: Automaton, arity: usize) -> Self {
        let states = automaton.states as usize;
        let mut inserted = vec![vec![FORBIDDEN; states]; states];
        (0..states).for_each(|state| inserted[state][state] = 0);
        if let Repair::Edit(price) = automaton.repair {
            for &(from, _, to, cost) in &automaton.transitions {
                let own = &mut inserted[from as usize][to as usize];
                *own = (*own).min(add(price, cost));
            }
            for middle in 0..states {
                let onward = inserted[middle].clone();
                for row in &mut inserted {
                    let so_far = row[middle];
                    for (own, &rest) in row.iter_mut().zip(&onward) {
                        *own = (*own).min(add(so_far, rest));
                    }
                }
            }
        }
        Regular { automaton, arity, inserted }
    }
}

impl Machine for Regular {
    fn order(&self) -> Vec<usize> {
        (0..self.arity).collect()
    }

    fn starts(&self) -> Vec<(State, Cost)> {
        self.automaton.starts.iter().map(|&(state, cost)| ([state.into()].into(), cost)).collect()
    }

    fn step(&self, _: usize, from: &State, value: u32, to: &mut dyn FnMut(State, Cost)) {
        for (middle, &before) in self.inserted[from[0] as usize].iter().enumerate() {
            if before >= FORBIDDEN {
                continue;
            }
            if let Repair::Edit(price) = self.automaton.repair {
                to([middle as i64].into(), add(before, price)); // deletion of this letter
            }
            for &(from, letter, next, cost) in &self.automaton.transitions {
                if from as usize != middle {
                    continue;
                }
                let price = match self.automaton.repair {
                    _ if letter == value => 0,
                    Repair::None => continue,
                    Repair::Substitute(price) | Repair::Edit(price) => price,
                };
                to([next.into()].into(), add(before, add(cost, price)));
            }
        }
    }

    fn end(&self, state: &State) -> Cost {
        let after = &self.inserted[state[0] as usize];
        let end = |&(end, cost): &(u32, Cost)| add(after[end as usize], cost);
        self.automaton.ends.iter().map(end).min().unwrap_or(FORBIDDEN)
    }
}

/// A pushdown automaton for a grammar. A state is the stack of symbols still to be derived, with the next one last
/// (leftmost derivation).
pub(super) struct Stack {
    pub grammar: Grammar,
    pub arity: usize,
}

impl Stack {
    /// Returns the stacks that derive from `stack` before the next letter is read, with their least costs. Stacks with
    /// more symbols than the `left` letters still to be read, the next one included, are pruned.
    fn derived(&self, stack: &State, left: usize) -> FxHashMap<State, Cost> {
        let mut costs: FxHashMap<State, Cost> = FxHashMap::default();
        let mut waiting = vec![(stack.clone(), 0)];
        while let Some((stack, cost)) = waiting.pop() {
            let Some((&symbol, rest)) = stack.split_last() else { continue };
            if stack.len() > left || costs.get(&stack).is_some_and(|&known| known <= cost) {
                continue;
            }
            for &(_, first, second, more) in self.grammar.pairs.iter().filter(|pair| i64::from(pair.0) == symbol) {
                let longer = rest.iter().copied().chain([i64::from(second), i64::from(first)]);
                waiting.push((longer.collect(), add(cost, more)));
            }
            let _ = costs.insert(stack, cost);
        }
        costs
    }
}

impl Machine for Stack {
    fn order(&self) -> Vec<usize> {
        (0..self.arity).collect()
    }

    fn starts(&self) -> Vec<(State, Cost)> {
        vec![([self.grammar.start.into()].into(), 0)]
    }

    fn step(&self, step: usize, from: &State, value: u32, to: &mut dyn FnMut(State, Cost)) {
        for (stack, so_far) in self.derived(from, self.arity - step) {
            let Some((&symbol, rest)) = stack.split_last() else { continue };
            for &(_, letter, cost) in self.grammar.terminals.iter().filter(|rule| i64::from(rule.0) == symbol) {
                let price = if letter == value { Some(0) } else { self.grammar.substitute };
                if let Some(price) = price {
                    to(rest.into(), add(so_far, add(cost, price)));
                }
            }
        }
    }

    fn end(&self, state: &State) -> Cost {
        if state.is_empty() { 0 } else { FORBIDDEN }
    }
}

/// An automaton that follows parent links. A state gives, for each node, the node reached by the links so far (the
/// root, or a node whose parent is not yet read), then the root, or -1 if it is not yet read.
pub(super) struct Tree {
    pub arity: usize,
}

impl Machine for Tree {
    fn order(&self) -> Vec<usize> {
        (0..self.arity).collect()
    }

    fn starts(&self) -> Vec<(State, Cost)> {
        vec![((0..self.arity as i64).chain([-1]).collect(), 0)]
    }

    fn step(&self, step: usize, from: &State, value: u32, to: &mut dyn FnMut(State, Cost)) {
        let (node, parent) = (step as i64, value as usize);
        if parent >= self.arity {
            return;
        }
        let mut state = from.clone();
        if parent == step {
            if state[self.arity] >= 0 {
                return;
            }
            state[self.arity] = node;
            return to(state, 0);
        }
        let end = state[parent];
        if end == node {
            return; // a cycle
        }
        state[..self.arity].iter_mut().filter(|leads| **leads == node).for_each(|leads| *leads = end);
        to(state, 0);
    }

    fn end(&self, state: &State) -> Cost {
        if state[self.arity] >= 0 { 0 } else { FORBIDDEN }
    }
}

/// An automaton for a condition on the cost of a nested network. A state lists all values so far.
pub(super) struct Nested {
    pub network: Arc<Network>,
    pub low: Cost,
    pub high: Cost,
}

impl Machine for Nested {
    fn order(&self) -> Vec<usize> {
        (0..self.network.domains().len()).collect()
    }

    fn starts(&self) -> Vec<(State, Cost)> {
        vec![([].into(), 0)]
    }

    fn step(&self, _: usize, from: &State, value: u32, to: &mut dyn FnMut(State, Cost)) {
        to(from.iter().copied().chain([value.into()]).collect(), 0);
    }

    fn end(&self, state: &State) -> Cost {
        let values: Vec<u32> = state.iter().map(|&value| value as u32).collect();
        let network = self.network.expanded();
        let values = self.network.extend(&values);
        let cost = network.functions().iter().fold(0, |sum, f| add(sum, f.cost(network.domains(), &values)));
        if cost < FORBIDDEN && cost < network.top() && (self.low..self.high).contains(&cost) { 0 } else { FORBIDDEN }
    }
}
