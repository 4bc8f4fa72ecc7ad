//! Ctrl-C and SIGTERM end a run early; a second one ends it at once.

use fangs::Error;
use fangs::record::{Console, Verbosity};
use fangs::stop::{Cause, Stop, Watch};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// Makes the stop flag record the longest gaps between reads of it; a number names the read at which the flag is set.
/// For measurements and tests.
const WATCH: &str = "FANGS_WATCH_STOP";
/// Gaps reported.
const TOLD: usize = 20;

static WATCHED: OnceLock<Arc<Watch>> = OnceLock::new();

/// A flag that signals set.
pub fn listen() -> Result<Stop, Error> {
    let last = std::env::var(WATCH).ok().map(|last| last.parse().unwrap_or(u64::MAX));
    let watched = last.map(|last| WATCHED.get_or_init(|| Watch::until(last)));
    let stop = watched.map_or_else(Stop::new, Stop::watched);
    super::guard::stops(&stop);
    let (flag, seen) = (stop.clone(), AtomicBool::new(false));
    let heard = ctrlc::set_handler(move || {
        if seen.swap(true, Ordering::Relaxed) {
            super::leave(1);
        }
        flag.set(Cause::Signal);
    });
    match heard {
        Err(ctrlc::Error::System(error)) => {
            end_at_once();
            Console::new(Verbosity::Quiet)
                .warn(&format!("Ctrl-C ends the run at once: no thread can be started for it ({error})"));
            Ok(stop)
        }
        heard => {
            heard.map_err(|error| Error::Internal(format!("signals cannot be handled: {error}")))?;
            Ok(stop)
        }
    }
}

/// Restores the default action of signals: without its thread, the handler would swallow them.
#[allow(unsafe_code, reason = "calls of the system")]
fn end_at_once() {
    #[cfg(unix)]
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: the default action has no requirements.
        let _ = unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// Reports the longest gaps between two reads of the flag, where they are recorded.
pub fn tell_gaps() {
    let Some(watch) = WATCHED.get() else { return };
    // the time since the last read counts too
    let _ = Stop::watched(watch).is_set();
    eprintln!("{} looks at the stop flag", watch.looks());
    watch.gaps().iter().take(TOLD).for_each(|gap| eprintln!("{gap}"));
}
