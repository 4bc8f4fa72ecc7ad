//! A background task: work on a value on a separate thread or on one of the shared pool, beside the loop.

use super::threads::Threads;
use crate::device::Busy;
use crate::threads;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::{Duration, Instant};

const LOOK: Duration = Duration::from_micros(200);

/// A value that is either here, or with a task that returns it together with a result.
pub(crate) struct BackgroundTask<T, R> {
    here: Option<T>,
    away: Option<Receiver<Result<(T, R), String>>>,
    /// The reason if the task does not return the value.
    lost: Option<String>,
}

impl<T: Send + 'static, R: Send + 'static> BackgroundTask<T, R> {
    pub fn new(here: T) -> Self {
        BackgroundTask { here: Some(here), away: None, lost: None }
    }

    /// Returns the value, unless a task has it.
    pub fn here(&mut self) -> Option<&mut T> {
        self.here.as_mut()
    }

    /// Takes the value, unless a task has it. No further task begins.
    pub fn take(&mut self) -> Option<T> {
        self.here.take()
    }

    /// Begins a task, unless another one has the value. If `threads` is a separate pool, a new thread starts the work
    /// there and waits for it, unless none can be started. Otherwise the task runs on one of the shared threads.
    pub fn begin(&mut self, threads: &Threads, work: impl FnOnce(&mut T) -> R + Send + 'static) {
        let task = self.task(work);
        let task =
            if threads.are_own() { task.and_then(|task| threads::start_or_return("beside", task)) } else { task };
        task.into_iter().for_each(|task| threads.begin(task));
    }

    pub fn lose(&mut self, what: String) {
        (self.here, self.away, self.lost) = (None, None, Some(what));
    }

    /// Returns why the value was lost, once.
    pub fn take_lost(&mut self) -> Option<String> {
        self.lost.take()
    }

    fn task(&mut self, work: impl FnOnce(&mut T) -> R + Send + 'static) -> Option<impl FnOnce() + Send + 'static> {
        let mut here = self.here.take()?;
        let (sender, receiver) = channel();
        self.away = Some(receiver);
        let busy = Busy::new();
        Some(move || {
            // work that panics loses the value, and the run continues without it
            let outcome = threads::caught(|| work(&mut here));
            // no one waits once the run is over
            let _ = sender.send(outcome.map(|result| (here, result)));
            drop(busy);
        })
    }

    pub fn back(&mut self) -> Option<R> {
        let (here, result) = match self.away.as_ref()?.try_recv() {
            Err(TryRecvError::Empty) => return None,
            returned => {
                self.away = None;
                let returned = returned.unwrap_or_else(|_| Err("its thread is gone".into()));
                returned.map_err(|what| self.lost = Some(what)).ok()?
            }
        };
        self.here = Some(here);
        Some(result)
    }

    /// Waits until the task has ended. If that takes longer than `patience`, the value is lost.
    pub fn wait(&mut self, patience: Duration) -> Option<R> {
        let result = self.wait_for(patience);
        if self.away.take().is_some() {
            self.lost = Some(format!("no answer for {} s", patience.as_secs_f64()));
        }
        result
    }

    /// Waits until the task has ended, at most for `patience`.
    pub fn wait_for(&mut self, patience: Duration) -> Option<R> {
        let began = Instant::now();
        while self.away.is_some() && began.elapsed() < patience {
            if let Some(result) = self.back() {
                return Some(result);
            }
            // the task may be waiting for this thread
            if rayon::yield_now() != Some(rayon::Yield::Executed) {
                std::thread::sleep(LOOK);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn among(threads: usize, work: impl FnOnce() + Send) {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads").install(work);
    }

    #[test]
    fn what_is_away_comes_back_and_what_ends_abnormally_is_told() {
        let begin = |task: &mut BackgroundTask<i32, i32>, own: bool, work: fn(&mut i32) -> i32| {
            let threads = if own { Threads::start(1) } else { None };
            task.begin(&threads.unwrap_or_default(), work);
        };
        let add: fn(&mut i32) -> i32 = |number| {
            *number += 1;
            10 * *number
        };
        // a single thread executes the task for which it waits
        for (threads, own) in [(1, false), (1, true), (3, false), (3, true)] {
            among(threads, || {
                let mut task = BackgroundTask::new(1);
                begin(&mut task, own, add);
                assert!(task.here().is_none());
                let long = Duration::from_secs(600);
                assert_eq!((task.wait(long), task.here().copied(), task.wait(long)), (Some(20), Some(2), None));
                begin(&mut task, own, add);
                let began = Instant::now();
                while task.here().is_none() {
                    assert!(began.elapsed() < long);
                    assert!(task.back().is_none_or(|result| result == 30));
                    let _ = rayon::yield_now();
                }
                begin(&mut task, own, |_| panic!("on purpose"));
                assert_eq!((task.wait(long), task.take_lost().as_deref()), (None, Some("on purpose")));
                assert!(task.take_lost().is_none() && task.here().is_none() && task.take().is_none());
            });
        }
    }

    #[test]
    fn what_does_not_come_back_is_given_up() {
        let (sender, receiver) = channel::<()>();
        let mut task = BackgroundTask::new(1);
        task.begin(&Threads::start(1).expect("a thread"), move |_| {
            let _ = receiver.recv();
        });
        assert_eq!((task.wait(Duration::from_millis(1)), task.here()), (None, None));
        assert_eq!(task.take_lost().as_deref(), Some("no answer for 0.001 s"));
        drop(sender);
    }
}
