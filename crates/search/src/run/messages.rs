//! What a run tells: its news while it goes on, and how it ended.

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

/// What the loop knows of a checkpoint; the publisher has the rest.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunState {
    pub elites: Vec<Vec<u32>>,
    pub drivers: BTreeMap<String, DriverState>,
}

impl RunState {
    /// What a resumed run knows before it has begun.
    pub fn of(resumed: &Resumed) -> RunState {
        let Checkpoint { elites, drivers, .. } = &resumed.checkpoint;
        RunState { elites: elites.clone(), drivers: drivers.clone() }
    }
}

/// What the loop tells the recorder.
#[derive(Clone, Debug)]
pub(crate) enum Message {
    Solution {
        /// Its cost in the network's units.
        cost: Cost,
        /// Its value in the file's convention, by the file's own numbers.
        value: Number,
        /// Value indices in file order.
        solution: Arc<[u32]>,
        source: String,
        totals: Totals,
    },
    Bound {
        /// In the network's units.
        bound: Cost,
        source: String,
        totals: Totals,
        /// Why, where that is kept.
        proof: Option<Box<Proof>>,
    },
    /// A bound that was not proved here: another run's.
    Believed {
        bound: Cost,
        source: String,
    },
    Progress(Totals),
    /// For a keeper, by its place.
    State {
        keeper: usize,
        state: Box<RunState>,
        totals: Totals,
    },
    Note(String),
    /// What the run works on.
    Facts(Box<Facts>),
    /// A plug-in heuristic does what makes no sense, and the run survives.
    Nonsense(String),
    /// A part of the run has ended by an internal error, and the rest goes on.
    Lost {
        source: String,
        message: String,
    },
    /// The disk has failed, or bounds on a device, and the run survives.
    Warning(String),
    /// A device has failed, and the run goes on on what is left.
    DeviceLost {
        message: String,
        left: String,
    },
}

impl Message {
    /// What a run works on.
    pub fn facts(core: &ReducedProblem, context: &SearchContext, options: &Options) -> Message {
        Message::Facts(Box::new(Facts {
            reduction: core.report(),
            table_bytes: context.tables.bytes(),
            state_bytes: state_bytes(context) as u64,
            bound_bytes: bound_memory(options),
        }))
    }
}

/// The accounts of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    pub rounds: u64,
    pub moves: u64,
    pub ratings: u64,
    pub population: usize,
    pub picks: Picks,
}

impl Totals {
    /// What the runs before a resumed one have done.
    pub fn resumed(options: &Options) -> Totals {
        let Some(resumed) = options.keeping.resumed() else { return Totals::default() };
        let Checkpoint { rounds, moves, ratings, .. } = resumed.checkpoint;
        Totals { rounds, moves, ratings, ..Totals::default() }
    }

    /// These and those of a later run, whose states are the ones kept.
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
    /// Values of the first core, and how many of them bounds have shown to be in no better solution.
    pub values: Option<usize>,
    pub values_forbidden: Option<usize>,
    pub device: String,
}
