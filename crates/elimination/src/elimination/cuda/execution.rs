//! Execution of a program on a device, and the messages that it leaves there.

#![allow(unsafe_code, reason = "launches of kernels are foreign")]

use super::decoder::Decoder;
use super::gpu::Gpu;
use super::program::{Content, DeviceTable, Launch, Program, Room};
use super::semiring::{DeviceSemiring, Element};
use super::shape::Chip;
use super::staging;
use super::texts::BUCKET;
use super::variant::Variant;
use super::words::{Addresses, BoxWords};
use crate::algebra::Semiring;
use crate::device::{Blocks, CudaSlice, CudaStream, DeviceError, Held, Kernel, PushKernelArg};
use crate::elimination::executor::{Executor, Failure, Messages, Progress, Task};
use crate::elimination::plan::EliminationPlan;
use crate::model::Problem;
use crate::stop::Stop;
use crate::tensor::storage::Storage;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// Least number of combinations of a slice on a device, which is much faster than the cores whose work callers count.
pub(crate) const SLICE: u64 = 1 << 35;

/// The descriptors in device memory, held as long as a kernel may run.
#[derive(Debug)]
struct Descriptors {
    addresses: Addresses,
    /// The range of each table that is settled: two words.
    ranges: CudaSlice<u64>,
    _held: Held,
}

/// A program with its kernels and descriptors, ready to be launched.
#[derive(Debug)]
pub(crate) struct Loaded<S> {
    pub program: Program,
    /// The kernels by variant; `None` if not compiled yet.
    kernels: Vec<(Variant, Option<Kernel>)>,
    descriptors: Descriptors,
    semiring: S,
}

impl<S: DeviceSemiring> Loaded<S> {
    /// Begins to compile missing kernels and copies the descriptors to the device.
    pub fn new(gpu: &Gpu, program: Program, semiring: S) -> Result<Self, DeviceError> {
        let begun = |variant: Variant| {
            gpu.begin(variant.text(), &variant.expression(&S::name()));
            (variant, None)
        };
        let kernels = program.variants().into_iter().map(begun).collect();
        let descriptors = describe(gpu, &program)?;
        Ok(Loaded { program, kernels, descriptors, semiring })
    }

    /// Returns whether the kernel of a launch is compiled; waits for it for some milliseconds.
    pub fn ready(&mut self, gpu: &Gpu, index: usize) -> Result<bool, DeviceError> {
        let wanted = self.program.launches[index].variant;
        let Some((_, kernel)) = self.kernels.iter_mut().find(|(variant, _)| *variant == wanted) else {
            return Ok(false);
        };
        if kernel.is_none() {
            *kernel = gpu.poll(wanted.text(), &wanted.expression(&S::name()))?;
        }
        Ok(kernel.is_some())
    }

    /// Returns, for each table that was settled, the bits of the largest entry before scaling, and the inverted bits of
    /// the smallest positive entry; 0 if there is none.
    pub fn ranges(&self, gpu: &Gpu) -> Result<Vec<[u64; 2]>, DeviceError> {
        let words = gpu.cuda().read(&self.descriptors.ranges)?;
        Ok(words.as_chunks().0.to_vec())
    }

    /// Returns the kernel of a launch.
    fn kernel(&self, index: usize) -> Result<&Kernel, DeviceError> {
        let wanted = self.program.launches[index].variant;
        let kernel = self.kernels.iter().find_map(|(variant, kernel)| kernel.as_ref().filter(|_| *variant == wanted));
        kernel.ok_or_else(|| DeviceError::Unusable(format!("{wanted:?} was launched before it was compiled")))
    }

    /// Enqueues a launch, whose kernel must be ready, on a stream. The tables are at address `memory`.
    ///
    /// # Safety
    /// The memory must have room for the program's entries.
    pub unsafe fn launch(&self, stream: &CudaStream, index: usize, memory: u64) -> Result<(), DeviceError> {
        let launch = &self.program.launches[index];
        let (threads, shared) = (launch.variant.threads(), launch.variant.shared());
        let blocks = Blocks { count: launch.blocks, threads, shared };
        let addresses = Addresses { memory, ..self.descriptors.addresses };
        let tiled = launch.tiled.map(|step| BoxWords { first: launch.first, ..self.program.tiled[step] });
        let semiring = self.semiring.words();
        // SAFETY: the arguments are those of join_tile and join_staged, or of the other kernels; all addresses are
        // within the caller's memory and the memory of the descriptors.
        unsafe {
            self.kernel(index)?.launch(stream, blocks, |arguments| {
                let arguments = match &tiled {
                    Some(words) => arguments.arg(&memory).arg(words),
                    None => arguments.arg(&addresses).arg(&launch.first),
                };
                arguments.arg(&semiring)
            })
        }
    }
}

