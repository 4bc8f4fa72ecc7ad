//! Walks in device memory.

#![allow(unsafe_code, reason = "kernel launches")]

use super::search::{Limit, LocalSearch, Start, Walked, Walks};
use crate::core::context::SearchContext;
use crate::core::cuda::{Device, Uploads};
use crate::device::shared::device_structs;
use crate::device::{
    Blocks, CudaSlice, CudaStream, DeviceError, DeviceRepr, DeviceStruct, Held, Info, Kernel, PushKernelArg, Source,
    ValidAsZeroBits,
};
use crate::stop::Stop;
use std::sync::Arc;

device_structs! {
    /// `kernels/walks.cuh`: Walks.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct WalksArgument as "Walks" {
        tables: u64,
        words: u64,
        best: u64,
        progress: u64,
        starts: u64,
        stop: u64,
        count: u32,
        padding as "": u32,
    }
}

/// A kernel of walks, and how it is launched.
pub(crate) struct Program {
    pub kernel: Kernel,
    /// Words of a walk's tables.
    pub words: usize,
    /// Walks of a block, its threads and bytes of shared memory.
    pub together: u32,
    pub threads: u32,
    pub shared: u32,
    /// Walks that a multiprocessor should have.
    pub resident: u32,
}

/// Threads of a block whose warps have a walk each.
const THREADS: u32 = 128;

impl Program {
    /// A warp a walk, of so many words.
    pub fn of_warps(kernel: Kernel, words: usize, resident: u32) -> Program {
        Program { kernel, words, together: THREADS / 32, threads: THREADS, shared: 0, resident }
    }
}

/// A local search that a device can make: its kernel takes the layout, the walks and how many steps they make.
pub(crate) trait DeviceSearch: LocalSearch<Progress: DeviceRepr + DeviceStruct + ValidAsZeroBits> {
    /// The layout as the kernel has it.
    type Argument: DeviceRepr + DeviceStruct + Copy + Send;

    /// Whether the kernel takes a core.
    fn fits_device(context: &SearchContext) -> bool {
        let _ = context;
        true
    }

    /// The kernel for a core.
    fn source(info: &Info, context: &SearchContext) -> Source;

    /// The kernel, loaded.
    fn program(cuda: &Device, context: &SearchContext, layout: &Self::Layout) -> Result<Program, DeviceError>;

    /// Uploads a layout.
    fn upload(up: &mut Uploads, context: &SearchContext, layout: &Self::Layout) -> Result<Self::Argument, DeviceError>;
}

/// What the source of a search's kernel asserts of structures.
pub(crate) fn asserted<S: DeviceSearch>(source: Source) -> Source {
    source.asserts::<S::Argument>().asserts::<WalksArgument>().asserts::<S::Progress>()
}

/// The fewest lanes, a power of two, of a warp that hold a row of as many quads as the widest.
pub(crate) fn group(widest: u32) -> u32 {
    widest.next_power_of_two().min(32)
}

/// Walks on a device.
pub(crate) struct CudaWalks<S: DeviceSearch> {
    cuda: Device,
    /// For what cannot wait for the kernels' stream.
    aside: Arc<CudaStream>,
    program: Program,
    layout: S::Argument,
    walks: WalksArgument,
    variables: usize,
    /// Where walks began, one after the other: here, and there.
    begun: Vec<u16>,
    starts: CudaSlice<u16>,
    best: CudaSlice<u16>,
    progress: CudaSlice<S::Progress>,
    /// Not 0 once a round is to end early.
    stop: CudaSlice<u32>,
    /// Kept for their memory.
    _held: Held,
}

impl<S: DeviceSearch> CudaWalks<S> {
    /// Walks that have not begun, as many as `count` says of those that there is room for.
    pub fn open(
        cuda: &Device,
        context: &SearchContext,
        layout: &S::Layout,
        count: impl FnOnce(usize) -> usize,
    ) -> Result<Self, DeviceError> {
        // bounds use the device too
        let cuda = cuda.beside()?;
        let aside = cuda.fork()?;
        let (program, n) = (S::program(&cuda, context, layout)?, S::tables(context).variables());
        let bytes = size_of::<u32>() * program.words + 2 * size_of::<u16>() * n + size_of::<S::Progress>();
        let fitting = cuda.free_memory()? as usize / 4 / bytes;
        let resident = (program.resident * cuda.info.multiprocessors) as usize;
        let count = count(resident.min(fitting).max(1));
        let mut up = Uploads { cuda: &cuda, held: Held::default() };
        let layout = S::upload(&mut up, context, layout)?;
        let (mut held, stop) = (up.held, cuda.zeros(1)?);
        let (starts, best, progress) = (cuda.zeros(count * n)?, cuda.zeros(count * n)?, cuda.zeros(count)?);
        let walks = WalksArgument {
            tables: held.keep(&cuda, cuda.zeros::<u32>(count * program.words)?),
            words: program.words as u64,
            best: cuda.address(&best),
            progress: cuda.address(&progress),
            starts: cuda.address(&starts),
            stop: cuda.address(&stop),
            count: count as u32,
            padding: 0,
        };
        Ok(CudaWalks {
            cuda,
            aside,
            program,
            layout,
            walks,
            variables: n,
            begun: vec![0; count * n],
            starts,
            best,
            progress,
            stop,
            _held: held,
        })
    }
}

impl<S: DeviceSearch> Walks<S::Progress> for CudaWalks<S> {
    fn count(&self) -> usize {
        self.walks.count as usize
    }

    fn walk(
        &mut self,
        _: &SearchContext,
        begin: &[Start<S::Progress>],
        limit: Limit,
        stop: &Stop,
    ) -> Walked<S::Progress> {
        let (cuda, n) = (&*self.cuda, self.variables);
        if !begin.is_empty() {
            let mut progress = cuda.read(&self.progress)?;
            for start in begin {
                progress[start.slot] = start.progress;
                self.begun[start.slot * n..][..start.values.len()].copy_from_slice(&start.values);
            }
            cuda.write(&progress, &mut self.progress)?;
            if begin.iter().any(|start| !start.values.is_empty()) {
                cuda.write(&self.begun, &mut self.starts)?;
            }
        }
        let Program { kernel, together, threads, shared, .. } = &self.program;
        let count = self.walks.count.div_ceil(*together);
        let blocks = Blocks { count, threads: *threads, shared: *shared };
        // SAFETY: the arguments are the kernel's; every place that it reads and writes was allocated for this core and
        // number.
        unsafe {
            kernel.launch(cuda.stream(), blocks, |arguments| {
                arguments.arg(&self.layout).arg(&self.walks).arg(&limit.steps)
            })?;
        }
        crate::core::watch::watch(cuda, &self.aside, &self.stop, stop)?;
        Ok((cuda.read(&self.progress)?, 0))
    }

    fn bests(&self, slots: &[usize]) -> Result<Vec<Vec<u16>>, DeviceError> {
        let (Some(&first), Some(&last)) = (slots.iter().min(), slots.iter().max()) else { return Ok(Vec::new()) };
        let n = self.variables;
        let all = self.cuda.read(&self.best.slice(first * n..(last + 1) * n))?;
        Ok(slots.iter().map(|&slot| all[(slot - first) * n..][..n].to_vec()).collect())
    }
}
