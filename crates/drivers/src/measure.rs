//! How fast the search's sweeps are, for `fangs bench search`.

use crate::annealing::cpu::CpuPopulation;
use crate::annealing::cuda::CudaPopulation;
use crate::annealing::generation::{Generation, Population, steps};
use crate::core::context::SearchContext;
use crate::device::{Cuda, DeviceError};
use crate::error::Error;
use crate::guided::speed::passes;
use crate::heuristics::ValueHeuristic;
use crate::model::Network;
use crate::reduce::Reducer;
use crate::rng::Rng;
use crate::stop::Stop;
use crate::tuning::annealing::GREEDY_SWEEPS;
use std::sync::Arc;
use std::time::Instant;

/// A pool late enough to have as many states as there ever are.
const FULL: u32 = 30;

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
        let (name, mut population): (String, Box<dyn Population>) = match place {
            Place::Cpu => ("cpu".into(), Box::new(CpuPopulation::default())),
            Place::Device(cuda) => (cuda.label(), Box::new(CudaPopulation::new(cuda, &self.context)?)),
        };
        let context = &self.context;
        let sweeps = if context.is_large() { 50 } else { 5 };
        let states = match states {
            Some(states) => states,
            None => population.suitable_states(context, sweeps, FULL)?,
        };
        population.open(context, states, &[])?;
        population.heat(steps(context.schedule))?;
        let mut rng = Rng::new(2);
        let stop = Stop::new();
        let (mut making, mut replacing) = (Vec::new(), Vec::new());
        let mut totals = (0, 0);
        for round in 0..repeats + 3 {
            let never = [u32::MAX; 2];
            let generation = Generation {
                draw: rng.draw(),
                subpopulation: if round > 0 { states as u32 } else { 0 },
                sweeps,
                cold: std::array::from_fn(|arm| u32::MAX / 8 * (arm as u32 + 1)),
                region: std::array::from_fn(|arm| u32::MAX / 4 * (arm as u32 + 1)),
                tree: if trees && context.forests(&stop).is_ok_and(|forests| !forests.is_empty()) {
                    [0, u32::MAX]
                } else {
                    never
                },
                before: never,
                starts: Generation::starts(),
            };
            let began = Instant::now();
            let offspring = population.make_offspring(context, &generation, 0..states, &stop)?;
            let made_at = began.elapsed();
            let _ = population.replace(context, &generation)?;
            // the first generations warm up
            if round >= 3 {
                making.push(made_at.as_secs_f64());
                replacing.push((began.elapsed() - made_at).as_secs_f64());
                totals = (totals.0 + offspring.moves, totals.1 + offspring.ratings);
            }
        }
        let (made, replaced) = (median(making), median(replacing));
        let generations = repeats.max(1) as f64;
        let visits = states as f64 * context.variables() as f64 * f64::from(sweeps + GREEDY_SWEEPS);
        Ok(Speed {
            place: name,
            states,
            sweeps: sweeps + GREEDY_SWEEPS,
            trees,
            variation_ms: made * 1e3,
            replacement_ms: replaced * 1e3,
            visits: visits / made,
            ratings: totals.1 as f64 / generations / made,
            moves: totals.0 as f64 / generations / made,
        })
    }
}

/// The one in the middle, the later of two.
pub fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
