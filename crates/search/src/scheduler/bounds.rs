//! When the bounds have their turn beside the search, whose share of the work is counted, not timed.

use crate::bounds::{BoundResult, Bounder, BounderOptions, DeviceUse, Step};
use crate::elimination::{Gpu, spill_room};
use crate::memory;
use crate::model::Cost;
use crate::options::Options;
use crate::reduce::ReducedProblem;
use crate::stop::Stop;
use crate::tuning::{
    EARLY,
    bounds::{ENDING_SHARE, EXACT_FIRST, FIXED_MEMORY, SHARE, SLOW, STALLED_SHARE},
};
use std::sync::Arc;

pub(crate) struct Bounds {
    pub bounder: Bounder,
    pace: Pace,
    /// Parts of the gap that the stage at work has closed.
    closed: f64,
}

/// How the bounds progress, as of the last stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pace {
    /// It closed next to nothing of the gap.
    Slow,
    Steady,
    Ending,
}

/// Bytes that bound tables may take; the same everywhere where a run must be repeated.
pub(crate) fn bound_memory(options: &Options) -> u64 {
    let free = || if options.rounds.is_some() { FIXED_MEMORY } else { memory::available() / 2 };
    options.bound_memory.unwrap_or_else(free)
}

/// Methods and limits of the bounds of a run.
pub(crate) fn bounder_options(options: &Options) -> BounderOptions {
    let repeatable = options.rounds.is_some();
    BounderOptions {
        choice: options.bound,
        z: options.z,
        memory: bound_memory(options),
        spill: if repeatable { options.spill.unwrap_or(0) } else { spill_room(options.spill) },
        seed: options.seed,
        repeatable,
        part: options.bound_part,
    }
}

impl Bounds {
    /// What the options allow; a device takes exact plans that pay there.
    pub fn new(options: &Options, gpu: Option<Arc<Gpu>>) -> Self {
        let bounder = Bounder::new(bounder_options(options)).telling(&options.activity);
        let mut bounds = Bounds { bounder, pace: Pace::Steady, closed: 0.0 };
        if let Some(gpu) = gpu {
            bounds.board(gpu);
        }
        bounds
    }

    /// From now on a device that searches takes exact plans that pay there.
    pub fn board(&mut self, gpu: Arc<Gpu>) {
        self.bounder.use_device(gpu, DeviceUse::Shared);
    }

    /// One slice; `Some` when it comes to a result. `upper` is the best total known.
    pub fn slice(&mut self, reduced: &ReducedProblem, upper: Cost, stop: &Stop) -> Option<BoundResult> {
        if let Step::Result(result) = self.bounder.step(reduced, upper, stop) { Some(*result) } else { None }
    }

    /// Whether slices have turns of their own where others would go on beside the search: the first ones, by which
    /// small networks are proved, and those that [lead](Self::lead).
    pub fn takes_turns(&self) -> bool {
        self.bounder.spent() < EARLY || self.lead()
    }

    /// Whether they are to have most of the time, or of the threads: exact eliminations, in which all threads take
    /// part, and branch and bound near its end.
    pub fn lead(&self) -> bool {
        self.bounder.is_exact() || self.pace == Pace::Ending
    }

    /// Whether the next slice belongs to the bounds, given what the search and they have spent, nanoseconds or work,
    /// and whether the search has stalled. An affordable exact elimination gets at least half, the first second at
    /// once.
    pub fn is_due(&self, [search, own]: [u64; 2], stalled: bool) -> bool {
        if self.bounder.is_done() || search == 0 {
            return false;
        }
        let exact = self.bounder.is_exact();
        let even = if stalled { STALLED_SHARE } else { SHARE };
        let share = match self.pace {
            Pace::Slow => even * SLOW,
            Pace::Ending if stalled => ENDING_SHARE,
            Pace::Steady | Pace::Ending => even,
        };
        let first = if exact { EXACT_FIRST } else { 0 };
        own <= (search as f64 * if exact { share.max(1.0) } else { share }) as u64 + first
    }

    /// A result has closed `part` of the gap. A branch and bound has several until its turn is over.
    pub fn note(&mut self, part: f64) {
        self.closed += part;
        if !self.bounder.is_at_work() {
            let slow = std::mem::take(&mut self.closed) < 0.02;
            self.pace = match slow {
                _ if self.bounder.ends_soon() => Pace::Ending,
                true => Pace::Slow,
                false => Pace::Steady,
            };
        }
    }
}
