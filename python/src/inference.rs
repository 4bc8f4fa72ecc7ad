//! Sums over all assignments, bounds and decisions.

use crate::error::{raised, usage, warn};
use crate::names::Names;
use crate::network::Network;
use crate::options::{choice, duration, one_device};
use crate::wait::wait;
use fangs_base::error::Error;
use fangs_base::memory;
use fangs_base::stop::Stop;
use fangs_decide::{Device, Method, Options as Limits, Solution, solve_diagram, solve_idid, solve_pomdp};
use fangs_elimination::elimination::Gpu;
use fangs_formats::{self as formats, Decision as Problem, DecisionFormat, Source};
use fangs_marginals::{Bounded, Evidence, MapBounds, Options, Prepared, PreparedMap, SumBounds, Sums, first_bound};
use fangs_model::model::Network as Model;
use fangs_search::{Clock, seek};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// The sum over all assignments and the posteriors.
#[pyclass(frozen, module = "fangs")]
pub struct Marginals {
    /// The natural logarithm of the sum of all products; None if only bounds are known.
    #[pyo3(get)]
    ln_z: Option<f64>,
    /// Largest absolute error of the logarithm.
    #[pyo3(get)]
    error_bound: Option<f64>,
    /// Largest relative error of a posterior.
    #[pyo3(get)]
    posterior_error: Option<f64>,
    /// Lower and upper bound on the logarithm of the sum.
    #[pyo3(get)]
    bounds: (f64, f64),
    /// A dict from variables, by name, to arrays of shape (domain,), which sum to 1. Empty if only bounds are known.
    #[pyo3(get)]
    posteriors: Py<PyDict>,
    /// The device that computed the sum: `cpu` or `cuda:0`.
    #[pyo3(get)]
    device: String,
}

#[pymethods]
impl Marginals {
    /// The posterior of a variable by its name, shape (domain,).
    fn __getitem__(&self, py: Python<'_>, key: &str) -> PyResult<Py<PyAny>> {
        let found = self.posteriors.bind(py).get_item(key)?.map(Bound::unbind);
        found.ok_or_else(|| usage(format!("there is no posterior of `{}`", key.escape_debug())))
    }

    fn __repr__(&self) -> String {
        match self.ln_z {
            Some(ln_z) => format!("Marginals(ln_z={ln_z})"),
            None => format!("Marginals(bounds={:?})", self.bounds),
        }
    }
}

impl Marginals {
    /// Converts a sum, or bounds on it, to Python.
    fn of(py: Python<'_>, network: &Model, sums: Sums) -> PyResult<Marginals> {
        let posteriors = PyDict::new(py);
        Ok(match sums {
            Sums::Bounds(Bounded { bounds: SumBounds { lower, upper, open_parts, .. }, .. }) => Marginals {
                ln_z: (open_parts == 0).then_some(lower / 2.0 + upper / 2.0),
                error_bound: (open_parts == 0).then_some(upper - lower),
                posterior_error: None,
                bounds: (lower, upper),
                posteriors: posteriors.unbind(),
                device: "cpu".into(),
            },
            Sums::Exact(found) => {
                warn(py, found.trouble.as_slice())?;
                for (variable, posterior) in found.posteriors.iter().enumerate() {
                    if let Some(posterior) = posterior {
                        posteriors.set_item(network.variable_name(variable), PyArray1::from_slice(py, posterior))?;
                    }
                }
                let (ln_z, error) = (found.ln_z, found.error_bound);
                Marginals {
                    ln_z: Some(ln_z),
                    error_bound: Some(error),
                    posterior_error: Some(found.posterior_error),
                    bounds: (ln_z - error, ln_z + error),
                    posteriors: posteriors.unbind(),
                    device: found.device.unwrap_or_else(|| "cpu".into()),
                }
            }
        })
    }
}

