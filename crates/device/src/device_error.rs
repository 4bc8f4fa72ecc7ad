//! Errors of devices.

use thiserror::Error;

/// Why a device cannot be used, or failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DeviceError {
    /// There is no usable device, or something that it needs is missing.
    #[error("{0}")]
    Unusable(String),
    /// A kernel source that the compiler rejected.
    #[error("kernel {kernel} for {architecture}: {log}")]
    Compile {
        /// The name of the source.
        kernel: String,
        /// The target architecture.
        architecture: String,
        /// The compiler's messages.
        log: String,
    },
    /// A call that failed.
    #[error("{what}: {cause}")]
    Failed {
        /// What was tried, with the kernel and its launch if there is one.
        what: String,
        /// The driver's error.
        cause: String,
    },
}
