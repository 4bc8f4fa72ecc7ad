//! Weighted constraint networks as files or programs state them, including global cost functions, and the builder that
//! checks them.

mod builder;
mod part;
mod restrict;
mod share;

pub use builder::Builder;
pub use share::Share;

use super::global::{Arithmetic, Automaton, Counting, Grammar, Linear, Price, Same, Target};
use super::{Agents, Cost, CostFunction, FORBIDDEN, Number, Reading, SparseTable, Table, Units, add};
use crate::error::{ModelError, Warning};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// A variable: its domain size and, if given, its name and the names of its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Number of values; at least 1.
    pub domain: u32,
    /// The variable's name in the file, if it has one.
    pub name: Option<Box<str>>,
    /// Names of all values, if the file has them.
    pub values: Option<Box<[Box<str>]>>,
}

/// A weighted constraint network: minimise the sum of the functions, below `top`. Clones share their contents.
#[derive(Clone, Debug)]
pub struct Network {
    /// The network's origin, for messages and summaries.
    pub name: String,
    variables: Arc<Vec<Variable>>,
    domains: Arc<Vec<u32>>,
    functions: Arc<Vec<CostFunction>>,
    /// The largest number of variables of a function with a table.
    largest_arity: usize,
    /// Whether a function of at most two variables has a forbidden entry.
    forbids: bool,
    /// The sum of the least costs of all functions.
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
    /// Form of solutions: value indices on one line.
    #[default]
    Indices,
    /// Form of solutions: `MPE`, the number of values and their indices.
    Mpe,
    /// Form of solutions: a JSON object with the name of each variable and of its value.
    Names,
}

/// A global cost function of a network.
#[derive(Clone, Debug)]
pub struct Global {
    /// The variables that the function reads, all different.
    pub scope: Box<[u32]>,
    /// The function's keyword in the file.
    pub keyword: Box<str>,
    /// The formula of the function.
    pub kind: GlobalKind,
    /// The cost from which on an assignment is forbidden: `top` in `.wcsp`, [`FORBIDDEN`] elsewhere.
    pub limit: Cost,
}

/// The formula of a global cost function of the values x0 to x(n-1) of its scope.
#[derive(Clone, Debug)]
pub enum GlobalKind {
    /// A price for the deviation of a weighted sum from a target.
    Linear(Linear),
    /// A price for each pair of equal values.
    EqualPairs {
        /// The price of a pair.
        price: Cost,
    },
    /// Prices for the numbers of variables that take certain values, if they are outside of their bounds.
    Counting(Counting),
    /// Prices for the differences between two groups of variables in how often they take each value.
    Same(Same),
    /// A price for the deviation of a count from a target. It counts the positions in the first half of the scope whose
    /// value is not 0 and equals that of their counterpart in the second half.
    Overlap {
        /// The target of the count.
        target: Target,
        /// The price of deviating from the target.
        price: Price,
    },
    /// The least cost of a path of a finite automaton whose labels are the values.
    Regular(Automaton),
    /// The least cost of deriving the values with a grammar.
    Grammar(Grammar),
    /// The largest of the costs that the values have.
    Max {
        /// The cost of each value of each variable.
        costs: Vec<Vec<Cost>>,
    },
    /// 0 if the values are the parents of the nodes of one tree whose root is its own parent; forbidden otherwise.
    Tree,
    /// A function of the values of two variables.
    Arithmetic(Arithmetic),
    /// 0 if the cost of a nested network is within bounds, forbidden otherwise.
    Nested {
        /// The nested network, whose variables are those of the scope.
        network: Arc<Network>,
        /// The least feasible cost.
        low: Cost,
        /// The strict upper limit of feasible costs.
        high: Cost,
    },
}

/// A function of a network, in the order of its file.
#[derive(Clone, Copy, Debug)]
pub enum Function<'a> {
    /// A function with a table.
    Table(&'a CostFunction),
    /// A global function.
    Global(&'a Global),
}

impl<'a> Function<'a> {
    /// Returns the variables that the function reads.
    pub fn scope(self) -> &'a [u32] {
        match self {
            Function::Table(function) => &function.scope,
            Function::Global(global) => &global.scope,
        }
    }
}

impl Network {
    /// Starts an empty network with integer costs and without a `top`.
    pub fn builder(name: impl Into<String>) -> Builder {
        Builder::of(Network {
            name: name.into(),
            variables: Arc::default(),
            domains: Arc::default(),
            functions: Arc::default(),
            largest_arity: 0,
            forbids: false,
            least: 0,
            top: FORBIDDEN,
            units: Units::INTEGER,
            notation: Notation::default(),
            function_names: Arc::default(),
            reading: None,
            agents: None,
            globals: None,
            warnings: Vec::new(),
        })
    }

