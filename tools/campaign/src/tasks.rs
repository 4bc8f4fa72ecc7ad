//! The list of tasks.

mod bound;
mod claims;
mod convert;
mod dcop;
mod diagrams;
mod processes;
mod solutions;
mod solve;
mod sums;

pub use processes::Processes;

use crate::call::Runner;
use crate::campaign::{Failure, Played, play};
use crate::network::Network;
use crate::task::Problem;

/// A line of the list of tasks.
#[derive(Clone, Copy)]
pub struct Entry {
    /// The name on the command line.
    pub name: &'static str,
    /// One line about it.
    pub about: &'static str,
    /// Plays the case of a seed.
    pub play: fn(u64, &dyn Runner) -> Played,
}

/// Every task.
pub const TASKS: &[Entry] = &[
    Entry {
        name: "solve",
        about: "Solutions, bounds, proofs and certificates of all drivers and methods; equal runs for any threads",
        play: play::<solve::Solve>,
    },
    Entry {
        name: "bound",
        about: "Bounds and certificates of all methods under limits of time and memory",
        play: play::<bound::Bound>,
    },
    Entry { name: "solutions", about: "The number of all solutions", play: play::<solutions::Solutions> },
    Entry {
        name: "marginals",
        about: "Sums and posteriors, exact and as intervals under limits of memory and time",
        play: play::<sums::Sums>,
    },
    Entry {
        name: "map",
        about: "Largest sums (marginal MAP), exact and as intervals",
        play: play::<sums::LargestSums>,
    },
    Entry { name: "dcop", about: "Agents: DPOP, ADPOP, limited messages, local search", play: play::<dcop::Dcop> },
    Entry { name: "convert", about: "Networks in every format that is written", play: play::<convert::Convert> },
    Entry { name: "diagrams", about: "Influence diagrams and LIMIDs", play: play::<diagrams::Diagrams> },
    Entry { name: "processes", about: "Partially observable processes", play: play::<Processes> },
];

/// Returns the task of a name.
pub fn find(name: &str) -> Option<&'static Entry> {
    TASKS.iter().find(|entry| entry.name == name)
}

impl Problem for Network {
    fn smaller(&self) -> Vec<Self> {
        Network::smaller(self)
    }

    fn files(&self) -> Vec<crate::call::File> {
        vec![crate::call::File { ending: self.form.ending(), text: self.text() }]
    }

    fn complete(&self, settings: &mut crate::call::Settings) {
        if !self.observed.is_empty() {
            settings.set("observe", self.observations());
        }
    }
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// Returns the failure of a case, if the entry's task has one for a seed.
pub fn failure(entry: &Entry, seed: u64, runner: &dyn Runner) -> Option<Failure> {
    (entry.play)(seed, runner).failure
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        for (place, entry) in TASKS.iter().enumerate() {
            assert!(TASKS[..place].iter().all(|other| other.name != entry.name), "{}", entry.name);
            assert!(find(entry.name).is_some());
        }
    }
}
