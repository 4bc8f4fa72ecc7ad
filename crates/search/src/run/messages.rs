//! The messages of a run to its publisher, and how the run ended.

use crate::annealing::state_bytes;
use crate::bounds::Proof;
use crate::checkpoint::{Checkpoint, Resumed};
use crate::core::context::SearchContext;
use crate::core::driver::DriverState;
use crate::core::picks::Picks;
use crate::event::{Facts, StoppedBy};
use crate::model::{Cost, Number};
use crate::options::Options;
use crate::reduce::ReducedProblem;
use crate::scheduler::bounds::bound_memory;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The loop's part of a checkpoint; the publisher has the rest.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunState {
    pub elites: Vec<Vec<u32>>,
    pub drivers: BTreeMap<String, DriverState>,
}

impl RunState {
    /// Returns the state of a resumed checkpoint, before the run begins.
    pub fn of(resumed: &Resumed) -> RunState {
        let Checkpoint { elites, drivers, .. } = &resumed.checkpoint;
        RunState { elites: elites.clone(), drivers: drivers.clone() }
    }
}

/// A message from the loop to the publisher.
#[derive(Clone, Debug)]
pub(crate) enum Message {
    Solution {
        /// The solution's cost in the network's units.
        cost: Cost,
        /// The solution's value in the file's convention, by the file's own numbers.
        value: Number,
        /// Value indices in file order.
        solution: Arc<[u32]>,
        source: String,
        totals: Totals,
    },
    Bound {
        /// The bound in the network's units.
        bound: Cost,
        source: String,
        totals: Totals,
        /// The proof of the bound, if proofs are kept.
        proof: Option<Box<Proof>>,
    },
    /// A bound of another run, which was not proved here.
    Believed {
        bound: Cost,
        source: String,
    },
    Progress(Totals),
    /// The state for a keeper, given by its index.
    State {
        keeper: usize,
        state: Box<RunState>,
        totals: Totals,
    },
    Note(String),
    /// The sizes and memory of the run.
    Facts(Box<Facts>),
    /// A plug-in heuristic returned invalid values; the run continues.
    Nonsense(String),
    /// A part of the run ended by an internal error; the rest continues.
    Lost {
        source: String,
        message: String,
    },
    /// The disk failed, or bounds on a device failed; the run continues.
    Warning(String),
    /// A device failed; the run continues on the remaining ones.
    DeviceLost {
        message: String,
        left: String,
    },
}

impl Message {
    /// Returns the message with the sizes and memory of the run.
    pub fn facts(core: &ReducedProblem, context: &SearchContext, options: &Options) -> Message {
        Message::Facts(Box::new(Facts {
            reduction: core.report(),
            table_bytes: context.tables.bytes(),
            state_bytes: state_bytes(context) as u64,
            bound_bytes: bound_memory(options),
        }))
    }
}

/// The counters of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    pub rounds: u64,
    pub moves: u64,
    pub ratings: u64,
    pub population: usize,
    pub picks: Picks,
}

impl Totals {
    /// Returns the counters of the runs that this run continues.
    pub fn resumed(options: &Options) -> Totals {
        let Some(resumed) = options.keeping.resumed() else { return Totals::default() };
        let Checkpoint { rounds, moves, ratings, .. } = resumed.checkpoint;
        Totals { rounds, moves, ratings, ..Totals::default() }
    }

    /// Adds the counters of a later run, whose number of states replaces this one.
    pub fn and(&self, later: &Totals) -> Totals {
        let mut picks = self.picks;
        picks.add(&later.picks);
        Totals {
            rounds: self.rounds + later.rounds,
            moves: self.moves + later.moves,
            ratings: self.ratings + later.ratings,
            population: later.population,
            picks,
        }
    }
}

/// How a run ended, for the summary.
#[derive(Clone, Debug)]
pub(crate) struct Ending {
    pub stopped_by: StoppedBy,
    pub totals: Totals,
    pub z: Option<u32>,
    pub induced_width: Option<u32>,
    /// Number of values of the first reduced problem.
    pub values: Option<usize>,
    /// Number of values that bounds have excluded from all better solutions.
    pub values_forbidden: Option<usize>,
    pub device: String,
}
