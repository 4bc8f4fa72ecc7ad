//! Measurements of the speed at which generations of children are made.

use crate::core::context::SearchContext;
use crate::cpu::CpuPopulation;
use crate::cuda::CudaPopulation;
use crate::device::{Cuda, DeviceError};
use crate::generation::{Generation, Population, steps};
use crate::rng::Rng;
use crate::stop::Stop;
use crate::tuning::GREEDY_SWEEPS;
use std::sync::Arc;
use std::time::Instant;

/// The number of a pool late enough to have the maximum number of states.
const FULL: u32 = 30;

/// Measurements of generations.
#[derive(Clone, Debug)]
pub struct Generations {
    /// The number of children of each generation.
    pub states: usize,
    /// Sweeps of a child, the greedy ones included.
    pub sweeps: u32,
    /// The seconds in which the children of each generation were made.
    pub making: Vec<f64>,
    /// The seconds in which the children of each generation replaced their parents.
    pub replacing: Vec<f64>,
    /// Assignments that changed a value, over all generations.
    pub moves: u64,
    /// Evaluated values, over all generations.
    pub ratings: u64,
}

/// Makes `repeats` generations from settled states, on the CPU or a device. A child has 5 sweeps, or 50 on large
/// problems, and the greedy ones.
///
/// # Errors
/// The device's.
pub fn generations(
    context: &SearchContext,
    device: Option<&Arc<Cuda>>,
    states: Option<usize>,
    trees: bool,
    repeats: usize,
) -> Result<Generations, DeviceError> {
    let mut population: Box<dyn Population> = match device {
        None => Box::new(CpuPopulation::default()),
        Some(cuda) => Box::new(CudaPopulation::new(cuda, context)?),
    };
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
    let sweeps = sweeps + GREEDY_SWEEPS;
    Ok(Generations { states, sweeps, making, replacing, moves: totals.0, ratings: totals.1 })
}
