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

use crate::call::{Call, File, Runner, Settings};
use crate::network::Network;
use crate::play::{Played, call, play};
use crate::task::{Problem, Task};

/// An entry of the list of tasks.
#[derive(Clone, Copy)]
pub struct Entry {
    /// The name on the command line.
    pub name: &'static str,
    /// A description in one line.
    pub about: &'static str,
    /// Plays the case of a seed.
    pub play: fn(u64, &dyn Runner) -> Played,
    /// Returns the call of the case of a seed.
    pub call: fn(u64) -> Call,
}

/// Every task.
pub const TASKS: &[Entry] = &[
    Entry::of::<solve::Solve>(
        "solve",
        "Solutions, bounds, proofs and certificates of all drivers and methods; equal runs for any threads",
    ),
    Entry::of::<bound::Bound>("bound", "Bounds and certificates of all methods under limits of time and memory"),
    Entry::of::<solutions::Solutions>("solutions", "The number of all solutions"),
    Entry::of::<sums::Sums>("marginals", "Sums and posteriors, exact and as intervals under limits of memory and time"),
    Entry::of::<sums::LargestSums>("map", "Largest sums (marginal MAP), exact and as intervals"),
    Entry::of::<dcop::Dcop>("dcop", "Agents: DPOP, ADPOP, limited messages, local search"),
    Entry::of::<convert::Convert>("convert", "Networks in every format that is written"),
    Entry::of::<diagrams::Diagrams>("diagrams", "Influence diagrams and LIMIDs"),
    Entry::of::<processes::Processes>("processes", "Partially observable processes"),
];

impl Entry {
    const fn of<T: Task>(name: &'static str, about: &'static str) -> Entry {
        Entry { name, about, play: play::<T>, call: call::<T> }
    }
}

/// Returns the task with a name.
pub fn find(name: &str) -> Option<&'static Entry> {
    TASKS.iter().find(|entry| entry.name == name)
}

impl Problem for Network {
    fn smaller(&self) -> Vec<Self> {
        Network::smaller(self)
    }

    fn files(&self) -> Vec<File> {
        vec![File { ending: self.form.ending(), text: self.text() }]
    }

    fn complete(&self, settings: &mut Settings) {
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
