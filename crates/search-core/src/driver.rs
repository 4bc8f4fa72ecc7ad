//! The trait of drivers.
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

/// Returns how many times the length of a walk driver's next round is halved after `rounds` rounds: the first rounds of
/// a run are short, because everything else waits for them.
pub fn shorter(rounds: u32) -> u32 {
    2u32.saturating_sub(rounds)
}

/// The arguments for making drivers.
#[derive(Debug)]
pub struct Setup<'a> {
    /// The device to work on; `None` for the CPU.
    pub device: Option<Arc<Cuda>>,
    /// Further devices that can be connected with `device` and may share its work; `None` if there are none.
    pub partners: Option<Vec<Arc<Cuda>>>,
    /// The heuristic that steers `guided`, if there is one.
    pub heuristic: Option<Arc<dyn ValueHeuristic>>,
    /// Whether each assignment that a heuristic makes is checked.
    pub asserts: bool,
    /// The source of the drivers' random streams.
    pub rng: &'a mut Rng,
}

impl Setup<'_> {
    /// Returns a new stream of random numbers for a driver.
    pub fn stream(&mut self) -> Rng {
        Rng::new(self.rng.draw())
    }
}

/// The state from which a driver continues after a stop.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DriverState<A = Vec<u32>> {
    /// The best states, best first.
    pub population: Vec<A>,
    /// The best states of earlier populations.
    pub archive: Vec<A>,
    /// Number of populations before this one.
    pub epoch: u32,
    /// Number of sweeps of an anneal.
    pub sweeps: u32,
}

/// A search strategy that improves solutions in bounded rounds.
pub trait Driver: Send {
    /// Returns the number of states.
    fn population(&self) -> usize;

    /// Returns whether a round can improve anything, given the prepared problem and the pool.
    fn fits(&self, _: &SearchContext, _: &Pool) -> bool {
        true
    }

    /// Returns whether a round can make moves on this problem, useful or not.
    fn can_move(&self, _: &SearchContext) -> bool {
        true
    }

    /// Returns whether the driver reads the problem's tables, instead of the network's sums or its quadratic form.
    fn reads_tables(&self) -> bool {
        true
    }

    /// Returns whether rounds leave threads idle if there are many.
    fn needs_few_threads(&self) -> bool {
        false
    }

    /// Returns whether the driver works on all devices of the run on this problem. Further devices then have no
    /// drivers.
    fn shares_devices(&self, _: &SearchContext) -> bool {
        false
    }

    /// Returns the driver's initial share, relative to that of other drivers.
    fn weight(&self, _: &SearchContext, _: &Pool) -> f64 {
        1.0
    }

    /// Returns the part of the time that the driver has regardless of its gains, before and after a feasible assignment
    /// is found.
    fn floor(&self, _: &SearchContext, _: &Pool) -> f64 {
        0.0
    }

    /// Returns the work of the run after which the driver begins. In a repeatable run it is equal on all devices.
    fn begins(&self, _: &SearchContext) -> u64 {
        0
    }

    /// Returns the kernels of the next round if the driver has a device and they differ from those of the last round.
    fn kernels(&self, _: &SearchContext) -> Option<Source> {
        None
    }

    /// Opens a run from the present solution, in some ten milliseconds. Most drivers cannot, and return `None`.
    fn open_run(&mut self, _: &SearchContext, _: &mut Pool, _: &Stop) -> Option<Effort> {
        None
    }

    /// Makes one round of some ten milliseconds. Assignments worth keeping go into `pool`. After a stop the rest of the
    /// round is dropped.
    fn round(&mut self, context: &SearchContext, pool: &mut Pool, stop: &Stop) -> Effort;

    /// Receives the messages of a bound step, which evaluate partial assignments.
    fn guide(&mut self, _: &Arc<Outcome>) {}

    /// Returns the state from which the driver can continue after a stop; `None` if it restarts from the pool.
    fn state(&self) -> Option<DriverState<Elite>> {
        None
    }

    /// Continues from a state.
    fn resume(&mut self, _: &SearchContext, _: DriverState<Elite>) {}

    /// Receives an estimate of the driver's work until the time limit, so that long work can end by then.
    fn ends_after(&mut self, _: u64) {}

    /// Moves the driver to another reduced problem, prepared in `context`.
    fn rebase(&mut self, context: &SearchContext, translate: &Translate<'_>);
}
