//! The network as the replay of a certificate changes it.

use super::tables::{self, combinations, sum};
use super::tuning::MOST_ENTRIES;
use crate::model::{Cost, FORBIDDEN, Network, Table};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// A limit that no cost reaches: costs are below 2^64, and multiplied by less than 2^33.
const UNLIMITED: i128 = 1 << 100;
/// Largest exponent of the power of two that costs are multiplied by.
const MOST_BITS: u32 = 32;

/// A function and its variables, ascending.
#[derive(Clone, Debug)]
pub(super) struct Function {
    pub(super) scope: Box<[u32]>,
    pub(super) table: Table,
}

/// The network during a replay, with the variables and values of the file.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    /// Remaining values of each variable, ascending; empty once the variable has been removed.
    pub(super) values: Vec<Arc<[u32]>>,
    /// Unary costs of the remaining values.
    pub(super) unary: Vec<Vec<Cost>>,
    functions: Vec<Option<Function>>,
    by_scope: FxHashMap<Box<[u32]>, u32>,
    incidence: Vec<Vec<u32>>,
    constant: i128,
    /// Scaled limit: assignments that cost this much do not count.
    top: i128,
    /// Exponent of the power of two that costs are multiplied by.
    bits: u32,
    /// Least limit so far, unscaled: no higher bound is proved.
    pub(super) limit: Cost,
    /// An upper bound on the sum of all finite costs.
    pub(super) ceiling: i128,
    /// Whether no assignment below the limit is left.
    pub(super) closed: bool,
    /// Variables and values that, by lemmas, are in no assignment below the limit.
    pub(super) known: FxHashSet<(u32, u32)>,
    /// Number of entries of the tables of merged variables.
    merged: u64,
    /// Functions changed since minima were moved to the constant.
    changed_functions: Vec<u32>,
    /// Variables whose unary costs changed since minima were moved to the constant.
    changed_variables: Vec<u32>,
}

impl State {
    pub(super) fn new(network: &Network) -> Result<State, String> {
        let domains = network.domains();
        let mut state = State {
            values: domains.iter().map(|&domain| (0..domain).collect()).collect(),
            unary: domains.iter().map(|&domain| vec![0; domain as usize]).collect(),
            incidence: vec![Vec::new(); domains.len()],
            top: UNLIMITED,
            limit: FORBIDDEN,
            ..State::default()
        };
        for function in network.functions() {
            let mut order: Vec<usize> = (0..function.scope.len()).collect();
            order.sort_by_key(|&k| function.scope[k]);
            let sizes = state.sizes(&function.scope);
            let table = tables::tidy(function.table.clone(), &sizes);
            let table = if order.is_sorted() { table } else { tables::rearrange(&table, &sizes, &order) };
            state.add(order.iter().map(|&k| function.scope[k]).collect(), table)?;
            // one at a time: entries may be negative, and sums must stay far from the cost of forbidden tuples
            state.settle();
        }
        state.set_limit(network.top())?;
        Ok(state)
    }

    pub(super) fn sizes(&self, scope: &[u32]) -> Vec<usize> {
        scope.iter().map(|&v| self.values[v as usize].len()).collect()
    }

    /// Returns the least cost with which a single entry reaches the limit, if all other costs are at least 0.
    pub(super) fn dear(&self) -> Cost {
        (self.top - self.constant).clamp(0, FORBIDDEN.into()) as Cost
    }

    /// Returns the bound if no remaining assignment costs less than `least`, scaled and without the constant.
    pub(super) fn proven(&self, least: i128) -> Cost {
        let total = self.constant + least;
        if self.closed || total >= self.top {
            return self.limit;
        }
        // rounded up, because costs of the file are integers
        let unscaled = -(-total >> self.bits);
        unscaled.min(self.limit.into()) as Cost
    }

    /// Sets a limit (unscaled): from now on only assignments below it count.
    pub(super) fn set_limit(&mut self, limit: Cost) -> Result<(), String> {
        self.limit = self.limit.min(limit);
        if limit < FORBIDDEN {
            self.top = self.top.min(i128::from(limit) << self.bits);
        }
        self.settle();
        self.check_room()
    }

    /// Returns an error if finite sums may come near the cost of forbidden tuples, unless such sums do not count.
    pub(super) fn check_room(&mut self) -> Result<(), String> {
        if self.ceiling >= FORBIDDEN.into() {
            self.settle();
            self.ceiling = self.finite_costs();
        }
        if self.ceiling >= FORBIDDEN.into() && self.top - self.constant > FORBIDDEN.into() && !self.closed {
            return Err("costs add up to more than 2^60, and no limit forbids that".into());
        }
        Ok(())
    }

    /// Lowers the limit to the sum of all finite entries: assignments above it are forbidden anyway.
    pub(super) fn limit_to_finite_costs(&mut self) {
        self.settle();
        self.top = self.top.min(self.constant + self.finite_costs() + 1);
    }

