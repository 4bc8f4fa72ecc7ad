//! Networks from files and texts.

use crate::error::{raised, warn};
use crate::functions::renamed;
use crate::names::Names;
use crate::network::Network;
use crate::wait::wait;
use fangs_base::stop::Stop;
use fangs_formats::{self as formats, Format, ReadOptions, Source};
use fangs_model::model;
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::path::PathBuf;

/// Fixes variables of a network to observed values. Warns if a function excludes them.
pub fn observe(
    py: Python<'_>,
    network: model::Network,
    evidence: Option<&Bound<'_, PyAny>>,
) -> PyResult<model::Network> {
    let Some(evidence) = evidence else { return Ok(network) };
    let mut network = network;
    let seen = Names::new(network.variables()).observations(py, evidence)?;
    if let Some(found) = seen.impossible_in(&network) {
        let names = model::Names::new(network.variables());
        warn(py, &[found.message(&names, network.function_name(found.function))])?;
    }
    formats::observe(&mut network, &seen.pairs(), &Stop::new()).map_err(raised)?;
    Ok(network)
}

fn read_options(precision: Option<u32>, colors: Option<u32>) -> ReadOptions {
    ReadOptions::default().with(|options| (options.precision, options.colors) = (precision, colors))
}

/// Reads a network from a file.
#[pyfunction]
#[pyo3(signature = (path, *, evidence = None, format = None, colors = None, precision = None))]
pub fn read(
    py: Python<'_>,
    path: PathBuf,
    evidence: Option<&Bound<'_, PyAny>>,
    format: Option<&str>,
    colors: Option<u32>,
    precision: Option<u32>,
) -> PyResult<Network> {
    let format: Option<Format> = format.map(str::parse).transpose().map_err(raised)?;
    let options = read_options(precision, colors);
    let network = wait(py, &Stop::new(), move |stop| formats::read(&Source::File(path), format, &options, stop))?;
    warn(py, network.warnings())?;
    Ok(Network::of(observe(py, network, evidence)?))
}

/// Reads a network from a text.
#[pyfunction]
#[pyo3(signature = (text, format, *, name = "text", evidence = None, colors = None, precision = None))]
pub fn reads(
    py: Python<'_>,
    text: &Bound<'_, PyAny>,
    format: &str,
    name: &str,
    evidence: Option<&Bound<'_, PyAny>>,
    colors: Option<u32>,
    precision: Option<u32>,
) -> PyResult<Network> {
    let bytes: Vec<u8> = match text.cast::<PyString>() {
        Ok(text) => text.to_str()?.as_bytes().to_vec(),
        Err(_) => text.extract()?,
    };
    let (format, name): (Format, String) = (format.parse().map_err(raised)?, name.into());
    let options = read_options(precision, colors);
    let network = wait(py, &Stop::new(), move |stop| formats::read_from(&bytes[..], &name, format, &options, stop))?;
    warn(py, network.warnings())?;
    Ok(Network::of(observe(py, network, evidence)?))
}

/// Builds a network of potentials from a text of `.uai`, with names of its variables and values.
#[pyfunction]
#[pyo3(name = "_potentials", signature = (text, variables, name))]
pub fn potentials(
    py: Python<'_>,
    text: String,
    variables: Vec<(String, Vec<String>)>,
    name: String,
) -> PyResult<Network> {
    let network = wait(py, &Stop::new(), move |stop| {
        let network = formats::read_from(text.as_bytes(), &name, Format::Uai, &ReadOptions::default(), stop)?;
        let named = |(name, values): (String, Vec<String>)| model::Variable {
            domain: values.len() as u32,
            name: Some(name.into()),
            values: Some(values.into_iter().map(Into::into).collect()),
        };
        renamed(&network, variables.into_iter().map(named).collect())
    })?;
    Ok(Network::of(network))
}
