//! Inference on costs: bounds alone, and agents that send tables.

use crate::event::{array, number};
use crate::names::named;
use crate::network::Network;
use crate::options::{choice, duration, method, one_device};
use crate::wait::wait;
use fangs::bounds::{Bounder, BounderOptions, DeviceUse, Step};
use fangs::check;
use fangs::dcop::{LocalOptions, LocalSearch, Traffic, run_levels, run_local};
use fangs::device::{Choice, DeviceError};
use fangs::elimination::{Gpu, Limits, Plan};
use fangs::error::Error;
use fangs::memory;
use fangs::model::{self, Cost, Number};
use fangs::order::{Method, PseudoTree, Visit, promising_order};
use fangs::reduce::{ReducedProblem, Reducer};
use fangs::search::Clock;
use fangs::stop::Stop;
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;
use std::time::Instant;

/// A bound on the optimum, and the best solution that came with it.
#[pyclass(frozen, module = "fangs")]
pub struct Bound {
    network: Arc<model::Network>,
    proved: Proved,
}

/// The messages of agents, and what they came to.
#[pyclass(frozen, module = "fangs")]
pub struct Dcop {
    network: Arc<model::Network>,
    proved: Proved,
    /// Messages of all agents.
    #[pyo3(get)]
    messages: u64,
    /// Entries of all messages.
    #[pyo3(get)]
    entries: u64,
    /// Entries of the largest message.
    #[pyo3(get)]
    largest_message: u64,
    /// Cycles of a local search.
    #[pyo3(get)]
    cycles: Option<u64>,
}

/// What is known in the end: no solution costs less than `lower`.
#[derive(Default)]
struct Proved {
    lower: Option<Cost>,
    exact: bool,
    method: String,
    z: Option<u32>,
    induced_width: Option<u32>,
    /// The best solution, its cost, and its value in the file's convention.
    best: Option<(Vec<u32>, Cost, Number)>,
}

impl Proved {
    /// The cost below which a better solution is.
    fn upper(&self, network: &model::Network) -> Cost {
        self.best.as_ref().map_or(network.top(), |(_, cost, _)| *cost)
    }

    /// Evaluates an assignment by the checker, and keeps it if it is better.
    fn offer(&mut self, network: &model::Network, assignment: Vec<u32>) {
        let evaluation = check::evaluate(network, &assignment);
        let better = evaluation.is_solution() && evaluation.cost < self.upper(network);
        if let Some(value) = evaluation.value(network, &assignment).filter(|_| better) {
            self.best = Some((assignment, evaluation.cost, value));
        }
    }

    fn bound(&self, network: &model::Network) -> Option<Number> {
        network.bound(self.lower?.max(network.least()))
    }

    fn status(&self, network: &model::Network) -> &'static str {
        match (&self.best, self.lower) {
            (None, Some(lower)) if lower >= network.top() => "infeasible",
            (Some((_, cost, _)), Some(lower)) if lower >= *cost => "optimal",
            (Some(_), _) => "feasible",
            (None, _) => "unknown",
        }
    }
}

/// The getters that both have.
macro_rules! proved {
    ($class:ident) => {
        #[pymethods]
        impl $class {
            /// No assignment is better than this.
            #[getter]
            fn bound(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
                number(py, self.proved.bound(&self.network))
            }

            /// The cost of the solution, computed from the tables.
            #[getter]
            fn cost(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
                number(py, self.proved.best.as_ref().map(|(_, _, value)| *value))
            }

            /// The best solution that was met: value indices, shape (n,).
            #[getter]
            fn solution<'py>(&self, py: Python<'py>) -> Option<pyo3::Bound<'py, PyArray1<i64>>> {
                self.proved.best.as_ref().map(|(values, ..)| array(py, values))
            }

            /// The same by names.
            #[getter]
            fn assignment<'py>(&self, py: Python<'py>) -> PyResult<Option<pyo3::Bound<'py, PyDict>>> {
                self.proved.best.as_ref().map(|(values, ..)| named(py, &self.network, values)).transpose()
            }

            /// `optimal`, `feasible`, `infeasible` or `unknown`.
            #[getter]
            fn status(&self) -> &'static str {
                self.proved.status(&self.network)
            }

            fn __repr__(&self) -> String {
                let shown = |number: Option<Number>| number.map_or("None".into(), |number| number.to_string());
                let cost = shown(self.proved.best.as_ref().map(|(_, _, value)| *value));
                let (name, bound) = (stringify!($class), shown(self.proved.bound(&self.network)));
                format!("{name}({}, cost={cost}, bound={bound})", self.status())
            }
        }
    };
}

proved!(Bound);
proved!(Dcop);

#[pymethods]
impl Bound {
    /// Whether the bound is the optimum.
    #[getter]
    fn exact(&self) -> bool {
        self.proved.exact
    }

    /// The step that made the bound.
    #[getter]
    fn method(&self) -> &str {
        &self.proved.method
    }

    /// The largest number of variables of a mini-bucket, where it has one.
    #[getter]
    fn z(&self) -> Option<u32> {
        self.proved.z
    }

    /// The induced width of the elimination order.
    #[getter]
    fn induced_width(&self) -> Option<u32> {
        self.proved.induced_width
    }
}

/// Restarts of rules for elimination orders: two hundred thousand variables and functions in all.
fn restarts(problem: &model::Problem) -> u32 {
    (200_000 / (problem.variables() + problem.functions.len()).max(1)).clamp(1, 64) as u32
}