#[pymethods]
impl Network {
    /// The sum over all assignments of the product of all potentials, and the posterior of each variable.
    #[pyo3(signature = (
        evidence = None, *, variables = None, temperature = 1.0, memory = None, time = None, device = "auto"
    ))]
    #[allow(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn marginals(
        &self,
        py: Python<'_>,
        evidence: Option<&Bound<'_, PyAny>>,
        variables: Option<Vec<Bound<'_, PyAny>>>,
        temperature: f64,
        memory: Option<u64>,
        time: Option<f64>,
        device: &str,
    ) -> PyResult<Marginals> {
        let network = self.built(py)?;
        let (evidence, options) = asked(py, &network, evidence, memory)?;
        let names = Names::new(network.variables());
        let wanted = variables.map(|all| all.iter().map(|key| names.variable(key)).collect()).transpose()?;
        let device = one_device(device)?;
        let (stop, limit) = (Stop::new(), time.map(duration).transpose()?.flatten());
        let options = options.with(|options| (options.variables, options.seek) = (wanted, limit.map(seek)));
        let (own, begun) = (network.clone(), Instant::now());
        let latest = Arc::new(Mutex::new(None::<SumBounds>));
        let told = latest.clone();
        let sums = wait(py, &stop, move |stop| {
            let potentials = formats::potentials_of(&own, temperature)?;
            let mut tell = |bounds: &SumBounds| {
                let mut last = told.lock().unwrap_or_else(PoisonError::into_inner);
                *last = Some(last.map_or(*bounds, |last| last.and(*bounds)));
            };
            if limit.is_some() {
                tell(&first_bound(&potentials, &evidence, &options, stop)?);
            }
            // the first bound may take longer than the limit
            let clock = Clock::start(begun, limit, stop);
            let deadline = clock.deadline();
            let mut prepared = Prepared::new(&potentials, &evidence, &options, stop)?;
            let (entries, needed) = (prepared.tree().clique_entries as f64, prepared.tree().bytes);
            let allowed = options.memory.unwrap_or(0);
            let gpu = Gpu::of(&device, entries, needed > allowed, stop)?;
            gpu.into_iter().for_each(|gpu| prepared.use_device(gpu));
            deadline.into_iter().for_each(|deadline| prepared.end_at(deadline));
            let found = prepared.run_within(&potentials, &evidence, &options, stop, &mut tell);
            found.map_err(|error| match error {
                Error::Memory(what) if deadline.is_none() => {
                    Error::Memory(format!("{what} (with time=… they are summed in slices or bounded)"))
                }
                error => error,
            })
        });
        let sums = match (sums, *latest.lock().unwrap_or_else(PoisonError::into_inner)) {
            (Err(error), Some(last)) if !error.is_instance_of::<pyo3::exceptions::PyKeyboardInterrupt>(py) => {
                Sums::Bounds(last.into())
            }
            (Ok(Sums::Bounds(found)), Some(last)) => Sums::Bounds(Bounded { bounds: found.bounds.and(last), ..found }),
            (sums, _) => sums?,
        };
        Marginals::of(py, &network, sums)
    }

    /// Marginal MAP: the values of some variables for which the sum over all others is largest, and its logarithm.
    #[pyo3(signature = (variables, evidence = None, *, temperature = 1.0, memory = None, time = None))]
    #[allow(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn marginal_map(
        &self,
        py: Python<'_>,
        variables: Vec<Bound<'_, PyAny>>,
        evidence: Option<&Bound<'_, PyAny>>,
        temperature: f64,
        memory: Option<u64>,
        time: Option<f64>,
    ) -> PyResult<LargestSum> {
        let network = self.built(py)?;
        let (evidence, options) = asked(py, &network, evidence, memory)?;
        let names = Names::new(network.variables());
        let wanted: Vec<u32> = variables.iter().map(|key| names.variable(key)).collect::<PyResult<_>>()?;
        let (stop, limit) = (Stop::new(), time.map(duration).transpose()?.flatten());
        let (own, maximised, begun) = (network.clone(), wanted.clone(), Instant::now());
        let found = wait(py, &stop, move |stop| {
            let potentials = formats::potentials_of(&own, temperature)?;
            // the first bound may take longer than the limit
            let first = limit.map(|_| first_bound(&potentials, &evidence, &options, stop)).transpose()?;
            let _clock = Clock::start(begun, limit, stop);
            let found =
                PreparedMap::new(&potentials, &evidence, &maximised, &options, stop).and_then(
                    |prepared| match prepared.run(stop) {
                        Err(Error::Memory(_)) if limit.is_some() => prepared.bound(stop, &mut |_| {}),
                        Err(Error::Memory(what)) => Err(Error::Memory(format!("{what} (with time=… it is bounded)"))),
                        exact => exact.map(MapBounds::from),
                    },
                );
            match (found, first) {
                (Err(Error::Stopped), Some(first)) => Ok(first.into()),
                (Ok(found), Some(first)) => Ok(MapBounds { bounds: found.bounds.and(first), ..found }),
                (found, _) => found,
            }
        });
        let MapBounds { bounds, values, checked, .. } = found?;
        let assignment = PyDict::new(py);
        for (&v, value) in wanted.iter().zip(values) {
            assignment.set_item(network.variable_name(v as usize), network.value_name(v as usize, value))?;
        }
        let SumBounds { lower, upper, open_parts, .. } = bounds;
        let exact = open_parts == 0;
        let ln_value = if exact && lower.is_finite() { lower / 2.0 + upper / 2.0 } else { lower };
        Ok(LargestSum { assignment: assignment.unbind(), ln_value, bounds: (lower, upper), exact, checked })
    }
}

