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
    /// The struct `Walks` of `kernels/walks.cuh`.
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

/// A kernel of walks and its launch parameters.
pub(crate) struct Program {
    pub kernel: Kernel,
    /// Number of words of a walk's tables.
    pub words: usize,
    /// Number of walks of a block.
    pub together: u32,
    /// Number of threads of a block.
    pub threads: u32,
    /// Bytes of shared memory of a block.
    pub shared: u32,
    /// Number of walks that a multiprocessor should have.
    pub resident: u32,
}

/// Number of threads of a block in which each warp has a walk.
const THREADS: u32 = 128;

impl Program {
    /// Returns a program with a warp for each walk, of `words` words.
    pub fn of_warps(kernel: Kernel, words: usize, resident: u32) -> Program {
        Program { kernel, words, together: THREADS / 32, threads: THREADS, shared: 0, resident }
    }
}

/// A local search that has a kernel. The kernel's arguments are the layout, the walks and the number of steps.
pub(crate) trait DeviceSearch: LocalSearch<Progress: DeviceRepr + DeviceStruct + ValidAsZeroBits> {
    /// The layout in the kernel's format.
    type Argument: DeviceRepr + DeviceStruct + Copy + Send;

    /// Returns whether the kernel supports a problem.
    fn fits_device(context: &SearchContext) -> bool {
        let _ = context;
        true
    }

    /// Returns the kernel source for a problem.
    fn source(info: &Info, context: &SearchContext) -> Source;

    /// Loads the kernel.
    fn program(cuda: &Device, context: &SearchContext, layout: &Self::Layout) -> Result<Program, DeviceError>;

    /// Uploads a layout.
    fn upload(up: &mut Uploads, context: &SearchContext, layout: &Self::Layout) -> Result<Self::Argument, DeviceError>;
}

/// Adds the assertions about the structs of a search to its kernel source.
pub(crate) fn asserted<S: DeviceSearch>(source: Source) -> Source {
    source.asserts::<S::Argument>().asserts::<WalksArgument>().asserts::<S::Progress>()
}

/// Returns the smallest number of lanes of a warp, a power of two, that hold a row of `widest` units of four values.
pub(crate) fn group(widest: u32) -> u32 {
    widest.next_power_of_two().min(32)
}

/// Walks on a device.
pub(crate) struct CudaWalks<S: DeviceSearch> {
    cuda: Device,
    /// A stream for what cannot wait for the kernels' stream.
    aside: Arc<CudaStream>,
    program: Program,
    layout: S::Argument,
    walks: WalksArgument,
    variables: usize,
    /// The first assignments of the walks, one after the other, on the host.
    begun: Vec<u16>,
    /// The first assignments of the walks, one after the other, on the device.
    starts: CudaSlice<u16>,
    best: CudaSlice<u16>,
    progress: CudaSlice<S::Progress>,
    /// Not 0 if a round must end early.
    stop: CudaSlice<u32>,
    /// Keeps the memory allocated.
    _held: Held,
}

impl<S: DeviceSearch> CudaWalks<S> {
    /// Creates walks that have not begun. `count` chooses their number, given that for which there is room.
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
        // SAFETY: the arguments are the kernel's; all memory that it reads and writes was allocated for this problem
        // and number of walks.
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
