//! Elimination of costs: runs of plans, on the host or on a device, and what they find.

use super::conditioned::Conditioned;
use super::cpu::Dense;
use super::cuda::{Decoder, Element, Execution, Gpu, Streamed};
use super::executor::{Executor, Failure, Messages, Progress, Task};
use super::plan::{CostRange, Placement, Plan, Width};
use super::sparse::{Listed, Sparse};
use super::spill::{Spilled, folder};
use crate::algebra::{CostEntry, MinSum};
use crate::device::DeviceError;
use crate::error::Error;
use crate::model::{Cost, Problem};
use crate::stop::Stop;
use crate::tensor::storage::Storage;
use std::fmt::Debug;
use std::sync::Arc;

/// A plan on its way.
#[derive(Debug)]
pub struct Run {
    problem: Arc<Problem>,
    plan: Plan,
    /// None where there is a failure.
    executor: Option<Box<dyn CostExecutor>>,
    done: bool,
    streamed: bool,
    failure: Option<Error>,
    trouble: Option<DeviceError>,
}

impl Run {
    /// Prepares a run of `plan`, which must have been made for this problem, on the CPU.
    pub fn new(problem: Arc<Problem>, plan: Plan) -> Run {
        let mut run = Run { problem, plan, executor: None, done: false, streamed: false, failure: None, trouble: None };
        run.begin_on_host();
        run
    }

    /// Prepares a run on a device, if there is one: the same messages to the last bit. Where the device's memory does
    /// not hold all tables they are streamed from the host's. Rows with keys that are too wide for a device stay on
    /// the CPU. A plan that the host does not hold either, and whatever fails on the device later, leaves the work to
    /// the CPU ([`Run::trouble`] says why).
    pub fn on(gpu: Option<&Arc<Gpu>>, problem: Arc<Problem>, plan: Plan) -> Run {
        Run::on_all(gpu.map_or(&[], std::slice::from_ref), problem, plan)
    }

    /// The same on several devices, which share the slices of a plan that has some; all else the first one does.
    pub fn on_all(gpus: &[Arc<Gpu>], problem: Arc<Problem>, plan: Plan) -> Run {
        let Some(gpu) = gpus.first() else { return Run::new(problem, plan) };
        if let Some(cutset) = &plan.placement.cutset {
            let executor: Option<Box<dyn CostExecutor>> = Some(Box::new(Conditioned::new(gpus, &plan, cutset)));
            return Run { problem, plan, executor, done: false, streamed: false, failure: None, trouble: None };
        }
        let executor = match (plan.placement.rows, plan.costs.width) {
            (Some(limits), _) => Sparse::on(gpu, &plan, limits)
                .map(|rows| rows.map(|rows| (Box::new(rows) as Box<dyn CostExecutor>, false))),
            (None, Width::I32) => on_device::<i32>(gpu, &problem, &plan),
            (None, Width::I64) => on_device::<i64>(gpu, &problem, &plan),
        };
        match executor {
            Ok(Some((executor, streamed))) => {
                let executor = Some(executor);
                Run { problem, plan, executor, done: false, streamed, failure: None, trouble: None }
            }
            Ok(None) => Run::new(problem, plan),
            Err(error) => Run { trouble: Some(error), ..Run::new(problem, plan) },
        }
    }

    /// The CPU, with files where the plan says so.
    fn begin_on_host(&mut self) {
        let (problem, plan) = (&self.problem, &self.plan);
        let executor = match (&plan.placement, plan.costs.width) {
            (Placement { rows: Some(limits), .. }, _) => Ok(Box::new(Sparse::new(plan, *limits)) as Box<_>),
            (Placement { cutset: Some(cutset), .. }, _) => Ok(Box::new(Conditioned::new(&[], plan, cutset)) as Box<_>),
            (_, Width::I32) => on_host::<i32>(problem, plan),
            (_, Width::I64) => on_host::<i64>(problem, plan),
        };
        match executor {
            Ok(executor) => self.executor = Some(executor),
            Err(error) => self.fail(error),
        }
    }

    fn fail(&mut self, error: Error) {
        (self.executor, self.failure, self.done) = (None, Some(error), true);
    }

    /// Whether a device does the work whose memory does not hold all tables.
    pub fn streamed(&self) -> bool {
        self.streamed
    }

    /// Why there is no result: there was no memory for a table, or files for tables could not be written or read.
    pub fn failure(&self) -> Option<&Error> {
        self.failure.as_ref()
    }

    /// The same, told once.
    pub fn take_failure(&mut self) -> Option<Error> {
        self.failure.take()
    }

    /// Why the CPU does what a device was meant to.
    pub fn trouble(&self) -> Option<&DeviceError> {
        self.trouble.as_ref()
    }

    /// Devices that have failed and whose work the others do, each by its place among those that were left then; told
    /// once.
    pub fn take_lost(&mut self) -> Vec<(usize, DeviceError)> {
        self.executor.as_mut().map_or(Vec::new(), |executor| executor.take_lost())
    }

