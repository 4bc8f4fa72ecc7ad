//! The class of networks.

use crate::draft::Draft;
use crate::error::{raised, usage};
use crate::event::number;
use crate::names::{Names, named};
use crate::options::{Arguments, Files};
use crate::run::Run;
use crate::tables::{Numbers, integers};
use crate::wait::wait;
use fangs_base::error::Error;
use fangs_base::stop::Stop;
use fangs_bounds::reduce::{Reducer, Size};
use fangs_check as check;
use fangs_formats::convert::convert;
use fangs_formats::{Format, ReadOptions};
use fangs_model::model::{self, Number, Variable, rounding};
use fangs_report::ReplacedFile;
use numpy::{PyArray1, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::PyDict;
use rayon::prelude::*;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// A network of cost functions over variables with finite domains.
#[pyclass(frozen, module = "fangs")]
pub struct Network {
    origin: Origin,
    inner: Mutex<Inner>,
}

/// The source of the variables, which do not change.
enum Origin {
    Read(Arc<model::Network>),
    Made(Arc<[Variable]>),
}

struct Inner {
    /// The draft that the network is built from; `None` if the network was read.
    draft: Option<Draft>,
    /// The built network, once it was needed.
    built: Option<Arc<model::Network>>,
}

impl Inner {
    /// Returns the draft for additions, and discards the built network.
    fn draft(&mut self) -> std::result::Result<&mut Draft, Error> {
        let built = self.built.take();
        let draft = match (self.draft.take(), &built) {
            (Some(draft), _) => Ok(draft),
            (None, Some(network)) => Draft::over(network),
            (None, None) => Err(Error::Usage("there is no network".into())),
        };
        match draft {
            Ok(draft) => Ok(self.draft.insert(draft)),
            Err(error) => {
                self.built = built;
                Err(error)
            }
        }
    }

    fn built(&mut self) -> std::result::Result<Arc<model::Network>, Error> {
        let network = match (&self.built, &self.draft) {
            (Some(network), _) => network.clone(),
            (None, Some(draft)) => Arc::new(draft.build()?),
            (None, None) => return Err(Error::Usage("there is no network".into())),
        };
        self.built = Some(network.clone());
        Ok(network)
    }
}

impl Network {
    /// Wraps a network that was read.
    pub fn of(network: model::Network) -> Network {
        let network = Arc::new(network);
        let inner = Inner { draft: None, built: Some(network.clone()) };
        Network { origin: Origin::Read(network), inner: Mutex::new(inner) }
    }

    /// Returns the variables.
    pub fn variables(&self) -> &[Variable] {
        match &self.origin {
            Origin::Read(network) => network.variables(),
            Origin::Made(variables) => variables,
        }
    }

    /// Works on the mutable part. No Python code may run meanwhile, because another thread may wait for the lock.
    fn with<T: Send>(&self, py: Python<'_>, change: impl FnOnce(&mut Inner) -> T + Send) -> T {
        py.detach(|| change(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Adds to the draft, with numbers that Python owns.
    pub fn add_to<T>(
        &self,
        py: Python<'_>,
        add: impl FnOnce(&mut Draft) -> std::result::Result<T, Error>,
    ) -> PyResult<T> {
        let added = {
            let mut inner = self.inner.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
            inner.draft().and_then(add)
        };
        added.map_err(raised)
    }

    /// Returns the built network with some variables fixed.
    pub fn observed(&self, py: Python<'_>, evidence: Option<&Bound<'_, PyAny>>) -> PyResult<Arc<model::Network>> {
        let network = self.built(py)?;
        match evidence {
            None => Ok(network),
            Some(_) => Ok(Arc::new(crate::read::observe(py, (*network).clone(), evidence)?)),
        }
    }

    /// Returns the built network.
    pub fn built(&self, py: Python<'_>) -> PyResult<Arc<model::Network>> {
        self.with(py, Inner::built).map_err(raised)
    }
}

#[pymethods]
impl Network {
    #[new]
    #[pyo3(signature = (
        domains, names = None, values = None, *, decimals = None, maximize = false, top = None, name = "network"
    ))]
    #[allow(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn new(
        domains: &Bound<'_, PyAny>,
        names: Option<Vec<String>>,
        values: Option<Vec<Option<Vec<String>>>>,
        decimals: Option<u32>,
        maximize: bool,
        top: Option<f64>,
        name: &str,
    ) -> PyResult<Network> {
        let sizes: PyResult<Vec<u32>> = domains
            .try_iter()?
            .map(|size| {
                let size: i64 = size?.extract()?;
                u32::try_from(size)
                    .ok()
                    .filter(|&size| size > 0)
                    .ok_or_else(|| usage(format!("a domain of {size} values")))
            })
            .collect();
        let sizes = sizes?;
        let n = sizes.len();
        if let Some(decimals) = decimals.filter(|&decimals| decimals > rounding::MOST_DECIMALS) {
            return Err(usage(format!("decimals={decimals}: at most {} are kept", rounding::MOST_DECIMALS)));
        }
        if names.as_ref().is_some_and(|names| names.len() != n) || values.as_ref().is_some_and(|all| all.len() != n) {
            return Err(usage(format!("there are {n} domains: as many names are wanted, or none")));
        }
        let mut known = std::collections::HashSet::new();
        if let Some(twice) = names.iter().flatten().find(|name| !known.insert(name.as_str())) {
            return Err(usage(format!("two variables have the name `{}`", twice.escape_debug())));
        }
        let variable = |(place, domain): (usize, u32)| {
            let names = names.as_ref().map(|names| names[place].as_str().into());
            let values = values.as_ref().and_then(|all| all[place].as_ref());
            if let Some(values) = values.filter(|values| values.len() != domain as usize) {
                return Err(usage(format!("variable {place} has {domain} values and {} names of them", values.len())));
            }
            let values = values.map(|values| values.iter().map(|value| value.as_str().into()).collect());
            Ok(Variable { domain, name: names, values })
        };
        let variables = sizes.into_iter().enumerate().map(variable).collect::<PyResult<Vec<_>>>()?;
        let variables: Arc<[Variable]> = variables.into();
        let draft = Draft::new(name.into(), variables.clone(), decimals, maximize, top);
        let inner = Inner { draft: Some(draft), built: None };
        Ok(Network { origin: Origin::Made(variables), inner: Mutex::new(inner) })
    }

    /// Adds a function by the table of its costs; returns its number.
    fn add(&self, py: Python<'_>, scope: &Bound<'_, PyAny>, table: &Bound<'_, PyAny>) -> PyResult<usize> {
        let table = Numbers::of(table)?;
        let scope = Names::new(self.variables()).scope(scope)?;
        self.add_to(py, |draft| draft.add(scope, &table))
    }

    /// Adds many functions with the same number of variables; returns the number of the first.
    fn add_many(&self, py: Python<'_>, scopes: &Bound<'_, PyAny>, tables: &Bound<'_, PyAny>) -> PyResult<usize> {
        let tables = Numbers::of(tables)?;
        let scopes = match matrix(scopes, "variable", self.variables().len())? {
            Some(rows) => rows,
            None => {
                let names = Names::new(self.variables());
                scopes.try_iter()?.map(|scope| names.scope(&scope?)).collect::<PyResult<_>>()?
            }
        };
        self.add_to(py, |draft| draft.add_many(scopes, &tables))
    }

    /// Adds a function by the costs of some tuples of values; all other tuples have the default cost.
    #[pyo3(signature = (scope, tuples, costs, default = 0.0))]
    fn add_sparse(
        &self,
        py: Python<'_>,
        scope: &Bound<'_, PyAny>,
        tuples: &Bound<'_, PyAny>,
        costs: &Bound<'_, PyAny>,
        default: f64,
    ) -> PyResult<usize> {
        let costs = Numbers::of(costs)?;
        let names = Names::new(self.variables());
        let scope = names.scope(scope)?;
        let rows = match matrix(tuples, "value", u32::MAX as usize)? {
            Some(rows) => rows,
            None => {
                let value = |(&v, value): (&u32, PyResult<Bound<'_, PyAny>>)| names.value(v, &value?);
                let row = |tuple: PyResult<Bound<'_, PyAny>>| scope.iter().zip(tuple?.try_iter()?).map(value).collect();
                tuples.try_iter()?.map(row).collect::<PyResult<Vec<Vec<u32>>>>()?
            }
        };
        if let Some(row) = rows.iter().find(|row| row.len() != scope.len()) {
            return Err(usage(format!("a tuple has {} values, its scope {}", row.len(), scope.len())));
        }
        self.add_to(py, |draft| draft.add_sparse(scope, rows.concat(), &costs, default))
    }

    /// Domain sizes, shape (n,).
    #[getter]
    fn domains<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        PyArray1::from_iter(py, self.variables().iter().map(|variable| i64::from(variable.domain)))
    }

    /// Names of the variables: `x` and the index of those that have none.
    #[getter]
    fn names(&self) -> Vec<String> {
        let name = |(place, variable): (usize, &Variable)| match &variable.name {
            Some(name) => name.to_string(),
            None => format!("x{place}"),
        };
        self.variables().iter().enumerate().map(name).collect()
    }

    /// Names of the values of each variable, None if they have none.
    #[getter]
    fn values(&self) -> Vec<Option<Vec<String>>> {
        let names = |variable: &Variable| {
            variable.values.as_ref().map(|values| values.iter().map(ToString::to_string).collect())
        };
        self.variables().iter().map(names).collect()
    }

    /// The file or the name of the network.
    #[getter]
    fn name(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.built(py)?.name.clone())
    }

    /// Whether larger is better.
    #[getter]
    fn maximize(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.built(py)?.units().maximise)
    }

    /// Decimal digits of costs.
    #[getter]
    fn decimals(&self, py: Python<'_>) -> PyResult<u32> {
        Ok(self.built(py)?.units().decimals)
    }

    /// The number of functions.
    fn __len__(&self, py: Python<'_>) -> usize {
        self.with(py, |inner| match (&inner.draft, &inner.built) {
            (Some(draft), _) => draft.functions(),
            (None, Some(network)) => network.function_count(),
            (None, None) => 0,
        })
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let functions = self.__len__(py);
        let n = self.variables().len();
        format!("Network({n} variables, {functions} functions)")
    }

    /// The cost of an assignment, or of each row of a matrix of assignments.
    fn cost<'py>(&self, py: Python<'py>, assignment: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        let network = self.built(py)?;
        let (values, rows) = Names::new(network.variables()).all(assignment)?;
        let n = network.domains().len();
        let worst = if network.units().maximise { f64::NEG_INFINITY } else { f64::INFINITY };
        let cost = |row: &[u32]| {
            let evaluation = check::evaluate(&network, row);
            evaluation.value(&network, row).filter(|_| evaluation.is_solution())
        };
        let Some(rows) = rows else {
            let cost = py.detach(|| cost(&values));
            return match number(py, cost)? {
                Some(cost) => Ok(cost),
                None => Ok(worst.into_pyobject(py)?.into_any().unbind()),
            };
        };
        let row = |row: usize| cost(&values[row * n..(row + 1) * n]).map_or(worst, Number::as_f64);
        let costs: Vec<f64> = py.detach(|| (0..rows).into_par_iter().map(row).collect());
        Ok(PyArray1::from_vec(py, costs).into_any().unbind())
    }

    /// An assignment by names; variables and values without names keep their indices.
    fn assignment<'py>(&self, py: Python<'py>, assignment: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
        let network = self.built(py)?;
        let values = Names::new(network.variables()).whole(assignment)?;
        named(py, &network, &values)
    }

    /// An assignment by value indices, shape (n,).
    fn indices<'py>(&self, py: Python<'py>, assignment: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let values = Names::new(self.variables()).whole(assignment)?;
        Ok(crate::event::array(py, &values))
    }

    /// Writes the network, in the format of the file's name or another one.
    #[pyo3(signature = (path, format = None))]
    fn write(&self, py: Python<'_>, path: PathBuf, format: Option<&str>) -> PyResult<()> {
        let network = self.built(py)?;
        let format = format.map_or_else(|| Format::of_path(&path), str::parse).map_err(raised)?;
        wait(py, &Stop::new(), move |stop| {
            let mut file = ReplacedFile::new(&path)?;
            let text = convert(&network, format, &ReadOptions::default(), &path, stop)?.text;
            file.write_to_end(text, stop)
        })
    }

    /// A description of the network before and after the exact reductions.
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let network = self.built(py)?;
        let units = *network.units();
        let dict = PyDict::new(py);
        dict.set_item("name", &network.name)?;
        dict.set_item("variables", network.variables().len())?;
        dict.set_item("functions", network.function_count())?;
        dict.set_item("decimals", units.decimals)?;
        dict.set_item("maximize", units.maximise)?;
        dict.set_item("precision_slack", units.precision_slack(None))?;
        let top = (network.top() < model::FORBIDDEN).then(|| units.number(network.top()));
        dict.set_item("top", number(py, top)?)?;
        dict.set_item("bound", number(py, network.bound(network.least()))?)?;
        let described = wait(py, &Stop::new(), move |stop| {
            let mut reducer = Reducer::new(&network, true, stop)?;
            reducer.merge_ties(stop);
            let problem = Arc::new(reducer.fitting_problem(stop)?);
            let method = fangs_elimination::order::Method::ALL.map(|(_, method)| method);
            let order = fangs_elimination::order::best_order(&problem, &method, 1, 1, stop);
            let report = reducer.report();
            Ok((Size::of(&network), report.after, report.components, reducer.infeasible(), order.width))
        })?;
        let (before, after, components, infeasible, width) = described;
        dict.set_item("functions_of_arity", before.functions)?;
        dict.set_item("entries", before.entries)?;
        dict.set_item("reduced_variables", after.variables)?;
        dict.set_item("reduced_functions_of_arity", after.functions)?;
        dict.set_item("reduced_entries", after.entries)?;
        dict.set_item("components", components)?;
        dict.set_item("infeasible", infeasible)?;
        dict.set_item("induced_width", width)?;
        Ok(dict)
    }

    /// Starts a run in the background.
    #[pyo3(signature = (
        *, evidence = None, time = None, rounds = None, seed = 1, gap = None, target = None, stall = None,
        diminishing = false, device = "auto", threads = None, population = None, warm_starts = None, heuristic = None,
        driver = "portfolio",
        bound = "auto", z = None, bound_memory = None, spill = None, reduce = true, checkpoint = None,
        checkpoint_every = 60.0, resume = None, exchange = None
    ))]
    #[allow(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn solve(
        &self,
        py: Python<'_>,
        evidence: Option<&Bound<'_, PyAny>>,
        time: Option<f64>,
        rounds: Option<u64>,
        seed: u64,
        gap: Option<f64>,
        target: Option<f64>,
        stall: Option<f64>,
        diminishing: bool,
        device: &str,
        threads: Option<usize>,
        population: Option<usize>,
        warm_starts: Option<Bound<'_, PyAny>>,
        heuristic: Option<PathBuf>,
        driver: &str,
        bound: &str,
        z: Option<u32>,
        bound_memory: Option<u64>,
        spill: Option<u64>,
        reduce: bool,
        checkpoint: Option<PathBuf>,
        checkpoint_every: f64,
        resume: Option<PathBuf>,
        exchange: Option<PathBuf>,
    ) -> PyResult<Run> {
        let network = self.observed(py, evidence)?;
        let (device, driver, bound) = (device.into(), driver.into(), bound.into());
        let arguments = Arguments {
            time,
            rounds,
            seed,
            gap,
            target,
            stall,
            diminishing,
            device,
            threads,
            population,
            warm_starts,
            heuristic,
            driver,
            bound,
            z,
            bound_memory,
            spill,
            reduce,
            files: Files { checkpoint, checkpoint_every, resume, exchange },
        };
        let options = arguments.options(py, &network)?;
        Ok(Run::start(network, options))
    }
}

/// Returns the rows of a matrix of indices; `None` if it is something else, such as names.
fn matrix(rows: &Bound<'_, PyAny>, what: &str, n: usize) -> PyResult<Option<Vec<Vec<u32>>>> {
    let Ok(array) = integers(rows) else { return Ok(None) };
    let &[_, width] = array.shape() else { return Ok(None) };
    let index = |&index: &i64| {
        let found = u32::try_from(index).ok().filter(|&index| (index as usize) < n);
        found.ok_or_else(|| usage(format!("there is no {what} {index}")))
    };
    let rows = array.as_slice()?.chunks_exact(width.max(1));
    rows.map(|row| row.iter().map(index).collect()).collect::<PyResult<_>>().map(Some)
}
