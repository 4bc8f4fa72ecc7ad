//! Every kernel compiles for every architecture that is supported, on machines without a GPU too.

use fangs::device::Source;
use fangs::device::nvrtc::Nvrtc;

/// The compiler; where `FANGS_REQUIRE_NVRTC` is set its absence fails.
fn compiler() -> Option<&'static Nvrtc> {
    match Nvrtc::get() {
        Ok(nvrtc) => Some(nvrtc),
        Err(error) if std::env::var_os("FANGS_REQUIRE_NVRTC").is_some() => panic!("{error}"),
        Err(error) => {
            eprintln!("no kernel was compiled: {error}");
            None
        }
    }
}

#[test]
fn errors_name_file_and_line() {
    let Some(nvrtc) = compiler() else { return };
    let text = "#include \"rng.cuh\"\n__global__ void broken() { missing(); }\n";
    let source = Source { name: "own.cu".into(), text: text.into(), constants: vec![], kernels: vec!["broken".into()] };
    let error = nvrtc.compile(&source, 90).expect_err("the function is missing").to_string();
    assert!(error.contains("own.cu(2)") && error.contains("missing"), "{error}");
}

#[test]
fn instances_get_symbols() {
    let Some(nvrtc) = compiler() else { return };
    let text = "#include \"rng.cuh\"\ntemplate <int N> __global__ void fill(u64 *out) { out[threadIdx.x] = mix(N, threadIdx.x); }\n";
    let source =
        Source { name: "own.cu".into(), text: text.into(), constants: vec![], kernels: vec!["fill<3>".into()] };
    for architecture in [70, 90, 100] {
        let image = nvrtc.compile(&source, architecture).expect("it is well-formed");
        assert_eq!(image.symbols[0].0, "fill<3>");
        assert!(image.symbols[0].1.starts_with("_Z4fill") && !image.code.is_empty());
    }
}

#[test]
fn the_engine_compiles_for_every_architecture() {
    let Some(nvrtc) = compiler() else { return };
    for architecture in [70, 75, 80, 86, 89, 90, 100] {
        for source in fangs::fang::cuda::sources() {
            let image = nvrtc.compile(&source, architecture).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(image.symbols.len(), source.kernels.len());
        }
    }
}
