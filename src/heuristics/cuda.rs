//! What is compiled of a heuristic: its text, `heuristics/network.cuh`, and behind it trajectories of FANG passes
//! (`kernels/trajectory.cuh`).

use super::{INPUTS, ValueHeuristic};
use crate::device::Source;
use crate::fang::cuda::Shape;
use crate::kernels;
use std::sync::Arc;

/// Variables of a group, at most; `kernels/groups.cuh` has the same.
pub(crate) const MEMBERS: usize = 64;

/// The name of a kernel's instance.
pub(crate) fn expression(shape: &Shape, shared: bool) -> String {
    format!("run_trajectories<{}, {shared}, {}>", shape.threads, shape.keep.first().unwrap_or(&0))
}

/// A heuristic's text with what it needs, and the trajectories behind it.
pub(crate) fn source_of(heuristic: &dyn ValueHeuristic, asserts: bool, half: bool, wide: bool) -> Option<Source> {
    let mut source = heuristic.cuda()?.constant("HALF_ROWS", u32::from(half));
    if let Some(neighbourhood) = heuristic.neighbourhood() {
        let groups = neighbourhood.cuda()?;
        source.text.push_str(&format!("\n#line 1 \"{}\"\n{}", groups.name, groups.text));
        source.constants.extend(groups.constants);
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

/// An instance for a middling core, of a heuristic that has a text.
pub(crate) fn instance_of(heuristic: &dyn ValueHeuristic) -> Source {
    let source = source_of(heuristic, false, false, false).unwrap_or_else(|| kernels::source("trajectory.cuh"));
    source.kernel(expression(&Shape { threads: 32, keep: vec![1] }, true))
}

/// An instance of each heuristic that has a text, and one of those that users write in files.
pub(crate) fn sources() -> Vec<Source> {
    let of = |(place, heuristic): (usize, &Arc<dyn ValueHeuristic>)| {
        let source = source_of(&**heuristic, place % 3 == 1, place % 2 == 1, place % 5 == 2)?;
        let instance = |threads, keep, shared| expression(&Shape { threads, keep: vec![keep] }, shared);
        Some(source.kernel(instance(8, 2, true)).kernel(instance(64, 0, false)))
    };
    let mut sources = super::language::sources();
    sources.extend(super::all().iter().enumerate().filter_map(of));
    sources
}
