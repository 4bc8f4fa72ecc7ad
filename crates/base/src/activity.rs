//! The current activity of a run, for display: written by the run, read at any time from any thread.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The current activity of a run, in words. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Activity(Arc<Mutex<Now>>);

#[derive(Debug, Default)]
struct Now {
    step: &'static str,
    bounds: &'static str,
}

impl Activity {
    /// Records that a phase such as `reducing`, or the round of a driver, has begun.
    pub fn step(&self, step: &'static str) {
        self.now().step = step;
    }

    /// Records the current bound method, such as `mini-buckets`; empty if there is none.
    pub fn bounds(&self, by: &'static str) {
        self.now().bounds = by;
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Display for Activity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Now { step, bounds } = *self.now();
        match (step, bounds) {
            ("", bounds) => f.write_str(bounds),
            (step, "") => f.write_str(step),
            (step, bounds) => write!(f, "{step}, {bounds}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Activity;

    #[test]
    fn what_is_done_is_told_to_every_clone() {
        let activity = Activity::default();
        let told = activity.clone();
        assert_eq!(told.to_string(), "");
        activity.bounds("ordering");
        assert_eq!(told.to_string(), "ordering");
        activity.step("anneal");
        assert_eq!(told.to_string(), "anneal, ordering");
        activity.bounds("");
        assert_eq!(told.to_string(), "anneal");
    }
}
