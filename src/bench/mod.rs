//! What the kernels reach, beside the published algorithms on the same device.

pub mod mbe;
