//! Records of how often a stop flag is read, for measurements and tests.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The length below which gaps are not recorded.
const SHORT: Duration = Duration::from_millis(1);

/// A place in the code that reads the flag; `None` for the start or end of a thread.
type Place = Option<&'static Location<'static>>;

/// A record of a flag's reads: the processor time of a thread between two of them. It can also set the flag at a given
/// read, like a signal.
#[derive(Debug)]
pub struct Watch {
    looks: AtomicU64,
    /// The number of the read at which the flag is set.
    last: u64,
    gaps: Mutex<HashMap<(Place, Place), Duration>>,
}

/// The longest time that a thread worked between a read at one place in the code and the next at another.
#[derive(Clone, Debug)]
pub struct Gap {
    /// Processor time of the thread.
    pub longest: Duration,
    from: Place,
    to: Place,
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = |place: Place, none: &str| place.map_or(none.into(), |p| format!("{}:{}", p.file(), p.line()));
        let (from, to) = (place(self.from, "the thread's start"), place(self.to, "its end"));
        write!(f, "{:.1} ms from {from} to {to}", self.longest.as_secs_f64() * 1e3)
    }
}

/// The last read of a thread.
struct Last {
    watch: Arc<Watch>,
    at: Duration,
    place: Place,
}

impl Drop for Last {
    fn drop(&mut self) {
        self.watch.note(self.place, None, thread_time().saturating_sub(self.at));
    }
}

thread_local! {
    static LAST: RefCell<Option<Last>> = const { RefCell::new(None) };
}

impl Watch {
    /// Returns an empty record, which never sets the flag.
    pub fn new() -> Arc<Watch> {
        Watch::until(u64::MAX)
    }

    /// Returns an empty record that sets the flag at its `last`-th read.
    pub fn until(last: u64) -> Arc<Watch> {
        Arc::new(Watch { looks: AtomicU64::new(0), last, gaps: Mutex::default() })
    }

    /// Returns the number of reads.
    pub fn looks(&self) -> u64 {
        self.looks.load(Ordering::Relaxed)
    }

    /// Returns the gaps between reads, the longest first.
    pub fn gaps(&self) -> Vec<Gap> {
        let gaps = self.gaps.lock().unwrap_or_else(PoisonError::into_inner);
        let mut gaps: Vec<Gap> = gaps.iter().map(|(&(from, to), &longest)| Gap { longest, from, to }).collect();
        gaps.sort_by_key(|gap| std::cmp::Reverse(gap.longest));
        gaps
    }

    /// Returns whether the number of reads has set the flag.
    pub(super) fn is_over(&self) -> bool {
        self.looks() >= self.last
    }

    /// Records a read. Returns whether it sets the flag.
    #[cold]
    pub(super) fn look(self: &Arc<Self>, place: &'static Location<'static>) -> bool {
        let look = self.looks.fetch_add(1, Ordering::Relaxed) + 1;
        let at = thread_time();
        // a thread that ends no longer has this storage
        let _ = LAST.try_with(|last| {
            let mut last = last.borrow_mut();
            match &mut *last {
                Some(last) if Arc::ptr_eq(&last.watch, self) => {
                    self.note(last.place, Some(place), at.saturating_sub(last.at));
                    (last.at, last.place) = (at, Some(place));
                }
                none => {
                    self.note(None, Some(place), at);
                    *none = Some(Last { watch: self.clone(), at, place: Some(place) });
                }
            }
        });
        look >= self.last
    }

    fn note(&self, from: Place, to: Place, gap: Duration) {
        if gap >= SHORT {
            let mut gaps = self.gaps.lock().unwrap_or_else(PoisonError::into_inner);
            let longest = gaps.entry((from, to)).or_default();
            *longest = gap.max(*longest);
        }
    }
}

/// Returns the processor time of this thread.
#[cfg(unix)]
fn thread_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Returns the wall-clock time, because the system does not provide processor time.
#[cfg(not(unix))]
fn thread_time() -> Duration {
    use std::sync::OnceLock;
    use std::time::Instant;
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}
