//! Properties of devices and of what they need.

use super::device_error::DeviceError;
use serde::Serialize;
use std::path::PathBuf;

/// The properties of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Info {
    /// The device's number.
    pub ordinal: usize,
    /// The device's name.
    pub name: String,
    /// The compute capability, as 10 * major + minor.
    pub architecture: i32,
    /// The number of multiprocessors.
    pub multiprocessors: u32,
    /// The number of bytes of shared memory that a block may request.
    pub shared_memory: u32,
    /// The number of bytes of memory.
    pub memory: u64,
}

/// The time until kernels were ready.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Compiled {
    /// The time in seconds, loading included.
    pub seconds: f64,
    /// Whether the kernels came from the cache of an earlier run.
    pub cached: bool,
}

/// The memory of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// The number of free bytes.
    pub free: u64,
    /// The total number of bytes.
    pub total: u64,
}

/// The components needed to run on a device, as far as they are installed.
#[derive(Clone, Debug)]
pub struct Survey {
    /// The version of CUDA that the driver supports.
    pub driver: Result<(i32, i32), DeviceError>,
    /// The compiler's version and path.
    pub compiler: Result<((i32, i32), PathBuf), DeviceError>,
    /// The devices.
    pub devices: Result<Vec<Found>, DeviceError>,
}

/// A device and whether it can be used.
#[derive(Clone, Debug)]
pub struct Found {
    /// The properties of the device.
    pub info: Info,
    /// The device's memory after it was opened, or why it cannot be opened.
    pub usable: Result<Memory, DeviceError>,
}
