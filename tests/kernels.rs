//! Every kernel compiles for every supported architecture, also on machines without a GPU.

use fangs_bounds::bounds;
use fangs_decide as decide;
use fangs_device::Source;
use fangs_elimination::elimination;
use fangs_fang as fang;
use fangs_heuristics as heuristics;
use fangs_kernels::{self as kernels, TEXTS};
use fangs_search as search;
use fangs_testing::nvrtc;
use rayon::prelude::*;
use std::collections::BTreeSet;

/// Volta, Turing, both Ampere architectures, Ada, Hopper, Blackwell.
const ARCHITECTURES: [i32; 7] = [70, 75, 80, 86, 89, 90, 100];

/// Representative kernels of every area, one line per area.
const AREAS: &[fn() -> Vec<Source>] = &[
    shared,
    fang::cuda::sources,
    heuristics::language::sources,
    elimination::sources,
    bounds::sources,
    decide::sources,
    search::sources,
];

/// Returns sources without an area.
fn shared() -> Vec<Source> {
    vec![kernels::source("rng.cuh")]
}

/// Returns the kernels of the product: every source is compiled, or included by a compiled one.
fn product() -> impl Iterator<Item = Source> {
    AREAS.iter().flat_map(|sources| sources())
}

/// Returns all kernels: those of the product, and those that only benchmarks compile.
fn sources() -> impl Iterator<Item = Source> {
    product().chain(fangs_bench::sources())
}

/// Returns a source that is not a file, with one kernel.
fn own(text: &str, kernel: &str) -> Source {
    kernels::own("own.cu", text).kernel(kernel)
}

#[test]
fn all_kernels_compile_for_all_architectures() {
    let Some(nvrtc) = nvrtc() else { return };
    let known = nvrtc.architectures().expect("the compiler knows what it compiles for");
    let wanted: Vec<i32> = ARCHITECTURES.into_iter().filter(|architecture| known.contains(architecture)).collect();
    let (oldest, latest) = (wanted.iter().min(), wanted.iter().max());
    // only both ends of the range, because a compilation takes seconds, and what depends on the architecture hardly
    // depends on template arguments
    let mut seen = BTreeSet::new();
    let mut jobs = Vec::new();
    for source in sources() {
        let first = seen.insert(source.name.clone());
        let ends = |architecture: &&i32| first || Some(*architecture) == oldest || Some(*architecture) == latest;
        jobs.extend(wanted.iter().filter(ends).map(|&architecture| (source.clone(), architecture)));
    }
    assert!(wanted.contains(&90));
    let failures: Vec<String> = jobs
        .par_iter()
        .filter_map(|(source, architecture)| match nvrtc.compile(source, *architecture) {
            Ok(image) if image.symbols.len() == source.kernels.len() => None,
            Ok(image) => Some(format!("{}: only the kernels {:?}", source.name, image.symbols)),
            Err(error) => Some(error.to_string()),
        })
        .collect();
    assert!(failures.is_empty(), "{} of {} failed:\n{}", failures.len(), jobs.len(), failures.join("\n"));
}

/// Returns the names of the kernel sources in some folders.
fn texts(folders: &[&str]) -> BTreeSet<String> {
    let folders = folders.iter().flat_map(std::fs::read_dir);
    let names = folders.flatten().flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.ends_with(".cu") || name.ends_with(".cuh")).collect()
}

#[test]
fn every_text_is_embedded_and_compiled() {
    for (folder, embedded) in [("kernels", TEXTS), ("heuristics", fangs_heuristics::TEXTS)] {
        assert_eq!(texts(&[folder]), embedded.iter().map(|(name, _)| name.to_string()).collect(), "{folder}");
    }
    let files = texts(&["kernels", "heuristics"]);

    let names = |source: &Source| -> Vec<String> {
        source.includes().iter().map(|(name, _)| name.to_string()).chain([source.name.clone()]).collect()
    };
    let compiled: BTreeSet<String> = product().flat_map(|source| names(&source)).collect();
    let missing: Vec<_> = files.difference(&compiled).collect();
    assert!(missing.is_empty(), "no area's sources compile {missing:?}");

    let mut compiled: BTreeSet<String> = fangs_bench::sources().into_iter().map(|source| source.name).collect();
    let _ = compiled.insert("terms.cuh".into());
    assert_eq!(texts(&["tools/bench/kernels"]), compiled, "benchmarks compile what their folder holds");
}

#[test]
fn errors_name_file_and_line() {
    let Some(nvrtc) = nvrtc() else { return };
    let source = own("#include \"rng.cuh\"\n__global__ void broken() { missing(); }\n", "broken");
    let error = nvrtc.compile(&source, 90).expect_err("the function is missing").to_string();
    assert!(error.contains("own.cu(2)") && error.contains("missing"), "{error}");
}

#[test]
fn kernels_that_the_text_does_not_have_are_named() {
    let Some(nvrtc) = nvrtc() else { return };
    let error = nvrtc.compile(&own("template <int N> __global__ void some() {}\n", "other<3>"), 90);
    let error = error.expect_err("there is no such kernel").to_string();
    assert!(error.contains("own.cu") && error.contains("other"), "{error}");
}

#[test]
fn instances_get_symbols() {
    let Some(nvrtc) = nvrtc() else { return };
    let text = "#include \"rng.cuh\"\n\
                template <int N> __global__ void fill(u64 *out) { out[threadIdx.x] = mix(N, threadIdx.x); }\n";
    for architecture in [70, 90, 100] {
        let image = nvrtc.compile(&own(text, "fill<3>"), architecture).expect("it is well-formed");
        assert_eq!(image.symbols[0].0, "fill<3>");
        assert!(image.symbols[0].1.starts_with("_Z4fill") && !image.code.is_empty());
    }
}
