//! A program on its way on a device, and the messages that it leaves there.

#![allow(unsafe_code, reason = "launches of kernels are foreign")]

use super::decoder::Pilot;
use super::program::{Content, DeviceTable, Program};
use super::tile::{Chip, Variant};
use super::words::BoxWords;
use super::{BUCKET, Gpu, entry};
use crate::device::{CudaSlice, DeviceError, DevicePtr, DeviceRepr, Kernel, PushKernelArg, ValidAsZeroBits};
use crate::elimination::cpu::kernel::Entry;
use crate::elimination::plan::{Plan, Width};
use crate::elimination::run::{Store, Tables};
use crate::elimination::table;
use crate::model::{Cost, Problem};
use crate::stop::Stop;
use crate::tensor::storage::Storage;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// Combinations of a slice, at least: the device is far ahead of what callers count in cores.
pub(crate) const SLICE: u64 = 1 << 35;
/// Entries that are laid out before they are copied.
const STAGED: u64 = 1 << 24;

/// An entry on both sides.
pub(crate) trait Element: Entry + DeviceRepr + ValidAsZeroBits {}
impl Element for i32 {}
impl Element for i64 {}

/// `Program` of kernels/bucket.cu.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Addresses {
    memory: u64,
    steps: u64,
    map: u64,
    digits: u64,
    inputs: u64,
    strides: u64,
}

// SAFETY: the kernels' struct, field by field.
unsafe impl DeviceRepr for Addresses {}
// SAFETY: plain numbers, laid out as the kernels read them.
unsafe impl DeviceRepr for super::words::StepWords {}
// SAFETY: as above.
unsafe impl DeviceRepr for super::words::BoxWords {}
// SAFETY: as above.
unsafe impl DeviceRepr for super::words::DigitWords {}
// SAFETY: as above.
unsafe impl DeviceRepr for super::words::InputWords {}

/// The descriptors on the device, kept as long as something runs.
#[derive(Debug)]
struct Descriptors {
    _steps: CudaSlice<super::words::StepWords>,
    _map: CudaSlice<u32>,
    _digits: CudaSlice<super::words::DigitWords>,
    _inputs: CudaSlice<super::words::InputWords>,
    _strides: CudaSlice<u64>,
    addresses: Addresses,
}

/// Device memory of tables.
#[derive(Debug)]
enum Memory {
    I32(CudaSlice<i32>),
    I64(CudaSlice<i64>),
}

/// A program with its kernels and descriptors: it can be launched.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub program: Program,
    /// Its kernels, as far as they are there, with what they are called.
    kernels: Vec<(Variant, Option<Kernel>)>,
    descriptors: Descriptors,
    width: Width,
    cap: Cost,
}

impl Loaded {
    /// Begins to compile what is missing and puts the descriptors on the device.
    ///
    /// # Errors
    /// The device's.
    pub fn new(gpu: &Gpu, program: Program, plan: &Plan) -> Result<Self, DeviceError> {
        let begun = |variant: Variant| {
            gpu.begin(variant.text(), &variant.expression(entry(plan.width)));
            (variant, None)
        };
        let kernels = program.variants().into_iter().map(begun).collect();
        let descriptors = describe(gpu, &program)?;
        Ok(Loaded { program, kernels, descriptors, width: plan.width, cap: plan.cap() })
    }

    /// Whether the kernel of a launch is there; waits for it for some milliseconds.
    ///
    /// # Errors
    /// The compiler's or the driver's.
    pub fn ready(&mut self, gpu: &Gpu, index: usize) -> Result<bool, DeviceError> {
        let wanted = self.program.launches[index].variant;
        let width = self.width;
        let Some((_, kernel)) = self.kernels.iter_mut().find(|(variant, _)| *variant == wanted) else {
            return Ok(false);
        };
        if kernel.is_none() {
            *kernel = gpu.poll(wanted.text(), &wanted.expression(entry(width)))?;
        }
        Ok(kernel.is_some())
    }

    /// The kernel of a launch.
    fn kernel(&self, index: usize) -> Result<&Kernel, DeviceError> {
        let wanted = self.program.launches[index].variant;
        let kernel = self.kernels.iter().find_map(|(variant, kernel)| kernel.as_ref().filter(|_| *variant == wanted));
        kernel.ok_or_else(|| DeviceError::Unusable(format!("{wanted:?} was launched before it was compiled")))
    }

