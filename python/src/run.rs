//! Runs in the background that are iterated over.

use crate::error::raised;
use crate::event::{Event, Result};
use crate::wait::LOOK;
use fangs_base::error::Error;
use fangs_base::stop::{Cause, Stop};
use fangs_model::model::Network;
use fangs_report::plot::{Chart, Curve, PictureFile, TimeScale};
use fangs_report::{HEADER, Row};
use fangs_search::{self as search, EventKind, Options, Session, Status, Summary};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::path::PathBuf;
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A run in the background: iterating over it returns its events.
#[pyclass(frozen, module = "fangs")]
pub struct Run {
    network: Arc<Network>,
    seed: u64,
    stop: Stop,
    state: Mutex<State>,
}

struct State {
    /// The session; `None` once it has ended.
    session: Option<Session>,
    /// All events so far, without solutions.
    past: Vec<search::Event>,
    outcome: Option<std::result::Result<Arc<Summary>, String>>,
    /// The error with its kind, for the first caller that asks for it.
    failure: Option<Error>,
}

/// The next news of a run.
enum Next {
    Event(Box<search::Event>),
    Nothing,
    End,
}

impl State {
    fn next(&mut self) -> Next {
        let Some(session) = &self.session else { return Next::End };
        match session.next_within(LOOK) {
            Ok(event) => {
                self.past.push(search::Event { solution: None, ..event.clone() });
                Next::Event(event.into())
            }
            Err(RecvTimeoutError::Timeout) => Next::Nothing,
            Err(RecvTimeoutError::Disconnected) => {
                let outcome = self.session.take().map(Session::finish);
                self.outcome = outcome.map(|outcome| {
                    outcome.map(Arc::new).map_err(|error| {
                        let text = error.to_string();
                        self.failure = Some(error);
                        text
                    })
                });
                Next::End
            }
        }
    }
}

