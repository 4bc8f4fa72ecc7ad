//! The end of the process.

#![allow(unsafe_code, reason = "the system's call is foreign")]

/// Ends the process at once. Everything of ours is written and closed by then; what is left are threads that nobody waits
/// for. The handlers that an orderly exit runs would take a driver apart while such a thread is still starting it or has it
/// work, and crash.
pub fn leave(code: u8) -> ! {
    #[cfg(unix)]
    // SAFETY: it has no requirements and does not return.
    unsafe {
        libc::_exit(i32::from(code))
    }
    #[cfg(not(unix))]
    std::process::exit(i32::from(code))
}