    /// Returns the sum of the largest finite costs of all tables.
    fn finite_costs(&self) -> i128 {
        let unary = self.unary.iter().map(|costs| tables::peak(costs.iter().copied()));
        let functions = self.functions().map(|function| tables::peak(function.table.costs()));
        unary.chain(functions).map(i128::from).sum()
    }

    /// Forbids the entries that reach the limit.
    pub(super) fn forbid(&mut self) {
        let dear = self.dear();
        let forbid = |cost: Cost| if cost >= dear { FORBIDDEN } else { cost };
        self.unary.iter_mut().flatten().for_each(|cost| *cost = forbid(*cost));
        for function in self.functions.iter_mut().flatten() {
            // most tables have no such entry and stay shared
            if function.table.costs().any(|cost| cost >= dear && cost < FORBIDDEN) {
                function.table = function.table.map(forbid);
            }
        }
    }

    /// Multiplies every cost by a power of two.
    pub(super) fn scale(&mut self, bits: u32) -> Result<(), String> {
        if self.bits.saturating_add(bits) > MOST_BITS {
            return Err(format!("costs are multiplied by more than 2^{MOST_BITS}"));
        }
        self.limit_to_finite_costs();
        self.forbid();
        let too_large = |cost: Cost| cost < FORBIDDEN && cost > (FORBIDDEN - 1) >> bits;
        if self.unary.iter().flatten().any(|&cost| too_large(cost))
            || self.functions().any(|function| function.table.costs().any(too_large))
        {
            return Err(format!("costs multiplied by 2^{bits} come near what is forbidden"));
        }
        let scaled = |cost: Cost| if cost >= FORBIDDEN { FORBIDDEN } else { cost << bits };
        self.unary.iter_mut().flatten().for_each(|cost| *cost = scaled(*cost));
        self.functions.iter_mut().flatten().for_each(|function| function.table = function.table.map(scaled));
        self.bits += bits;
        self.constant <<= bits;
        self.ceiling <<= bits;
        if self.top < UNLIMITED {
            // costs of the file are integers: one above the last cost below the limit reaches the limit
            self.top = ((self.top - 1) << bits) + 1;
        }
        self.check_room()
    }

    pub(super) fn function(&self, scope: &[u32]) -> Option<&Function> {
        self.functions[*self.by_scope.get(scope)? as usize].as_ref()
    }

    /// Returns the function over a scope for changes; a new zero function if there is none.
    pub(super) fn function_mut(&mut self, scope: &[u32]) -> Result<&mut Function, String> {
        if !self.by_scope.contains_key(scope) {
            self.install(scope.into(), tables::zero(scope.len()));
        }
        let slot = self.by_scope[scope];
        self.changed_functions.push(slot);
        self.functions[slot as usize].as_mut().ok_or_else(|| "a function is missing".into())
    }

    /// Returns a variable's unary costs for changes.
    pub(super) fn unary_mut(&mut self, v: u32) -> &mut [Cost] {
        self.changed_variables.push(v);
        &mut self.unary[v as usize]
    }

    pub(super) fn functions(&self) -> impl Iterator<Item = &Function> {
        self.functions.iter().flatten()
    }

    pub(super) fn functions_of(&self, v: u32) -> impl Iterator<Item = &Function> {
        self.incidence[v as usize].iter().filter_map(|&slot| self.functions[slot as usize].as_ref())
    }

    /// Removes and returns the functions of a variable.
    pub(super) fn take_functions_of(&mut self, v: u32) -> Vec<Function> {
        let slots = self.incidence[v as usize].clone();
        slots.into_iter().filter_map(|slot| self.take(slot)).collect()
    }

    pub(super) fn take_function(&mut self, scope: &[u32]) -> Option<Function> {
        let slot = *self.by_scope.get(scope)?;
        self.take(slot)
    }

    fn take(&mut self, slot: u32) -> Option<Function> {
        let function = self.functions[slot as usize].take()?;
        let _ = self.by_scope.remove(&function.scope);
        for &v in &function.scope {
            let slots = &mut self.incidence[v as usize];
            if let Ok(place) = slots.binary_search(&slot) {
                let _ = slots.remove(place);
            }
        }
        Some(function)
    }

    fn install(&mut self, scope: Box<[u32]>, table: Table) {
        let slot = self.functions.len() as u32;
        scope.iter().for_each(|&v| self.incidence[v as usize].push(slot));
        let _ = self.by_scope.insert(scope.clone(), slot);
        self.functions.push(Some(Function { scope, table }));
        self.changed_functions.push(slot);
    }

    pub(super) fn pay(&mut self, cost: Cost) {
        if cost >= FORBIDDEN {
            self.closed = true;
        } else {
            self.constant += i128::from(cost);
        }
    }

    /// Adds to the unary costs of a variable.
    pub(super) fn pay_for_values(&mut self, v: u32, costs: &[Cost]) {
        for (own, &cost) in self.unary_mut(v).iter_mut().zip(costs) {
            *own = sum(*own, cost);
        }
        self.ceiling += i128::from(spread(costs.iter().copied()));
    }

