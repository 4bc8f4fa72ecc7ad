//! The speed of successor generation, for `fangs bench fang`: the loads of tables 1 and 2 of the FANG paper's section
//! 4.

use crate::cuda::{self, ManhattanOnDevice};
use crate::device::{Cuda, DeviceError};
use crate::manhattan::{Manhattan, Points};
use crate::rng::Rng;
use crate::stop::Stop;
use crate::{Order, Population, State, Uniform};
use std::sync::Arc;
use std::time::Instant;

/// The size of a measurement.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// The number of distances summed for a rating.
    pub distances: usize,
    /// The number of states.
    pub states: usize,
    /// The number of variables of a state, all of which are active.
    pub variables: usize,
    /// The side of the square in which points move.
    pub side: usize,
}

const fn load(distances: usize, states: usize, variables: usize, side: usize) -> Load {
    Load { distances, states, variables, side }
}

/// The loads of the paper's tables, in their order.
pub const LOADS: [Load; 20] = [
    load(1, 1024, 8, 35),
    load(1, 1024, 8, 67),
    load(1, 1024, 8, 99),
    load(1, 1024, 32, 35),
    load(1, 1024, 32, 67),
    load(1, 1024, 32, 99),
    load(1, 4096, 8, 35),
    load(1, 4096, 8, 67),
    load(1, 4096, 8, 99),
    load(1, 4096, 32, 35),
    load(1, 4096, 32, 67),
    load(1, 4096, 32, 99),
    load(8, 1024, 8, 35),
    load(16, 1024, 8, 35),
    load(8, 1024, 8, 67),
    load(16, 1024, 8, 67),
    load(8, 4096, 8, 35),
    load(16, 4096, 8, 35),
    load(8, 4096, 8, 67),
    load(16, 4096, 8, 67),
];

/// The number of generations that are timed together, in sequence as in a run. A single launch would be timed with the
/// host's latency of some ten microseconds.
pub const BATCH: usize = 8;

impl Load {
    /// Returns the number of possibilities of a variable.
    pub fn possibilities(&self) -> usize {
        self.side * self.side - 1
    }

    /// Returns the number of ratings of a generation.
    pub fn ratings(&self) -> usize {
        self.states * self.variables * self.possibilities()
    }
}

/// The states of a load, and the heuristic that rates their possibilities.
#[derive(Debug)]
pub struct Workload {
    heuristic: Manhattan,
    points: Vec<Points>,
    rng: Rng,
}

impl Workload {
    /// Returns random states, all of whose variables are active.
    pub fn new(load: &Load, seed: u64) -> Workload {
        let mut rng = Rng::new(seed);
        let heuristic = Manhattan::new(load.variables, load.side as i32, load.distances, &mut rng);
        let mut points: Vec<Points> = (0..load.states).map(|_| heuristic.state(&mut rng)).collect();
        points.iter_mut().for_each(|state| state.active().activate_all());
        Workload { heuristic, points, rng }
    }

    /// Returns the states on a device.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    pub fn on_device(&mut self, cuda: &Arc<Cuda>) -> Result<cuda::Population<ManhattanOnDevice>, DeviceError> {
        let domain = ManhattanOnDevice::new(cuda, &self.heuristic)?;
        cuda::Population::new(cuda, domain, &mut self.points, self.rng.clone())
    }

    /// Returns the median milliseconds of a generation on all threads of the CPU.
    pub fn cpu_ms(self, repeats: usize) -> f64 {
        let mut population = Population::new(self.points, self.rng);
        let dispatch = Uniform(self.heuristic);
        let mut generation = || {
            population.states_mut().iter_mut().for_each(|state| state.active().activate_all());
            let started = Instant::now();
            let _ = population.expand(&dispatch, 1, Order::Permuted, &Stop::new());
            started.elapsed().as_secs_f64() * 1e3
        };
        // the first generation warms up
        let _ = generation();
        let mut times: Vec<f64> = (0..repeats.max(1)).map(|_| generation()).collect();
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    }
}

/// Returns the median milliseconds of a generation on a device, including clones and streams.
///
/// # Errors
/// Returns an error if the device fails.
pub fn device_ms(
    cuda: &Cuda,
    population: &mut cuda::Population<ManhattanOnDevice>,
    repeats: usize,
) -> Result<f64, DeviceError> {
    let batch = || (0..BATCH).try_for_each(|_| population.make(1, Order::Permuted));
    Ok(cuda.median_ms(1, repeats, batch)? / BATCH as f64)
}
