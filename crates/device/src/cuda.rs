//! A device with its context and its streams.

#![allow(unsafe_code, reason = "calls of the driver are foreign")]

use super::device_error::DeviceError;
use super::driver::{driver, failed};
use super::find::{devices, fits, there};
use super::info::Info;
use super::modules::Modules;
use super::nvrtc::Nvrtc;
use crate::threads;
use cudarc::driver::result::stream::get_priority_range;
use cudarc::driver::sys::CUevent_flags::CU_EVENT_DEFAULT;
use cudarc::driver::{CudaContext, CudaStream};
use std::sync::Arc;

/// A device ready for use, with one context and one stream of work.
#[derive(Debug)]
pub struct Cuda {
    /// The properties of the device.
    pub info: Info,
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    /// The modules that the device has loaded.
    pub(super) modules: Arc<Modules>,
}

impl Cuda {
    /// Opens a device.
    ///
    /// # Errors
    /// Returns what is missing, in one line: the driver, the device, or the compiler.
    pub fn open(ordinal: usize) -> Result<Arc<Cuda>, DeviceError> {
        let _ = driver()?;
        // the compiler's library is large, so it loads while the driver starts
        let (nvrtc, context) = std::thread::scope(|scope| {
            let nvrtc = threads::start_in(scope, "nvrtc", Nvrtc::get);
            let context = Self::context_of(ordinal);
            (nvrtc.map_or_else(|_| Ok(Nvrtc::get()), |thread| thread.join()), context)
        });
        let (info, context) = context?;
        let nvrtc = nvrtc.unwrap_or_else(|_| Err(DeviceError::Unusable("the CUDA compiler does not load".into())))?;
        fits(&info, nvrtc)?;
        // SAFETY: all work of a `Cuda` goes through its stream in order; events order the work of a second stream.
        unsafe { context.disable_event_tracking() };
        let stream = context.new_stream().map_err(failed("making a CUDA stream"))?;
        let cuda = Cuda { info, context, stream, modules: Arc::default() };
        // the first allocation takes the driver some milliseconds, which a background thread hides
        drop(cuda.reserve::<u8>(1)?);
        Ok(Arc::new(cuda))
    }

    fn context_of(ordinal: usize) -> Result<(Info, Arc<CudaContext>), DeviceError> {
        let all = devices()?;
        let Some(info) = all.into_iter().nth(ordinal) else {
            return Err(DeviceError::Unusable(format!("there is no CUDA device {ordinal}: {}", there())));
        };
        let context = CudaContext::new(ordinal).map_err(failed(format!("opening CUDA device {ordinal}")))?;
        Ok((info, context))
    }

    /// Returns the device's name on the command line: `cuda:0`.
    pub fn label(&self) -> String {
        format!("cuda:{}", self.info.ordinal)
    }

    /// Returns the stream of the device's work.
    #[doc(hidden)]
    pub fn stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }

    /// Returns the device's context.
    #[doc(hidden)]
    pub fn context(&self) -> &Arc<CudaContext> {
        &self.context
    }

    /// Returns the same device with another stream, of higher priority. Work on it neither waits for work of the first
    /// stream nor enters a graph that the first one records.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn beside(&self) -> Result<Arc<Cuda>, DeviceError> {
        let urgent = || {
            self.context.bind_to_thread()?;
            let (_, greatest) = get_priority_range()?;
            self.context.new_stream_with_priority(greatest)
        };
        let stream = urgent().map_err(failed("making a CUDA stream"))?;
        let (context, modules) = (self.context.clone(), self.modules.clone());
        Ok(Arc::new(Cuda { info: self.info.clone(), context, stream, modules }))
    }

    /// Returns a second stream for concurrent work. Only [`Cuda::mark`] and [`Cuda::wait`] order the two; memory is
    /// freed in the order of the first.
    #[doc(hidden)]
    pub fn fork(&self) -> Result<Arc<CudaStream>, DeviceError> {
        self.context.new_stream().map_err(failed("making a CUDA stream"))
    }

    /// Waits for all work given to the device's stream so far.
    ///
    /// # Errors
    /// Returns errors of that work: a failed kernel is reported only here or at a later call.
    pub fn synchronize(&self) -> Result<(), DeviceError> {
        self.stream.synchronize().map_err(failed("waiting for the device"))
    }

    /// Returns the median of the milliseconds that `work` takes on the device, after `warm_up` runs.
    pub fn median_ms(
        &self,
        warm_up: usize,
        repeats: usize,
        mut work: impl FnMut() -> Result<(), DeviceError>,
    ) -> Result<f64, DeviceError> {
        let mark = || self.stream.record_event(Some(CU_EVENT_DEFAULT)).map_err(failed("marking time on the device"));
        for _ in 0..warm_up {
            work()?;
        }
        let mut times = Vec::with_capacity(repeats);
        for _ in 0..repeats.max(1) {
            let before = mark()?;
            work()?;
            let after = mark()?;
            times.push(f64::from(before.elapsed_ms(&after).map_err(failed("timing the device"))?));
        }
        times.sort_by(f64::total_cmp);
        Ok(times[times.len() / 2])
    }
}
