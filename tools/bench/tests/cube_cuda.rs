//! Compares the kernels of the published propagation, and those of Fangs, with the CPU on junction trees.

use fangs_base::rng::Rng;
use fangs_base::stop::Stop;
use fangs_bench::cube::{CubeOptions, cube};
use fangs_elimination::elimination::Gpu;
use fangs_marginals::{Evidence, Options, compute};
use fangs_model::model::{Potentials, Variable};
use fangs_testing::{gpu, product};

/// Returns a chain of cliques that are larger than a block.
fn chain(rng: &mut Rng, values: u32) -> Potentials {
    let mut chain = Potentials::new("chain");
    for _ in 0..6 {
        let _ = chain.variable(Variable { domain: values, name: None, values: None }).expect("it has values");
    }
    for scope in [[0, 1, 2], [1, 2, 3], [1, 4, 3], [5, 3, 4]] {
        let table: Vec<f64> = (0..values.pow(3)).map(|_| rng.below(1000) as f64 / 1000.0).collect();
        chain.function(&scope, &table).expect("it fits");
    }
    chain
}

#[test]
fn the_published_kernels_come_to_the_sums_and_posteriors_of_the_cpu() {
    let Some(cuda) = gpu() else { return };
    let gpu = Gpu::new(cuda);
    let options = CubeOptions { gpu: Some(&gpu), cpu: true, memory: 1 << 32, repeats: 2 };
    let mut rng = Rng::new(84);
    let mut compared = 0;
    for case in 0..60 {
        let potentials = match case % 6 {
            5 => chain(&mut rng, 2 + case as u32 / 2),
            _ => product(&mut rng, 1 + case % 14),
        };
        let own = compute(&potentials, &Evidence::default(), &Options::default(), &Stop::new()).expect("it fits");
        // posteriors that differ are errors
        let row = cube(&potentials, options, &Stop::new()).unwrap_or_else(|error| panic!("case {case}: {error}"));
        assert_eq!(row.published_ln_z.is_some(), own.ln_z > f64::NEG_INFINITY, "case {case}: {row:?}");
        if let Some(published) = row.published_ln_z {
            assert!((published - own.ln_z).abs() < 1e-11, "case {case}: {published}, {} on the CPU", own.ln_z);
            assert!(row.published_ms.is_some() && row.published_rearrange_ms.is_some(), "case {case}: {row:?}");
            compared += 1;
        }
    }
    assert!(compared > 30, "{compared}");
}
