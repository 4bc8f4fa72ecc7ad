//! Tied variables: two variables with few combinations below the limit become one, whose values are these combinations.
//!
//! If a value of one variable leaves the other only two or three values, neither can change alone. Moves of single
//! variables then lead nowhere, and bounds treat the costs of both as independent. Functions that read one or both read
//! the new variable instead; functions of the two with otherwise equal scopes become one. Merging variables is the
//! oldest way to an acyclic problem (join trees, Dechter and Pearl, "Tree clustering for constraint networks", 1989);
//! here it is done only if it pays.

use super::departure::Tie;
use super::{Function, Reducer, table};
use crate::certificate::Step;
use crate::model::{Cost, Entry, FORBIDDEN, Table, on_entries};
use crate::stop::Stop;
use rustc_hash::FxHashSet;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// The price of merging two variables: sizes before and after.
#[derive(Default)]
struct Price {
    /// Number of entries of the tables that read them.
    entries: [usize; 2],
    /// Number of entries that a visit of each of them adds up.
    visits: [usize; 2],
}

impl Price {
    /// Returns the growth of the tables, in units of 1/1024.
    fn growth(&self) -> usize {
        self.entries[1].saturating_mul(1024) / self.entries[0].max(1)
    }
}

impl Reducer {
    /// Merges tied variables, now and in all later reductions. Variables of the reduced problem may then stand for
    /// several of the network's: their numbers follow those of the network's variables, and their values are numbers of
    /// combinations. Does nothing if the network is not to be reduced.
    pub fn merge_ties(&mut self, stop: &Stop) {
        self.merges = true;
        self.run(stop);
    }

    /// Merges tied pairs, those whose tables grow least first. Returns whether any was merged.
    pub(super) fn merge_tied(&mut self, stop: &Stop) -> bool {
        let mut heap = BinaryHeap::new();
        let (mut waiting, mut changed) = (Vec::new(), false);
        loop {
            while !self.done(stop)
                && let Some(slot) = self.pending.ties.pop()
            {
                if let Some(pairs) = self.tied(slot) {
                    match self.tie_price(slot, pairs.len()) {
                        Some(price) => heap.push(Reverse((price.growth(), slot))),
                        None => waiting.push(slot),
                    }
                }
            }
            let Some(Reverse((growth, slot))) = heap.pop() else { break };
            if self.done(stop) {
                waiting.push(slot);
                waiting.extend(heap.into_iter().map(|Reverse((_, slot))| slot));
                break;
            }
            let Some(pairs) = self.tied(slot) else { continue };
            match self.tie_price(slot, pairs.len()).map(|price| price.growth()) {
                // its neighbours have changed: another pair may grow less now
                Some(now) if now > growth => heap.push(Reverse((now, slot))),
                Some(_) => {
                    self.merge(slot, &pairs);
                    changed = true;
                }
                None => waiting.push(slot),
            }
        }
        // a merge that does not pay yet may pay once neighbours are merged
        waiting.into_iter().for_each(|slot| self.pending.ties.push(slot));
        changed
    }

    /// Returns the combinations below the limit if a function ties its two variables; `None` otherwise.
    fn tied(&self, slot: u32) -> Option<Vec<[usize; 2]>> {
        let Function { scope, table: Table::Dense(costs), .. } = self.function(slot)? else { return None };
        let &[first, second] = &scope[..] else { return None };
        let unary = [first, second].map(|v| &self.unary[v as usize][..]);
        let (rows, columns) = (unary[0].len(), unary[1].len());
        let most = (self.limits.tie_values.min(rows.max(columns) * self.limits.tie_multiple))
            .min(rows * columns / self.limits.tie_share);
        let limit = self.limit();
        let pairs = on_entries!(costs, entries => counting(entries, unary, limit, most))?;
        // without any there is no solution, which arc consistency detects
        (!pairs.is_empty()).then_some(pairs)
    }

