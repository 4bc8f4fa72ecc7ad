//! Ctrl-C and SIGTERM end a run early; a second one ends it at once.

use super::leave::leave;
use fangs_base::Error;
use fangs_base::faults::INJECTED;
use fangs_base::stop::{Cause, Stop, Watch};
use fangs_report::{Console, Verbosity};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// The environment variable that makes the stop flag record the longest gaps between reads of it; a number names the
/// read at which the flag is set. For measurements and tests: builds without `fault-injection` do not read it.
const WATCH: &str = "FANGS_WATCH_STOP";
/// Number of gaps that are reported.
const TOLD: usize = 20;
/// The exit code of a process that SIGINT ends: 128 and the number of the signal.
const INTERRUPTED: u8 = 130;

static WATCHED: OnceLock<Arc<Watch>> = OnceLock::new();
static STOP: OnceLock<Stop> = OnceLock::new();
static INTERRUPT: OnceLock<Interrupt> = OnceLock::new();

/// The sender of a SIGINT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Interrupt {
    /// The terminal, by Ctrl-C.
    #[cfg_attr(not(unix), allow(dead_code, reason = "other systems do not name the sender"))]
    Terminal,
    /// Another process.
    Process,
}

/// Returns the flag that signals set. The first call installs the handlers.
pub fn listen() -> Result<Stop, Error> {
    if let Some(stop) = STOP.get() {
        return Ok(stop.clone());
    }
    let last = if INJECTED { std::env::var(WATCH).ok() } else { None };
    let last = last.map(|last| last.parse().unwrap_or(u64::MAX));
    let watched = last.map(|last| WATCHED.get_or_init(|| Watch::until(last)));
    let stop = STOP.get_or_init(|| watched.map_or_else(Stop::new, Stop::watched));
    super::guard::stops(stop);
    let (flag, seen) = (stop.clone(), AtomicBool::new(false));
    let received = handle(move |interrupt| {
        if let Some(interrupt) = interrupt {
            let _ = INTERRUPT.set(interrupt);
        }
        if seen.swap(true, Ordering::Relaxed) {
            end(1);
        }
        flag.set(Cause::Signal);
    });
    if let Err(error) = received {
        end_at_once();
        Console::new(Verbosity::Quiet)
            .warn(&format!("Ctrl-C ends the run at once: no thread can be started for it ({error})"));
    }
    Ok(stop.clone())
}

/// Calls `receive` for each signal, on a separate thread, with the sender of a SIGINT.
#[cfg(unix)]
fn handle(receive: impl Fn(Option<Interrupt>) + Send + 'static) -> io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::SignalsInfo;
    use signal_hook::iterator::exfiltrator::WithOrigin;
    let mut signals = SignalsInfo::<WithOrigin>::new([SIGINT, SIGTERM, SIGHUP])?;
    let wait = move || {
        for origin in signals.forever() {
            let sender = if origin.process.is_some() { Interrupt::Process } else { Interrupt::Terminal };
            receive((origin.signal == SIGINT).then_some(sender));
        }
    };
    // not counted against `FANGS_MOST_THREADS`, because a run does not need it
    std::thread::Builder::new().name("signals".into()).spawn(wait).map(drop)
}

#[cfg(not(unix))]
fn handle(receive: impl Fn(Option<Interrupt>) + Send + 'static) -> io::Result<()> {
    ctrlc::set_handler(move || receive(Some(Interrupt::Process))).map_err(io::Error::other)
}

/// Ends the process at once with this exit code, or as interrupted if Ctrl-C has stopped it.
pub fn end(code: u8) -> ! {
    match INTERRUPT.get() {
        None => leave(code),
        Some(Interrupt::Process) => leave(INTERRUPTED),
        Some(Interrupt::Terminal) => {
            // a shell ends its loop only if the signal ended the process, not if a process exits with the code
            #[cfg(unix)]
            drop(signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGINT));
            leave(INTERRUPTED)
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

/// Reports the longest gaps between two reads of the flag, if they are recorded.
pub fn tell_gaps() {
    let Some(watch) = WATCHED.get() else { return };
    // the time since the last read counts too
    let _ = Stop::watched(watch).is_set();
    eprintln!("{} looks at the stop flag", watch.looks());
    watch.gaps().iter().take(TOLD).for_each(|gap| eprintln!("{gap}"));
}
