//! The algorithms of published papers on devices, and the tables of these papers, measured beside what Fangs does.
//!
//! Not a part of the product: `cargo run --release --package fangs-bench -- WHAT`. `fangs bench` measures the inner
//! loops of the product alone.

pub mod buckets;
pub mod cube;
pub mod dcop;
pub mod decide;
pub mod experiment;
mod factors;
pub mod single_bucket;
pub mod successors;
pub mod tables;
mod terms;

// other crates, by the names that their areas have everywhere
#[cfg(test)]
use fangs_base::rng;
use fangs_base::{error, memory, stop};
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

/// The kernels of published algorithms, to compile without a device.
pub fn sources() -> Vec<Source> {
    vec![successors::source(), buckets::source(), cube::source(), factors::source()]
}

/// Returns the run of median time out of three, after another one; that one alone if it takes longer than `long`.
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
