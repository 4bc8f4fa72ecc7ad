//! Executes a plan in slices of bounded work.

use super::cpu::kernel::{Join, Shape};
use super::cuda::{Execution, Gpu, Resident, Streamed};
use super::plan::{Input, Plan, Source, Step, Width};
use super::spill::{Spilled, folder};
use super::table;
use super::table::Entry;
use crate::bounds::sparse::{Listed, Sparse};
use crate::device::DeviceError;
use crate::error::Error;
use crate::model::{Cost, Problem};
use crate::stop::Stop;
use crate::tensor::storage::Storage;
use rayon::prelude::*;
use std::sync::Arc;

/// Whether a run goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The bound is there: [`Run::finish`].
    Done,
    /// There is work left.
    More,
}

/// Combinations between two looks at the stop flag: some milliseconds of one core.
const POLL: u64 = 1 << 22;
/// Combinations of a task; fewer are not worth a thread.
const TASK: u64 = 1 << 18;

/// A plan on its way.
#[derive(Debug)]
pub struct Run {
    problem: Arc<Problem>,
    plan: Plan,
    engine: Engine,
    streamed: bool,
    trouble: Option<DeviceError>,
}

/// Who does the work.
#[derive(Debug)]
enum Engine {
    Cpu(Host),
    /// The CPU, with tables of rows.
    Rows(Sparse),
    Cuda(Box<Execution>),
    /// A device whose memory does not hold all tables.
    Streamed(Streamed),
    /// The CPU, with messages in files.
    Spilled(Spilled),
    /// Files could not be written or read: there is no result.
    Failed(Error),
    /// All is done and lies on a device; with the sum of the messages without variables.
    Done(Arc<Resident>, Cost),
}

/// The CPU at work.
#[derive(Debug)]
struct Host {
    step: usize,
    tables: Tables,
    work_done: u64,
}

/// The tables, of the entry type that the plan chose.
#[derive(Debug)]
pub(crate) enum Tables {
    I32(Store<i32>),
    I64(Store<i64>),
}

/// Messages, and what the step at work needs.
#[derive(Debug)]
pub(crate) struct Store<E> {
    /// By step; empty where not made yet, freed, or a constant.
    pub messages: Vec<Storage<E>>,
    /// Sum of the messages without variables.
    pub total: Cost,
    /// Functions of the step at work, by place among its inputs.
    loaded: Vec<Storage<E>>,
    /// Message of the step at work and how many tiles of it are done.
    output: Storage<E>,
    /// Tables that the last step freed: one may become the next output, its pages are there already.
    spare: Vec<Storage<E>>,
    tiles: usize,
    started: bool,
}

impl Run {
    /// Prepares a run of `plan`, which must have been made for this problem, on the CPU.
    pub fn new(problem: Arc<Problem>, plan: Plan) -> Run {
        let engine = Engine::host(&problem, &plan);
        Run { problem, plan, engine, streamed: false, trouble: None }
    }

    /// Prepares a run on a device, if there is one: the same messages to the last bit. Where the device's memory does
    /// not hold all tables they are streamed from the host's. Rows with keys that are too wide for a device stay on the CPU. A plan that the host does not hold either, and whatever
    /// fails on the device later, leaves the work to the CPU ([`Run::trouble`] says why).
    pub fn on(gpu: Option<&Arc<Gpu>>, problem: Arc<Problem>, plan: Plan) -> Run {
        let mut run = Run::new(problem, plan);
        if let Some(gpu) = gpu {
            if let Some(limits) = run.plan.rows {
                match Sparse::on(gpu, &run.problem, &run.plan, limits) {
                    Ok(Some(rows)) => run.engine = Engine::Rows(rows),
                    // keys wider than a device's stay with the CPU
                    Ok(None) => {}
                    Err(error) => run.trouble = Some(error),
                }
                return run;
            }
            let engine = match Execution::new(gpu.clone(), &run.problem, &run.plan) {
                Ok(Some(execution)) => Ok(Engine::Cuda(Box::new(execution))),
                // the host does not hold all messages
                Ok(None) if run.plan.spill.is_some() => return run,
                Ok(None) => Streamed::new(gpu, &run.problem, &run.plan).map(Engine::Streamed),
                Err(error) => Err(error),
            };
            match engine {
                Ok(engine) => {
                    run.streamed = matches!(engine, Engine::Streamed(_));
                    run.engine = engine;
                }
                Err(error) => run.trouble = Some(error),
            }
        }
        run
    }

    /// Whether a device does the work whose memory does not hold all tables.
    pub fn streamed(&self) -> bool {
        self.streamed
    }

