//! Kernels on their way. Compiling one takes about a second where the cache does not have it: each is compiled by a thread of its own, so
//! that several are made at a time and whoever waits for one can do other things, and stop.

use super::{GROW, Pilot, STAGED, source};
use crate::device::{Busy, Cuda, DeviceError, Kernel};
use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// How long a kernel is waited for at a time.
pub(super) const PATIENCE: Duration = Duration::from_millis(20);

/// Kernels by expression; none yet where a thread is at it.
type Known = HashMap<String, Option<Result<Kernel, DeviceError>>>;

/// The kernels of a device that plans have asked for.
#[derive(Debug, Default)]
pub(super) struct Kernels {
    known: Mutex<Known>,
    changed: Condvar,
}

impl Kernels {
    /// Begins to compile a kernel, unless it is known.
    pub fn begin(self: &Arc<Self>, cuda: &Arc<Cuda>, expression: &str) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.contains_key(expression) {
            return;
        }
        let _ = known.insert(expression.into(), None);
        let (kernels, cuda, expression, busy) = (self.clone(), cuda.clone(), expression.to_string(), Busy::new());
        // nobody joins it: a compiler cannot be stopped
        drop(std::thread::spawn(move || {
            let shared = match &expression {
                name if name.starts_with(GROW) => Pilot::shared(cuda.info.shared_memory),
                name if name.starts_with(STAGED) => cuda.info.shared_memory,
                _ => 0,
            };
            let load = || cuda.load(&source(&expression))?.kernel(&expression, shared);
            let broken = |_| Err(DeviceError::Unusable(format!("compiling {expression} ended abnormally")));
            // whoever waits must hear of it, even if the compiler's binding panics
            let kernel = std::panic::catch_unwind(std::panic::AssertUnwindSafe(load)).unwrap_or_else(broken);
            let mut known = kernels.known.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = known.insert(expression, Some(kernel));
            kernels.changed.notify_all();
            drop(busy);
        }));
    }

    /// A kernel that was begun; `None` where it is not there in time.
    ///
    /// # Errors
    /// The compiler's or the driver's.
    pub fn poll(&self, expression: &str, patience: Duration) -> Result<Option<Kernel>, DeviceError> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let on_its_way = |known: &mut Known| matches!(known.get(expression), Some(None));
        let waited = self.changed.wait_timeout_while(known, patience, on_its_way);
        let known = waited.unwrap_or_else(PoisonError::into_inner).0;
        known.get(expression).cloned().flatten().transpose()
    }
}
