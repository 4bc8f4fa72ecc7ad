//! What a driver is.
//!
//! To add a driver:
//!
//! 1. Write a file in `crates/drivers` with a type that implements [`Driver`], and a function `make` of a [`Setup`].
//!    Three methods are required: `population`, `round` and `rebase`. A round does bounded work; it never reads the
//!    clock, prints, or writes files.
//! 2. Give its constants a module in `tuning.rs` there: unit, meaning, and the measurement that chose each.
//! 3. Add its line to the list in `crates/search/src/list.rs`. The choice by name, the help and the portfolio follow
//!    from that.

use super::context::SearchContext;
use super::effort::Effort;
use super::elite::Elite;
use super::pool::{Pool, Translate};
use crate::device::{Cuda, Source};
use crate::elimination::Outcome;
use crate::heuristics::ValueHeuristic;
use crate::rng::Rng;
use crate::stop::Stop;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// By how many halves the next round of a walk's driver is shorter after so many: a run's first rounds wait for it.
pub fn shorter(rounds: u32) -> u32 {
    2u32.saturating_sub(rounds)
}

/// What drivers are made from.
#[derive(Debug)]
pub struct Setup<'a> {
    /// The device to work on, if there is one.
    pub device: Option<Arc<Cuda>>,
    /// Further devices that can be connected with it and may share its work; `None` if there are none.
    pub partners: Option<Vec<Arc<Cuda>>>,
    /// The heuristic that steers, if there is one.
    pub heuristic: Option<Arc<dyn ValueHeuristic>>,
    /// Whether each assignment that it makes is checked.
    pub asserts: bool,
    /// Where their streams come from.
    pub rng: &'a mut Rng,
}

impl Setup<'_> {
    /// A stream of random numbers for a driver.
    pub fn stream(&mut self) -> Rng {
        Rng::new(self.rng.draw())
    }
}

/// What a driver goes on from after a stop.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DriverState<A = Vec<u32>> {
    /// Its best states, best first.
    pub population: Vec<A>,
    /// The best of earlier populations.
    pub archive: Vec<A>,
    /// Populations before this one.
    pub epoch: u32,
    /// Sweeps of its anneals.
    pub sweeps: u32,
}

/// Improves solutions in bounded rounds.
pub trait Driver: Send {
    /// How many states it has.
    fn population(&self) -> usize;

    /// Whether a round on this core, with what is known of it and what was found, can bring anything.
    fn fits(&self, _: &SearchContext, _: &Pool) -> bool {
        true
    }

    /// Whether a round on this core can make moves at all, whether that pays or not.
    fn can_move(&self, _: &SearchContext) -> bool {
        true
    }

    /// Whether it works on the core's tables by variable, and not on the network's own sums or as a quadratic form.
    fn reads_tables(&self) -> bool {
        true
    }

    /// Whether its rounds leave threads idle where there are many.
    fn needs_few_threads(&self) -> bool {
        false
    }

    /// Returns whether the driver works on all devices of the run on this core. Further devices then have no drivers.
    fn shares_devices(&self, _: &SearchContext) -> bool {
        false
    }

    /// What share it has at first, for each of another driver's.
    fn weight(&self, _: &SearchContext, _: &Pool) -> f64 {
        1.0
    }

    /// Part of the time that is its own whatever it gains, until an allowed assignment is found and after that.
    fn floor(&self, _: &SearchContext, _: &Pool) -> f64 {
        0.0
    }

    /// Work of a run from which on it takes turns; the same on all devices where a run is to be repeated.
    fn begins(&self, _: &SearchContext) -> u64 {
        0
    }

    /// The kernels that its next round takes, where it was given a device and they are others than the last one's.
    fn kernels(&self, _: &SearchContext) -> Option<Source> {
        None
    }

    /// Opens a run from the solution that is there already, in some ten milliseconds; most have no way to.
    fn open_run(&mut self, _: &SearchContext, _: &mut Pool, _: &Stop) -> Option<Effort> {
        None
    }

    /// One round of some ten milliseconds. Whatever is worth keeping goes into `pool`. After a stop the rest of the
    /// round is dropped.
    fn round(&mut self, context: &SearchContext, pool: &mut Pool, stop: &Stop) -> Effort;

    /// A bound step has left messages that rate partial assignments.
    fn guide(&mut self, _: &Arc<Outcome>) {}

    /// What it goes on from after a stop; most begin again from the pool.
    fn state(&self) -> Option<DriverState<Elite>> {
        None
    }

    /// Goes on from there.
    fn resume(&mut self, _: &SearchContext, _: DriverState<Elite>) {}

    /// Receives an estimate of the driver's work until the time limit, so that long work can end by then.
    fn ends_after(&mut self, _: u64) {}

    /// The core has changed.
    fn rebase(&mut self, context: &SearchContext, translate: &Translate<'_>);
}
