//! A network while functions are added to it.
//!
//! Each table has its own decimals until the network is built. So each table is rounded once, however many digits later
//! tables need.

use crate::tables::{Numbers, Scale, of_double};
use fangs_base::error::Error;
use fangs_base::stop::Stop;
use fangs_model::globals::{Decomposer, Refusal};
use fangs_model::model::{
    Agents, Cost, CountCost, Counting, FORBIDDEN, Function, Global, GlobalKind, Linear, Measure, Network, Notation,
    Price, SUM_LIMIT, SparseTable, Table, Target, Units, ValueCount, Variable, rounding,
};
use rayon::prelude::*;
use std::sync::Arc;

/// A network that is not built yet.
#[derive(Clone, Debug)]
pub struct Draft {
    pub name: String,
    pub variables: Arc<[Variable]>,
    /// Decimals that the user asked for.
    pub decimals: Option<u32>,
    pub maximise: bool,
    /// Limits on costs: assignments with one of these costs or a worse one are infeasible.
    tops: Vec<Top>,
    notation: Notation,
    agents: Option<Agents>,
    functions: Vec<Drafted>,
    /// Number of functions of a network that was read whose tables were rounded.
    rounded: u64,
}

/// A limit on costs.
#[derive(Clone, Copy, Debug)]
enum Top {
    /// A number as the user gives it.
    Given(f64),
    /// The limit of the network that the draft extends, in its units.
    Units(Cost),
}

#[derive(Clone, Debug)]
struct Drafted {
    scope: Box<[u32]>,
    body: Body,
    decimals: u32,
    rounded: bool,
    name: Option<Box<str>>,
}

impl Drafted {
    fn new(scope: impl Into<Box<[u32]>>, body: Body, decimals: u32) -> Self {
        Drafted { scope: scope.into(), body, decimals, rounded: false, name: None }
    }
}

#[derive(Clone, Debug)]
enum Body {
    Table(Table),
    Global(Formula),
}

/// A global cost function without its scope.
#[derive(Clone, Debug)]
struct Formula {
    keyword: Box<str>,
    kind: GlobalKind,
    /// The cost from which on an assignment is forbidden.
    limit: Cost,
}

impl Formula {
    fn of(global: &Global) -> Self {
        Formula { keyword: global.keyword.clone(), kind: global.kind.clone(), limit: global.limit }
    }
}

impl Draft {
    pub fn new(
        name: String,
        variables: Arc<[Variable]>,
        decimals: Option<u32>,
        maximise: bool,
        top: Option<f64>,
    ) -> Self {
        let names = variables.iter().any(|variable| variable.name.is_some() || variable.values.is_some());
        Draft {
            name,
            variables,
            decimals,
            maximise,
            tops: top.map(Top::Given).into_iter().collect(),
            notation: if names { Notation::Names } else { Notation::Indices },
            agents: None,
            functions: Vec::new(),
            rounded: 0,
        }
    }

    /// Begins with the functions of a network that was read, whose decimals stay.
    pub fn over(network: &Network) -> Result<Self, Error> {
        if network.reading().is_some() {
            return Err(refused("a network of potentials takes no further functions: its numbers are not costs"));
        }
        let units = *network.units();
        let drafted = |(number, function): (usize, Function<'_>)| {
            let body = match function {
                Function::Table(function) => Body::Table(function.table.clone()),
                Function::Global(global) => Body::Global(Formula::of(global)),
            };
            let name = network.function_name(number).map(Into::into);
            Drafted { name, ..Drafted::new(function.scope(), body, units.decimals) }
        };
        Ok(Draft {
            name: network.name.clone(),
            variables: network.variables().into(),
            decimals: Some(units.decimals),
            maximise: units.maximise,
            tops: vec![Top::Units(network.top())],
            notation: network.notation(),
            agents: network.agents().cloned(),
            functions: network.all_functions().enumerate().map(drafted).collect(),
            rounded: units.rounded,
        })
    }

    fn scale(&self, decimals: u32) -> Scale {
        Scale { decimals, maximise: self.maximise }
    }

    /// Returns the shape of tables of a scope.
    fn shape(&self, scope: &[u32]) -> Vec<usize> {
        scope.iter().map(|&v| self.variables[v as usize].domain as usize).collect()
    }

    fn check(&self, scope: &[u32]) -> Result<(), Error> {
        match (1..scope.len()).find(|&place| scope[..place].contains(&scope[place])) {
            Some(place) => Err(refused(format!("a scope names variable {} twice", scope[place]))),
            None => Ok(()),
        }
    }

