//! A network as given by a file or a program, and the builder that checks it.

mod part;

use super::global::{Function, Global, Globals, Part, Parts};
use super::{
    Agents, COST_LIMIT, Cost, CostFunction, FORBIDDEN, Number, Reading, SparseTable, Table, Tables, Units, add,
};
use crate::error::{ModelError, Warning};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// A variable: its domain size and, where given, its name and the names of its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Number of values; at least 1.
    pub domain: u32,
    /// Name in the file, if it has one.
    pub name: Option<Box<str>>,
    /// Names of the values, if the file has them; as many as `domain`.
    pub values: Option<Box<[Box<str>]>>,
}

/// A weighted constraint network: minimise the sum of the functions, below `top`. Clones share their parts.
#[derive(Clone, Debug)]
pub struct Network {
    /// Its origin, for messages and summaries.
    pub name: String,
    variables: Arc<Vec<Variable>>,
    domains: Arc<Vec<u32>>,
    functions: Arc<Vec<CostFunction>>,
    /// The least costs of all functions together.
    least: Cost,
    top: Cost,
    units: Units,
    notation: Notation,
    function_names: Arc<FxHashMap<u32, Box<str>>>,
    reading: Option<Arc<Reading>>,
    agents: Option<Arc<Agents>>,
    globals: Option<Arc<Globals>>,
    warnings: Vec<Warning>,
}

/// How the solutions of a network are written in files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Notation {
    /// Value indices on one line.
    #[default]
    Indices,
    /// `MPE`, the number of values and their indices.
    Mpe,
    /// A JSON object: the name of each variable and that of its value.
    Names,
}

impl Network {
    /// Starts an empty network with integer costs and no `top`.
    pub fn builder(name: impl Into<String>) -> Builder {
        Builder {
            network: Network {
                name: name.into(),
                variables: Arc::default(),
                domains: Arc::default(),
                functions: Arc::default(),
                least: 0,
                top: FORBIDDEN,
                units: Units::INTEGER,
                notation: Notation::default(),
                function_names: Arc::default(),
                reading: None,
                agents: None,
                globals: None,
                warnings: Vec::new(),
            },
            tables: Tables::default(),
            leasts: Vec::new(),
            globals: Vec::new(),
        }
    }

