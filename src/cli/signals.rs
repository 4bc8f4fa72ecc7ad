//! Ctrl-C and SIGTERM end a run early; a second one ends it at once.

use fangs::Error;
use fangs::record::{Console, Verbosity};
use fangs::stop::{Cause, Stop};
use std::sync::atomic::{AtomicBool, Ordering};

/// From now on signals set `stop`.
pub fn listen(stop: &Stop) -> Result<(), Error> {
    super::guard::stops(stop);
    let (stop, seen) = (stop.clone(), AtomicBool::new(false));
    let heard = ctrlc::set_handler(move || {
        if seen.swap(true, Ordering::Relaxed) {
            super::leave(1);
        }
        stop.set(Cause::Signal);
    });
    match heard {
        Err(ctrlc::Error::System(error)) => {
            end_at_once();
            Console::new(Verbosity::Quiet)
                .warn(&format!("Ctrl-C ends the run at once: no thread can be started for it ({error})"));
            Ok(())
        }
        heard => heard.map_err(|error| Error::Internal(format!("signals cannot be handled: {error}"))),
    }
}

/// Signals end the process, as if nobody listened: the handler is there already, and without its thread it hears nothing.
#[allow(unsafe_code, reason = "calls of the system")]
fn end_at_once() {
    #[cfg(unix)]
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: the default action needs nothing.
        let _ = unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}
