//! Exact elimination of variables whose new table stays small (bucket elimination, Dechter 1999; for variables of
//! bounded degree Larrosa and Dechter, "Boosting search with variable elimination", 2003).

use super::table;
use super::table::sum;
use super::tuning::COMPONENT_VARIABLES;
use super::{Function, Reducer, components};
use crate::certificate::Step;
use crate::model::{Cost, FORBIDDEN, Odometer, Table};
use crate::stop::Stop;
use crate::tensor::strides;
use crate::threads;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

impl Reducer {
    /// Eliminates variables, the smallest new table first. Returns whether any was eliminated.
    pub(super) fn eliminate_cheap(&mut self, stop: &Stop) -> bool {
        let mut heap = BinaryHeap::with_capacity(2 * self.pending.eliminations.len());
        let mut changed = false;
        loop {
            while !self.done(stop)
                && let Some(v) = self.pending.eliminations.pop()
            {
                heap.extend(self.price(v).map(|price| Reverse((price, v))));
            }
            let Some(Reverse((price, v))) = heap.pop() else { break };
            if self.done(stop) {
                self.pending.eliminations.push(v);
                heap.into_iter().for_each(|Reverse((_, v))| self.pending.eliminations.push(v));
                break;
            }
            // a variable whose new table changed its size has been queued again
            if self.price(v) == Some(price) {
                self.eliminate(v);
                changed = true;
            }
        }
        changed
    }

    /// Eliminates the variables that no function reads: they need no search, and would change how the other variables
    /// are searched.
    pub(super) fn eliminate_unread(&mut self, stop: &Stop) {
        for v in 0..self.domains.len() as u32 {
            if self.done(stop) {
                return;
            }
            if self.present[v as usize] && self.functions_of(v).next().is_none() {
                self.eliminate(v);
            }
        }
    }

    /// Returns the number of entries of the table that replaces a variable; `None` if its elimination does not pay.
    pub(super) fn price(&self, v: u32) -> Option<usize> {
        if !self.present[v as usize] {
            return None;
        }
        if self.domains[v as usize] == 1 {
            return Some(0);
        }
        let mut neighbours: Vec<u32> = Vec::with_capacity(self.limits.neighbours);
        let mut replaced = 0usize;
        for (function, _) in self.functions_of(v) {
            let Table::Dense(costs) = &function.table else { return None };
            replaced += costs.len();
            for &u in function.scope.iter() {
                if u != v && !neighbours.contains(&u) {
                    if neighbours.len() == self.limits.neighbours {
                        return None;
                    }
                    neighbours.push(u);
                }
            }
        }
        let entries = table::combinations(&self.sizes(&neighbours)) as usize;
        let few = match neighbours.len() {
            0 | 1 => usize::MAX,
            2 => self.limits.pair.max(replaced),
            _ => self.limits.several.max(replaced),
        };
        (entries <= few && entries.saturating_mul(self.domains[v as usize] as usize) <= self.limits.joint)
            .then_some(entries)
    }

    /// Removes a variable and replaces its functions by the least costs over its values.
    fn eliminate(&mut self, v: u32) {
        self.report.eliminated += 1;
        if self.domains[v as usize] == 1 {
            return self.assign(v);
        }
        let functions = self.remove_functions_of(v);
        let mut scope: Vec<u32> = functions.iter().flat_map(|f| f.scope.iter().copied()).filter(|&u| u != v).collect();
        scope.sort_unstable();
        scope.dedup();
        self.note(|_| Step::Eliminate { variable: v, over: scope[..].into() });
        let sizes = self.sizes(&scope);
        let tables: Vec<Rows> = functions.iter().filter_map(|function| self.rows(function, v, &scope)).collect();
        let (costs, choice) = minimise(&self.unary[v as usize], &tables, &sizes, self.limit());
        self.depart(v, &scope, choice.into_iter());
        self.add_function(&scope, Table::dense(costs));
    }

    fn assign(&mut self, v: u32) {
        self.note(|_| Step::Eliminate { variable: v, over: [].into() });
        let functions = self.remove_functions_of(v);
        self.depart(v, &[], std::iter::once(0));
        self.raise(self.unary[v as usize][0]);
        for Function { scope, table, .. } in functions {
            let others: Vec<usize> = (0..scope.len()).filter(|&k| scope[k] != v).collect();
            let table = table::reorder(&table, &self.sizes(&scope), &others);
            self.add_function(&others.iter().map(|&k| scope[k]).collect::<Vec<u32>>(), table);
        }
    }

