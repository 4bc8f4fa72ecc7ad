//! Bound methods that alternate with elimination plans and join graphs. Each time, a search is granted as much work as
//! it has done before.

use super::proof::Proof;
use crate::device::DeviceError;
use crate::elimination::{Gpu, Progress};
use crate::error::Error;
use crate::model::{Cost, Network, Problem};
use crate::order::Order;
use crate::reduce::{ReducedProblem, Reducer};
use crate::stop::Stop;
use std::fmt::Debug;
use std::sync::Arc;

/// A bound method that works in slices. It continues when the problem is reduced further, because its bound stays
/// valid.
pub trait Search: Debug + Send + Sync {
    /// Returns the name of its bounds in results.
    fn name(&self) -> &'static str;

    /// Returns a description of its work.
    fn doing(&self) -> &'static str {
        self.name()
    }

    /// Returns the problem that it searches.
    fn problem(&self) -> &Arc<Problem>;

    /// Returns the problem that it searches with the way back to the network; `None` if it searches the problem with
    /// which it began.
    fn reduced(&self) -> Option<&ReducedProblem> {
        None
    }

    /// Works on about `work` entries. Returns `Progress::Done` once its bound is the optimum, or equals the upper bound
    /// because no better solution exists.
    fn advance(&mut self, work: u64, stop: &Stop) -> Progress;

    /// Returns the lower bound; it equals the upper bound if no better solution exists.
    fn lower_bound(&self) -> Cost;

    /// Returns the work done, in table entries.
    fn work_done(&self) -> u64;

    /// Returns whether the search has ended.
    fn is_done(&self) -> bool;

    /// Returns the estimated work until its end; `u64::MAX` if there is no estimate.
    fn work_left(&self) -> u64 {
        u64::MAX
    }

    /// Takes up a new upper bound: from now on it searches only for solutions better than `ub`.
    fn tighten(&mut self, _ub: Cost) {}

    /// Returns the best solution found since the last call.
    fn take_solution(&mut self) -> Option<Vec<u32>> {
        None
    }

    /// Returns for each variable and value a lower bound on the solutions with that value, once after it has changed.
    fn take_value_bounds(&mut self) -> Option<Vec<Vec<Cost>>> {
        None
    }

    /// Returns the proof of the bound, given the reductions that led to the problem; `None` if they or the search kept
    /// no log.
    fn proof(&self, _reducer: &Arc<Reducer>) -> Option<Proof> {
        None
    }

    /// Lets the search use a device from now on for work that pays there.
    fn use_device(&mut self, _gpu: &Arc<Gpu>) {}

    /// Returns whether the search uses a device.
    fn is_on_device(&self) -> bool {
        false
    }

    /// Returns an error of the device, once.
    fn take_trouble(&mut self) -> Option<DeviceError> {
        None
    }

    /// Returns which guaranteed share of the time the search has, or `None`.
    fn steady(&self) -> Option<Steady> {
        None
    }
}

/// Searches with a guaranteed share of the time whatever method leads, because each may prove what no other does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steady {
    /// Branch and bound whose nodes are bounded by cost shifting.
    Light,
    /// Core-guided search.
    Cores,
    /// Branch and bound whose nodes are bounded by linear programming.
    Linear,
}

/// The arguments with which a search begins.
#[derive(Clone, Copy, Debug)]
pub struct Begin<'a> {
    /// The problem to search.
    pub problem: &'a Arc<Problem>,
    /// The incumbent's cost.
    pub ub: Option<Cost>,
    /// An elimination order.
    pub order: &'a Order,
    /// Memory limit in bytes.
    pub memory: u64,
    /// Whether to keep what a certificate needs.
    pub journal: bool,
    /// The network, if it has global functions.
    pub network: Option<&'a Network>,
}

/// A search that has begun, or the reason why it cannot run.
pub type Begun = Result<Box<dyn Search>, Error>;

/// A kind of search, as the list of methods names it.
#[derive(Clone, Copy, Debug)]
pub struct Searcher {
    /// Name of the bounds in results ([`Search::name`]).
    pub name: &'static str,
    /// Guaranteed share of the time ([`Search::steady`]).
    pub steady: Option<Steady>,
    /// Begins a search. Returns [`Error::Stopped`] if the flag is set, and another error if the search cannot run.
    pub begin: fn(Begin<'_>, &Stop) -> Begun,
}
