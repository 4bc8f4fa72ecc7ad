//! Conversion of errors to the exceptions of `fangs._errors`, and Python's warnings.

use fangs_base::error::{Error, ParseError};
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use std::fmt::Display;

/// Returns the exception of an error.
pub fn raised(error: Error) -> PyErr {
    Python::attach(|py| exception(py, error).unwrap_or_else(|failure| failure))
}

/// Returns the exception of a wrong argument.
pub fn usage(what: impl Into<String>) -> PyErr {
    raised(Error::Usage(what.into()))
}

/// Issues Python warnings: suspicious parts of a file, a lost device.
pub fn warn<T: Display>(py: Python<'_>, warnings: &[T]) -> PyResult<()> {
    for warning in warnings {
        let text = std::ffi::CString::new(warning.to_string()).unwrap_or_default();
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), &text, 2)?;
    }
    Ok(())
}

fn exception(py: Python<'_>, error: Error) -> PyResult<PyErr> {
    let text = error.to_string();
    let name = match &error {
        Error::Parse(ParseError { file, line, column, found, expected, hint }) => {
            let arguments = (text, file, *line, *column, found, expected, hint);
            return Ok(PyErr::from_value(class(py, "ParseError")?.call1(arguments)?));
        }
        Error::Unreadable { .. } | Error::Io { .. } => "FileError",
        Error::Model(_) => "ModelError",
        Error::Usage(_) => "UsageError",
        Error::Memory(_) => "OutOfMemory",
        Error::Stopped | Error::Waiting(_) => "Stopped",
        _ => "InternalError",
    };
    Ok(PyErr::from_value(class(py, name)?.call1((text,))?))
}

fn class<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("fangs._errors")?.getattr(name)
}
