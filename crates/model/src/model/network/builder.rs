//! The builder of networks, which checks its input.

use super::{Global, Globals, Network, Notation, Variable};
use crate::error::ModelError;
use crate::model::global::{Part, Parts};
use crate::model::sums::{CostSpan, Sums};
use crate::model::{
    Agents, COST_LIMIT, Cost, CostFunction, Costs, Entry, FORBIDDEN, Reading, SparseTable, Table, Tables, Units, add,
    on_entries,
};
use std::sync::Arc;

/// Builds a [`Network`] and checks each part when it is added.
#[derive(Clone, Debug)]
pub struct Builder {
    network: Network,
    tables: Tables,
    /// The span of each function, kept because many functions may share one large table.
    spans: Vec<CostSpan>,
    sums: Sums,
    /// Global functions, each with the number of functions before it and its decomposition.
    globals: Vec<(u32, Global, Parts)>,
}

impl Builder {
    pub(super) fn of(network: Network) -> Self {
        Builder { network, tables: Tables::default(), spans: Vec::new(), sums: Sums::default(), globals: Vec::new() }
    }

    /// Sets the strict upper limit of the cost of a solution. Sums that reach it may exceed the range of costs, so it
    /// must be set before functions with large costs are added.
    pub fn top(&mut self, top: Cost) -> &mut Self {
        self.network.top = top.min(FORBIDDEN);
        self
    }

    /// Sets the meaning of the integer costs.
    pub fn units(&mut self, units: Units) -> &mut Self {
        self.network.units = units;
        self
    }

    /// Sets how solutions are written.
    pub fn notation(&mut self, notation: Notation) -> &mut Self {
        self.network.notation = notation;
        self
    }

    /// Sets the name of a function that was already added.
    pub fn name_function(&mut self, function: u32, name: impl Into<Box<str>>) -> &mut Self {
        let _ = Arc::make_mut(&mut self.network.function_names).insert(function, name.into());
        self
    }

    /// Sets the file's own numbers, if the costs are rounded logarithms of them.
    pub fn reading(&mut self, reading: Reading) -> &mut Self {
        self.network.reading = Some(reading.into());
        self
    }

    /// Sets the agents; each variable must have an owner when the network is built.
    pub fn agents(&mut self, agents: Agents) -> &mut Self {
        self.network.agents = Some(agents.into());
        self
    }

    /// Adds a variable and returns its index.
    pub fn variable(&mut self, domain: u32) -> Result<u32, ModelError> {
        self.named_variable(Variable { domain, name: None, values: None })
    }

    /// Adds a variable with names and returns its index.
    pub fn named_variable(&mut self, variable: Variable) -> Result<u32, ModelError> {
        let index = self.network.variables.len();
        if variable.domain == 0 {
            return Err(ModelError::EmptyDomain { variable: index });
        }
        Arc::make_mut(&mut self.network.domains).push(variable.domain);
        Arc::make_mut(&mut self.network.variables).push(variable);
        Ok(index as u32)
    }

    /// Adds a function with one cost for each combination of values, the last variable varying fastest.
    /// A cost of [`FORBIDDEN`] forbids its combination.
    pub fn dense(&mut self, scope: &[u32], costs: Vec<Cost>) -> Result<u32, ModelError> {
        let function = self.check_scope(scope)?;
        let costs = Costs::from(costs);
        self.check_dense(function, scope, &costs)?;
        self.push(scope, Table::Dense(costs))
    }

    /// Adds a function with an existing table, which is not copied.
    pub fn table(&mut self, scope: &[u32], table: &Table) -> Result<u32, ModelError> {
        self.check_table(scope, table)?;
        self.push(scope, table.clone())
    }

    /// Adds a function with a table that differs from all earlier ones; the builder does not look for an equal one.
    pub fn distinct(&mut self, scope: &[u32], table: Table) -> Result<u32, ModelError> {
        self.check_table(scope, &table)?;
        self.add(scope, table, None)
    }

