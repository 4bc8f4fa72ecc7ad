//! Entries of tables, and where they stand.

use crate::model::Cost;
use std::ops::Add;

/// An entry of a table.
pub(crate) trait Entry:
    bytemuck::Pod + Ord + Default + Add<Output = Self> + std::fmt::Debug + Send + Sync
{
    /// From a cost that is known to fit.
    fn from_cost(cost: Cost) -> Self;
    /// As a cost.
    fn cost(self) -> Cost;
}

impl Entry for i32 {
    #[inline(always)]
    fn from_cost(cost: Cost) -> Self {
        cost as i32
    }
    #[inline(always)]
    fn cost(self) -> Cost {
        Cost::from(self)
    }
}

impl Entry for i64 {
    #[inline(always)]
    fn from_cost(cost: Cost) -> Self {
        cost
    }
    #[inline(always)]
    fn cost(self) -> Cost {
        self
    }
}

/// Products of the sizes to the right of each digit.
pub(crate) fn strides(sizes: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; sizes.len()];
    for digit in (1..sizes.len()).rev() {
        strides[digit - 1] = strides[digit] * sizes[digit];
    }
    strides
}
