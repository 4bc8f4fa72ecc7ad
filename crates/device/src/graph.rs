//! CUDA graphs: launches that are recorded once and given to a device together.

#![allow(unsafe_code, reason = "calls of the driver are foreign, and a recorded graph may move between threads")]

use super::cuda::Cuda;
use super::device_error::DeviceError;
use super::driver::failed;
use cudarc::driver::sys::CUgraphInstantiate_flags;
use cudarc::driver::sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
use cudarc::driver::{CudaGraph, CudaStream, result};
use std::fmt;

/// Recorded launches. The memory that their kernels use must exist as long as they are launched.
pub struct Recorded(CudaGraph);

// SAFETY: the driver's graphs may move between threads; two must not use one at a time, and `&mut` sees to that.
unsafe impl Send for Recorded {}
// SAFETY: nothing can be done with a shared reference.
unsafe impl Sync for Recorded {}

impl Cuda {
    /// Records the launches that `work` gives to a stream, without running them. The stream is a separate one, because
    /// work that other threads give to the device's stream must run, and graphs cannot be recorded by several threads.
    ///
    /// # Errors
    /// Returns the error of `work` or of the driver.
    pub fn record(&self, work: impl FnOnce(&CudaStream) -> Result<(), DeviceError>) -> Result<Recorded, DeviceError> {
        const WHAT: &str = "recording launches";
        let stream = self.fork()?;
        stream.begin_capture(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL).map_err(failed(WHAT))?;
        let done = work(&stream);
        let graph = stream.end_capture(CUgraphInstantiate_flags(0)).map_err(failed(WHAT));
        done?;
        let nothing = || DeviceError::Failed { what: WHAT.into(), cause: "nothing was recorded".into() };
        let graph = graph?.ok_or_else(nothing)?;
        // uploaded in the order of the launches
        // SAFETY: the graph lives, the recording has bound the context, and no other thread knows either.
        unsafe { result::graph::upload(graph.cu_graph_exec(), self.stream().cu_stream()) }.map_err(failed(WHAT))?;
        Ok(Recorded(graph))
    }
}

impl Recorded {
    /// Gives the launches to the stream of the device for which they were recorded.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn launch(&mut self, cuda: &Cuda) -> Result<(), DeviceError> {
        const WHAT: &str = "launching what was recorded";
        cuda.context().bind_to_thread().map_err(failed(WHAT))?;
        // SAFETY: the graph lives as long as `self`, and `&mut` keeps other threads from it.
        unsafe { result::graph::launch(self.0.cu_graph_exec(), cuda.stream().cu_stream()) }.map_err(failed(WHAT))
    }
}

impl fmt::Debug for Recorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("recorded launches")
    }
}
