//! Executors and messages of costs, whatever type their entries have.

use super::executor::{Failure, Progress};
use super::plan::Plan;
use crate::device::DeviceError;
use crate::model::{Cost, Problem};
use crate::stop::Stop;
use crate::tensor::storage::Storage;
use std::any::Any;
use std::fmt::Debug;

/// An executor of costs, whatever their entries are.
pub(crate) trait CostExecutor: Debug + Send {
    /// As [`Executor::advance`](super::executor::Executor::advance).
    fn advance(&mut self, problem: &Problem, plan: &Plan, work: u64, stop: &Stop) -> Result<Progress, Failure>;
    fn work_done(&self) -> u64;
    fn on_device(&self) -> bool;
    /// As [`Executor::restart`](super::executor::Executor::restart).
    fn restart(&mut self, _: &Problem, _: &Plan) -> Result<Option<Cost>, Failure> {
        Ok(None)
    }
    /// As [`Run::take_lost`](super::Run::take_lost).
    fn take_lost(&mut self) -> Vec<(usize, DeviceError)> {
        Vec::new()
    }
    /// The sum of the messages without variables, up to the cap, and all messages. The plan gets what was found only on
    /// the way.
    fn finish(self: Box<Self>, plan: &mut Plan) -> (Cost, Box<dyn CostMessages>);
}

/// The messages of costs, whatever their entries are.
pub(crate) trait CostMessages: Debug + Send + Sync {
    /// As dense tables on the host, copied there if need be. `None` where its memory does not take them, and where they
    /// are rows.
    fn tables(&self) -> Option<Tables<'_>> {
        None
    }

    /// As rows.
    fn rows(&self) -> Option<&dyn Rows> {
        None
    }

    /// As [`Messages::entries`](super::executor::Messages::entries).
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

/// Messages that list only what a solution below the limit may use.
pub(crate) trait Rows: Any + Debug + Send + Sync {
    /// Rises of the values at a position as [`CostToGo::rate`](super::CostToGo::rate) has them. What is not listed is
    /// forbidden.
    fn rate(&self, problem: &Problem, plan: &Plan, position: usize, assignment: &[u32], row: &mut [Cost]);

    /// All entries of a message in the plan's layout, the cap where none is listed.
    fn message(&self, plan: &Plan, step: usize) -> Option<Vec<Cost>>;
}

/// Dense tables by step, of either entry type.
#[derive(Clone, Copy, Debug)]
pub enum Tables<'a> {
    /// Of 32 bits.
    I32(&'a [Storage<i32>]),
    /// Of 64 bits.
    I64(&'a [Storage<i64>]),
}
