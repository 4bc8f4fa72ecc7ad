//! Inference on costs: bounds alone, and agents that send tables.

use crate::error::warn;
use crate::event::{array, number};
use crate::names::named;
use crate::network::Network;
use crate::options::{choice, duration, method, one_device};
use crate::wait::wait;
use fangs_base::error::Error;
use fangs_base::memory;
use fangs_base::stop::Stop;
use fangs_bounds::bounds::{self, News, Proving, ProvingOptions};
use fangs_bounds::reduce::Reducer;
use fangs_check as check;
use fangs_dcop::{LocalOptions, LocalSearch, Traffic, run_levels, run_local};
use fangs_device::Opening;
use fangs_elimination::elimination::{Gpu, Limits, Plan, spill_room};
use fangs_elimination::order::{PseudoTree, Visit};
use fangs_model::model::{self, Cost, Number};
use fangs_search::Clock;
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;
use std::time::Instant;

/// A bound on the optimum, and the best solution that was found with it.
#[pyclass(frozen, module = "fangs")]
pub struct Bound {
    network: Arc<model::Network>,
    proved: Proved,
    /// Whether the bound is the optimum.
    #[pyo3(get)]
    exact: bool,
    /// The step that proved the bound.
    #[pyo3(get)]
    method: String,
    /// The largest number z of variables of a mini-bucket; None if the method has none.
    #[pyo3(get)]
    z: Option<u32>,
    /// The induced width of the elimination order.
    #[pyo3(get)]
    induced_width: Option<u32>,
    /// The device: `cpu` or `cuda:0`.
    #[pyo3(get)]
    device: String,
}

/// The result of agents, and their messages.
#[pyclass(frozen, module = "fangs")]
pub struct Dcop {
    network: Arc<model::Network>,
    proved: Proved,
    /// Number of messages of all agents.
    #[pyo3(get)]
    messages: u64,
    /// Number of entries of all messages.
    #[pyo3(get)]
    entries: u64,
    /// Number of entries of the largest message.
    #[pyo3(get)]
    largest_message: u64,
    /// Number of cycles of a local search.
    #[pyo3(get)]
    cycles: Option<u64>,
    /// The device that computed the tables: `cpu` or `cuda:0`.
    #[pyo3(get)]
    device: String,
}

/// The final results: no solution costs less than `lower`.
#[derive(Default)]
struct Proved {
    lower: Option<Cost>,
    /// The best solution: its cost, its value in the file's units, and the assignment.
    best: Option<(Cost, Number, Arc<[u32]>)>,
}

impl Proved {
    /// Evaluates an assignment with the checker, and keeps it if it is feasible.
    fn offer(&mut self, network: &model::Network, assignment: Vec<u32>) {
        let evaluation = check::evaluate(network, &assignment);
        let value = evaluation.value(network, &assignment).filter(|_| evaluation.is_solution());
        self.best = value.map(|value| (evaluation.cost, value, assignment.into()));
    }

    fn bound(&self, network: &model::Network) -> Option<Number> {
        network.bound(self.lower?.max(network.least()))
    }

    fn status(&self, network: &model::Network) -> &'static str {
        match (&self.best, self.lower) {
            (None, Some(lower)) if lower >= network.top() => "infeasible",
            (Some((cost, ..)), Some(lower)) if lower >= *cost => "optimal",
            (Some(_), _) => "feasible",
            (None, _) => "unknown",
        }
    }
}

