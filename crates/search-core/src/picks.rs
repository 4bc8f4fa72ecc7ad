//! What came of a plug-in heuristic.

use crate::device::Compiled;
use serde::Serialize;

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
