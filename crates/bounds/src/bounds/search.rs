//! What takes turns with plans and join graphs, each turn with as much work again as all before it.

use super::proof::Proof;
use crate::device::DeviceError;
use crate::elimination::{Gpu, Progress};
use crate::error::Error;
use crate::model::{Cost, Problem};
use crate::order::Order;
use crate::reduce::Reducer;
use crate::stop::Stop;
use std::fmt::Debug;
use std::sync::Arc;

/// A method on its way. It goes on when the problem is reduced further: its bound stays one.
pub trait Search: Debug + Send + Sync {
    /// What its bounds are called.
    fn name(&self) -> &'static str;

    /// What it does, in words.
    fn doing(&self) -> &'static str {
        self.name()
    }

    /// What it searches.
    fn problem(&self) -> &Arc<Problem>;

    /// Works on about `work` entries. Done once its bound is the optimum, or the upper bound where nothing is better.
    fn advance(&mut self, work: u64, stop: &Stop) -> Progress;

    /// No solution costs less; the upper bound where nothing is better.
    fn lower_bound(&self) -> Cost;

    /// Entries looked at.
    fn work_done(&self) -> u64;

    /// Whether it has come to its end.
    fn is_done(&self) -> bool;

    /// Work to its end, as far as it can tell.
    fn work_left(&self) -> u64 {
        u64::MAX
    }

    /// A better solution is known: only what is better than `ub` is searched for from now on.
    fn tighten(&mut self, _ub: Cost) {}

    /// The best solution found since it was last asked for.
    fn take_solution(&mut self) -> Option<Vec<u32>> {
        None
    }

    /// Why the bound is one, given the reductions that led to the network; `None` where no log was kept.
    fn proof(&self, _reducer: &Arc<Reducer>) -> Option<Proof> {
        None
    }

    /// From now on a device may do what pays there.
    fn use_device(&mut self, _gpu: &Arc<Gpu>) {}

    /// Whether a device does it.
    fn is_on_device(&self) -> bool {
        false
    }

    /// Why a device did not do what it was meant to, told once.
    fn take_trouble(&mut self) -> Option<DeviceError> {
        None
    }

    /// Which part of the time it has in any case, if any.
    fn steady(&self) -> Option<Steady> {
        None
    }
}

/// Searches that have a part of the time, whichever method leads: each may prove what nothing else does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steady {
    /// Branch and bound with light nodes.
    Light,
    /// Core-guided search.
    Cores,
}

/// What a search begins with.
#[derive(Clone, Copy, Debug)]
pub struct Begin<'a> {
    /// What to search.
    pub problem: &'a Arc<Problem>,
    /// The cost of the best solution known.
    pub ub: Option<Cost>,
    /// An elimination order.
    pub order: &'a Order,
    /// Bytes that it may take.
    pub memory: u64,
    /// Whether it keeps what a certificate needs.
    pub journal: bool,
}

/// A search that has begun, or why there is none.
pub type Begun = Result<Box<dyn Search>, Error>;

/// A kind of search.
#[derive(Clone, Copy, Debug)]
pub struct Searcher {
    /// What its bounds are called ([`Search::name`]).
    pub name: &'static str,
    /// What its searches are ([`Search::steady`]).
    pub steady: Option<Steady>,
    /// Begins one. [`Error::Stopped`] once the flag is set; another error says why it cannot.
    pub begin: fn(Begin<'_>, &Stop) -> Begun,
}
