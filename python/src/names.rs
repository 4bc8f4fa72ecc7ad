//! Variables and values by name or index, and assignments of some or all of them.

use crate::error::{raised, usage, warn};
use crate::tables::integers;
use fangs_base::stop::Stop;
use fangs_formats::read_evidence;
use fangs_model::model::{self, Network, Observation, Observations, Unknown, Variable};
use numpy::PyUntypedArrayMethods;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyMapping, PyString, PyTuple};
use std::path::PathBuf;

/// The variables of a network, found by names and indices that Python gives.
pub struct Names<'a> {
    variables: &'a [Variable],
    names: model::Names<'a>,
}

/// Returns the exception of a name that does not exist.
fn unknown(error: Unknown) -> PyErr {
    usage(error.to_string())
}

impl<'a> Names<'a> {
    pub fn new(variables: &'a [Variable]) -> Self {
        Names { variables, names: model::Names::new(variables) }
    }

    /// Returns a variable by its name or index.
    pub fn variable(&self, key: &Bound<'_, PyAny>) -> PyResult<u32> {
        let n = self.variables.len();
        if let Ok(name) = key.cast::<PyString>() {
            return self.names.variable(name.to_str()?).map_err(unknown);
        }
        let index: i64 = key.extract().map_err(|_| usage(format!("a variable is a name or an index, not {key}")))?;
        let found = u32::try_from(index).ok().filter(|&index| (index as usize) < n);
        found.ok_or_else(|| usage(format!("there is no variable {index}, there are {n}")))
    }

    /// Returns the variables of a scope; a single variable may stand alone.
    pub fn scope(&self, scope: &Bound<'_, PyAny>) -> PyResult<Vec<u32>> {
        if scope.is_instance_of::<PyString>() || scope.extract::<i64>().is_ok() {
            return Ok(vec![self.variable(scope)?]);
        }
        scope.try_iter()?.map(|key| self.variable(&key?)).collect()
    }

    /// Returns a value of a variable by its name or index.
    pub fn value(&self, variable: u32, key: &Bound<'_, PyAny>) -> PyResult<u32> {
        let domain = self.variables[variable as usize].domain;
        if let Ok(name) = key.cast::<PyString>() {
            return self.names.value(variable, name.to_str()?).map_err(unknown);
        }
        let index: i64 = key.extract().map_err(|_| usage(format!("a value is a name or an index, not {key}")))?;
        let found = u32::try_from(index).ok().filter(|&value| value < domain);
        found.ok_or_else(|| usage(format!("{} has no value {index}: 0 to {}", self.name(variable), domain - 1)))
    }

    fn name(&self, variable: u32) -> String {
        self.names.name(variable)
    }

    /// Returns the observations of evidence: a mapping, a list of `NAME=VALUE`, or a file.
    pub fn observations(&self, py: Python<'_>, evidence: &Bound<'_, PyAny>) -> PyResult<Observations> {
        let mut seen = Observations::default();
        if let Ok(mapping) = evidence.cast::<PyMapping>() {
            for (variable, value) in self.pairs(mapping)? {
                let origin = format!("evidence {}", self.name(variable));
                seen.add(Observation { variable, value, origin }).map_err(|other| {
                    let [own, known] = [value, other.value].map(|value| self.names.value_name(variable, value));
                    usage(format!("evidence: {} cannot be {own} and {known}", self.name(variable)))
                })?;
            }
        } else if evidence.is_instance_of::<PyList>() || evidence.is_instance_of::<PyTuple>() {
            let texts: Vec<String> = evidence.extract()?;
            texts.iter().try_for_each(|text| seen.observe(&self.names, text)).map_err(raised)?;
        } else {
            let path: PathBuf = evidence.extract()?;
            let found = read_evidence(&path, self.variables, &Stop::new()).map_err(raised)?;
            warn(py, &found.warnings)?;
            seen = found.observations;
        }
        Ok(seen)
    }

    /// Returns the variables and values of a mapping.
    pub fn pairs(&self, mapping: &Bound<'_, PyMapping>) -> PyResult<Vec<(u32, u32)>> {
        let pair = |pair: Bound<'_, PyAny>| {
            let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = pair.extract()?;
            let variable = self.variable(&key)?;
            Ok((variable, self.value(variable, &value)?))
        };
        mapping.items()?.iter().map(pair).collect()
    }

    /// Returns a partial assignment from a mapping, or from an array in which negative values are unassigned.
    pub fn part(&self, start: &Bound<'_, PyAny>) -> PyResult<Vec<Option<u32>>> {
        let mut values = vec![None; self.variables.len()];
        if let Ok(mapping) = start.cast::<PyMapping>() {
            for (variable, value) in self.pairs(mapping)? {
                values[variable as usize] = Some(value);
            }
            return Ok(values);
        }
        let row = rows(start, self.variables.len())?;
        if row.1.is_some() {
            return Err(usage("one assignment is wanted, not several"));
        }
        for (place, (own, &value)) in values.iter_mut().zip(&row.0).enumerate() {
            if value >= 0 {
                *own = Some(self.value_at(place, value)?);
            }
        }
        Ok(values)
    }

    fn value_at(&self, variable: usize, value: i64) -> PyResult<u32> {
        let domain = self.variables[variable].domain;
        let found = u32::try_from(value).ok().filter(|&value| value < domain);
        found.ok_or_else(|| usage(format!("{} has no value {value}: 0 to {}", self.name(variable as u32), domain - 1)))
    }

    /// Returns a complete assignment.
    pub fn whole(&self, assignment: &Bound<'_, PyAny>) -> PyResult<Vec<u32>> {
        let part = self.part(assignment)?;
        match part.iter().position(Option::is_none) {
            None => Ok(part.into_iter().flatten().collect()),
            Some(v) => Err(usage(format!("the assignment gives no value to {}", self.name(v as u32)))),
        }
    }

    /// Returns complete assignments, concatenated, and their number if they were given as rows of a matrix.
    pub fn all(&self, assignments: &Bound<'_, PyAny>) -> PyResult<(Vec<u32>, Option<usize>)> {
        if assignments.cast::<PyMapping>().is_ok() {
            return Ok((self.whole(assignments)?, None));
        }
        let n = self.variables.len();
        let (values, many) = rows(assignments, n)?;
        let values: PyResult<Vec<u32>> =
            values.iter().enumerate().map(|(place, &value)| self.value_at(place % n, value)).collect();
        Ok((values?, many))
    }
}

/// Returns the integers of an array with `n` columns, and its number of rows; `None` if it is a single row.
fn rows(array: &Bound<'_, PyAny>, n: usize) -> PyResult<(Vec<i64>, Option<usize>)> {
    let array = integers(array)?;
    let rows = match array.shape() {
        [found] if *found == n => None,
        [rows, found] if *found == n => Some(*rows),
        shape => return Err(usage(format!("an assignment has {n} values, this one has the shape {shape:?}"))),
    };
    Ok((array.as_slice()?.to_vec(), rows))
}

/// Returns an assignment as a dict from names of variables to names of values; indices replace missing names.
pub fn named<'py>(py: Python<'py>, network: &Network, assignment: &[u32]) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for ((place, variable), &value) in network.variables().iter().enumerate().zip(assignment) {
        let key = match &variable.name {
            Some(name) => PyString::new(py, name).into_any(),
            None => place.into_pyobject(py)?.into_any(),
        };
        match &variable.values {
            Some(values) => dict.set_item(key, &*values[value as usize])?,
            None => dict.set_item(key, value)?,
        }
    }
    Ok(dict)
}
