//! The traits of local searches, for the driver of walks.

use crate::core::context::SearchContext;
use crate::core::effort::{Effort, Found};
use crate::core::elite::Elite;
use crate::core::pool::Pool;
use crate::device::DeviceError;
use crate::error::Error;
use crate::rng::Rng;
use crate::stop::Stop;
use crate::threads;
use crate::value_tables::ValueTables;
use std::sync::Arc;

/// The progress of a walk: all of it except its tables. The default is that of a slot without a walk.
pub(crate) trait Progress: Copy + Default + Send + Sync {
    /// Returns the moves and the evaluations of all walks in the slot; the latter are 0 if they are not counted.
    fn counted(&self) -> (u64, u64);

    /// Returns the quality of the best assignment found: lower is better.
    fn quality(&self) -> (u32, i64);
}

/// A walk that begins, and replaces the one in its slot.
#[derive(Clone, Debug)]
pub(crate) struct Start<P> {
    pub slot: usize,
    pub progress: P,
    /// The first assignment; empty if the walk begins at the values in the slot.
    pub values: Vec<u16>,
}

/// The results offered to others: assignments of the problem, and a solution of the network.
#[derive(Default)]
pub(crate) struct Shown {
    pub elites: Vec<Elite>,
    pub found: Option<Found>,
}

/// The limits of a slice: the number of steps of each walk, and on the CPU its work.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    pub steps: u32,
    pub work: u64,
}

/// A walk on the CPU.
pub(crate) trait Walk<P, L>: Clone + Default + Send + Sync {
    /// Begins at an assignment.
    ///
    /// # Errors
    /// [`Error::Stopped`]: the walk is unchanged, or must begin again.
    fn begin(
        &mut self,
        tables: &ValueTables,
        layout: &L,
        progress: P,
        values: &[u16],
        stop: &Stop,
    ) -> Result<(), Error>;

    /// Continues until a limit. Returns the work if it is counted, or 0.
    fn walk(&mut self, tables: &ValueTables, layout: &L, limit: Limit, stop: &Stop) -> u64;

    fn progress(&self) -> P;

    fn best(&self) -> &[u16];
}

/// The progress of all walks, and their work in the slice if it is counted.
pub(crate) type Walked<P> = Result<(Vec<P>, u64), DeviceError>;

/// A backend, which owns the walks.
pub(crate) trait Walks<P>: Send {
    fn count(&self) -> usize;

    /// Continues or begins every walk.
    fn walk(&mut self, context: &SearchContext, begin: &[Start<P>], limit: Limit, stop: &Stop) -> Walked<P>;

    /// Returns the best assignments of some walks.
    fn bests(&self, slots: &[usize]) -> Result<Vec<Vec<u16>>, DeviceError>;
}

/// The context of decisions about a slice.
pub(crate) struct Turn<'a, S: LocalSearch> {
    pub context: &'a SearchContext,
    pub layout: &'a S::Layout,
    pub progress: &'a [S::Progress],
    pub pool: &'a Pool,
    /// Whether steps count by a device's time; in a repeatable run all count by the CPU's.
    pub on_device: bool,
    /// Number of times that the slice's length is halved.
    pub shorter: u32,
    pub stop: &'a Stop,
}

impl<S: LocalSearch> Turn<'_, S> {
    /// Returns limits by steps on a device or in a repeatable run, and by work otherwise.
    pub fn pause(&self, steps: u32, work: u64) -> Limit {
        if self.on_device || self.context.portable {
            Limit { steps, work: u64::MAX }
        } else {
            Limit { steps: u32::MAX, work: work >> self.shorter }
        }
    }
}

/// A kind of walks, with its data for a problem.
pub(crate) trait LocalSearch: Default + Send + 'static {
    /// Least work of a round, which consists of slices.
    const ROUND_WORK: u64;
    /// Whether the search works on the network's own sums.
    const KEEPS_SUMS: bool = false;
    type Progress: Progress;
    /// The data that walks read besides the value tables.
    type Layout: Send + Sync;
    type Walk: Walk<Self::Progress, Self::Layout>;

    /// Returns the tables on which walks work: those of the reduced problem, or of the network.
    fn tables(context: &SearchContext) -> &ValueTables {
        &context.tables
    }

    /// Returns whether walks are possible on a problem.
    fn can_walk(&self, context: &SearchContext) -> bool;

    /// Returns whether walks can improve anything.
    fn pays(&self, context: &SearchContext, pool: &Pool) -> bool;

    /// Returns the driver's weight and floor.
    fn share(&self, context: &SearchContext, pool: &Pool) -> (f64, f64);

    /// Prepares the layout for a problem.
    ///
    /// # Errors
    /// [`Error::Stopped`].
    fn layout(&mut self, context: &SearchContext, stop: &Stop) -> Result<Arc<Self::Layout>, Error>;

    /// Returns the number of walks for a problem; `device` is the number for which a device has room.
    fn count(&self, context: &SearchContext, device: Option<usize>) -> usize;

    /// Returns the limits of a slice.
    fn limit(&self, turn: &Turn<Self>) -> Limit;

    /// Returns the walks that begin before a slice; none once the flag is set.
    fn begin(
        &mut self,
        turn: &Turn<Self>,
        rng: &mut Rng,
        walks: &dyn Walks<Self::Progress>,
    ) -> Result<Vec<Start<Self::Progress>>, DeviceError>;

    /// Returns the slots whose results are offered, of those that found something better, best first.
    fn choose(&self, turn: &Turn<Self>, better: Vec<usize>) -> Vec<usize>;

    /// Compares the recorded quality of a walk's best assignment with a recomputed one.
    fn verify(turn: &Turn<Self>, slot: usize, values: &[u16]) -> Result<(), DeviceError> {
        let _ = (turn, slot, values);
        Ok(())
    }

    /// Returns the results to offer for the best assignments of walks, each given with its slot.
    fn show(&mut self, turn: &Turn<Self>, bests: Vec<(usize, Vec<u16>)>) -> Result<Shown, DeviceError> {
        let elite = |(slot, values): (usize, Vec<u16>)| {
            Self::verify(turn, slot, &values)?;
            Ok(Elite::until(&turn.context.tables, values, turn.stop).ok())
        };
        let elites = threads::try_map(bests, elite)?;
        Ok(Shown { elites: elites.into_iter().flatten().collect(), found: None })
    }

    /// Handles the change to another reduced problem, when all walks are dropped. `progress` is that of the last walks.
    fn rebase(&mut self, progress: &[Self::Progress]) {
        let _ = progress;
        *self = Self::default();
    }

    /// Adds the evaluations and the work of a slice that were not counted.
    fn account(&self, turn: &Turn<Self>, steps: u32, begun: usize, effort: &mut Effort);
}
