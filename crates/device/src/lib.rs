//! NVIDIA devices: found at run time, never needed to build.
//!
//! [`Choice`] is what a user requests, [`Opening`] is a device being opened, and [`Cuda`] is an open one. A [`Source`]
//! is a kernel's source with all that it includes; `nvrtc` compiles it for the device's architecture, and `cache` keeps
//! the result on disk. The host decides and a device executes: this crate knows neither networks nor plans.
//!
//! Items with types of the driver's crate are exported from here as well. They are hidden, are meant for this
//! workspace's tests, and may change at any time.

mod busy;
mod cache;
mod choice;
mod compile;
mod cuda;
mod device_error;
mod driver;
mod find;
mod graph;
mod held;
mod info;
mod launch;
mod memory;
mod modules;
pub mod nvrtc;
mod paths;
mod peers;
pub mod shared;
mod source;
mod survey;

// modules of other crates, under the names that they have in every crate
use fangs_base::{VERSION, error, stop, terminal, threads};

pub use busy::Busy;
pub use choice::{Choice, Opened, Opening};
pub use cuda::Cuda;
pub use device_error::DeviceError;
pub use find::devices;
pub use held::Held;
pub use info::{Compiled, Found, Info, Memory, Survey};
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
    peers::{can_connect, connect},
};

/// Asks the driver for few work queues, unless the environment specifies a number. By default it makes eight, which
/// takes a third of the time to open a device. The streams of the search and of the bounds get separate queues by their
/// priority (results/speed).
///
/// # Safety
/// It sets an environment variable, so no other thread may run yet.
#[allow(unsafe_code, reason = "the driver reads this from the environment alone")]
pub unsafe fn want_few_queues() {
    const QUEUES: &str = "CUDA_DEVICE_MAX_CONNECTIONS";
    if std::env::var_os(QUEUES).is_none() {
        // SAFETY: the caller's promise.
        unsafe { std::env::set_var(QUEUES, "2") }
    }
}