/// A device, where one is asked for or there is one.
fn gpu(choice: Choice) -> std::result::Result<Option<Arc<Gpu>>, Error> {
    let opened = choice.open().map_err(|error: DeviceError| Error::Usage(error.to_string()))?;
    Ok(opened.cuda.map(Gpu::new))
}

/// Bounds by inference alone, until nothing is left to do or the time is over.
fn prove(
    network: &model::Network,
    options: BounderOptions,
    choice: Choice,
    stop: &Stop,
) -> std::result::Result<Proved, Error> {
    let mut proved = Proved { method: "none".into(), ..Proved::default() };
    let mut reducer = Reducer::new(network, true, stop)?;
    reducer.merge_ties(stop);
    let reduced = ReducedProblem::new(reducer, stop)?;
    proved.lower = Some(reduced.problem.constant.min(network.top()));
    proved.method = "trivial".into();
    let mut bounder = Bounder::new(options);
    if !reduced.reducer.infeasible() && reduced.problem.variables() > 0 {
        let problem = &reduced.problem;
        let order = promising_order(problem, &[Method::MinFill], 1, restarts(problem), stop);
        proved.induced_width = Some(order.width);
        if choice != Choice::Cpu && (choice != Choice::Auto || Gpu::pays(order.joint_entries)) {
            gpu(choice)?.into_iter().for_each(|gpu| bounder.use_device(gpu, DeviceUse::Exclusive));
        }
        bounder.follow(vec![order]);
    }
    loop {
        let upper = proved.upper(network);
        let result = match bounder.step(&reduced, upper, stop) {
            Step::Done => break,
            Step::More => bounder.so_far(upper, proved.lower.unwrap_or(Cost::MIN)),
            Step::Result(result) => Some(*result),
        };
        while bounder.take_notice().is_some() {}
        let Some(result) = result else { continue };
        if let Some(assignment) = &result.assignment {
            proved.offer(network, result.reduced.reducer.lift(assignment));
        }
        // a bound speaks of what is better than the best solution
        let lower = result.lower.min(proved.upper(network));
        if proved.lower.is_none_or(|known| lower > known) {
            proved.lower = Some(lower);
            proved.method = result.source;
            proved.z = result.tables.map(|tables| tables.z);
        }
        proved.exact |= result.exact && !network.is_relaxed() || proved.lower >= Some(proved.upper(network));
        if proved.exact {
            break;
        }
    }
    Ok(proved)
}

/// How agents find an assignment.
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

/// What the agents did: messages, entries, entries of the largest one, cycles.
type Sent = (u64, u64, u64, Option<u64>);

fn distributed(
    network: &model::Network,
    algorithm: Algorithm,
    limits: &Limits,
    local: LocalOptions,
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
        return Ok((proved, (0, 0, 0, None)));
    }
    if let Algorithm::Local(search) = algorithm {
        let initial: Vec<Option<u32>> = match network.agents() {
            Some(agents) => reducer.variables().iter().map(|&v| agents.initial[v as usize]).collect(),
            None => vec![None; problem.variables()],
        };
        let found = run_local(&problem, search, &initial, local, stop)?;
        proved.offer(network, reducer.lift(&found.assignment));
        return Ok((proved, (found.messages, found.message_entries, 0, Some(found.cycles))));
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
    let found = run_levels(&problem, plan, None, stop)?;
    proved.lower = Some(found.lower);
    proved.offer(network, reducer.lift(&found.assignment));
    Ok((proved, (2 * traffic.util_messages, traffic.util_entries, traffic.largest_util_entries, None)))
}

#[pymethods]
impl Network {
    /// Proves a bound by inference alone.
    #[pyo3(signature = (method = "auto", z = None, *, time = 60.0, memory = None, spill = 0, device = "auto"))]
    #[allow(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn bound(
        &self,
        py: Python<'_>,
        method: &str,
        z: Option<u32>,
        time: f64,
        memory: Option<u64>,
        spill: u64,
        device: &str,
    ) -> PyResult<Bound> {
        let network = self.built(py)?;
        let (choice, z) = (self::method(method)?, z.map(|z| z.max(1)));
        let mut options = BounderOptions::default();
        (options.choice, options.z, options.spill) = (choice, z, spill);
        options.memory = memory.unwrap_or(options.memory);
        let (own, device, stop) = (network.clone(), one_device(device)?, Stop::new());
        let clock = Clock::start(Instant::now(), duration(time)?, &stop);
        let proved = wait(py, &stop, move |stop| prove(&own, options, device, stop));
        drop(clock);
        Ok(Bound { network, proved: proved? })
    }

    /// Solves the problem as agents would, each of which owns a variable.
    #[pyo3(signature = (algorithm = "dpop", *, z = None, cycles = 1000, seed = 1, time = 60.0, memory = None))]
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
    ) -> PyResult<Dcop> {
        let network = self.built(py)?;
        let algorithm = choice(algorithm, "algorithm", ALGORITHMS.into_iter())?;
        let limits = Limits::new(memory.unwrap_or_else(|| memory::available() / 2)).with(|limits| limits.z = z);
        let local = LocalOptions { cycles, seed, ..LocalOptions::default() };
        let (own, stop) = (network.clone(), Stop::new());
        let clock = Clock::start(Instant::now(), duration(time)?, &stop);
        let found = wait(py, &stop, move |stop| distributed(&own, algorithm, &limits, local, stop));
        drop(clock);
        let (proved, (messages, entries, largest_message, cycles)) = found?;
        Ok(Dcop { network, proved, messages, entries, largest_message, cycles })
    }
}
