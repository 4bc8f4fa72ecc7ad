//! What is known of a run, for one that goes on from there: later, or in another process meanwhile.
//!
//! A [`Keeper`] takes checkpoints of a run, and may have those of others. To add a way to keep or to exchange them:
//! implement it, and put one into [`Keeping`].

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

/// The format that is written and read.
const FORMAT: &str = "fangs checkpoint 1";
/// The most bytes of a file that is read: a hundred assignments of 40 million variables.
const LARGEST: u64 = 1 << 33;

/// What is known of a run. Costs are in the units of the network as read, assignments are value indices in file order:
/// another device, another number of threads and other reductions may go on from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    /// The name of the format.
    pub format: String,
    /// The version of the program that wrote it.
    pub version: String,
    /// The instance's name, for display.
    pub instance: String,
    /// The network's identity: its [`digest`].
    pub network: String,
    /// Whether larger is better in the file's convention.
    pub maximise: bool,
    /// Seed of the run.
    pub seed: u64,
    /// Seconds used, those of the runs before it included.
    pub time_s: f64,
    /// Driver rounds done.
    pub rounds: u64,
    /// Assignments that changed a value.
    pub moves: u64,
    /// Candidate values rated.
    pub ratings: u64,
    /// The best solution.
    pub solution: Option<Found>,
    /// The best bound.
    pub bound: Proved,
    /// The best different assignments that drivers share, best first; some may violate hard functions.
    pub elites: Vec<Vec<u32>>,
    /// What drivers go on from, by their names.
    pub drivers: BTreeMap<String, DriverState>,
}

/// A solution and where it came from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Found {
    /// Its value in the file's convention.
    pub value: Number,
    /// What found it.
    pub source: String,
    /// When.
    pub time_s: f64,
    /// The solution.
    pub values: Vec<u32>,
}

/// A bound and what it rests on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proved {
    /// No assignment costs less, in the units of the network.
    pub cost: Cost,
    /// The same in the file's convention, where it is a number.
    pub value: Option<Number>,
    /// The step that proved it.
    pub source: String,
}

/// How much of a run is wanted.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// Elites, at most.
    pub elites: usize,
    /// Whether drivers' states are wanted.
    pub drivers: bool,
    /// How long it may take; the best comes first.
    pub time: Duration,
}

/// Where checkpoints go, and where those of others come from. No call waits for another process.
pub trait Keeper: Debug + Send + Sync {
    /// How much is wanted each time.
    fn extent(&self) -> Extent;

    /// Whether something is wanted now; asked between rounds.
    fn is_due(&self) -> bool;

    /// Takes a checkpoint, the last one where `is_end`.
    ///
    /// # Errors
    /// What to tell the user; the run goes on.
    fn keep(&self, checkpoint: Checkpoint, is_end: bool) -> Result<(), String>;

    /// What has come from others since it was last asked for, for the same network.
    fn news(&self) -> Vec<Checkpoint> {
        Vec::new()
    }

    /// The same once the run has ended here: it may wait a moment for what others still tell.
    fn last_news(&self) -> Vec<Checkpoint> {
        self.news()
    }

    /// What to tell the user since it was last asked for.
    fn troubles(&self) -> Vec<String> {
        Vec::new()
    }
}

/// What a run keeps for later and for others, and what it begins with.
#[derive(Clone, Debug, Default)]
pub struct Keeping {
    network: Arc<str>,
    /// Where checkpoints go.
    pub keepers: Vec<Arc<dyn Keeper>>,
    resumed: Option<Arc<Resumed>>,
}

/// A checkpoint that fits the network.
#[derive(Debug)]
pub struct Resumed {
    /// As it was read.
    pub checkpoint: Checkpoint,
    /// The cost of its solution, recomputed.
    pub upper: Option<Cost>,
}

impl Keeping {
    /// Nothing kept, nothing resumed, on this network. Its digest is computed here.
    pub fn of(network: &Network) -> Keeping {
        Keeping { network: digest(network).into(), ..Keeping::default() }
    }

    /// The digest of the network.
    pub fn network(&self) -> &Arc<str> {
        &self.network
    }

    /// Keeps checkpoints there, too.
    pub fn keep(mut self, keeper: Arc<dyn Keeper>) -> Keeping {
        self.keepers.push(keeper);
        self
    }

    /// Begins with a checkpoint.
    ///
    /// # Errors
    /// It is of another network, or its numbers contradict each other.
    pub fn resume(mut self, checkpoint: Checkpoint, network: &Network) -> Result<Keeping, Error> {
        checkpoint.fits(network, &self.network).map_err(Error::Usage)?;
        let upper = checkpoint.upper(network).map_err(Error::Usage)?;
        self.resumed = Some(Resumed { checkpoint, upper }.into());
        Ok(self)
    }

    /// What the run begins with.
    pub fn resumed(&self) -> Option<&Resumed> {
        self.resumed.as_deref()
    }

    /// Seconds that the runs before this one have used.
    pub fn time_s(&self) -> f64 {
        self.resumed().map_or(0.0, |resumed| resumed.checkpoint.time_s)
    }
}

impl Checkpoint {
    /// With nothing known; the fields are for the caller to fill.
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

    /// Whether others learn nothing from this one that the other has not told them.
    pub fn is_no_news_after(&self, other: &Checkpoint) -> bool {
        self.bound.cost == other.bound.cost && self.elites == other.elites && self.values() == other.values()
    }

    fn values(&self) -> Option<&[u32]> {
        self.solution.as_ref().map(|found| &found.values[..])
    }

    /// The text of a file: a line of JSON, and its SHA-256.
    ///
    /// # Errors
    /// None is known, except what serialising may report.
    pub fn to_text(&self) -> Result<String, Error> {
        let body = serde_json::to_string(self).map_err(|error| Error::Internal(format!("checkpoint: {error}")))?;
        Ok(files::sealed(&body))
    }

    /// Parses the text of a file.
    ///
    /// # Errors
    /// What is missing, changed or malformed, in words.
    pub fn from_text(text: &str) -> Result<Self, String> {
        let body = files::unsealed(text)?;
        // another version may have other fields
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

    /// Reads a file.
    ///
    /// # Errors
    /// A file that cannot be read, is not a regular file, is no checkpoint, or was changed or cut short.
    pub fn read(path: &Path, stop: &Stop) -> Result<Self, Error> {
        let text = files::read_regular_text(path, LARGEST.min(memory::available() / 4), stop)?;
        Checkpoint::from_text(&text).map_err(|what| Error::Usage(format!("{}: {what}", crate::terminal::path(path))))
    }

    /// Whether it is of the network with this digest.
    ///
    /// # Errors
    /// What does not fit, in words.
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

    /// The recomputed cost of its solution, if it has one, where its numbers agree with that.
    ///
    /// # Errors
    /// Which number does not, in words.
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
