//! When the bounds have a slice between rounds of the search. Their share is of counted work in repeatable runs.

use crate::bounds::{BoundResult, Bounder, BounderOptions, DeviceUse, Step};
use crate::elimination::{Gpu, spill_room};
use crate::memory;
use crate::model::Cost;
use crate::options::Options;
use crate::reduce::ReducedProblem;
use crate::stop::Stop;
use crate::tuning::bounds::FIXED_MEMORY;
use crate::tuning::tuning;
use std::sync::Arc;

pub(crate) struct Bounds {
    pub bounder: Bounder,
    pace: Pace,
    /// Parts of the gap that the current stage has closed.
    closed: f64,
}

/// How well the bounds progress, according to the last stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pace {
    /// The stage closed almost nothing of the gap.
    Slow,
    Steady,
    Ending,
}

/// Returns the bytes that bound tables may use. In a repeatable run they do not depend on the machine.
pub(crate) fn bound_memory(options: &Options) -> u64 {
    let free = || if options.rounds.is_some() { FIXED_MEMORY } else { memory::available() / 2 };
    options.bound_memory.unwrap_or_else(free)
}

/// Returns the methods and limits of the bounds of a run.
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
    /// Creates the bounds that the options select. A device computes the exact plans that are faster there.
    pub fn new(options: &Options, gpu: Option<Arc<Gpu>>) -> Self {
        let bounder = Bounder::new(bounder_options(options)).telling(&options.activity);
        let mut bounds = Bounds { bounder, pace: Pace::Steady, closed: 0.0 };
        if let Some(gpu) = gpu {
            bounds.board(gpu);
        }
        bounds
    }

    /// Makes a device that also searches compute the exact plans that are faster there.
    pub fn board(&mut self, gpu: Arc<Gpu>) {
        self.bounder.use_device(gpu, DeviceUse::Shared);
    }

    /// Works on one slice. Returns a result if the slice completes one. `upper` is the incumbent's cost.
    pub fn slice(&mut self, reduced: &ReducedProblem, upper: Cost, stop: &Stop) -> Option<BoundResult> {
        if let Step::Result(result) = self.bounder.step(reduced, upper, stop) { Some(*result) } else { None }
    }

    /// Returns whether slices alternate with the search even if they could run beside it: the first ones, which prove
    /// small networks, and those that [lead](Self::lead).
    pub fn takes_turns(&self) -> bool {
        self.bounder.spent() < tuning().run.early || self.lead()
    }

    /// Returns whether the bounds should have most of the time or of the threads: for exact eliminations, in which all
    /// threads take part, and for branch and bound near its end.
    pub fn lead(&self) -> bool {
        self.bounder.is_exact() || self.pace == Pace::Ending
    }

    /// Returns whether the next slice belongs to the bounds, given what the search and the bounds have spent, in
    /// nanoseconds or work, and whether the search has stalled. An affordable exact elimination has at least half, and
    /// its first second at once.
    pub fn is_due(&self, [search, own]: [u64; 2], stalled: bool) -> bool {
        if self.bounder.is_done() || search == 0 {
            return false;
        }
        let exact = self.bounder.is_exact();
        let even = if stalled { tuning().bounds.stalled_share } else { tuning().bounds.share };
        let share = match self.pace {
            Pace::Slow => even * tuning().bounds.slow,
            Pace::Ending if stalled => tuning().bounds.ending_share,
            Pace::Steady | Pace::Ending => even,
        };
        let first = if exact { tuning().bounds.exact_first } else { 0 };
        own <= (search as f64 * if exact { share.max(1.0) } else { share }) as u64 + first
    }

    /// Notes that a result has closed `part` of the gap. A branch and bound has several results before its stage ends.
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
