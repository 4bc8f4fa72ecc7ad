//! Elimination on a CUDA device, with the same plan and messages equal to the CPU's to the last bit.
//!
//! [`Program`] lays a plan out (tables in device memory, steps in levels, launches), `tile` decides how a step is
//! divided, and kernels/bucket.cu and kernels/staged.cu compute it. Functions are copied to the device once; messages
//! stay where they are made. The steps of a level of the bucket tree run in one launch for each kernel that they need,
//! and the host waits only at the end of a slice of work. A plan whose tables do not fit runs in `parts`, and the host
//! holds all messages (`stream`).

mod choose;
mod cuts;
mod decoder;
mod execution;
mod gpu;
mod measure;
mod parts;
mod program;
mod propagation;
mod running;
mod semiring;
mod shape;
mod stage;
mod staging;
mod stream;
pub(crate) mod texts;
mod tile;
mod variant;
mod words;

pub(crate) use decoder::Decoder;
pub use execution::{Execution, Resident};
pub use gpu::{Gpu, Text};
pub use measure::{Measured, measure};
pub use program::{Content, DeviceTable, Expected, Made, Pairing, Program, Wanted};
pub use propagation::Propagation;
pub use running::{Machine, Running};
pub use semiring::{DeviceSemiring, Element};
pub use shape::Chip;
pub use stream::Streamed;
pub(crate) use variant::{Kinds, Phase, Role, Staged, Variant};

#[doc(hidden)]
pub mod emulator;
#[cfg(test)]
mod tests;
#[doc(hidden)]
pub use {
    emulator::{EMULATED, EmulatedMachine},
    program::Back,
};
