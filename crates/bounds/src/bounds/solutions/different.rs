//! Sets of variables whose values must differ, found among binary functions, and their propagation: a value stays only
//! if some assignment of different values has it (Régin, "A filtering algorithm for constraints of difference in
//! CSPs", 1994).

use crate::bounds::tuning::solutions::DIFFERENT_PAIRS;
use crate::error::Error;
use crate::model::{CostFunction, FORBIDDEN, Problem};
use crate::stop::Stop;
use rustc_hash::FxHashSet;
use std::collections::VecDeque;

/// Number of a value or a variable that does not exist.
const NONE: u32 = u32::MAX;

/// The sets of at least three variables of which any two must differ.
#[derive(Debug, Default)]
pub(super) struct Different {
    pub sets: Vec<Vec<u32>>,
    /// By variable, the sets that it is in.
    pub of: Vec<Vec<u32>>,
}

impl Different {
    /// Covers the pairs of variables that must differ by sets, each extended greedily. Larger numbers of pairs than
    /// [`DIFFERENT_PAIRS`] are left to the pairs themselves.
    ///
    /// # Errors
    /// Returns [`Error::Stopped`] once `stop` is set.
    pub fn new(problem: &Problem, stop: &Stop) -> Result<Different, Error> {
        let n = problem.variables();
        let mut different = Different { sets: Vec::new(), of: vec![Vec::new(); n] };
        let mut pairs: Vec<(u32, u32)> = Vec::new();
        for function in stop.each(&problem.functions) {
            let function = function?;
            if let &[u, v] = &function.scope[..]
                && differ(problem, function)
            {
                pairs.push((u, v));
            }
            if pairs.len() > DIFFERENT_PAIRS {
                return Ok(different);
            }
        }
        pairs.sort_unstable();
        let known: FxHashSet<(u32, u32)> = pairs.iter().copied().collect();
        let mut neighbours = vec![Vec::new(); n];
        pairs.iter().for_each(|&(u, v)| neighbours[u as usize].push(v));
        pairs.iter().for_each(|&(u, v)| neighbours[v as usize].push(u));
        neighbours.iter_mut().for_each(|own| own.sort_unstable());
        let is_pair = |a: u32, b: u32| known.contains(&(a.min(b), a.max(b)));
        let mut covered = FxHashSet::default();
        for &(u, v) in &pairs {
            stop.check()?;
            if covered.contains(&(u, v)) {
                continue;
            }
            let mut set = vec![u, v];
            for &w in &neighbours[u as usize] {
                if w != v && set.iter().all(|&own| is_pair(own, w)) {
                    set.push(w);
                }
            }
            set.sort_unstable();
            for (at, &a) in set.iter().enumerate() {
                covered.extend(set[at + 1..].iter().map(|&b| (a, b)));
            }
            if set.len() > 2 {
                set.iter().for_each(|&w| different.of[w as usize].push(different.sets.len() as u32));
                different.sets.push(set);
            }
        }
        Ok(different)
    }
}

/// Returns whether a binary function forbids equal values.
fn differ(problem: &Problem, function: &CostFunction) -> bool {
    let (domain, other) = (problem.domains[function.scope[0] as usize], problem.domains[function.scope[1] as usize]);
    (0..domain.min(other)).all(|value| function.cost_at(&problem.domains, |_| value) >= FORBIDDEN)
}

/// The working memory of the propagation of a set. Values are nodes: a variable may change its value along each edge
/// from its matched value to another one of its domain. A change is part of an assignment of different values if its
/// edge is on a cycle, through the sink if a free value takes part.
#[derive(Debug, Default)]
pub(super) struct Matching {
    /// By variable of the set, its matched value.
    value: Vec<u32>,
    /// By value, the variable of the set that it is matched with.
    owner: Vec<u32>,
    /// By value, the variable from which the search for a path reached it.
    reached: Vec<u32>,
    component: Vec<u32>,
    index: Vec<u32>,
    low: Vec<u32>,
    path: Vec<u32>,
    calls: Vec<(u32, usize)>,
}

impl Matching {
    /// Finds the values that an assignment of different values can have; `domains` has the remaining values by
    /// variable. Returns `None` if there is no such assignment, else for each variable whether each value stays.
    pub fn filter(&mut self, domains: &[&[u32]]) -> Option<Vec<Vec<bool>>> {
        let size = domains.iter().flat_map(|own| own.last()).max().map_or(0, |&most| most as usize + 1);
        self.value.clear();
        self.value.resize(domains.len(), NONE);
        self.owner.clear();
        self.owner.resize(size, NONE);
        if !(0..domains.len() as u32).all(|v| self.augment(domains, v)) {
            return None;
        }
        self.components(domains, size as u32);
        let stays = |(v, own): (usize, &&[u32])| {
            let from = self.component[self.value[v] as usize];
            own.iter().map(|&value| value == self.value[v] || self.component[value as usize] == from).collect()
        };
        Some(domains.iter().enumerate().map(stays).collect())
    }