    /// Returns the largest number of variables of a function with a table.
    pub fn largest_arity(&self) -> usize {
        self.largest_arity
    }

    /// Returns whether a function of at most two variables has, or had, a forbidden entry.
    pub fn forbids(&self) -> bool {
        self.forbids
    }

    /// Returns the variables in file order.
    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }

    /// Returns the domain sizes in file order.
    pub fn domains(&self) -> &[u32] {
        &self.domains
    }

    /// Returns the functions with tables in file order, constants and unary ones included.
    pub fn functions(&self) -> &[CostFunction] {
        &self.functions
    }

    /// Iterates over the global cost functions in file order.
    pub fn globals(&self) -> impl ExactSizeIterator<Item = &Global> {
        self.located().iter().map(|(_, global)| global)
    }

    /// Returns the global functions, each with the number of functions before it.
    fn located(&self) -> &[(u32, Global)] {
        self.globals.as_ref().map_or(&[], |globals| &globals.functions)
    }

    /// Returns the number of functions with tables and global functions together.
    pub fn function_count(&self) -> usize {
        self.functions.len() + self.located().len()
    }

    /// Iterates over all functions in file order; the numbers of functions in messages refer to this order.
    pub fn all_functions(&self) -> impl Iterator<Item = Function<'_>> {
        let mut globals = self.located().iter().peekable();
        let mut tables = self.functions.iter();
        (0..self.function_count() as u32).filter_map(move |number| match globals.next_if(|&&(at, _)| at == number) {
            Some((_, global)) => Some(Function::Global(global)),
            None => tables.next().map(Function::Table),
        })
    }

    /// Returns a function by its number in file order; `None` if the number is too large.
    pub fn function(&self, number: usize) -> Option<Function<'_>> {
        let globals = self.located();
        match globals.binary_search_by_key(&number, |&(at, _)| at as usize) {
            Ok(place) => Some(Function::Global(&globals[place].1)),
            Err(before) => self.functions.get(number - before).map(Function::Table),
        }
    }

    /// Returns the network that is searched in place of this one: additional variables, behind the network's own, and
    /// tables replace the global functions. Without global functions it is the network itself.
    pub fn expanded(&self) -> &Network {
        self.globals.as_ref().map_or(self, |globals| &globals.expanded)
    }

    /// Returns whether the expanded network only bounds costs from below, because some sum has too many values for
    /// tables. Its optimal assignments need not be solutions then.
    pub fn is_relaxed(&self) -> bool {
        self.globals.as_ref().is_some_and(|globals| globals.relaxed)
    }

    /// Extends an assignment to the expanded network: the added variables take their best values.
    pub fn extend(&self, assignment: &[u32]) -> Vec<u32> {
        match &self.globals {
            Some(globals) => globals.extend(assignment, self.domains.len()),
            None => assignment.to_vec(),
        }
    }

    /// Returns the strict upper limit of the cost of a solution; [`FORBIDDEN`] if there is no limit.
    pub fn top(&self) -> Cost {
        self.top
    }

    /// Returns the meaning of the integer costs.
    pub fn units(&self) -> &Units {
        &self.units
    }

    /// Returns how solutions are written.
    pub fn notation(&self) -> Notation {
        self.notation
    }

    /// Returns the name of the objective: `cost`, or `value` or `log value` if larger is better.
    pub fn objective(&self) -> &'static str {
        match (self.units.maximise, &self.reading) {
            (false, _) => "cost",
            (true, None) => "value",
            (true, Some(_)) => "log value",
        }
    }

    /// Returns the file's own numbers if the costs are rounded logarithms of them, else `None`.
    pub fn reading(&self) -> Option<&Reading> {
        self.reading.as_deref()
    }

    /// Returns the agents; `None` if the file has none.
    pub fn agents(&self) -> Option<&Agents> {
        self.agents.as_deref()
    }

    /// Returns the constant bound: the sum of the least costs of all functions, at most `top`.
    pub fn least(&self) -> Cost {
        self.expanded().least.min(self.top)
    }

    /// Converts a lower bound on costs to the file's convention, with the rounding errors subtracted. Returns `None` if
    /// the bound is at least `top`: no assignment is a solution then.
    pub fn bound(&self, lower: Cost) -> Option<Number> {
        (lower < self.top).then(|| self.units.bound(lower))
    }

    /// Returns the warnings about suspicious input, such as unread text, for display. `formats::read` collects them;
    /// this library does not print them.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Adds warnings about the network's file.
    pub fn warn(&mut self, warnings: impl IntoIterator<Item = Warning>) {
        self.warnings.extend(warnings);
    }

    /// Fixes variables to values: all their other values become forbidden. Costs do not change.
    ///
    /// # Errors
    /// Returns an error if a variable or a value does not exist, or if a value differs from that of the reading's
    /// witness, which justified forbidding entries.
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
            self.largest_arity = self.largest_arity.max(1);
            self.forbids |= domain > 1;
            Arc::make_mut(&mut self.functions).push(CostFunction { scope: [variable].into(), table });
        }
        Ok(())
    }

    /// Returns the name of a variable: the file's, or `x` and its index.
    pub fn variable_name(&self, variable: usize) -> String {
        match &self.variables[variable].name {
            Some(name) => name.to_string(),
            None => format!("x{variable}"),
        }
    }

    /// Returns the name of a value of a variable: the file's, or its index, preceded by `v` if solutions are written by
    /// names.
    pub fn value_name(&self, variable: usize, value: u32) -> String {
        match self.variables[variable].values.as_ref().and_then(|names| names.get(value as usize)) {
            Some(name) => name.to_string(),
            None if self.notation == Notation::Names => format!("v{value}"),
            None => value.to_string(),
        }
    }

    /// Returns the value of a variable by its name, or by its index if the values have no names; `None` if it is
    /// unknown.
    pub fn value_index(&self, variable: usize, name: &str) -> Option<u32> {
        match &self.variables[variable].values {
            Some(names) => names.iter().position(|own| &**own == name).map(|index| index as u32),
            None => {
                let index = name.strip_prefix('v').filter(|_| self.notation == Notation::Names).unwrap_or(name);
                index.parse().ok().filter(|&value| value < self.domains[variable])
            }
        }
    }

    /// Returns the name of a function in the file, if it has one. Names need not be unique.
    pub fn function_name(&self, function: usize) -> Option<&str> {
        self.function_names.get(&(function as u32)).map(|name| &**name)
    }
}