/// The execution of a program on a device.
#[derive(Debug)]
pub struct Execution<S: DeviceSemiring> {
    gpu: Arc<Gpu>,
    loaded: Loaded<S>,
    memory: CudaSlice<S::Entry>,
    next: usize,
    work_done: u64,
    /// The result of a finished execution.
    total: S::Entry,
}

impl<S: DeviceSemiring> Execution<S> {
    /// Copies all tables to the device; `None` if the plan does not fit into its free memory.
    pub fn new(gpu: Arc<Gpu>, task: Task<'_, S>) -> Result<Option<Self>, DeviceError> {
        let (free, bytes) = (gpu.budget()?, size_of::<S::Entry>() as u64);
        let room = Room { keep_messages: task.placement.keep_messages, bytes, entries: free / bytes };
        let chip = Chip::new(&gpu.cuda().info);
        let Ok(program) = Program::new(task.plan, room, &chip) else { return Ok(None) };
        let loaded = Loaded::new(&gpu, program, task.semiring)?;
        let memory = staging::upload(&gpu, &loaded.program, &|table| lay_out(task, table))?;
        let (work_done, total) = (loaded.program.filled, task.semiring.one());
        Ok(Some(Execution { gpu, loaded, memory, next: 0, work_done, total }))
    }

    /// Returns whether all kernels are compiled; waits for them for some milliseconds.
    fn ready(&mut self) -> Result<bool, DeviceError> {
        for index in 0..self.launches() {
            if !self.loaded.ready(&self.gpu, index)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn launch(&self, index: usize) -> Result<(), DeviceError> {
        let memory = self.gpu.cuda().address(&self.memory);
        // SAFETY: the memory was allocated for the program.
        unsafe { self.loaded.launch(self.gpu.cuda().stream(), index, memory) }
    }

    /// Returns the device time of all launches in milliseconds: the median of `repeats` after one that does not count.
    pub fn time(&mut self, repeats: usize) -> Result<f64, DeviceError> {
        while !self.ready()? {}
        let all = || (0..self.launches()).try_for_each(|index| self.launch(index));
        self.gpu.cuda().median_ms(1, repeats, all)
    }

    /// Returns the combination of all messages without variables.
    fn combined(&self) -> Result<S::Entry, DeviceError> {
        let Range { start, end } = self.loaded.program.constants;
        let (range, semiring) = (start as usize..end as usize, self.loaded.semiring);
        let cuda = self.gpu.cuda();
        let constants = if range.is_empty() { Vec::new() } else { cuda.read(&self.memory.slice(range))? };
        let settled = |total, constant| semiring.settle(semiring.combine(total, constant));
        Ok(constants.into_iter().fold(semiring.one(), settled))
    }

    /// Returns the messages, all of which stay on the device.
    pub fn leave(self) -> Resident<S> {
        let Execution { gpu, loaded: Loaded { program, .. }, memory, .. } = self;
        Resident { gpu, program, memory, host: OnceLock::new() }
    }

    /// Returns the number of launches.
    pub fn launches(&self) -> usize {
        self.loaded.program.launches.len()
    }

    /// Describes the kernels and their blocks for people.
    pub fn describe(&self) -> String {
        let launch = |(index, launch): (usize, &Launch)| {
            let kernel = self.loaded.kernel(index).ok()?;
            Some(format!("{} x {} ({} registers)", launch.blocks, kernel.name(), kernel.registers()))
        };
        self.loaded.program.launches.iter().enumerate().filter_map(launch).collect::<Vec<_>>().join("; ")
    }
}

impl<S: DeviceSemiring> Executor<S> for Execution<S> {
    /// Does at least `SLICE` combinations, some milliseconds of the device. Waits only at the end, and some
    /// milliseconds for a kernel that is not compiled yet.
    fn advance(&mut self, _: Task<'_, S>, work: u64, stop: &Stop) -> Result<Progress, Failure> {
        let mut left = work.max(SLICE);
        while self.next < self.launches() && left > 0 && !stop.is_set() {
            if !self.loaded.ready(&self.gpu, self.next)? {
                break;
            }
            self.launch(self.next)?;
            let work = self.loaded.program.launches[self.next].work;
            left = left.saturating_sub(work.max(1));
            self.work_done += work;
            self.next += 1;
        }
        self.gpu.cuda().synchronize()?;
        if self.next < self.launches() {
            return Ok(Progress::More);
        }
        self.total = self.combined()?;
        Ok(Progress::Done)
    }

    fn work_done(&self) -> u64 {
        self.work_done
    }

    fn on_device(&self) -> bool {
        true
    }

    /// Fills the allocated memory again, because a driver takes a tenth of a second to allocate 64 GB and to free them.
    fn restart(&mut self, task: Task<'_, S>) -> Result<Option<S::Entry>, Failure> {
        if !self.loaded.program.settled.is_empty() {
            return Ok(None);
        }
        staging::fill(&self.gpu, &self.loaded.program, &|table| lay_out(task, table), &mut self.memory)?;
        (self.next, self.work_done) = (0, self.loaded.program.filled);
        Ok(Some(std::mem::replace(&mut self.total, task.semiring.one())))
    }

    fn finish(self: Box<Self>) -> (S::Entry, Box<dyn Messages<S>>) {
        (self.total, Box::new(self.leave()))
    }
}

fn describe(gpu: &Gpu, program: &Program) -> Result<Descriptors, DeviceError> {
    let cuda = gpu.cuda();
    let mut held = Held::default();
    // an empty array has no address, so arrays get one item more
    fn padded<T: Copy + Default>(items: &[T]) -> Vec<T> {
        items.iter().copied().chain([T::default()]).collect()
    }
    let ranges = cuda.zeros::<u64>(2 * program.settled.len() + 2)?;
    let ended = cuda.zeros::<u32>(program.settled.len() + 1)?;
    let addresses = Addresses {
        memory: 0,
        steps: held.upload(cuda, &padded(&program.steps))?,
        map: held.upload(cuda, &padded(&program.map))?,
        digits: held.upload(cuda, &padded(&program.digits))?,
        inputs: held.upload(cuda, &padded(&program.inputs))?,
        strides: held.upload(cuda, &padded(&program.strides))?,
        folds: held.upload(cuda, &padded(&program.folds))?,
        settled: held.upload(cuda, &padded(&program.settled))?,
        settled_map: held.upload(cuda, &padded(&program.settled_map))?,
        ranges: cuda.address(&ranges),
        ended: held.keep(cuda, ended),
    };
    Ok(Descriptors { addresses, ranges, _held: held })
}

/// Returns the entries of a table that the host fills, in the plan's layout; an empty table for any other.
pub(crate) fn lay_out<S: Semiring>(task: Task<'_, S>, table: &DeviceTable) -> Storage<S::Entry> {
    match table.content {
        Content::Source(source) => task.table(source, &table.scope),
        Content::Message(_) | Content::Made => Storage::default(),
    }
}

/// Messages of a finished run in device memory, which are copied to the host at the first request.
#[derive(Debug)]
pub struct Resident<S: Semiring> {
    gpu: Arc<Gpu>,
    program: Program,
    memory: CudaSlice<S::Entry>,
    host: OnceLock<Option<Vec<Storage<S::Entry>>>>,
}

impl<S: DeviceSemiring> Resident<S> {
    /// Returns the address of its memory.
    fn address(&self) -> u64 {
        self.gpu.cuda().address(&self.memory)
    }

    fn gather(&self, places: impl Iterator<Item = u64>) -> Result<Vec<S::Entry>, DeviceError> {
        let cuda = self.gpu.cuda();
        let stream = cuda.stream();
        let kernel = self.gpu.kernel(BUCKET, &format!("gather<{}>", S::Entry::NAME))?;
        let base = self.address();
        let addresses: Vec<u64> = places.map(|at| base + at * size_of::<S::Entry>() as u64).collect();
        let count = addresses.len() as u32;
        let addresses = cuda.upload(&addresses)?;
        let mut entries = cuda.zeros::<S::Entry>(count as usize)?;
        // SAFETY: the arguments are gather's; the addresses are within the memory.
        unsafe {
            kernel.launch(stream, Blocks::new(count.div_ceil(128), 128), |arguments| {
                arguments.arg(&addresses).arg(&mut entries).arg(&count)
            })?;
        }
        cuda.read(&entries)
    }
}

impl<S: DeviceSemiring> Messages<S> for Resident<S> {
    fn tables(&self) -> Option<&[Storage<S::Entry>]> {
        let copy = || {
            let Program { tables, messages, room, .. } = &self.program;
            room.keep_messages.then(|| staging::download(&self.gpu, tables, messages, &self.memory).ok().flatten())
        };
        self.host.get_or_init(|| copy().flatten()).as_deref()
    }

    fn into_tables(self: Box<Self>) -> Option<Vec<Storage<S::Entry>>> {
        let _ = self.tables();
        self.host.into_inner().flatten()
    }

    fn entries(&self, wanted: &[(u32, u64)]) -> Result<Vec<S::Entry>, Failure> {
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let at = |&(step, index): &(u32, u64)| {
            let table = &self.program.tables[self.program.messages[step as usize]];
            table.at + table.place(index)
        };
        Ok(self.gather(wanted.iter().map(at))?)
    }

    fn are_remote(&self) -> bool {
        self.host.get().and_then(Option::as_ref).is_none()
    }

    fn decode(&self, problem: &Problem, plan: &EliminationPlan) -> Option<Vec<u32>> {
        if !S::is_costs() {
            return None;
        }
        let decoder = Decoder::new::<S::Entry>(&self.gpu, &self.program, self.address(), problem, plan);
        decoder.ok()??.assign().ok()
    }
}
