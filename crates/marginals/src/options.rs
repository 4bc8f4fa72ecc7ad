//! Options of sums and posteriors.

use crate::model::Network;
use crate::order::Ordering;
use crate::stop::Stop;
use std::time::Duration;

/// Options of sums and posteriors.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The variables whose posteriors are requested; all of them if `None`.
    pub variables: Option<Vec<u32>>,
    /// The source of the elimination order.
    pub order: Ordering,
    /// Bytes that tables may take; half of the free memory if `None`.
    pub memory: Option<u64>,
    /// A search for an assignment with a large product, from which lower bounds start.
    pub seek: Option<Seek>,
}

/// A search for a feasible assignment of low cost, such as `search::seek`.
#[derive(Clone, Copy, Debug)]
pub struct Seek {
    /// Returns an assignment, or `None` if the search found none within the time.
    pub search: fn(&Network, Duration, &Stop) -> Option<Vec<u32>>,
    /// The time limit of the first search.
    pub time: Duration,
}

impl Options {
    /// Returns these options after `change`.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}
