//! What a caller may ask of a run.

use crate::activity::Activity;
use crate::bounds::{BoundChoice, Part};
use crate::checkpoint::Keeping;
use crate::core::context::Request;
use crate::core::driver::Setup;
use crate::device::{Cuda, Opening};
use crate::heuristics::ValueHeuristic;
use crate::model::Number;
use crate::rng::Rng;
use std::sync::Arc;
use std::time::Duration;

/// The most CPU threads of a run. At 100000 starting them did not fail: the runtime of one that had begun ended the
/// process.
pub const MAX_THREADS: usize = 1024;

/// Options of `solve`. [`Options::default`] is what the command line does without options, except
/// that a library call has no time limit of its own. [`Options::with`] changes some of them.
#[derive(Clone, Debug)]
pub struct Options {
    /// Wall-clock budget of `solve`.
    pub time: Option<Duration>,
    /// Deterministic budget: stop after so many rounds. No decision reads the clock then.
    pub rounds: Option<u64>,
    /// Seed of every random choice.
    pub seed: u64,
    /// The device to work on, perhaps on its way already. A `Choice` makes one: `Choice::Cpu.into()`.
    pub device: Opening,
    /// CPU threads, up to [`MAX_THREADS`]; all where `None`.
    pub threads: Option<usize>,
    /// States kept; by memory and problem where `None`.
    pub population: Option<usize>,
    /// The driver that makes rounds.
    pub driver: DriverChoice,
    /// A heuristic that steers the driver `guided`, which is part of the portfolio then.
    pub heuristic: Option<Arc<dyn ValueHeuristic>>,
    /// How lower bounds are made.
    pub bound: BoundChoice,
    /// The part of that which is left to this process, where several work on one network.
    pub bound_part: Part,
    /// Largest number of variables of a mini-bucket; grows while time remains where `None`.
    pub z: Option<u32>,
    /// Bytes that bound tables may take; half of free memory where `None`.
    pub bound_memory: Option<u64>,
    /// Bytes that tables of an exact elimination may take in files beyond that; half of what is free where `None`,
    /// nothing then with a budget of rounds.
    pub spill: Option<u64>,
    /// Whether the exact reductions run.
    pub reduce: bool,
    /// Solutions to begin with, a value for each variable; greedy choices complete those that have none for some. The
    /// run is free to change all of them.
    pub warm_starts: Vec<Vec<Option<u32>>>,
    /// Stop at a cost (in the file's convention).
    pub target: Option<Number>,
    /// Stop at a relative gap.
    pub gap: Option<f64>,
    /// Rules that end the run by its own record; the first one that holds does.
    pub stop: Vec<StopRule>,
    /// What is kept for later and told to others, and what the run begins with.
    pub keeping: Keeping,
    /// How often incremental costs are checked against recomputed ones.
    pub assertions: Assertions,
    /// Whether the summary has the proof of the bound, for a certificate.
    pub certificate: bool,
    /// Whether events have `Facts`, which take a moment on large networks.
    pub facts: bool,
    /// Where the run says what it is doing.
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
    /// These with a change: `Options::default().with(|options| options.seed = 2)`.
    pub fn with(mut self, change: impl FnOnce(&mut Options)) -> Options {
        change(&mut self);
        self
    }

    /// How many CPU threads there are.
    pub fn threads(&self) -> usize {
        let all = || std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
        self.threads.unwrap_or_else(all)
    }

    /// What drivers are made from, on a device or the CPU.
    pub(crate) fn setup<'a>(&self, device: Option<Arc<Cuda>>, rng: &'a mut Rng) -> Setup<'a> {
        let asserts = self.assertions >= Assertions::Assignment;
        Setup { device, partners: None, heuristic: self.heuristic.clone(), asserts, rng }
    }

    /// What the preparation of a core is asked for.
    pub(crate) fn request(&self) -> Request {
        Request {
            population: self.population,
            portable: self.rounds.is_some(),
            one_driver: self.driver != DriverChoice::PORTFOLIO,
            has_heuristic: self.heuristic.is_some(),
            needs_tables: false,
        }
    }

    /// The name of the heuristic that steers, where one does.
    pub fn heuristic_name(&self) -> Option<&str> {
        self.heuristic.as_ref().map(|heuristic| heuristic.name())
    }
}

/// A rule that ends a run by what it has found so far, counted from its first solution. Bounds do not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopRule {
    /// No better solution for so long.
    Stall(Duration),
    /// The second half of the time brought at most a thousandth of all improvement. Curves of cost flatten, so as much
    /// time again is expected to bring no more than that half did. Not before twenty seconds.
    Diminishing,
}

/// How often a state's incremental cost is compared with a recomputed one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Assertions {
    /// Never.
    Off,
    /// At each incumbent, by the independent evaluator.
    Incumbent,
    /// At the end of each round.
    Round,
    /// After each assignment that a plug-in heuristic makes, too.
    Assignment,
}

/// Which driver makes rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DriverChoice(pub(crate) &'static str);

impl DriverChoice {
    /// All of them, time going to what pays.
    pub const PORTFOLIO: DriverChoice = DriverChoice("portfolio");
    /// FANG passes steered by the heuristic that [`Options::heuristic`] names.
    pub const GUIDED: DriverChoice = DriverChoice("guided");

    /// The name it goes by.
    pub fn name(self) -> &'static str {
        self.0
    }
}
