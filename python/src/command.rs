//! The command `fangs`, which `pip install fangs` puts on the path.

use fangs::command::{Allocator, Invocation};
use pyo3::prelude::*;
use std::ffi::OsString;

/// Memory that runs out ends the process with a message, as in the program, and not by an abort.
#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

/// Runs the command and ends the process. `program` are the words that run it in another process.
#[pyfunction]
pub(crate) fn command(python: Python<'_>, arguments: Vec<OsString>, program: Vec<OsString>) {
    python.detach(|| Invocation { arguments, program }.run())
}
