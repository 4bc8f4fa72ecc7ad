//! What a search takes, and how fast its sweeps are, for `fangs info` and `fangs bench search`.

use super::run::reducing;
use super::tuning::run::{FUNCTION_BYTES, REDUCING_BYTES};
use crate::core::context::SearchContext;
use crate::core::size::{is_dense, suits_passes};
use crate::drivers::state_bytes;
use crate::error::Error;
use crate::model::{Network, Problem};
use crate::rng::Rng;
use crate::stop::Stop;
use rustc_hash::FxHashSet;
use serde::Serialize;
use std::sync::Arc;

pub use crate::drivers::measure::{Bench, Core, Place, Speed, median};

/// What a search of a core keeps on the CPU.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Footprint {
    /// Bytes of the core's tables as the search reads them, a copy for each variable of a function.
    pub table_bytes: u64,
    /// Bytes of a state of the population and of its child.
    pub state_bytes: u64,
    /// Bytes of a run on several threads, about: the network, its reductions where they are worthwhile, the tables as
    /// the search reads them, if it does, once more where it begins before the reductions have ended. States and bounds
    /// come besides, and all reductions with `--rounds`, a certificate or a heuristic.
    pub run_bytes: u64,
}

impl Footprint {
    /// That of a network and its core, which is what reductions leave where a run makes them.
    pub fn of(network: &Network, problem: &Arc<Problem>, reduces: bool) -> Footprint {
        let context = SearchContext::new(problem, problem.top, None, &mut Rng::new(1));
        let table_bytes = context.tables.bytes();
        let (mut tables, mut places, mut known) = (0, 0, FxHashSet::default());
        for function in network.expanded().functions() {
            places += function.scope.len() as u64;
            if known.insert(function.table.address()) {
                tables += function.table.bytes() as u64;
            }
        }
        let whole = tables + network.expanded().functions().len() as u64 * FUNCTION_BYTES;
        let reductions = if reduces { tables + places * REDUCING_BYTES } else { 0 };
        let cores = if is_dense(network) { 0 } else { 1 + u64::from(reduces && suits_passes(network)) };
        let run_bytes = whole + reductions + cores * table_bytes;
        Footprint { table_bytes, state_bytes: state_bytes(&context) as u64, run_bytes }
    }
}

/// Whether `solve` reduces a network, unless an option needs all steps of that.
///
/// # Errors
/// [`Error::Stopped`]; [`Error::Memory`].
pub fn reduces(network: &Network, stop: &Stop) -> Result<bool, Error> {
    reducing::are_made(network, stop)
}
