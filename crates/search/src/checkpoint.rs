//! Checkpoints: the state of a run, from which a later run or another process continues.
//!
//! A [`Keeper`] receives checkpoints of a run and may return checkpoints of other processes. To add a way to store or
//! exchange them, implement [`Keeper`] and put it into [`Keeping`].

use crate::certificate::digest;
use crate::check;
use crate::core::driver::DriverState;
use crate::error::Error;
use crate::files;
use crate::memory;
use crate::model::{Cost, Network, Number};
use crate::stop::Stop;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The name of the format that is written and read.
const FORMAT: &str = "fangs checkpoint 1";
/// The largest file that is read, in bytes: a hundred assignments of 40 million variables.
const LARGEST: u64 = 1 << 33;

/// A checkpoint of a run. Costs are in the units of the network as read, and assignments are value indices in file
/// order. A run on another device, with another number of threads or with other reductions can therefore continue from
/// it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    /// The name of the format.
    pub format: String,
    /// The version of the program that wrote it.
    pub version: String,
    /// The instance's name, for display.
    pub instance: String,
    /// The [`digest`] of the network, which identifies it.
    pub network: String,
    /// Whether larger is better in the file's convention.
    pub maximise: bool,
    /// Seed of the run.
    pub seed: u64,
    /// Seconds used, including those of the runs that this run continues.
    pub time_s: f64,
    /// Driver rounds done.
    pub rounds: u64,
    /// Assignments that changed a value.
    pub moves: u64,
    /// Candidate values evaluated.
    pub ratings: u64,
    /// The incumbent.
    pub solution: Option<Found>,
    /// The best lower bound, in the network's units, which are minimised.
    pub bound: Proved,
    /// The best different assignments of the pool that drivers share, best first. Some may violate hard functions.
    pub elites: Vec<Vec<u32>>,
    /// The state from which each driver continues, by the driver's name.
    pub drivers: BTreeMap<String, DriverState>,
}

/// A solution and its origin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Found {
    /// Cost of the solution in the file's convention.
    pub value: Number,
    /// The driver or step that found it.
    pub source: String,
    /// Seconds from the run's origin until it was found.
    pub time_s: f64,
    /// Value indices in file order.
    pub values: Vec<u32>,
}

/// A lower bound and its origin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proved {
    /// Lower bound on the cost of all assignments, in the units of the network.
    pub cost: Cost,
    /// The bound in the file's convention; `None` if it is not a number.
    pub value: Option<Number>,
    /// The step that proved the bound.
    pub source: String,
}

/// How much of a run's state a [`Keeper`] wants.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// Largest number of elites.
    pub elites: usize,
    /// Whether the states of drivers are wanted.
    pub drivers: bool,
    /// Time limit for collecting the state. The best elites are collected first.
    pub time: Duration,
}

/// A destination of checkpoints and a source of those of other processes. No call waits for another process.
pub trait Keeper: Debug + Send + Sync {
    /// Returns how much of the state each checkpoint needs.
    fn extent(&self) -> Extent;

    /// Returns whether a checkpoint is wanted now. The run asks between rounds.
    fn is_due(&self) -> bool;

    /// Takes a checkpoint, which is the last one of the run if `is_end`.
    ///
    /// # Errors
    /// A message for the user; the run continues.
    fn keep(&self, checkpoint: Checkpoint, is_end: bool) -> Result<(), String>;

    /// Returns the checkpoints of the same network that other processes have sent since the last call.
    fn news(&self) -> Vec<Checkpoint> {
        Vec::new()
    }

    /// Like [`Keeper::news`], but called after the run has ended in this process: it may wait a moment for other
    /// processes.
    fn last_news(&self) -> Vec<Checkpoint> {
        self.news()
    }

    /// Returns messages for the user since the last call.
    fn troubles(&self) -> Vec<String> {
        Vec::new()
    }
}

/// What a run stores and exchanges, and the checkpoint that it continues from.
#[derive(Clone, Debug, Default)]
pub struct Keeping {
    network: Arc<str>,
    /// The destinations of checkpoints.
    pub keepers: Vec<Arc<dyn Keeper>>,
    resumed: Option<Arc<Resumed>>,
}

/// A checkpoint that fits the network.
#[derive(Debug)]
pub struct Resumed {
    /// The checkpoint as it was read.
    pub checkpoint: Checkpoint,
    /// The recomputed cost of the checkpoint's solution; `None` if it has no solution.
    pub upper: Option<Cost>,
}

impl Keeping {
    /// Returns a configuration for `network` without keepers and without a checkpoint to continue from. Computes the
    /// network's digest.
    pub fn of(network: &Network) -> Keeping {
        Keeping { network: digest(network).into(), ..Keeping::default() }
    }

    /// Returns the digest of the network.
    pub fn network(&self) -> &Arc<str> {
        &self.network
    }

    /// Adds a destination of checkpoints.
    pub fn keep(mut self, keeper: Arc<dyn Keeper>) -> Keeping {
        self.keepers.push(keeper);
        self
    }

    /// Sets the checkpoint that the run continues from.
    ///
    /// # Errors
    /// [`Error::Usage`] if the checkpoint belongs to another network or its numbers contradict each other.
    pub fn resume(mut self, checkpoint: Checkpoint, network: &Network) -> Result<Keeping, Error> {
        checkpoint.fits(network, &self.network).map_err(Error::Usage)?;
        let upper = checkpoint.upper(network).map_err(Error::Usage)?;
        self.resumed = Some(Resumed { checkpoint, upper }.into());
        Ok(self)
    }

