//! The end of the process.

#![allow(unsafe_code, reason = "the system's call is foreign")]

/// Ends the process at once. Call it when all files are written and closed. Detached threads may still start the driver
/// or run in it; the handlers of an orderly exit would unload the driver and crash these threads.
pub fn leave(code: u8) -> ! {
    #[cfg(unix)]
    // SAFETY: `_exit` has no requirements and does not return.
    unsafe {
        libc::_exit(i32::from(code))
    }
    #[cfg(not(unix))]
    std::process::exit(i32::from(code))
}
