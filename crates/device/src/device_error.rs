//! Why a device cannot be used, or failed.

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
