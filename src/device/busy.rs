//! Threads that have a driver at work. A process that ends in an orderly way takes the driver apart, which crashes while one of them is in it: so its
//! exit waits for them. Nobody else does: a compiler cannot be stopped, and a driver that hangs must not keep a run from ending in time.

#![allow(unsafe_code, reason = "the system's call is foreign")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long an exit waits, at most.
const PATIENCE: Duration = Duration::from_secs(5);

static THREADS: Mutex<usize> = Mutex::new(0);
static FEWER: Condvar = Condvar::new();

/// A thread that has a driver at work, for as long as this lives.
#[derive(Debug)]
pub(crate) struct Busy(());

impl Busy {
    /// One more.
    pub fn new() -> Self {
        *threads() += 1;
        Busy(())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        *threads() -= 1;
        FEWER.notify_all();
    }
}

fn threads() -> MutexGuard<'static, usize> {
    THREADS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on an exit of the process waits. What was registered last comes first: so this is called before a driver is loaded and once it has
/// registered what it does itself.
pub(super) fn wait_at_exit() {
    #[cfg(unix)]
    // SAFETY: the function is there as long as the process, and does not unwind. Without room for it there is no waiting.
    let _ = unsafe { libc::atexit(wait) };
}

#[cfg(unix)]
extern "C" fn wait() {
    // it is registered more than once, and waits once
    static HAS_WAITED: AtomicBool = AtomicBool::new(false);
    if !HAS_WAITED.swap(true, Ordering::Relaxed) {
        let _ = FEWER.wait_timeout_while(threads(), PATIENCE, |threads| *threads > 0);
    }
}