    /// Adds a function with a table of the shape of its domains. Returns its number.
    pub fn add(&mut self, scope: Vec<u32>, table: &Numbers<'_>) -> Result<usize, Error> {
        self.check(&scope)?;
        let shape = self.shape(&scope);
        if table.shape() != shape {
            return Err(refused(format!(
                "a table of {scope:?} has the shape {shape:?}, this one has {:?}",
                table.shape()
            )));
        }
        self.push_all(vec![scope], table, shape.iter().product())
    }

    /// Adds a function for each scope, with a table for each in the first dimension. Returns the number of the first.
    pub fn add_many(&mut self, scopes: Vec<Vec<u32>>, tables: &Numbers<'_>) -> Result<usize, Error> {
        for (row, scope) in scopes.iter().enumerate() {
            self.check(scope)?;
            let shape = self.shape(scope);
            if tables.shape().first() != Some(&scopes.len()) || tables.shape()[1..] != shape {
                let (m, found) = (scopes.len(), tables.shape());
                let what = format!("tables of {m} scopes have the shape {m}, then {shape:?} for scope {row}");
                return Err(refused(format!("{what}; these have {found:?}")));
            }
        }
        let size = tables.shape().iter().skip(1).product();
        self.push_all(scopes, tables, size)
    }

    fn push_all(&mut self, scopes: Vec<Vec<u32>>, tables: &Numbers<'_>, size: usize) -> Result<usize, Error> {
        let first = self.functions.len();
        let scale = self.scale(tables.decimals(self.decimals)?);
        let parts = tables.parts(size, scale)?;
        self.functions.extend(scopes.into_iter().zip(parts).map(|(scope, (costs, rounded))| Drafted {
            rounded,
            ..Drafted::new(scope, Body::Table(Table::dense(costs)), scale.decimals)
        }));
        Ok(first)
    }

    /// Adds a function with a cost for each tuple, and one for all other tuples.
    pub fn add_sparse(
        &mut self,
        scope: Vec<u32>,
        tuples: Vec<u32>,
        costs: &Numbers<'_>,
        default: f64,
    ) -> Result<usize, Error> {
        self.check(&scope)?;
        let count = costs.shape().iter().product::<usize>();
        if costs.shape().len() != 1 || tuples.len() != count * scope.len() {
            let (arity, shape) = (scope.len(), costs.shape());
            return Err(refused(format!("k tuples have the shape (k, {arity}), and their costs (k,), not {shape:?}")));
        }
        for (&v, &value) in scope.iter().cycle().zip(&tuples) {
            let domain = self.variables[v as usize].domain;
            if value >= domain {
                return Err(refused(format!("variable {v} has no value {value}: 0 to {}", domain - 1)));
            }
        }
        let known = costs.decimals(self.decimals)?;
        let decimals =
            self.decimals.unwrap_or_else(|| rounding::decimals(&[default], known, crate::tables::MOST_CHOSEN));
        let scale = self.scale(decimals);
        let (default, exact) = of_double(default, scale)?;
        let (costs, rounded) = costs.parts(count, scale)?.pop().unwrap_or_default();
        let table = SparseTable::new(scope.len(), default, tuples, costs);
        let body = Body::Table(Table::Sparse(table.into()));
        self.functions.push(Drafted { rounded: rounded || !exact, ..Drafted::new(scope, body, decimals) });
        Ok(self.functions.len() - 1)
    }

    /// Replaces the table of a function, whose scope stays.
    pub fn replace(&mut self, number: usize, table: &Numbers<'_>) -> Result<(), Error> {
        let scope = self.function(number)?.scope.to_vec();
        let added = self.add(scope, table)?;
        let name = self.functions[number].name.take();
        self.functions[number] = Drafted { name, ..self.functions.swap_remove(added) };
        Ok(())
    }

    /// Replaces a function by a constant of 0, so that the numbers of all others stay.
    pub fn remove(&mut self, number: usize) -> Result<(), Error> {
        let _ = self.function(number)?;
        self.functions[number] = Drafted::new([], Body::Table(Table::dense(vec![0])), 0);
        Ok(())
    }

    fn function(&self, number: usize) -> Result<&Drafted, Error> {
        let found = self.functions.get(number);
        found.ok_or_else(|| refused(format!("there is no function {number}, there are {}", self.functions.len())))
    }

