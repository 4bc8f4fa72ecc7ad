//! Ctrl-C and SIGTERM end a run early; a second one ends it at once.

use fangs::Error;
use fangs::stop::{Cause, Stop};
use std::sync::atomic::{AtomicBool, Ordering};

/// From now on signals set `stop`.
pub fn listen(stop: &Stop) -> Result<(), Error> {
    let (stop, seen) = (stop.clone(), AtomicBool::new(false));
    ctrlc::set_handler(move || {
        if seen.swap(true, Ordering::Relaxed) {
            super::leave(1);
        }
        stop.set(Cause::Signal);
    })
    .map_err(|error| Error::Internal(format!("signals cannot be handled: {error}")))
}
