//! Counts of a plug-in heuristic's samples.

use crate::device::Compiled;
use serde::Serialize;

/// Counts of a plug-in heuristic's samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Picks {
    /// Number of rounds.
    pub rounds: u64,
    /// The part of the search's work that the heuristic had.
    pub work: f64,
    /// Candidate values evaluated.
    pub ratings: u64,
    /// Values sampled.
    pub drawn: u64,
    /// Sampled values that differed from the variable's value.
    pub changed: u64,
    /// Changed values after which the state was better than ever before.
    pub improved: u64,
    /// Groups of variables proposed.
    pub proposed: u64,
    /// Groups taken.
    pub taken: u64,
    /// Values that the groups taken changed.
    pub taken_changed: u64,
    /// Groups taken after which the state was better than ever before.
    pub taken_improved: u64,
    /// Values changed by the passes of lowest-cost values that end trajectories. Together with the changes by samples
    /// and groups they are all moves.
    pub settled: u64,
    /// Largest number of bytes of a state.
    pub bytes: u64,
    /// The compilation of the heuristic's kernel, if it ran on a device.
    pub compiled: Option<Compiled>,
}

impl Picks {
    /// Adds the counts of another round or state.
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
        // another problem may need another instance of the kernel; the one that took longest is shown
        let longest = |compiled: &Option<Compiled>| compiled.map_or(0.0, |compiled| compiled.seconds);
        if self.compiled.is_none() || longest(&other.compiled) > longest(&self.compiled) {
            self.compiled = other.compiled;
        }
    }
}
