//! Execution of a plan on a device whose memory does not hold its tables: part by part, and the host holds all
//! messages.
//!
//! The slices of a step that is cut alternate between two halves of the memory. While one slice is computed, the inputs
//! of the next are copied to the device and the message of the last one back, on a separate stream.

#![allow(unsafe_code, reason = "launches of kernels are foreign")]

use super::execution::{Loaded, SLICE, lay_out};
use super::gpu::Gpu;
use super::parts::{Part, parts};
use super::program::{Content, Program, Room};
use super::semiring::DeviceSemiring;
use super::shape::Chip;
use super::staging::{Staging, Window, gather, room, scatter, windows};
use crate::device::{CudaEvent, CudaSlice, CudaStream, DeviceError};
use crate::elimination::cpu::Store;
use crate::elimination::executor::{Executor, Failure, Messages, Progress, Task};
use crate::elimination::plan::EliminationPlan;
use crate::elimination::plan::slices::Stretch;
use crate::memory;
use crate::stop::Stop;
use crate::tensor::storage::Storage;
use std::sync::Arc;

/// The execution of a plan part by part.
#[derive(Debug)]
pub struct Streamed<S: DeviceSemiring> {
    gpu: Arc<Gpu>,
    parts: std::vec::IntoIter<Part>,
    open: Option<Open<S>>,
    copies: Arc<CudaStream>,
    /// Declared before the memory, because its buffers wait for their copies when dropped.
    staging: Staging<S::Entry>,
    memory: CudaSlice<S::Entry>,
    store: Store<S>,
    work_done: u64,
}

/// The part in progress.
#[derive(Debug)]
struct Open<S: DeviceSemiring> {
    part: Part,
    /// The plan, over the domains of a slice if the part is cut.
    plan: EliminationPlan,
    loaded: Loaded<S>,
    /// By table, the functions laid out.
    functions: Vec<Storage<S::Entry>>,
    /// The slice in progress. `slices` is the number of slices, `sent` whether the inputs of the slice were sent, and
    /// `launch` its next launch.
    slice: u64,
    slices: u64,
    sent: bool,
    launch: usize,
    /// The previous slice, if its message is still on the device.
    pending: Option<u64>,
    /// By half of the memory, the offset of the stretch that each table holds. `computed` marks the end of the half's
    /// last launches.
    held: [Vec<Option<u64>>; 2],
    computed: [Option<CudaEvent>; 2],
    /// Combinations done before this part.
    work_before: u64,
}

impl<S: DeviceSemiring> Open<S> {
    /// Returns where a slice of the cut step begins; empty if the part is not cut.
    fn begin(&self, whole: &EliminationPlan, slice: u64) -> Vec<(u32, u64)> {
        let step = &whole.steps[self.part.steps.start];
        self.part.cut.map_or_else(Vec::new, |cut| cut.begin(whole, step, slice))
    }

    /// Returns the half of the memory that a slice takes, and the index of its first entry.
    fn place(&self, slice: u64) -> (usize, u64) {
        ((slice % 2) as usize, slice % 2 * self.part.entries)
    }
}

impl<S: DeviceSemiring> Streamed<S> {
    /// Divides a plan into parts and allocates memory on host and device.
    ///
    /// # Errors
    /// Returns an error of the device, or an error if the host's memory does not hold the plan either.
    pub fn new(gpu: &Arc<Gpu>, task: Task<'_, S>) -> Result<Self, DeviceError> {
        let Task { plan, placement, .. } = task;
        let (free, bytes) = (gpu.budget()?, size_of::<S::Entry>() as u64);
        let (own, available) = (placement.peak_bytes.max(placement.table_bytes), memory::available());
        if own > available {
            let taken = Gpu::bytes_of(plan, placement.keep_messages, bytes);
            return Err(DeviceError::Unusable(format!(
                "{} takes {taken} bytes of the device, {free} are free, \
                 and {own} bytes of the host, {available} are free",
                plan.name()
            )));
        }
        // all messages of a part are copied back
        let room = Room { keep_messages: true, bytes, entries: free / bytes };
        let parts = parts(plan, room).ok_or_else(|| {
            DeviceError::Unusable(format!(
                "{} does not fit in slices: {free} bytes of the device are free",
                plan.name()
            ))
        })?;
        let needed = parts.iter().map(|part| part.entries * if part.cut.is_some() { 2 } else { 1 }).max();
        let cuda = gpu.cuda();
        let copies = cuda.fork()?;
        let staging = Staging::new(cuda)?;
        let memory = cuda.reserve(needed.unwrap_or(0).max(1) as usize)?;
        cuda.wait(&copies, &cuda.mark(cuda.stream())?)?;
        let (gpu, parts, store) = (gpu.clone(), parts.into_iter(), Store::new(task));
        Ok(Streamed { gpu, parts, open: None, copies, staging, memory, store, work_done: 0 })
    }

