//! The speed of a heuristic's passes.

use super::backend::{Backend, Batch, CpuBackend};
use super::cuda;
use super::cuda::CudaBackend;
use super::trajectory::Trajectory;
use super::visit::Visit;
use super::{RoundContext, layout_of};
use crate::core::context::SearchContext;
use crate::device::{Cuda, DeviceError};
use crate::heuristics::ValueHeuristic;
use crate::rng::Rng;
use crate::stop::Stop;
use crate::threads;
use std::sync::Arc;
use std::time::Instant;

/// Trajectories as the driver makes them: passes on the colder half of the schedule, and a final greedy one.
const TRAJECTORY: Trajectory = Trajectory { passes: 15, start: 0.5 };

/// Measures trajectories from random assignments, and from where they end. Returns for each the milliseconds of a pass
/// of all states; `None` if a device does not support the problem or the heuristic.
pub fn passes(
    context: &SearchContext,
    heuristic: &dyn ValueHeuristic,
    device: Option<&Arc<Cuda>>,
    states: usize,
    repeats: usize,
) -> Result<Option<Vec<f64>>, DeviceError> {
    let layout = layout_of(context);
    let round = RoundContext::new(context, &layout, heuristic.needs(), false);
    let mut backend: Box<dyn Backend> = match device {
        Some(_) if cuda::unfit(context, heuristic).is_some() => return Ok(None),
        Some(cuda) => Box::new(CudaBackend::new(cuda, &round, heuristic, Some(states))?),
        None => Box::new(CpuBackend::default()),
    };
    let random = |slot| {
        let mut rng = Rng::new(slot as u64);
        (0..context.variables()).map(|v| rng.index(context.tables.domain(v)) as u16).collect()
    };
    backend.open(&round, threads::map(0..states, random))?;
    let visit = Visit { round, heuristic };
    let trajectories = vec![(0, TRAJECTORY); states];
    let mut times = Vec::with_capacity(repeats + 1);
    // the first trajectory is a warm-up
    for draw in 0..=repeats as u64 {
        let began = Instant::now();
        let _ = backend.run(
            &visit,
            &Batch { draw, schedule: context.schedule, trajectories: &trajectories },
            &Stop::new(),
        )?;
        times.push(began.elapsed().as_secs_f64() * 1e3 / f64::from(TRAJECTORY.passes + 1));
    }
    Ok(Some(times.split_off(1)))
}
