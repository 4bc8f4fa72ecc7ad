//! The CUDA source of heuristics compiles, and a device computes the CPU's weights bit for bit.

use super::random::{INPUTS_AND_TABLES, Sample, Visit};
use super::{DOMAINS, Setting};
use fangs_base::rng::Rng;
use fangs_device::{Blocks, PushKernelArg, Source};
use fangs_heuristics::INPUTS;
use fangs_heuristics::language::{Heuristic, Scratch};
use fangs_testing::{gpu, nvrtc};
use rayon::prelude::*;

/// A kernel with a visit per thread. Values are processed in two parts, so that aggregates are merged.
const KERNEL: &str = "
template <class H>
__global__ void weigh(const double *fields, const u32 *starts, u32 visits, u32 *weights, u32 *flags) {
    const u32 visit = blockIdx.x * blockDim.x + threadIdx.x;
    if (visit >= visits) return;
    const typename H::Known *known = (const typename H::Known *)fields;
    const u32 start = starts[visit], end = starts[visit + 1];
    typename H::Aggregates all = H::none();
    for (int pass = 0; pass < H::PASSES; pass++) {
        typename H::Aggregates parts[2] = {all, all};
        for (u32 i = start; i < end; i++) H::accumulate(pass, known[i], parts[i % 2]);
        H::merge(pass, parts[0], parts[1]);
        all = parts[0];
    }
    u32 strange = 0;
    for (u32 i = start; i < end; i++) {
        weights[i] = H::weight(known[i], all);
        strange += H::nonsense(known[i], all);
    }
    flags[visit] = (strange > 0) * 2 + H::active(known[start]);
}
";

/// Number of samples per source.
const BATCH: usize = 50;

/// Returns the source of samples.
fn source(heuristics: &[Heuristic]) -> Source {
    let names: Vec<String> = (0..heuristics.len()).map(|index| format!("Sample{index}")).collect();
    let structs: String = names.iter().zip(heuristics).map(|(name, heuristic)| heuristic.cuda(name)).collect();
    let source = fangs_kernels::own("samples.cu", structs + KERNEL);
    names.iter().fold(source, |source, name| source.kernel(format!("weigh<{name}>")))
}

#[test]
fn texts_of_random_heuristics_compile() {
    let Some(nvrtc) = nvrtc() else { return };
    let mut rng = Rng::new(6);
    let setting = Setting::new(&mut rng);
    let heuristics: Vec<Heuristic> = (0..200).map(|_| setting.heuristic(&Sample::random(&mut rng))).collect();
    heuristics.par_chunks(BATCH).for_each(|heuristics| {
        let image = nvrtc.compile(&source(heuristics), 90).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(image.symbols.len(), heuristics.len());
    });
}

#[test]
fn a_heuristic_that_tells_its_largest_weight_makes_one_pass() {
    let passes = |text: &str| {
        let text = Heuristic::parse("h", text, &[]).unwrap_or_else(|error| panic!("{error}")).cuda("Mine");
        let line = text.lines().find_map(|line| line.trim().strip_prefix("static constexpr int PASSES = "));
        line.and_then(|line| line.strip_suffix(';')?.parse::<u32>().ok()).expect("it says so")
    };
    assert_eq!(passes(include_str!("../../heuristics/boltzmann.toml")), 1);
    assert_eq!(passes("rating = \"cost\""), 1);
    assert_eq!(passes("rating = \"cost\"\nweight = \"rating == best(rating)\""), 1);
    assert_eq!(passes("rating = \"cost\"\nweight = \"1 / (1 + rating)\""), 1);
    assert_eq!(passes("rating = \"cost - min(cost)\"\nweight = \"exp(-rating / max(rating))\""), 3);
}

#[test]
fn the_struct_of_inputs_has_the_list_s_names() {
    let text = include_str!("../../kernels/inputs.cuh");
    let body =
        text.split("struct Inputs {").nth(1).and_then(|rest| rest.split('}').next()).expect("there is the struct");
    let names: Vec<&str> =
        body.split([',', ';']).map(|name| name.trim().trim_start_matches("double ").trim()).collect();
    let names: Vec<&str> = names.into_iter().filter(|name| !name.is_empty()).collect();
    assert_eq!(names, INPUTS.iter().map(|input| input.name).collect::<Vec<_>>());
}

#[test]
fn a_device_weighs_as_the_cpu_does() {
    let Some(cuda) = gpu() else { return };
    let mut rng = Rng::new(7);
    let setting = Setting::new(&mut rng);
    let mut scratch = Scratch::default();
    let samples: Vec<Sample> = (0..2000).map(|_| Sample::random(&mut rng)).collect();
    let heuristics: Vec<Heuristic> = samples.iter().map(|sample| setting.heuristic(sample)).collect();
    // the compiler uses one thread per source, and would take minutes for a single source
    let load = |heuristics: &[Heuristic]| {
        let source = source(heuristics);
        let module = cuda.load(&source).unwrap_or_else(|error| panic!("{error}"));
        (source, module)
    };
    let modules: Vec<_> = heuristics.par_chunks(BATCH).map(load).collect();
    let batches = samples.chunks(BATCH).zip(heuristics.chunks(BATCH)).zip(&modules).enumerate();
    for (batch, ((samples, heuristics), (source, module))) in batches {
        for ((sample, heuristic), kernel) in samples.iter().zip(heuristics).zip(&source.kernels) {
            let visits: Vec<Visit> =
                (0..3 * DOMAINS.len()).map(|i| setting.visit(&mut rng, i % DOMAINS.len())).collect();
            let mut starts = vec![0u32];
            let (mut fields, mut expected, mut flags) = (Vec::new(), Vec::new(), Vec::new());
            for visit in &visits {
                let mut weights = vec![0; visit.known.len()];
                let weighed = heuristic.weigh(visit.variable, visit, &mut scratch, &mut weights);
                let active = heuristic.active(visit.variable, visit, &mut scratch);
                flags.push(u32::from(weighed.nonsense.is_some()) * 2 + u32::from(active));
                fields.extend(visit.known.iter().flatten().copied());
                expected.extend(weights);
                starts.push(expected.len() as u32);
            }
            assert_eq!(fields.len(), expected.len() * INPUTS_AND_TABLES);
            let (fields, starts) = (cuda.upload(&fields).unwrap(), cuda.upload(&starts).unwrap());
            let (mut weights, mut found) =
                (cuda.zeros::<u32>(expected.len()).unwrap(), cuda.zeros::<u32>(visits.len()).unwrap());
            let count = visits.len() as u32;
            let launched = module.kernel(kernel, 0).map(|kernel| {
                // SAFETY: the arguments are those of `weigh`.
                unsafe {
                    kernel.launch(cuda.stream(), Blocks::new(1, 32), |arguments| {
                        arguments.arg(&fields).arg(&starts).arg(&count).arg(&mut weights).arg(&mut found)
                    })
                }
            });
            launched.unwrap().unwrap();
            let text = || format!("batch {batch}, {kernel}\n{}", sample.text("", ""));
            assert_eq!(cuda.read(&weights).unwrap(), expected, "{}", text());
            assert_eq!(cuda.read(&found).unwrap(), flags, "{}", text());
        }
    }
}
