//! Work that goes on beside the loop, on a thread of its own or on one of everybody's, with what belongs to it.

use crate::device::Busy;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::{Duration, Instant};

/// How often whoever waits looks.
const LOOK: Duration = Duration::from_micros(200);

/// Something that is here, or away with a piece of work that comes to a result.
pub(crate) struct Errand<T, R> {
    here: Option<T>,
    away: Option<Receiver<(T, R)>>,
}

impl<T: Send + 'static, R: Send + 'static> Errand<T, R> {
    /// Here.
    pub fn new(here: T) -> Self {
        Errand { here: Some(here), away: None }
    }

    /// It, unless it is away.
    pub fn here(&mut self) -> Option<&mut T> {
        self.here.as_mut()
    }

    /// Ends with it, unless it is away.
    pub fn take(self) -> Option<T> {
        self.here
    }

    /// Sends it away, if it is here, on a thread of its own.
    pub fn begin(&mut self, work: impl FnOnce(&mut T) -> R + Send + 'static) {
        if let Some(task) = self.task(work) {
            drop(std::thread::spawn(task));
        }
    }

    /// The same on a thread of the pool at hand, with which whoever else is at work there goes on.
    pub fn begin_among(&mut self, work: impl FnOnce(&mut T) -> R + Send + 'static) {
        self.task(work).into_iter().for_each(rayon::spawn);
    }

    fn task(&mut self, work: impl FnOnce(&mut T) -> R + Send + 'static) -> Option<impl FnOnce() + Send + 'static> {
        let mut here = self.here.take()?;
        let (sender, receiver) = channel();
        self.away = Some(receiver);
        let busy = Busy::new();
        Some(move || {
            // work that ends abnormally takes it along: the run goes on without
            if let Ok(result) = catch_unwind(AssertUnwindSafe(|| work(&mut here))) {
                // nobody waits where the run is over
                let _ = sender.send((here, result));
            }
            drop(busy);
        })
    }

    /// What came of it, once it is back.
    pub fn back(&mut self) -> Option<R> {
        let (here, result) = match self.away.as_ref()?.try_recv() {
            Err(TryRecvError::Empty) => return None,
            returned => {
                self.away = None;
                returned.ok()?
            }
        };
        self.here = Some(here);
        Some(result)
    }

    /// Waits until it is back, or gone for good.
    pub fn wait(&mut self) -> Option<R> {
        self.wait_for(Duration::MAX)
    }

    /// The same, for so long at most.
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
    fn what_is_away_comes_back_and_what_ends_abnormally_does_not() {
        let begin = |errand: &mut Errand<i32, i32>, own: bool, work: fn(&mut i32) -> i32| {
            if own { errand.begin(work) } else { errand.begin_among(work) }
        };
        let add: fn(&mut i32) -> i32 = |number| {
            *number += 1;
            10 * *number
        };
        // one thread does what it waits for
        for (threads, own) in [(1, false), (1, true), (3, false), (3, true)] {
            among(threads, || {
                let mut errand = Errand::new(1);
                begin(&mut errand, own, add);
                assert!(errand.here().is_none());
                assert_eq!((errand.wait(), errand.here().copied(), errand.wait()), (Some(20), Some(2), None));
                begin(&mut errand, own, add);
                while errand.here().is_none() {
                    assert!(errand.back().is_none_or(|result| result == 30));
                    let _ = rayon::yield_now();
                }
                begin(&mut errand, own, |_| panic!("on purpose"));
                assert_eq!((errand.wait(), errand.take()), (None, None));
            });
        }
    }
}
