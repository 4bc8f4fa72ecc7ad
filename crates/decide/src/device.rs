//! The device of a run: opened once work is worth it, left for good once it has failed.

use crate::elimination::Gpu;
use crate::error::Error;
use crate::stop::Stop;
use fangs_device::{Choice, DeviceError, Opening};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// Where tables and beliefs are made: on a device or, without one, on the CPU. The CPU takes what does not fit there,
/// and all that is left where the device fails.
pub struct Device {
    opening: Opening,
    /// Hears why the CPU goes on.
    tell: Box<dyn Fn(&str) + Send + Sync>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    gpu: Option<Arc<Gpu>>,
    lost: bool,
    /// Its name, once it has done something.
    served: Option<String>,
}

impl Default for Device {
    /// The CPU.
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
    /// The device that was chosen; `tell` hears why the CPU does what it was meant to.
    pub fn new(opening: Opening, tell: impl Fn(&str) + Send + Sync + 'static) -> Device {
        Device { opening, tell: Box::new(tell), state: Mutex::default() }
    }

    /// A device that is open.
    pub fn open(gpu: Arc<Gpu>, tell: impl Fn(&str) + Send + Sync + 'static) -> Device {
        let opening = Opening::new(Choice::Cuda(gpu.cuda().info.ordinal));
        Device { state: Mutex::new(State { gpu: Some(gpu), ..State::default() }), ..Device::new(opening, tell) }
    }

    /// The name of the device that did something of the work: `cpu`, `cuda:0`.
    pub fn name(&self) -> String {
        self.state().served.clone().unwrap_or_else(|| "cpu".into())
    }

    /// The device for so many combinations, the same one each time.
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

    /// That the device has done something.
    pub(super) fn served(&self, gpu: &Gpu) {
        self.state().served = Some(gpu.cuda().label());
    }

    /// That the device has failed.
    pub(super) fn lose(&self, gpu: &Gpu, error: &DeviceError) {
        (self.tell)(&format!("{}: {error}; going on on the CPU", gpu.cuda().label()));
        let mut state = self.state();
        (state.gpu, state.lost) = (None, true);
    }

    /// That something does not fit.
    pub(super) fn no_room(&self, gpu: &Gpu, bytes: u64) {
        let label = gpu.cuda().label();
        let free = gpu.budget().map_or_else(|_| "fewer".into(), |free| free.to_string());
        (self.tell)(&format!("{label}: {bytes} bytes are needed, {free} are free there; going on on the CPU"));
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