    /// Returns a function with `v` as its last variable, and its strides along `scope`.
    fn rows(&self, function: &Function, v: u32, scope: &[u32]) -> Option<Rows> {
        let Table::Dense(costs) = &function.table else { return None };
        let mut order: Vec<u32> = function.scope.iter().copied().filter(|&u| u != v).collect();
        order.push(v);
        let place = |u: &u32| function.scope.binary_search(u).expect("a reordered scope");
        let axes = table::axes(&self.sizes(&function.scope));
        let axes: Vec<Vec<usize>> = order.iter().map(|u| axes[place(u)].clone()).collect();
        let own = strides(&self.sizes(&order));
        let stride = |u: &u32| order.binary_search_by(|w| (*w == v, *w).cmp(&(false, *u))).map_or(0, |k| own[k]);
        Some(Rows { costs: table::gather(costs, &axes), strides: scope.iter().map(stride).collect() })
    }

    /// Eliminates components that are small enough to solve outright. Returns whether any was eliminated.
    pub(super) fn eliminate_components(&mut self, stop: &Stop) -> bool {
        let scopes = self.functions.iter().flatten().map(|function| &function.scope[..]);
        let mut changed = false;
        let Ok(groups) = components::groups(self.domains.len(), scopes, stop) else { return false };
        for component in &groups {
            if self.done(stop) {
                break;
            }
            if component.iter().any(|&v| !self.present[v as usize]) {
                continue;
            }
            if let Some(order) = self.least_degree_order(component) {
                order.into_iter().for_each(|v| self.eliminate(v));
                changed = true;
            }
        }
        let parts = groups.len();
        threads::free(groups, parts);
        changed
    }

    /// Returns an elimination order of a component, least new table first, if it stays within the limits.
    fn least_degree_order(&self, component: &[u32]) -> Option<Vec<u32>> {
        if component.len() > COMPONENT_VARIABLES {
            return None;
        }
        let local = |v: &u32| component.binary_search(v).expect("functions stay within a component");
        let mut neighbours: Vec<Vec<usize>> = vec![Vec::new(); component.len()];
        for (i, &v) in component.iter().enumerate() {
            for (function, _) in self.functions_of(v) {
                if let Table::Sparse(_) = function.table {
                    return None;
                }
                neighbours[i].extend(function.scope.iter().filter(|&&u| u != v).map(local));
            }
            neighbours[i].sort_unstable();
            neighbours[i].dedup();
        }
        let size = |i: usize| self.domains[component[i] as usize] as usize;
        let mut left: Vec<usize> = (0..component.len()).collect();
        let mut order = Vec::with_capacity(component.len());
        let mut budget = self.limits.component;
        while !left.is_empty() {
            let joint = |i: usize| neighbours[i].iter().fold(size(i), |joint, &j| joint.saturating_mul(size(j)));
            let (place, least) = left.iter().map(|&i| joint(i)).enumerate().min_by_key(|&(_, joint)| joint)?;
            budget = budget.checked_sub(least)?;
            let i = left.swap_remove(place);
            let around = std::mem::take(&mut neighbours[i]);
            for &j in &around {
                let merged = &mut neighbours[j];
                merged.extend(around.iter().copied());
                merged.retain(|&k| k != i && k != j);
                merged.sort_unstable();
                merged.dedup();
            }
            order.push(component[i]);
        }
        Some(order)
    }
}

/// A table whose last variable is to be eliminated.
struct Rows {
    costs: Vec<Cost>,
    strides: Vec<usize>,
}

/// Returns for each combination of the other variables the least sum over the last variable's values, and the first
/// value that has it.
fn minimise(unary: &[Cost], tables: &[Rows], sizes: &[usize], limit: Cost) -> (Vec<Cost>, Vec<usize>) {
    let entries = sizes.iter().product();
    let (mut costs, mut choice) = (Vec::with_capacity(entries), Vec::with_capacity(entries));
    let mut odometer = Odometer::new(sizes.to_vec());
    let mut total = vec![0; unary.len()];
    loop {
        total.copy_from_slice(unary);
        for table in tables {
            let start: usize = odometer.digits.iter().zip(&table.strides).map(|(digit, stride)| digit * stride).sum();
            for (total, &cost) in total.iter_mut().zip(&table.costs[start..]) {
                *total = sum(*total, cost);
            }
        }
        let least = total.iter().fold(FORBIDDEN, |least, &cost| least.min(cost));
        costs.push(if least >= limit { FORBIDDEN } else { least });
        choice.push(total.iter().position(|&cost| cost == least).unwrap_or(0));
        if odometer.advance().is_none() {
            return (costs, choice);
        }
    }
}
