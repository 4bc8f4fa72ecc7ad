//! Tables over several variables: memory, strides, and the layout of smaller tables along larger ones.

pub mod storage;
pub mod tiles;

pub use storage::Storage;

/// Returns the strides of a table: for each axis the product of the sizes of the axes to its right.
pub fn strides(sizes: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; sizes.len()];
    for axis in (1..sizes.len()).rev() {
        strides[axis - 1] = strides[axis] * sizes[axis];
    }
    strides
}

/// Returns the indices of the entries that are left if some axes, given as (size, fixed value), have one value, in
/// their order.
pub fn places(axes: impl Iterator<Item = (usize, Option<u32>)>) -> Vec<usize> {
    axes.fold(vec![0], |places, (size, fixed)| {
        let values = fixed.map_or(0..size, |value| value as usize..value as usize + 1);
        places.into_iter().flat_map(|place| values.clone().map(move |value| place * size + value)).collect()
    })
}
