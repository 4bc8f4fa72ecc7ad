//! The Python package `fangs`: networks from tables of numpy, runs to iterate over, inference.
//!
//! Every computation releases Python's global interpreter lock. Ctrl-C is checked between events, and during other
//! work, which runs on a separate thread (`wait`).

mod command;
mod draft;
mod error;
mod event;
mod explain;
mod functions;
mod inference;
mod names;
mod network;
mod options;
mod pickle;
mod proofs;
mod propagate;
mod read;
mod run;
mod solutions;
mod sums;
mod tables;
mod wait;

/// The classes and functions of the package `fangs` that are written in Rust.
#[pyo3::pymodule]
mod _fangs {
    #[pymodule_export]
    use super::command::command;
    #[pymodule_export]
    use super::event::{Event, Result};
    #[pymodule_export]
    use super::explain::{Difference, Priced};
    #[pymodule_export]
    use super::inference::{Decision, LargestSum, Marginals, decide};
    #[pymodule_export]
    use super::network::Network;
    #[pymodule_export]
    use super::pickle::restore;
    #[pymodule_export]
    use super::proofs::{Bound, Dcop};
    #[pymodule_export]
    use super::read::{potentials, read, reads};
    #[pymodule_export]
    use super::run::{Picture, Run};
    #[pymodule_export]
    use super::solutions::Solutions;
    use pyo3::prelude::{PyModule, PyModuleMethods, PyResult};

    #[pymodule_init]
    fn init(module: &pyo3::Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", fangs_base::VERSION)
    }
}
