//! What a run tells: its news while it goes on, and how it ended.

use crate::bounds::Proof;
use crate::model::{Cost, Number};
use crate::search::event::StoppedBy;
use crate::search::scheduler::driver::Picks;
use std::sync::Arc;

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
    Progress(Totals),
    Note(String),
    /// A plug-in heuristic does what makes no sense, and the run survives.
    Nonsense(String),
    /// A part of the run has ended by an internal error, and the rest goes on.
    Lost {
        source: String,
        message: String,
    },
    /// The device or the disk has failed, and the run survives.
    Warning(String),
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
