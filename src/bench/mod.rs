//! Measurements of the inner loops, as `fangs bench` reports them: medians on the device, by its events.

mod buckets;
pub mod cube;
pub mod dcop;
pub mod decide;
mod fang;
pub mod mbe;
mod paper;
mod terms;

pub use fang::{FangOptions, FangRow, fang};

use crate::device::{Cuda, DeviceError};

/// Bytes that a copy on the device reads and writes a second: the memory bandwidth.
pub fn copy_bandwidth(cuda: &Cuda) -> Result<f64, DeviceError> {
    const BYTES: usize = 1 << 30;
    let source = cuda.zeros::<u64>(BYTES / 8)?;
    let mut target = cuda.zeros::<u64>(BYTES / 8)?;
    let milliseconds = cuda.median_ms(2, 7, || cuda.copy(&source, &mut target))?;
    Ok(2e3 * BYTES as f64 / milliseconds)
}