    /// Why there is no result: there was no memory for a table, or files for tables could not be written or read.
    pub fn failure(&self) -> Option<&Error> {
        if let Engine::Failed(error) = &self.engine { Some(error) } else { None }
    }

    /// The same, which ends the run.
    pub fn take_failure(&mut self) -> Option<Error> {
        let _ = self.failure()?;
        let engine = std::mem::replace(&mut self.engine, Engine::Failed(Error::Stopped));
        if let Engine::Failed(error) = engine { Some(error) } else { None }
    }

    /// Why the CPU does what a device was meant to.
    pub fn trouble(&self) -> Option<&DeviceError> {
        self.trouble.as_ref()
    }

    /// Whether a device does the work.
    pub fn on_device(&self) -> bool {
        match &self.engine {
            Engine::Cpu(_) | Engine::Spilled(_) | Engine::Failed(_) => false,
            Engine::Rows(rows) => rows.on_device(),
            Engine::Cuda(_) | Engine::Streamed(_) | Engine::Done(..) => true,
        }
    }

    /// Does about `work` combinations (at least one tile; on a device some milliseconds) or less if told to stop, or where the
    /// device fails: what it was meant to do may be too much for a CPU.
    /// Slices, threads and devices do not change the result.
    pub fn advance(&mut self, work: u64, stop: &Stop) -> Progress {
        let progress = match &mut self.engine {
            Engine::Cpu(host) => {
                let progress = host.advance(&self.problem, &self.plan, work, stop);
                return progress.unwrap_or_else(|error| self.fail(error));
            }
            Engine::Spilled(spilled) => {
                let progress = spilled.advance(&self.problem, &self.plan, work, stop);
                return progress.unwrap_or_else(|error| self.fail(error));
            }
            Engine::Failed(_) => return Progress::Done,
            Engine::Rows(rows) => match rows.advance(&self.problem, &self.plan, work, stop) {
                Ok(true) => Ok(Progress::Done),
                Ok(false) => Ok(Progress::More),
                Err(error) => Err(error),
            },
            Engine::Cuda(_) | Engine::Streamed(_) | Engine::Done(..) => self.advance_device(work, stop),
        };
        progress.unwrap_or_else(|error| {
            // what the device had done is lost with it: from the beginning
            self.trouble = Some(error);
            self.streamed = false;
            self.engine = Engine::host(&self.problem, &self.plan);
            Progress::More
        })
    }

    fn fail(&mut self, error: Error) -> Progress {
        self.engine = Engine::Failed(error);
        Progress::Done
    }

    fn advance_device(&mut self, work: u64, stop: &Stop) -> Result<Progress, DeviceError> {
        let done = match &mut self.engine {
            Engine::Cuda(execution) => execution.advance(work, stop)?,
            Engine::Streamed(streamed) => streamed.advance(work, stop)?,
            _ => return Ok(Progress::Done),
        };
        if !done {
            return Ok(Progress::More);
        }
        self.engine = match std::mem::replace(&mut self.engine, Engine::host(&self.problem, &self.plan)) {
            Engine::Cuda(execution) => {
                let total = execution.total()?;
                Engine::Done(Arc::new(execution.leave()), total)
            }
            // its messages are where the CPU would have left them
            Engine::Streamed(streamed) => Engine::Cpu(Host {
                step: self.plan.steps.len(),
                work_done: streamed.work_done(),
                tables: streamed.finish(),
            }),
            engine => engine,
        };
        Ok(Progress::Done)
    }

