//! How often a stop flag is read, for measurements and tests.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Shorter gaps are not recorded.
const SHORT: Duration = Duration::from_millis(1);

/// A place that reads the flag; none where a thread begins or ends.
type Place = Option<&'static Location<'static>>;

/// A record of a flag's reads: the processor time of a thread between two of them. It can also set the flag at a
/// certain read, like a signal.
#[derive(Debug)]
pub struct Watch {
    looks: AtomicU64,
    /// The read at which the flag is set.
    last: u64,
    gaps: Mutex<HashMap<(Place, Place), Duration>>,
}

/// The longest time that a thread worked between a read at one place and the next at another.
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
    /// A record of reads.
    pub fn new() -> Arc<Watch> {
        Watch::until(u64::MAX)
    }

    /// The same, which sets the flag at a read.
    pub fn until(last: u64) -> Arc<Watch> {
        Arc::new(Watch { looks: AtomicU64::new(0), last, gaps: Mutex::default() })
    }

    /// The number of reads.
    pub fn looks(&self) -> u64 {
        self.looks.load(Ordering::Relaxed)
    }

    /// The gaps between reads, the longest first.
    pub fn gaps(&self) -> Vec<Gap> {
        let gaps = self.gaps.lock().unwrap_or_else(PoisonError::into_inner);
        let mut gaps: Vec<Gap> = gaps.iter().map(|(&(from, to), &longest)| Gap { longest, from, to }).collect();
        gaps.sort_by_key(|gap| std::cmp::Reverse(gap.longest));
        gaps
    }

    /// Whether the number of reads has set the flag.
    pub(super) fn is_over(&self) -> bool {
        self.looks() >= self.last
    }

    /// Records a read; returns whether it sets the flag.
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

/// Processor time of this thread.
#[cfg(unix)]
fn thread_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Wall-clock time, where the system does not tell.
#[cfg(not(unix))]
fn thread_time() -> Duration {
    use std::sync::OnceLock;
    use std::time::Instant;
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}
