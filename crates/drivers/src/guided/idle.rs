//! Explains why a heuristic drew no samples, by some observed trajectories on the CPU.

use super::backend::{Backend, Batch, CpuBackend};
use super::round_context::RoundContext;
use super::trajectory::Trajectory;
use super::visit::Visit;
use crate::heuristics::language::Numbers;
use crate::heuristics::{INPUTS, Inputs, Kind, Needs, ValueHeuristic};
use crate::stop::Stop;
use std::sync::{Mutex, PoisonError};

#[derive(Debug)]
struct Watched<'a> {
    heuristic: &'a dyn ValueHeuristic,
    seen: Mutex<Seen>,
}

/// The observations of all visits.
#[derive(Debug, Default)]
struct Seen {
    is_active: bool,
    /// The lowest and the highest number of each scalar input, by its index in the list; empty before the first visit.
    ranges: Vec<(f64, f64)>,
}

impl ValueHeuristic for Watched<'_> {
    fn name(&self) -> &str {
        self.heuristic.name()
    }

    fn needs(&self) -> Needs {
        self.heuristic.needs()
    }

    fn active(&self, inputs: &Inputs<'_>) -> bool {
        // the condition of a heuristic in CUDA is unknown here, but it is known that it never held
        let is_active = !self.heuristic.is_for_devices() && self.heuristic.active(inputs);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.is_active |= is_active;
        if seen.ranges.is_empty() {
            seen.ranges = vec![(f64::INFINITY, f64::NEG_INFINITY); INPUTS.len()];
        }
        for (place, range) in seen.ranges.iter_mut().enumerate() {
            let number = inputs.scalar(place);
            *range = (range.0.min(number), range.1.max(number));
        }
        is_active
    }

    fn weigh(&self, inputs: &Inputs<'_>, weights: &mut [u32]) {
        self.heuristic.weigh(inputs, weights);
    }
}

/// Returns a message about a heuristic that has drawn no samples: its condition, and the inputs of the condition that
/// never changed. Returns `None` if it is active in trajectories from `starts`.
pub(crate) fn explain(
    round: &RoundContext<'_>,
    heuristic: &dyn ValueHeuristic,
    starts: Vec<Vec<u16>>,
    trajectory: Trajectory,
    stop: &Stop,
) -> Option<String> {
    let watched = Watched { heuristic, seen: Mutex::default() };
    let (mut backend, trajectories) = (CpuBackend::default(), vec![(0, trajectory); starts.len()]);
    let batch = Batch { draw: 0, schedule: round.context.schedule, trajectories: &trajectories };
    // trajectories on the CPU do not fail
    backend.open(round, starts).ok()?;
    let results = backend.run(&Visit { round: *round, heuristic: &watched }, &batch, stop).ok()?;
    let seen = watched.seen.into_inner().unwrap_or_else(PoisonError::into_inner);
    let is_cut = results.iter().any(|result| !result.complete);
    if is_cut || seen.is_active || seen.ranges.is_empty() {
        return None;
    }
    let (condition, reads) = heuristic.condition();
    let constant = INPUTS.iter().zip(&seen.ranges).filter(|(input, (least, largest))| {
        // groups belong to the file of the heuristic and are not known here
        let known = input.kind == Kind::Scalar && input.needs != Needs::GROUP;
        known && reads.any(input.needs) && least == largest
    });
    let why = constant.map(|(input, (number, _))| {
        format!("; {} was always {number} ({})", input.name, input.about.trim_end_matches('.'))
    });
    let (name, why): (&str, String) = (heuristic.name(), why.collect());
    Some(format!("heuristic {name}: no pick in its first passes, as `{condition}` held at no visit{why}"))
}
