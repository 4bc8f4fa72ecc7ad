//! A run in the background whose events are an iterator.

use super::solve::solve;
use crate::error::Error;
use crate::event::{Event, Summary};
use crate::model::Network;
use crate::options::Options;
use crate::stop::{Cause, Stop};
use crate::threads;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// A run on a separate thread. Iterating returns its events as they occur, and ends with the run. Dropping it stops the
/// run.
///
/// ```
/// use fangs_search::{EventKind, Options, start};
///
/// let network = fangs_generate::generate("grid", &[("side", "5")], 1)?;
/// let options = Options::default().with(|options| options.time = Some(std::time::Duration::from_secs(5)));
/// let mut session = start(network, options);
/// for event in session.by_ref().filter(|event| event.kind == EventKind::Solution) {
///     println!("{:.3} s: {:?} by {}", event.time_s, event.cost, event.source);
/// }
/// println!("{}", session.finish()?.status.name());
/// # Ok::<(), fangs_base::Error>(())
/// ```
#[derive(Debug)]
pub struct Session {
    events: Receiver<Event>,
    stop: Stop,
    run: Option<io::Result<JoinHandle<Result<Summary, Error>>>>,
}

/// Starts a run in the background.
pub fn start(network: impl Into<Arc<Network>>, options: Options) -> Session {
    let network = network.into();
    let stop = Stop::new();
    let (sender, events) = channel();
    let flag = stop.clone();
    let run = threads::start("session", move || {
        solve(&network, &options, &flag, &mut |event| {
            // a caller that has stopped listening still receives the summary
            let _ = sender.send(event.clone());
        })
    });
    Session { events, stop, run: Some(run) }
}

impl Session {
    /// Returns the flag that ends the run. It may be set from any thread.
    pub fn stop(&self) -> Stop {
        self.stop.clone()
    }

    /// Returns the next event if there is one within `time`, for callers that wait for something else as well.
    ///
    /// # Errors
    /// [`RecvTimeoutError`] if there was no event, or the run has ended.
    pub fn next_within(&self, time: Duration) -> Result<Event, RecvTimeoutError> {
        self.events.recv_timeout(time)
    }

    /// Returns whether the run has ended. Some events may not have been received yet.
    pub fn is_finished(&self) -> bool {
        self.run.as_ref().is_none_or(|run| run.as_ref().is_ok_and(JoinHandle::is_finished))
    }

    /// Waits for the end and returns the summary.
    ///
    /// # Errors
    /// The errors of [`solve`], or [`Error::Usage`] if no thread could be started.
    pub fn finish(mut self) -> Result<Summary, Error> {
        match self.run.take() {
            Some(Ok(run)) => run.join().unwrap_or_else(|panic| Err(Error::Internal(threads::message(&*panic)))),
            Some(Err(error)) => Err(Error::Usage(error.to_string())),
            None => Err(Error::Internal("a run was waited for twice".into())),
        }
    }
}

impl Iterator for Session {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        self.events.recv().ok()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Some(Ok(run)) = self.run.take() {
            self.stop.set(Cause::Signal);
            let _ = run.join();
        }
    }
}
