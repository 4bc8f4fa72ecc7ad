//! NVIDIA devices: found at run time, never needed to build.
//!
//! [`Cuda`] opens a device; its kernels are text in `kernels/` and `heuristics/`, embedded in the program
//! ([`source`]), compiled for the device's architecture by [`nvrtc`] and kept on disk ([`cache`]). Host code
//! decides, a device executes: nothing here knows networks or plans.

mod cache;
mod cuda;
pub mod nvrtc;
pub mod source;

pub use cuda::{Cuda, Info, Kernel, Module, devices};
pub use cudarc::driver::{CudaSlice, DevicePtr, DeviceRepr, LaunchArgs, PushKernelArg, ValidAsZeroBits};
pub use source::Source;

use thiserror::Error;

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
