//! Execution of plans with dense tables in the host's memory.

use super::join::Join;
use super::shape::{Shape, temporary};
use crate::algebra::Semiring;
use crate::elimination::executor::{Executor, Failure, Messages, Progress, Task};
use crate::elimination::plan::{Source, Step};
use crate::error::Error;
use crate::stop::Stop;
use crate::tensor::storage::{LARGE, Storage};
use crate::threads::{self, Large};

/// Combinations of one core between two checks of the stop flag: some milliseconds.
const POLL: u64 = 1 << 22;
/// Combinations of a parallel task; smaller tasks are not worth a thread.
const TASK: u64 = 1 << 18;

/// An executor that uses all threads of the host.
#[derive(Debug)]
pub struct Dense<S: Semiring> {
    step: usize,
    store: Store<S>,
    work_done: u64,
}

impl<S: Semiring> Dense<S> {
    /// Prepares the execution of a plan.
    pub fn new(task: Task<'_, S>) -> Self {
        Dense { step: 0, store: Store::new(task), work_done: 0 }
    }
}

impl<S: Semiring> Executor<S> for Dense<S> {
    fn advance(&mut self, task: Task<'_, S>, work: u64, stop: &Stop) -> Result<Progress, Failure> {
        let mut left = work.max(1);
        let poll = poll();
        while self.step < task.plan.steps.len() {
            if left == 0 || stop.is_set() {
                return Ok(Progress::More);
            }
            let (spent, finished) = self.store.slice(task, self.step, left.min(poll))?;
            self.work_done += spent;
            left = left.saturating_sub(spent);
            self.step += usize::from(finished);
        }
        Ok(Progress::Done)
    }

    fn work_done(&self) -> u64 {
        self.work_done
    }

    fn finish(self: Box<Self>) -> (S::Entry, Box<dyn Messages<S>>) {
        self.store.finish()
    }
}

/// Returns the combinations of all threads between two checks of the stop flag.
pub fn poll() -> u64 {
    POLL * rayon::current_num_threads() as u64
}

/// Computes tiles of a message from tile `first` on, on all threads if that pays.
pub fn fill<S: Semiring>(join: &Join<'_, S>, domain: u64, first: usize, out: &mut [S::Entry]) {
    let tile = join.tile();
    let tile_work = (tile as u64).saturating_mul(domain);
    let task = (TASK / tile_work).max(1) as usize;
    if ((out.len() / tile) as u64).saturating_mul(tile_work) < 2 * TASK {
        join.run(first, out);
    } else {
        let tasks = out.chunks_mut(task * tile).enumerate();
        let _ = threads::map(tasks, |(number, out)| join.run(first + number * task, out));
    }
}

/// The messages, and the temporary tables of the current step.
#[derive(Debug)]
pub struct Store<S: Semiring> {
    /// The messages by step, up to the last one made. A message is empty if it was freed or is stored elsewhere.
    pub messages: Large<Storage<S::Entry>>,
    /// The combination of all messages without variables.
    pub total: S::Entry,
    /// Tables of the current step's functions, by input; empty for messages.
    loaded: Vec<Storage<S::Entry>>,
    /// Message of the current step; `tiles` counts the tiles that are done.
    output: Storage<S::Entry>,
    /// Freed tables. Their pages are already mapped, so outputs reuse them.
    spare: Vec<Storage<S::Entry>>,
    /// Entries of outputs since the spare tables were last compared with the plan's memory.
    allocated: usize,
    tiles: usize,
    started: bool,
}

impl<S: Semiring> Store<S> {
    /// Creates an empty store with capacity for the messages of all steps. The messages are not initialised here,
    /// because that would take too long between two checks of the stop flag.
    pub fn new(task: Task<'_, S>) -> Self {
        Store {
            messages: Vec::with_capacity(task.plan.steps.len()).into(),
            total: task.semiring.one(),
            loaded: Vec::new(),
            output: Storage::default(),
            spare: Vec::new(),
            allocated: 0,
            tiles: 0,
            started: false,
        }
    }

    /// Works on a step. Returns the combinations done and whether the step is finished.
    pub fn slice(&mut self, task: Task<'_, S>, index: usize, work: u64) -> Result<(u64, bool), Error> {
        let Task { plan, semiring, .. } = task;
        let step = &plan.steps[index];
        if step.lowered {
            self.spare.clear();
        }
        if let Some(message) = task.lowered(step) {
            self.output = message;
            self.finish_step(task, index);
            return Ok((step.joint, true));
        }
        if !self.started {
            self.output = self.output(task, step)?;
            self.loaded = step.inputs.iter().map(|input| task.load(input)).collect();
            self.started = true;
            self.tiles = 0;
        }
        let domain = plan.domains[step.position as usize];
        let shape = Shape::new(&step.scope, &plan.domains, domain as usize);
        let tables = step.inputs.iter().zip(&self.loaded).map(|(input, loaded)| match input.source {
            Source::Message(from) => (&input.scope[..], &self.messages[from as usize][..]),
            _ => (&input.scope[..], &loaded[..]),
        });
        let join = Join::new(shape, &step.scope, &plan.domains, tables, semiring);
        let tile = join.tile();
        let tile_work = (tile as u64).saturating_mul(u64::from(domain));
        let begin = self.tiles;
        let end = (step.entries as usize / tile).min(begin + (work / tile_work).max(1) as usize);
        let out = &mut self.output[begin * tile..end * tile];
        let spent = (end - begin) as u64 * tile_work;
        fill(&join, u64::from(domain), begin, out);
        self.tiles = end;
        if (end * tile) < step.entries as usize {
            return Ok((spent, false));
        }
        self.finish_step(task, index);
        Ok((spent, true))
    }

