//! Who executes a plan: executors, an open set, for any semiring.

use super::plan::{EliminationPlan, Input, Placement, Source, Step};
use crate::algebra::Semiring;
use crate::device::DeviceError;
use crate::error::Error;
use crate::model::Problem;
use crate::stop::Stop;
use crate::tensor::storage::Storage;
use std::fmt::Debug;

/// Functions as tables of a semiring's entries.
pub trait Factors<S: Semiring>: Debug + Send + Sync {
    /// What a variable or a function says of some of its variables, in this order, the last one running fastest; folded
    /// over the others. The source is no message.
    fn load(&self, source: Source, variables: &[u32], semiring: S) -> Storage<S::Entry>;
}

/// What is executed.
#[derive(Debug)]
pub struct Task<'a, S> {
    /// What is eliminated.
    pub plan: &'a EliminationPlan,
    /// Where its tables lie.
    pub placement: &'a Placement,
    /// The tables that are joined.
    pub factors: &'a dyn Factors<S>,
    /// What their entries are.
    pub semiring: S,
}

impl<S: Copy> Clone for Task<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<S: Copy> Copy for Task<'_, S> {}

impl<S: Semiring> Task<'_, S> {
    /// An input as a table in the plan's layout; nothing for a message.
    pub(crate) fn load(&self, input: &Input) -> Storage<S::Entry> {
        match input.source {
            Source::Message(_) => Storage::default(),
            source => self.table(source, &input.scope),
        }
    }

    /// What a source says of some positions.
    pub(crate) fn table(&self, source: Source, scope: &[u32]) -> Storage<S::Entry> {
        let variables: Vec<u32> = scope.iter().map(|&p| self.plan.sequence[p as usize]).collect();
        self.factors.load(source, &variables, self.semiring)
    }

    /// The message of a step that only folds a function, which is too large to be laid out.
    pub(crate) fn lowered(&self, step: &Step) -> Option<Storage<S::Entry>> {
        match step.inputs[..] {
            [Input { source: source @ Source::Function(_), .. }] if step.lowered => {
                Some(self.table(source, &step.scope))
            }
            _ => None,
        }
    }
}

/// Whether a run goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The result is there.
    Done,
    /// There is work left.
    More,
}

/// Why an executor cannot go on.
#[derive(Debug)]
pub enum Failure {
    /// The device failed: the host may do what it was meant to.
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

/// Executes a plan in slices of bounded work. Slices, threads and devices do not change the result.
pub trait Executor<S: Semiring>: Debug + Send {
    /// Does about `work` combinations, at least one slice, or less once `stop` is set. The task is always the same.
    ///
    /// # Errors
    /// A failure; the executor is of no use afterwards.
    fn advance(&mut self, task: Task<'_, S>, work: u64, stop: &Stop) -> Result<Progress, Failure>;

    /// Combinations done so far.
    fn work_done(&self) -> u64;

    /// Whether a device does the work.
    fn on_device(&self) -> bool {
        false
    }

    /// The result, once all is done, and begins again with other factors of the same plan in the memory that it has;
    /// nothing where it cannot.
    ///
    /// # Errors
    /// As [`Executor::advance`].
    fn restart(&mut self, _: Task<'_, S>) -> Result<Option<S::Entry>, Failure> {
        Ok(None)
    }

    /// The result and the messages, once all is done.
    fn finish(self: Box<Self>) -> (S::Entry, Box<dyn Messages<S>>);
}

/// The messages of a finished run, wherever they are.
pub trait Messages<S: Semiring>: Debug + Send + Sync {
    /// All of them as tables on the host, copied there if need be. `None` where its memory does not take them.
    fn tables(&self) -> Option<&[Storage<S::Entry>]>;

    /// The same, to keep.
    fn into_tables(self: Box<Self>) -> Option<Vec<Storage<S::Entry>>>;

    /// Single entries, given as steps of the plan and indices.
    ///
    /// # Errors
    /// Those of the device or the file that has them.
    fn entries(&self, wanted: &[(u32, u64)]) -> Result<Vec<S::Entry>, Failure>;

    /// Whether single entries are had for less than all tables.
    fn are_remote(&self) -> bool {
        false
    }

    /// Whether some lie in files.
    fn are_in_files(&self) -> bool {
        false
    }

    /// An assignment of costs made where the messages are. `None` where no device has them, or one that cannot.
    fn decode(&self, problem: &Problem, plan: &EliminationPlan) -> Option<Vec<u32>> {
        let _ = (problem, plan);
        None
    }
}
