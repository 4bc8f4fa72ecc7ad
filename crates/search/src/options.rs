//! The options of a run.

use crate::activity::Activity;
use crate::bounds::{BoundChoice, BounderOptions, Part};
use crate::checkpoint::Keeping;
use crate::core::context::Request;
use crate::core::driver::Setup;
use crate::device::{Cuda, Opening};
use crate::elimination::spill_room;
use crate::heuristics::ValueHeuristic;
use crate::memory;
use crate::model::Number;
use crate::rng::Rng;
use crate::tuning::bounds::FIXED_MEMORY;
use std::sync::Arc;
use std::time::Duration;

/// The largest number of CPU threads of a run. With 100000, starting them did not fail, but the runtime of one that had
/// started ended the process.
pub const MAX_THREADS: usize = 1024;

/// Options of `solve`. [`Options::default`] is what the command line uses without options, except that a library call
/// has no time limit. [`Options::with`] changes some of them.
#[derive(Clone, Debug)]
pub struct Options {
    /// Wall-clock budget of `solve`.
    pub time: Option<Duration>,
    /// Deterministic budget: the run stops after this number of rounds, and no decision reads the clock.
    pub rounds: Option<u64>,
    /// Seed of every random choice.
    pub seed: u64,
    /// The device to work on, which may already be opening. A `Choice` makes one: `Choice::Cpu.into()`.
    pub device: Opening,
    /// Number of CPU threads, up to [`MAX_THREADS`]; all if `None`.
    pub threads: Option<usize>,
    /// Number of states kept; chosen by memory and problem size if `None`.
    pub population: Option<usize>,
    /// The driver, or the portfolio of drivers, that searches.
    pub driver: DriverChoice,
    /// A heuristic that steers the driver `guided`, which is then part of the portfolio.
    pub heuristic: Option<Arc<dyn ValueHeuristic>>,
    /// The method of the lower bounds.
    pub bound: BoundChoice,
    /// This process's part of the bound computation, if several processes work on one network.
    pub bound_part: Part,
    /// Largest number of variables of a mini-bucket (z, the i-bound + 1); grows while time remains if `None`.
    pub z: Option<u32>,
    /// Memory limit of bound tables in bytes; half of the free memory if `None`.
    pub bound_memory: Option<u64>,
    /// Bytes of files that tables of an exact elimination may use beyond `bound_memory`. If `None`, half of the free
    /// disk space, or no files with a budget of rounds.
    pub spill: Option<u64>,
    /// Whether the exact reductions run.
    pub reduce: bool,
    /// Assignments to begin with, an optional value for each variable. Greedy choices complete those with missing
    /// values. The run may change all values.
    pub warm_starts: Vec<Vec<Option<u32>>>,
    /// Stop at this cost, in the file's convention.
    pub target: Option<Number>,
    /// Stop at this relative gap.
    pub gap: Option<f64>,
    /// Rules that end the run by the course of its solutions; the first rule that holds ends it.
    pub stop: Vec<StopRule>,
    /// The checkpoints to store and exchange, and the one to continue from.
    pub keeping: Keeping,
    /// How often incremental costs are checked against recomputed ones.
    pub assertions: Assertions,
    /// Whether the summary contains the proof of the bound, for a certificate.
    pub certificate: bool,
    /// Whether events contain `Facts`, which take a moment on large networks.
    pub facts: bool,
    /// Where the run reports its current activity.
    pub activity: Activity,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            time: None,
            rounds: None,
            seed: 1,
            device: Opening::default(),
            threads: None,
            population: None,
            driver: DriverChoice::PORTFOLIO,
            heuristic: None,
            bound: BoundChoice::Auto,
            bound_part: Part::default(),
            z: None,
            bound_memory: None,
            spill: None,
            reduce: true,
            warm_starts: Vec::new(),
            target: None,
            gap: None,
            stop: Vec::new(),
            keeping: Keeping::default(),
            assertions: Assertions::Incumbent,
            certificate: false,
            facts: false,
            activity: Activity::default(),
        }
    }
}

impl Options {
    /// Returns these options with a change: `Options::default().with(|options| options.seed = 2)`.
    pub fn with(mut self, change: impl FnOnce(&mut Options)) -> Options {
        change(&mut self);
        self
    }

    /// Returns the number of CPU threads.
    pub fn threads(&self) -> usize {
        let all = || std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
        self.threads.unwrap_or_else(all)
    }

    /// Returns the setup of drivers on a device or, if `device` is `None`, on the CPU.
    pub(crate) fn setup<'a>(&self, device: Option<Arc<Cuda>>, rng: &'a mut Rng) -> Setup<'a> {
        let asserts = self.assertions >= Assertions::Assignment;
        Setup { device, partners: None, heuristic: self.heuristic.clone(), asserts, rng }
    }

    /// Returns the bytes of tables that bounds and enumerations may make. In a repeatable run they do not depend on the
    /// machine.
    pub fn table_bytes(&self) -> u64 {
        let free = || if self.rounds.is_some() { FIXED_MEMORY } else { memory::available() / 2 };
        self.bound_memory.unwrap_or_else(free)
    }

    /// Returns the methods and limits of the bounds. In a repeatable run they do not depend on the machine.
    pub(crate) fn bounder(&self) -> BounderOptions {
        let repeatable = self.rounds.is_some();
        BounderOptions {
            choice: self.bound,
            z: self.z,
            memory: self.table_bytes(),
            spill: if repeatable { self.spill.unwrap_or(0) } else { spill_room(self.spill) },
            seed: self.seed,
            repeatable,
            certified: self.certificate,
            exact_work: None,
            part: self.bound_part,
        }
    }

    /// Returns the request that decides how a reduced problem is prepared.
    pub(crate) fn request(&self) -> Request {
        Request {
            population: self.population,
            portable: self.rounds.is_some(),
            one_driver: self.driver != DriverChoice::PORTFOLIO,
            has_heuristic: self.heuristic.is_some(),
            needs_tables: false,
        }
    }

    /// Returns the name of the heuristic, if there is one.
    pub fn heuristic_name(&self) -> Option<&str> {
        self.heuristic.as_ref().map(|heuristic| heuristic.name())
    }
}

/// A rule that ends a run by its solutions so far, counted from the first one. Bounds do not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopRule {
    /// No better solution was found for this long.
    Stall(Duration),
    /// The second half of the time brought at most a thousandth of the whole improvement. Cost curves flatten, so an
    /// equally long continuation is expected to bring no more than that half did. Holds after twenty seconds at the
    /// earliest.
    Diminishing,
}

/// How often the incremental cost of a state is compared with a recomputed one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Assertions {
    /// Never.
    Off,
    /// At each incumbent, by the independent evaluator.
    Incumbent,
    /// At the end of each round.
    Round,
    /// Also after each assignment that a plug-in heuristic makes.
    Assignment,
}

/// The choice of the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DriverChoice(pub(crate) &'static str);

impl DriverChoice {
    /// All drivers; those that improve the solution have more of the time.
    pub const PORTFOLIO: DriverChoice = DriverChoice("portfolio");
    /// FANG passes steered by the heuristic in [`Options::heuristic`].
    pub const GUIDED: DriverChoice = DriverChoice("guided");

    /// Returns the name of the driver, or `portfolio`.
    pub fn name(self) -> &'static str {
        self.0
    }
}