    /// Returns a table of arbitrary entries for an output: the smallest spare table that holds it, or else a new one.
    /// Messages, the output, spare tables and the step's temporary tables take at most the plan's memory and `LARGE`.
    fn output(&mut self, task: Task<'_, S>, step: &Step) -> Result<Storage<S::Entry>, Error> {
        let entries = step.entries as usize;
        let fits = |table: &Storage<S::Entry>| {
            (entries..=2 * entries).contains(&table.page_entries()) || table.len() == entries
        };
        let size = |table: &Storage<S::Entry>| table.page_entries().max(table.len());
        let large = entries * size_of::<S::Entry>() >= LARGE;
        let own = (0..self.spare.len()).filter(|&k| fits(&self.spare[k]) && (large || self.spare[k].len() == entries));
        let own = own.min_by_key(|&k| size(&self.spare[k])).map(|k| self.spare.swap_remove(k));
        self.spare.retain(|table| table.page_entries() > 0);
        self.allocated += entries;
        if self.allocated * size_of::<S::Entry>() >= LARGE {
            self.allocated = 0;
            let messages: usize = self.messages.iter().map(size).sum();
            let mut held: usize = messages + self.spare.iter().map(size).sum::<usize>();
            held += own.as_ref().map_or(entries, size) + temporary(step, &task.plan.domains) as usize;
            self.spare.sort_by_key(size);
            while (held * size_of::<S::Entry>()) as u64 > task.placement.peak_bytes
                && let Some(largest) = self.spare.pop()
            {
                held -= size(&largest);
            }
        }
        match own {
            Some(table) if table.len() == entries => Ok(table),
            Some(table) => Ok(table.reused(entries)),
            None => Storage::try_new(entries),
        }
    }

    fn finish_step(&mut self, task: Task<'_, S>, index: usize) {
        let step = &task.plan.steps[index];
        self.started = false;
        let loaded = self.loaded.drain(..).filter(|table| !table.is_shared());
        self.spare.extend(loaded);
        if !task.placement.keep_messages {
            for input in &step.inputs {
                if let Source::Message(from) = input.source {
                    self.spare.push(std::mem::take(&mut self.messages[from as usize]));
                }
            }
        }
        let output = std::mem::take(&mut self.output);
        self.keep(task, index, output);
    }

    /// Stores the message of a step and combines it with the result if it has no variables.
    pub fn keep(&mut self, task: Task<'_, S>, index: usize, output: Storage<S::Entry>) {
        self.place(index, output);
        self.count(task, index);
    }

    /// Stores the message of a step, and leaves the result unchanged.
    pub fn place(&mut self, index: usize, message: Storage<S::Entry>) {
        let length = self.messages.len().max(index + 1);
        self.messages.resize_with(length, Storage::default);
        self.messages[index] = message;
    }

    /// Combines the message of a step with the result if the message has no variables.
    pub fn count(&mut self, Task { plan, semiring, .. }: Task<'_, S>, index: usize) {
        if let ([], &[constant]) = (&plan.steps[index].scope[..], &self.messages[index][..]) {
            self.total = semiring.settle(semiring.combine(self.total, constant));
        }
    }

    /// Returns the result and the messages.
    pub fn finish(self) -> (S::Entry, Box<dyn Messages<S>>) {
        (self.total, Box::new(Tables::<S>(self.messages)))
    }
}

/// Messages in the host's memory.
#[derive(Debug)]
struct Tables<S: Semiring>(Large<Storage<S::Entry>>);

impl<S: Semiring> Messages<S> for Tables<S> {
    fn tables(&self) -> Option<&[Storage<S::Entry>]> {
        Some(&self.0)
    }

    fn into_tables(mut self: Box<Self>) -> Option<Vec<Storage<S::Entry>>> {
        Some(std::mem::take(&mut self.0))
    }

    fn entries(&self, wanted: &[(u32, u64)]) -> Result<Vec<S::Entry>, Failure> {
        Ok(wanted.iter().map(|&(step, index)| self.0[step as usize][index as usize]).collect())
    }
}
