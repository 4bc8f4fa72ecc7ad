//! Kernels and their launches.

#![allow(unsafe_code, reason = "calls of the driver are foreign")]

use super::device_error::DeviceError;
use super::driver::failed;
use super::info::Compiled;
use super::nvrtc::Nvrtc;
use super::source::Source;
use cudarc::driver::sys::CUfunction_attribute as FunctionAttribute;
use cudarc::driver::{CudaFunction, CudaModule, CudaStream, LaunchArgs, LaunchConfig};
use fangs_base::faults;
use std::sync::Arc;

/// Kernels that were compiled together and loaded.
#[derive(Debug)]
pub struct Module {
    pub(super) module: Arc<CudaModule>,
    pub(super) source: String,
    pub(super) symbols: Vec<(String, String)>,
    pub(super) compiled: Compiled,
}

/// The thread blocks of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// The number of blocks.
    pub count: u32,
    /// The number of threads of a block.
    pub threads: u32,
    /// The number of bytes of dynamic shared memory of a block.
    pub shared: u32,
}

impl Blocks {
    /// Makes blocks without dynamic shared memory.
    pub const fn new(count: u32, threads: u32) -> Blocks {
        Blocks { count, threads, shared: 0 }
    }
}

/// A kernel that can be launched.
#[derive(Clone, Debug)]
pub struct Kernel {
    function: CudaFunction,
    name: String,
}

/// Compiles a source for the latest architecture that the compiler knows, to check that it compiles. Needs no device.
///
/// # Errors
/// Returns the compiler's messages, or that there is no compiler.
pub fn compiles(source: &Source) -> Result<(), DeviceError> {
    let nvrtc = Nvrtc::get()?;
    let latest = nvrtc.architectures()?.into_iter().max().unwrap_or(i32::MAX);
    nvrtc.compile(source, latest).map(|_| ())
}

impl Module {
    /// Returns how long it took to compile the module, or to load it from the cache.
    pub fn compiled(&self) -> Compiled {
        self.compiled
    }

    /// Returns a kernel that the source requested. `shared` is the maximum number of bytes of dynamic shared memory of
    /// its launches.
    ///
    /// # Errors
    /// Returns an error if there is no such kernel, or if it cannot have that much shared memory.
    pub fn kernel(&self, expression: &str, shared: u32) -> Result<Kernel, DeviceError> {
        let name = format!("{} of {}", expression, self.source);
        let symbol = self.symbols.iter().find(|(wanted, _)| wanted == expression).map(|(_, symbol)| symbol.as_str());
        let Some(symbol) = symbol else {
            return Err(DeviceError::Failed { what: name, cause: "the source was not asked for it".into() });
        };
        let function = self.module.load_function(symbol).map_err(failed(name.clone()))?;
        // 48 KiB are available by default, including the kernel's own declarations
        if shared > 32 << 10 {
            let kind = FunctionAttribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            let what = format!("{name}: asking for {shared} bytes of shared memory");
            function.set_attribute(kind, shared as i32).map_err(failed(what))?;
        }
        Ok(Kernel { function, name })
    }
}

impl Kernel {
    /// Returns the kernel's name, for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the number of registers of a thread.
    pub fn registers(&self) -> u32 {
        self.function.num_regs().map_or(0, |count| count as u32)
    }

    /// Returns the number of blocks that run on a multiprocessor at a time.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn blocks_per_multiprocessor(&self, threads: u32, shared: u32) -> Result<u32, DeviceError> {
        let occupancy = self.function.occupancy_max_active_blocks_per_multiprocessor(threads, shared as usize, None);
        occupancy.map_err(failed(format!("occupancy of {}", self.name)))
    }

    /// Launches blocks of the kernel.
    ///
    /// # Errors
    /// Returns the error of this launch, or of an earlier one that the driver reports late.
    ///
    /// # Safety
    /// The arguments must be the kernel's, in number, order and type, and what they point to must hold what the kernel
    /// reads and writes.
    pub unsafe fn launch<'a>(
        &'a self,
        stream: &'a CudaStream,
        blocks: Blocks,
        arguments: impl for<'b> FnOnce(&'b mut LaunchArgs<'a>) -> &'b mut LaunchArgs<'a>,
    ) -> Result<(), DeviceError> {
        // SAFETY: the caller's promise.
        unsafe { self.launch_as(false, stream, blocks, arguments) }
    }

    /// Launches the kernel with all blocks on the device at once, so that they may wait for each other.
    ///
    /// # Errors
    /// Returns the error of this launch, of an earlier one that the driver reports late, or that the blocks do not fit
    /// on the device together.
    ///
    /// # Safety
    /// The arguments must be the kernel's, in number, order and type, and what they point to must hold what the kernel
    /// reads and writes.
    pub unsafe fn launch_together<'a>(
        &'a self,
        stream: &'a CudaStream,
        blocks: Blocks,
        arguments: impl for<'b> FnOnce(&'b mut LaunchArgs<'a>) -> &'b mut LaunchArgs<'a>,
    ) -> Result<(), DeviceError> {
        // SAFETY: the caller's promise.
        unsafe { self.launch_as(true, stream, blocks, arguments) }
    }

    unsafe fn launch_as<'a>(
        &'a self,
        together: bool,
        stream: &'a CudaStream,
        blocks: Blocks,
        arguments: impl for<'b> FnOnce(&'b mut LaunchArgs<'a>) -> &'b mut LaunchArgs<'a>,
    ) -> Result<(), DeviceError> {
        let Blocks { count, threads, shared } = blocks;
        let what = || format!("launching {} with {count} blocks of {threads} threads and {shared} bytes", self.name);
        faults::launch(stream.context().ordinal()).map_err(|cause| DeviceError::Failed { what: what(), cause })?;
        let config = LaunchConfig { grid_dim: (count, 1, 1), block_dim: (threads, 1, 1), shared_mem_bytes: shared };
        let mut builder = stream.launch_builder(&self.function);
        let _ = arguments(&mut builder);
        // SAFETY: the caller's promise.
        let launched = unsafe { if together { builder.launch_cooperative(config) } else { builder.launch(config) } };
        launched.map(|_| ()).map_err(|error| failed(what())(error))
    }
}
