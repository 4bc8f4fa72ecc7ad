//! Measurements of the inner loops, as `fangs bench` reports them: medians on the device, by its events.

mod buckets;
pub mod cube;
pub mod dcop;
pub mod decide;
mod factors;
mod fang;
pub mod mbe;
mod paper;
mod terms;

pub use fang::{FangOptions, FangRow, fang};

use crate::device::{Cuda, DeviceError, Source};
use crate::error::Error;

/// The kernels of published algorithms, to compile without a device.
pub fn sources() -> Vec<Source> {
    vec![buckets::source(), cube::source(), factors::source()]
}

/// Bytes that a copy on the device reads and writes a second: the memory bandwidth.
pub fn copy_bandwidth(cuda: &Cuda) -> Result<f64, DeviceError> {
    const BYTES: usize = 1 << 30;
    let source = cuda.zeros::<u64>(BYTES / 8)?;
    let mut target = cuda.zeros::<u64>(BYTES / 8)?;
    let milliseconds = cuda.median_ms(2, 7, || cuda.copy(&source, &mut target))?;
    Ok(2e3 * BYTES as f64 / milliseconds)
}

/// The run of median time out of three, after another one; that one alone where it takes longer than `long`.
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
