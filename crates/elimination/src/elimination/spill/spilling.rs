//! Execution of a plan whose large messages are stored in files.

use super::{disk, failed, has_room};
use crate::algebra::Entry;
use crate::algebra::Semiring;
use crate::elimination::cpu::{Join, Shape, Store, fill, poll};
use crate::elimination::executor::{Executor, Failure, Messages, Progress, Task};
use crate::elimination::plan::slices::{Cut, Stretch, entries};
use crate::elimination::plan::spill::DISK_WORK;
use crate::elimination::plan::{EliminationPlan, Source, Spill, Step};
use crate::error::Error;
use crate::stop::Stop;
use crate::tensor::storage::Storage;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// A table in a file without a name.
#[derive(Debug)]
struct TableFile(File);

impl TableFile {
    fn read<E: Entry>(&self, from: u64, out: &mut [E]) -> io::Result<()> {
        disk::read(&self.0, bytemuck::cast_slice_mut(out), from * size_of::<E>() as u64)
    }

    fn write<E: Entry>(&self, from: u64, entries: &[E]) -> io::Result<()> {
        disk::write(&self.0, bytemuck::cast_slice(entries), from * size_of::<E>() as u64)
    }
}

/// The execution of a plan, with the step in progress.
#[derive(Debug)]
pub(crate) struct Spilled<S: Semiring> {
    spill: Arc<Spill>,
    folder: PathBuf,
    /// Index of the step in progress.
    step: usize,
    store: Store<S>,
    /// By step, the file of its message.
    files: Vec<Option<TableFile>>,
    open: Option<Open<S::Entry>>,
    work_done: u64,
}

/// A step in progress that is executed in slices.
#[derive(Debug)]
struct Open<E> {
    /// The plan, over the domains of a slice.
    plan: EliminationPlan,
    cut: Option<Cut>,
    /// By input, the whole tables of functions and unary costs.
    functions: Vec<Storage<E>>,
    slice: u64,
    slices: u64,
    /// By input, the copies that the current slice reads. `next` has those of the next slice, `made` is the current
    /// slice of the message, and `before` the slice before.
    now: Vec<Storage<E>>,
    next: Vec<Storage<E>>,
    made: Storage<E>,
    before: Storage<E>,
    /// Whether the inputs of the current slice have been read.
    ready: bool,
    message: Growing<E>,
    work_before: u64,
}

/// The destination of a message that is made in slices.
#[derive(Debug)]
enum Growing<E> {
    File(TableFile),
    Memory(Storage<E>),
}

impl<E: Entry> Growing<E> {
    fn write(&mut self, from: u64, entries: &[E]) -> io::Result<()> {
        match self {
            Growing::File(file) => file.write(from, entries),
            Growing::Memory(table) => {
                table[from as usize..from as usize + entries.len()].copy_from_slice(entries);
                Ok(())
            }
        }
    }
}

impl<E> Open<E> {
    fn begin(&self, whole: &EliminationPlan, step: &Step, slice: u64) -> Vec<(u32, u64)> {
        self.cut.map_or_else(Vec::new, |cut| cut.begin(whole, step, slice))
    }
}

impl<S: Semiring> Spilled<S> {
    /// Prepares the execution of a plan with files in a folder.
    ///
    /// # Errors
    /// Returns an error if the folder has too little room by now.
    pub fn new(task: Task<'_, S>, spill: Arc<Spill>, folder: PathBuf) -> Result<Self, Error> {
        has_room(&spill, &folder)?;
        let files = task.plan.steps.iter().map(|_| None).collect();
        Ok(Spilled { spill, folder, step: 0, store: Store::new(task), files, open: None, work_done: 0 })
    }

