//! What a local search is, for the driver of walks.

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

/// How far a walk has come: all of it but its tables. The default is that of a walk that never began.
pub(crate) trait Progress: Copy + Default + Send + Sync {
    /// Moves made and values looked at in all walks of the slot, the latter where they are counted.
    fn counted(&self) -> (u64, u64);

    /// How good the best assignment found is: less is better.
    fn quality(&self) -> (u32, i64);
}

/// A walk that begins, in place of the one in its slot.
#[derive(Clone, Debug)]
pub(crate) struct Start<P> {
    pub slot: usize,
    pub progress: P,
    /// None where it begins at what is in the slot.
    pub values: Vec<u16>,
}

/// What others are shown: assignments of the core, and a solution of the network.
#[derive(Default)]
pub(crate) struct Shown {
    pub elites: Vec<Elite>,
    pub found: Option<Found>,
}

/// When the walks of a turn pause: after so many steps each, and on the CPU after so much work.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    pub steps: u32,
    pub work: u64,
}

/// One walk on the CPU.
pub(crate) trait Walk<P, L>: Clone + Default + Send + Sync {
    /// Begins at an assignment.
    ///
    /// # Errors
    /// [`Error::Stopped`]: it is as it was, or good for nothing but to begin once more.
    fn begin(
        &mut self,
        tables: &ValueTables,
        layout: &L,
        progress: P,
        values: &[u16],
        stop: &Stop,
    ) -> Result<(), Error>;

    /// Goes on until a limit; returns its work where that is counted.
    fn walk(&mut self, tables: &ValueTables, layout: &L, limit: Limit, stop: &Stop) -> u64;

    fn progress(&self) -> P;

    fn best(&self) -> &[u16];
}

/// How far walks have come, and where it is counted the work of all in a turn.
pub(crate) type Walked<P> = Result<(Vec<P>, u64), DeviceError>;

/// Where walks live.
pub(crate) trait Walks<P>: Send {
    fn count(&self) -> usize;

    /// Every walk goes on, or begins.
    fn walk(&mut self, context: &SearchContext, begin: &[Start<P>], limit: Limit, stop: &Stop) -> Walked<P>;

    /// The best assignments of some walks.
    fn bests(&self, slots: &[usize]) -> Result<Vec<Vec<u16>>, DeviceError>;
}

/// What decisions about a turn look at.
pub(crate) struct Turn<'a, S: LocalSearch> {
    pub context: &'a SearchContext,
    pub layout: &'a S::Layout,
    pub progress: &'a [S::Progress],
    pub pool: &'a Pool,
    /// Whether steps take a device's time; in a run that must be repeated all count as the CPU's.
    pub on_device: bool,
    /// By how many halves it is shorter.
    pub shorter: u32,
    pub stop: &'a Stop,
}

impl<S: LocalSearch> Turn<'_, S> {
    /// Pauses after so many steps, on the CPU after so much work unless a run must be repeated.
    pub fn pause(&self, steps: u32, work: u64) -> Limit {
        if self.on_device || self.context.portable {
            Limit { steps, work: u64::MAX }
        } else {
            Limit { steps: u32::MAX, work: work >> self.shorter }
        }
    }
}

/// A kind of walks, and what is known of a core for them.
pub(crate) trait LocalSearch: Default + Send + 'static {
    /// Work of a round at least: turns follow each other until then.
    const ROUND_WORK: u64;
    /// Whether it works on the network's own sums.
    const KEEPS_SUMS: bool = false;
    type Progress: Progress;
    /// What walks read beside the value tables.
    type Layout: Send + Sync;
    type Walk: Walk<Self::Progress, Self::Layout>;

    /// What walks on: the core, or what else is known of the network.
    fn tables(context: &SearchContext) -> &ValueTables {
        &context.tables
    }

    /// Whether there can be walks on a core.
    fn can_walk(&self, context: &SearchContext) -> bool;

    /// Whether they can bring anything.
    fn pays(&self, context: &SearchContext, pool: &Pool) -> bool;

    /// The driver's weight and floor.
    fn share(&self, context: &SearchContext, pool: &Pool) -> (f64, f64);

    /// Prepares for a core.
    ///
    /// # Errors
    /// [`Error::Stopped`].
    fn layout(&mut self, context: &SearchContext, stop: &Stop) -> Result<Arc<Self::Layout>, Error>;

    /// How many walks suit a core, on a device that has room for so many.
    fn count(&self, context: &SearchContext, device: Option<usize>) -> usize;

    /// How far walks go.
    fn limit(&self, turn: &Turn<Self>) -> Limit;

    /// Which walks begin before a turn, and where; none once the flag is set.
    fn begin(
        &mut self,
        turn: &Turn<Self>,
        rng: &mut Rng,
        walks: &dyn Walks<Self::Progress>,
    ) -> Result<Vec<Start<Self::Progress>>, DeviceError>;

    /// Which others are shown of the walks that found something better, best first.
    fn choose(&self, turn: &Turn<Self>, better: Vec<usize>) -> Vec<usize>;

    /// Compares what a walk says of its best assignment with that.
    fn verify(turn: &Turn<Self>, slot: usize, values: &[u16]) -> Result<(), DeviceError> {
        let _ = (turn, slot, values);
        Ok(())
    }

    /// What others are shown of the best assignments of walks, each given with its walk's slot.
    fn show(&mut self, turn: &Turn<Self>, bests: Vec<(usize, Vec<u16>)>) -> Result<Shown, DeviceError> {
        let elite = |(slot, values): (usize, Vec<u16>)| {
            Self::verify(turn, slot, &values)?;
            Ok(Elite::until(&turn.context.tables, values, turn.stop).ok())
        };
        let elites = threads::try_map(bests, elite)?;
        Ok(Shown { elites: elites.into_iter().flatten().collect(), found: None })
    }

    /// The core changes, and there are no walks any more: how far they had come.
    fn rebase(&mut self, progress: &[Self::Progress]) {
        let _ = progress;
        *self = Self::default();
    }

    /// Ratings and work of a turn, where they were not counted or not all of them.
    fn account(&self, turn: &Turn<Self>, steps: u32, begun: usize, effort: &mut Effort);
}