    /// Adds a function with a default cost and the tuples that differ from it (`scope.len()` values for each tuple).
    pub fn sparse(
        &mut self,
        scope: &[u32],
        default: Cost,
        tuples: Vec<u32>,
        costs: Vec<Cost>,
    ) -> Result<u32, ModelError> {
        let function = self.check_scope(scope)?;
        if tuples.len() != costs.len() * scope.len() {
            let expected = (costs.len() * scope.len()) as u64;
            return Err(ModelError::TableSize { function, found: tuples.len(), expected });
        }
        let table = SparseTable::new(scope.len(), default, tuples, costs);
        self.check_sparse(function, scope, &table)?;
        self.push(scope, Table::Sparse(table.into()))
    }

    /// Adds a function with the table of an earlier one; the domain sizes along both scopes must agree.
    pub fn shared(&mut self, scope: &[u32], original: u32) -> Result<u32, ModelError> {
        let function = self.check_scope(scope)?;
        let Network { domains, functions, .. } = &self.network;
        let first = &functions[original as usize];
        let size = |&v: &u32| domains[v as usize];
        if !scope.iter().map(size).eq(first.scope.iter().map(size)) {
            let expected = first.combinations(domains);
            let found = scope.iter().map(size).fold(1, |n: usize, size| n.saturating_mul(size as usize));
            return Err(ModelError::TableSize { function, found, expected });
        }
        let table = first.table.clone();
        self.add(scope, table, Some(original))
    }

    /// Returns the domain sizes of the variables added so far.
    pub fn domains(&self) -> &Arc<Vec<u32>> {
        &self.network.domains
    }

    /// Returns the functions with tables added so far.
    pub fn functions(&self) -> &[CostFunction] {
        &self.network.functions
    }

    /// Returns the domain size of a variable; `None` if it was not added.
    pub fn domain(&self, variable: u32) -> Option<u32> {
        self.network.domains.get(variable as usize).copied()
    }

    /// Adds a global function with its decomposition into tables, which replace it in the expanded network. Returns its
    /// number among all functions.
    ///
    /// # Errors
    /// Returns an error if the scope has an unknown or repeated variable, or if costs are too large.
    pub fn global(&mut self, global: Global, parts: Parts) -> Result<u32, ModelError> {
        let _ = self.check_scope(&global.scope)?;
        self.count(parts.tables.iter().map(|(_, table)| CostSpan::of(table.costs())))?;
        let number = self.function_count();
        self.globals.push((number, global, parts));
        Ok(number)
    }

    /// Returns the number of functions added so far, global ones included.
    pub fn function_count(&self) -> u32 {
        (self.network.functions.len() + self.globals.len()) as u32
    }

    /// Returns the sums of the costs of all functions added so far.
    pub fn sums(&self) -> Sums {
        self.sums
    }

    /// Returns the finished network.
    pub fn build(mut self) -> Network {
        if self.globals.is_empty() {
            return self.network;
        }
        let globals = std::mem::take(&mut self.globals);
        let mut expanded = self.clone();
        // names are by numbers that count global functions too, so they do not apply to the expanded network
        expanded.network.function_names = Arc::default();
        let (mut functions, mut chains, mut places) = (Vec::new(), Vec::new(), Vec::new());
        let mut is_relaxed = false;
        for (number, global, Parts { added, tables, relaxed, .. }) in globals {
            is_relaxed |= relaxed;
            let first = expanded.network.variables.len() as u32;
            for &domain in &added {
                Arc::make_mut(&mut expanded.network.domains).push(domain);
                Arc::make_mut(&mut expanded.network.variables).push(Variable { domain, name: None, values: None });
            }
            let mut chain = Vec::new();
            let start = expanded.network.functions.len();
            for (parts, table) in tables {
                let own = |part: &Part| match *part {
                    Part::Own(v) => v,
                    Part::Added(place) => first + place,
                };
                let scope: Vec<u32> = parts.iter().map(own).collect();
                let original = expanded.original(&scope, &table);
                let span = expanded.span(&scope, &table, original);
                let place = expanded.append(&scope, table, original, span);
                if parts.iter().any(|part| matches!(part, Part::Added(_))) {
                    chain.push(place);
                }
            }
            if !chain.is_empty() {
                chains.push(chain);
            }
            functions.push((number, global));
            places.push(start..expanded.network.functions.len());
        }
        let (expanded, relaxed) = (expanded.network, is_relaxed);
        self.network.globals = Some(Globals { functions, expanded, chains, parts: places, relaxed }.into());
        self.network
    }

