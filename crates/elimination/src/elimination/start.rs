//! Preparation of runs: the choice of the executor of a plan, on the host or on devices.

use super::conditioned::Conditioned;
use super::costs::{CostExecutor, CostMessages, Tables};
use super::cpu::Dense;
use super::cuda::{Decoder, Element, Execution, Gpu, Streamed};
use super::executor::{Executor, Failure, Messages, Progress, Task};
use super::plan::{Placement, Plan, Width};
use super::run::Run;
use super::sparse::Sparse;
use super::spill::{Spilled, folder};
use crate::algebra::{CostEntry, MinSum};
use crate::device::DeviceError;
use crate::error::Error;
use crate::model::{Cost, Problem};
use crate::stop::Stop;
use crate::tensor::storage::Storage;
use std::sync::Arc;

impl Run {
    /// Prepares a run on the CPU. `plan` must have been made for this problem.
    pub fn new(problem: Arc<Problem>, plan: Plan) -> Run {
        let mut run = Run { problem, plan, executor: None, done: false, streamed: false, failure: None, trouble: None };
        run.begin_on_host();
        run
    }

    /// Prepares a run on a device, if given; its messages equal the CPU's to the last bit. If the device's memory does
    /// not hold all tables, they are streamed from the host's. Rows with keys that are too wide for a device stay on
    /// the CPU. If the host does not hold the plan either, or if the device fails later, the CPU does the work
    /// ([`Run::trouble`] returns the reason).
    pub fn on(gpu: Option<&Arc<Gpu>>, problem: Arc<Problem>, plan: Plan) -> Run {
        Run::on_all(gpu.map_or(&[], std::slice::from_ref), problem, plan)
    }

    /// Like [`Run::on`], but on several devices, which share the slices of a plan with a cutset. The first device
    /// executes any other plan.
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

    /// Begins on the CPU, with files if the plan places messages in files.
    pub(super) fn begin_on_host(&mut self) {
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
}

/// An executor of costs with entries of one type.
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

/// Returns an executor on a device, and whether tables are streamed to it. `None` if the host does not hold all
/// messages either.
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

/// An entry type of costs for dense tables.
pub trait CostTable: CostEntry + Element {
    /// Returns the tables with their entry type.
    fn tables(messages: &[Storage<Self>]) -> Tables<'_>;

    /// Prepares the execution of a task with dense tables on a device, or on the host without one. This crate compiles
    /// it once for each type.
    ///
    /// # Errors
    /// Returns errors of the device.
    fn executor(
        gpu: Option<&Arc<Gpu>>,
        task: Task<'_, MinSum<Self>>,
    ) -> Result<Box<dyn Executor<MinSum<Self>>>, DeviceError>;
}

impl CostTable for i32 {
    fn tables(messages: &[Storage<i32>]) -> Tables<'_> {
        Tables::I32(messages)
    }

    fn executor(
        gpu: Option<&Arc<Gpu>>,
        task: Task<'_, MinSum<i32>>,
    ) -> Result<Box<dyn Executor<MinSum<i32>>>, DeviceError> {
        executor(gpu, task)
    }
}

impl CostTable for i64 {
    fn tables(messages: &[Storage<i64>]) -> Tables<'_> {
        Tables::I64(messages)
    }

    fn executor(
        gpu: Option<&Arc<Gpu>>,
        task: Task<'_, MinSum<i64>>,
    ) -> Result<Box<dyn Executor<MinSum<i64>>>, DeviceError> {
        executor(gpu, task)
    }
}

fn executor<E: CostTable>(
    gpu: Option<&Arc<Gpu>>,
    task: Task<'_, MinSum<E>>,
) -> Result<Box<dyn Executor<MinSum<E>>>, DeviceError> {
    let Some(gpu) = gpu else { return Ok(Box::new(Dense::new(task))) };
    Ok(match Execution::new(gpu.clone(), task)? {
        Some(execution) => Box::new(execution),
        None => Box::new(Streamed::new(gpu, task)?),
    })
}

/// Messages of costs with entries of one type.
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
        self.0.decode(problem, plan)
    }
}
