//! Work on a separate thread, while this one checks for Ctrl-C.

use crate::error::raised;
use fangs_base::error::Error;
use fangs_base::stop::{Cause, Stop};
use fangs_base::threads;
use pyo3::prelude::*;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Interval between two checks for Ctrl-C: a tenth of the second within which a run must end.
pub const LOOK: Duration = Duration::from_millis(100);

/// Returns the result of the work. Ctrl-C sets the stop flag, and is raised once the work has ended.
pub fn wait<T: Send + 'static>(
    py: Python<'_>,
    stop: &Stop,
    work: impl FnOnce(&Stop) -> std::result::Result<T, Error> + Send + 'static,
) -> PyResult<T> {
    let (sender, outcome) = channel();
    let flag = stop.clone();
    let thread = threads::start("python", move || {
        // no one waits if the caller is gone
        drop(sender.send(threads::caught(|| work(&flag)).unwrap_or_else(|what| Err(Error::Internal(what)))));
    });
    let thread = thread.map_err(|error| raised(Error::Usage(error.to_string())))?;
    py.detach(move || {
        let mut interrupted = None;
        loop {
            match outcome.recv_timeout(LOOK) {
                Ok(outcome) => {
                    drop(thread.join());
                    return interrupted.map_or_else(|| outcome.map_err(raised), Err);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(raised(Error::Internal("a thread is gone".into()))),
            }
            if let Err(signal) = Python::attach(|py| py.check_signals()) {
                stop.set(Cause::Signal);
                interrupted = Some(signal);
            }
        }
    })
}
