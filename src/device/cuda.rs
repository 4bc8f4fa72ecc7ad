//! A device: its context, stream, kernels and memory.

#![allow(unsafe_code, reason = "calls of the driver and of the compiler library are foreign")]

use super::nvrtc::Nvrtc;
use super::{DeviceError, Source, cache};
use cudarc::driver::sys::CUdevice_attribute as Attribute;
use cudarc::driver::sys::CUfunction_attribute as FunctionAttribute;
use cudarc::driver::{
    CudaContext, CudaFunction, CudaModule, CudaSlice, CudaStream, DevicePtrMut, DeviceRepr, DriverError, LaunchArgs, LaunchConfig,
    ValidAsZeroBits,
};
use cudarc::nvrtc::Ptx;
use std::fmt::Debug;
use std::sync::Arc;

/// What a device is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Info {
    /// Its number.
    pub ordinal: usize,
    /// Its name.
    pub name: String,
    /// Compute capability as 10 * major + minor.
    pub architecture: i32,
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Bytes of shared memory that a block may ask for.
    pub shared_memory: u32,
    /// Bytes of memory.
    pub memory: u64,
}

/// A device ready for use: one context, one stream of work.
#[derive(Debug)]
pub struct Cuda {
    /// What it is.
    pub info: Info,
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
}

/// Kernels compiled together and loaded.
#[derive(Debug)]
pub struct Module {
    module: Arc<CudaModule>,
    source: String,
    symbols: Vec<(String, String)>,
}

/// A kernel that can be launched.
#[derive(Clone, Debug)]
pub struct Kernel {
    function: CudaFunction,
    name: String,
}

fn failed(what: impl Into<String>) -> impl FnOnce(DriverError) -> DeviceError {
    let what = what.into();
    move |error| {
        let cause = match (error.error_name(), error.error_string()) {
            (Ok(name), Ok(text)) => format!("{} ({})", text.to_string_lossy(), name.to_string_lossy()),
            _ => format!("{error:?}"),
        };
        DeviceError::Failed { what, cause }
    }
}

/// The devices of this machine, or why there are none.
pub fn devices() -> Result<Vec<Info>, DeviceError> {
    // SAFETY: looking for the library has no requirements.
    if !unsafe { cudarc::driver::sys::is_culib_present() } {
        return Err(DeviceError::Unusable("no NVIDIA driver is installed (libcuda was not found)".into()));
    }
    let count = CudaContext::device_count().map_err(failed("counting CUDA devices"))?;
    if count == 0 {
        return Err(DeviceError::Unusable("the NVIDIA driver sees no device".into()));
    }
    (0..count as usize).map(info).collect()
}

fn info(ordinal: usize) -> Result<Info, DeviceError> {
    use cudarc::driver::result::device;
    let failed = || failed(format!("CUDA device {ordinal}"));
    let handle = device::get(ordinal as i32).map_err(failed())?;
    // SAFETY: the handle was given out by the driver just now.
    let attribute = |kind| unsafe { device::get_attribute(handle, kind) }.map_err(failed());
    let major = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
    let minor = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
    Ok(Info {
        ordinal,
        name: device::get_name(handle).map_err(failed())?,
        architecture: 10 * major + minor,
        multiprocessors: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)? as u32,
        shared_memory: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)? as u32,
        // SAFETY: as above.
        memory: unsafe { device::total_mem(handle) }.map_err(failed())? as u64,
    })
}

impl Cuda {
    /// Opens a device.
    ///
    /// # Errors
    /// What is missing, in one line: the driver, the device, the compiler.
    pub fn open(ordinal: usize) -> Result<Arc<Cuda>, DeviceError> {
        let all = devices()?;
        let count = all.len();
        let Some(info) = all.into_iter().nth(ordinal) else {
            return Err(DeviceError::Unusable(format!("there is no CUDA device {ordinal}: there are {count}")));
        };
        let _ = Nvrtc::get()?;
        let context = CudaContext::new(ordinal).map_err(failed(format!("opening CUDA device {ordinal}")))?;
        let stream = context.new_stream().map_err(failed("making a CUDA stream"))?;
        // SAFETY: all work of a `Cuda` goes through its streams in order; whoever uses a second one orders them by events.
        unsafe { context.disable_event_tracking() };
        Ok(Arc::new(Cuda { info, context, stream }))
    }

