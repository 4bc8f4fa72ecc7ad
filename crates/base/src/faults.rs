//! Failures that tests of the program inject, because nothing else makes a healthy machine fail. Environment variables
//! name them. They exist only in builds with the feature `fault-injection`, which no release has: without it the
//! functions are empty and read no variable.

use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Whether this build injects failures.
pub const INJECTED: bool = cfg!(feature = "fault-injection");

/// Panics if `FANGS_PANIC` names this place.
#[inline]
pub fn panic_at(place: &str) {
    static PLACE: OnceLock<Option<String>> = OnceLock::new();
    if INJECTED {
        let named = PLACE.get_or_init(|| std::env::var("FANGS_PANIC").ok());
        if named.as_deref().is_some_and(|named| named == place) {
            panic!("FANGS_PANIC is {place}");
        }
    }
}

/// A running thread. At most `FANGS_MOST_THREADS` of them exist at a time, because limits of the system do not apply to
/// every user.
#[derive(Debug)]
pub struct ThreadSlot(());

static SLOTS: AtomicUsize = AtomicUsize::new(0);

impl ThreadSlot {
    /// Takes a slot for a thread.
    ///
    /// # Errors
    /// Returns an error if all slots are taken.
    #[inline]
    pub fn take() -> io::Result<ThreadSlot> {
        static MOST: OnceLock<Option<usize>> = OnceLock::new();
        if INJECTED {
            let most = MOST.get_or_init(|| std::env::var("FANGS_MOST_THREADS").ok()?.parse().ok());
            let (before, slot) = (SLOTS.fetch_add(1, Ordering::Relaxed), ThreadSlot(()));
            if most.is_some_and(|most| before >= most) {
                drop(slot);
                return Err(io::Error::new(io::ErrorKind::WouldBlock, "FANGS_MOST_THREADS says so"));
            }
            return Ok(slot);
        }
        Ok(ThreadSlot(()))
    }
}

impl Drop for ThreadSlot {
    #[inline]
    fn drop(&mut self) {
        if INJECTED {
            let _ = SLOTS.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// Counts a launch of a kernel on a device.
///
/// # Errors
/// Returns the cause of a failure from the launch on that `FANGS_FAIL_LAUNCH` names: `N`, or `I:N` if only launches of
/// device I count and fail.
#[inline]
pub fn launch(device: usize) -> Result<(), String> {
    static NAMED: OnceLock<Option<Named>> = OnceLock::new();
    static LAUNCHES: AtomicU64 = AtomicU64::new(0);
    if INJECTED {
        let named = NAMED.get_or_init(|| Named::parse(&std::env::var("FANGS_FAIL_LAUNCH").ok()?));
        let named = named.as_ref().filter(|named| named.device.is_none_or(|named| named == device));
        if let Some(Named { first, .. }) = named
            && LAUNCHES.fetch_add(1, Ordering::Relaxed) + 1 >= *first
        {
            return Err(format!("FANGS_FAIL_LAUNCH is {first}"));
        }
    }
    Ok(())
}

/// The launches that fail.
#[derive(Debug, PartialEq, Eq)]
struct Named {
    /// The device; `None` for all.
    device: Option<usize>,
    /// The number of the first launch that fails, from 1 on.
    first: u64,
}

impl Named {
    fn parse(text: &str) -> Option<Named> {
        match text.split_once(':') {
            Some((device, first)) => Some(Named { device: Some(device.parse().ok()?), first: first.parse().ok()? }),
            None => Some(Named { device: None, first: text.parse().ok()? }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_are_named_by_number_and_device() {
        assert_eq!(Named::parse("9"), Some(Named { device: None, first: 9 }));
        assert_eq!(Named::parse("1:40"), Some(Named { device: Some(1), first: 40 }));
        assert_eq!((Named::parse("x"), Named::parse("1:")), (None, None));
    }
}