    fn check_scope(&self, scope: &[u32]) -> Result<usize, ModelError> {
        let function = self.function_count() as usize;
        let variables = self.network.variables.len();
        if let Some(&variable) = scope.iter().find(|&&variable| variable as usize >= variables) {
            return Err(ModelError::UnknownVariable { function, variable, variables });
        }
        // comparing pairs is fastest for the usual two or three variables, but quadratic in large scopes
        let repeated = if scope.len() <= 32 {
            scope.iter().enumerate().find(|&(position, variable)| scope[..position].contains(variable)).map(|(_, v)| *v)
        } else {
            let mut sorted = scope.to_vec();
            sorted.sort_unstable();
            sorted.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
        };
        if let Some(variable) = repeated {
            return Err(ModelError::RepeatedVariable { function, variable });
        }
        Ok(function)
    }

    fn check_table(&self, scope: &[u32], table: &Table) -> Result<(), ModelError> {
        let function = self.check_scope(scope)?;
        match table {
            Table::Dense(costs) => self.check_dense(function, scope, costs),
            Table::Sparse(table) => self.check_sparse(function, scope, table),
        }
    }

    fn check_dense(&self, function: usize, scope: &[u32], costs: &Costs) -> Result<(), ModelError> {
        let expected = scope.iter().fold(1u64, |n, &v| n.saturating_mul(u64::from(self.network.domains[v as usize])));
        if costs.len() as u64 != expected {
            return Err(ModelError::TableSize { function, found: costs.len(), expected });
        }
        on_entries!(costs, entries => check_costs(function, entries))
    }

    fn check_sparse(&self, function: usize, scope: &[u32], table: &SparseTable) -> Result<(), ModelError> {
        if table.arity() != scope.len() {
            let expected = (table.len() * scope.len()) as u64;
            return Err(ModelError::TableSize { function, found: table.tuples().len(), expected });
        }
        for tuple in table.tuples().chunks_exact(scope.len().max(1)) {
            for (&variable, &value) in scope.iter().zip(tuple) {
                let domain = self.network.domains[variable as usize];
                if value >= domain {
                    return Err(ModelError::ValueOutside { function, variable, value, domain });
                }
            }
        }
        check_costs(function, table.costs())?;
        check_costs(function, &[table.default_cost()])
    }

    fn push(&mut self, scope: &[u32], table: Table) -> Result<u32, ModelError> {
        let original = self.original(scope, &table);
        self.add(scope, table, original)
    }

    /// Returns the first function with an equal table and equal domain sizes; `None` if this is the first.
    fn original(&mut self, scope: &[u32], table: &Table) -> Option<u32> {
        let Network { domains, functions, .. } = &self.network;
        let size = |&v: &u32| domains[v as usize];
        let is_like = |known: u32| {
            let known = &functions[known as usize];
            known.table == *table && known.scope.iter().map(size).eq(scope.iter().map(size))
        };
        let place = functions.len() as u32;
        let first = self.tables.first(table, place, is_like);
        (first < place).then_some(first)
    }