    /// Matches one more variable by the shortest augmenting path.
    fn augment(&mut self, domains: &[&[u32]], first: u32) -> bool {
        self.reached.clear();
        self.reached.resize(self.owner.len(), NONE);
        let mut queue = VecDeque::from([first]);
        while let Some(v) = queue.pop_front() {
            for &value in domains[v as usize] {
                if self.reached[value as usize] != NONE {
                    continue;
                }
                self.reached[value as usize] = v;
                match self.owner[value as usize] {
                    NONE => {
                        self.take(value);
                        return true;
                    }
                    owner => queue.push_back(owner),
                }
            }
        }
        false
    }

    /// Moves the variables along the path that reached a free value.
    fn take(&mut self, mut value: u32) {
        while value != NONE {
            let v = self.reached[value as usize];
            let before = std::mem::replace(&mut self.value[v as usize], value);
            self.owner[value as usize] = v;
            value = before;
        }
    }

    /// Returns the edge of a node with this number. The sink has the number of values.
    fn edge(&self, domains: &[&[u32]], node: u32, at: usize) -> Option<u32> {
        match self.owner.get(node as usize) {
            Some(&NONE) => (at == 0).then_some(self.owner.len() as u32),
            Some(&owner) => domains[owner as usize].get(at).copied(),
            None => self.value.get(at).copied(),
        }
    }

    /// Computes the strongly connected components of the values and the sink (Tarjan 1972).
    fn components(&mut self, domains: &[&[u32]], sink: u32) {
        let nodes = sink as usize + 1;
        for list in [&mut self.component, &mut self.index, &mut self.low] {
            list.clear();
            list.resize(nodes, NONE);
        }
        self.path.clear();
        let (mut next, mut components) = (0, 0);
        for root in 0..nodes as u32 {
            if self.index[root as usize] != NONE {
                continue;
            }
            self.calls.push((root, 0));
            while let Some((node, at)) = self.calls.pop() {
                let own = node as usize;
                if at == 0 {
                    (self.index[own], self.low[own]) = (next, next);
                    next += 1;
                    self.path.push(node);
                }
                if let Some(to) = self.edge(domains, node, at) {
                    self.calls.push((node, at + 1));
                    if self.index[to as usize] == NONE {
                        self.calls.push((to, 0));
                    } else if self.component[to as usize] == NONE {
                        self.low[own] = self.low[own].min(self.index[to as usize]);
                    }
                    continue;
                }
                if self.low[own] == self.index[own] {
                    while let Some(member) = self.path.pop() {
                        self.component[member as usize] = components;
                        if member == node {
                            break;
                        }
                    }
                    components += 1;
                }
                if let Some(&(before, _)) = self.calls.last() {
                    self.low[before as usize] = self.low[before as usize].min(self.low[own]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    /// Returns the values of each variable in assignments of different values.
    fn enumerate(domains: &[Vec<u32>], taken: &mut Vec<u32>, met: &mut [Vec<bool>]) -> bool {
        let v = taken.len();
        if v == domains.len() {
            return true;
        }
        let mut any = false;
        for (at, &value) in domains[v].iter().enumerate() {
            if !taken.contains(&value) {
                taken.push(value);
                if enumerate(domains, taken, met) {
                    (met[v][at], any) = (true, true);
                }
                let _ = taken.pop();
            }
        }
        any
    }

    #[test]
    fn the_values_that_stay_are_those_of_enumeration() {
        let (mut rng, mut matching, mut none, mut less) = (Rng::new(4), Matching::default(), 0, 0);
        for case in 0..3000 {
            let values = 1 + rng.below(7) as u32;
            let domains: Vec<Vec<u32>> = (0..2 + rng.index(5))
                .map(|_| {
                    let kept = (0..values).filter(|_| rng.below(2) == 0).collect::<Vec<_>>();
                    if kept.is_empty() { vec![rng.below(values.into()) as u32] } else { kept }
                })
                .collect();
            let mut met: Vec<Vec<bool>> = domains.iter().map(|own| vec![false; own.len()]).collect();
            let any = enumerate(&domains, &mut Vec::new(), &mut met);
            let lists: Vec<&[u32]> = domains.iter().map(Vec::as_slice).collect();
            let filtered = matching.filter(&lists);
            assert_eq!(filtered, any.then_some(met.clone()), "case {case}: {domains:?}");
            none += u32::from(!any);
            less += u32::from(any && met.concat().contains(&false));
        }
        assert!(none > 300 && less > 300, "{none} {less}");
    }
}
