//! Networks as bytes, for pickles and copies.

use crate::error::raised;
use crate::network::Network;
use crate::wait::wait;
use fangs_base::error::Error;
use fangs_base::stop::Stop;
use fangs_formats::{self as formats, Format, ReadOptions};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// The function that restores a network, and its arguments.
type Reduced<'py> = (Bound<'py, PyAny>, (Bound<'py, PyBytes>, String));

#[pymethods]
impl Network {
    /// Reduces the network to its `.fangs` form.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        let network = self.built(py)?;
        let name = network.name.clone();
        let bytes = py.detach(|| {
            let mut bytes = Vec::new();
            let written = formats::write(&network, Format::Fangs, &mut bytes);
            written
                .map(|()| bytes)
                .map_err(|error| Error::Usage(format!("{}: a pickle cannot hold {error}", network.name)))
        });
        let restore = py.import("fangs._fangs")?.getattr("_restore")?;
        Ok((restore, (PyBytes::new(py, &bytes.map_err(raised)?), name)))
    }
}

/// Returns the network of the bytes that `Network.__reduce__` makes.
#[pyfunction]
#[pyo3(name = "_restore")]
pub fn restore(py: Python<'_>, bytes: Vec<u8>, name: String) -> PyResult<Network> {
    let network = wait(py, &Stop::new(), move |stop| {
        formats::read_from(&bytes[..], &name, Format::Fangs, &ReadOptions::default(), stop)
    })?;
    Ok(Network::of(network))
}