/// The global functions of a network, and the expanded network that is searched.
#[derive(Clone, Debug)]
struct Globals {
    /// The functions, each with the number of functions before it in the file.
    pub functions: Vec<(u32, Global)>,
    /// The variables of the network and the added ones; its tables and those of the decompositions.
    pub expanded: Network,
    /// For each function that adds variables, the indices of its tables in `expanded`, in chain order.
    pub chains: Vec<Vec<u32>>,
    /// For each function, the range of its tables in `expanded`.
    pub parts: Vec<std::ops::Range<usize>>,
    /// Whether the tables of some function only bound its cost from below.
    pub relaxed: bool,
}

impl Globals {
    /// Extends an assignment to the expanded network: the added variables take their best values.
    pub fn extend(&self, assignment: &[u32], variables: usize) -> Vec<u32> {
        let mut extended = assignment.to_vec();
        extended.resize(self.expanded.domains().len(), 0);
        for chain in &self.chains {
            self.best_path(chain, variables, &mut extended);
        }
        extended
    }

    /// Sets the states of a chain to an optimal path, by dynamic programming. Each table of a chain reads a state, own
    /// variables and the next state.
    fn best_path(&self, chain: &[u32], variables: usize, values: &mut [u32]) {
        // for each table, the least cost of each state after it and the state before it on a best path
        let mut layers: Vec<Vec<(Cost, u32)>> = Vec::new();
        let is_added = |v: u32| v as usize >= variables;
        for &place in chain {
            let function = &self.expanded.functions()[place as usize];
            let Table::Sparse(table) = &function.table else { return };
            let (before, after) = (is_added(function.scope[0]), function.scope.last().is_some_and(|&v| is_added(v)));
            let states =
                if after { self.expanded.domains()[function.scope[function.scope.len() - 1] as usize] } else { 1 };
            let mut layer = vec![(FORBIDDEN, 0); states as usize];
            for (tuple, cost) in table.iter() {
                let own = function.scope.iter().zip(tuple).filter(|(v, _)| !is_added(**v));
                if own.into_iter().any(|(&v, &value)| values[v as usize] != value) {
                    continue;
                }
                let from = if before { tuple[0] } else { 0 };
                let to = if after { tuple[tuple.len() - 1] } else { 0 };
                let so_far = if before { layers.last().map_or(0, |layer| layer[from as usize].0) } else { 0 };
                let cost = add(so_far, cost);
                if cost < layer[to as usize].0 {
                    layer[to as usize] = (cost, from);
                }
            }
            layers.push(layer);
        }
        let mut state = 0;
        for (&place, layer) in chain.iter().zip(&layers).rev() {
            let scope = &self.expanded.functions()[place as usize].scope;
            if let Some(&last) = scope.last().filter(|&&v| is_added(v)) {
                values[last as usize] = state;
            }
            state = layer[state as usize].1;
        }
    }
}
