//! Work on a thread that the command can abandon.

use super::{Exit, signals};
use fangs_base::Error;
use fangs_base::activity::Activity;
use fangs_base::stop::Stop;
use fangs_base::threads;
use fangs_report::{Console, Verbosity};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Interval between two checks for a tick or a stop.
const LOOK: Duration = Duration::from_millis(20);
/// Time in which work must react to the stop flag.
const PATIENCE: Duration = Duration::from_millis(120);
/// Time in which a whole command must react to the stop flag, so that it ends within a second of a signal.
const COMMAND_PATIENCE: Duration = Duration::from_millis(600);

/// The context of a command that runs as a whole on a separate thread.
pub struct Session {
    /// The flag that signals set.
    pub stop: Stop,
    /// The phase that the progress line shows.
    pub activity: Activity,
    /// The console on standard error.
    pub console: Console,
}

/// Runs a command that has no results before its end, with a progress line. Returns [`Error::Stopped`] after a signal.
pub fn command(
    started: Instant,
    budget: Option<Duration>,
    work: impl FnOnce(&Session) -> Result<Exit, Error> + Send + 'static,
) -> Result<Exit, Error> {
    let (stop, activity) = (signals::listen()?, Activity::default());
    activity.step("reading");
    let console = Console::new(Verbosity::Normal).progress(&activity, started, budget);
    let session = Session { stop: stop.clone(), activity, console };
    run_within(COMMAND_PATIENCE, &stop, move || work(&session), || ())
}

/// Works on a separate thread and calls `tick` meanwhile. Returns [`Error::Stopped`] if the work does not react to the
/// stop flag in time: the thread is abandoned, and the process ends without it. The result is never freed.
pub fn run<T: Send + 'static>(
    stop: &Stop,
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
    tick: impl FnMut(),
) -> Result<T, Error> {
    run_within(PATIENCE, stop, work, tick)
}

fn run_within<T: Send + 'static>(
    patience: Duration,
    stop: &Stop,
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
    mut tick: impl FnMut(),
) -> Result<T, Error> {
    let (sender, receiver) = channel();
    let work = Arc::new(Mutex::new(Some(work)));
    let take = {
        let work = work.clone();
        move || work.lock().unwrap_or_else(PoisonError::into_inner).take()
    };
    let failed = |what| Err(Error::Internal(format!("the run ended ({what})")));
    let thread = threads::start("command", move || {
        if let Some(work) = take() {
            // the command may have stopped waiting
            drop(sender.send(threads::caught(work).unwrap_or_else(failed)));
        }
    });
    if thread.is_err() {
        // no thread could be started
        let work = work.lock().unwrap_or_else(PoisonError::into_inner).take();
        return work.map_or(Err(Error::Stopped), |work| threads::caught(work).unwrap_or_else(failed));
    }
    let mut stopped = None;
    loop {
        match receiver.recv_timeout(LOOK) {
            Ok(result) => return result,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Error::Internal("the thread at work ended abnormally".into()));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        tick();
        if stop.is_set() && stopped.get_or_insert_with(Instant::now).elapsed() > patience {
            return Err(Error::Stopped);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fangs_base::stop::Cause;

    #[test]
    fn work_that_does_not_answer_is_left_alone() {
        let stop = Stop::new();
        assert!(matches!(run(&stop, || Ok(7), || ()), Ok(7)));
        let (over, wait) = channel::<()>();
        stop.set(Cause::Signal);
        let never = move || wait.recv().map_err(|_| Error::Stopped);
        assert!(matches!(run(&stop, never, || ()), Err(Error::Stopped)));
        drop(over);
    }

    #[test]
    fn a_panic_is_an_error() {
        let broken = || -> Result<(), Error> { panic!("on purpose") };
        assert!(matches!(run(&Stop::new(), broken, || ()), Err(Error::Internal(_))));
    }
}