    /// Adds a function over an ascending scope of any length.
    pub(super) fn add(&mut self, scope: Box<[u32]>, table: Table) -> Result<(), String> {
        let sizes = self.sizes(&scope);
        let table = tables::tidy(table, &sizes);
        match &scope[..] {
            [] => self.pay(tables::dense(&table, &sizes)?.get(0)),
            &[v] => self.pay_for_values(v, &tables::dense(&table, &sizes)?.wide()),
            _ => {
                // a table of the file may have negative entries; once its minimum is moved, only its spread remains
                let least = least(&table, &sizes);
                if least >= FORBIDDEN {
                    self.closed = true;
                    return Ok(());
                }
                let table = if least == 0 { table } else { table.map(|cost| tables::less(cost, least)) };
                self.pay(least);
                self.ceiling += i128::from(tables::peak(table.costs()));
                match self.by_scope.get(&scope).copied() {
                    None => self.install(scope, table),
                    Some(slot) => {
                        let function = self.function_mut(&scope)?;
                        function.table = tables::tidy(tables::add(&function.table, &table, &sizes)?, &sizes);
                        self.changed_functions.push(slot);
                    }
                }
            }
        }
        Ok(())
    }

    /// Keeps only some values of a variable, given by their positions, ascending.
    pub(super) fn keep_values(&mut self, v: u32, kept: &[usize]) -> Result<(), String> {
        if kept.is_empty() {
            self.closed = true;
            return Ok(());
        }
        for slot in self.incidence[v as usize].clone() {
            let Some(function) = &self.functions[slot as usize] else { continue };
            let mut sizes = self.sizes(&function.scope);
            let place = place(&function.scope, v)?;
            let table = tables::keep(&function.table, &sizes, place, kept);
            sizes[place] = kept.len();
            if let Some(function) = &mut self.functions[slot as usize] {
                function.table = tables::tidy(table, &sizes);
            }
            self.changed_functions.push(slot);
        }
        let variable = v as usize;
        self.values[variable] = kept.iter().map(|&value| self.values[variable][value]).collect();
        self.unary[variable] = kept.iter().map(|&value| self.unary[variable][value]).collect();
        self.changed_variables.push(v);
        Ok(())
    }

    /// Adds a new variable without functions and returns it.
    pub(super) fn introduce(&mut self, size: usize) -> u32 {
        self.values.push((0..size as u32).collect());
        self.unary.push(vec![0; size]);
        self.incidence.push(Vec::new());
        self.values.len() as u32 - 1
    }

    /// Counts the entries of tables of merged variables, which the effort cannot state beforehand.
    pub(super) fn grow(&mut self, entries: u64) -> Result<(), String> {
        self.merged = self.merged.saturating_add(entries);
        if self.merged > MOST_ENTRIES {
            return Err(format!("tables of merged variables have more than {MOST_ENTRIES} entries"));
        }
        Ok(())
    }

    /// Removes a variable without functions.
    pub(super) fn leave(&mut self, v: u32) {
        self.values[v as usize] = [].into();
        self.unary[v as usize] = Vec::new();
    }

    /// Moves the least cost of every changed table to the constant.
    pub(super) fn settle(&mut self) {
        for v in std::mem::take(&mut self.changed_variables) {
            let unary = &mut self.unary[v as usize];
            // a removed variable has no values
            let Some(least) = unary.iter().copied().min().filter(|&least| least != 0) else { continue };
            unary.iter_mut().for_each(|cost| *cost = tables::less(*cost, least));
            self.pay(least);
        }
        for slot in std::mem::take(&mut self.changed_functions) {
            let Some(Function { scope, table }) = &self.functions[slot as usize] else { continue };
            let least = least(table, &self.sizes(scope));
            if let Some(Function { table, .. }) = &mut self.functions[slot as usize] {
                if least != 0 && least < FORBIDDEN {
                    *table = table.map(|cost| tables::less(cost, least));
                }
                if table.costs().all(|cost| cost == 0) {
                    let _ = self.take(slot);
                }
            }
            self.pay(least);
        }
        self.closed |= self.constant >= self.top;
    }
}

/// Returns the difference between the largest and the least finite cost.
pub(super) fn spread(costs: impl Iterator<Item = Cost> + Clone) -> Cost {
    let allowed = costs.filter(|&cost| cost < FORBIDDEN);
    allowed.clone().max().unwrap_or(0) - allowed.min().unwrap_or(0)
}

/// Returns the least cost of any combination.
pub(super) fn least(table: &Table, sizes: &[usize]) -> Cost {
    match table {
        Table::Dense(costs) => costs.min().unwrap_or(FORBIDDEN),
        Table::Sparse(sparse) => {
            let listed = sparse.costs().iter().copied().min().unwrap_or(FORBIDDEN);
            let all = sparse.len() as u64 >= combinations(sizes);
            if all { listed } else { listed.min(sparse.default_cost()) }
        }
    }
}

pub(super) fn place(scope: &[u32], v: u32) -> Result<usize, String> {
    scope.binary_search(&v).map_err(|_| format!("variable {v} is not in the scope {scope:?}"))
}
