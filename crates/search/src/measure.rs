//! Memory of a search and speed of its sweeps, for `fangs info` and `fangs bench search`.

use super::run::reducing;
use super::tuning::run::{FUNCTION_BYTES, REDUCING_BYTES};
use crate::annealing::speed::generations;
use crate::annealing::state_bytes;
use crate::core::context::SearchContext;
use crate::core::size::{is_dense, suits_passes};
use crate::device::{Cuda, DeviceError};
use crate::drivers::guided::speed::passes;
use crate::error::Error;
use crate::heuristics::ValueHeuristic;
use crate::model::{Network, Problem};
use crate::reduce::Reducer;
use crate::rng::Rng;
use crate::stop::Stop;
use rustc_hash::FxHashSet;
use serde::Serialize;
use std::sync::Arc;

/// The memory that the search of a reduced problem needs on the CPU.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Footprint {
    /// Bytes of the tables as the search reads them, with a copy for each variable of a function.
    pub table_bytes: u64,
    /// Bytes of one state of the population and its child.
    pub state_bytes: u64,
    /// Approximate bytes of a run on several threads: the network, its reductions if they are worthwhile, and the
    /// tables if the search reads them, twice if it begins before the reductions have ended. States and bounds are not
    /// included, nor are all reductions that `--rounds`, a certificate or a heuristic ask for.
    pub run_bytes: u64,
}

impl Footprint {
    /// Returns the memory for a network and its reduced problem. `reduces` states whether a run reduces the network.
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

/// Returns whether `solve` reduces a network, unless an option needs all reductions.
///
/// # Errors
/// [`Error::Stopped`]; [`Error::Memory`].
pub fn reduces(network: &Network, stop: &Stop) -> Result<bool, Error> {
    reducing::are_made(network, stop)
}

/// Number of states whose passes by a heuristic are measured on the CPU.
const CPU_STATES: usize = 16;
/// Number of states whose passes by a heuristic are measured on a device.
const DEVICE_STATES: usize = 4096;

/// The result of a measurement.
#[derive(Clone, Debug)]
pub struct Speed {
    /// `cpu`, or the device.
    pub place: String,
    /// Children made at a time.
    pub states: usize,
    /// Sweeps of a child, including the greedy ones.
    pub sweeps: u32,
    /// Whether offspring made tree moves.
    pub trees: bool,
    /// Median milliseconds of a generation's offspring.
    pub variation_ms: f64,
    /// Median milliseconds of their selection.
    pub replacement_ms: f64,
    /// Variables visited per second.
    pub visits: f64,
    /// Candidate values evaluated per second.
    pub ratings: f64,
    /// Changed values per second.
    pub moves: f64,
}

/// The sizes of a network's reduced problem.
#[derive(Clone, Debug)]
pub struct Core {
    /// Number of variables.
    pub variables: usize,
    /// Average number of functions of a variable.
    pub degree: f64,
    /// Size of the largest domain.
    pub domain: u32,
}

/// The processor to measure.
#[derive(Clone, Debug)]
pub enum Place {
    /// The CPU's threads.
    Cpu,
    /// A device, used as the search uses it.
    Device(Arc<Cuda>),
}

/// A reduced network, ready to be measured.
#[derive(Debug)]
pub struct Bench {
    context: SearchContext,
}

impl Bench {
    /// Reduces a network as `solve` does.
    pub fn new(network: &Network) -> Result<Bench, Error> {
        let mut reducer = Reducer::new(network, true, &Stop::new())?;
        reducer.merge_ties(&Stop::new());
        let problem = Arc::new(reducer.problem(&Stop::new()).expect("no stop is set"));
        let price = problem.top.saturating_sub(problem.constant).max(1);
        Ok(Bench { context: SearchContext::new(&problem, price, None, &mut Rng::new(1)) })
    }

    /// Returns the sizes of the reduced problem.
    pub fn core(&self) -> Core {
        let tables = &self.context.tables;
        let n = tables.variables();
        Core {
            variables: n,
            degree: (0..n).map(|v| tables.degree(v)).sum::<usize>() as f64 / n.max(1) as f64,
            domain: tables.problem.domains.iter().copied().max().unwrap_or(0),
        }
    }

    /// Measures passes of a plug-in heuristic over all variables. Returns `None` if the device does not support the
    /// reduced problem or the heuristic, which then runs on the CPU.
    ///
    /// # Errors
    /// [`DeviceError`] if the device fails.
    pub fn passes(
        &self,
        place: &Place,
        heuristic: &dyn ValueHeuristic,
        states: Option<usize>,
        repeats: usize,
    ) -> Result<Option<Speed>, DeviceError> {
        let (name, device, usual) = match place {
            Place::Cpu => ("cpu".into(), None, CPU_STATES),
            Place::Device(cuda) => (cuda.label(), Some(cuda), DEVICE_STATES),
        };
        let context = &self.context;
        let states = states.unwrap_or(usual);
        let Some(times) = passes(context, heuristic, device, states, repeats)? else { return Ok(None) };
        let pass_ms = median(times);
        let visits = states as f64 * context.variables() as f64;
        let values: usize = (0..context.variables()).map(|v| context.tables.domain(v)).sum();
        Ok(Some(Speed {
            place: name,
            states,
            sweeps: 1,
            trees: false,
            variation_ms: pass_ms,
            replacement_ms: 0.0,
            visits: visits / (pass_ms / 1e3),
            ratings: states as f64 * values as f64 / (pass_ms / 1e3),
            moves: 0.0,
        }))
    }

    /// Measures `repeats` generations of five sweeps and two greedy sweeps from settled states.
    ///
    /// # Errors
    /// [`DeviceError`] if the device fails.
    pub fn run(&self, place: &Place, states: Option<usize>, trees: bool, repeats: usize) -> Result<Speed, DeviceError> {
        let (name, device) = match place {
            Place::Cpu => ("cpu".into(), None),
            Place::Device(cuda) => (cuda.label(), Some(cuda)),
        };
        let made = generations(&self.context, device, states, trees, repeats)?;
        let (making, replacing) = (median(made.making), median(made.replacing));
        let count = repeats.max(1) as f64;
        let visits = made.states as f64 * self.context.variables() as f64 * f64::from(made.sweeps);
        Ok(Speed {
            place: name,
            states: made.states,
            sweeps: made.sweeps,
            trees,
            variation_ms: making * 1e3,
            replacement_ms: replacing * 1e3,
            visits: visits / making,
            ratings: made.ratings as f64 / count / making,
            moves: made.moves as f64 / count / making,
        })
    }
}

/// Returns the median; the later middle element if the number of elements is even.
pub fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
