//! Solutions that are iterated over, one by one.

use crate::error::raised;
use crate::event::{array, number};
use crate::names::Names;
use crate::network::Network;
use crate::options::{duration, finite};
use crate::wait::LOOK;
use fangs::bounds::{SolutionOptions, solutions};
use fangs::check::Evaluation;
use fangs::error::Error;
use fangs::model;
use fangs::search::Clock;
use fangs::stop::{Cause, Stop};
use fangs::threads;
use numpy::PyArray1;
use pyo3::prelude::*;
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Solutions that are found before they are asked for.
const AHEAD: usize = 1 << 10;

/// What a search tells: a solution with its value, and at last whether these are all.
enum Told {
    Solution(Box<[u32]>, Option<model::Number>),
    End(Result<bool, Error>),
}

/// Value indices, shape (n,), and what they cost.
type Solution<'py> = (Bound<'py, PyArray1<i64>>, Option<Py<PyAny>>);

/// An iterator over the solutions of a network.
#[pyclass(frozen, module = "fangs")]
pub struct Solutions {
    stop: Stop,
    state: Mutex<State>,
}

struct State {
    /// None once the search has ended.
    told: Option<Receiver<Told>>,
    left: u64,
    complete: bool,
}

impl Solutions {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What comes next, if it comes soon.
    fn receive(&self) -> Result<Told, RecvTimeoutError> {
        match &self.state().told {
            Some(told) => told.recv_timeout(LOOK),
            None => Err(RecvTimeoutError::Disconnected),
        }
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
        if self.state().left == 0 {
            self.stop();
            self.state().told = None;
        }
        let told = loop {
            let at_once = match &self.state().told {
                Some(told) => told.try_recv(),
                None => return Ok(None),
            };
            break match at_once {
                Ok(told) => told,
                Err(TryRecvError::Disconnected) => return Err(raised(Error::Internal("a thread is gone".into()))),
                Err(TryRecvError::Empty) => match py.detach(|| self.receive()) {
                    Ok(told) => told,
                    Err(_) => {
                        py.check_signals().inspect_err(|_| self.stop())?;
                        continue;
                    }
                },
            };
        };
        match told {
            Told::Solution(values, value) => {
                let left = {
                    let mut state = self.state();
                    state.left -= 1;
                    state.left
                };
                // who takes all at once looks for no signals on the way
                if left % AHEAD as u64 == 0 {
                    py.check_signals().inspect_err(|_| self.stop())?;
                }
                Ok(Some((array(py, &values), number(py, value)?)))
            }
            Told::End(ended) => {
                let mut state = self.state();
                state.told = None;
                state.complete = ended.map_err(raised)?;
                Ok(None)
            }
        }
    }

    /// Whether all solutions were given: known once the iterator has ended.
    #[getter]
    fn complete(&self) -> bool {
        self.state().complete
    }

    /// Ends the search.
    fn stop(&self) {
        self.stop.set(Cause::Signal);
    }

    fn __repr__(&self) -> String {
        let state = self.state();
        let shown = match (&state.told, state.complete) {
            (Some(_), _) => "searching",
            (None, true) => "all given",
            (None, false) => "stopped",
        };
        format!("Solutions({shown})")
    }
}

#[pymethods]
impl Network {
    /// Gives the solutions one by one.
    #[pyo3(signature = (of = None, *, worst = None, most = None, time = f64::INFINITY, memory = None))]
    fn solutions(
        &self,
        py: Python<'_>,
        of: Option<&Bound<'_, PyAny>>,
        worst: Option<f64>,
        most: Option<u64>,
        time: f64,
        memory: Option<u64>,
    ) -> PyResult<Solutions> {
        let network = self.built(py)?;
        let of = of.map(|of| Names::new(network.variables()).scope(of)).transpose()?;
        let worst = finite(worst, "worst")?;
        let options = SolutionOptions::default().with(|options| {
            (options.of, options.worst) = (of, worst);
            options.memory = memory.unwrap_or(options.memory);
        });
        let (stop, (sender, receiver)) = (Stop::new(), sync_channel(AHEAD));
        let clock = Clock::start(Instant::now(), duration(time)?, &stop);
        let flag = stop.clone();
        let search = move || {
            let found = threads::caught(|| search(&network, &options, &flag, &|told| sender.send(told).is_ok()));
            let ended = found.unwrap_or_else(|what| Err(Error::Internal(what)));
            drop((sender.send(Told::End(ended)), clock));
        };
        let _ = threads::start("python", search).map_err(|error| raised(Error::Usage(error.to_string())))?;
        let state = State { told: Some(receiver), left: most.unwrap_or(u64::MAX), complete: false };
        Ok(Solutions { stop, state: Mutex::new(state) })
    }
}

/// Sends each solution, until no one hears of them.
fn search(
    network: &Arc<model::Network>,
    options: &SolutionOptions,
    stop: &Stop,
    send: &dyn Fn(Told) -> bool,
) -> Result<bool, Error> {
    solutions(network, options, stop, &mut |assignment: &[u32], evaluation: &Evaluation| match send(Told::Solution(
        assignment.into(),
        evaluation.value(network, assignment),
    )) {
        true => ControlFlow::Continue(()),
        false => ControlFlow::Break(()),
    })
}