/// Defines the getters that `Bound` and `Dcop` share.
macro_rules! proved {
    ($class:ident) => {
        #[pymethods]
        impl $class {
            /// The bound: no assignment is better.
            #[getter]
            fn bound(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
                number(py, self.proved.bound(&self.network))
            }

            /// The cost of the solution, computed from the tables.
            #[getter]
            fn cost(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
                number(py, self.proved.best.as_ref().map(|(_, value, _)| *value))
            }

            /// The best solution found: value indices, shape (n,).
            #[getter]
            fn solution<'py>(&self, py: Python<'py>) -> Option<pyo3::Bound<'py, PyArray1<i64>>> {
                self.proved.best.as_ref().map(|(.., values)| array(py, values))
            }

            /// The best solution by names; variables and values without names keep their indices.
            #[getter]
            fn assignment<'py>(&self, py: Python<'py>) -> PyResult<Option<pyo3::Bound<'py, PyDict>>> {
                self.proved.best.as_ref().map(|(.., values)| named(py, &self.network, values)).transpose()
            }

            /// `optimal`, `feasible`, `infeasible` or `unknown`.
            #[getter]
            fn status(&self) -> &'static str {
                self.proved.status(&self.network)
            }

            fn __repr__(&self) -> String {
                let shown = |number: Option<Number>| number.map_or("None".into(), |number| number.to_string());
                let cost = shown(self.proved.best.as_ref().map(|(_, value, _)| *value));
                let (name, bound) = (stringify!($class), shown(self.proved.bound(&self.network)));
                format!("{name}({}, cost={cost}, bound={bound})", self.status())
            }
        }
    };
}

proved!(Bound);
proved!(Dcop);

/// The algorithm by which agents find an assignment.
#[derive(Clone, Copy)]
enum Algorithm {
    Dpop,
    Adpop,
    Local(LocalSearch),
}

const ALGORITHMS: [(&str, Algorithm); 5] = [
    ("dpop", Algorithm::Dpop),
    ("adpop", Algorithm::Adpop),
    ("dsa", Algorithm::Local(LocalSearch::Dsa)),
    ("mgm", Algorithm::Local(LocalSearch::Mgm)),
    ("maxsum", Algorithm::Local(LocalSearch::MaxSum)),
];

/// The messages of the agents.
#[derive(Default)]
struct Sent {
    messages: u64,
    entries: u64,
    largest_message: u64,
    cycles: Option<u64>,
    /// The device that computed tables, and why a device failed.
    device: Option<String>,
    trouble: Option<String>,
}

fn distributed(
    network: &model::Network,
    algorithm: Algorithm,
    limits: &Limits,
    local: LocalOptions,
    device: &Opening,
    stop: &Stop,
) -> std::result::Result<(Proved, Sent), Error> {
    let mut proved = Proved::default();
    if network.is_relaxed() {
        return Err(Error::Usage("it has a sum with too many values for the tables that agents send".into()));
    }
    let reducer = Reducer::new(network, false, stop)?;
    let problem = Arc::new(reducer.fitting_problem(stop)?);
    if reducer.infeasible() {
        proved.lower = Some(network.top());
        return Ok((proved, Sent::default()));
    }
    if let Algorithm::Local(search) = algorithm {
        let initial: Vec<Option<u32>> = match network.agents() {
            Some(agents) => reducer.variables().iter().map(|&v| agents.initial[v as usize]).collect(),
            None => vec![None; problem.variables()],
        };
        let found = run_local(&problem, search, &initial, local, stop)?;
        proved.offer(network, reducer.lift(&found.assignment, &Stop::new())?);
        let (messages, entries, cycles) = (found.messages, found.message_entries, Some(found.cycles));
        return Ok((proved, Sent { messages, entries, cycles, ..Sent::default() }));
    }
    let tree = PseudoTree::depth_first(&problem, Visit::MostNeighbours, None, stop)?;
    let plan = Plan::until(&problem, &tree.order, limits, stop)?;
    if let (Algorithm::Dpop, false) = (algorithm, plan.exact) {
        let size = tree.size(&problem.domains);
        return Err(Error::Memory(format!(
            "the largest message of DPOP has {:.2e} entries: adpop splits messages, memory=… raises the limit",
            size.largest_util_entries as f64
        )));
    }
    let owner: Vec<u32> = (0..problem.variables() as u32).collect();
    let traffic = Traffic::new(&plan, &tree, &owner);
    let gpu = Gpu::of(device, plan.joint_entries as f64, false, stop)?;
    let found = run_levels(&problem, plan, gpu.as_ref(), stop)?;
    proved.lower = Some(found.lower);
    proved.offer(network, reducer.lift(&found.assignment, &Stop::new())?);
    let sent = Sent {
        messages: 2 * traffic.util_messages,
        entries: traffic.util_entries,
        largest_message: traffic.largest_util_entries,
        cycles: None,
        device: gpu.filter(|_| found.on_device).map(|gpu| gpu.cuda().label()),
        trouble: found.trouble,
    };
    Ok((proved, sent))
}