    /// Prepares a step that is executed in slices.
    fn open(&self, task: Task<'_, S>) -> Result<Open<S::Entry>, Error> {
        let plan = task.plan;
        let (index, step) = (self.step, &plan.steps[self.step]);
        let cut = self.spill.cuts[index];
        let functions = step.inputs.iter().map(|input| task.load(input)).collect();
        let slice = cut.map_or_else(|| plan.clone(), |cut| cut.of(plan, index));
        let message = if self.spill.files[index] {
            let file = tempfile::tempfile_in(&self.folder).map_err(|source| self.failed("cannot write", source))?;
            Growing::File(TableFile(file))
        } else {
            Growing::Memory(Storage::new(step.entries as usize))
        };
        let empty = || step.inputs.iter().map(|_| Storage::default()).collect();
        let entries = slice.steps[index].entries as usize;
        let slices = cut.map_or(1, |cut| cut.slices(plan, step));
        Ok(Open {
            plan: slice,
            cut,
            functions,
            slice: 0,
            slices,
            now: empty(),
            next: empty(),
            made: Storage::new(entries),
            before: if slices > 1 { Storage::new(entries) } else { Storage::default() },
            ready: false,
            message,
            work_before: self.work_done,
        })
    }

    /// Computes a slice while the one before is written and the next is read.
    fn slice(&mut self, task: Task<'_, S>) -> Result<(), Error> {
        let plan = task.plan;
        let step = &plan.steps[self.step];
        let mut open = match self.open.take() {
            Some(open) => open,
            None => self.open(task)?,
        };
        if !open.ready {
            let mut now = std::mem::take(&mut open.now);
            self.read(plan, &open, open.slice, &mut now).map_err(|source| self.failed("cannot read", source))?;
            open.now = now;
        }
        let (at, last) = (open.slice, open.slice + 1 == open.slices);
        let offset = |open: &Open<S::Entry>, slice| {
            Stretch::new(&step.scope, plan, &open.plan, &open.begin(plan, step, slice)).offset
        };
        let written = at.checked_sub(1).map(|before| offset(&open, before));
        let own = offset(&open, at);
        let (mut made, mut next) = (std::mem::take(&mut open.made), std::mem::take(&mut open.next));
        let before = std::mem::take(&mut open.before);
        let mut message = std::mem::replace(&mut open.message, Growing::Memory(Storage::default()));
        let (this, shared) = (&*self, &open);
        let ((), moved) = rayon::join(
            || this.compute(task, shared, &mut made),
            || {
                if let Some(offset) = written {
                    message.write(offset, &before).map_err(|source| this.failed("cannot write", source))?;
                }
                if !last {
                    this.read(plan, shared, at + 1, &mut next).map_err(|source| this.failed("cannot read", source))?;
                }
                Ok::<(), Error>(())
            },
        );
        moved?;
        if last {
            message.write(own, &made).map_err(|source| self.failed("cannot write", source))?;
            self.close(task, message, open.work_before);
            return Ok(());
        }
        let done = u128::from(self.work_of(plan)) * u128::from(at + 1) / u128::from(open.slices);
        self.work_done = open.work_before + done as u64;
        let now = std::mem::replace(&mut open.now, next);
        self.open = Some(Open { slice: at + 1, ready: true, next: now, made: before, before: made, message, ..open });
        Ok(())
    }

    /// Returns the work of the current step, including that of its file.
    fn work_of(&self, plan: &EliminationPlan) -> u64 {
        let step = &plan.steps[self.step];
        let filed =
            if self.spill.files[self.step] { step.entries * size_of::<S::Entry>() as u64 * DISK_WORK } else { 0 };
        step.joint.saturating_add(filed)
    }

    fn compute(&self, task: Task<'_, S>, open: &Open<S::Entry>, out: &mut Storage<S::Entry>) {
        let step = &open.plan.steps[self.step];
        let shape = Shape::new(&step.scope, &open.plan.domains, open.plan.domains[step.position as usize] as usize);
        let tables = step.inputs.iter().enumerate().map(|(place, input)| {
            let table = match input.source {
                _ if !open.now[place].is_empty() => &open.now[place],
                Source::Message(from) => &self.store.messages[from as usize],
                _ => &open.functions[place],
            };
            (&input.scope[..], &table[..])
        });
        let join = Join::new(shape, &step.scope, &open.plan.domains, tables, task.semiring);
        fill(&join, shape.domain as u64, 0, out);
    }

