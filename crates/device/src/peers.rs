//! Direct access of devices to each other's memory.

#![allow(unsafe_code, reason = "calls of the driver are foreign")]

use super::cuda::Cuda;
use super::device_error::DeviceError;
use super::driver::failed;
use cudarc::driver::{DriverError, sys};
use std::sync::Arc;

/// Returns whether the kernels of each device can read and write the memory of all others after [`connect`].
pub fn can_connect(devices: &[Arc<Cuda>]) -> bool {
    // an error of the driver counts as no
    pairs(devices).all(|pair| pair.can_connect().unwrap_or(false))
}

/// Lets the kernels of each device read and write the memory of all others.
///
/// # Errors
/// Returns the driver's error.
pub fn connect(devices: &[Arc<Cuda>]) -> Result<(), DeviceError> {
    pairs(devices).try_for_each(Pair::connect).map_err(failed("connecting devices"))
}

/// A device `from` whose kernels use the memory of the device `to`.
struct Pair<'a> {
    from: &'a Cuda,
    to: &'a Cuda,
}

fn pairs(devices: &[Arc<Cuda>]) -> impl Iterator<Item = Pair<'_>> {
    let pairs = devices.iter().flat_map(move |from| devices.iter().map(move |to| Pair { from, to }));
    pairs.filter(|pair| pair.from.info.ordinal != pair.to.info.ordinal)
}

impl Pair<'_> {
    fn can_connect(&self) -> Result<bool, DriverError> {
        let [from, to] = [self.from, self.to].map(|cuda| cuda.context().cu_device());
        let mut can = 0;
        // SAFETY: the devices are open, and the pointer is valid for the call.
        unsafe { sys::cuDeviceCanAccessPeer(&raw mut can, from, to) }.result()?;
        Ok(can != 0)
    }

    fn connect(self) -> Result<(), DriverError> {
        let (from, to) = (self.from.context(), self.to.context());
        from.bind_to_thread()?;
        // SAFETY: both contexts live as long as their devices are open.
        match unsafe { sys::cuCtxEnablePeerAccess(to.cu_ctx(), 0) } {
            sys::CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED => {}
            done => done.result()?,
        }
        if !to.has_async_alloc() {
            return Ok(());
        }
        // memory from a pool needs the permission of the pool
        let mut pool = std::ptr::null_mut();
        let location = sys::CUmemLocation {
            type_: sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE,
            id: from.ordinal() as i32,
        };
        let flags = sys::CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
        let access = sys::CUmemAccessDesc { location, flags };
        // SAFETY: the device is open, and the pointers are valid for the calls.
        unsafe {
            sys::cuDeviceGetDefaultMemPool(&raw mut pool, to.cu_device()).result()?;
            sys::cuMemPoolSetAccess(pool, &raw const access, 1).result()
        }
    }
}
