//! The branchings of a search, kept for a certificate: its replay branches on the same variables.

use crate::model::Cost;
use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The branchings of a search that may still be at work; clones share them.
#[derive(Clone, Debug, Default)]
pub struct BranchingTrace(Arc<Mutex<Log>>);

#[derive(Debug, Default)]
struct Log {
    branchings: Vec<Branched>,
    work: u64,
    mini: u64,
}

/// The values that remain of a variable after branching, with the choices above it.
#[derive(Debug)]
pub(crate) struct Choice {
    pub variable: u32,
    pub values: Box<[u32]>,
    pub before: Option<Arc<Choice>>,
}

/// A node that was branched on.
#[derive(Clone, Debug)]
pub(crate) struct Branched {
    /// The last choice on the path from the root to the node; `None` at the root.
    pub path: Option<Arc<Choice>>,
    pub variable: u32,
    pub bound: Cost,
}

impl BranchingTrace {
    fn log(&self) -> MutexGuard<'_, Log> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the branchings of a batch, with unscaled bounds, and the largest number of combinations of a node's
    /// mini-buckets.
    pub(crate) fn add(&self, branchings: impl Iterator<Item = Branched>, mini: u64) {
        let mut log = self.log();
        log.branchings.extend(branchings);
        log.mini = log.mini.max(mini);
    }

    /// Records the total work of the search so far, including that at the root.
    pub(crate) fn spent(&self, work: u64) {
        self.log().work = work;
    }

    /// Returns the largest number of combinations of a node's mini-buckets; 0 if nodes are bounded by cost shifting
    /// alone.
    pub(crate) fn mini(&self) -> u64 {
        self.log().mini
    }

    pub(crate) fn work(&self) -> u64 {
        self.log().work
    }

    /// Returns the branchings, parents first, and the depth of the deepest. Each has its variable, the index of its
    /// parent (0 for the first), and the value chosen at the parent. If nodes are bounded by mini-buckets, nodes with a
    /// bound of at least `bound` are omitted, because the replay proves them without branching.
    pub(crate) fn list(&self, bound: Cost) -> (Vec<(u32, u32, u32)>, u32) {
        let log = self.log();
        let name = |path: &Option<Arc<Choice>>| path.as_ref().map_or(std::ptr::null(), Arc::as_ptr);
        let mut known: FxHashMap<*const Choice, (u32, u32, u32)> = FxHashMap::default();
        let (mut branchings, mut deepest) = (Vec::new(), 0);
        for Branched { path, variable, .. } in log.branchings.iter().filter(|of| log.mini == 0 || of.bound < bound) {
            let place = branchings.len() as u32;
            let (before, value, depth) = match path {
                None => (0, 0, 1),
                Some(choice) => match known.get(&name(&choice.before)) {
                    Some(&(before, parent, depth)) if parent == choice.variable => {
                        (before, choice.values[0], depth + 1)
                    }
                    // the parent is not in the list
                    _ => continue,
                },
            };
            if known.insert(name(path), (place, *variable, depth)).is_none() {
                branchings.push((*variable, before, value));
                deepest = deepest.max(depth);
            }
        }
        (branchings, deepest)
    }
}
