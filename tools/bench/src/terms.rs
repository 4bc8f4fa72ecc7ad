//! The mapping from the rows of a larger or rearranged table to the entries of a table: `terms.cuh`.

use crate::device::Source;
use crate::device::shared::device_structs;
use crate::kernels;

/// The maximum number of axes of a table in the kernels.
pub(super) const AXES: usize = 24;

device_structs! {
    /// Mirrors `Terms` in `terms.cuh`.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct Terms as "Terms" {
        digits: u32,
        mul: [u32; 24],
        modulus as "mod": [u32; 24],
        padding as "": u32,
        div: [u64; 24],
    }
}

/// Returns the source of kernels that use `terms.cuh`, which precedes them.
pub(super) fn before(name: &str, text: &str) -> Source {
    kernels::own(name, format!("{}\n{text}", include_str!("../kernels/terms.cuh")))
}

impl Terms {
    /// Returns the mapping for a table whose axes are among those of `sizes`, in that order.
    pub fn new(axes: &[usize], sizes: &[u32]) -> Terms {
        let mut terms =
            Terms { digits: axes.len() as u32, mul: [0; AXES], modulus: [1; AXES], padding: 0, div: [1; AXES] };
        let mut stride = 1;
        for (place, &axis) in axes.iter().enumerate().rev() {
            terms.mul[place] = stride;
            terms.modulus[place] = sizes[axis];
            terms.div[place] = sizes[axis + 1..].iter().map(|&size| u64::from(size)).product();
            stride *= sizes[axis];
        }
        terms
    }

    /// Returns the entry of a row, as the kernels compute it.
    #[cfg(test)]
    pub fn place(&self, row: u64) -> usize {
        let digit = |i: usize| self.mul[i] * (row / self.div[i] % u64::from(self.modulus[i])) as u32;
        (0..self.digits as usize).map(digit).sum::<u32>() as usize
    }
}