    /// Copies the inputs of a slice that are in files, and stretches of other tables that it does not read as a whole.
    fn read(
        &self,
        plan: &EliminationPlan,
        open: &Open<S::Entry>,
        slice: u64,
        copies: &mut [Storage<S::Entry>],
    ) -> io::Result<()> {
        let step = &plan.steps[self.step];
        let begin = open.begin(plan, step, slice);
        for (place, (input, copy)) in step.inputs.iter().zip(copies).enumerate() {
            let own = entries(&input.scope, &open.plan.domains);
            let whole = own == entries(&input.scope, &plan.domains);
            let file = match input.source {
                Source::Message(from) => self.files[from as usize].as_ref(),
                _ => None,
            };
            // inputs that are equal for all slices were read with the first slice of this buffer
            if whole && (file.is_none() || !copy.is_empty()) {
                continue;
            }
            if copy.is_empty() {
                *copy = Storage::new(own as usize);
            }
            let stretch = Stretch::new(&input.scope, plan, &open.plan, &begin);
            for (number, out) in (0..).zip(copy.chunks_mut(stretch.length as usize)) {
                let from = stretch.offset + number * stretch.stride;
                match (file, input.source) {
                    (Some(file), _) => file.read(from, out)?,
                    (None, Source::Message(message)) => {
                        out.copy_from_slice(&self.store.messages[message as usize][from as usize..][..out.len()]);
                    }
                    _ => out.copy_from_slice(&open.functions[place][from as usize..][..out.len()]),
                }
            }
        }
        Ok(())
    }

    /// Stores the complete message of the current step and moves to the next.
    fn close(&mut self, task: Task<'_, S>, message: Growing<S::Entry>, work_before: u64) {
        let plan = task.plan;
        self.work_done = work_before.saturating_add(self.work_of(plan));
        let step = &plan.steps[self.step];
        if !task.placement.keep_messages {
            for input in &step.inputs {
                if let Source::Message(from) = input.source {
                    self.files[from as usize] = None;
                    self.store.place(from as usize, Storage::default());
                }
            }
        }
        match message {
            Growing::File(file) => self.files[self.step] = Some(file),
            Growing::Memory(table) => self.store.keep(task, self.step, table),
        }
        self.step += 1;
    }

    fn failed(&self, action: &'static str, source: io::Error) -> Error {
        failed(&self.folder, action, source)
    }
}

impl<S: Semiring> Executor<S> for Spilled<S> {
    fn advance(&mut self, task: Task<'_, S>, work: u64, stop: &Stop) -> Result<Progress, Failure> {
        let mut left = work.max(1);
        while self.step < task.plan.steps.len() {
            if left == 0 || stop.is_set() {
                return Ok(Progress::More);
            }
            let before = self.work_done;
            if self.spill.concerns(task.plan, self.step) {
                self.slice(task)?;
            } else {
                let (spent, finished) = self.store.slice(task, self.step, left.min(poll()))?;
                self.work_done += spent;
                self.step += usize::from(finished);
            }
            left = left.saturating_sub((self.work_done - before).max(1));
        }
        Ok(Progress::Done)
    }

    fn work_done(&self) -> u64 {
        self.work_done
    }

    fn finish(self: Box<Self>) -> (S::Entry, Box<dyn Messages<S>>) {
        (self.store.total, self)
    }
}

impl<S: Semiring> Messages<S> for Spilled<S> {
    fn tables(&self) -> Option<&[Storage<S::Entry>]> {
        None
    }

    fn into_tables(self: Box<Self>) -> Option<Vec<Storage<S::Entry>>> {
        None
    }

    fn entries(&self, wanted: &[(u32, u64)]) -> Result<Vec<S::Entry>, Failure> {
        let entry = |&(step, index): &(u32, u64)| match &self.files[step as usize] {
            Some(file) => {
                let mut entry = [S::Entry::default()];
                file.read(index, &mut entry).map_err(|source| self.failed("cannot read", source))?;
                Ok(entry[0])
            }
            None => Ok(self.store.messages[step as usize][index as usize]),
        };
        wanted.iter().map(entry).collect()
    }

    fn are_remote(&self) -> bool {
        true
    }

    fn are_in_files(&self) -> bool {
        true
    }
}
