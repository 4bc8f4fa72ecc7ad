//! What a search branched on, kept for a certificate: the replay searches again, led by that.

use super::dive::Choice;
use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The forks of a search that may still be at work; clones are the same ones.
#[derive(Clone, Debug, Default)]
pub struct Forks(Arc<Mutex<Log>>);

#[derive(Debug, Default)]
struct Log {
    /// The last choice on the way to a node, and what was branched on there.
    forks: Vec<(Option<Arc<Choice>>, u32)>,
    work: u64,
}

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fork {
    /// What was branched on.
    pub variable: u32,
    /// The fork before it, by its place, and the value chosen there; of the first one nothing.
    pub before: u32,
    /// The value that was chosen there.
    pub value: u32,
}

impl Forks {
    /// Adds forks of a batch.
    pub(super) fn add(&self, forks: Vec<(Option<Arc<Choice>>, u32)>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).forks.extend(forks);
    }

    /// The search has done so much work, that at the root included.
    pub(super) fn spent(&self, work: u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).work = work;
    }

    /// Entries that the search has looked at.
    pub fn work(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).work
    }

    /// The forks, each after the one that leads to it, and how many follow each other at most.
    pub fn list(&self) -> (Vec<Fork>, u32) {
        let log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let name = |path: &Option<Arc<Choice>>| path.as_ref().map_or(std::ptr::null(), Arc::as_ptr);
        let mut known: FxHashMap<*const Choice, (u32, u32, u32)> = FxHashMap::default();
        let (mut forks, mut deepest) = (Vec::new(), 0);
        for (path, variable) in &log.forks {
            let place = forks.len() as u32;
            let (before, value, depth) = match path {
                None => (0, 0, 1),
                Some(choice) => match known.get(&name(&choice.before)) {
                    Some(&(before, parent, depth)) if parent == choice.variable => {
                        (before, choice.values[0], depth + 1)
                    }
                    // below one that is not known
                    _ => continue,
                },
            };
            if known.insert(name(path), (place, *variable, depth)).is_none() {
                forks.push(Fork { variable: *variable, before, value });
                deepest = deepest.max(depth);
            }
        }
        (forks, deepest)
    }
}
