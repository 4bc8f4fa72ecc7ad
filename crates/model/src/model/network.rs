//! A network as given by a file or a program, and the builder that checks it.

mod builder;
mod part;

pub use builder::Builder;

use super::global::{Function, Global, Globals};
use super::{Agents, Cost, CostFunction, FORBIDDEN, Number, Reading, SparseTable, Table, Units};
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