/// The result of marginal MAP: values of some variables for which the sum over all others is largest.
#[pyclass(frozen, module = "fangs")]
pub struct LargestSum {
    /// A dict from the variables, by name, to values. Empty if no sum above 0 is known.
    #[pyo3(get)]
    assignment: Py<PyDict>,
    /// The natural logarithm of the sum for these values; a lower bound on it unless `exact`.
    #[pyo3(get)]
    ln_value: f64,
    /// Lower and upper bound on the logarithm of the largest sum.
    #[pyo3(get)]
    bounds: (f64, f64),
    /// Whether no other values have a larger sum.
    #[pyo3(get)]
    exact: bool,
    /// Whether the checker recomputed the sum.
    #[pyo3(get)]
    checked: bool,
}

#[pymethods]
impl LargestSum {
    /// The assignment and its logarithm: `values, logarithm = net.marginal_map([0])`.
    fn __iter__(&self, py: Python<'_>) -> PyResult<Py<PyIterator>> {
        Ok((self.assignment.clone_ref(py), self.ln_value).into_pyobject(py)?.try_iter()?.unbind())
    }

    fn __repr__(&self) -> String {
        format!("LargestSum(ln_value={}, bounds={:?})", self.ln_value, self.bounds)
    }
}

/// Returns the evidence by index, and options with a limit on memory.
fn asked(
    py: Python<'_>,
    network: &fangs_model::model::Network,
    evidence: Option<&Bound<'_, PyAny>>,
    memory: Option<u64>,
) -> PyResult<(Evidence, Options)> {
    let names = Names::new(network.variables());
    let mut found = Evidence::default();
    if let Some(evidence) = evidence {
        found.values = names.observations(py, evidence)?.pairs();
    }
    let memory = memory.unwrap_or_else(|| memory::available() / 2);
    Ok((found, Options::default().with(|options| options.memory = Some(memory))))
}

/// A policy and its expected utility.
#[pyclass(frozen, module = "fangs")]
pub struct Decision {
    solution: Solution,
    /// The device that computed some of it: `cpu` or `cuda:0`.
    #[pyo3(get)]
    device: String,
}

