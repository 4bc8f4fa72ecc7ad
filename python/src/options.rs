//! The options of a run from the arguments of Python.

use crate::error::{raised, usage};
use crate::names::Names;
use fangs_base::error::Error;
use fangs_base::stop::Stop;
use fangs_device::{Choice, Opening};
use fangs_heuristics::{self as heuristics, FromCuda, FromFile, ValueHeuristic};
use fangs_model::model::Network;
use fangs_report::Keepers;
use fangs_search::{BoundChoice, DriverChoice, Options, StopRule};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyMapping, PyTuple};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Time limit in seconds if neither time nor rounds are given, equal to the command's.
const DEFAULT_TIME: f64 = 60.0;

/// The keyword arguments of `solve`.
pub struct Arguments<'py> {
    pub time: Option<f64>,
    pub rounds: Option<u64>,
    pub seed: u64,
    pub gap: Option<f64>,
    pub target: Option<f64>,
    pub stall: Option<f64>,
    pub diminishing: bool,
    pub device: String,
    pub threads: Option<usize>,
    pub population: Option<usize>,
    pub warm_starts: Option<Bound<'py, PyAny>>,
    pub heuristic: Option<PathBuf>,
    pub driver: String,
    pub bound: String,
    pub z: Option<u32>,
    pub bound_memory: Option<u64>,
    pub spill: Option<u64>,
    pub reduce: bool,
    pub files: Files,
}

/// Checkpoint files, the checkpoint to resume from, and the folder of an exchange.
pub struct Files {
    pub checkpoint: Option<PathBuf>,
    pub checkpoint_every: f64,
    pub resume: Option<PathBuf>,
    pub exchange: Option<PathBuf>,
}

/// Converts a time limit in seconds; infinity is no limit.
pub fn duration(seconds: f64) -> PyResult<Option<Duration>> {
    if seconds == f64::INFINITY { Ok(None) } else { finite_duration("time", seconds).map(Some) }
}

fn finite_duration(what: &str, seconds: f64) -> PyResult<Duration> {
    let time = Duration::try_from_secs_f64(seconds);
    time.map_err(|error| usage(format!("{what}={seconds}: seconds are expected: {error}")))
}

/// Checks that a number is finite.
pub fn finite(number: Option<f64>, what: &str) -> PyResult<Option<f64>> {
    match number {
        Some(number) if !number.is_finite() => Err(usage(format!("{what}={number}: a number is expected"))),
        number => Ok(number),
    }
}

/// Returns a bound method by its name.
pub fn method(name: &str) -> PyResult<BoundChoice> {
    choice(name, "bound", BoundChoice::all())
}

