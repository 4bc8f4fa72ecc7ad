//! The incumbent's cost and the lower bound that all parts of a run share.

use crate::model::Cost;
use crate::stop::{Cause, Stop};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// The best total and the best bound that any part of a run knows. Its flag is set once they meet, so that rounds on
/// their way end.
#[derive(Clone)]
pub(crate) struct Meeting {
    ends: Arc<[AtomicI64; 2]>,
    met: Stop,
}

impl Meeting {
    /// Totals from `upper` on are no better than what is known.
    pub fn new(upper: Cost, stop: &Stop) -> Self {
        Meeting { ends: Arc::new([AtomicI64::new(upper), AtomicI64::new(Cost::MIN)]), met: stop.below() }
    }

    pub fn found(&self, total: Cost) {
        let _ = self.ends[0].fetch_min(total, Ordering::SeqCst);
        self.look();
    }

    pub fn proved(&self, bound: Cost) {
        let _ = self.ends[1].fetch_max(bound, Ordering::SeqCst);
        self.look();
    }

    /// Set where the run is to stop, and once both ends have met.
    pub fn met(&self) -> &Stop {
        &self.met
    }

    fn look(&self) {
        let [upper, lower] = [0, 1].map(|end| self.ends[end].load(Ordering::SeqCst));
        if lower >= upper {
            self.met.set(Cause::Time);
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
            let meeting = Meeting::new(10, &stop);
            let other = meeting.clone();
            let moves: [(bool, Cost); 4] = [(true, 8), (false, 3), (last_is_found, 5), (!last_is_found, 5)];
            for (count, (is_found, cost)) in moves.into_iter().enumerate() {
                assert!(!meeting.met().is_set(), "after {count}");
                if is_found { other.found(cost) } else { other.proved(cost) }
            }
            assert!(meeting.met().is_set() && !stop.is_set());
        }
        // without a solution a bound meets the limit
        let meeting = Meeting::new(10, &Stop::new());
        meeting.proved(10);
        assert!(meeting.met().is_set());
    }
}
