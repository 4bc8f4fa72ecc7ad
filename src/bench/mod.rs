//! Measurements of the inner loops, as `fangs bench` reports them: medians on the device, by its events.

mod fang;
mod paper;

pub use fang::{FangOptions, FangRow, fang};

use crate::device::{Cuda, DeviceError};

/// Bytes that a copy on the device reads and writes a second: what memory allows.
pub fn copy_bandwidth(cuda: &Cuda) -> Result<f64, DeviceError> {
    const BYTES: usize = 1 << 30;
    let source = cuda.zeros::<u64>(BYTES / 8)?;
    let mut target = cuda.zeros::<u64>(BYTES / 8)?;
    let stream = cuda.stream();
    let copy = || {
        let copied = stream.memcpy_dtod(&source, &mut target);
        copied.map_err(|error| DeviceError::Failed { what: "copying on the device".into(), cause: error.to_string() })
    };
    let milliseconds = cuda.median_ms(2, 7, copy)?;
    Ok(2e3 * BYTES as f64 / milliseconds)
}
