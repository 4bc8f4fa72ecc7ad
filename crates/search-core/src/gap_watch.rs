//! The watch over the gap of a run, which ends rounds under way once it is closed.

use crate::model::Cost;
use crate::stop::{Cause, Stop};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// Sets a flag once the gap is closed, so that rounds under way end. Concurrent work reports costs and bounds here at
/// once; what counts for the run is checked later.
#[derive(Clone)]
pub struct GapWatch {
    ends: Arc<[AtomicI64; 2]>,
    closed: Stop,
}

impl GapWatch {
    /// Starts with the cost `upper` of a solution, or another limit.
    pub fn new(upper: Cost, stop: &Stop) -> Self {
        GapWatch { ends: Arc::new([AtomicI64::new(upper), AtomicI64::new(Cost::MIN)]), closed: stop.below() }
    }

    /// Notes a solution of cost `total`.
    pub fn found(&self, total: Cost) {
        let _ = self.ends[0].fetch_min(total, Ordering::SeqCst);
        self.look();
    }

    /// Notes that no solution costs less than `bound`.
    pub fn proved(&self, bound: Cost) {
        let _ = self.ends[1].fetch_max(bound, Ordering::SeqCst);
        self.look();
    }

    /// Returns the flag that is set if the run must stop, and once the gap is closed.
    pub fn closed(&self) -> &Stop {
        &self.closed
    }

    fn look(&self) {
        let [upper, lower] = [0, 1].map(|end| self.ends[end].load(Ordering::SeqCst));
        if lower >= upper {
            self.closed.set(Cause::Time);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_meet_whoever_moves_last() {
        for last_is_found in [true, false] {
            let stop = Stop::new();
            let incumbent = GapWatch::new(10, &stop);
            let other = incumbent.clone();
            let moves: [(bool, Cost); 4] = [(true, 8), (false, 3), (last_is_found, 5), (!last_is_found, 5)];
            for (count, (is_found, cost)) in moves.into_iter().enumerate() {
                assert!(!incumbent.closed().is_set(), "after {count}");
                if is_found { other.found(cost) } else { other.proved(cost) }
            }
            assert!(incumbent.closed().is_set() && !stop.is_set());
        }
        // without a solution a bound closes the gap by reaching the limit
        let incumbent = GapWatch::new(10, &Stop::new());
        incumbent.proved(10);
        assert!(incumbent.closed().is_set());
    }
}
