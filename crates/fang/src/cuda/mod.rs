//! FANG on a device: states reside there, heuristics are CUDA sources, and selections equal those of the CPU's engine
//! bit for bit.
//!
//! To run a domain on the device after it runs on the CPU (see the crate's documentation):
//!
//! 1. Write its heuristics in CUDA: structs with the functions that `kernels/fang.cuh` lists, one for each type of
//!    variable, that read a state's words and a `Problem`. `kernels/table.cuh` is the simplest example.
//! 2. Implement [`Domain`]: the source, the heuristics of the types, the content of the problem, and the conversion of
//!    a state to words and back.
//! 3. Make a [`Population`] of states and call [`Population::expand`].
//!
//! The paper's section 3.7 needs 12 bytes of memory for each possibility of each state. Here a possibility takes none,
//! because its rating is kept in registers or computed twice.

mod domain;
mod jumps;
pub mod launch;
mod manhattan;
pub(crate) mod population;

pub use domain::{Domain, Heuristic};
pub use launch::Shape;
pub use manhattan::ManhattanOnDevice;
pub use population::Population;

use crate::device::Source;
use crate::kernels;
use launch::Pass;
use manhattan::Plane;

/// Returns representative instances of all sources of the engine, for tests without a device.
pub fn sources() -> Vec<Source> {
    let manhattan = |load| format!("ManhattanPacked<{load}>");
    vec![
        kernels::source("manhattan.cuh")
            .asserts::<Plane>()
            .asserts::<Pass>()
            .kernel(format!("pass<32, true, u32, Slot<{}, 10>>", manhattan(1)))
            .kernel(format!("pass<64, true, u32, Slot<{}, 18>>", manhattan(16)))
            .kernel(format!("pass<128, true, u64, Slot<{}, 0>>", manhattan(1)))
            .kernel("pass<8, true, u64, Slot<Manhattan, 0>>"),
        kernels::source("table.cuh")
            .asserts::<Pass>()
            .kernel("pass<4, true, u64, Slot<Table<STRAIGHT>, 2>, Slot<Table<TURNED>, 2>, Slot<Table<WAKING>, 2>>")
            .kernel("pass<1024, false, u64, Slot<Table<STRAIGHT>, 0>>"),
    ]
}
