//! A flag that ends work early: set by the clock, by a signal, or from another thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// Why work was told to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The time budget is spent.
    Time,
    /// Ctrl-C, SIGTERM, or a caller that has seen enough.
    Signal,
}

/// A shared stop flag. Clones share the flag; the first cause given stays.
///
/// Everything that may take longer than some ten milliseconds (readers, reductions, rounds, bucket
/// slices) asks [`Stop::is_set`] and returns what it has. Only `search::clock` sets it for time.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicU8>);

impl Stop {
    /// A flag that nobody has set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Tells everyone who shares the flag to end.
    pub fn set(&self, cause: Cause) {
        let code = match cause {
            Cause::Time => 1,
            Cause::Signal => 2,
        };
        let _ = self.0.compare_exchange(0, code, Ordering::AcqRel, Ordering::Acquire);
    }

    /// Whether somebody has told to end.
    #[inline]
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed) != 0
    }

    /// Why, once set.
    pub fn cause(&self) -> Option<Cause> {
        match self.0.load(Ordering::Acquire) {
            0 => None,
            1 => Some(Cause::Time),
            _ => Some(Cause::Signal),
        }
    }
}