    /// Adds a function that was read in units of the decimals that the user asked for.
    pub fn add_read(&mut self, function: Function<'_>) -> Result<usize, Error> {
        let Some(decimals) = self.decimals else {
            return Err(refused(
                "costs of global functions are integers of a fixed unit: the network needs decimals=…",
            ));
        };
        let body = match function {
            Function::Table(function) => Body::Table(function.table.clone()),
            Function::Global(global) => Body::Global(Formula::of(global)),
        };
        self.functions.push(Drafted::new(function.scope(), body, decimals));
        Ok(self.functions.len() - 1)
    }

    /// Converts a price, which must be exact because it is multiplied.
    fn price(&self, price: f64, measure: Measure) -> Result<(Price, u32), Error> {
        if price.is_nan() || price < 0.0 {
            return Err(refused(format!("{price} is no price: prices are 0 or more, or inf, which forbids")));
        }
        if price == f64::INFINITY {
            return Ok((Price { cost: FORBIDDEN, measure }, self.decimals.unwrap_or(0)));
        }
        let decimals = self.decimals.unwrap_or_else(|| rounding::decimals(&[price], 0, crate::tables::MOST_CHOSEN));
        match of_double(price, Scale { decimals, maximise: false })? {
            (cost, true) => Ok((Price { cost, measure }, decimals)),
            _ => {
                Err(refused(format!("the price {price} has more than {decimals} decimals, and prices are not rounded")))
            }
        }
    }

    /// Adds a price for the distance of a weighted sum from a range, or for a sum equal to a number.
    pub fn linear(
        &mut self,
        scope: Vec<u32>,
        weights: Vec<Vec<i64>>,
        target: Target,
        price: f64,
        measure: Measure,
    ) -> Result<usize, Error> {
        self.check(&scope)?;
        let fits = |(weights, size): (&Vec<i64>, &usize)| weights.len() == *size;
        let shape = self.shape(&scope);
        if weights.len() != scope.len() || !weights.iter().zip(&shape).all(fits) {
            return Err(refused("there is a weight for each value of each variable, or one to multiply the value by"));
        }
        let (price, decimals) = self.price(price, measure)?;
        let linear = Linear { weights, target, price, at_most_one: Vec::new() };
        self.global(scope, "linear", GlobalKind::Linear(linear), decimals)
    }

    /// Adds a price for numbers of variables with certain values that are out of their bounds.
    pub fn counting(
        &mut self,
        scope: Vec<u32>,
        bounds: Vec<ValueCount>,
        price: f64,
        measure: Measure,
    ) -> Result<usize, Error> {
        self.check(&scope)?;
        let (price, decimals) = self.price(price, measure)?;
        let counting = Counting { bounds, cost: CountCost::Each(price), classes: None };
        self.global(scope, "counting", GlobalKind::Counting(counting), decimals)
    }

    /// Adds a price for each pair of equal values.
    pub fn all_different(&mut self, scope: Vec<u32>, price: f64) -> Result<usize, Error> {
        self.check(&scope)?;
        let (price, decimals) = self.price(price, Measure::Linear)?;
        self.global(scope, "all_different", GlobalKind::EqualPairs { price: price.cost }, decimals)
    }

    fn global(
        &mut self,
        scope: Vec<u32>,
        keyword: &'static str,
        kind: GlobalKind,
        decimals: u32,
    ) -> Result<usize, Error> {
        let body = Body::Global(Formula { keyword: keyword.into(), kind, limit: FORBIDDEN });
        self.functions.push(Drafted::new(scope, body, decimals));
        Ok(self.functions.len() - 1)
    }

    pub fn functions(&self) -> usize {
        self.functions.len()
    }

