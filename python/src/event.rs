//! Events and results of runs.

use crate::names::named;
use fangs_model::model::{Network, Number};
use fangs_search::{self as search, Summary};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;

/// Converts a number to a Python integer or float.
pub fn number(py: Python<'_>, number: Option<Number>) -> PyResult<Option<Py<PyAny>>> {
    Ok(match number {
        None => None,
        Some(Number::Integer(number)) => Some(number.into_pyobject(py)?.into_any().unbind()),
        Some(number) => Some(number.as_f64().into_pyobject(py)?.into_any().unbind()),
    })
}

/// Converts value indices to an array.
pub fn array<'py>(py: Python<'py>, values: &[u32]) -> Bound<'py, PyArray1<i64>> {
    PyArray1::from_iter(py, values.iter().map(|&value| i64::from(value)))
}

/// An event of a run.
#[pyclass(frozen, module = "fangs")]
pub struct Event {
    pub event: search::Event,
    pub network: Arc<Network>,
}

#[pymethods]
impl Event {
    /// Seconds since the start of the run.
    #[getter]
    fn time(&self) -> f64 {
        self.event.time_s
    }

    /// `start`, `solution`, `bound`, `tick` (each second), `note`, `warning` or `end`.
    #[getter]
    fn kind(&self) -> &'static str {
        self.event.kind.name()
    }

    /// The incumbent's cost.
    #[getter]
    fn cost(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        number(py, self.event.cost)
    }

    /// The best bound proved so far: no assignment is better.
    #[getter]
    fn bound(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        number(py, self.event.bound)
    }

    /// |cost - bound| / max(|cost|, |bound|).
    #[getter]
    fn gap(&self) -> Option<f64> {
        self.event.gap
    }

    /// The driver or the bound method that caused the event.
    #[getter]
    fn source(&self) -> &str {
        &self.event.source
    }

    /// The incumbent: value indices, shape (n,), with `solution` and `end`.
    #[getter]
    fn solution<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<i64>>> {
        self.event.solution.as_deref().map(|values| array(py, values))
    }

    /// The incumbent by names, with `solution` and `end`.
    #[getter]
    fn assignment<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        self.event.solution.as_deref().map(|values| named(py, &self.network, values)).transpose()
    }

    /// The text of a `note` or a `warning`.
    #[getter]
    fn message(&self) -> Option<&str> {
        self.event.message.as_deref()
    }

    /// Number of rounds of drivers.
    #[getter]
    fn round(&self) -> u64 {
        self.event.round
    }

    fn __repr__(&self) -> String {
        let search::Event { time_s, cost, bound, source, message, .. } = &self.event;
        let shown = |number: &Option<Number>| number.map_or("None".into(), |number| number.to_string());
        let (kind, cost, bound) = (self.kind(), shown(cost), shown(bound));
        match message {
            Some(message) => format!("Event({time_s:.3} s, {kind}: {message})"),
            None => format!("Event({time_s:.3} s, {kind}, cost={cost}, bound={bound}, source={source})"),
        }
    }
}

/// The result of a run.
#[pyclass(frozen, module = "fangs")]
pub struct Result {
    pub summary: Arc<Summary>,
    pub network: Arc<Network>,
}

/// Defines getters of fields that are numbers and words.
macro_rules! getters {
    ($($(#[$doc:meta])* $name:ident: $type:ty = $from:expr;)*) => {
        #[pymethods]
        impl Result {
            $($(#[$doc])* #[getter]
            fn $name(&self) -> $type {
                let from: fn(&Summary) -> $type = $from;
                from(&self.summary)
            })*
        }
    };
}

getters! {
    /// `optimal`, `feasible`, `infeasible` or `unknown`.
    status: String = |summary| summary.status.name().into();
    /// `optimal`, `infeasible`, `time`, `rounds`, `target`, `gap`, `stall`, `diminishing`, `signal` or `memory`.
    stopped_by: String = |summary| summary.stopped_by.name().into();
    /// |cost - bound| / max(|cost|, |bound|).
    gap: Option<f64> = |summary| summary.gap;
    /// Largest error of costs by rounding of tables, in the unit of costs; subtracted from the bound.
    precision_slack: f64 = |summary| summary.precision_slack;
    /// Duration of the run in seconds.
    time: f64 = |summary| summary.time_s;
    /// Seconds until the best solution was found.
    time_to_best: Option<f64> = |summary| summary.time_to_best_s;
    /// The seed.
    seed: u64 = |summary| summary.seed;
    /// The device: `cpu` or `cuda:0`.
    device: String = |summary| summary.device.clone();
    /// Number of CPU threads.
    threads: usize = |summary| summary.threads;
    /// Number of rounds of drivers.
    rounds: u64 = |summary| summary.rounds;
    /// Number of assignments that changed a value.
    moves: u64 = |summary| summary.moves;
    /// Number of evaluations of candidate values.
    ratings: u64 = |summary| summary.ratings;
    /// The method that proved the bound.
    bound_method: String = |summary| summary.bound_method.clone();
    /// The largest number z of variables of a mini-bucket; None if the method has none.
    z: Option<u32> = |summary| summary.z;
    /// The induced width of the best elimination order found.
    induced_width: Option<u32> = |summary| summary.induced_width;
}

#[pymethods]
impl Result {
    /// The best cost found, recomputed from the tables.
    #[getter]
    fn cost(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        number(py, self.summary.cost)
    }

    /// The best bound proved: no assignment is better.
    #[getter]
    fn bound(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        number(py, self.summary.bound)
    }

    /// The best solution: value indices, shape (n,).
    #[getter]
    fn solution<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<i64>>> {
        self.summary.solution.as_deref().map(|values| array(py, values))
    }

    /// The best solution by names; variables and values without names keep their indices.
    #[getter]
    fn assignment<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        self.summary.solution.as_deref().map(|values| named(py, &self.network, values)).transpose()
    }

    fn __repr__(&self) -> String {
        let shown = |number: Option<Number>| number.map_or("None".into(), |number| number.to_string());
        let (cost, bound) = (shown(self.summary.cost), shown(self.summary.bound));
        format!("Result({}, cost={cost}, bound={bound}, {:.3} s)", self.summary.status.name(), self.summary.time_s)
    }
}