#[pymethods]
impl Decision {
    /// `id`, `limid`, `pomdp` or `idid`.
    #[getter]
    fn kind(&self) -> &'static str {
        self.solution.kind
    }

    /// The method that found the value.
    #[getter]
    fn method(&self) -> &'static str {
        self.solution.method.name()
    }

    /// The expected utility of the policy.
    #[getter]
    fn meu(&self) -> Option<f64> {
        self.solution.meu
    }

    /// Upper bound on the expected utility of every policy, up to `error_bound`.
    #[getter]
    fn bound(&self) -> Option<f64> {
        self.solution.bound
    }

    /// Whether no policy is better.
    #[getter]
    fn exact(&self) -> bool {
        self.solution.exact
    }

    /// Largest difference of the value from that of exact arithmetic.
    #[getter]
    fn error_bound(&self) -> f64 {
        self.solution.error_bound
    }

    /// The first decisions and their values, if they depend on no observation.
    #[getter]
    fn first_decision<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        self.solution.first_decision.iter().try_for_each(|(name, value)| dict.set_item(name, value))?;
        Ok(dict)
    }

    /// The policy as plain data, in the form of the command's JSON file.
    #[getter]
    fn policy(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        let Some(policy) = &self.solution.policy else { return Ok(None) };
        let text = serde_json::to_string(policy).map_err(|error| raised(Error::Internal(error.to_string())))?;
        Ok(Some(py.import("json")?.call_method1("loads", (text,))?.unbind()))
    }

    fn __repr__(&self) -> String {
        let Solution { kind, meu, exact, .. } = &self.solution;
        format!("Decision({kind}, meu={}, exact={exact})", meu.map_or("None".into(), |meu| meu.to_string()))
    }
}

/// Finds the policy of the largest expected utility: of an influence diagram, a POMDP, or two agents.
#[pyfunction]
#[pyo3(signature = (
    path, *, format = None, method = "auto", horizon = None, discount = None, time = 60.0, memory = None,
    device = "auto"
))]
#[allow(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub fn decide(
    py: Python<'_>,
    path: PathBuf,
    format: Option<&str>,
    method: &str,
    horizon: Option<usize>,
    discount: Option<f64>,
    time: f64,
    memory: Option<u64>,
    device: &str,
) -> PyResult<Decision> {
    let format: Option<DecisionFormat> = format.map(str::parse).transpose().map_err(raised)?;
    let mut options =
        Limits { method: choice(method, "method", Method::ALL.into_iter())?, horizon, discount, ..Limits::default() };
    options.memory = memory.unwrap_or(options.memory);
    let (opening, troubles) = (one_device(device)?, Arc::new(Mutex::new(Vec::new())));
    let heard = troubles.clone();
    let tell = move |text: &str| heard.lock().unwrap_or_else(PoisonError::into_inner).push(String::from(text));
    let device = Arc::new(Device::new(opening.clone(), tell));
    options.device = device.clone();
    let stop = Stop::new();
    let clock = Clock::start(Instant::now(), duration(time)?, &stop);
    let latest: Arc<Mutex<Option<Solution>>> = Arc::default();
    let told = latest.clone();
    let solved = wait(py, &stop, move |stop| {
        let (decision, warnings) = formats::read_decision(&Source::File(path), format, stop)?;
        if opening.choice().is_named() {
            drop(opening.wait(stop)?);
        }
        let mut tell =
            |solution: &Solution| *told.lock().unwrap_or_else(PoisonError::into_inner) = Some(solution.clone());
        let solved = match &decision {
            Problem::Diagram(diagram) => solve_diagram(diagram, &options, stop, &mut tell),
            Problem::Pomdp(pomdp) => solve_pomdp(pomdp, &options, stop, &mut tell),
            Problem::Idid(idid) => solve_idid(idid, &options, stop, &mut tell),
        };
        Ok((solved, warnings))
    });
    drop(clock);
    let (solved, warnings) = solved?;
    warn(py, &warnings)?;
    warn(py, &troubles.lock().unwrap_or_else(PoisonError::into_inner))?;
    // the best policy before the time limit
    let last = latest.lock().unwrap_or_else(PoisonError::into_inner).take();
    let solution = solved.or_else(|error| last.ok_or(error)).map_err(raised)?;
    Ok(Decision { solution, device: device.name() })
}
