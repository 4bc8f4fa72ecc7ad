//! The device of a run: opened when the work is large enough, and abandoned after a failure.

use crate::elimination::Gpu;
use crate::error::Error;
use crate::stop::Stop;
use fangs_device::{Choice, DeviceError, Opening};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// The place where tables and beliefs are computed: a device or the CPU. The CPU takes what does not fit into a device,
/// and all remaining work after a device has failed.
pub struct Device {
    opening: Opening,
    /// Receives the reason whenever the CPU takes over.
    tell: Box<dyn Fn(&str) + Send + Sync>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    gpu: Option<Arc<Gpu>>,
    lost: bool,
    /// The name of the device, once it has done some of the work.
    served: Option<String>,
}

impl Default for Device {
    /// Returns the CPU.
    fn default() -> Self {
        Device::new(Opening::new(Choice::Cpu), |_: &str| ())
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.opening.choice())
    }
}

impl Device {
    /// Returns the chosen device. `tell` receives the reason whenever the CPU takes over.
    pub fn new(opening: Opening, tell: impl Fn(&str) + Send + Sync + 'static) -> Device {
        Device { opening, tell: Box::new(tell), state: Mutex::default() }
    }

    /// Returns a device that is already open.
    pub fn open(gpu: Arc<Gpu>, tell: impl Fn(&str) + Send + Sync + 'static) -> Device {
        let opening = Opening::new(Choice::Cuda(gpu.cuda().info.ordinal));
        Device { state: Mutex::new(State { gpu: Some(gpu), ..State::default() }), ..Device::new(opening, tell) }
    }

    /// Returns the name of the processor that did some of the work, such as `cpu` or `cuda:0`.
    pub fn name(&self) -> String {
        self.state().served.clone().unwrap_or_else(|| "cpu".into())
    }

    /// Returns the device if `work` combinations are worth it or it is `needed`; every call returns the same one.
    pub(super) fn gpu(&self, work: f64, needed: bool, stop: &Stop) -> Result<Option<Arc<Gpu>>, Error> {
        if !Gpu::is_wanted(self.opening.choice(), work, needed) || self.state().lost {
            return Ok(None);
        }
        if let Some(gpu) = &self.state().gpu {
            return Ok(Some(gpu.clone()));
        }
        let gpu = self.opening.wait(stop)?.cuda.map(Gpu::new);
        let mut state = self.state();
        state.lost = gpu.is_none();
        state.gpu.clone_from(&gpu);
        Ok(gpu)
    }

    /// Records that the device has done some of the work.
    pub(super) fn served(&self, gpu: &Gpu) {
        self.state().served = Some(gpu.cuda().label());
    }

    /// Records that the device has failed, and reports it.
    pub(super) fn lose(&self, gpu: &Gpu, error: &DeviceError) {
        (self.tell)(&format!("{}: {error}; going on on the CPU", gpu.cuda().label()));
        let mut state = self.state();
        (state.gpu, state.lost) = (None, true);
    }

    /// Reports that something does not fit into the device.
    pub(super) fn no_room(&self, gpu: &Gpu, bytes: u64) {
        let label = gpu.cuda().label();
        let free = gpu.budget().map_or_else(|_| "fewer".into(), |free| free.to_string());
        (self.tell)(&format!("{label}: {bytes} bytes are needed, {free} are free there; going on on the CPU"));
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
