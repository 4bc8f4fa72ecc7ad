//! Elimination of costs: execution of plans on the host or on a device, and the results.

use super::costs::{CostExecutor, CostMessages, Tables};
use super::executor::{Failure, Progress};
use super::plan::{CostRange, Plan};
use crate::device::DeviceError;
use crate::error::Error;
use crate::model::{Cost, Problem};
use crate::stop::Stop;
use std::sync::Arc;

/// An execution of a plan.
#[derive(Debug)]
pub struct Run {
    pub(super) problem: Arc<Problem>,
    pub(super) plan: Plan,
    /// The executor; `None` after a failure.
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

    /// Returns whether a device does the work while the host has the tables, because the device's memory is too small.
    pub fn streamed(&self) -> bool {
        self.streamed
    }

    /// Returns why there is no result: there was no memory for a table, or files for tables could not be written or
    /// read.
    pub fn failure(&self) -> Option<&Error> {
        self.failure.as_ref()
    }

    /// Like [`Run::failure`], but returns the error only once.
    pub fn take_failure(&mut self) -> Option<Error> {
        self.failure.take()
    }

    /// Returns the device's error if the CPU took over a device's work.
    pub fn trouble(&self) -> Option<&DeviceError> {
        self.trouble.as_ref()
    }

    /// Returns the devices that have failed and whose work the others do, each by its index among the devices that were
    /// left at that time. Each failure is returned once.
    pub fn take_lost(&mut self) -> Vec<(usize, DeviceError)> {
        self.executor.as_mut().map_or(Vec::new(), |executor| executor.take_lost())
    }

    /// Returns whether a device does the work.
    pub fn on_device(&self) -> bool {
        self.executor.as_ref().is_some_and(|executor| executor.on_device())
    }

    /// Does about `work` combinations: at least one tile, on a device some milliseconds. Does less if `stop` is set or
    /// if the device fails, because the device's share may be too much for a CPU. Slices, threads and devices do not
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
                // the device's results are lost with it, so the run begins again
                (self.trouble, self.streamed) = (Some(error), false);
                self.begin_on_host();
                Progress::More
            }
        }
    }

    /// Returns the work done so far, in the units of [`Plan::work`]; on a device only the plan's combinations count.
    pub fn work_done(&self) -> u64 {
        self.executor.as_ref().map_or(0, |executor| executor.work_done())
    }

    /// Returns the plan that is executed.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns the bound of a finished run, and begins the plan again for another problem, in the allocated memory.
    /// `None` if the executor cannot begin again.
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

    /// Returns the result once [`Run::advance`] has returned `Done`; `None` before that, and after a failure. A run by
    /// rows that has exceeded its limits ends in a bound that is not exact, and keeps no messages.
    pub fn finish(mut self) -> Option<Outcome> {
        let executor = self.executor.take().filter(|_| self.done)?;
        let (total, messages) = executor.finish(&mut self.plan);
        let lower_bound = self.bound(total);
        Some(Outcome { problem: self.problem, plan: self.plan, lower_bound, messages })
    }
}

/// The result of a run.
#[derive(Debug)]
pub struct Outcome {
    pub(crate) problem: Arc<Problem>,
    /// The plan that was executed.
    pub plan: Plan,
    pub(crate) lower_bound: Cost,
    pub(crate) messages: Box<dyn CostMessages>,
}

impl Outcome {
    /// Returns a lower bound on the cost of every solution. It is the smaller of `ub` and the problem's `top` if the
    /// run has proved that no solution costs less than that.
    pub fn lower_bound(&self) -> Cost {
        self.lower_bound
    }

    /// Returns whether the bound is the optimum, or the limit if no solution is below the limit.
    pub fn exact(&self) -> bool {
        self.plan.exact
    }

    /// Returns the bytes of messages in files; 0 if a device needed no files.
    pub fn spilled_bytes(&self) -> u64 {
        if self.messages.are_in_files() { self.plan.spilled_bytes() } else { 0 }
    }

    /// Returns the plan that was executed.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns the messages as dense tables on the host. `None` if the plan did not keep them, if they are lists of
    /// rows or in files, or if they are on a device and the host has too little memory.
    pub(crate) fn tables(&self) -> Option<Tables<'_>> {
        if self.plan.placement.keep_messages { self.messages.tables() } else { None }
    }

    /// Returns the entries of the message of a step, in the plan's layout; entries that rows do not list are the cap.
    /// `None` if the plan did not keep the messages, or if they are on a device or in files and the host has too little
    /// memory.
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
