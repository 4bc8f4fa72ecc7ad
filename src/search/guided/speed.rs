//! How fast the passes of a heuristic are.

use super::cuda::NetworkOnDevice;
use super::visit::Visit;
use super::{Ground, Prepared, State};
use crate::device::{Cuda, DeviceError};
use crate::fang::cuda::Population as DevicePopulation;
use crate::fang::{Order, Population, State as _};
use crate::heuristics::ValueHeuristic;
use crate::rng::Rng;
use crate::search::driver::Field;
use crate::stop::Stop;
use std::sync::Arc;
use std::time::Instant;

/// Passes by a heuristic, measured.
#[derive(Clone, Copy, Debug)]
pub(in crate::search) struct Passes {
    /// States that make a pass at a time.
    pub states: usize,
    /// Median milliseconds of a pass of all of them.
    pub ms: f64,
}

/// Passes between which the device is not waited for.
const BATCH: usize = 8;

/// Passes of random states at a temperature in the middle of the schedule. `None` where a device does not take the core or the
/// heuristic.
pub(in crate::search) fn passes(
    field: &Field,
    heuristic: &dyn ValueHeuristic,
    device: Option<&Arc<Cuda>>,
    states: usize,
    repeats: usize,
) -> Result<Option<Passes>, DeviceError> {
    let mut core = Prepared::new(field, 2 * states);
    if device.is_some() {
        core.layout = None;
    }
    let ground = Ground {
        field,
        places: &core.places,
        layout: core.layout.as_ref(),
        floors: &core.floors,
        needs: heuristic.needs(),
        incumbent: None,
        guide: None,
        asserts: false,
    };
    let mut rng = Rng::new(1);
    let mut random = || (0..field.variables()).map(|v| rng.index(field.rows.domain(v)) as u16).collect();
    let temperature = field.schedule.at(0.5);
    let begin = |values: Vec<u16>| {
        let mut state = State::default();
        state.begin(&ground, values);
        state.active().activate_all();
        (state.temperature, state.pass) = (temperature, 1);
        state
    };
    let mut begun: Vec<State> = (0..states).map(|_| begin(random())).collect();
    let ms = match device {
        Some(cuda) => {
            let Some(mut domain) = NetworkOnDevice::new(cuda, field, heuristic, (&core.floors, None))? else {
                return Ok(None);
            };
            (domain.problem.temperature, domain.problem.round) = (temperature, 1);
            let mut population = DevicePopulation::new(cuda, domain, &mut begun, rng)?;
            let batch = || (0..BATCH).try_for_each(|_| population.make(1, Order::Permuted));
            cuda.median_ms(1, repeats, batch)? / BATCH as f64
        }
        None => {
            let mut population = Population::new(begun, rng);
            let visit = Visit { ground, heuristic };
            let mut times = Vec::with_capacity(repeats + 1);
            // the first pass warms up
            for _ in 0..=repeats {
                population.states_mut().iter_mut().for_each(|state| state.active().activate_all());
                let began = Instant::now();
                let _ = population.expand(&visit, 1, Order::Permuted, &Stop::new());
                times.push(began.elapsed().as_secs_f64() * 1e3);
            }
            let times = &mut times[1..];
            times.sort_by(f64::total_cmp);
            times[times.len() / 2]
        }
    };
    Ok(Some(Passes { states, ms }))
}