    /// Gives a launch whose kernel is ready to the device, the tables being at an address.
    ///
    /// # Errors
    /// The device's.
    ///
    /// # Safety
    /// There must be room for the program's entries.
    pub unsafe fn launch(&self, gpu: &Gpu, index: usize, memory: u64) -> Result<(), DeviceError> {
        let launch = &self.program.launches[index];
        let shape = (launch.blocks, launch.variant.threads(), launch.variant.shared());
        let (short, long) = (self.cap as i32, self.cap);
        let addresses = Addresses { memory, ..self.descriptors.addresses };
        let tiled = launch.tiled.map(|step| BoxWords { first: launch.first, ..self.program.tiled[step] });
        // SAFETY: the arguments are those of join_each, or of join_tile and join_staged; all addresses lie in the caller's memory and in that
        // of the descriptors.
        unsafe {
            self.kernel(index)?.launch(gpu.cuda().stream(), shape, |arguments| {
                let _ = match &tiled {
                    Some(words) => arguments.arg(&memory).arg(words),
                    None => arguments.arg(&addresses).arg(&launch.first),
                };
                let _ = match self.width {
                    Width::I32 => arguments.arg(&short),
                    Width::I64 => arguments.arg(&long),
                };
            })
        }
    }
}

/// A program on its way.
#[derive(Debug)]
pub(crate) struct Execution {
    gpu: Arc<Gpu>,
    loaded: Loaded,
    memory: Memory,
    next: usize,
    work_done: u64,
}

impl Execution {
    /// Puts everything on the device; `None` where a plan does not fit into its free memory.
    ///
    /// # Errors
    /// The device's.
    pub fn new(gpu: Arc<Gpu>, problem: &Problem, plan: &Plan) -> Result<Option<Self>, DeviceError> {
        let (free, bytes) = (gpu.budget()?, plan.width.bytes());
        let Ok(program) = Program::new(plan, free / bytes, &Chip::new(&gpu.cuda().info)) else { return Ok(None) };
        let loaded = Loaded::new(&gpu, program, plan)?;
        let memory = match plan.width {
            Width::I32 => Memory::I32(fill(&gpu, &loaded.program, problem, plan)?),
            Width::I64 => Memory::I64(fill(&gpu, &loaded.program, problem, plan)?),
        };
        if plan.keep_messages {
            Pilot::begin(&gpu, plan);
        }
        let work_done = loaded.program.filled;
        Ok(Some(Execution { gpu, loaded, memory, next: 0, work_done }))
    }

    /// Combinations done.
    pub fn work_done(&self) -> u64 {
        self.work_done
    }

