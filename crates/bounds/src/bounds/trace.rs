//! The branching trace of a search, kept for a certificate: the replay branches on the same variables.

use crate::model::Cost;
use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The branchings of a search, perhaps one still at work; clones share them.
#[derive(Clone, Debug, Default)]
pub struct BranchingTrace(Arc<Mutex<Log>>);

#[derive(Debug, Default)]
struct Log {
    branchings: Vec<Branched>,
    work: u64,
    mini: u64,
}

/// The values that a variable is left, after other choices.
#[derive(Debug)]
pub(crate) struct Choice {
    pub variable: u32,
    pub values: Box<[u32]>,
    pub before: Option<Arc<Choice>>,
}

#[derive(Clone, Debug)]
pub(crate) struct Branched {
    /// The last choice on the way to it.
    pub path: Option<Arc<Choice>>,
    pub variable: u32,
    pub bound: Cost,
}

impl BranchingTrace {
    fn log(&self) -> MutexGuard<'_, Log> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the branchings of a batch, with unscaled bounds, and the combinations of a heavy node.
    pub(crate) fn add(&self, branchings: impl Iterator<Item = Branched>, mini: u64) {
        let mut log = self.log();
        log.branchings.extend(branchings);
        log.mini = log.mini.max(mini);
    }

    /// The search has done so much work, that at the root included.
    pub(crate) fn spent(&self, work: u64) {
        self.log().work = work;
    }

    /// Combinations of mini-buckets of a node, at most; none of light nodes.
    pub(crate) fn mini(&self) -> u64 {
        self.log().mini
    }

    pub(crate) fn work(&self) -> u64 {
        self.log().work
    }

    /// The branchings, parents first: what was branched on, the number of the parent (0 for the first), and the value
    /// that was chosen there. And the depth of the deepest. Where mini-buckets alone showed that a node costs `bound`,
    /// it is left out: the replay proves it without branching.
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
                    // below one that is not known
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
