//! The NVIDIA driver of this machine.

#![allow(unsafe_code, reason = "calls of the driver are foreign")]

use super::device_error::DeviceError;
use cudarc::driver::{DriverError, sys};
use libloading::Library;
use std::ffi::c_int;
use std::sync::OnceLock;

/// The oldest supported driver, as the major version of the CUDA that it supports. cudarc binds the functions of that
/// version and panics if one is missing.
const OLDEST_DRIVER: i32 = 12;

/// Returns a function that adds what was tried to a driver's error.
pub(super) fn failed(what: impl Into<String>) -> impl FnOnce(DriverError) -> DeviceError {
    let what = what.into();
    move |error| {
        let cause = match (error.error_name(), error.error_string()) {
            (Ok(name), Ok(text)) => format!("{} ({})", text.to_string_lossy(), name.to_string_lossy()),
            _ => format!("{error:?}"),
        };
        DeviceError::Failed { what, cause }
    }
}

/// Returns the version of CUDA that the driver supports, major and minor. No function of cudarc may be called before
/// this has succeeded, because cudarc panics if the driver or one of its functions is missing.
pub(super) fn driver() -> Result<(i32, i32), DeviceError> {
    static FOUND: OnceLock<Result<(i32, i32), DeviceError>> = OnceLock::new();
    FOUND.get_or_init(find_driver).clone()
}

fn find_driver() -> Result<(i32, i32), DeviceError> {
    let present = ["cuda", "nvcuda"].into_iter().flat_map(cudarc::get_lib_name_candidates).any(|name| {
        // SAFETY: loading runs the initialisers of NVIDIA's library, which have no requirements.
        let library = unsafe { Library::new(name) };
        // kept, because a driver must not be unloaded
        library.map(std::mem::forget).is_ok()
    });
    if !present {
        return Err(DeviceError::Unusable("no NVIDIA driver is installed (libcuda was not found)".into()));
    }
    type Version = unsafe extern "C" fn(*mut c_int) -> c_int;
    let mut version = 0;
    // SAFETY: the library was found just now; the signature is cuda.h's, and the pointer is valid for the call.
    let status = unsafe { sys::culib().get::<Version>(b"cuDriverGetVersion\0").map(|call| call(&mut version)) };
    match status {
        Ok(0) => accept(version),
        Ok(status) => Err(DeviceError::Unusable(format!("the NVIDIA driver does not answer (status {status})"))),
        Err(error) => Err(DeviceError::Unusable(format!("libcuda is not NVIDIA's driver: {error}"))),
    }
}

/// Returns the driver's version, major and minor, if it is new enough.
fn accept(version: c_int) -> Result<(i32, i32), DeviceError> {
    let (major, minor) = (version / 1000, version % 1000 / 10);
    if major >= OLDEST_DRIVER {
        return Ok((major, minor));
    }
    Err(DeviceError::Unusable(format!(
        "the NVIDIA driver supports CUDA {major}.{minor}, at least {OLDEST_DRIVER}.0 is needed: update the driver"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_drivers_are_refused_by_version() {
        assert_eq!(accept(12_000), Ok((12, 0)));
        assert_eq!(accept(13_010), Ok((13, 1)));
        let error = accept(11_080).expect_err("it is too old").to_string();
        assert_eq!(error, "the NVIDIA driver supports CUDA 11.8, at least 12.0 is needed: update the driver");
    }
}
