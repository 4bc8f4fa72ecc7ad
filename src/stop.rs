//! A flag that ends work early: set by the clock, by a signal, or from another thread.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// Why work was told to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The time budget is spent.
    Time,
    /// Ctrl-C, SIGTERM, or a caller that has seen enough.
    Signal,
    /// There is no more memory.
    Memory,
}

/// A shared stop flag. Clones share the flag; the first cause given stays.
///
/// Everything that may take longer than some ten milliseconds (readers, reductions, rounds, bucket
/// slices) asks [`Stop::is_set`] and returns what it has. Only `search::clock` sets it for time.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    cause: Arc<AtomicU8>,
    above: Option<Arc<Stop>>,
    /// When the time is up, where no thread could be started that watches the clock.
    deadline: Arc<OnceLock<Instant>>,
}

impl Stop {
    /// A flag that nobody has set.
    pub fn new() -> Self {
        Self::default()
    }

    /// A flag for a part of the work: it is set where this one is, and may be set alone.
    pub fn below(&self) -> Self {
        Stop { cause: Arc::default(), above: Some(Arc::new(self.clone())), deadline: Arc::default() }
    }

    /// Tells everyone who shares the flag to end.
    pub fn set(&self, cause: Cause) {
        let code = match cause {
            Cause::Time => 1,
            Cause::Signal => 2,
            Cause::Memory => 3,
        };
        let _ = self.cause.compare_exchange(0, code, Ordering::AcqRel, Ordering::Acquire);
    }

    /// Whether somebody has told to end.
    #[inline]
    pub fn is_set(&self) -> bool {
        self.cause.load(Ordering::Relaxed) != 0
            || self.above.as_ref().is_some_and(|above| above.is_set())
            || self.deadline.get().is_some_and(|&deadline| self.is_past(deadline))
    }

    /// Sets the flag by itself at a time: whoever asks it looks at the clock.
    pub fn set_at(&self, deadline: Instant) {
        let _ = self.deadline.set(deadline);
    }

    #[cold]
    fn is_past(&self, deadline: Instant) -> bool {
        let past = Instant::now() >= deadline;
        if past {
            self.set(Cause::Time);
        }
        past
    }

    /// Why, once set.
    pub fn cause(&self) -> Option<Cause> {
        match self.cause.load(Ordering::Acquire) {
            0 => self.above.as_ref().and_then(|above| above.cause()),
            1 => Some(Cause::Time),
            3 => Some(Cause::Memory),
            _ => Some(Cause::Signal),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_flag_may_look_at_the_clock_itself() {
        let whole = Stop::new();
        let part = whole.below();
        whole.set_at(Instant::now() + Duration::from_secs(3600));
        assert!(!whole.is_set() && !part.is_set());
        let whole = Stop::new();
        let part = whole.below();
        whole.set_at(Instant::now());
        assert!(part.is_set() && whole.is_set() && whole.cause() == Some(Cause::Time));
        whole.set(Cause::Memory);
        assert_eq!(whole.cause(), Some(Cause::Time));
    }

    #[test]
    fn a_part_ends_with_the_whole_and_not_the_other_way_round() {
        let whole = Stop::new();
        let (part, other) = (whole.below(), whole.below());
        part.set(Cause::Time);
        assert!(part.is_set() && !other.is_set() && !whole.is_set());
        assert_eq!((other.cause(), whole.cause()), (None, None));
        whole.set(Cause::Signal);
        assert!(other.is_set());
        assert_eq!(
            [part.cause(), other.cause(), whole.cause()],
            [Some(Cause::Time), Some(Cause::Signal), Some(Cause::Signal)]
        );
    }
}
