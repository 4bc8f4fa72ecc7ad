//! Tables over several variables: memory, strides, and how smaller tables lie along larger ones.

pub(crate) mod storage;
pub(crate) mod tiles;

use std::fmt::Debug;
pub use storage::Storage;

/// An entry of a table: plain bytes.
pub trait Entry: bytemuck::Pod + Default + PartialEq + Debug + Send + Sync {}
impl<E: bytemuck::Pod + Default + PartialEq + Debug + Send + Sync> Entry for E {}

/// Products of the sizes to the right of each axis: the distances of neighbours along it.
pub(crate) fn strides(sizes: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; sizes.len()];
    for axis in (1..sizes.len()).rev() {
        strides[axis - 1] = strides[axis] * sizes[axis];
    }
    strides
}