impl Run {
    pub fn start(network: Arc<Network>, options: Options) -> Run {
        let seed = options.seed;
        let session = search::start(network.clone(), options);
        let stop = session.stop();
        let state = State { session: Some(session), past: Vec::new(), outcome: None, failure: None };
        Run { network, seed, stop, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the next event. Ctrl-C stops the run and is raised once the run has ended.
    fn advance(&self, py: Python<'_>) -> PyResult<Option<search::Event>> {
        loop {
            let next = py.detach(|| self.state().next());
            // also if there is an event: Python would raise an interrupt after it without stopping the run
            self.look_for_interrupt(py)?;
            match next {
                Next::Event(event) => return Ok(Some(*event)),
                Next::End => return Ok(None),
                Next::Nothing => {}
            }
        }
    }

    fn look_for_interrupt(&self, py: Python<'_>) -> PyResult<()> {
        py.check_signals().inspect_err(|_| self.end(py))
    }

    /// Stops the run and waits for its end.
    fn end(&self, py: Python<'_>) {
        self.stop.set(Cause::Signal);
        py.detach(|| while !matches!(self.state().next(), Next::End) {});
    }

    fn curve(&self) -> Curve {
        let state = self.state();
        let mut curve = Curve { label: self.network.name.clone(), ..Curve::default() };
        state.past.iter().filter(|event| event.message.is_none()).for_each(|event| curve.push(event));
        curve.optimal = matches!(&state.outcome, Some(Ok(summary)) if summary.status == Status::Optimal);
        curve
    }
}

#[pymethods]
impl Run {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Event>> {
        let event = self.advance(py)?;
        Ok(event.map(|event| Event { event, network: self.network.clone() }))
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyAny>) {
        self.end(py);
    }

    /// Stops the run, from any thread; its best solution remains available.
    fn stop(&self) {
        self.stop.set(Cause::Signal);
    }

    /// Whether the run has ended.
    #[getter]
    fn done(&self, py: Python<'_>) -> bool {
        py.detach(|| {
            let state = self.state();
            state.session.as_ref().is_none_or(Session::is_finished)
        })
    }

    /// Waits for the end of the run and returns its result.
    fn result(&self, py: Python<'_>) -> PyResult<Result> {
        while self.advance(py)?.is_some() {}
        // exceptions are created after the lock is released, because their classes are Python code
        let outcome = py.detach(|| {
            let mut state = self.state();
            match (state.failure.take(), &state.outcome) {
                (Some(failure), _) => Err(failure),
                (None, Some(Ok(summary))) => Ok(summary.clone()),
                (None, Some(Err(text))) => Err(Error::Internal(text.clone())),
                (None, None) => Err(Error::Internal("a run ended without an outcome".into())),
            }
        });
        outcome.map(|summary| Result { summary, network: self.network.clone() }).map_err(raised)
    }

    /// The events so far with the columns of the CSV: a DataFrame if pandas is installed, otherwise a dict of lists.
    #[getter]
    fn history<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let past = py.detach(|| self.state().past.clone());
        let rows: Vec<Row<'_>> = past
            .iter()
            .filter(|event| event.kind != EventKind::Note)
            .map(|event| Row::of(event, &self.network.name, Some(self.seed)))
            .collect();
        let columns = PyDict::new(py);
        let number = |number| crate::event::number(py, number);
        for name in HEADER {
            let column = PyList::empty(py);
            for row in &rows {
                match name {
                    "time_s" => column.append(row.time_s)?,
                    "upper_bound" => column.append(number(row.upper_bound)?)?,
                    "lower_bound" => column.append(number(row.lower_bound)?)?,
                    "gap" => column.append(row.gap)?,
                    "event" => column.append(row.event)?,
                    "round" => column.append(row.round)?,
                    "moves" => column.append(row.moves)?,
                    "ratings" => column.append(row.ratings)?,
                    "source" => column.append(row.source)?,
                    "incumbent" => column.append(number(row.incumbent)?)?,
                    "bound" => column.append(number(row.bound)?)?,
                    "sense" => column.append(row.sense)?,
                    "instance" => column.append(row.instance)?,
                    _ => column.append(row.seed)?,
                }
            }
            columns.set_item(name, column)?;
        }
        match py.import("pandas") {
            Ok(pandas) => pandas.call_method1("DataFrame", (columns,)),
            Err(_) => Ok(columns.into_any()),
        }
    }

    /// The chart of cost and bound so far; with a path it is also written there, as .svg, .png or .pdf.
    #[pyo3(signature = (path = None))]
    fn plot(&self, py: Python<'_>, path: Option<PathBuf>) -> PyResult<Picture> {
        let picture = py.detach(|| Picture::of(self.curve()));
        if let Some(path) = path {
            picture.save(py, path)?;
        }
        Ok(picture)
    }

    fn _repr_html_(&self, py: Python<'_>) -> String {
        let state = py.detach(|| {
            let state = self.state();
            state.past.iter().rev().find(|event| event.message.is_none()).cloned()
        });
        let text = state.map_or("no event yet".into(), |event| {
            let shown =
                |number: Option<fangs_model::model::Number>| number.map_or("–".into(), |number| number.to_string());
            format!("{:.2} s: cost {}, bound {}", event.time_s, shown(event.cost), shown(event.bound))
        });
        format!("<div>{}<p>{text}</p></div>", py.detach(|| Picture::of(self.curve()).svg))
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let ended = if self.done(py) { "ended" } else { "running" };
        format!("Run({}, {ended})", self.network.name)
    }
}

/// A picture, which notebooks display.
#[pyclass(frozen, module = "fangs")]
pub struct Picture {
    chart: Chart,
    /// The picture as SVG.
    #[pyo3(get)]
    svg: String,
}

impl Picture {
    fn of(curve: Curve) -> Picture {
        let (title, curves) = (curve.label.clone(), vec![curve]);
        let chart = Chart { title, curves, time: TimeScale::Auto, quantity: None };
        Picture { svg: chart.svg(), chart }
    }
}

#[pymethods]
impl Picture {
    fn _repr_svg_(&self) -> &str {
        &self.svg
    }

    /// Writes the picture, as .svg, .png or .pdf.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let saved = py.detach(|| PictureFile::new(&path)?.save(&self.chart, &Stop::new()));
        saved.map_err(raised)
    }
}