    /// The variables in file order.
    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }

    /// Domain sizes in file order.
    pub fn domains(&self) -> &[u32] {
        &self.domains
    }

    /// The functions with tables in file order, constants and unary ones included.
    pub fn functions(&self) -> &[CostFunction] {
        &self.functions
    }

    /// The global cost functions in file order.
    pub fn globals(&self) -> impl ExactSizeIterator<Item = &Global> {
        self.located().iter().map(|(_, global)| global)
    }

    /// Global functions, each with the number of functions before it.
    fn located(&self) -> &[(u32, Global)] {
        self.globals.as_ref().map_or(&[], |globals| &globals.functions)
    }

    /// The number of functions of both kinds.
    pub fn function_count(&self) -> usize {
        self.functions.len() + self.located().len()
    }

    /// All functions in file order: the numbers of functions in messages count these.
    pub fn all_functions(&self) -> impl Iterator<Item = Function<'_>> {
        let mut globals = self.located().iter().peekable();
        let mut tables = self.functions.iter();
        (0..self.function_count() as u32).filter_map(move |number| match globals.next_if(|&&(at, _)| at == number) {
            Some((_, global)) => Some(Function::Global(global)),
            None => tables.next().map(Function::Table),
        })
    }

    /// The function of a number in file order.
    pub fn function(&self, number: usize) -> Option<Function<'_>> {
        let globals = self.located();
        match globals.binary_search_by_key(&number, |&(at, _)| at as usize) {
            Ok(place) => Some(Function::Global(&globals[place].1)),
            Err(before) => self.functions.get(number - before).map(Function::Table),
        }
    }

    /// The network that is searched in place of this one: tables and added variables behind this one's have the costs
    /// of the global functions. The network itself where there are none.
    pub fn expanded(&self) -> &Network {
        self.globals.as_ref().map_or(self, |globals| &globals.expanded)
    }

    /// An assignment of the expanded network from one of this network: added variables take their best values.
    pub fn extend(&self, assignment: &[u32]) -> Vec<u32> {
        match &self.globals {
            Some(globals) => globals.extend(assignment, self.domains.len()),
            None => assignment.to_vec(),
        }
    }

    /// An assignment is a solution only where its total is below this. [`FORBIDDEN`] where there is no limit.
    pub fn top(&self) -> Cost {
        self.top
    }

    /// The meaning of the integers.
    pub fn units(&self) -> &Units {
        &self.units
    }

    /// How its solutions are written.
    pub fn notation(&self) -> Notation {
        self.notation
    }

    /// What assignments are valued by: `cost`, or where larger is better `value` or `log value`.
    pub fn objective(&self) -> &'static str {
        match (self.units.maximise, &self.reading) {
            (false, _) => "cost",
            (true, None) => "value",
            (true, Some(_)) => "log value",
        }
    }

    /// The file's own numbers, where costs are rounded logarithms of them.
    pub fn reading(&self) -> Option<&Reading> {
        self.reading.as_deref()
    }

    /// The agents, where the file has some.
    pub fn agents(&self) -> Option<&Agents> {
        self.agents.as_deref()
    }

    /// The trivial bound: the least costs of all functions together, `top` at most.
    pub fn least(&self) -> Cost {
        self.expanded().least.min(self.top)
    }

    /// A lower bound on totals in the file's convention, less the rounding errors. None from `top` on: no total is left
    /// below it.
    pub fn bound(&self, lower: Cost) -> Option<Number> {
        (lower < self.top).then(|| self.units.bound(lower))
    }

    /// Doubtful places of its file, such as text left unread, for display: [`crate::formats::read`] fills it, this
    /// library does not print it.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Adds warnings about its file.
    pub(crate) fn warn(&mut self, warnings: impl IntoIterator<Item = Warning>) {
        self.warnings.extend(warnings);
    }

    /// Fixes variables to values: every other value of them becomes forbidden. Costs stay as they are.
    ///
    /// # Errors
    /// A variable or a value that does not exist; values that invalidate the reading's witness, because of which
    /// entries were forbidden.
    pub fn observe(&mut self, evidence: &[(u32, u32)]) -> Result<(), ModelError> {
        for &(variable, value) in evidence {
            let function = self.functions.len();
            let variables = self.variables.len();
            let Some(&domain) = self.domains.get(variable as usize) else {
                return Err(ModelError::UnknownVariable { function, variable, variables });
            };
            if value >= domain {
                return Err(ModelError::ValueOutside { function, variable, value, domain });
            }
            let witness = self.reading.as_ref().and_then(|reading| reading.witness.as_ref());
            if witness.is_some_and(|witness| witness[variable as usize] != value) {
                return Err(ModelError::BeyondReach { variable, value });
            }
            let table = if domain > u32::from(u16::MAX) {
                Table::Sparse(SparseTable::new(1, FORBIDDEN, vec![value], vec![0]).into())
            } else {
                Table::dense((0..domain).map(|v| if v == value { 0 } else { FORBIDDEN }).collect())
            };
            if let Some(globals) = &mut self.globals {
                let own = &mut Arc::make_mut(globals).expanded.functions;
                Arc::make_mut(own).push(CostFunction { scope: [variable].into(), table: table.clone() });
            }
            Arc::make_mut(&mut self.functions).push(CostFunction { scope: [variable].into(), table });
        }
        Ok(())
    }

    /// The name of a variable: the file's, or `x` and its index.
    pub fn variable_name(&self, variable: usize) -> String {
        match &self.variables[variable].name {
            Some(name) => name.to_string(),
            None => format!("x{variable}"),
        }
    }

    /// The name of a value of a variable: the file's, or its index, with a `v` before it where solutions are written by
    /// names.
    pub fn value_name(&self, variable: usize, value: u32) -> String {
        match self.variables[variable].values.as_ref().and_then(|names| names.get(value as usize)) {
            Some(name) => name.to_string(),
            None if self.notation == Notation::Names => format!("v{value}"),
            None => value.to_string(),
        }
    }

    /// The value of a variable with a name, or with an index where the values have no names.
    pub fn value_index(&self, variable: usize, name: &str) -> Option<u32> {
        match &self.variables[variable].values {
            Some(names) => names.iter().position(|own| &**own == name).map(|index| index as u32),
            None => {
                let index = name.strip_prefix('v').filter(|_| self.notation == Notation::Names).unwrap_or(name);
                index.parse().ok().filter(|&value| value < self.domains[variable])
            }
        }
    }

    /// The name of a function in the file, if it has one. Several may have the same.
    pub fn function_name(&self, function: usize) -> Option<&str> {
        self.function_names.get(&(function as u32)).map(|name| &**name)
    }
}