    /// Returns the price of merging the two variables of a function into one with `values` values; `None` if it does
    /// not pay.
    fn tie_price(&self, slot: u32, values: usize) -> Option<Price> {
        let parts = &self.function(slot)?.scope;
        let mut price = Price::default();
        let mut rests: FxHashSet<Vec<u32>> = FxHashSet::default();
        for (place, &v) in parts.iter().enumerate() {
            for (function, _) in self.functions_of(v) {
                let Table::Dense(costs) = &function.table else { return None };
                price.visits[0] += self.domains[v as usize] as usize;
                let both = parts.iter().all(|u| function.scope.binary_search(u).is_ok());
                // counted once, though both read it
                if place == 0 || !both {
                    price.entries[0] += costs.len();
                }
                let rest: Vec<u32> = function.scope.iter().copied().filter(|u| !parts.contains(u)).collect();
                if !rest.is_empty() && !rests.contains(&rest) {
                    let entries = table::combinations(&self.sizes(&rest)) as usize;
                    price.entries[1] = price.entries[1].saturating_add(entries.saturating_mul(values));
                    price.visits[1] += values;
                    let _ = rests.insert(rest);
                }
            }
        }
        let Price { entries, visits } = &price;
        let pays = entries[1] <= entries[0].saturating_mul(self.limits.tie_entries)
            && visits[1] <= visits[0].saturating_mul(self.limits.tie_visits);
        pays.then_some(price)
    }

    /// Replaces the two variables of a function by one whose values are `pairs` of theirs, ascending.
    fn merge(&mut self, slot: u32, pairs: &[[usize; 2]]) {
        let Some(Function { scope, table: Table::Dense(costs), .. }) = self.function(slot) else { return };
        let &[first, second] = &scope[..] else { return };
        let (parts, costs) = ([first, second], costs.clone());
        let columns = self.domains[second as usize] as usize;
        let unary: Vec<Cost> = pairs
            .iter()
            .map(|&[a, b]| {
                let own = table::sum(self.unary[first as usize][a], self.unary[second as usize][b]);
                table::sum(costs.get(a * columns + b), own)
            })
            .collect();
        let values = parts.map(|v| self.values[v as usize].clone());
        let named: Arc<[(u32, u32)]> = pairs.iter().map(|&[a, b]| (values[0][a], values[1][b])).collect();
        self.note(|_| Step::Merge { variables: parts, pairs: named[..].into() });
        self.report.tied += 1;
        let merged = self.introduce(pairs.len());
        self.ties.push(Tie { parts, pairs: named });
        let own = [0, 1].map(|part| pairs.iter().map(|pair| pair[part]).collect::<Vec<usize>>());
        for (&v, own) in parts.iter().zip(&own) {
            self.depart(v, &[merged], own.iter().copied());
        }
        let _ = self.remove_function(slot);
        let functions: Vec<Function> = parts.iter().flat_map(|&v| self.remove_functions_of(v)).collect();
        self.add_unary(merged, &unary);
        let [one, other] = &own;
        for function in functions {
            self.add_through(&function, &[(first, one), (second, other)], merged);
        }
    }

    /// Adds a new variable without functions and returns it.
    fn introduce(&mut self, size: usize) -> u32 {
        let v = self.domains.len() as u32;
        self.domains.push(size as u32);
        self.values.push((0..size as u32).collect());
        self.unary.push(vec![0; size]);
        self.dearest.push(FORBIDDEN);
        self.present.push(true);
        self.incidence.push(Vec::new());
        v
    }

    /// Returns an assignment of the network followed by the values of merged variables; `u32::MAX` if one has no such
    /// value.
    pub(super) fn with_merged(&self, assignment: &[u32]) -> Vec<u32> {
        let mut all = assignment.to_vec();
        for tie in &self.ties {
            all.push(tie.value(&all).unwrap_or(u32::MAX));
        }
        all
    }
}

/// Returns the combinations of two variables' values whose total is below `limit`; `None` if they are more than `most`.
fn counting<T: Entry>(entries: &[T], unary: [&[Cost]; 2], limit: Cost, most: usize) -> Option<Vec<[usize; 2]>> {
    let mut pairs = Vec::new();
    for (a, (row, &paid)) in entries.chunks_exact(unary[1].len()).zip(unary[0]).enumerate() {
        for (b, (entry, &own)) in row.iter().zip(unary[1]).enumerate() {
            if table::sum(table::sum(entry.cost(), own), paid) < limit {
                if pairs.len() == most {
                    return None;
                }
                pairs.push([a, b]);
            }
        }
    }
    Some(pairs)
}
