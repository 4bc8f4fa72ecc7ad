//! A device with the kernels that elimination takes.

use crate::device::{Choice, Cuda, DeviceError, Kernel, Opening, Source};
use crate::error::Error;
use crate::stop::Stop;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A text of kernels.
#[derive(Clone, Copy)]
pub struct Text {
    /// What is compiled.
    pub source: fn() -> Source,
    /// Bytes of shared memory that a block takes, of those that it may.
    pub shared: fn(u32) -> u32,
}

impl Text {
    /// A text whose blocks have what shared memory they say.
    pub const fn new(source: fn() -> Source) -> Text {
        Text { source, shared: |_| 0 }
    }
}

/// A device with the kernels that elimination takes, each compiled when a plan first asks for it.
#[derive(Debug)]
pub struct Gpu {
    cuda: Arc<Cuda>,
    /// Bytes that tables may take in any case.
    limit: u64,
    /// By expression: what they are compiled from is long.
    kernels: Mutex<HashMap<String, Kernel>>,
}

/// How long a kernel is waited for at a time.
const PATIENCE: Duration = Duration::from_millis(20);
/// The part of free device memory that tables may take.
const USABLE: f64 = 0.9;
/// Combinations for each thread of the CPU below which it is done before a device has begun.
const SMALL: f64 = 1e7;

impl Gpu {
    /// Uses a device that is open.
    pub fn new(cuda: Arc<Cuda>) -> Arc<Gpu> {
        Gpu::limited(cuda, u64::MAX)
    }

    /// Uses a device whose tables take `limit` bytes at most.
    pub fn limited(cuda: Arc<Cuda>, limit: u64) -> Arc<Gpu> {
        Arc::new(Gpu { cuda, limit, kernels: Mutex::default() })
    }

    /// Whether so many combinations are worth the way to a device. A few are not: copies and launches take longer.
    pub fn pays(joint_entries: f64) -> bool {
        joint_entries >= SMALL * rayon::current_num_threads() as f64
    }

    /// The device for so many combinations, where it is wanted. None is the CPU.
    ///
    /// # Errors
    /// Why the device that was named cannot be used; [`Error::Stopped`] where `stop` is set before that is known.
    pub fn of(opening: &Opening, joint_entries: f64, needed: bool, stop: &Stop) -> Result<Option<Arc<Gpu>>, Error> {
        match Gpu::is_wanted(opening.choice(), joint_entries, needed) {
            true => Ok(opening.wait(stop)?.cuda.map(Gpu::new)),
            false => Ok(None),
        }
    }

    /// Whether a device should do it: one that was named in any case; where none was, one that works, if that pays or
    /// is `needed` because the host cannot do it.
    pub fn is_wanted(choice: &Choice, joint_entries: f64, needed: bool) -> bool {
        choice.is_named() || (*choice == Choice::Auto && (needed || Gpu::pays(joint_entries)))
    }

    /// The device.
    pub fn cuda(&self) -> &Arc<Cuda> {
        &self.cuda
    }

    /// Bytes of tables that fit the device now: a budget to make plans with.
    ///
    /// # Errors
    /// Those of the driver.
    pub fn budget(&self) -> Result<u64, DeviceError> {
        Ok(((self.cuda.free_memory()? as f64 * USABLE) as u64).min(self.limit))
    }

    /// Begins to compile a kernel.
    pub fn begin(&self, text: Text, expression: &str) {
        // what is wrong with it is said to whoever takes it
        let _ = self.ready(text, expression);
    }

    /// A kernel; `None` where it takes longer than some milliseconds.
    pub fn poll(&self, text: Text, expression: &str) -> Result<Option<Kernel>, DeviceError> {
        self.wait(text, expression, PATIENCE)
    }

    /// Like [`Gpu::poll`], but waits for nothing.
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

    /// A kernel, once it is compiled.
    pub fn kernel(&self, text: Text, expression: &str) -> Result<Kernel, DeviceError> {
        loop {
            if let Some(kernel) = self.poll(text, expression)? {
                return Ok(kernel);
            }
        }
    }
}
