//! Solutions that are iterated over, one by one.

use crate::error::raised;
use crate::event::{array, number};
use crate::names::Names;
use crate::network::Network;
use crate::options::{duration, finite};
use crate::wait::LOOK;
use fangs_base::error::Error;
use fangs_base::stop::{Cause, Stop};
use fangs_base::threads;
use fangs_bounds::bounds::{SolutionOptions, solutions};
use fangs_check::Evaluation;
use fangs_model::model;
use fangs_search::Clock;
use numpy::PyArray1;
use pyo3::prelude::*;
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Number of solutions that are found in advance.
const AHEAD: usize = 1 << 10;

/// A message of a search: a solution with its value, or the end, with whether all solutions were found.
enum Told {
    Solution(Box<[u32]>, Option<model::Number>),
    End(Result<bool, Error>),
}

/// Value indices, shape (n,), and the cost.
type Solution<'py> = (Bound<'py, PyArray1<i64>>, Option<Py<PyAny>>);

/// An iterator over the solutions of a network.
#[pyclass(frozen, module = "fangs")]
pub struct Solutions {
    stop: Stop,
    state: Mutex<State>,
}

struct State {
    /// The messages of the search; `None` once it has ended.
    told: Option<Receiver<Told>>,
    complete: bool,
}

impl Solutions {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits a moment for the next message; returns `None` after the end, also to other threads.
    fn receive(&self) -> Option<Result<Told, RecvTimeoutError>> {
        let mut state = self.state();
        let received = state.told.as_ref()?.recv_timeout(LOOK);
        if let Ok(Told::End(ended)) = &received {
            state.complete = matches!(ended, Ok(true));
            state.told = None;
        }
        Some(received)
    }
}

impl Drop for Solutions {
    fn drop(&mut self) {
        self.stop.set(Cause::Signal);
    }
}

#[pymethods]
impl Solutions {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Solution<'py>>> {
        let told = loop {
            py.check_signals().inspect_err(|_| self.stop())?;
            match py.detach(|| self.receive()) {
                Some(Ok(told)) => break told,
                Some(Err(RecvTimeoutError::Timeout)) => {}
                Some(Err(RecvTimeoutError::Disconnected)) => {
                    return Err(raised(Error::Internal("a thread is gone".into())));
                }
                None => return Ok(None),
            }
        };
        match told {
            Told::Solution(values, value) => Ok(Some((array(py, &values), number(py, value)?))),
            Told::End(ended) => ended.map(|_| None).map_err(raised),
        }
    }

    /// Whether all solutions were returned; known once the iterator has ended.
    #[getter]
    fn complete(&self, py: Python<'_>) -> bool {
        py.detach(|| self.state().complete)
    }

    /// Stops the search.
    fn stop(&self) {
        self.stop.set(Cause::Signal);
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let shown = py.detach(|| match &*self.state() {
            State { told: Some(_), .. } => "searching",
            State { complete: true, .. } => "all given",
            State { complete: false, .. } => "stopped",
        });
        format!("Solutions({shown})")
    }
}

#[pymethods]
impl Network {
    /// Returns an iterator over the solutions.
    #[allow(clippy::too_many_arguments, reason = "they are keywords in Python")]
    #[pyo3(signature = (of = None, *, evidence = None, worst = None, most = None, time = f64::INFINITY, memory = None))]
    fn solutions(
        &self,
        py: Python<'_>,
        of: Option<&Bound<'_, PyAny>>,
        evidence: Option<&Bound<'_, PyAny>>,
        worst: Option<f64>,
        most: Option<u64>,
        time: f64,
        memory: Option<u64>,
    ) -> PyResult<Solutions> {
        let network = self.observed(py, evidence)?;
        let of = of.map(|of| Names::new(network.variables()).scope(of)).transpose()?;
        let worst = finite(worst, "worst")?;
        let options = SolutionOptions::default().with(|options| {
            (options.of, options.worst) = (of, worst.map(Into::into));
            options.memory = memory.unwrap_or(options.memory);
        });
        let (stop, (sender, receiver)) = (Stop::new(), sync_channel(AHEAD));
        let clock = Clock::start(Instant::now(), duration(time)?, &stop);
        let flag = stop.clone();
        let search = move || {
            let send = |told| sender.send(told).is_ok();
            let found = threads::caught(|| search(&network, &options, most.unwrap_or(u64::MAX), &flag, &send));
            let ended = found.unwrap_or_else(|what| Err(Error::Internal(what)));
            drop((sender.send(Told::End(ended)), clock));
        };
        let _ = threads::start("python", search).map_err(|error| raised(Error::Usage(error.to_string())))?;
        let state = State { told: Some(receiver), complete: false };
        Ok(Solutions { stop, state: Mutex::new(state) })
    }
}

/// Sends each solution, until the limit `left` is reached or the receiver is gone. Returns whether all were sent.
fn search(
    network: &model::Network,
    options: &SolutionOptions,
    mut left: u64,
    stop: &Stop,
    send: &dyn Fn(Told) -> bool,
) -> Result<bool, Error> {
    if left == 0 {
        return Ok(false);
    }
    solutions(network, options, stop, &mut |assignment: &[u32], evaluation: &Evaluation| {
        left -= 1;
        match send(Told::Solution(assignment.into(), evaluation.value(network, assignment))) && left > 0 {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    })
}
