//! The workload of the FANG paper's section 4: its tables 1 and 2, on this machine's CPU and device.

use super::paper::Paper;
use crate::device::{Cuda, DeviceError};
use crate::error::Error;
use crate::fang::cuda::{self, ManhattanOnDevice};
use crate::fang::manhattan::{Manhattan, Points};
use crate::fang::{Order, Population, State, Uniform};
use crate::rng::Rng;
use crate::search::measure::median;
use crate::stop::Stop;
use serde::Serialize;
use std::sync::Arc;
use std::time::Instant;

/// Load, states, variables, side of the square, and the milliseconds of the paper's GTX 1080 Ti.
const ROWS: [(usize, usize, usize, usize, f64); 20] = [
    (1, 1024, 8, 35, 2.20),
    (1, 1024, 8, 67, 3.34),
    (1, 1024, 8, 99, 5.05),
    (1, 1024, 32, 35, 6.97),
    (1, 1024, 32, 67, 9.85),
    (1, 1024, 32, 99, 16.90),
    (1, 4096, 8, 35, 6.48),
    (1, 4096, 8, 67, 9.84),
    (1, 4096, 8, 99, 16.94),
    (1, 4096, 32, 35, 23.27),
    (1, 4096, 32, 67, 37.78),
    (1, 4096, 32, 99, 66.30),
    (8, 1024, 8, 35, 1.88),
    (16, 1024, 8, 35, 1.82),
    (8, 1024, 8, 67, 3.40),
    (16, 1024, 8, 67, 2.75),
    (8, 4096, 8, 35, 6.26),
    (16, 4096, 8, 35, 6.26),
    (8, 4096, 8, 67, 10.00),
    (16, 4096, 8, 67, 9.91),
];

/// Generations timed together, in sequence as in a run: a single launch would be timed with the host's latency, some
/// ten microseconds.
pub(super) const BATCH: usize = 8;

/// Options of the measurement.
#[derive(Clone, Copy, Debug)]
pub struct FangOptions {
    /// Repetitions of which the median is taken on the device.
    pub repeats: usize,
    /// Repetitions on the CPU.
    pub cpu_repeats: usize,
}

/// One row of the tables; times are medians of a generation in milliseconds.
#[derive(Clone, Debug, Serialize)]
pub struct FangRow {
    /// Distances a rating.
    pub load: usize,
    /// States.
    pub states: usize,
    /// Variables of a state, all active.
    pub variables: usize,
    /// Possibilities of a variable.
    pub possibilities: usize,
    /// The paper's own figure on a GTX 1080 Ti.
    pub gtx_1080_ti_ms: f64,
    /// The paper's algorithm on this device.
    pub paper_ms: Option<f64>,
    /// Ours on this device, clones and streams included.
    pub fang_ms: Option<f64>,
    /// How many times faster than the paper's algorithm.
    pub speedup: Option<f64>,
    /// Ratings a second, billions.
    pub gratings_s: Option<f64>,
    /// Ours on all threads of the CPU.
    pub cpu_ms: Option<f64>,
    /// Threads that hold a state, and packs that each keeps.
    pub group: Option<String>,
}

/// Measures row by row. Where there is no device, or with no CPU repetitions, that side's columns stay empty.
///
/// # Errors
/// The device's, and an internal one where the two algorithms on the device or device and CPU disagree.
pub fn fang(cuda: Option<&Arc<Cuda>>, options: FangOptions, row: &mut dyn FnMut(&FangRow)) -> Result<(), Error> {
    for (index, &(load, states, variables, side, published)) in ROWS.iter().enumerate() {
        let mut rng = Rng::new(index as u64);
        let manhattan = Manhattan::new(variables, side as i32, load, &mut rng);
        let mut points: Vec<Points> = (0..states).map(|_| manhattan.state(&mut rng)).collect();
        points.iter_mut().for_each(|state| state.active().activate_all());
        let mut measured = FangRow {
            load,
            states,
            variables,
            possibilities: side * side - 1,
            gtx_1080_ti_ms: published,
            paper_ms: None,
            fang_ms: None,
            speedup: None,
            gratings_s: None,
            cpu_ms: None,
            group: None,
        };
        if let Some(cuda) = cuda {
            on_device(cuda, &manhattan, &mut points, rng.clone(), options.repeats, &mut measured)?;
        }
        if options.cpu_repeats > 0 {
            measured.cpu_ms = Some(on_cpu(manhattan, points, rng, options.cpu_repeats));
        }
        row(&measured);
    }
    Ok(())
}

fn on_device(
    cuda: &Arc<Cuda>,
    manhattan: &Manhattan,
    points: &mut [Points],
    rng: Rng,
    repeats: usize,
    row: &mut FangRow,
) -> Result<(), Error> {
    let device = |error: DeviceError| Error::Internal(error.to_string());
    let domain = ManhattanOnDevice::new(cuda, manhattan).map_err(device)?;
    let mut population = cuda::Population::new(cuda, domain, points, rng).map_err(device)?;
    let paper = Paper::new(cuda, row.states, row.possibilities).map_err(device)?;

    let pass = population.arguments(1, Order::Permuted, None).map_err(device)?;
    population.run(&pass).map_err(device)?;
    let ours = population.made().map_err(device)?;
    let paper_ms = paper.best_ms(cuda, population.domain(), &pass, repeats).map_err(device)?;
    if population.made().map_err(device)? != ours {
        return Err(Error::Internal("the paper's algorithm made other successors".into()));
    }
    let batch = || (0..BATCH).try_for_each(|_| population.make(1, Order::Permuted));
    let fang_ms = cuda.median_ms(1, repeats, batch).map_err(device)? / BATCH as f64;

    let ratings = (row.states * row.variables * row.possibilities) as f64;
    row.paper_ms = Some(paper_ms);
    row.fang_ms = Some(fang_ms);
    row.speedup = Some(paper_ms / fang_ms);
    row.gratings_s = Some(ratings / fang_ms / 1e6);
    let shape = population.shape();
    row.group = Some(format!("{}x{}", shape.threads, shape.keep.first().unwrap_or(&0)));
    Ok(())
}

fn on_cpu(manhattan: Manhattan, points: Vec<Points>, rng: Rng, repeats: usize) -> f64 {
    let mut population = Population::new(points, rng);
    let dispatch = Uniform(manhattan);
    let mut times: Vec<f64> = Vec::with_capacity(repeats);
    // the first generation warms up
    for _ in 0..=repeats {
        population.states_mut().iter_mut().for_each(|state| state.active().activate_all());
        let started = Instant::now();
        let _ = population.expand(&dispatch, 1, Order::Permuted, &Stop::new());
        times.push(started.elapsed().as_secs_f64() * 1e3);
    }
    median(times.split_off(1))
}
