//! The list of what is compiled for devices, above all areas.

use crate::device::Source;
use crate::{bounds, decide, elimination, fang, heuristics, kernels, search};

/// Representative instances of every area's kernels, one line an area; tests compile them for all architectures.
const AREAS: &[fn() -> Vec<Source>] = &[
    shared,
    fang::cuda::sources,
    heuristics::language::sources,
    elimination::sources,
    bounds::sources,
    decide::sources,
    search::sources,
];

/// Texts without an area.
fn shared() -> Vec<Source> {
    vec![kernels::source("rng.cuh")]
}

/// Sources of all areas: every text is compiled, or included by one that is.
pub fn sources() -> Vec<Source> {
    AREAS.iter().flat_map(|sources| sources()).collect()
}