    /// Whether a device does the work.
    pub fn on_device(&self) -> bool {
        self.executor.as_ref().is_some_and(|executor| executor.on_device())
    }

    /// Does about `work` combinations (at least one tile; on a device some milliseconds) or less if told to stop, or
    /// where the device fails: what it was meant to do may be too much for a CPU. Slices, threads and devices do not
    /// change the result.
    pub fn advance(&mut self, work: u64, stop: &Stop) -> Progress {
        let Some(executor) = self.executor.as_mut().filter(|_| !self.done) else { return Progress::Done };
        match executor.advance(&self.problem, &self.plan, work, stop) {
            Ok(progress) => {
                self.done = progress == Progress::Done;
                progress
            }
            Err(Failure::Host(error)) => {
                self.fail(error);
                Progress::Done
            }
            Err(Failure::Device(error)) => {
                // what the device had done is lost with it: from the beginning
                (self.trouble, self.streamed) = (Some(error), false);
                self.begin_on_host();
                Progress::More
            }
        }
    }

    /// Work done so far, of [`Plan::work`]; on a device of the plan's combinations.
    pub fn work_done(&self) -> u64 {
        self.executor.as_ref().map_or(0, |executor| executor.work_done())
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The bound, once all is done, and begins the same plan again for another problem, in the memory that it has;
    /// nothing where it cannot.
    pub(super) fn restart(&mut self, problem: Arc<Problem>) -> Result<Option<Cost>, Failure> {
        let Some(executor) = self.executor.as_mut().filter(|_| self.done) else { return Ok(None) };
        let Some(total) = executor.restart(&problem, &self.plan)? else { return Ok(None) };
        let bound = self.bound(total);
        (self.problem, self.done) = (problem, false);
        Ok(Some(bound))
    }

    fn bound(&self, total: Cost) -> Cost {
        let CostRange { cap, limit, .. } = self.plan.costs;
        if total >= cap { limit } else { (self.problem.constant + total).min(limit) }
    }

    /// The result, once [`Run::advance`] said that it is done; `None` before, and after a failure. A run by rows that
    /// has passed its limits comes to a bound that is not exact, and keeps no messages.
    pub fn finish(mut self) -> Option<Outcome> {
        let executor = self.executor.take().filter(|_| self.done)?;
        let (total, messages) = executor.finish(&mut self.plan);
        let lower_bound = self.bound(total);
        Some(Outcome { problem: self.problem, plan: self.plan, lower_bound, messages })
    }
}

/// An executor of costs, whatever their entries are.
pub(crate) trait CostExecutor: Debug + Send {
    /// As [`Executor::advance`].
    fn advance(&mut self, problem: &Problem, plan: &Plan, work: u64, stop: &Stop) -> Result<Progress, Failure>;
    fn work_done(&self) -> u64;
    fn on_device(&self) -> bool;
    /// As [`Executor::restart`].
    fn restart(&mut self, _: &Problem, _: &Plan) -> Result<Option<Cost>, Failure> {
        Ok(None)
    }
    /// As [`Run::take_lost`].
    fn take_lost(&mut self) -> Vec<(usize, DeviceError)> {
        Vec::new()
    }
    /// The sum of the messages without variables, up to the cap, and all messages. The plan gets what was found only on
    /// the way.
    fn finish(self: Box<Self>, plan: &mut Plan) -> (Cost, Box<dyn CostMessages>);
}

/// Costs with entries of one type.
#[derive(Debug)]
struct Typed<E>(Box<dyn Executor<MinSum<E>>>);

pub(super) fn task<'a, E: CostEntry>(problem: &'a Problem, plan: &'a Plan) -> Task<'a, MinSum<E>> {
    let semiring = MinSum { cap: E::from_cost(plan.costs.cap) };
    Task { plan: &plan.structure, placement: &plan.placement, factors: problem, semiring }
}

fn on_host<E: CostTable>(problem: &Problem, plan: &Plan) -> Result<Box<dyn CostExecutor>, Error> {
    let task = task::<E>(problem, plan);
    Ok(Box::new(Typed::<E>(match &plan.placement.spill {
        Some(spill) => Box::new(Spilled::new(task, spill.clone(), folder())?),
        None => Box::new(Dense::new(task)),
    })))
}

/// On a device, and whether tables are streamed to it. `None` where the host does not hold all messages either.
#[expect(clippy::type_complexity, reason = "two things in a result that may be nothing")]
fn on_device<E: CostTable>(
    gpu: &Arc<Gpu>,
    problem: &Problem,
    plan: &Plan,
) -> Result<Option<(Box<dyn CostExecutor>, bool)>, DeviceError> {
    let task = task::<E>(problem, plan);
    if let Some(execution) = Execution::new(gpu.clone(), task)? {
        if plan.placement.keep_messages {
            Decoder::begin::<E>(gpu);
        }
        return Ok(Some((Box::new(Typed::<E>(Box::new(execution))), false)));
    }
    if plan.placement.spill.is_some() {
        return Ok(None);
    }
    Ok(Some((Box::new(Typed::<E>(Box::new(Streamed::new(gpu, task)?))), true)))
}

impl<E: CostTable> CostExecutor for Typed<E> {
    fn advance(&mut self, problem: &Problem, plan: &Plan, work: u64, stop: &Stop) -> Result<Progress, Failure> {
        self.0.advance(task(problem, plan), work, stop)
    }

