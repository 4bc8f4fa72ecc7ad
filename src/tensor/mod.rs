//! Tables over several variables: memory, strides, and how smaller tables lie along larger ones.

pub(crate) mod storage;
pub(crate) mod tiles;

pub use storage::Storage;

/// Products of the sizes to the right of each axis: the distances of neighbours along it.
pub(crate) fn strides(sizes: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; sizes.len()];
    for axis in (1..sizes.len()).rev() {
        strides[axis - 1] = strides[axis] * sizes[axis];
    }
    strides
}
