//! Points on a plane, on a device: the host's side of `kernels/manhattan.cuh`.

#![allow(unsafe_code, reason = "kernel arguments are laid out as the device reads them")]

use super::domain::{Domain, Heuristic};
use crate::Active;
use crate::device::shared::device_structs;
use crate::device::{Cuda, DeviceError, Held, Source};
use crate::kernels;
use crate::manhattan::{Manhattan, Points};
use crate::rng::Rng;

device_structs! {
    /// The problem `Plane` of the CUDA source.
    #[derive(Clone, Copy, Debug)]
    pub struct Plane as "Plane" {
        goals: u64,
        load: u32,
        side: u32,
        reciprocal: u32,
        padding as "": u32,
    }
}

/// The workload with its goals on a device.
#[derive(Debug)]
pub struct ManhattanOnDevice {
    manhattan: Manhattan,
    load: usize,
    _goals: Held,
    plane: Plane,
}

impl ManhattanOnDevice {
    /// Copies the goals to the device.
    pub fn new(cuda: &Cuda, manhattan: &Manhattan) -> Result<Self, DeviceError> {
        let (side, load) = (manhattan.side(), manhattan.goals().first().map_or(0, Vec::len));
        let mut held = Held::default();
        let plane = Plane {
            goals: held.upload(cuda, &manhattan.goals().concat().concat())?,
            load: load as u32,
            side: side as u32,
            reciprocal: (1u64 << 32).div_ceil(side as u64) as u32,
            padding: 0,
        };
        Ok(ManhattanOnDevice { manhattan: manhattan.clone(), load, _goals: held, plane })
    }

    /// Returns the largest difference of two ratings of a variable: each distance changes by at most one from cell to
    /// cell.
    fn spread(&self) -> u64 {
        2 * self.load as u64 * (self.manhattan.side() as u64 - 1)
    }
}

// SAFETY: a state's words are its cells, and `goals` holds `load` goals for each variable.
unsafe impl Domain for ManhattanOnDevice {
    type State = Points;
    type Problem = Plane;

    fn source(&self) -> Source {
        kernels::source("manhattan.cuh").asserts::<Plane>()
    }

    fn heuristics(&self) -> Vec<Heuristic> {
        let side = self.manhattan.side();
        let possibilities = side * side - 1;
        // four cells at a time if their ratings fit 16 bits and the goals fit registers
        let packed = (5..=1023).contains(&side) && self.spread() <= 31743 && (1..=16).contains(&self.load);
        let (name, width, parts) =
            if packed { (format!("ManhattanPacked<{}>", self.load), 4, 2) } else { ("Manhattan".into(), 1, 1) };
        // Two registers for each pack and each goal. Up to 40 packs are faster than more threads, up to 20 with 16
        // goals.
        let keep = 40 - 20 * self.load.min(16) / 16;
        vec![Heuristic { name, possibilities, width, parts, keep, largest_sum: possibilities as u64 * self.spread() }]
    }

    fn variables(&self) -> usize {
        self.manhattan.variables()
    }

    fn words(&self) -> usize {
        2 * self.manhattan.variables()
    }

    fn problem(&self) -> &Plane {
        &self.plane
    }

    fn store(&self, state: &Points, words: &mut [u32]) {
        for (pair, cell) in words.chunks_exact_mut(2).zip(&state.cells) {
            pair.copy_from_slice(&cell.map(i32::cast_unsigned));
        }
    }

    fn load(&self, words: &[u32], active: Active, rng: Rng) -> Points {
        let cells = words.chunks_exact(2).map(|pair| [pair[0].cast_signed(), pair[1].cast_signed()]);
        Points::new(cells.collect(), active, rng)
    }
}
