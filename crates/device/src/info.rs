//! What is known of devices and of what they need.

use super::device_error::DeviceError;
use serde::Serialize;
use std::path::PathBuf;

/// What a device is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Info {
    /// Its number.
    pub ordinal: usize,
    /// Its name.
    pub name: String,
    /// Compute capability as 10 * major + minor.
    pub architecture: i32,
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Bytes of shared memory that a block may ask for.
    pub shared_memory: u32,
    /// Bytes of memory.
    pub memory: u64,
}

/// The time until kernels were ready.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Compiled {
    /// Seconds, loading included.
    pub seconds: f64,
    /// Whether they came from the cache of an earlier run.
    pub cached: bool,
}

/// The memory of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Bytes that are free.
    pub free: u64,
    /// Bytes that there are.
    pub total: u64,
}

/// The parts needed to run on a device, as far as they are installed.
#[derive(Clone, Debug)]
pub struct Survey {
    /// The version of CUDA that the driver supports.
    pub driver: Result<(i32, i32), DeviceError>,
    /// The compiler's version and where it was found.
    pub compiler: Result<((i32, i32), PathBuf), DeviceError>,
    /// The devices.
    pub devices: Result<Vec<Found>, DeviceError>,
}

/// A device and whether it can be used.
#[derive(Clone, Debug)]
pub struct Found {
    /// What it is.
    pub info: Info,
    /// Its memory once it was opened, or why it does not open.
    pub usable: Result<Memory, DeviceError>,
}
