//! The CUDA devices of this machine.

#![allow(unsafe_code, reason = "calls of the driver are foreign")]

use super::device_error::DeviceError;
use super::driver::{driver, failed};
use super::info::Info;
use super::nvrtc::Nvrtc;
use cudarc::driver::result::device;
use cudarc::driver::sys::{CUdevice_attribute as Attribute, CUresult};
use cudarc::driver::{CudaContext, DriverError};

/// The oldest compute capability that kernels are written for, as 10 * major + minor.
const OLDEST_DEVICE: i32 = 70;

/// Returns the CUDA devices of this machine, or why there are none.
///
/// # Errors
/// Returns an error if there is no driver, if it is too old or does not start, or if there is no device.
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
        // SAFETY: the handle was given out by the driver just now.
        memory: unsafe { device::total_mem(handle) }.map_err(failed())? as u64,
    })
}

/// Checks that the compiler supports a device.
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

/// Returns a text about which devices exist, for messages about one that does not.
pub(super) fn there() -> String {
    let listed = |all: Vec<Info>| match all.len() {
        1 => "the only one is cuda:0".into(),
        count => {
            format!("there are cuda:{}", (0..count).map(|number| number.to_string()).collect::<Vec<_>>().join(","))
        }
    };
    devices().map_or_else(|error| error.to_string(), listed)
}
