//! Launches that are recorded once and given to a device together.

#![allow(unsafe_code, reason = "a recorded graph may move between threads")]

use super::find::failed;
use super::{Cuda, DeviceError};
use cudarc::driver::CudaGraph;
use cudarc::driver::sys::CUgraphInstantiate_flags;
use cudarc::driver::sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
use std::fmt;

/// What was recorded. The memory that its kernels were given must stay as long as it is launched.
pub struct Recorded(CudaGraph);

// SAFETY: the driver's graphs may move between threads; two must not use one at a time, and `&mut` sees to that.
unsafe impl Send for Recorded {}
// SAFETY: nothing can be done with a shared reference.
unsafe impl Sync for Recorded {}

impl Cuda {
    /// Records the launches that `work` gives to the stream of this device, and runs none of them.
    ///
    /// # Errors
    /// Those of `work` and the driver's; the stream can be used afterwards.
    pub fn record(&self, work: impl FnOnce() -> Result<(), DeviceError>) -> Result<Recorded, DeviceError> {
        const WHAT: &str = "recording launches";
        self.stream().begin_capture(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL).map_err(failed(WHAT))?;
        let done = work();
        let graph = self.stream().end_capture(CUgraphInstantiate_flags(0)).map_err(failed(WHAT));
        done?;
        let nothing = || DeviceError::Failed { what: WHAT.into(), cause: "nothing was recorded".into() };
        let graph = graph?.ok_or_else(nothing)?;
        graph.upload().map_err(failed(WHAT))?;
        Ok(Recorded(graph))
    }
}

impl Recorded {
    /// Gives the launches to the stream that they were recorded on.
    ///
    /// # Errors
    /// The driver's.
    pub fn launch(&mut self) -> Result<(), DeviceError> {
        self.0.launch().map_err(failed("launching what was recorded"))
    }
}

impl fmt::Debug for Recorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("recorded launches")
    }
}
