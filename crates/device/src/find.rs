//! The driver, its devices and the compiler of this machine.

#![allow(unsafe_code, reason = "calls of the driver are foreign")]

use super::nvrtc::Nvrtc;
use super::{Cuda, DeviceError, Found, Info, Survey};
use cudarc::driver::result::device;
use cudarc::driver::sys::{CUdevice_attribute as Attribute, CUresult};
use cudarc::driver::{CudaContext, DriverError, sys};
use libloading::Library;
use std::ffi::c_int;
use std::sync::OnceLock;

/// The oldest driver that is used, as major version of the CUDA that it supports. cudarc binds the functions of that
/// version and panics where one is missing.
const OLDEST_DRIVER: i32 = 12;
/// The oldest compute capability that kernels are written for.
const OLDEST_DEVICE: i32 = 70;

/// Adds what was tried to a driver's error.
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

/// The version of CUDA that the driver supports, major and minor. Nothing of cudarc may be called before this has
/// succeeded: it panics where the driver or one of its functions is missing.
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

/// The driver's version as it states it, if it is new enough.
fn accept(version: c_int) -> Result<(i32, i32), DeviceError> {
    let (major, minor) = (version / 1000, version % 1000 / 10);
    if major >= OLDEST_DRIVER {
        return Ok((major, minor));
    }
    Err(DeviceError::Unusable(format!(
        "the NVIDIA driver supports CUDA {major}.{minor}, at least {OLDEST_DRIVER}.0 is needed: update the driver"
    )))
}

/// The devices of this machine, or why there are none.
///
/// # Errors
/// No driver, one that is too old or does not start, no device.
pub fn devices() -> Result<Vec<Info>, DeviceError> {
    let _ = driver()?;
    let count = match CudaContext::device_count() {
        Ok(0) | Err(DriverError(CUresult::CUDA_ERROR_NO_DEVICE)) => {
            let hint = "nvidia-smi lists them, CUDA_VISIBLE_DEVICES hides them";
            return Err(DeviceError::Unusable(format!("the NVIDIA driver sees no device ({hint})")));
        }
        count => count.map_err(failed("starting the NVIDIA driver"))?,
    };
    (0..count as usize).map(info).collect()
}

fn info(ordinal: usize) -> Result<Info, DeviceError> {
    let failed = || failed(format!("CUDA device {ordinal}"));
    let handle = device::get(ordinal as i32).map_err(failed())?;
    // SAFETY: the handle was given out by the driver just now.
    let attribute = |kind| unsafe { device::get_attribute(handle, kind) }.map_err(failed());
    let major = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
    let minor = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
    Ok(Info {
        ordinal,
        name: device::get_name(handle).map_err(failed())?,
        architecture: 10 * major + minor,
        multiprocessors: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)? as u32,
        shared_memory: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)? as u32,
        // SAFETY: as above.
        memory: unsafe { device::total_mem(handle) }.map_err(failed())? as u64,
    })
}

/// Whether the compiler supports a device.
pub(super) fn fits(info: &Info, nvrtc: &Nvrtc) -> Result<(), DeviceError> {
    let shown = |architecture: i32| format!("{}.{}", architecture / 10, architecture % 10);
    let has = format!("{} has compute capability {}", info.name, shown(info.architecture));
    let oldest = nvrtc.architectures()?.into_iter().min().unwrap_or(0);
    let (major, minor) = nvrtc.version;
    if info.architecture < OLDEST_DEVICE {
        return Err(DeviceError::Unusable(format!("{has}, at least {} is needed", shown(OLDEST_DEVICE))));
    }
    if info.architecture < oldest {
        return Err(DeviceError::Unusable(format!(
            "{has}, the CUDA compiler {major}.{minor} found at {} begins at {}: install an older one, such as by \
             `pip install nvidia-cuda-nvrtc-cu12`, and name its file in FANGS_NVRTC",
            nvrtc.path.display(),
            shown(oldest)
        )));
    }
    Ok(())
}

/// The report of `fangs devices`. Opens each device.
pub fn survey() -> Survey {
    let compiler = Nvrtc::get().map(|nvrtc| (nvrtc.version, nvrtc.path.clone()));
    let found = |info: Info| {
        let usable = Cuda::open(info.ordinal).and_then(|cuda| cuda.memory());
        Found { info, usable }
    };
    Survey { driver: driver(), compiler, devices: devices().map(|all| all.into_iter().map(found).collect()) }
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
