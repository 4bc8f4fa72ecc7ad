//! The sources of the CUDA kernels in `kernels/`, embedded in the program.

// other crates, by the names that their areas have everywhere
use fangs_device as device;

use crate::device::{Source, Text};
use std::path::PathBuf;
use std::sync::OnceLock;

/// All sources of `kernels/`, with the names by which they include each other.
pub const TEXTS: &[(&str, &str)] = &[
    ("anneal.cu", include_str!("../anneal.cu")),
    ("assign.cu", include_str!("../assign.cu")),
    ("beliefs.cu", include_str!("../beliefs.cu")),
    ("bucket.cu", include_str!("../bucket.cu")),
    ("bucket.cuh", include_str!("../bucket.cuh")),
    ("core.cuh", include_str!("../core.cuh")),
    ("expression.cuh", include_str!("../expression.cuh")),
    ("fang.cuh", include_str!("../fang.cuh")),
    ("trajectory.cuh", include_str!("../trajectory.cuh")),
    ("groups.cuh", include_str!("../groups.cuh")),
    ("halves.cuh", include_str!("../halves.cuh")),
    ("inputs.cuh", include_str!("../inputs.cuh")),
    ("joingraph.cu", include_str!("../joingraph.cu")),
    ("layout.cuh", include_str!("../layout.cuh")),
    ("manhattan.cuh", include_str!("../manhattan.cuh")),
    ("rating_cache.cuh", include_str!("../rating_cache.cuh")),
    ("rating_rows.cuh", include_str!("../rating_rows.cuh")),
    ("crossover.cuh", include_str!("../crossover.cuh")),
    ("network.cuh", include_str!("../network.cuh")),
    ("pairs.cu", include_str!("../pairs.cu")),
    ("propagate.cu", include_str!("../propagate.cu")),
    ("rng.cuh", include_str!("../rng.cuh")),
    ("semiring.cuh", include_str!("../semiring.cuh")),
    ("settle.cuh", include_str!("../settle.cuh")),
    ("shift.cu", include_str!("../shift.cu")),
    ("sparse.cu", include_str!("../sparse.cu")),
    ("spins.cu", include_str!("../spins.cu")),
    ("staged.cu", include_str!("../staged.cu")),
    ("sum.cuh", include_str!("../sum.cuh")),
    ("sums.cu", include_str!("../sums.cu")),
    ("table.cuh", include_str!("../table.cuh")),
    ("tabu.cu", include_str!("../tabu.cu")),
    ("sweep_path.cuh", include_str!("../sweep_path.cuh")),
    ("state_lanes.cuh", include_str!("../state_lanes.cuh")),
    ("tree_move.cuh", include_str!("../tree_move.cuh")),
    ("walks.cuh", include_str!("../walks.cuh")),
    ("wide.cu", include_str!("../wide.cu")),
    ("weight.cuh", include_str!("../weight.cuh")),
    ("weighting.cu", include_str!("../weighting.cu")),
];

/// The sources of `kernels/`.
static KERNELS: Library = Library::new(&[TEXTS]);

/// Sources that include each other by name. A crate with sources of its own has a library of them and [`TEXTS`].
#[derive(Debug)]
pub struct Library {
    parts: &'static [&'static [(&'static str, &'static str)]],
    texts: OnceLock<Vec<Text>>,
}

impl Library {
    /// Makes a library of lists of names and texts.
    pub const fn new(parts: &'static [&'static [(&'static str, &'static str)]]) -> Library {
        Library { parts, texts: OnceLock::new() }
    }

    /// Returns all sources. Files in the folder `FANGS_KERNELS` replace those of the same name, so that a changed
    /// kernel needs no new build of the program.
    fn texts(&'static self) -> &'static [Text] {
        self.texts.get_or_init(|| {
            let folder = std::env::var_os("FANGS_KERNELS").map(PathBuf::from);
            let text = |&(name, text): &(&'static str, &'static str)| {
                let replaced = folder.as_ref().and_then(|folder| std::fs::read_to_string(folder.join(name)).ok());
                (name, replaced.map_or(text.into(), Into::into))
            };
            self.parts.iter().copied().flatten().map(text).collect()
        })
    }

    /// Returns a source of the library.
    ///
    /// # Panics
    /// Panics if there is no source of this name; the names are fixed when the program is built.
    pub fn source(&'static self, name: &str) -> Source {
        let text = self.texts().iter().find(|(known, _)| *known == name).map(|(_, text)| text.clone());
        self.own(name, text.unwrap_or_else(|| panic!("no kernel text is called {name}")))
    }

    /// Returns a source that only includes one of the library, to be appended to another source.
    pub fn including(&'static self, name: &str) -> Source {
        self.own(name, format!("#include \"{name}\"\n"))
    }

    /// Returns a source from elsewhere, which may include those of the library.
    pub fn own(&'static self, name: impl Into<String>, text: impl Into<String>) -> Source {
        Source::new(name, text, self.texts())
    }
}

/// Returns a source of [`TEXTS`].
///
/// # Panics
/// Panics if there is no source of this name; the names are fixed when the program is built.
pub fn source(name: &str) -> Source {
    KERNELS.source(name)
}

/// Returns a source from elsewhere, which may include those of [`TEXTS`].
pub fn own(name: impl Into<String>, text: impl Into<String>) -> Source {
    KERNELS.own(name, text)
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
