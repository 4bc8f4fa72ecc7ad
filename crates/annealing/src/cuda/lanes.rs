//! The choice of the kernels that make the offspring of a reduced problem.

use super::arguments::{Counters, PopulationArgument, Standing, Summary};
use crate::core::cuda::CoreArgument;
use crate::device::Source;
use crate::generation::{self, Generation, Tally};
use crate::kernels;
use crate::tuning::device::MOST_LANES;
use crate::value_tables;

/// The lanes that share a state: `parts` lanes hold `units` units of a row each, and `slots` groups of them share the
/// functions. A unit is 16 bytes: four entries, or eight of 16 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StateLanes {
    pub parts: u32,
    pub slots: u32,
    pub units: u32,
    pub half: bool,
}

impl StateLanes {
    /// Returns the lanes for rows of `quads` quads, `lanes` lanes if a row takes fewer. Those for 1, 5 to 8, and 9 to
    /// 16 units were the fastest of several on an H200 (results/notes/search-cuda.md); the others were chosen like them
    /// and not compared.
    pub fn new(quads: u32, half: bool, lanes: u32) -> StateLanes {
        let (parts, units) = match if half { quads.div_ceil(2) } else { quads } {
            0..=1 => (1, 1),
            2 if lanes == 1 => (1, 2),
            2 => (2, 1),
            3..=4 => (4, 1),
            5..=8 => (8, 1),
            9..=16 => (16, 1),
            17..=32 => (32, 1),
            33..=64 => (32, 2),
            _ => (32, 4),
        };
        StateLanes { parts, slots: (lanes / parts).max(1), units, half }
    }

    pub fn count(self) -> u32 {
        self.parts * self.slots
    }

    /// Returns the quads of 32-bit entries that a lane group holds.
    pub fn quads(self) -> u32 {
        self.parts * self.units * if self.half { 2 } else { 1 }
    }

    /// Returns the name of the kernel that makes offspring. A value takes `bytes` bytes. A block has `states` states; 0
    /// means that each lane group has a state of its own. `keeps` says whether blocks keep the evaluations of their
    /// states.
    pub fn kernel(self, bytes: u32, states: u32, keeps: bool) -> String {
        let StateLanes { parts, slots, units, half } = self;
        format!("make_offspring<{parts}, {slots}, {units}, {half}, u{}, {states}, {keeps}>", 8 * bytes)
    }
}

/// Returns sources that cover the kernels of every kind of lanes.
pub fn sources() -> Vec<Source> {
    let mut all = Vec::new();
    for quads in [1, 2, 4, 8, 16, 32, 64, 128] {
        let bytes = if quads > 64 { 2 } else { 1 };
        all.push(source(StateLanes::new(quads, false, 1), bytes, 0, false, false));
        all.push(source(StateLanes::new(quads, quads > 1, 1), bytes, 1, quads % 2 == 0, quads == 1));
    }
    all.push(source(StateLanes::new(1, false, MOST_LANES), 1, 0, false, false));
    all.push(source(StateLanes::new(16, true, MOST_LANES), 1, 0, false, false));
    for keeps in [false, true] {
        all.push(source(StateLanes::new(4, true, 4), 1, 2, keeps, false));
        all.push(source(StateLanes::new(2, true, 1), 1, 8, keeps, false));
        all.push(source(StateLanes::new(1, false, 1), 1, 1, keeps, false));
    }
    all.extend(super::wide_program::sources());
    all
}

/// Returns the source of all kernels of a population.
pub(crate) fn source(lanes: StateLanes, bytes: u32, states: u32, keeps: bool, wide: bool) -> Source {
    let source = kernels::source("anneal.cu").declare(&value_tables::declared()).declare(&generation::declared());
    let source = source.asserts::<CoreArgument>().asserts::<PopulationArgument>().asserts::<Generation>();
    let source = source.asserts::<Standing>().asserts::<Summary>().asserts::<Tally>().asserts::<Counters>();
    let source = if wide { source.constant("WIDE", 1) } else { source };
    source
        .kernel(lanes.kernel(bytes, states, keeps))
        .kernel(format!("replace<u{}>", 8 * bytes))
        .kernel("remember")
        .kernel("summarize")
}