    fn work_done(&self) -> u64 {
        self.0.work_done()
    }

    fn on_device(&self) -> bool {
        self.0.on_device()
    }

    fn restart(&mut self, problem: &Problem, plan: &Plan) -> Result<Option<Cost>, Failure> {
        Ok(self.0.restart(task(problem, plan))?.map(E::cost))
    }

    fn finish(self: Box<Self>, _: &mut Plan) -> (Cost, Box<dyn CostMessages>) {
        let (total, messages) = self.0.finish();
        (total.cost(), Box::new(TypedMessages(messages)))
    }
}

/// What a run found.
#[derive(Debug)]
pub struct Outcome {
    pub(crate) problem: Arc<Problem>,
    /// The plan that was followed.
    pub plan: Plan,
    pub(crate) lower_bound: Cost,
    pub(crate) messages: Box<dyn CostMessages>,
}

/// The messages of costs, whatever their entries are.
pub(crate) trait CostMessages: Debug + Send + Sync {
    /// As dense tables on the host, copied there if need be. `None` where its memory does not take them, and where they
    /// are rows.
    fn tables(&self) -> Option<Tables<'_>> {
        None
    }

    /// As rows.
    fn rows(&self) -> Option<&Listed> {
        None
    }

    /// As [`Messages::entries`].
    fn entries(&self, wanted: &[(u32, u64)]) -> Result<Vec<Cost>, Failure>;

    /// Whether single entries are had for less than all tables.
    fn are_remote(&self) -> bool {
        false
    }

    /// Whether some lie in files.
    fn are_in_files(&self) -> bool {
        false
    }

    /// An assignment made where they are, if they are on a device that can.
    fn decode(&self, problem: &Problem, plan: &Plan) -> Option<Vec<u32>> {
        let _ = (problem, plan);
        None
    }
}

/// Dense tables by step, of either entry type.
#[derive(Clone, Copy, Debug)]
pub enum Tables<'a> {
    /// Of 32 bits.
    I32(&'a [Storage<i32>]),
    /// Of 64 bits.
    I64(&'a [Storage<i64>]),
}

/// An entry type that costs may have.
pub trait CostTable: CostEntry + Element {
    /// These tables by the kind of their entries.
    fn tables(messages: &[Storage<Self>]) -> Tables<'_>;
}

impl CostTable for i32 {
    fn tables(messages: &[Storage<i32>]) -> Tables<'_> {
        Tables::I32(messages)
    }
}

impl CostTable for i64 {
    fn tables(messages: &[Storage<i64>]) -> Tables<'_> {
        Tables::I64(messages)
    }
}

/// Messages with entries of one type.
#[derive(Debug)]
struct TypedMessages<E>(Box<dyn Messages<MinSum<E>>>);

impl<E: CostTable> CostMessages for TypedMessages<E> {
    fn tables(&self) -> Option<Tables<'_>> {
        self.0.tables().map(E::tables)
    }

    fn entries(&self, wanted: &[(u32, u64)]) -> Result<Vec<Cost>, Failure> {
        Ok(self.0.entries(wanted)?.into_iter().map(E::cost).collect())
    }

    fn are_remote(&self) -> bool {
        self.0.are_remote()
    }

    fn are_in_files(&self) -> bool {
        self.0.are_in_files()
    }

    fn decode(&self, problem: &Problem, plan: &Plan) -> Option<Vec<u32>> {
        Decoder::new(self.0.on_device()?, problem, plan).ok()??.assign().ok()
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
        if self.messages.are_in_files() { self.plan.spilled_bytes() } else { 0 }
    }

    /// The plan that was run.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The messages as dense tables on the host, where the plan kept them.
    pub(crate) fn tables(&self) -> Option<Tables<'_>> {
        if self.plan.placement.keep_messages { self.messages.tables() } else { None }
    }

    /// The entries of the message that a step sent, in the plan's layout. `None` where the plan did not keep the
    /// messages, or they are on a device or in files and the host's memory does not take them. What rows leave out is
    /// the cap.
    pub fn message(&self, step: usize) -> Option<Vec<Cost>> {
        if let (Some(rows), true) = (self.messages.rows(), self.plan.placement.keep_messages) {
            return rows.message(&self.plan, step);
        }
        Some(match self.tables()? {
            Tables::I32(messages) => messages.get(step)?.iter().map(|&entry| Cost::from(entry)).collect(),
            Tables::I64(messages) => messages.get(step)?.to_vec(),
        })
    }
}
