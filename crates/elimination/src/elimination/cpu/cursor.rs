//! The position of the current tile within an output table.

use super::join::Join;
use crate::algebra::Semiring;

/// The outer digits of a tile and its offset in each input.
pub(crate) struct Cursor {
    pub digits: Vec<usize>,
    pub offsets: Vec<usize>,
}

impl Cursor {
    /// Returns the cursor at tile number `tile`. Only this function divides.
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

    /// Moves to the next tile and returns the slowest digit that changed, counted from 1. After the last tile the
    /// cursor is at the first again and 0 is returned.
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
