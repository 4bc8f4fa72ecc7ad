//! A network as given by a file or a program, its global cost functions included, one of which may be about a network
//! of its own; and the builder that checks it.

mod builder;
mod part;

pub use builder::Builder;

use super::global::{Arithmetic, Automaton, Counting, Grammar, Linear, Price, Same, Target};
use super::{Agents, Cost, CostFunction, FORBIDDEN, Number, Reading, SparseTable, Table, Units, add};
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
    /// No function has had more variables.
    largest_arity: usize,
    /// Whether a function of at most two variables has a forbidden entry.
    forbids: bool,
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

/// A global cost function of a network.
#[derive(Clone, Debug)]
pub struct Global {
    /// The variables it reads, all different.
    pub scope: Box<[u32]>,
    /// Its keyword in the file.
    pub keyword: Box<str>,
    /// What it computes.
    pub kind: GlobalKind,
    /// A cost from here on is forbidden: `top` in `.wcsp`, [`FORBIDDEN`] elsewhere.
    pub limit: Cost,
}

/// What global cost functions compute of the values of their scope, x0 to x(n-1).
#[derive(Clone, Debug)]
pub enum GlobalKind {
    /// A price for how far a sum of weights is from where it should be.
    Linear(Linear),
    /// A price for each pair of equal values.
    EqualPairs {
        /// The price of a pair.
        price: Cost,
    },
    /// Prices for how far the numbers of variables that have certain values are from their bounds.
    Counting(Counting),
    /// Prices for how far the numbers of two groups of variables that have each value differ.
    Same(Same),
    /// A price for how far the number of positions in the first half of the scope that have the value, not 0, of their
    /// counterpart in the second half is from where it should be.
    Overlap {
        /// Where the number should be.
        target: Target,
        /// The price of being away from it.
        price: Price,
    },
    /// The least cost of a path of a finite automaton that the values label.
    Regular(Automaton),
    /// The least cost of deriving the values from a grammar.
    Grammar(Grammar),
    /// The largest of the costs that the values have.
    Max {
        /// The cost of each value of each variable.
        costs: Vec<Vec<Cost>>,
    },
    /// 0 where the values are the parents of one tree, the root being its own; forbidden otherwise.
    Tree,
    /// A function of two numbers.
    Arithmetic(Arithmetic),
    /// 0 where the cost of a network of its own lies within bounds, forbidden otherwise.
    Nested {
        /// The network, whose variables are those of the scope.
        network: Arc<Network>,
        /// The least cost allowed.
        low: Cost,
        /// Costs from here on are not allowed.
        high: Cost,
    },
}

/// A function of a network, in the order of its file.
#[derive(Clone, Copy, Debug)]
pub enum Function<'a> {
    /// One with a table.
    Table(&'a CostFunction),
    /// A global one.
    Global(&'a Global),
}

impl<'a> Function<'a> {
    /// The variables it reads.
    pub fn scope(self) -> &'a [u32] {
        match self {
            Function::Table(function) => &function.scope,
            Function::Global(global) => &global.scope,
        }
    }
}

impl Network {
    /// Starts an empty network with integer costs and no `top`.
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

    /// No function but a global one has more variables.
    pub fn largest_arity(&self) -> usize {
        self.largest_arity
    }

    /// Whether a function of at most two variables has, or had, a forbidden entry.
    pub fn forbids(&self) -> bool {
        self.forbids
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

    /// Whether the expanded network only bounds costs from below: some sum has too many values for tables. Its best
    /// assignments need not be solutions then.
    pub fn is_relaxed(&self) -> bool {
        self.globals.as_ref().is_some_and(|globals| globals.relaxed)
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

    /// The constant bound: the sum of the least costs of all functions, at most `top`.
    pub fn least(&self) -> Cost {
        self.expanded().least.min(self.top)
    }

    /// A lower bound on totals in the file's convention, less the rounding errors. None from `top` on: no total is left
    /// below it.
    pub fn bound(&self, lower: Cost) -> Option<Number> {
        (lower < self.top).then(|| self.units.bound(lower))
    }

    /// Doubtful places of its file, such as text left unread, for display: `formats::read` fills it, this
    /// library does not print it.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Adds warnings about its file.
    pub fn warn(&mut self, warnings: impl IntoIterator<Item = Warning>) {
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
            self.largest_arity = self.largest_arity.max(1);
            self.forbids |= domain > 1;
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

/// The global functions of a network, and the network of tables that stands for it where it is searched.
#[derive(Clone, Debug)]
struct Globals {
    /// With the number of functions before them in the file.
    pub functions: Vec<(u32, Global)>,
    /// The variables of the network and the added ones; its tables and the parts.
    pub expanded: Network,
    /// The parts of each function that adds variables: places of tables in `expanded`, in the order of their chain.
    pub chains: Vec<Vec<u32>>,
    /// The places in `expanded` of the parts of each function.
    pub parts: Vec<std::ops::Range<usize>>,
    /// Whether parts of some function only bound its cost from below.
    pub relaxed: bool,
}

impl Globals {
    /// An assignment of the expanded network from one of the network: added variables take their best values.
    pub fn extend(&self, assignment: &[u32], variables: usize) -> Vec<u32> {
        let mut extended = assignment.to_vec();
        extended.resize(self.expanded.domains().len(), 0);
        for chain in &self.chains {
            self.best_path(chain, variables, &mut extended);
        }
        extended
    }

    /// The states of a chain of tables, each of a state before, own variables, and a state after, by dynamic
    /// programming.
    fn best_path(&self, chain: &[u32], variables: usize, values: &mut [u32]) {
        // for each table the least cost to each state after it, and the state before
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
