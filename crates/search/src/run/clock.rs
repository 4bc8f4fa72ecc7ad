//! The only clock of a run. The loop reads times from it, and its watchdog sets the stop flag when the budget is spent.

use crate::ledger::Timer;
use crate::stop::{Cause, Stop};
use crate::threads;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The time since the process or the library call began, with an optional limit.
#[derive(Debug)]
pub struct Clock {
    timer: Timer,
    /// The end of the time limit.
    deadline: Option<Instant>,
    watchdog: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Clock {
    /// Starts a clock at `origin`. Once `limit` has passed since then, `stop` is set: by a thread, or by the code that
    /// checks the flag if no thread can be started.
    pub fn start(origin: Instant, limit: Option<Duration>, stop: &Stop) -> Self {
        let deadline = limit.and_then(|limit| origin.checked_add(limit));
        deadline.into_iter().for_each(|end| stop.set_end(end));
        let watchdog = limit.and_then(|limit| {
            let (sender, receiver) = channel::<()>();
            let flag = stop.clone();
            let watch = move || {
                let left = limit.saturating_sub(origin.elapsed());
                if receiver.recv_timeout(left) == Err(RecvTimeoutError::Timeout) {
                    flag.set(Cause::Time);
                }
            };
            match threads::start("clock", watch) {
                Ok(thread) => Some((sender, thread)),
                Err(_) => {
                    deadline.into_iter().for_each(|end| stop.set_at(end));
                    None
                }
            }
        });
        // if no time is left, nothing must begin that might end before the thread runs
        if limit.is_some_and(|limit| origin.elapsed() >= limit) {
            stop.set(Cause::Time);
        }
        Clock { timer: Timer { origin, before: 0.0 }, deadline, watchdog }
    }

    /// Adds the seconds that earlier runs have used: times continue from there, but the limit does not count them.
    pub fn after(mut self, before: f64) -> Self {
        self.timer.before = before;
        self
    }

    /// Returns the seconds since the origin, plus those that earlier runs have used.
    pub fn seconds(&self) -> f64 {
        self.timer.seconds()
    }

    /// Returns the times, for threads that share them.
    pub(crate) fn timer(&self) -> Timer {
        self.timer
    }

    /// Returns the end of the time limit, if there is one.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
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