/// Builds a [`Network`], checking every part as it comes.
#[derive(Clone, Debug)]
pub struct Builder {
    network: Network,
    tables: Tables,
    /// The least cost of each function: many may share one large table.
    leasts: Vec<Cost>,
    /// Global functions with the number of functions before them, and their parts.
    globals: Vec<(u32, Global, Parts)>,
}

impl Builder {
    /// Sets the limit that a solution's total must stay below.
    pub fn top(&mut self, top: Cost) -> &mut Self {
        self.network.top = top.min(FORBIDDEN);
        self
    }

    /// Sets the meaning of the integers.
    pub fn units(&mut self, units: Units) -> &mut Self {
        self.network.units = units;
        self
    }

    /// Sets how solutions are written.
    pub fn notation(&mut self, notation: Notation) -> &mut Self {
        self.network.notation = notation;
        self
    }

    /// Names a function added before.
    pub fn name_function(&mut self, function: u32, name: impl Into<Box<str>>) -> &mut Self {
        let _ = Arc::make_mut(&mut self.network.function_names).insert(function, name.into());
        self
    }

    /// Sets the file's own numbers, of which the costs are rounded logarithms.
    pub fn reading(&mut self, reading: Reading) -> &mut Self {
        self.network.reading = Some(reading.into());
        self
    }

    /// Sets the agents; each variable must have an owner by the time that the network is finished.
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

    /// Adds a function with one cost for every combination of values, the last variable running fastest.
    /// A cost of [`FORBIDDEN`] forbids its combination.
    pub fn dense(&mut self, scope: &[u32], costs: Vec<Cost>) -> Result<u32, ModelError> {
        let function = self.check_scope(scope)?;
        let expected = scope.iter().fold(1u64, |n, &v| n.saturating_mul(u64::from(self.network.domains[v as usize])));
        if costs.len() as u64 != expected {
            return Err(ModelError::TableSize { function, found: costs.len(), expected });
        }
        check_costs(function, &costs)?;
        self.push(scope, Table::dense(costs))
    }

