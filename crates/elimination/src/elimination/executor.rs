//! Executors of plans in any semiring: the traits that backends implement.

use super::plan::{EliminationPlan, Input, Placement, Source, Step};
use crate::algebra::Semiring;
use crate::device::DeviceError;
use crate::error::Error;
use crate::model::Problem;
use crate::stop::Stop;
use crate::tensor::storage::Storage;
use std::fmt::Debug;

/// The functions of a problem, which can be laid out as tables of a semiring's entries.
pub trait Factors<S: Semiring>: Debug + Send + Sync {
    /// Returns the table of a function or of a variable's unary costs over `variables`, in this order, the last one
    /// running fastest. Variables of the function that are missing from `variables` are folded. `source` is not a
    /// message.
    fn load(&self, source: Source, variables: &[u32], semiring: S) -> Storage<S::Entry>;
}

/// The elimination that an executor executes.
#[derive(Debug)]
pub struct Task<'a, S> {
    /// The steps of the elimination.
    pub plan: &'a EliminationPlan,
    /// The placement of the tables.
    pub placement: &'a Placement,
    /// The functions that are joined.
    pub factors: &'a dyn Factors<S>,
    /// The semiring of the entries.
    pub semiring: S,
}

impl<S: Copy> Clone for Task<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<S: Copy> Copy for Task<'_, S> {}

impl<S: Semiring> Task<'_, S> {
    /// Returns the table of an input in the plan's layout; an empty table for a message.
    pub(crate) fn load(&self, input: &Input) -> Storage<S::Entry> {
        match input.source {
            Source::Message(_) => Storage::default(),
            source => self.table(source, &input.scope),
        }
    }

    /// Returns the table of a source over some positions.
    pub(crate) fn table(&self, source: Source, scope: &[u32]) -> Storage<S::Entry> {
        let variables: Vec<u32> = scope.iter().map(|&p| self.plan.sequence[p as usize]).collect();
        self.factors.load(source, &variables, self.semiring)
    }

    /// Returns the message of a step that only folds a function that is too large for a table; `None` for any other
    /// step.
    pub(crate) fn lowered(&self, step: &Step) -> Option<Storage<S::Entry>> {
        match step.inputs[..] {
            [Input { source: source @ Source::Function(_), .. }] if step.lowered => {
                Some(self.table(source, &step.scope))
            }
            _ => None,
        }
    }
}

/// Whether an execution has finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The result is available.
    Done,
    /// Work is left.
    More,
}

/// The reason why an executor cannot continue.
#[derive(Debug)]
pub enum Failure {
    /// The device failed; the host may do the work instead.
    Device(DeviceError),
    /// There was no memory for a table, or files could not be written or read.
    Host(Error),
}

impl From<DeviceError> for Failure {
    fn from(error: DeviceError) -> Self {
        Failure::Device(error)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Host(error)
    }
}

/// An execution of a plan in slices of bounded work. Slices, threads and devices do not change the result.
pub trait Executor<S: Semiring>: Debug + Send {
    /// Does about `work` combinations, at least one tile; less if `stop` is set. Each call must pass the task with
    /// which the executor was made or last restarted.
    ///
    /// # Errors
    /// Returns a failure, after which the executor must not be used.
    fn advance(&mut self, task: Task<'_, S>, work: u64, stop: &Stop) -> Result<Progress, Failure>;

    /// Returns the number of combinations done so far.
    fn work_done(&self) -> u64;

    /// Returns whether a device does the work.
    fn on_device(&self) -> bool {
        false
    }

    /// Returns the result of a finished execution, and begins again with other factors of the same plan, in the
    /// allocated memory. `None` if the executor cannot begin again.
    ///
    /// # Errors
    /// Returns a failure like [`Executor::advance`].
    fn restart(&mut self, _: Task<'_, S>) -> Result<Option<S::Entry>, Failure> {
        Ok(None)
    }

    /// Returns the result and the messages of a finished execution.
    fn finish(self: Box<Self>) -> (S::Entry, Box<dyn Messages<S>>);
}

/// The messages of a finished run, in the memory of the host or of a device, or in files.
pub trait Messages<S: Semiring>: Debug + Send + Sync {
    /// Returns all messages as tables on the host, copied there if necessary. `None` if the host has too little memory,
    /// or if the messages are in files.
    fn tables(&self) -> Option<&[Storage<S::Entry>]>;

    /// Like [`Messages::tables`], but returns ownership of the tables.
    fn into_tables(self: Box<Self>) -> Option<Vec<Storage<S::Entry>>>;

    /// Returns single entries, given as pairs of a step of the plan and an index into its message.
    ///
    /// # Errors
    /// Returns a failure of the device or of the file that has the entries.
    fn entries(&self, wanted: &[(u32, u64)]) -> Result<Vec<S::Entry>, Failure>;

    /// Returns whether reading single entries is cheaper than copying all tables.
    fn are_remote(&self) -> bool {
        false
    }

    /// Returns whether some messages are in files.
    fn are_in_files(&self) -> bool {
        false
    }

    /// Returns an assignment decoded on the device that has the messages. `None` if they are on the host, or if the
    /// device cannot decode them.
    fn decode(&self, problem: &Problem, plan: &EliminationPlan) -> Option<Vec<u32>> {
        let _ = (problem, plan);
        None
    }
}
