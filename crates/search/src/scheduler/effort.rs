//! What a round of a driver did.

use crate::device::{Compiled, DeviceError};
use crate::model::Cost;
use serde::Serialize;

#[derive(Clone, Debug, Default)]
pub(crate) struct Effort {
    /// Assignments that changed a value.
    pub moves: u64,
    /// Candidate values rated.
    pub ratings: u64,
    /// Work done, in the unit of [`SearchContext::sweep_work`]; on a device as much as the CPU does in the same time.
    pub work: u64,
    /// What the user may want to know.
    pub note: Option<String>,
    /// There are fewer states than were asked for: why.
    pub clipped: Option<String>,
    /// The device failed: why. The driver goes on without it.
    pub lost: Option<DeviceError>,
    pub picks: Picks,
    /// What of that makes no sense.
    pub nonsense: Option<String>,
    /// What an assertion found: the run ends.
    pub fault: Option<String>,
    /// A solution of the network that the pool need not have.
    pub found: Option<Found>,
}

/// A solution that a driver found on the network, not on the core.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub source: &'static str,
    pub cost: Cost,
    pub values: Vec<u32>,
}

impl Effort {
    /// Adds what others did meanwhile; of what there is to say, one of a kind. What was lost is theirs to tell.
    pub fn add(&mut self, other: &Effort) {
        self.moves += other.moves;
        self.ratings += other.ratings;
        self.work += other.work;
        self.picks.add(&other.picks);
        let first = |own: &mut Option<String>, other: &Option<String>| {
            if own.is_none() {
                own.clone_from(other);
            }
        };
        first(&mut self.note, &other.note);
        first(&mut self.clipped, &other.clipped);
        first(&mut self.nonsense, &other.nonsense);
        first(&mut self.fault, &other.fault);
        let found = other.found.as_ref().filter(|found| self.found.as_ref().is_none_or(|own| found.cost < own.cost));
        if let Some(found) = found {
            self.found = Some(found.clone());
        }
    }
}

/// What came of the picks of a plug-in heuristic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Picks {
    /// Rounds made.
    pub rounds: u64,
    /// Part of the search's work.
    pub work: f64,
    /// Candidate values rated.
    pub ratings: u64,
    /// Values drawn.
    pub drawn: u64,
    /// Of these, values that the variable did not have.
    pub changed: u64,
    /// Of these, those after which the state was better than it had ever been.
    pub improved: u64,
    /// Groups of variables proposed.
    pub proposed: u64,
    /// Of these, groups taken.
    pub taken: u64,
    /// Values that these changed.
    pub taken_changed: u64,
    /// Of the groups taken, those after which the state was better than it had ever been.
    pub taken_improved: u64,
    /// Values changed by the passes of cheapest values that end trajectories. With those that picks and groups changed
    /// they are all moves.
    pub settled: u64,
    /// Bytes of its states, at most.
    pub bytes: u64,
    /// What its kernel took to compile, where it flew on a device.
    pub compiled: Option<Compiled>,
}

impl Picks {
    /// Adds those of another round or state.
    pub fn add(&mut self, other: &Picks) {
        self.rounds += other.rounds;
        self.ratings += other.ratings;
        self.drawn += other.drawn;
        self.changed += other.changed;
        self.improved += other.improved;
        self.proposed += other.proposed;
        self.taken += other.taken;
        self.taken_changed += other.taken_changed;
        self.taken_improved += other.taken_improved;
        self.settled += other.settled;
        self.bytes = self.bytes.max(other.bytes);
        // another core may want another instance: the one that took longest is shown
        let longest = |compiled: &Option<Compiled>| compiled.map_or(0.0, |compiled| compiled.seconds);
        if self.compiled.is_none() || longest(&other.compiled) > longest(&self.compiled) {
            self.compiled = other.compiled;
        }
    }
}