#[pymethods]
impl Network {
    /// Proves a bound by inference alone.
    #[pyo3(signature = (
        method = "auto", z = None, *, evidence = None, time = 60.0, memory = None, spill = None, device = "auto"
    ))]
    #[allow(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn bound(
        &self,
        py: Python<'_>,
        method: &str,
        z: Option<u32>,
        evidence: Option<&pyo3::Bound<'_, PyAny>>,
        time: f64,
        memory: Option<u64>,
        spill: Option<u64>,
        device: &str,
    ) -> PyResult<Bound> {
        let network = self.observed(py, evidence)?;
        let (choice, device) = (self::method(method)?, one_device(device)?);
        let options = ProvingOptions::default().with(|options| {
            let bounder = &mut options.bounder;
            (bounder.choice, bounder.z, bounder.spill) = (choice, z.map(|z| z.max(1)), spill_room(spill));
            bounder.memory = memory.unwrap_or(bounder.memory);
            options.device = device;
        });
        let (own, stop) = (network.clone(), Stop::new());
        let clock = Clock::start(Instant::now(), duration(time)?, &stop);
        let found = wait(py, &stop, move |stop| {
            let (mut proving, mut troubles) = (Proving::new(&own, options), Vec::new());
            let ended = proving.run(stop, &mut |_, news| {
                troubles.extend(if let News::Warning(text) = news { Some(String::from(text)) } else { None });
                Ok(())
            });
            match ended {
                // the bound proved before the time limit
                Ok(()) | Err(Error::Stopped) => Ok((proving.proved().clone(), troubles)),
                Err(Error::Memory(what)) => Err(Error::Memory(format!(
                    "{what} (memory=… and spill=… raise the limits, the method mbe splits tables)"
                ))),
                Err(error) => Err(error),
            }
        });
        drop(clock);
        let (found, troubles) = found?;
        warn(py, &troubles)?;
        let bounds::Proved { known, exact, method, tables, induced_width, device, .. } = found;
        let best = known.incumbent().map(|best| (best.cost, best.value, best.assignment.clone()));
        let proved = Proved { lower: Some(known.bound().cost), best };
        Ok(Bound { network, proved, exact, method, z: tables.map(|tables| tables.z), induced_width, device })
    }

    /// Solves the network as agents would, each of which owns a variable.
    #[pyo3(signature = (
        algorithm = "dpop", *, z = None, cycles = 1000, seed = 1, time = 60.0, memory = None, device = "auto"
    ))]
    #[allow(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn dcop(
        &self,
        py: Python<'_>,
        algorithm: &str,
        z: Option<u32>,
        cycles: u64,
        seed: u64,
        time: f64,
        memory: Option<u64>,
        device: &str,
    ) -> PyResult<Dcop> {
        let network = self.built(py)?;
        let algorithm = choice(algorithm, "algorithm", ALGORITHMS.into_iter())?;
        let limits = Limits::new(memory.unwrap_or_else(|| memory::available() / 2)).with(|limits| limits.z = z);
        let local = LocalOptions { cycles: Some(cycles), seed, ..LocalOptions::default() };
        let (own, stop, device) = (network.clone(), Stop::new(), one_device(device)?);
        let clock = Clock::start(Instant::now(), duration(time)?, &stop);
        let found = wait(py, &stop, move |stop| distributed(&own, algorithm, &limits, local, &device, stop));
        drop(clock);
        let (proved, Sent { messages, entries, largest_message, cycles, device, trouble }) = found?;
        warn(py, trouble.as_slice())?;
        let device = device.unwrap_or_else(|| "cpu".into());
        Ok(Dcop { network, proved, messages, entries, largest_message, cycles, device })
    }
}