    /// Work done so far, of [`Plan::work`]; on a device of [`Plan::joint_entries`].
    pub fn work_done(&self) -> u64 {
        match &self.engine {
            Engine::Cpu(host) => host.work_done,
            Engine::Rows(rows) => rows.work_done(),
            Engine::Cuda(execution) => execution.work_done(),
            Engine::Streamed(streamed) => streamed.work_done(),
            Engine::Spilled(spilled) => spilled.work_done(),
            Engine::Failed(_) => 0,
            Engine::Done(..) => self.plan.joint_entries,
        }
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The result, once [`Run::advance`] said that it is done; `None` before, and after a failure. A run by rows that has passed its
    /// limits comes to a bound that is not exact, and keeps no messages.
    pub fn finish(mut self) -> Option<Outcome> {
        let (total, messages) = match self.engine {
            Engine::Cpu(host) if host.step == self.plan.steps.len() => {
                let total = match &host.tables {
                    Tables::I32(store) => store.total,
                    Tables::I64(store) => store.total,
                };
                (total, Messages::Host(host.tables))
            }
            Engine::Spilled(spilled) if spilled.step() == self.plan.steps.len() => {
                (spilled.total(), Messages::Files(spilled))
            }
            Engine::Done(resident, total) => (total, Messages::Device(resident)),
            Engine::Rows(rows) => {
                let rows = rows.finish()?;
                let (ledger, plan) = (rows.ledger(), &mut self.plan);
                plan.exact = ledger.is_finished();
                // where no solution is below the limit some messages were never made
                plan.keep_messages &= ledger.is_finished() && ledger.total() < plan.cap;
                // what it took, not what dense tables would have
                (plan.joint_entries, plan.largest_table, plan.table_bytes) = ledger.taken();
                (ledger.total(), Messages::Rows(rows))
            }
            _ => return None,
        };
        let Plan { cap, limit, .. } = self.plan;
        let lower_bound = if total >= cap { limit } else { (self.problem.constant + total).min(limit) };
        Some(Outcome { problem: self.problem, plan: self.plan, lower_bound, messages })
    }
}

impl Engine {
    /// The CPU, with files where the plan says so.
    fn host(problem: &Problem, plan: &Plan) -> Engine {
        if let Some(limits) = plan.rows {
            return Engine::Rows(Sparse::new(problem, plan, limits));
        }
        let Some(spill) = &plan.spill else { return Engine::Cpu(Host::new(plan)) };
        Spilled::new(plan, spill, folder()).map_or_else(Engine::Failed, Engine::Spilled)
    }
}

/// Combinations between two looks at the stop flag.
pub(crate) fn poll() -> u64 {
    POLL * rayon::current_num_threads() as u64
}

/// Makes tiles of a message from `first` on, on all threads where that pays.
pub(crate) fn fill<E: Entry>(join: &Join<E>, domain: u64, first: usize, out: &mut [E]) {
    let tile = join.tile();
    let tile_work = (tile as u64).saturating_mul(domain);
    let task = (TASK / tile_work).max(1) as usize;
    if ((out.len() / tile) as u64).saturating_mul(tile_work) < 2 * TASK {
        join.run(first, out);
    } else {
        out.par_chunks_mut(task * tile).enumerate().for_each(|(number, out)| join.run(first + number * task, out));
    }
}

impl Host {
    fn new(plan: &Plan) -> Self {
        let tables = match plan.width {
            Width::I32 => Tables::I32(Store::new(plan.steps.len())),
            Width::I64 => Tables::I64(Store::new(plan.steps.len())),
        };
        Host { step: 0, tables, work_done: 0 }
    }

    fn advance(&mut self, problem: &Problem, plan: &Plan, work: u64, stop: &Stop) -> Result<Progress, Error> {
        let mut left = work.max(1);
        let poll = poll();
        while self.step < plan.steps.len() {
            if left == 0 || stop.is_set() {
                return Ok(Progress::More);
            }
            let (spent, finished) = match &mut self.tables {
                Tables::I32(store) => store.slice(problem, plan, self.step, left.min(poll))?,
                Tables::I64(store) => store.slice(problem, plan, self.step, left.min(poll))?,
            };
            self.work_done += spent;
            left = left.saturating_sub(spent);
            self.step += usize::from(finished);
        }
        Ok(Progress::Done)
    }
}

impl<E: Entry> Store<E> {
    /// Room for the messages of so many steps.
    pub fn new(steps: usize) -> Self {
        Store {
            messages: (0..steps).map(|_| Storage::default()).collect(),
            total: 0,
            loaded: Vec::new(),
            output: Storage::default(),
            spare: Vec::new(),
            tiles: 0,
            started: false,
        }
    }

    /// Works on a step; returns the combinations done and whether the step is finished.
    ///
    /// # Errors
    /// There is no memory for the message.
    pub fn slice(&mut self, problem: &Problem, plan: &Plan, index: usize, work: u64) -> Result<(u64, bool), Error> {
        let step = &plan.steps[index];
        if let (true, [Input { source: Source::Function(f), .. }]) = (step.lowered, &step.inputs[..]) {
            self.spare.clear();
            self.output = lay_out(problem, plan, *f, &step.scope);
            self.finish_step(plan, index);
            return Ok((step.joint, true));
        }
        if !self.started {
            self.output = self.reuse(step.entries as usize)?;
            self.loaded = step.inputs.iter().map(|input| load(problem, plan, step, input)).collect();
            self.started = true;
            self.tiles = 0;
        }
        let domain = plan.domains[step.position as usize];
        let shape = Shape::new(&step.scope, &plan.domains, domain as usize);
        let tables = step.inputs.iter().zip(&self.loaded).map(|(input, loaded)| match input.source {
            Source::Message(from) => (&input.scope[..], &self.messages[from as usize][..]),
            _ => (&input.scope[..], &loaded[..]),
        });
        let join = Join::new(shape, &step.scope, &plan.domains, tables, E::from_cost(plan.cap));
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
        self.finish_step(plan, index);
        Ok((spent, true))
    }

