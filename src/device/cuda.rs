//! A device: its context, stream, kernels and memory.

#![allow(unsafe_code, reason = "calls of the driver and of the compiler library are foreign")]

use super::find::{self, devices, failed};
use super::nvrtc::Nvrtc;
use super::{DeviceError, Info, Source, cache};
use cudarc::driver::sys::CUfunction_attribute as FunctionAttribute;
use cudarc::driver::{
    CudaContext, CudaFunction, CudaModule, CudaSlice, CudaStream, DevicePtrMut, DeviceRepr, LaunchArgs, LaunchConfig,
    ValidAsZeroBits,
};
use cudarc::nvrtc::Ptx;
use std::fmt::Debug;
use std::sync::Arc;

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

impl Cuda {
    /// Opens a device.
    ///
    /// # Errors
    /// What is missing, in one line: the driver, the device, the compiler.
    pub fn open(ordinal: usize) -> Result<Arc<Cuda>, DeviceError> {
        let _ = find::driver()?;
        // the compiler's library is large: it loads while the driver starts
        let (nvrtc, context) = std::thread::scope(|scope| {
            let nvrtc = scope.spawn(Nvrtc::get);
            let context = Self::context_of(ordinal);
            (nvrtc.join(), context)
        });
        let (info, context) = context?;
        let nvrtc = nvrtc.unwrap_or_else(|_| Err(DeviceError::Unusable("the CUDA compiler does not load".into())))?;
        find::fits(&info, nvrtc)?;
        // SAFETY: all work of a `Cuda` goes through its streams in order; whoever uses a second one orders them by events.
        unsafe { context.disable_event_tracking() };
        let stream = context.new_stream().map_err(failed("making a CUDA stream"))?;
        Ok(Arc::new(Cuda { info, context, stream }))
    }

    fn context_of(ordinal: usize) -> Result<(Info, Arc<CudaContext>), DeviceError> {
        let all = devices()?;
        let count = all.len();
        let Some(info) = all.into_iter().nth(ordinal) else {
            let known =
                if count == 1 { "the only one is cuda:0".into() } else { format!("there are {count}, from cuda:0") };
            return Err(DeviceError::Unusable(format!("there is no CUDA device {ordinal}: {known}")));
        };
        let context = CudaContext::new(ordinal).map_err(failed(format!("opening CUDA device {ordinal}")))?;
        Ok((info, context))
    }

    /// The name that it goes by on the command line: `cuda:0`.
    pub fn label(&self) -> String {
        format!("cuda:{}", self.info.ordinal)
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
        self.memory().map(|memory| memory.free)
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
