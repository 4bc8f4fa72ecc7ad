//! The CUDA sources of the heuristics, embedded in the program.

use crate::kernels::{self, Library};

/// All sources of `heuristics/`, with the names by which they include each other.
pub const TEXTS: &[(&str, &str)] = &[
    ("boltzmann.cuh", include_str!("../boltzmann.cuh")),
    ("ejection.cuh", include_str!("../ejection.cuh")),
    ("exchange.cuh", include_str!("../exchange.cuh")),
    ("frequency.cuh", include_str!("../frequency.cuh")),
    ("kempe.cuh", include_str!("../kempe.cuh")),
    ("min_conflicts.cuh", include_str!("../min_conflicts.cuh")),
    ("mini_bucket.cuh", include_str!("../mini_bucket.cuh")),
    ("satellite.cuh", include_str!("../satellite.cuh")),
];

/// The sources of `heuristics/`, which may include those of `kernels/`.
pub(crate) static HEURISTICS: Library = Library::new(&[TEXTS, kernels::TEXTS]);
