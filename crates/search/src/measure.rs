//! What a search takes, and how fast its sweeps are, for `fangs info` and `fangs bench search`.

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

/// States whose passes by a heuristic are measured.
const CPU_STATES: usize = 16;
const DEVICE_STATES: usize = 4096;

/// A measurement.
#[derive(Clone, Debug)]
pub struct Speed {
    /// `cpu`, or the device.
    pub place: String,
    /// Children made at a time.
    pub states: usize,
    /// Sweeps of a child, the greedy ones included.
    pub sweeps: u32,
    /// Whether offspring made tree moves.
    pub trees: bool,
    /// Median milliseconds of a generation's offspring.
    pub variation_ms: f64,
    /// Median milliseconds of their selection.
    pub replacement_ms: f64,
    /// Variables visited a second.
    pub visits: f64,
    /// Candidate values rated a second.
    pub ratings: f64,
    /// Assignments a second that changed a value.
    pub moves: f64,
}

/// What a network's core looks like.
#[derive(Clone, Debug)]
pub struct Core {
    /// Variables.
    pub variables: usize,
    /// Functions on a variable, on average.
    pub degree: f64,
    /// Values of the largest domain.
    pub domain: u32,
}

/// Where to measure.
#[derive(Clone, Debug)]
pub enum Place {
    /// On the CPU's threads.
    Cpu,
    /// On a device as the search does.
    Device(Arc<Cuda>),
}

/// A network ready to be measured.
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

    /// The core.
    pub fn core(&self) -> Core {
        let tables = &self.context.tables;
        let n = tables.variables();
        Core {
            variables: n,
            degree: (0..n).map(|v| tables.degree(v)).sum::<usize>() as f64 / n.max(1) as f64,
            domain: tables.problem.domains.iter().copied().max().unwrap_or(0),
        }
    }

    /// Passes by a plug-in heuristic over all variables. `None` where the place does not take the core or the
    /// heuristic: then it is the CPU's.
    ///
    /// # Errors
    /// The device's.
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

    /// Makes `repeats` generations of five sweeps and two greedy ones from settled states.
    ///
    /// # Errors
    /// The device's.
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

/// The one in the middle, the later of two.
pub fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