/// Returns the choice with a name.
pub fn choice<T>(name: &str, what: &str, all: impl Iterator<Item = (&'static str, T)>) -> PyResult<T> {
    let mut names = Vec::new();
    for (known, choice) in all {
        if known == name {
            return Ok(choice);
        }
        names.push(known);
    }
    Err(usage(format!("{what}={name:?}: expected one of {}", names.join(", "))))
}

/// Parses one or several devices.
pub fn device(name: &str) -> PyResult<Choice> {
    name.parse().map_err(|expected: String| usage(format!("device={name:?}: {expected}")))
}

/// Returns the device for work on a single device. A device that was named starts to open.
pub fn one_device(name: &str) -> PyResult<Opening> {
    let choice = Choice::of_one(name).map_err(|expected| usage(format!("device={name:?}: {expected}")))?;
    Ok(if choice.is_named() { Opening::start(choice) } else { Opening::new(choice) })
}

impl Arguments<'_> {
    /// Returns the options of a run of a network.
    pub fn options(&self, py: Python<'_>, network: &Network) -> PyResult<Options> {
        let time = match (self.time, self.rounds) {
            (Some(time), _) => duration(time)?,
            (None, Some(_)) => None,
            (None, None) => duration(DEFAULT_TIME)?,
        };
        let mut options = Options { time, ..Options::default() };
        options.rounds = self.rounds;
        options.seed = self.seed;
        options.gap = finite(self.gap, "gap")?;
        options.target = finite(self.target, "target")?.map(Into::into);
        let stall = self.stall.map(|time| finite_duration("stall", time)).transpose()?;
        options.stop = stall.map(StopRule::Stall).into_iter().collect();
        options.stop.extend(self.diminishing.then_some(StopRule::Diminishing));
        options.threads = self.threads;
        options.population = self.population;
        options.driver =
            choice(&self.driver, "driver", DriverChoice::all().map(|(choice, _)| (choice.name(), choice)))?;
        options.bound = method(&self.bound)?;
        options.z = self.z;
        options.bound_memory = self.bound_memory;
        options.spill = self.spill;
        options.reduce = self.reduce;
        options.warm_starts = starts(self.warm_starts.as_ref(), network)?;
        options.heuristic = self.heuristic.as_deref().map(|name| heuristic(name, network)).transpose()?;
        if self.files.exchange.is_some() && self.rounds.is_some() {
            return Err(usage(
                "exchange=… and rounds=… exclude each other: what comes from others depends on the clock",
            ));
        }
        let every = finite_duration("checkpoint_every", self.files.checkpoint_every)?;
        let files = &self.files;
        options.keeping = py.detach(|| files.keepers(every)?.of(network)).map_err(raised)?;
        options.device = Opening::start(device(&self.device)?);
        Ok(options)
    }
}

impl Files {
    fn keepers(&self, every: Duration) -> Result<Keepers, Error> {
        let mut keepers = Keepers::default();
        self.resume.iter().try_for_each(|path| keepers.resume(path, &Stop::new()))?;
        self.checkpoint.iter().try_for_each(|path| keepers.write(path, every))?;
        self.exchange.iter().for_each(|folder| keepers.exchange(folder));
        Ok(keepers)
    }
}

/// Converts one start, or a list of them, each a dict or an array.
fn starts(starts: Option<&Bound<'_, PyAny>>, network: &Network) -> PyResult<Vec<Vec<Option<u32>>>> {
    let Some(starts) = starts else { return Ok(Vec::new()) };
    let names = Names::new(network.variables());
    let is_list = starts.is_instance_of::<PyList>() || starts.is_instance_of::<PyTuple>();
    let is_one = starts.cast::<PyMapping>().is_ok()
        || (is_list && starts.get_item(0).is_ok_and(|first| first.extract::<i64>().is_ok()))
        || starts.getattr("ndim").and_then(|ndim| ndim.extract::<usize>()).is_ok_and(|ndim| ndim == 1);
    if is_one {
        return Ok(vec![names.part(starts)?]);
    }
    starts.try_iter()?.map(|start| names.part(&start?)).collect()
}

/// Returns the heuristic with a name, in a file, or defined by a text.
fn heuristic(name: &Path, network: &Network) -> PyResult<Arc<dyn ValueHeuristic>> {
    let text = name.to_string_lossy();
    if let Some(known) = heuristics::find(&text) {
        return Ok(known);
    }
    let stop = Stop::new();
    if text.contains('=') {
        return Ok(Arc::new(FromFile::parse("<heuristic>", &text, network).map_err(raised)?));
    }
    if !text.contains(['.', '/']) {
        let (names, hint) = heuristics::meant(&text);
        let hint = hint.map_or_else(String::new, |hint| format!("; {hint}"));
        return Err(usage(format!("heuristic={text:?}: expected a file, TOML text, or one of {names}{hint}")));
    }
    match name.extension().is_some_and(|extension| extension == "cuh") {
        true => Ok(Arc::new(FromCuda::read(name, &stop).map_err(raised)?)),
        false => Ok(Arc::new(FromFile::read(name, network, &stop).map_err(raised)?)),
    }
}
