//! Kernel texts: what is compiled, and everything that it may include.

/// All texts of `kernels/` and `heuristics/`, by the names that they are included by.
pub const TEXTS: &[(&str, &str)] = &[
    ("rng.cuh", include_str!("../../kernels/rng.cuh")),
    ("bucket.cu", include_str!("../../kernels/bucket.cu")),
    ("bench_paper_mbe.cu", include_str!("../../kernels/bench_paper_mbe.cu")),
];

/// Representative instances of every area's kernels, one line an area; tests compile them for all architectures.
const AREAS: &[fn() -> Vec<Source>] = &[shared, crate::inference::sources, crate::bench::mbe::sources];

/// Texts that belong to no area.
fn shared() -> Vec<Source> {
    vec![Source::embedded("rng.cuh")]
}

/// Sources of all areas: every text is compiled, or included by one that is.
pub fn all() -> Vec<Source> {
    AREAS.iter().flat_map(|sources| sources()).collect()
}

/// What is compiled together: a text, constants set before it, and the kernels wanted of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The name that error messages show.
    pub name: String,
    /// The text; it includes others of [`TEXTS`] by name.
    pub text: String,
    /// Macros set before the text: constants of the problem.
    pub constants: Vec<(String, String)>,
    /// Kernels wanted, as C++ expressions such as `sweep<4, 8>`; all are instantiated.
    pub kernels: Vec<String>,
}

impl Source {
    /// A text of [`TEXTS`].
    ///
    /// # Panics
    /// Where there is no such text: the names are fixed when the program is built.
    pub fn embedded(name: &str) -> Source {
        let text = TEXTS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text);
        let text = text.unwrap_or_else(|| panic!("no kernel text is called {name}"));
        Source { name: name.into(), text: text.into(), constants: Vec::new(), kernels: Vec::new() }
    }

    /// Sets a constant.
    #[must_use]
    pub fn constant(mut self, name: &str, value: impl ToString) -> Source {
        self.constants.push((name.into(), value.to_string()));
        self
    }

    /// Asks for a kernel.
    #[must_use]
    pub fn kernel(mut self, expression: impl Into<String>) -> Source {
        self.kernels.push(expression.into());
        self
    }
}