    /// Builds the network.
    pub fn build(&self) -> Result<Network, Error> {
        let decimals = self.decimals.or_else(|| self.functions.iter().map(|function| function.decimals).max());
        let decimals = decimals.unwrap_or(0);
        let mut builder = Network::builder(self.name.clone());
        for variable in self.variables.iter() {
            let _ = builder.named_variable(variable.clone())?;
        }
        let rounded = self.rounded + self.functions.iter().filter(|function| function.rounded).count() as u64;
        let _ = builder.units(Units { decimals, maximise: self.maximise, rounded });
        let _ = builder.notation(self.notation).top(self.top_in_units(decimals));
        if let Some(agents) = &self.agents {
            let _ = builder.agents(agents.clone());
        }
        let most: f64 = self.functions.par_iter().map(|function| function.most(decimals)).sum();
        if most >= SUM_LIMIT {
            let what = "the largest costs of all functions add up to more than 64-bit costs hold";
            return Err(Error::Usage(format!("{what} with {decimals} decimals: fewer have room (decimals=…)")));
        }
        let (mut decomposer, stop) = (Decomposer::default(), Stop::new());
        for (number, function) in self.functions.iter().enumerate() {
            let factor = 10i64.pow(decimals - function.decimals);
            let added = match &function.body {
                Body::Table(table) if factor == 1 => builder.table(&function.scope, table)?,
                Body::Table(table) => builder.table(&function.scope, &scaled(table, factor))?,
                Body::Global(Formula { keyword, kind, limit }) => {
                    let (scope, kind) = (function.scope.clone(), priced(kind, factor));
                    let global = Global { scope, keyword: keyword.clone(), kind, limit: *limit };
                    decomposer.add(&mut builder, global, &stop).map_err(|refusal| match refusal {
                        Refusal::Error(error) => error,
                        Refusal::TooLarge(what) => {
                            Error::Usage(format!("function {number} ({keyword}) would take {what}"))
                        }
                    })?
                }
            };
            if let Some(name) = &function.name {
                let _ = builder.name_function(added, name.clone());
            }
        }
        Ok(builder.build())
    }

    /// Adds a limit on costs.
    pub fn lower_top(&mut self, top: f64) -> Result<(), Error> {
        if top.is_nan() {
            return Err(refused("the limit on costs is a number, not nan"));
        }
        self.tops.push(Top::Given(top));
        Ok(())
    }

    /// Returns the strictest limit on costs.
    fn top_in_units(&self, decimals: u32) -> Cost {
        self.tops.iter().map(|&top| self.in_units(top, decimals)).min().unwrap_or(FORBIDDEN)
    }

    fn in_units(&self, top: Top, decimals: u32) -> Cost {
        let top = match top {
            Top::Units(top) => return top,
            Top::Given(top) => top,
        };
        let least = if self.maximise { -top } else { top };
        // a limit between two units is rounded up to the next unit
        let up = |top: Cost| top + Cost::from((top as f64) < least * 10f64.powi(decimals as i32));
        rounding::round(least, decimals).map_or(FORBIDDEN, |(top, exact)| if exact { top } else { up(top) })
    }
}

impl Drafted {
    /// Returns the largest absolute cost in units of 10^-decimals.
    fn most(&self, decimals: u32) -> f64 {
        let factor = 10f64.powi((decimals - self.decimals) as i32);
        let own = match &self.body {
            Body::Table(Table::Dense(costs)) => most(costs),
            Body::Table(Table::Sparse(table)) => most(table.costs().iter().copied().chain([table.default_cost()])),
            _ => None,
        };
        own.unwrap_or(0) as f64 * factor
    }
}

/// Returns the largest absolute finite cost.
fn most(costs: impl IntoIterator<Item = Cost>) -> Option<u64> {
    costs.into_iter().filter(|&cost| cost < FORBIDDEN).map(Cost::unsigned_abs).max()
}

fn times(cost: Cost, factor: Cost) -> Cost {
    // the builder refuses what does not fit
    if cost >= FORBIDDEN { FORBIDDEN } else { cost.saturating_mul(factor).min(FORBIDDEN - 1) }
}

fn scaled(table: &Table, factor: Cost) -> Table {
    match table {
        Table::Sparse(table) => Table::Sparse(table.map(|cost| times(cost, factor)).into()),
        Table::Dense(costs) => Table::Dense(costs.iter().map(|cost| times(cost, factor)).collect()),
    }
}

fn priced(kind: &GlobalKind, factor: Cost) -> GlobalKind {
    let priced = |price: &Price| Price { cost: times(price.cost, factor), ..*price };
    match kind {
        GlobalKind::Linear(linear) => GlobalKind::Linear(Linear { price: priced(&linear.price), ..linear.clone() }),
        GlobalKind::EqualPairs { price } => GlobalKind::EqualPairs { price: times(*price, factor) },
        GlobalKind::Counting(counting @ Counting { cost: CountCost::Each(price), .. }) => {
            GlobalKind::Counting(Counting { cost: CountCost::Each(priced(price)), ..counting.clone() })
        }
        other => other.clone(),
    }
}

fn refused(what: impl Into<String>) -> Error {
    Error::Usage(what.into())
}
