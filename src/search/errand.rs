//! Work that goes on beside the loop, on a thread of its own, with what belongs to it.

use crate::device::Busy;
use std::thread::JoinHandle;

/// Something that is here, or away with a piece of work that comes to a result.
pub(crate) struct Errand<T, R> {
    here: Option<T>,
    away: Option<JoinHandle<(T, R)>>,
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

    /// Sends it away, if it is here.
    pub fn begin(&mut self, work: impl FnOnce(&mut T) -> R + Send + 'static) {
        let Some(mut here) = self.here.take() else { return };
        let busy = Busy::new();
        self.away = Some(std::thread::spawn(move || {
            let result = work(&mut here);
            drop(busy);
            (here, result)
        }));
    }

    /// What came of it, once it is back.
    pub fn back(&mut self) -> Option<R> {
        if self.away.as_ref()?.is_finished() { self.wait() } else { None }
    }

    /// Waits until it is back. Work that ended abnormally takes it along: the run goes on without.
    pub fn wait(&mut self) -> Option<R> {
        let (here, result) = self.away.take()?.join().ok()?;
        self.here = Some(here);
        Some(result)
    }
}
