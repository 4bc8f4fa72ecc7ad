//! The end of the process.

#![allow(unsafe_code, reason = "the system's call is foreign")]

/// Ends the process at once, when all files are written and closed. Detached threads may still start the driver or work
/// in it; the handlers of an orderly exit would unload it under them and crash.
pub fn leave(code: u8) -> ! {
    #[cfg(unix)]
    // SAFETY: it has no requirements and does not return.
    unsafe {
        libc::_exit(i32::from(code))
    }
    #[cfg(not(unix))]
    std::process::exit(i32::from(code))
}
