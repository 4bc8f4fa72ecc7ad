//! Kernel texts: what is compiled, and everything that it may include.

use std::borrow::Cow;
use std::path::PathBuf;

/// All texts of `kernels/` and `heuristics/`, by the names that they are included by.
pub const TEXTS: &[(&str, &str)] = &[
    ("anneal.cu", include_str!("../../kernels/anneal.cu")),
    ("assign.cu", include_str!("../../kernels/assign.cu")),
    ("bench_paper_mbe.cu", include_str!("../../kernels/bench_paper_mbe.cu")),
    ("boltzmann.cuh", include_str!("../../heuristics/boltzmann.cuh")),
    ("bucket.cu", include_str!("../../kernels/bucket.cu")),
    ("bucket.cuh", include_str!("../../kernels/bucket.cuh")),
    ("bench_paper.cu", include_str!("../../kernels/bench_paper.cu")),
    ("core.cuh", include_str!("../../kernels/core.cuh")),
    ("ejection.cuh", include_str!("../../heuristics/ejection.cuh")),
    ("exchange.cuh", include_str!("../../heuristics/exchange.cuh")),
    ("expression.cuh", include_str!("../../kernels/expression.cuh")),
    ("fang.cuh", include_str!("../../kernels/fang.cuh")),
    ("trajectory.cuh", include_str!("../../kernels/trajectory.cuh")),
    ("frequency.cuh", include_str!("../../heuristics/frequency.cuh")),
    ("groups.cuh", include_str!("../../kernels/groups.cuh")),
    ("halves.cuh", include_str!("../../kernels/halves.cuh")),
    ("inputs.cuh", include_str!("../../kernels/inputs.cuh")),
    ("joingraph.cu", include_str!("../../kernels/joingraph.cu")),
    ("kempe.cuh", include_str!("../../heuristics/kempe.cuh")),
    ("manhattan.cuh", include_str!("../../heuristics/manhattan.cuh")),
    ("rating_cache.cuh", include_str!("../../kernels/rating_cache.cuh")),
    ("crossover.cuh", include_str!("../../kernels/crossover.cuh")),
    ("min_conflicts.cuh", include_str!("../../heuristics/min_conflicts.cuh")),
    ("mini_bucket.cuh", include_str!("../../heuristics/mini_bucket.cuh")),
    ("network.cuh", include_str!("../../heuristics/network.cuh")),
    ("rng.cuh", include_str!("../../kernels/rng.cuh")),
    ("satellite.cuh", include_str!("../../heuristics/satellite.cuh")),
    ("shift.cu", include_str!("../../kernels/shift.cu")),
    ("sparse.cu", include_str!("../../kernels/sparse.cu")),
    ("staged.cu", include_str!("../../kernels/staged.cu")),
    ("table.cuh", include_str!("../../heuristics/table.cuh")),
    ("tabu.cu", include_str!("../../kernels/tabu.cu")),
    ("state_lanes.cuh", include_str!("../../kernels/state_lanes.cuh")),
    ("tree_move.cuh", include_str!("../../kernels/tree_move.cuh")),
    ("weighting.cu", include_str!("../../kernels/weighting.cu")),
];

/// Representative instances of every area's kernels, one line an area; tests compile them for all architectures.
const AREAS: &[fn() -> Vec<Source>] = &[
    shared,
    crate::fang::cuda::sources,
    crate::heuristics::language::sources,
    crate::elimination::sources,
    crate::bounds::sources,
    crate::bench::mbe::sources,
    crate::search::sources,
];

/// All texts, those replaced that stand in the folder `FANGS_KERNELS`: whoever works on a kernel need not build the program
/// for each try.
pub(super) fn texts() -> Vec<(&'static str, Cow<'static, str>)> {
    let folder = std::env::var_os("FANGS_KERNELS").map(PathBuf::from);
    let text = |&(name, text): &(&'static str, &'static str)| {
        let replaced = folder.as_ref().and_then(|folder| std::fs::read_to_string(folder.join(name)).ok());
        (name, replaced.map_or(Cow::Borrowed(text), Cow::Owned))
    };
    TEXTS.iter().map(text).collect()
}

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
    /// Kernels wanted, as C++ expressions such as `sweep<4, 8>`; all are instantiated.
    pub kernels: Vec<String>,
    /// Macros set before the text: constants of the problem.
    pub constants: Vec<(String, String)>,
    /// The text; it includes others of [`TEXTS`] by name.
    pub text: String,
}

impl Source {
    /// A text of [`TEXTS`].
    ///
    /// # Panics
    /// Where there is no such text: the names are fixed when the program is built.
    pub fn embedded(name: &str) -> Source {
        let text = texts().into_iter().find(|(known, _)| *known == name).map(|(_, text)| text);
        let text = text.unwrap_or_else(|| panic!("no kernel text is called {name}"));
        Source { name: name.into(), text: text.into(), constants: Vec::new(), kernels: Vec::new() }
    }

    /// A text that has one of [`TEXTS`] in it and nothing else, to stand behind another.
    pub fn including(name: &str) -> Source {
        let text = format!("#include \"{name}\"\n");
        Source { name: name.into(), text, constants: Vec::new(), kernels: Vec::new() }
    }

    /// The texts that it includes, and those that they include, by name.
    pub fn includes(&self) -> Vec<(&'static str, Cow<'static, str>)> {
        let names = |text: &str| -> Vec<String> {
            let lines =
                text.lines().filter_map(|line| line.trim_start().strip_prefix("#include \"")?.split('"').next());
            lines.map(String::from).collect()
        };
        let (mut found, mut rest) = (Vec::new(), texts());
        let mut open = names(&self.text);
        while let Some(name) = open.pop() {
            // one that is not there is the compiler's to report
            if let Some(place) = rest.iter().position(|(known, _)| *known == name) {
                open.extend(names(&rest[place].1));
                found.push(rest.swap_remove(place));
            }
        }
        found.sort();
        found
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