    /// Adds a function with a default cost and the tuples that differ (`scope.len()` values a tuple).
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
        for tuple in tuples.chunks_exact(scope.len().max(1)) {
            for (&variable, &value) in scope.iter().zip(tuple) {
                let domain = self.network.domains[variable as usize];
                if value >= domain {
                    return Err(ModelError::ValueOutside { function, variable, value, domain });
                }
            }
        }
        check_costs(function, &costs)?;
        check_costs(function, &[default])?;
        self.push(scope, Table::Sparse(SparseTable::new(scope.len(), default, tuples, costs).into()))
    }

    /// Adds a function with the table of an earlier one; the domains along both scopes must agree.
    pub fn shared(&mut self, scope: &[u32], original: u32) -> Result<u32, ModelError> {
        let function = self.check_scope(scope)?;
        let first = &self.network.functions[original as usize];
        let sizes = |scope: &[u32]| scope.iter().map(|&v| self.network.domains[v as usize]).collect::<Vec<_>>();
        if sizes(scope) != sizes(&first.scope) {
            let expected = first.combinations(&self.network.domains);
            let found = sizes(scope).iter().fold(1, |n: usize, &size| n.saturating_mul(size as usize));
            return Err(ModelError::TableSize { function, found, expected });
        }
        let table = first.table.clone();
        self.add(scope, table, Some(original))
    }

    /// The domain size of a variable added before.
    pub fn domain(&self, variable: u32) -> Option<u32> {
        self.network.domains.get(variable as usize).copied()
    }

    /// Adds a global function, with the tables that stand for it where the network is searched. Returns its number
    /// among all functions.
    ///
    /// # Errors
    /// A scope with a variable that does not exist, or twice.
    pub fn global(&mut self, global: Global, parts: Parts) -> Result<u32, ModelError> {
        let _ = self.check_scope(&global.scope)?;
        let number = self.function_count();
        self.globals.push((number, global, parts));
        Ok(number)
    }

    /// The number of functions added so far, global ones included.
    pub fn function_count(&self) -> u32 {
        (self.network.functions.len() + self.globals.len()) as u32
    }

    /// The finished network.
    pub fn build(mut self) -> Network {
        if self.globals.is_empty() {
            return self.network;
        }
        let globals = std::mem::take(&mut self.globals);
        let mut expanded = self.clone();
        // numbers count global functions too
        expanded.network.function_names = Arc::default();
        let (mut functions, mut chains, mut places) = (Vec::new(), Vec::new(), Vec::new());
        for (number, global, Parts { added, tables, .. }) in globals {
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
                let place = expanded.push(&scope, table).expect("parts of a checked scope");
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
        self.network.globals = Some(Globals { functions, expanded: expanded.network, chains, parts: places }.into());
        self.network
    }

    fn check_scope(&self, scope: &[u32]) -> Result<usize, ModelError> {
        let function = self.function_count() as usize;
        let variables = self.network.variables.len();
        if let Some(&variable) = scope.iter().find(|&&variable| variable as usize >= variables) {
            return Err(ModelError::UnknownVariable { function, variable, variables });
        }
        // comparing pairs is fastest for the usual two or three variables, and far too slow for a million
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

    fn push(&mut self, scope: &[u32], table: Table) -> Result<u32, ModelError> {
        let Network { domains, functions, .. } = &self.network;
        let size = |&v: &u32| domains[v as usize];
        let is_like = |known: u32| {
            let known = &functions[known as usize];
            known.table == table && known.scope.iter().map(size).eq(scope.iter().map(size))
        };
        let place = functions.len() as u32;
        let first = self.tables.first(&table, place, is_like);
        let known = (first < place).then_some(first);
        let table = known.map_or(table, |first| functions[first as usize].table.clone());
        self.add(scope, table, known)
    }

    /// Adds a function, perhaps with the table of an earlier one.
    fn add(&mut self, scope: &[u32], table: Table, original: Option<u32>) -> Result<u32, ModelError> {
        let function = CostFunction { scope: scope.into(), table };
        let least = || function.min(&self.network.domains);
        let least = original.map_or_else(least, |original| self.leasts[original as usize]);
        self.leasts.push(least);
        self.network.least = add(self.network.least, least);
        Arc::make_mut(&mut self.network.functions).push(function);
        Ok(self.network.functions.len() as u32 - 1)
    }
}

fn check_costs(function: usize, costs: &[Cost]) -> Result<(), ModelError> {
    match costs.iter().find(|&&cost| cost != FORBIDDEN && cost.abs() >= COST_LIMIT) {
        Some(&cost) => Err(ModelError::CostTooLarge { function, cost, limit: COST_LIMIT }),
        None => Ok(()),
    }
}
