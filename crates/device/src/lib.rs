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

// other crates, by the names that their areas have everywhere
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
