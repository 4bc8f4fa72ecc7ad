//! Concurrent compilation of kernels, which takes a second or two without the cache. Each source gets a thread, so
//! several compile at the same time, and a waiting caller can do other work or stop.

use super::busy::Busy;
use super::cache;
use super::cuda::Cuda;
use super::device_error::DeviceError;
use super::driver::{driver, failed};
use super::info::Compiled;
use super::launch::Module;
use super::modules::Fate;
use super::nvrtc::Nvrtc;
use super::source::Source;
use crate::threads;
use cudarc::nvrtc::Ptx;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

impl Cuda {
    /// Returns the module of a source; `None` if it is not ready within `patience`. The first call starts the
    /// compilation.
    ///
    /// # Errors
    /// Returns the error of the compiler or the driver, at each call.
    #[doc(hidden)]
    pub fn poll(self: &Arc<Self>, source: &Source, patience: Duration) -> Result<Option<Arc<Module>>, DeviceError> {
        let place = |known: &[(Source, Fate)]| known.iter().position(|(other, _)| other == source);
        let mut known = self.modules.known.lock().unwrap_or_else(PoisonError::into_inner);
        let index = place(&known).unwrap_or_else(|| {
            known.push((source.clone(), self.begin(source)));
            known.len() - 1
        });
        let waited = self.modules.changed.wait_timeout_while(known, patience, |known| known[index].1.is_none());
        waited.unwrap_or_else(PoisonError::into_inner).0[index].1.clone().transpose()
    }

    /// Compiles a source, or takes it from the cache, and loads it, once.
    #[doc(hidden)]
    pub fn load(self: &Arc<Self>, source: &Source) -> Result<Arc<Module>, DeviceError> {
        loop {
            if let Some(module) = self.poll(source, Duration::from_secs(1))? {
                return Ok(module);
            }
        }
    }

    /// Returns why compiled kernels are not cached, if the user should know.
    pub fn cache_trouble(&self) -> Option<String> {
        cache::Cache::of_user().trouble()
    }

    /// Starts to compile a source. The outcome is still open, unless no thread can be started.
    fn begin(self: &Arc<Self>, source: &Source) -> Fate {
        let (cuda, source, busy) = (self.clone(), source.clone(), Busy::new());
        // the thread is detached, because a compiler cannot be stopped
        let begun = threads::start("compiler", move || {
            let broken = |_| Err(DeviceError::Unusable(format!("compiling {} ended abnormally", source.name)));
            let load = || cuda.compile_or_load(&source).map(Arc::new);
            // waiting threads must get an outcome even if the compiler's binding panics
            let fate = std::panic::catch_unwind(std::panic::AssertUnwindSafe(load)).unwrap_or_else(broken);
            let mut known = cuda.modules.known.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((_, place)) = known.iter_mut().find(|(other, _)| *other == source) {
                *place = Some(fate);
            }
            cuda.modules.changed.notify_all();
            drop(busy);
        });
        begun.err().map(|error| Err(DeviceError::Unusable(format!("compiling kernels: {error}"))))
    }

    fn compile_or_load(&self, source: &Source) -> Result<Module, DeviceError> {
        let began = Instant::now();
        let nvrtc = Nvrtc::get()?;
        let key = cache::key(source, self.info.architecture, nvrtc);
        let cache = cache::Cache::of_user();
        let load = |code: Vec<u8>| {
            let what = || {
                let (own, of_driver) = (nvrtc.version, driver().unwrap_or_default());
                let shown = |(major, minor): (i32, i32)| format!("{major}.{minor}");
                let (compiler, driver) = (shown(own), shown(of_driver));
                let later = if own.0 > of_driver.0 { ", which is older" } else { "" };
                format!("loading kernels of {} (compiler {compiler}, driver {driver}{later})", source.name)
            };
            // a copy with the driver's alignment; PTX ends with a NUL
            self.context().load_module(Ptx::from_binary(code)).map_err(|error| failed(what())(error))
        };
        let module = |module, symbols, cached| {
            let compiled = Compiled { seconds: began.elapsed().as_secs_f64(), cached };
            Module { module, source: source.name.clone(), symbols, compiled }
        };
        if let Some(image) = cache.load(&key)
            && let Ok(loaded) = load(image.code)
        {
            return Ok(module(loaded, image.symbols, true));
        }
        let image = nvrtc.compile(source, self.info.architecture)?;
        cache.store(&key, &image);
        Ok(module(load(image.code)?, image.symbols, false))
    }
}