    /// The stream of its work.
    pub fn stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }

    /// Its context.
    pub fn context(&self) -> &Arc<CudaContext> {
        &self.context
    }

    /// A second stream, for work beside that of the first.
    pub fn fork(&self) -> Result<Arc<CudaStream>, DeviceError> {
        self.context.new_stream().map_err(failed("making a CUDA stream"))
    }

    /// Bytes of its memory that are free now.
    pub fn free_memory(&self) -> Result<u64, DeviceError> {
        self.context.mem_get_info().map(|(free, _)| free as u64).map_err(failed("asking for free device memory"))
    }

    /// Compiles a source, or takes it from the cache, and loads it.
    pub fn load(&self, source: &Source) -> Result<Module, DeviceError> {
        let nvrtc = Nvrtc::get()?;
        let key = cache::key(source, self.info.architecture, nvrtc.version);
        let load = |code: Vec<u8>| {
            // a copy that is aligned for the driver, whatever the vector was; PTX ends in a NUL
            self.context
                .load_module(Ptx::from_binary(code))
                .map_err(failed(format!("loading kernels of {}", source.name)))
        };
        let module = |module, symbols| Module { module, source: source.name.clone(), symbols };
        if let Some(image) = cache::load(&key)
            && let Ok(loaded) = load(image.code)
        {
            return Ok(module(loaded, image.symbols));
        }
        let image = nvrtc.compile(source, self.info.architecture)?;
        cache::store(&key, &image);
        Ok(module(load(image.code)?, image.symbols))
    }

    /// Memory with copies of `items`.
    pub fn upload<T: DeviceRepr>(&self, items: &[T]) -> Result<CudaSlice<T>, DeviceError> {
        let what = || format!("copying {} bytes to the device", size_of_val(items));
        self.stream.clone_htod(items).map_err(|error| failed(what())(error))
    }

    /// Memory for `length` items, all zero.
    pub fn zeros<T: DeviceRepr + ValidAsZeroBits>(&self, length: usize) -> Result<CudaSlice<T>, DeviceError> {
        let what = || format!("taking {} bytes of device memory", length * size_of::<T>());
        self.stream.alloc_zeros(length).map_err(|error| failed(what())(error))
    }

    /// Memory for `length` items that holds anything.
    pub fn reserve<T: DeviceRepr + ValidAsZeroBits>(&self, length: usize) -> Result<CudaSlice<T>, DeviceError> {
        let what = || format!("taking {} bytes of device memory", length * size_of::<T>());
        // SAFETY: any bits are a value of a type that all zero bits are a value of; nothing reads what was never written.
        unsafe { self.stream.alloc(length) }.map_err(|error| failed(what())(error))
    }

    /// Copies to memory that is there.
    pub fn write<T: DeviceRepr, S: DevicePtrMut<T>>(&self, items: &[T], target: &mut S) -> Result<(), DeviceError> {
        let what = || format!("copying {} bytes to the device", size_of_val(items));
        self.stream.memcpy_htod(items, target).map_err(|error| failed(what())(error))
    }

    /// The contents of device memory, once all work before is done.
    pub fn read<T: DeviceRepr, S: cudarc::driver::DevicePtr<T>>(&self, source: &S) -> Result<Vec<T>, DeviceError> {
        self.stream.clone_dtoh(source).map_err(failed("copying from the device"))
    }

    /// Waits for all work given so far.
    pub fn synchronize(&self) -> Result<(), DeviceError> {
        self.stream.synchronize().map_err(failed("waiting for the device"))
    }

    /// Median of the milliseconds that `work`, once it was given `warm_up` times, takes on the device.
    pub fn median_ms(
        &self,
        warm_up: usize,
        repeats: usize,
        mut work: impl FnMut() -> Result<(), DeviceError>,
    ) -> Result<f64, DeviceError> {
        use cudarc::driver::sys::CUevent_flags::CU_EVENT_DEFAULT;
        let mark = || self.stream.record_event(Some(CU_EVENT_DEFAULT)).map_err(failed("marking time on the device"));
        for _ in 0..warm_up {
            work()?;
        }
        let mut times = Vec::with_capacity(repeats);
        for _ in 0..repeats {
            let before = mark()?;
            work()?;
            let after = mark()?;
            times.push(f64::from(before.elapsed_ms(&after).map_err(failed("timing the device"))?));
        }
        times.sort_by(f64::total_cmp);
        Ok(times[times.len() / 2])
    }
}

impl Module {
    /// A kernel that the source asked for. `shared` is the most dynamic shared memory that its launches will take.
    pub fn kernel(&self, expression: &str, shared: u32) -> Result<Kernel, DeviceError> {
        let name = format!("{} of {}", expression, self.source);
        let symbol = self.symbols.iter().find(|(wanted, _)| wanted == expression).map(|(_, symbol)| symbol.as_str());
        let function = self.module.load_function(symbol.unwrap_or(expression)).map_err(failed(name.clone()))?;
        if shared > 48 << 10 {
            let kind = FunctionAttribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            let what = format!("{name}: asking for {shared} bytes of shared memory");
            function.set_attribute(kind, shared as i32).map_err(failed(what))?;
        }
        Ok(Kernel { function, name })
    }
}

impl Kernel {
    /// Its name, for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Registers a thread takes.
    pub fn registers(&self) -> u32 {
        self.function.num_regs().map_or(0, |count| count as u32)
    }

    /// Blocks that run on a multiprocessor at a time.
    pub fn blocks_per_multiprocessor(&self, threads: u32, shared: u32) -> Result<u32, DeviceError> {
        let occupancy = self.function.occupancy_max_active_blocks_per_multiprocessor(threads, shared as usize, None);
        occupancy.map_err(failed(format!("occupancy of {}", self.name)))
    }

    /// Launches it: `grid` blocks of `threads` threads with `shared` bytes of dynamic shared memory.
    ///
    /// # Errors
    /// The launch's, or an earlier one's that the driver reports late.
    ///
    /// # Safety
    /// The arguments must be the kernel's, in number, order and type, and what they point to must hold what the kernel
    /// reads and writes.
    pub unsafe fn launch<'a>(
        &'a self,
        stream: &'a CudaStream,
        (grid, threads, shared): (u32, u32, u32),
        arguments: impl FnOnce(&mut LaunchArgs<'a>),
    ) -> Result<(), DeviceError> {
        let config = LaunchConfig { grid_dim: (grid, 1, 1), block_dim: (threads, 1, 1), shared_mem_bytes: shared };
        let mut builder = stream.launch_builder(&self.function);
        arguments(&mut builder);
        // SAFETY: the caller's promise.
        let launched = unsafe { builder.launch(config) };
        let what = || format!("launching {} with {grid} blocks of {threads} threads and {shared} bytes", self.name);
        launched.map(|_| ()).map_err(|error| failed(what())(error))
    }
}
