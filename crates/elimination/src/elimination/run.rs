//! Elimination of costs: runs of plans, on the host or on a device, and what they find.

use super::costs::{CostExecutor, CostMessages, Tables};
use super::executor::{Failure, Progress};
use super::plan::{CostRange, Plan};
use crate::device::DeviceError;
use crate::error::Error;
use crate::model::{Cost, Problem};
use crate::stop::Stop;
use std::sync::Arc;

/// A plan on its way.
#[derive(Debug)]
pub struct Run {
    pub(super) problem: Arc<Problem>,
    pub(super) plan: Plan,
    /// None where there is a failure.
    pub(super) executor: Option<Box<dyn CostExecutor>>,
    pub(super) done: bool,
    pub(super) streamed: bool,
    pub(super) failure: Option<Error>,
    pub(super) trouble: Option<DeviceError>,
}

impl Run {
    pub(super) fn fail(&mut self, error: Error) {
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

    /// Like [`Run::failure`], but returns it only once.
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

/// What a run found.
#[derive(Debug)]
pub struct Outcome {
    pub(crate) problem: Arc<Problem>,
    /// The plan that was followed.
    pub plan: Plan,
    pub(crate) lower_bound: Cost,
    pub(crate) messages: Box<dyn CostMessages>,
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
