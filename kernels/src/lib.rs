//! The sources of all CUDA kernels in `kernels/` and `heuristics/`, embedded in the program.

// other crates, by the names that their areas have everywhere
use fangs_device as device;

use crate::device::{Source, Text};
use std::path::PathBuf;
use std::sync::OnceLock;

/// All sources of `kernels/` and `heuristics/`, with the names by which they include each other.
pub const TEXTS: &[(&str, &str)] = &[
    ("anneal.cu", include_str!("../anneal.cu")),
    ("assign.cu", include_str!("../assign.cu")),
    ("beliefs.cu", include_str!("../beliefs.cu")),
    ("boltzmann.cuh", include_str!("../../heuristics/boltzmann.cuh")),
    ("bucket.cu", include_str!("../bucket.cu")),
    ("bucket.cuh", include_str!("../bucket.cuh")),
    ("core.cuh", include_str!("../core.cuh")),
    ("ejection.cuh", include_str!("../../heuristics/ejection.cuh")),
    ("exchange.cuh", include_str!("../../heuristics/exchange.cuh")),
    ("expression.cuh", include_str!("../expression.cuh")),
    ("fang.cuh", include_str!("../fang.cuh")),
    ("trajectory.cuh", include_str!("../trajectory.cuh")),
    ("frequency.cuh", include_str!("../../heuristics/frequency.cuh")),
    ("groups.cuh", include_str!("../groups.cuh")),
    ("halves.cuh", include_str!("../halves.cuh")),
    ("inputs.cuh", include_str!("../inputs.cuh")),
    ("joingraph.cu", include_str!("../joingraph.cu")),
    ("kempe.cuh", include_str!("../../heuristics/kempe.cuh")),
    ("layout.cuh", include_str!("../layout.cuh")),
    ("manhattan.cuh", include_str!("../../heuristics/manhattan.cuh")),
    ("rating_cache.cuh", include_str!("../rating_cache.cuh")),
    ("rating_rows.cuh", include_str!("../rating_rows.cuh")),
    ("crossover.cuh", include_str!("../crossover.cuh")),
    ("min_conflicts.cuh", include_str!("../../heuristics/min_conflicts.cuh")),
    ("mini_bucket.cuh", include_str!("../../heuristics/mini_bucket.cuh")),
    ("network.cuh", include_str!("../../heuristics/network.cuh")),
    ("pairs.cu", include_str!("../pairs.cu")),
    ("propagate.cu", include_str!("../propagate.cu")),
    ("rng.cuh", include_str!("../rng.cuh")),
    ("satellite.cuh", include_str!("../../heuristics/satellite.cuh")),
    ("semiring.cuh", include_str!("../semiring.cuh")),
    ("settle.cuh", include_str!("../settle.cuh")),
    ("shift.cu", include_str!("../shift.cu")),
    ("sparse.cu", include_str!("../sparse.cu")),
    ("spins.cu", include_str!("../spins.cu")),
    ("staged.cu", include_str!("../staged.cu")),
    ("sum.cuh", include_str!("../sum.cuh")),
    ("sums.cu", include_str!("../sums.cu")),
    ("table.cuh", include_str!("../../heuristics/table.cuh")),
    ("tabu.cu", include_str!("../tabu.cu")),
    ("sweep_path.cuh", include_str!("../sweep_path.cuh")),
    ("state_lanes.cuh", include_str!("../state_lanes.cuh")),
    ("tree_move.cuh", include_str!("../tree_move.cuh")),
    ("walks.cuh", include_str!("../walks.cuh")),
    ("wide.cu", include_str!("../wide.cu")),
    ("weight.cuh", include_str!("../weight.cuh")),
    ("weighting.cu", include_str!("../weighting.cu")),
];

/// Returns all sources. Files in the folder `FANGS_KERNELS` replace those of the same name, so that a changed kernel
/// needs no new build of the program.
fn texts() -> &'static [Text] {
    static READ: OnceLock<Vec<Text>> = OnceLock::new();
    READ.get_or_init(|| {
        let folder = std::env::var_os("FANGS_KERNELS").map(PathBuf::from);
        let text = |&(name, text): &(&'static str, &'static str)| {
            let replaced = folder.as_ref().and_then(|folder| std::fs::read_to_string(folder.join(name)).ok());
            (name, replaced.map_or(text.into(), Into::into))
        };
        TEXTS.iter().map(text).collect()
    })
}

/// Returns a source of [`TEXTS`].
///
/// # Panics
/// Panics if there is no source of this name; the names are fixed when the program is built.
pub fn source(name: &str) -> Source {
    let text = texts().iter().find(|(known, _)| *known == name).map(|(_, text)| text.clone());
    own(name, text.unwrap_or_else(|| panic!("no kernel text is called {name}")))
}

/// Returns a source that only includes one of [`TEXTS`], to be appended to another source.
pub fn including(name: &str) -> Source {
    own(name, format!("#include \"{name}\"\n"))
}

/// Returns a source from elsewhere, which may include those of [`TEXTS`].
pub fn own(name: impl Into<String>, text: impl Into<String>) -> Source {
    Source::new(name, text, texts())
}

#[cfg(test)]
mod tests {
    use crate::device::device_structs;

    device_structs! {
        /// A structure of a test.
        #[derive(Clone, Copy, Debug)]
        pub(super) struct Host as "Kernels" {
            /// The first field.
            pub first: u64,
            tile as "x": [u32; 3],
            last: i32,
        }
    }

    #[test]
    fn a_structure_that_lies_otherwise_does_not_compile() -> Result<(), crate::device::DeviceError> {
        let Some(nvrtc) = fangs_testing::nvrtc() else { return Ok(()) };
        let compile = |text: &str| nvrtc.compile(&super::own("own.cu", text).asserts::<Host>(), 90);
        let right = "struct Kernels { unsigned long long first; unsigned x, y, z; int last; };\n";
        let _ = compile(right)?;
        for (from, to) in [("x, y", "y, x"), ("int last", "long long last"), ("unsigned x", "int last, x")] {
            let error = compile(&right.replace(from, to)).expect_err("it lies otherwise").to_string();
            assert!(error.contains("the host's Kernels has"), "{error}");
        }
        Ok(())
    }
}
