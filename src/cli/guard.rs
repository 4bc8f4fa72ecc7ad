//! The last safeguard: if memory is exhausted or a thread panics, the program ends in an orderly way with a message.

#![allow(unsafe_code, reason = "an allocator, and calls of the system")]

use super::leave;
use fangs_base::memory;
use fangs_base::stop::{Cause, Stop};
use fangs_base::threads;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::Write;
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::time::Duration;

/// Bytes in reserve for the end of a run that has exhausted memory.
const KEPT: Layout = Layout::new::<[u8; 8 << 20]>();
/// Address space in bytes of an arena of the C library's allocator, which creates up to eight arenas per processor.
/// They may take at most one part in `ARENAS` of the process's address space.
const ARENA: u64 = 64 << 20;
const ARENAS: u64 = 8;
/// Time that a thread without memory gives the main thread to end the process.
const PATIENCE: Duration = Duration::from_secs(2);

static RESERVE: AtomicPtr<u8> = AtomicPtr::new(null_mut());
static STOP: OnceLock<Stop> = OnceLock::new();

thread_local! {
    static IS_MAIN: Cell<bool> = const { Cell::new(false) };
}

/// The system's allocator with a reserve. When memory is exhausted, the stop flag is set and the run continues with the
/// reserve. If the reserve is exhausted too, the process ends with a message. Returns null only if
/// [`memory::may_fail`].
pub struct Allocator;

// SAFETY: every call goes to the system's allocator, once more after memory was exhausted.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        or_missing(layout.size(), || unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        or_missing(layout.size(), || unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as the caller promises; if it returns null, the old memory is unchanged.
        or_missing(size, || unsafe { System.realloc(place, layout, size) })
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(place, layout) }
    }
}

#[inline(always)]
fn or_missing(bytes: usize, ask: impl Fn() -> *mut u8) -> *mut u8 {
    let found = ask();
    if found.is_null() { missing(bytes, &ask) } else { found }
}

/// Handles a failed allocation. Nothing in here may allocate, wait for a lock or unwind.
#[cold]
fn missing(bytes: usize, ask: &dyn Fn() -> *mut u8) -> *mut u8 {
    if memory::may_fail() {
        return null_mut();
    }
    if let Some(stop) = STOP.get() {
        stop.set(Cause::Memory);
    }
    if bytes < KEPT.size() / 2 {
        let kept = RESERVE.swap(null_mut(), Ordering::AcqRel);
        if !kept.is_null() {
            // SAFETY: it was allocated with this layout, and the swap took it out, so it is freed once.
            unsafe { System.dealloc(kept, KEPT) };
        }
        let found = ask();
        if !found.is_null() {
            return found;
        }
    }
    if !IS_MAIN.get() {
        std::thread::sleep(PATIENCE);
    }
    let mut text = [0u8; 96];
    let mut rest = &mut text[..];
    let _ = writeln!(rest, "fangs: out of memory: {bytes} bytes more could not be had");
    let left = rest.len();
    say(&text[..text.len() - left]);
    leave(1)
}

/// Writes to standard error without its lock, which a waiting thread may hold.
fn say(text: &[u8]) {
    #[cfg(unix)]
    // SAFETY: the bytes are there.
    let _ = unsafe { libc::write(2, text.as_ptr().cast(), text.len()) };
    #[cfg(not(unix))]
    drop(std::io::stderr().write_all(text));
}

/// Prepares the process. The main thread calls it once, before any other thread starts.
pub fn prepare() {
    IS_MAIN.set(true);
    // SAFETY: the layout has a size.
    RESERVE.store(unsafe { System.alloc(KEPT) }, Ordering::Release);
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    set_up_allocator();
    std::panic::set_hook(Box::new(|panic| {
        let (what, place) = (threads::message(panic.payload()), panic.location());
        let place = place.map_or(String::new(), |place| format!(" ({}:{})", place.file(), place.line()));
        // a closed standard error cannot be reported
        drop(writeln!(std::io::stderr(), "fangs: internal error: {what}{place}"));
    }));
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn set_up_allocator() {
    // without this setting, freed small blocks are merged with their neighbours only at a later large allocation, by
    // whichever thread makes it: the blocks of a million lists delayed another thread by a tenth of a second
    // SAFETY: a setting of the allocator.
    let _ = unsafe { libc::mallopt(libc::M_MXFAST, 0) };
    if let Some((limit, _)) = memory::address_space() {
        let most = (limit / ARENAS / ARENA).clamp(1, i32::MAX as u64);
        // SAFETY: a setting of the allocator.
        let _ = unsafe { libc::mallopt(libc::M_ARENA_MAX, most as i32) };
    }
}

/// Sets the stop flag that is raised when memory is exhausted.
pub fn stops(stop: &Stop) {
    let _ = STOP.set(stop.clone());
}
