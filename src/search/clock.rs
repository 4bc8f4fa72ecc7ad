//! The only clock of a run: the loop asks it for times, and its watchdog sets the stop flag when the budget is spent.

use crate::stop::{Cause, Stop};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Time since the process (or the library call) began, with an optional limit.
#[derive(Debug)]
pub struct Clock {
    origin: Instant,
    watchdog: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Clock {
    /// Starts a clock at `origin`; once `limit` has passed since then, `stop` is set.
    pub fn start(origin: Instant, limit: Option<Duration>, stop: &Stop) -> Self {
        let watchdog = limit.map(|limit| {
            let (sender, receiver) = channel::<()>();
            let stop = stop.clone();
            let thread = std::thread::spawn(move || {
                let left = limit.saturating_sub(origin.elapsed());
                if receiver.recv_timeout(left) == Err(RecvTimeoutError::Timeout) {
                    stop.set(Cause::Time);
                }
            });
            (sender, thread)
        });
        Clock { origin, watchdog }
    }

    /// Seconds since the origin.
    pub fn seconds(&self) -> f64 {
        self.origin.elapsed().as_secs_f64()
    }
}

impl Drop for Clock {
    fn drop(&mut self) {
        if let Some((sender, thread)) = self.watchdog.take() {
            drop(sender);
            let _ = thread.join();
        }
    }
}
