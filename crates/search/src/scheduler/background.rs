//! A background task: work on a value that goes on beside the loop, on a thread of its own or of the shared pool.

use super::threads::Threads;
use crate::device::Busy;
use crate::threads;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::{Duration, Instant};

const LOOK: Duration = Duration::from_micros(200);

/// A value that is here, or away with a task that comes to a result.
pub(crate) struct BackgroundTask<T, R> {
    here: Option<T>,
    away: Option<Receiver<Result<(T, R), String>>>,
    /// What became of it where it does not come back.
    lost: Option<String>,
}

impl<T: Send + 'static, R: Send + 'static> BackgroundTask<T, R> {
    pub fn new(here: T) -> Self {
        BackgroundTask { here: Some(here), away: None, lost: None }
    }

    /// The value, unless a task has it.
    pub fn here(&mut self) -> Option<&mut T> {
        self.here.as_mut()
    }

    /// The value, unless a task has it; no task begins any more.
    pub fn take(&mut self) -> Option<T> {
        self.here.take()
    }

    /// Begins a task, if none has the value. Where `threads` are its own a thread waits for what it has them do, unless
    /// none can be started; otherwise it runs on one of the shared threads, and the others go on.
    pub fn begin(&mut self, threads: &Threads, work: impl FnOnce(&mut T) -> R + Send + 'static) {
        let task = self.task(work);
        let task =
            if threads.are_own() { task.and_then(|task| threads::start_or_return("beside", task)) } else { task };
        task.into_iter().for_each(|task| threads.begin(task));
    }

    pub fn lose(&mut self, what: String) {
        (self.here, self.away, self.lost) = (None, None, Some(what));
    }

    /// Why the value was lost, told once.
    pub fn take_lost(&mut self) -> Option<String> {
        self.lost.take()
    }

    fn task(&mut self, work: impl FnOnce(&mut T) -> R + Send + 'static) -> Option<impl FnOnce() + Send + 'static> {
        let mut here = self.here.take()?;
        let (sender, receiver) = channel();
        self.away = Some(receiver);
        let busy = Busy::new();
        Some(move || {
            // work that panics loses the value: the run goes on without
            let outcome = threads::caught(|| work(&mut here));
            // no one waits where the run is over
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

    /// Waits until the task has ended; the value is lost where that takes longer than `patience`.
    pub fn wait(&mut self, patience: Duration) -> Option<R> {
        let result = self.wait_for(patience);
        if self.away.take().is_some() {
            self.lost = Some(format!("no answer for {} s", patience.as_secs_f64()));
        }
        result
    }

    /// Waits until the task has ended, `patience` at most.
    pub fn wait_for(&mut self, patience: Duration) -> Option<R> {
        let began = Instant::now();
        while self.away.is_some() && began.elapsed() < patience {
            if let Some(result) = self.back() {
                return Some(result);
            }
            // it may be for this thread to do
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
        // one thread does what it waits for
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
