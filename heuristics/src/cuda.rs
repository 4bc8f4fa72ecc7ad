//! The source that is compiled for a heuristic: its own source, `kernels/network.cuh`, and trajectories of FANG
//! passes (`kernels/trajectory.cuh`).

use super::{INPUTS, ValueHeuristic};
use crate::device::Source;
use crate::device::shared::constants;
use crate::elimination::terms;
use crate::fang::cuda::Shape;
use crate::texts::HEURISTICS;
use crate::value_tables;

/// Largest number of members of a neighbourhood's group.
pub const MEMBERS: usize = 64;
/// The result of a trajectory that was stopped.
pub const STOPPED: u32 = 0;
const WORSE: u32 = 1;
const AS_GOOD: u32 = 2;
/// The result of a trajectory that led to a better assignment.
pub const BETTER: u32 = 3;

/// Returns the name of the kernel's instance that runs trajectories.
pub fn expression(shape: &Shape, shared: bool) -> String {
    format!("run_trajectories<{}, {shared}, {}>", shape.threads, shape.keep.first().unwrap_or(&0))
}

/// Returns the source of a heuristic with the trajectories, or `None` if it has no CUDA source.
pub fn source_of(heuristic: &dyn ValueHeuristic, asserts: bool, half: bool, wide: bool) -> Option<Source> {
    let shared = constants! { u32: MEMBERS, STOPPED, WORSE, AS_GOOD, BETTER; };
    let mut source = heuristic.cuda()?.declare(&value_tables::declared()).declare(&terms::declared()).declare(&shared);
    source = source.constant("HALF_ROWS", u32::from(half));
    if let Some(neighbourhood) = heuristic.neighbourhood() {
        source = source.followed_by(&neighbourhood.cuda()?);
    }
    source = source.constant("NEIGHBOURHOOD", u32::from(heuristic.neighbourhood().is_some()));
    source = source.constant("ASSERTS", u32::from(asserts));
    source.text.push_str("\n#include \"trajectory.cuh\"\n");
    if wide {
        source = source.constant("WIDE", 1);
    }
    for input in INPUTS {
        let needed = u32::from(heuristic.needs().any(input.needs));
        source = source.constant(&format!("NEEDS_{}", input.name.to_ascii_uppercase()), needed);
    }
    Some(source)
}

/// Returns an instance for a reduced problem of medium size, of a heuristic that has a source.
pub(crate) fn instance_of(heuristic: &dyn ValueHeuristic) -> Source {
    let source = source_of(heuristic, false, false, false).unwrap_or_else(|| HEURISTICS.source("trajectory.cuh"));
    source.kernel(expression(&Shape { threads: 32, keep: vec![1] }, true))
}