    fn open_next(&mut self, task: Task<'_, S>) -> Result<Option<Open<S>>, DeviceError> {
        let Some(part) = self.parts.next() else { return Ok(None) };
        let whole = task.plan;
        let first = part.steps.start;
        let plan = part.cut.map_or_else(|| whole.clone(), |cut| cut.of(whole, first));
        let mut device = part.steps.clone();
        for index in part.steps.clone() {
            let step = &whole.steps[index];
            let message = task.lowered(step);
            self.store.place(index, message.unwrap_or_else(|| Storage::new(step.entries as usize)));
        }
        if part.entries == 0 {
            // the host has computed the part's only step
            device = first..first;
        }
        let room = Room { keep_messages: true, bytes: size_of::<S::Entry>() as u64, entries: part.entries };
        let program = Program::part(&plan, device, room, &Chip::new(&self.gpu.cuda().info))
            .map_err(|entries| DeviceError::Unusable(format!("a part of {} entries takes {entries}", part.entries)))?;
        let functions = program.tables.iter().map(|table| lay_out(task, table)).collect();
        let held = [vec![None; program.tables.len()], vec![None; program.tables.len()]];
        let loaded = Loaded::new(&self.gpu, program, task.semiring)?;
        let slices = part.cut.map_or(1, |cut| cut.slices(whole, &whole.steps[first]));
        Ok(Some(Open {
            part,
            plan,
            loaded,
            functions,
            slice: 0,
            slices,
            sent: false,
            launch: 0,
            pending: None,
            held,
            computed: [None, None],
            work_before: self.work_done,
        }))
    }

    /// Continues a part. Returns `false` if the work is used up or `stop` is set.
    fn work(
        &mut self,
        whole: &EliminationPlan,
        open: &mut Open<S>,
        left: &mut u64,
        stop: &Stop,
    ) -> Result<bool, DeviceError> {
        let gpu = self.gpu.clone();
        let cuda = gpu.cuda();
        let joint: u64 = whole.steps[open.part.steps.clone()].iter().map(|step| step.joint).sum();
        while open.slice < open.slices {
            if stop.is_set() || (!open.sent && !self.send(whole, open, stop)?) {
                return Ok(false);
            }
            open.sent = true;
            let (half, base) = open.place(open.slice);
            let address = cuda.address(&self.memory) + base * size_of::<S::Entry>() as u64;
            while let Some(launch) = open.loaded.program.launches.get(open.launch).copied() {
                if *left == 0 || stop.is_set() || !open.loaded.ready(&gpu, open.launch)? {
                    return Ok(false);
                }
                // SAFETY: the memory has room for the part's entries from that address on.
                unsafe { open.loaded.launch(cuda.stream(), open.launch, address)? };
                *left = left.saturating_sub(launch.work.max(1));
                open.launch += 1;
            }
            open.computed[half] = Some(cuda.mark(cuda.stream())?);
            if !self.collect(whole, open, stop)? {
                return Ok(false);
            }
            open.pending = Some(open.slice);
            open.slice += 1;
            (open.sent, open.launch) = (false, 0);
            let share = u128::from(joint) * u128::from(open.slice) / u128::from(open.slices);
            self.work_done = open.work_before + share as u64;
        }
        self.collect(whole, open, stop)
    }

