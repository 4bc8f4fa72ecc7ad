//! Single functions of a network: read back, replaced, removed, and global ones by their text.

use crate::error::{raised, usage};
use crate::names::Names;
use crate::network::Network;
use crate::tables::Numbers;
use fangs_base::error::Error;
use fangs_base::stop::Stop;
use fangs_check as check;
use fangs_formats::{self as formats, Format, ReadOptions};
use fangs_model::model::{self, COST_LIMIT, Cost, FORBIDDEN, Function, Notation, Number, Units};
use numpy::{PyArray1, PyArrayDyn, PyArrayMethods};
use pyo3::prelude::*;
use std::fmt::Write;

/// The largest number of entries of a table that is returned.
const MOST_ENTRIES: u64 = 1 << 24;

#[pymethods]
impl Network {
    /// Adds a global cost function by its keyword and parameters in the syntax of `.wcsp`; returns its number.
    fn add_global(&self, py: Python<'_>, scope: &Bound<'_, PyAny>, keyword: &str, parameters: &str) -> PyResult<usize> {
        let variables = self.variables();
        let scope = Names::new(variables).scope(scope)?;
        let network = py.detach(|| read(variables, &scope, keyword, parameters)).map_err(raised)?;
        self.add_to(py, |draft| match network.function(0) {
            Some(function) => draft.add_read(function),
            None => Err(Error::Internal("a function was read and is gone".into())),
        })
    }

    /// Replaces the table of a function.
    fn replace(&self, py: Python<'_>, function: usize, table: &Bound<'_, PyAny>) -> PyResult<()> {
        let table = Numbers::of(table)?;
        self.add_to(py, |draft| draft.replace(function, &table))
    }

    /// Replaces a function by a constant of 0, so that the numbers of the others stay.
    fn remove(&self, py: Python<'_>, function: usize) -> PyResult<()> {
        self.add_to(py, |draft| draft.remove(function))
    }

    /// A network in which some variables are fixed to values.
    #[pyo3(name = "observed")]
    fn with_evidence(&self, py: Python<'_>, evidence: &Bound<'_, PyAny>) -> PyResult<Network> {
        Ok(Network::of((*self.observed(py, Some(evidence))?).clone()))
    }

    /// Lowers the limit on costs.
    fn lower_top(&self, py: Python<'_>, top: f64) -> PyResult<()> {
        self.add_to(py, |draft| draft.lower_top(top))
    }

    /// The variables of a function.
    fn scope<'py>(&self, py: Python<'py>, function: usize) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let network = self.built(py)?;
        Ok(crate::event::array(py, self::function(&network, function)?.scope()))
    }

    /// The costs of a function, in the shape of the domains of its scope.
    fn table<'py>(&self, py: Python<'py>, function: usize) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        let network = self.built(py)?;
        let own = self::function(&network, function)?;
        let shape: Vec<usize> = own.scope().iter().map(|&v| network.domains()[v as usize] as usize).collect();
        let entries = shape.iter().fold(1u64, |n, &size| n.saturating_mul(size as u64));
        if entries > MOST_ENTRIES {
            return Err(usage(format!("function {function} has {entries} costs: tables have at most {MOST_ENTRIES}")));
        }
        let costs = py.detach(|| table(&network, own, &shape));
        PyArray1::from_vec(py, costs).reshape(shape)
    }
}

/// Returns a network with other names of variables and values.
pub fn renamed(network: &model::Network, variables: Vec<model::Variable>) -> Result<model::Network, Error> {
    let mut builder = model::Network::builder(network.name.clone());
    let _ = builder.top(network.top()).units(*network.units()).notation(Notation::Names);
    for variable in variables {
        let _ = builder.named_variable(variable)?;
    }
    for function in network.functions() {
        let _ = builder.table(&function.scope, &function.table)?;
    }
    if let Some(reading) = network.reading() {
        let _ = builder.reading(reading.clone());
    }
    Ok(builder.build())
}

/// Reads a function as the only one of a network.
fn read(
    variables: &[model::Variable],
    scope: &[u32],
    keyword: &str,
    parameters: &str,
) -> Result<model::Network, Error> {
    let most = variables.iter().map(|variable| variable.domain).max().unwrap_or(0);
    let mut text = format!("function {} {most} 1 {COST_LIMIT}\n", variables.len());
    let mut words = |words: &mut dyn Iterator<Item = u32>| {
        words.for_each(|word| {
            let _ = write!(text, "{word} ");
        });
    };
    words(&mut variables.iter().map(|variable| variable.domain));
    words(&mut std::iter::once(scope.len() as u32));
    words(&mut scope.iter().copied());
    let _ = write!(text, "\n-1 {keyword} {parameters}\n");
    formats::read_from(text.as_bytes(), keyword, Format::Wcsp, &ReadOptions::default(), &Stop::new())
}

fn function(network: &model::Network, number: usize) -> PyResult<Function<'_>> {
    let count = network.function_count();
    network.function(number).ok_or_else(|| usage(format!("there is no function {number}, there are {count}")))
}

/// Returns the costs of a function, the last variable varying fastest.
fn table(network: &model::Network, function: Function<'_>, shape: &[usize]) -> Vec<f64> {
    let (units, scope) = (*network.units(), function.scope());
    let mut assignment = vec![0; network.domains().len()];
    (0..shape.iter().product::<usize>())
        .map(|entry| {
            let mut rest = entry;
            for (&v, &size) in scope.iter().zip(shape).rev() {
                (assignment[v as usize], rest) = ((rest % size) as u32, rest / size);
            }
            double(check::function_cost(function, network.domains(), &assignment), &units)
        })
        .collect()
}

fn double(cost: Cost, units: &Units) -> f64 {
    match (cost >= FORBIDDEN, units.maximise) {
        (true, false) => f64::INFINITY,
        (true, true) => f64::NEG_INFINITY,
        (false, _) => Number::as_f64(units.number(cost)),
    }
}
