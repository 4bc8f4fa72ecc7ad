//! How fast the passes of a heuristic are.

use super::cuda;
use super::cuda::CudaFlock;
use super::flight::Flight;
use super::flock::{Flock, HostFlock, Turn};
use super::visit::Visit;
use super::{Ground, Prepared};
use crate::device::{Cuda, DeviceError};
use crate::heuristics::ValueHeuristic;
use crate::rng::Rng;
use crate::search::scheduler::driver::SearchContext;
use crate::stop::Stop;
use rayon::prelude::*;
use std::sync::Arc;
use std::time::Instant;

/// Passes by a heuristic, measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Passes {
    /// States that make a pass at a time.
    pub states: usize,
    /// Median milliseconds of a pass of all of them.
    pub ms: f64,
}

/// Flights as the driver makes them: passes on the colder half of the schedule, and one that settles.
const FLIGHT: Flight = Flight { passes: 15, start: 0.5 };

/// Flights from random assignments, and on from where they end. `None` where a device does not take the core or the heuristic.
pub(crate) fn passes(
    context: &SearchContext,
    heuristic: &dyn ValueHeuristic,
    device: Option<&Arc<Cuda>>,
    states: usize,
    repeats: usize,
) -> Result<Option<Passes>, DeviceError> {
    let core = Prepared::new(context);
    let ground: Ground<'_> = core.ground(context, heuristic.needs(), false);
    let mut flock: Box<dyn Flock> = match device {
        Some(_) if cuda::unfit(context, heuristic).is_some() => return Ok(None),
        Some(cuda) => Box::new(CudaFlock::new(cuda, &ground, heuristic, Some(states))?),
        None => Box::new(HostFlock::default()),
    };
    let random = |slot| {
        let mut rng = Rng::new(slot as u64);
        (0..context.variables()).map(|v| rng.index(context.tables.domain(v)) as u16).collect()
    };
    flock.open(&ground, (0..states).into_par_iter().map(random).collect())?;
    let visit = Visit { ground, heuristic };
    let flights = vec![(0, FLIGHT); states];
    let mut times = Vec::with_capacity(repeats + 1);
    // the first flight warms up
    for draw in 0..=repeats as u64 {
        let began = Instant::now();
        let _ = flock.fly(&visit, &Turn { draw, schedule: context.schedule, flights: &flights }, &Stop::new())?;
        times.push(began.elapsed().as_secs_f64() * 1e3 / f64::from(FLIGHT.passes + 1));
    }
    let times = &mut times[1..];
    times.sort_by(f64::total_cmp);
    Ok(Some(Passes { states, ms: times[times.len() / 2] }))
}