    /// Adds a function, with the table of `original` if that is given.
    fn add(&mut self, scope: &[u32], table: Table, original: Option<u32>) -> Result<u32, ModelError> {
        let span = self.span(scope, &table, original);
        self.count([span])?;
        Ok(self.append(scope, table, original, span))
    }

    fn span(&self, scope: &[u32], table: &Table, original: Option<u32>) -> CostSpan {
        original.map_or_else(|| table.span(scope, &self.network.domains), |original| self.spans[original as usize])
    }

    fn append(&mut self, scope: &[u32], table: Table, original: Option<u32>, span: CostSpan) -> u32 {
        let Network { functions, forbids, least, largest_arity, .. } = &mut self.network;
        *forbids |= scope.len() <= 2 && original.is_none() && table.costs().any(|cost| cost >= FORBIDDEN);
        *least = add(*least, span.least);
        *largest_arity = (*largest_arity).max(scope.len());
        let functions = Arc::make_mut(functions);
        let table = original.map_or(table, |original| functions[original as usize].table.clone());
        functions.push(CostFunction { scope: scope.into(), table });
        self.spans.push(span);
        functions.len() as u32 - 1
    }

    /// Adds the costs of a function to the sums, or returns an error if the sums would be too large.
    fn count(&mut self, spans: impl IntoIterator<Item = CostSpan>) -> Result<(), ModelError> {
        let mut sums = self.sums;
        spans.into_iter().for_each(|span| sums.add(span));
        if !sums.fit(self.network.top) {
            return Err(ModelError::SumTooLarge { function: self.function_count() as usize, limit: FORBIDDEN });
        }
        self.sums = sums;
        Ok(())
    }
}

fn check_costs<T: Entry>(function: usize, entries: &[T]) -> Result<(), ModelError> {
    let mut costs = entries.iter().map(|entry| entry.cost());
    match costs.find(|&cost| cost != FORBIDDEN && cost.unsigned_abs() >= COST_LIMIT as u64) {
        Some(cost) => Err(ModelError::CostTooLarge { function, cost, limit: COST_LIMIT }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unary(builder: &mut Builder, costs: [Cost; 2]) -> Result<u32, ModelError> {
        builder.dense(&[0], costs.to_vec())
    }

    fn builder(top: Cost) -> Builder {
        let mut builder = Network::builder("sums");
        let _ = builder.top(top).variable(2).expect("a variable");
        builder
    }

    /// Three functions of almost 2^58 fit, and so do functions whose least cost is that far below 0.
    #[test]
    fn sums_stay_below_what_is_forbidden() {
        const MOST: Cost = COST_LIMIT - 1;
        for (top, last, fits) in [
            (FORBIDDEN, [0, 3], true),
            (FORBIDDEN, [0, 4], false),
            (FORBIDDEN, [0, -4], false),
            // the function is constant, so nothing is left after its least cost is subtracted
            (FORBIDDEN, [-4, -4], true),
            (FORBIDDEN, [FORBIDDEN, FORBIDDEN], true),
            // sums that saturate have already reached a small top
            (COST_LIMIT, [0, -4], true),
            (COST_LIMIT, [MOST, MOST], true),
        ] {
            let mut builder = builder(top);
            for costs in [[0, MOST], [0, MOST], [1, MOST], [0, -MOST]] {
                assert!(unary(&mut builder, costs).is_ok(), "{costs:?}");
            }
            let count = builder.function_count();
            assert_eq!(unary(&mut builder, last).is_ok(), fits, "{top} {last:?}");
            assert_eq!(builder.function_count(), count + u32::from(fits));
        }
    }

    #[test]
    fn shared_tables_count_each_time() {
        let mut builder = builder(FORBIDDEN);
        let first = unary(&mut builder, [0, COST_LIMIT - 1]).expect("one");
        for number in 1..5 {
            let fits = builder.shared(&[0], first).is_ok();
            assert_eq!(fits, number < 4, "{number}");
        }
    }
}