    /// Whether all kernels are there; waits for them for some milliseconds.
    fn ready(&mut self) -> Result<bool, DeviceError> {
        for index in 0..self.launches() {
            if !self.loaded.ready(&self.gpu, index)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Does about `work` combinations, or a few milliseconds of the device if that is more; returns whether all is
    /// done. Nothing is waited for but the end, and a kernel that is not compiled yet for some milliseconds.
    pub fn advance(&mut self, work: u64, stop: &Stop) -> Result<bool, DeviceError> {
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
        Ok(self.next == self.launches())
    }

    fn launch(&self, index: usize) -> Result<(), DeviceError> {
        let stream = self.gpu.cuda().stream();
        let memory = match &self.memory {
            Memory::I32(memory) => memory.device_ptr(stream).0,
            Memory::I64(memory) => memory.device_ptr(stream).0,
        };
        // SAFETY: the memory was made for the program.
        unsafe { self.loaded.launch(&self.gpu, index, memory) }
    }

    /// Milliseconds of the device for all launches, the median of `repeats` after one that is not counted.
    pub fn time(&mut self, repeats: usize) -> Result<f64, DeviceError> {
        while !self.ready()? {}
        let all = || (0..self.launches()).try_for_each(|index| self.launch(index));
        self.gpu.cuda().median_ms(1, repeats, all)
    }

    /// The sum of all messages without variables.
    pub fn total(&self) -> Result<Cost, DeviceError> {
        let Range { start, end } = self.loaded.program.constants;
        let range = start as usize..end as usize;
        if range.is_empty() {
            return Ok(0);
        }
        let cuda = self.gpu.cuda();
        let constants: Vec<Cost> = match &self.memory {
            Memory::I32(memory) => cuda.read(&memory.slice(range))?.into_iter().map(Cost::from).collect(),
            Memory::I64(memory) => cuda.read(&memory.slice(range))?,
        };
        Ok(constants.into_iter().fold(0, Cost::saturating_add))
    }

    /// The messages, all of them on the device.
    pub fn leave(self) -> Resident {
        Resident { gpu: self.gpu, program: self.loaded.program, memory: self.memory, host: OnceLock::new() }
    }

    /// How many launches it takes.
    pub fn launches(&self) -> usize {
        self.loaded.program.launches.len()
    }

    /// Kernels and their blocks, for people.
    pub fn describe(&self) -> String {
        let launch = |(index, launch): (usize, &super::program::Launch)| {
            let kernel = self.loaded.kernel(index).ok()?;
            Some(format!("{} x {} ({} registers)", launch.blocks, kernel.name(), kernel.registers()))
        };
        self.loaded.program.launches.iter().enumerate().filter_map(launch).collect::<Vec<_>>().join("; ")
    }
}

fn describe(gpu: &Gpu, program: &Program) -> Result<Descriptors, DeviceError> {
    let cuda = gpu.cuda();
    let stream = cuda.stream();
    // an empty array has no address: one word more than there is
    fn padded<T: Copy + Default>(items: &[T]) -> Vec<T> {
        items.iter().copied().chain([T::default()]).collect()
    }
    let steps = cuda.upload(&padded(&program.steps))?;
    let map = cuda.upload(&padded(&program.map))?;
    let digits = cuda.upload(&padded(&program.digits))?;
    let inputs = cuda.upload(&padded(&program.inputs))?;
    let strides = cuda.upload(&padded(&program.strides))?;
    let addresses = Addresses {
        memory: 0,
        steps: steps.device_ptr(stream).0,
        map: map.device_ptr(stream).0,
        digits: digits.device_ptr(stream).0,
        inputs: inputs.device_ptr(stream).0,
        strides: strides.device_ptr(stream).0,
    };
    Ok(Descriptors { _steps: steps, _map: map, _digits: digits, _inputs: inputs, _strides: strides, addresses })
}

/// What the host puts into a table, in the plan's layout; nothing for what others make.
pub(crate) fn lay_out<E: Entry>(problem: &Problem, plan: &Plan, table: &DeviceTable) -> Storage<E> {
    match table.content {
        Content::Unary(variable) => {
            let costs = problem.unary[variable as usize].iter();
            costs.map(|&cost| E::from_cost(cost.min(plan.cap()))).collect()
        }
        Content::Function(function) => {
            let scope: Vec<u32> = table.scope.iter().map(|&p| plan.sequence[p as usize]).collect();
            table::lay_out(&problem.functions[function as usize], &scope, &problem.domains, plan.cap())
        }
        Content::Message(_) | Content::Made => Storage::default(),
    }
}

/// Memory for all tables, those of the host filled.
fn fill<E: Element>(gpu: &Gpu, program: &Program, problem: &Problem, plan: &Plan) -> Result<CudaSlice<E>, DeviceError> {
    let cuda = gpu.cuda();
    let mut memory = cuda.reserve::<E>(program.entries.max(1) as usize)?;
    let mut filled: Vec<_> = program.tables.iter().filter(|table| table.content != Content::Made).collect();
    filled.sort_by_key(|table| table.at);
    // neighbours go up together: thousands of small copies would take longer than the elimination
    let (mut staged, mut start): (Vec<E>, u64) = (Vec::new(), 0);
    let mut flush = |staged: &mut Vec<E>, start: u64| {
        let place = start as usize..start as usize + staged.len();
        let copied = match staged.is_empty() {
            true => Ok(()),
            false => cuda.write(staged, &mut memory.slice_mut(place)),
        };
        staged.clear();
        copied
    };
    for table in filled {
        let end = start + staged.len() as u64;
        if staged.is_empty() || table.at < end || table.at - end > 4096 || staged.len() as u64 + table.entries > STAGED
        {
            flush(&mut staged, start)?;
            start = table.at;
        }
        staged.resize((table.at - start) as usize, E::default());
        let entries = lay_out::<E>(problem, plan, table);
        for row in entries.chunks(table.row as usize) {
            staged.extend_from_slice(row);
            staged.resize(staged.len() + (table.pitch - table.row) as usize, E::default());
        }
    }
    flush(&mut staged, start)?;
    Ok(memory)
}

/// Messages of a finished run in device memory, and on the host once somebody wants them all.
#[derive(Debug)]
pub(crate) struct Resident {
    gpu: Arc<Gpu>,
    program: Program,
    memory: Memory,
    host: OnceLock<Option<Tables>>,
}

impl Resident {
    /// All messages, copied from the device when first asked for. `None` where that fails or the host's memory does
    /// not take them.
    pub fn tables(&self) -> Option<&Tables> {
        let copy = || {
            let bytes = (self.program.kept.end - self.program.kept.start) * if self.is_long() { 8 } else { 4 };
            // once as they come and once cut apart
            (bytes <= crate::memory::available() / 3).then(|| self.download().ok()).flatten()
        };
        self.host.get_or_init(copy).as_ref()
    }

    /// The device.
    pub fn gpu(&self) -> &Arc<Gpu> {
        &self.gpu
    }

    /// How the tables lie in its memory, and where that begins.
    pub(crate) fn program(&self) -> &Program {
        &self.program
    }

    pub(crate) fn address(&self) -> u64 {
        let stream = self.gpu.cuda().stream();
        match &self.memory {
            Memory::I32(memory) => memory.device_ptr(stream).0,
            Memory::I64(memory) => memory.device_ptr(stream).0,
        }
    }

    /// The messages, if they are on the host already.
    pub fn copied(&self) -> Option<&Tables> {
        self.host.get().and_then(Option::as_ref)
    }

    fn is_long(&self) -> bool {
        matches!(self.memory, Memory::I64(_))
    }

    fn download(&self) -> Result<Tables, DeviceError> {
        Ok(match &self.memory {
            Memory::I32(memory) => Tables::I32(self.store(memory)?),
            Memory::I64(memory) => Tables::I64(self.store(memory)?),
        })
    }

    fn store<E: Element>(&self, memory: &CudaSlice<E>) -> Result<Store<E>, DeviceError> {
        let kept = self.program.kept.start as usize..self.program.kept.end as usize;
        let entries = match kept.is_empty() {
            true => Vec::new(),
            false => self.gpu.cuda().read(&memory.slice(kept))?,
        };
        let mut store = Store::new(self.program.messages.len());
        for (message, &table) in store.messages.iter_mut().zip(&self.program.messages) {
            *message = whole(&self.program.tables[table], &entries);
        }
        Ok(store)
    }

    /// Single entries of messages, given as steps of the plan and indices.
    pub fn entries(&self, wanted: &[(u32, u64)]) -> Result<Vec<Cost>, DeviceError> {
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let at = |&(step, index): &(u32, u64)| {
            let table = &self.program.tables[self.program.messages[step as usize]];
            table.at + table.place(index)
        };
        match &self.memory {
            Memory::I32(memory) => {
                let entries = self.gather(memory, wanted.iter().map(at), "int")?;
                Ok(entries.into_iter().map(Cost::from).collect())
            }
            Memory::I64(memory) => self.gather(memory, wanted.iter().map(at), "long long"),
        }
    }

    fn gather<E: Element>(
        &self,
        memory: &CudaSlice<E>,
        places: impl Iterator<Item = u64>,
        name: &str,
    ) -> Result<Vec<E>, DeviceError> {
        let cuda = self.gpu.cuda();
        let stream = cuda.stream();
        let kernel = self.gpu.kernel(BUCKET, &format!("gather<{name}>"))?;
        let base = memory.device_ptr(stream).0;
        let addresses: Vec<u64> = places.map(|at| base + at * size_of::<E>() as u64).collect();
        let count = addresses.len() as u32;
        let addresses = cuda.upload(&addresses)?;
        let mut entries = cuda.zeros::<E>(count as usize)?;
        // SAFETY: the arguments are gather's; the addresses lie within `memory`.
        unsafe {
            kernel.launch(stream, (count.div_ceil(128), 128, 0), |arguments| {
                let _ = arguments.arg(&addresses).arg(&mut entries).arg(&count);
            })?;
        }
        cuda.read(&entries)
    }
}

/// A table without its gaps, out of all entries.
fn whole<E: Entry>(table: &DeviceTable, entries: &[E]) -> Storage<E> {
    let rows = entries[table.at as usize..][..table.extent() as usize].chunks(table.pitch as usize);
    rows.flat_map(|row| &row[..table.row as usize]).copied().collect()
}