    /// A table with any entries, of exactly that size; all spare ones are gone afterwards, so that nothing is
    /// held beyond the plan.
    fn reuse(&mut self, entries: usize) -> Result<Storage<E>, Error> {
        let mut spare = self.spare.drain(..).filter(|table| table.len() == entries);
        spare.next().map_or_else(|| Storage::try_new(entries), Ok)
    }

    fn finish_step(&mut self, plan: &Plan, index: usize) {
        let step = &plan.steps[index];
        self.started = false;
        self.spare = std::mem::take(&mut self.loaded);
        if !plan.keep_messages {
            for input in &step.inputs {
                if let Source::Message(from) = input.source {
                    self.spare.push(std::mem::take(&mut self.messages[from as usize]));
                }
            }
        }
        let output = std::mem::take(&mut self.output);
        self.keep(plan, index, output);
    }

    /// Takes the message of a step.
    pub fn keep(&mut self, plan: &Plan, index: usize, output: Storage<E>) {
        if plan.steps[index].scope.is_empty() {
            let constant = output.first().map_or(0, |entry| entry.cost());
            self.total = self.total.saturating_add(constant);
        }
        self.messages[index] = output;
    }
}

/// Functions and unary costs that a step joins, as tables; nothing for a message.
pub(crate) fn load<E: Entry>(problem: &Problem, plan: &Plan, step: &Step, input: &Input) -> Storage<E> {
    match input.source {
        Source::Unary => {
            let variable = plan.sequence[step.position as usize];
            problem.unary[variable as usize].iter().map(|&cost| E::from_cost(cost.min(plan.cap))).collect()
        }
        Source::Function(f) => lay_out(problem, plan, f, &input.scope),
        Source::Message(_) => Storage::default(),
    }
}

fn lay_out<E: Entry>(problem: &Problem, plan: &Plan, function: u32, scope: &[u32]) -> Storage<E> {
    let scope: Vec<u32> = scope.iter().map(|&p| plan.sequence[p as usize]).collect();
    table::lay_out(&problem.functions[function as usize], &scope, &problem.domains, plan.cap)
}

/// What a run found.
#[derive(Debug)]
pub struct Outcome {
    pub(crate) problem: Arc<Problem>,
    pub(crate) plan: Plan,
    pub(crate) lower_bound: Cost,
    pub(crate) messages: Messages,
}

/// Where the messages of a finished run are.
#[derive(Debug)]
pub(crate) enum Messages {
    Host(Tables),
    Device(Arc<Resident>),
    Rows(Box<Listed>),
    /// Some of them in files.
    Files(Spilled),
}

impl Messages {
    /// The messages on the host as dense tables, copied there if need be. `None` where the host's memory does not take them, and
    /// where they are rows.
    pub fn tables(&self) -> Option<&Tables> {
        match self {
            Messages::Host(tables) => Some(tables),
            Messages::Device(resident) => resident.tables(),
            Messages::Rows(_) | Messages::Files(_) => None,
        }
    }
}

impl Outcome {
    /// No solution costs less. Equal to `ub` or the problem's `top`, whichever is less, where there is no
    /// solution below that.
    pub fn lower_bound(&self) -> Cost {
        self.lower_bound
    }

    /// Whether the bound is the optimum (or the limit, where no solution is below the limit).
    pub fn exact(&self) -> bool {
        self.plan.exact
    }

    /// Bytes of messages in files; none where a device did without.
    pub fn spilled_bytes(&self) -> u64 {
        if let Messages::Files(_) = self.messages { self.plan.spilled_bytes() } else { 0 }
    }

    /// The plan that was run.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The entries of the message that a step sent, in the plan's layout. `None` where the plan did not keep the
    /// messages, or they are on a device or in files and the host's memory does not take them. What rows leave out is the cap.
    pub fn message(&self, step: usize) -> Option<Vec<Cost>> {
        if let (Messages::Rows(rows), true) = (&self.messages, self.plan.keep_messages) {
            return rows.message(&self.plan, step);
        }
        let tables = if self.plan.keep_messages { self.messages.tables() } else { None };
        Some(match tables? {
            Tables::I32(store) => store.messages.get(step)?.iter().map(|&entry| Cost::from(entry)).collect(),
            Tables::I64(store) => store.messages.get(step)?.to_vec(),
        })
    }
}
