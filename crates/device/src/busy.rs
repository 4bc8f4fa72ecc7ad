//! Threads that use a driver. An orderly exit unloads the driver, which crashes while a thread uses it, so the exit
//! waits for these threads. Runs do not wait, because a compiler cannot be stopped and a hanging driver must not delay
//! them.

#![allow(unsafe_code, reason = "the system's call is foreign")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The longest time that an exit waits.
const PATIENCE: Duration = Duration::from_secs(5);

static THREADS: Mutex<usize> = Mutex::new(0);
static FEWER: Condvar = Condvar::new();

/// Marks a thread that uses a driver, as long as this value lives.
#[derive(Debug)]
pub struct Busy(());

impl Busy {
    /// Counts one more thread.
    #[expect(clippy::new_without_default, reason = "it counts")]
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

/// Makes the exit of the process wait from now on. Exit handlers run last in, first out, so this is called before a
/// driver is loaded, and again after the driver has registered its own handler.
pub(super) fn wait_at_exit() {
    #[cfg(unix)]
    // SAFETY: the function lives as long as the process and does not unwind. If registering fails, the exit does not
    // wait.
    let _ = unsafe { libc::atexit(wait) };
}

#[cfg(unix)]
extern "C" fn wait() {
    // wait only once, even if registered more than once
    static HAS_WAITED: AtomicBool = AtomicBool::new(false);
    if !HAS_WAITED.swap(true, Ordering::Relaxed) {
        let _ = FEWER.wait_timeout_while(threads(), PATIENCE, |threads| *threads > 0);
    }
}