    /// Returns the checkpoint that the run continues from, if there is one.
    pub fn resumed(&self) -> Option<&Resumed> {
        self.resumed.as_deref()
    }

    /// Returns the seconds that the runs before this one have used.
    pub fn time_s(&self) -> f64 {
        self.resumed().map_or(0.0, |resumed| resumed.checkpoint.time_s)
    }
}

impl Checkpoint {
    /// Returns a checkpoint without a solution, bound or elites; the caller fills in the fields.
    pub fn new(instance: &str, network: &str) -> Checkpoint {
        Checkpoint {
            format: FORMAT.into(),
            version: crate::VERSION.into(),
            instance: instance.into(),
            network: network.into(),
            maximise: false,
            seed: 0,
            time_s: 0.0,
            rounds: 0,
            moves: 0,
            ratings: 0,
            solution: None,
            bound: Proved { cost: 0, value: None, source: String::new() },
            elites: Vec::new(),
            drivers: BTreeMap::new(),
        }
    }

    /// Returns whether this checkpoint has the same bound, solution and elites as `other`, which other processes
    /// already have.
    pub fn is_no_news_after(&self, other: &Checkpoint) -> bool {
        self.bound.cost == other.bound.cost && self.elites == other.elites && self.values() == other.values()
    }

    fn values(&self) -> Option<&[u32]> {
        self.solution.as_ref().map(|found| &found.values[..])
    }

    /// Returns the text of a checkpoint file: one line of JSON and its SHA-256.
    ///
    /// # Errors
    /// [`Error::Internal`] if serialisation fails, for which no cause is known.
    pub fn to_text(&self) -> Result<String, Error> {
        let body = serde_json::to_string(self).map_err(|error| Error::Internal(format!("checkpoint: {error}")))?;
        Ok(files::sealed(&body))
    }

    /// Parses the text of a checkpoint file.
    ///
    /// # Errors
    /// A message that states what is missing, changed or malformed.
    pub fn from_text(text: &str) -> Result<Self, String> {
        let body = files::unsealed(text)?;
        // the format comes first, because another version may have other fields
        #[derive(Deserialize)]
        struct Head {
            format: String,
        }
        let read = |error: serde_json::Error| format!("no checkpoint: column {}: {error}", error.column());
        let Head { format } = serde_json::from_str(body).map_err(read)?;
        if format != FORMAT {
            return Err(format!("its format is {format:?}, this program reads {FORMAT:?}"));
        }
        let checkpoint: Checkpoint = serde_json::from_str(body).map_err(read)?;
        match checkpoint.time_s >= 0.0 && checkpoint.time_s < Duration::MAX.as_secs_f64() {
            true => Ok(checkpoint),
            false => Err(format!("{} seconds is no time", checkpoint.time_s)),
        }
    }

    /// Reads a checkpoint file.
    ///
    /// # Errors
    /// The file cannot be read, is not a regular file, is not a checkpoint, or was changed or truncated.
    pub fn read(path: &Path, stop: &Stop) -> Result<Self, Error> {
        let text = files::read_regular_text(path, LARGEST.min(memory::available() / 4), stop)?;
        Checkpoint::from_text(&text).map_err(|what| Error::Usage(format!("{}: {what}", crate::terminal::path(path))))
    }

    /// Checks that the checkpoint belongs to `network`, whose digest is `digest`.
    ///
    /// # Errors
    /// A message that states what does not fit.
    pub fn fits(&self, network: &Network, digest: &str) -> Result<(), String> {
        if self.network != digest {
            let other = self.network.get(..12).unwrap_or(&self.network);
            return Err(format!(
                "the checkpoint is of another network: {} ({other}…), this one is {}…",
                self.instance,
                digest.get(..12).unwrap_or(digest)
            ));
        }
        let fits = |values: &Vec<u32>| {
            let domains = network.domains();
            values.len() == domains.len() && values.iter().zip(domains).all(|(value, domain)| value < domain)
        };
        let states = self.drivers.values().flat_map(|state| state.population.iter().chain(&state.archive));
        let all = self.solution.iter().map(|found| &found.values).chain(&self.elites).chain(states);
        match all.into_iter().all(fits) {
            true => Ok(()),
            false => Err("it has an assignment that does not fit the network".into()),
        }
    }

    /// Returns the recomputed cost of the checkpoint's solution; `None` if it has no solution.
    ///
    /// # Errors
    /// A message if the stored value differs from the recomputed one, or if the bound exceeds the solution's cost.
    pub fn upper(&self, network: &Network) -> Result<Option<Cost>, String> {
        let Some(found) = &self.solution else { return Ok(None) };
        let evaluation = check::evaluate(network, &found.values);
        let value = evaluation.is_solution().then(|| evaluation.value(network, &found.values)).flatten();
        if value != Some(found.value) {
            let value = value.map_or("is none".into(), |value| format!("has {value}"));
            return Err(format!("its solution of value {} {value}", found.value));
        }
        if self.bound.cost > evaluation.cost {
            return Err(format!("its bound is above the cost of its own solution, {}", found.value));
        }
        Ok(Some(evaluation.cost))
    }
}
