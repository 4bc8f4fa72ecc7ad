//! Explanations: costs by function, differences, and functions without a common solution.

use crate::event::number;
use crate::names::Names;
use crate::network::Network;
use crate::wait::wait;
use fangs_base::activity::Activity;
use fangs_base::stop::Stop;
use fangs_model::model::{self, Cost, FORBIDDEN};
use fangs_search::explain::{self, Finding};
use pyo3::prelude::*;

/// A function and its cost.
#[pyclass(frozen, get_all, module = "fangs")]
pub struct Priced {
    /// The number of the function.
    function: usize,
    /// The name of the function in the file, if it has one.
    name: Option<String>,
    /// The names of the variables in the scope.
    scope: Vec<String>,
    /// The names of the variables' values.
    values: Vec<String>,
    /// The cost of the function; infinite if it is violated.
    cost: Py<PyAny>,
}

/// A function whose costs differ between two assignments.
#[pyclass(frozen, get_all, module = "fangs")]
pub struct Difference {
    /// The number of the function.
    function: usize,
    /// The name of the function in the file, if it has one.
    name: Option<String>,
    /// The names of the variables in the scope.
    scope: Vec<String>,
    /// The costs under both assignments; infinite if the function is violated.
    costs: (Py<PyAny>, Py<PyAny>),
}

fn scope(network: &model::Network, function: usize) -> Vec<u32> {
    network.function(function).map_or_else(Vec::new, |function| function.scope().to_vec())
}

fn named(network: &model::Network, scope: &[u32]) -> Vec<String> {
    scope.iter().map(|&v| network.variable_name(v as usize)).collect()
}

fn shown(py: Python<'_>, network: &model::Network, cost: Cost) -> PyResult<Py<PyAny>> {
    let units = network.units();
    let worst = if units.maximise { f64::NEG_INFINITY } else { f64::INFINITY };
    match number(py, (cost < FORBIDDEN).then(|| units.number(cost)))? {
        Some(cost) => Ok(cost),
        None => Ok(worst.into_pyobject(py)?.into_any().unbind()),
    }
}

#[pymethods]
impl Priced {
    fn __repr__(&self) -> String {
        let arguments: Vec<String> =
            self.scope.iter().zip(&self.values).map(|(name, value)| format!("{name}={value}")).collect();
        format!("{}: function {} ({})", self.cost, self.function, arguments.join(", "))
    }
}

#[pymethods]
impl Difference {
    fn __repr__(&self) -> String {
        format!("{} and {}: function {} ({})", self.costs.0, self.costs.1, self.function, self.scope.join(", "))
    }
}

#[pymethods]
impl Network {
    /// The functions that are not 0 under an assignment: violated ones first, then by decreasing cost.
    fn explain(&self, py: Python<'_>, assignment: &Bound<'_, PyAny>) -> PyResult<Vec<Priced>> {
        let network = self.built(py)?;
        let values = Names::new(network.variables()).whole(assignment)?;
        let costs = py.detach(|| explain::costs(&network, &values));
        let priced = |(function, cost)| {
            let own = scope(&network, function);
            let value = |&v: &u32| network.value_name(v as usize, values[v as usize]);
            Ok(Priced {
                function,
                name: network.function_name(function).map(String::from),
                scope: named(&network, &own),
                values: own.iter().map(value).collect(),
                cost: shown(py, &network, cost)?,
            })
        };
        costs.into_iter().map(priced).collect()
    }

    /// The functions whose costs differ between two assignments, the largest difference first.
    fn diff(&self, py: Python<'_>, one: &Bound<'_, PyAny>, other: &Bound<'_, PyAny>) -> PyResult<Vec<Difference>> {
        let network = self.built(py)?;
        let names = Names::new(network.variables());
        let (one, other) = (names.whole(one)?, names.whole(other)?);
        let all = py.detach(|| explain::differences(&network, &one, &other));
        let difference = |(function, [one, other]): (usize, [Cost; 2])| {
            Ok(Difference {
                function,
                name: network.function_name(function).map(String::from),
                scope: named(&network, &scope(&network, function)),
                costs: (shown(py, &network, one)?, shown(py, &network, other)?),
            })
        };
        all.into_iter().map(difference).collect()
    }

    /// The numbers of a small set of functions that have no common solution; None if the network has a solution, or if
    /// neither was proved.
    #[pyo3(signature = (*, rounds = 100))]
    fn conflict(&self, py: Python<'_>, rounds: u64) -> PyResult<Option<Vec<usize>>> {
        let network = self.built(py)?;
        let found =
            wait(py, &Stop::new(), move |stop| explain::conflict(&network, rounds, &Activity::default(), stop))?;
        Ok(match found {
            Finding::Conflict { functions, .. } => Some(functions),
            _ => None,
        })
    }
}
