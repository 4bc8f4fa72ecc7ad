//! Benchmarks that compare Fangs with the algorithms of published papers on devices, with the tables of these papers,
//! and with plain annealing of large networks.
//!
//! This is not part of the product: `cargo run --release --package fangs-bench -- WHAT`. The inner loops of the product
//! alone are measured by `fangs bench`.

pub mod annealing;
pub mod buckets;
pub mod chromatic;
pub mod cube;
pub mod dcop;
pub mod decide;
pub mod experiment;
mod factors;
pub mod large;
pub mod single_bucket;
pub mod successors;
pub mod tables;
mod terms;

// other crates, under the names that all crates use for them
use fangs_base::{error, memory, rng, stop};
use fangs_bounds::reduce;
use fangs_device as device;
use fangs_elimination::{algebra, elimination, order, tensor};
use fangs_fang as fang;
use fangs_formats as formats;
use fangs_generate as generate;
use fangs_kernels as kernels;
use fangs_marginals as marginals;
use fangs_model::model;

use crate::device::Source;
use crate::error::Error;

/// Returns the sources of the published algorithms' kernels, which compile without a device.
pub fn sources() -> Vec<Source> {
    vec![chromatic::sources(), successors::source(), buckets::source(), cube::source(), factors::source()]
}

/// Returns the run of median time out of three, after one more run. If that one takes longer than `long` seconds, it is
/// returned at once.
fn median<T>(long: f64, mut run: impl FnMut() -> Result<(T, f64), Error>) -> Result<(T, f64), Error> {
    let first = run()?;
    if first.1 > long {
        return Ok(first);
    }
    let mut all = [run()?, run()?, run()?];
    all.sort_by(|a, b| a.1.total_cmp(&b.1));
    let [_, median, _] = all;
    Ok(median)
}
