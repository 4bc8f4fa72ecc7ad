//! NVIDIA devices: found at run time, never needed to build.
//!
//! [`Choice`] is what a user asks for, [`Opening`] a device being opened, [`Cuda`] an open one. A kernel's text with
//! all that it includes is a [`Source`], compiled for the device's architecture by `nvrtc` and kept on disk by
//! `cache`. Host code decides, a device executes: nothing here knows networks or plans.
//!
//! What has types of the driver's crate is imported from here as well; it is hidden, for our own tests, and may change
//! at any time.

mod busy;
mod cache;
mod choice;
mod compile;
mod cuda;
mod driver;
mod find;
mod graph;
mod held;
mod launch;
mod memory;
mod modules;
pub mod nvrtc;
mod paths;
pub mod shared;
mod source;
mod survey;

// other crates, by the names that their areas have everywhere
use fangs_base::{VERSION, error, stop, terminal, threads};

pub use busy::Busy;
pub use choice::{Choice, Opened, Opening};
pub use cuda::Cuda;
pub use find::devices;
pub use held::Held;
pub use shared::DeviceStruct;
pub use source::{Source, Text};
pub use survey::survey;
#[doc(hidden)]
pub use {
    cudarc::driver::{
        CudaEvent, CudaSlice, CudaStream, CudaView, CudaViewMut, DevicePtr, DevicePtrMut, DeviceRepr, LaunchArgs,
        PushKernelArg, ValidAsZeroBits,
    },
    graph::Recorded,
    launch::{Blocks, Kernel, Module, compiles},
    memory::Pinned,
};

use serde::Serialize;
use std::path::PathBuf;
use thiserror::Error;

/// Asks the driver for few work queues, unless the environment names a number. By default it makes eight, a third of
/// the time to open a device; the streams of the search and of the bounds get separate queues by their priority
/// (results/speed).
///
/// # Safety
/// It sets a variable of the environment: no other thread may run yet.
#[allow(unsafe_code, reason = "the driver reads this from the environment alone")]
pub unsafe fn want_few_queues() {
    const QUEUES: &str = "CUDA_DEVICE_MAX_CONNECTIONS";
    if std::env::var_os(QUEUES).is_none() {
        // SAFETY: the caller's promise.
        unsafe { std::env::set_var(QUEUES, "2") }
    }
}

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

/// Why a device cannot be used, or failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DeviceError {
    /// There is no device to use, or something that it needs is missing.
    #[error("{0}")]
    Unusable(String),
    /// A kernel that the compiler refused.
    #[error("kernel {kernel} for {architecture}: {log}")]
    Compile {
        /// The source's name.
        kernel: String,
        /// The architecture compiled for.
        architecture: String,
        /// What the compiler said.
        log: String,
    },
    /// A call that failed.
    #[error("{what}: {cause}")]
    Failed {
        /// What was tried, with the kernel and its launch where there is one.
        what: String,
        /// What the driver said.
        cause: String,
    },
}
