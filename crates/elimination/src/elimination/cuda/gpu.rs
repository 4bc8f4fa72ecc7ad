//! A device and its compiled kernels of elimination.

use crate::device::{Choice, Cuda, DeviceError, Kernel, Opening, Source};
use crate::error::Error;
use crate::stop::Stop;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A kernel source with its shared memory.
#[derive(Clone, Copy)]
pub struct Text {
    /// Returns the source to compile.
    pub source: fn() -> Source,
    /// Returns the bytes of dynamic shared memory of a block, given the bytes that the device permits.
    pub shared: fn(u32) -> u32,
}

impl Text {
    /// Creates a source whose blocks use no dynamic shared memory.
    pub const fn new(source: fn() -> Source) -> Text {
        Text { source, shared: |_| 0 }
    }
}

/// A device and its kernels of elimination, each compiled when a plan first needs it.
#[derive(Debug)]
pub struct Gpu {
    cuda: Arc<Cuda>,
    /// Bytes that tables may take at most.
    limit: u64,
    /// The kernels by expression, because sources are too long for keys.
    kernels: Mutex<HashMap<String, Kernel>>,
}

/// The longest time to wait for a kernel in one call.
const PATIENCE: Duration = Duration::from_millis(20);
/// The fraction of free device memory that tables may take.
const USABLE: f64 = 0.9;
/// Combinations for each CPU thread below which the CPU finishes before a device has begun.
const SMALL: f64 = 1e7;

impl Gpu {
    /// Uses an open device.
    pub fn new(cuda: Arc<Cuda>) -> Arc<Gpu> {
        Gpu::limited(cuda, u64::MAX)
    }

    /// Uses an open device whose tables take at most `limit` bytes.
    pub fn limited(cuda: Arc<Cuda>, limit: u64) -> Arc<Gpu> {
        Arc::new(Gpu { cuda, limit, kernels: Mutex::default() })
    }

    /// Returns whether an elimination of `joint_entries` combinations pays on a device. A small one does not, because
    /// copies and launches take longer.
    pub fn pays(joint_entries: f64) -> bool {
        joint_entries >= SMALL * rayon::current_num_threads() as f64
    }

    /// Returns the device for an elimination of `joint_entries` combinations; `None` if it should run on the CPU.
    ///
    /// # Errors
    /// Returns the reason why the named device cannot be used, or [`Error::Stopped`] if `stop` is set before that is
    /// known.
    pub fn of(opening: &Opening, joint_entries: f64, needed: bool, stop: &Stop) -> Result<Option<Arc<Gpu>>, Error> {
        match Gpu::is_wanted(opening.choice(), joint_entries, needed) {
            true => Ok(opening.wait(stop)?.cuda.map(Gpu::new)),
            false => Ok(None),
        }
    }

    /// Returns whether an elimination should run on a device: always on a named one; if the choice is automatic, if it
    /// pays or is `needed` because the host cannot do it.
    pub fn is_wanted(choice: &Choice, joint_entries: f64, needed: bool) -> bool {
        choice.is_named() || (*choice == Choice::Auto && (needed || Gpu::pays(joint_entries)))
    }

    /// Returns the device.
    pub fn cuda(&self) -> &Arc<Cuda> {
        &self.cuda
    }

    /// Returns the bytes of tables that fit the device now, which is a budget for plans.
    ///
    /// # Errors
    /// Returns errors of the driver.
    pub fn budget(&self) -> Result<u64, DeviceError> {
        Ok(((self.cuda.free_memory()? as f64 * USABLE) as u64).min(self.limit))
    }

    /// Begins to compile a kernel.
    pub fn begin(&self, text: Text, expression: &str) {
        // an error is returned when the kernel is used
        let _ = self.ready(text, expression);
    }

    /// Returns a kernel; `None` if it takes longer than some milliseconds to compile.
    pub fn poll(&self, text: Text, expression: &str) -> Result<Option<Kernel>, DeviceError> {
        self.wait(text, expression, PATIENCE)
    }

    /// Like [`Gpu::poll`], but does not wait.
    pub fn ready(&self, text: Text, expression: &str) -> Result<Option<Kernel>, DeviceError> {
        self.wait(text, expression, Duration::ZERO)
    }

    fn wait(&self, text: Text, expression: &str, patience: Duration) -> Result<Option<Kernel>, DeviceError> {
        let known = || self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kernel) = known().get(expression) {
            return Ok(Some(kernel.clone()));
        }
        let Some(module) = self.cuda.poll(&(text.source)().kernel(expression), patience)? else {
            return Ok(None);
        };
        let kernel = module.kernel(expression, (text.shared)(self.cuda.info.shared_memory))?;
        let _ = known().insert(expression.into(), kernel.clone());
        Ok(Some(kernel))
    }

    /// Returns a kernel, and waits until it is compiled.
    pub fn kernel(&self, text: Text, expression: &str) -> Result<Kernel, DeviceError> {
        loop {
            if let Some(kernel) = self.poll(text, expression)? {
                return Ok(kernel);
            }
        }
    }
}
