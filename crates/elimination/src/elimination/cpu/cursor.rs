//! Which tile of an output table is being made.

use super::join::Join;
use crate::algebra::Semiring;

/// Where the tiles are: the outer digits and the offset of each input.
pub(crate) struct Cursor {
    pub digits: Vec<usize>,
    pub offsets: Vec<usize>,
}

impl Cursor {
    /// At tile number `tile`; the only place that divides.
    pub fn new<S: Semiring>(join: &Join<'_, S>, mut tile: usize) -> Self {
        let mut digits = vec![0; join.sizes.len()];
        for (digit, &size) in digits.iter_mut().zip(&join.sizes).rev() {
            *digit = tile % size;
            tile /= size;
        }
        let mut offsets = vec![0; join.operands];
        for operand in join.each() {
            offsets[operand.index] = operand.outer.iter().zip(&digits).map(|(&stride, &digit)| stride * digit).sum();
        }
        Cursor { digits, offsets }
    }

    /// Goes to the next tile; returns the slowest digit that moved, counted from 1. After the last tile it is
    /// back at the first.
    #[inline(always)]
    pub fn advance<S: Semiring>(&mut self, join: &Join<'_, S>) -> usize {
        for digit in (0..self.digits.len()).rev() {
            let size = join.sizes[digit];
            self.digits[digit] += 1;
            let wrapped = self.digits[digit] == size;
            if wrapped {
                self.digits[digit] = 0;
            }
            for operand in join.each() {
                let offset = &mut self.offsets[operand.index];
                *offset += operand.outer[digit];
                if wrapped {
                    *offset -= operand.outer[digit] * size;
                }
            }
            if !wrapped {
                return digit + 1;
            }
        }
        0
    }
}
