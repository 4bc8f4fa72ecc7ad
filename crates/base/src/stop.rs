//! The stop flag, which ends work early: set by the clock, by a signal, or from another thread.

mod watch;

pub use watch::{Gap, Watch};

use crate::error::Error;
use std::panic::Location;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// The cause of a stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The time budget is spent.
    Time,
    /// Ctrl-C, SIGTERM, or the caller.
    Signal,
    /// Memory is exhausted.
    Memory,
    /// The search stagnated for the time given.
    Stall,
    /// More time is not expected to improve the result much.
    Diminishing,
}

/// A shared stop flag. Clones share the flag; the first cause is kept.
///
/// All work that may take longer than some ten milliseconds (readers, reductions, rounds, bucket slices) checks
/// [`Stop::is_set`] and returns what it has. Only `search::clock` sets the flag for time.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    cause: Arc<AtomicU8>,
    above: Above,
    /// The deadline, if no thread could be started to watch the clock.
    deadline: Arc<OnceLock<Instant>>,
    /// The time limit, for work that is planned to end by then.
    end: Arc<OnceLock<Instant>>,
}

/// Another flag on which a flag depends.
#[derive(Clone, Debug, Default)]
enum Above {
    #[default]
    Nothing,
    /// The flag of the whole work.
    Whole(Arc<Stop>),
    /// A flag that is read but has no effect.
    Unheeded(Arc<Stop>),
    /// A record of the reads.
    Watch(Arc<Watch>),
}

/// The number of items of [`Stop::each`] between two checks of the flag: some microseconds each.
const ITEMS: usize = 1 << 6;
/// The number of items of [`Stop::finish`] between two checks of the flag: some milliseconds.
const MANY_ITEMS: usize = 1 << 14;

impl Stop {
    /// Returns a flag that is not set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns a flag whose reads are recorded.
    pub fn watched(watch: &Arc<Watch>) -> Self {
        Stop { above: Above::Watch(watch.clone()), ..Stop::default() }
    }

    /// Returns a flag for a part of the work: it is set if this flag is set, and can also be set alone.
    pub fn below(&self) -> Self {
        Stop { above: Above::Whole(Arc::new(self.clone())), ..Stop::default() }
    }

    /// Returns a flag for work that is completed even if this flag is set, such as the evaluation of the first
    /// solution.
    pub fn unheeded(&self) -> Self {
        Stop { above: Above::Unheeded(Arc::new(self.clone())), ..Stop::default() }
    }

    /// Sets the flag for all of its holders.
    pub fn set(&self, cause: Cause) {
        let code = match cause {
            Cause::Time => 1,
            Cause::Signal => 2,
            Cause::Memory => 3,
            Cause::Stall => 4,
            Cause::Diminishing => 5,
        };
        let _ = self.cause.compare_exchange(0, code, Ordering::AcqRel, Ordering::Acquire);
    }

    /// Returns whether the flag is set.
    #[inline]
    #[track_caller]
    pub fn is_set(&self) -> bool {
        self.look(Location::caller())
    }

    #[inline]
    fn look(&self, place: &'static Location<'static>) -> bool {
        self.cause.load(Ordering::Relaxed) != 0
            || match &self.above {
                Above::Nothing => false,
                Above::Whole(above) => above.look(place),
                Above::Unheeded(above) => {
                    let _ = above.look(place);
                    false
                }
                Above::Watch(watch) => watch.look(place),
            }
            || self.deadline.get().is_some_and(|&deadline| self.is_past(deadline))
    }

    /// Returns an error if the flag is set.
    ///
    /// # Errors
    /// Returns [`Error::Stopped`] if the flag is set.
    #[inline]
    #[track_caller]
    pub fn check(&self) -> Result<(), Error> {
        if self.is_set() { Err(Error::Stopped) } else { Ok(()) }
    }

    /// Iterates over items, and returns [`Error::Stopped`] in place of an item once the flag is set. It is meant for
    /// loops over all of a large network.
    #[track_caller]
    pub fn each<I: IntoIterator>(&self, items: I) -> impl Iterator<Item = Result<I::Item, Error>> {
        let place = Location::caller();
        items.into_iter().enumerate().map(move |(index, item)| {
            if index.is_multiple_of(ITEMS) && self.look(place) { Err(Error::Stopped) } else { Ok(item) }
        })
    }

    /// Iterates like [`Stop::each`], but checks the flag only every few milliseconds, so that short work, such as the
    /// evaluation of a solution, is completed.
    #[track_caller]
    pub fn finish<I: IntoIterator>(&self, items: I) -> impl Iterator<Item = Result<I::Item, Error>> {
        let place = Location::caller();
        (1..).zip(items).map(move |(count, item)| {
            if usize::is_multiple_of(count, MANY_ITEMS) && self.look(place) { Err(Error::Stopped) } else { Ok(item) }
        })
    }

    /// Announces the time limit, so that long work can be planned to end by then. Does not set the flag.
    pub fn set_end(&self, end: Instant) {
        let _ = self.end.set(end);
    }

    /// Returns the announced time limit of this flag or of the whole work.
    pub fn end(&self) -> Option<Instant> {
        self.end.get().copied().or_else(|| match &self.above {
            Above::Whole(above) | Above::Unheeded(above) => above.end(),
            Above::Nothing | Above::Watch(_) => None,
        })
    }

    /// Makes the flag set itself at a deadline: each call that checks it then also compares the clock.
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

    /// Returns the cause; `None` if the flag is not set.
    pub fn cause(&self) -> Option<Cause> {
        match self.cause.load(Ordering::Acquire) {
            0 => match &self.above {
                Above::Whole(above) => above.cause(),
                Above::Watch(watch) => watch.is_over().then_some(Cause::Signal),
                Above::Nothing | Above::Unheeded(_) => None,
            },
            1 => Some(Cause::Time),
            3 => Some(Cause::Memory),
            4 => Some(Cause::Stall),
            5 => Some(Cause::Diminishing),
            _ => Some(Cause::Signal),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_that_of_the_whole_work() {
        let (whole, end) = (Stop::new(), Instant::now());
        assert_eq!((whole.end(), whole.below().end()), (None, None));
        whole.set_end(end);
        assert_eq!((whole.below().unheeded().end(), whole.is_set()), (Some(end), false));
    }
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
    fn what_is_finished_looks_after_a_while() {
        let watch = Watch::new();
        let stop = Stop::watched(&watch);
        assert_eq!(stop.finish(0..3 * MANY_ITEMS).flatten().count(), 3 * MANY_ITEMS);
        assert_eq!(watch.looks(), 3);
        let (stop, few) = (Stop::new(), 0..MANY_ITEMS - 1);
        stop.set(Cause::Signal);
        assert!(stop.finish(few).all(|item| item.is_ok()));
        assert!(matches!(stop.finish(0..MANY_ITEMS).last(), Some(Err(Error::Stopped))));
        // the first solution is completed, and the flag is read nevertheless
        let heedless = Stop::watched(&watch).unheeded();
        assert!(stop.unheeded().finish(0..MANY_ITEMS).all(|item| item.is_ok()) && !heedless.is_set());
        assert_eq!((heedless.cause(), watch.looks()), (None, 4));
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
