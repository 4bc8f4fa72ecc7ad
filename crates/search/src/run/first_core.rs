//! The reduced problem that a run begins with.

use super::opening;
use super::reducing::{Reducing, may_end_early};
use crate::core::context::SearchContext;
use crate::core::size::opens_as_form;
use crate::device::Opened;
use crate::drivers;
use crate::error::Error;
use crate::ledger::Ledger;
use crate::model::Network;
use crate::options::{Assertions, Options};
use crate::reduce::{ReducedProblem, Reducer};
use crate::rng::Rng;
use crate::stop::Stop;
use crate::tuning::tuning;
use std::sync::Arc;
use std::time::Instant;

/// The reduced problem that a run begins with.
pub(super) struct FirstCore {
    pub core: ReducedProblem,
    /// The prepared context, if the search of the network's quadratic form ran during the preparation.
    pub context: Option<Arc<SearchContext>>,
    /// The reductions, if they continue beside the search; the problem is then the unreduced network.
    pub reducing: Option<Reducing>,
}

impl FirstCore {
    /// Reduces the network, or begins the reductions on a separate thread.
    ///
    /// # Errors
    /// [`Error::Stopped`]; [`Error::Memory`]; [`Error::Usage`] if the heuristic does not fit the problem.
    pub fn new(
        network: &Network,
        options: &Options,
        ledger: &Ledger,
        first: &mut Vec<Vec<u32>>,
        stop: &Stop,
        rng: &mut Rng,
    ) -> Result<FirstCore, Error> {
        // if no thread can be started the reductions come first
        let reducing = if Reducing::suits(network, options) { Reducing::start(network, stop).ok() } else { None };
        let prepare = || {
            let core = first_core(network, options, true, stop)?;
            let context = prepared(network, &core, options, rng, stop)?;
            Ok::<_, Error>((core, Some(context)))
        };
        let (core, context) = match &reducing {
            Some(_) if opens_as_form(network, rayon::current_num_threads()) => {
                opening::beside(network, options, ledger, first, stop, prepare)?
            }
            reducing => (first_core(network, options, reducing.is_some(), stop)?, None),
        };
        Ok(FirstCore { core, context, reducing })
    }
}

/// Prepares a reduced problem for local search.
///
/// # Errors
/// [`Error::Stopped`]; [`Error::Memory`].
pub(super) fn prepared(
    network: &Network,
    core: &ReducedProblem,
    options: &Options,
    rng: &mut Rng,
    stop: &Stop,
) -> Result<Arc<SearchContext>, Error> {
    options.activity.step("preparing the search");
    SearchContext::of_core(network, core, options.request(), rng, stop)
}

/// Returns the first reduced problem of a run: the unreduced network if the reductions continue `beside` the search.
fn first_core(network: &Network, options: &Options, beside: bool, stop: &Stop) -> Result<ReducedProblem, Error> {
    if beside {
        let (reducer, problem) = Reducer::unreduced(network, stop)?;
        return Ok(ReducedProblem { reducer: reducer.into(), problem: Arc::new(problem) });
    }
    // reductions that end early leave a valid problem
    let early = stop.below();
    if let Some(end) = stop.end().filter(|_| may_end_early(network, options)) {
        let now = Instant::now();
        early.set_at(now + end.saturating_duration_since(now) / tuning().run.reducing_part);
    }
    let mut reducer = if options.certificate {
        Reducer::logged(network, options.reduce, stop)?
    } else {
        Reducer::new(network, options.reduce, &early)?
    };
    // a heuristic of the user refers to the network's variables
    if options.heuristic.is_none() {
        reducer.merge_ties(&early);
    }
    if stop.is_set() {
        return Err(Error::Stopped);
    }
    let core = ReducedProblem::new(reducer, stop)?;
    if let Some(heuristic) = &options.heuristic {
        let fits = heuristic.fits(&core.problem);
        fits.map_err(|what| Error::Usage(format!("heuristic {}: {what}", heuristic.name())))?;
    }
    Ok(core)
}

/// Refuses a heuristic for devices that the device does not support.
///
/// # Errors
/// [`Error::Usage`].
pub(super) fn check_heuristic(options: &Options, context: &Arc<SearchContext>, device: &Opened) -> Result<(), Error> {
    let Some(heuristic) = options.heuristic.as_ref().filter(|heuristic| heuristic.is_for_devices()) else {
        return Ok(());
    };
    let asserts = options.assertions >= Assertions::Assignment;
    let ready = drivers::guided::ready(context, &**heuristic, device, asserts);
    ready.map_err(|what| Error::Usage(format!("heuristic {}: {what}", heuristic.name())))
}