    /// Copies to the device the entries that a slice reads, except those that its half of the memory holds already.
    fn send(&mut self, whole: &EliminationPlan, open: &mut Open<S>, stop: &Stop) -> Result<bool, DeviceError> {
        let cuda = self.gpu.cuda();
        let (half, base) = open.place(open.slice);
        // the half is free once the slice before the previous one is computed
        if let Some(computed) = &open.computed[half] {
            cuda.wait(&self.copies, computed)?;
        }
        let begin = open.begin(whole, open.slice);
        let tables = &open.loaded.program.tables;
        let stretches: Vec<Stretch> =
            tables.iter().map(|table| Stretch::new(&table.scope, whole, &open.plan, &begin)).collect();
        let missing = |&table: &usize| {
            tables[table].content != Content::Made && open.held[half][table] != Some(stretches[table].offset)
        };
        let missing: Vec<usize> = (0..tables.len()).filter(missing).collect();
        let windows = windows(tables, missing.clone(), room::<S::Entry>());
        let (messages, functions) = (&self.store.messages, &open.functions);
        let fill = |window: &Window, out: &mut [S::Entry]| {
            for share in &window.shares {
                let table = &tables[share.table];
                let source = match table.content {
                    Content::Message(from) => &messages[from as usize][..],
                    _ => &functions[share.table][..],
                };
                let at = (table.at + share.from - window.at) as usize;
                let out = &mut out[at..at + share.entries as usize];
                gather(out, table, share.from, stretches[share.table], source);
            }
        };
        if !self.staging.send(&windows, &mut self.memory, base, &self.copies, stop, fill)? {
            return Ok(false);
        }
        for table in missing {
            open.held[half][table] = Some(stretches[table].offset);
        }
        cuda.wait(cuda.stream(), &cuda.mark(&self.copies)?)?;
        Ok(true)
    }

    /// Copies the messages of the previous slice back to the host.
    fn collect(&mut self, whole: &EliminationPlan, open: &mut Open<S>, stop: &Stop) -> Result<bool, DeviceError> {
        let Some(slice) = open.pending else { return Ok(true) };
        let cuda = self.gpu.cuda();
        let (half, base) = open.place(slice);
        if let Some(computed) = &open.computed[half] {
            cuda.wait(&self.copies, computed)?;
        }
        let begin = open.begin(whole, slice);
        let program = &open.loaded.program;
        let made = |&table: &usize| program.tables[table].content == Content::Made;
        let chosen: Vec<usize> = program.messages.iter().copied().filter(made).collect();
        let mut step = vec![0; program.tables.len()];
        for (number, &table) in program.messages.iter().enumerate() {
            step[table] = open.part.steps.start + number;
        }
        let windows = windows(&program.tables, chosen, room::<S::Entry>());
        let messages = &mut self.store.messages;
        let take = |window: &Window, entries: &[S::Entry]| {
            for share in &window.shares {
                let table = &program.tables[share.table];
                let stretch = Stretch::new(&table.scope, whole, &open.plan, &begin);
                let at = (table.at + share.from - window.at) as usize;
                let own = &entries[at..at + share.entries as usize];
                scatter(own, table, share.from, stretch, &mut messages[step[share.table]]);
            }
        };
        if !self.staging.fetch(&windows, &self.memory, base, &self.copies, stop, take)? {
            return Ok(false);
        }
        open.pending = None;
        Ok(true)
    }
}

impl<S: DeviceSemiring> Executor<S> for Streamed<S> {
    /// Does at least `SLICE` combinations, some milliseconds of the device.
    fn advance(&mut self, task: Task<'_, S>, work: u64, stop: &Stop) -> Result<Progress, Failure> {
        let mut left = work.max(SLICE);
        loop {
            let open = match self.open.take() {
                Some(open) => Some(open),
                None => self.open_next(task)?,
            };
            let Some(mut open) = open else { return Ok(Progress::Done) };
            if !self.work(task.plan, &mut open, &mut left, stop)? {
                self.open = Some(open);
                self.gpu.cuda().synchronize()?;
                return Ok(Progress::More);
            }
            open.part.steps.for_each(|index| self.store.count(task, index));
        }
    }

    fn work_done(&self) -> u64 {
        self.work_done
    }

    fn on_device(&self) -> bool {
        true
    }

    /// Returns the result and the messages, which are in the host's memory.
    fn finish(self: Box<Self>) -> (S::Entry, Box<dyn Messages<S>>) {
        self.store.finish()
    }
}
