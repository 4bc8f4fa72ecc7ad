//! Executors and messages of costs, independent of the entry type.

use super::executor::{Failure, Progress};
use super::plan::Plan;
use crate::device::DeviceError;
use crate::model::{Cost, Problem};
use crate::stop::Stop;
use crate::tensor::storage::Storage;
use std::any::Any;
use std::fmt::Debug;

/// An executor of costs with entries of any type.
pub(crate) trait CostExecutor: Debug + Send {
    /// Does about `work` combinations, as [`Executor::advance`](super::executor::Executor::advance).
    fn advance(&mut self, problem: &Problem, plan: &Plan, work: u64, stop: &Stop) -> Result<Progress, Failure>;
    fn work_done(&self) -> u64;
    fn on_device(&self) -> bool;
    /// Returns the result and begins again with other costs, as
    /// [`Executor::restart`](super::executor::Executor::restart).
    fn restart(&mut self, _: &Problem, _: &Plan) -> Result<Option<Cost>, Failure> {
        Ok(None)
    }
    /// Returns the devices that have failed, as [`Run::take_lost`](super::Run::take_lost).
    fn take_lost(&mut self) -> Vec<(usize, DeviceError)> {
        Vec::new()
    }
    /// Returns the sum of the messages without variables, clamped to the cap, and all messages. Writes sizes into the
    /// plan that became known only during the run.
    fn finish(self: Box<Self>, plan: &mut Plan) -> (Cost, Box<dyn CostMessages>);
}

/// The messages of a finished elimination of costs, with entries of any type.
pub(crate) trait CostMessages: Debug + Send + Sync {
    /// Returns the messages as dense tables on the host, copied there if necessary. `None` if the host has too little
    /// memory or the messages are lists of rows.
    fn tables(&self) -> Option<Tables<'_>> {
        None
    }

    /// Returns the messages as lists of rows; `None` if they are dense tables.
    fn rows(&self) -> Option<&dyn Rows> {
        None
    }

    /// Returns single entries, as [`Messages::entries`](super::executor::Messages::entries).
    fn entries(&self, wanted: &[(u32, u64)]) -> Result<Vec<Cost>, Failure>;

    /// Returns whether reading single entries is cheaper than copying all tables.
    fn are_remote(&self) -> bool {
        false
    }

    /// Returns whether some messages are in files.
    fn are_in_files(&self) -> bool {
        false
    }

    /// Returns an assignment decoded on the device that has the messages. `None` if they are on the host or the device
    /// cannot decode them.
    fn decode(&self, problem: &Problem, plan: &Plan) -> Option<Vec<u32>> {
        let _ = (problem, plan);
        None
    }
}

/// Messages that list only the entries that a solution below the limit may use.
pub(crate) trait Rows: Any + Debug + Send + Sync {
    /// Writes by how much each value at a position raises the cost-to-go, as [`CostToGo::rate`](super::CostToGo::rate).
    /// Values that are not listed are forbidden.
    fn rate(&self, problem: &Problem, plan: &Plan, position: usize, assignment: &[u32], row: &mut [Cost]);

    /// Returns all entries of a message in the plan's layout; entries that are not listed are the cap.
    fn message(&self, plan: &Plan, step: usize) -> Option<Vec<Cost>>;
}

/// Dense tables by step, of either entry type.
#[derive(Clone, Copy, Debug)]
pub enum Tables<'a> {
    /// Tables of 32-bit entries.
    I32(&'a [Storage<i32>]),
    /// Tables of 64-bit entries.
    I64(&'a [Storage<i64>]),
}
