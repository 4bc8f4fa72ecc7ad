//! Tables over several variables: memory, strides, and how smaller tables lie along larger ones.

pub mod storage;
pub mod tiles;

pub use storage::Storage;

/// Products of the sizes to the right of each axis: the distances of neighbours along it.
pub fn strides(sizes: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; sizes.len()];
    for axis in (1..sizes.len()).rev() {
        strides[axis - 1] = strides[axis] * sizes[axis];
    }
    strides
}

/// Where a table has the entries that are left once some axes, each given by its size, have one value; in their order.
pub fn places(axes: impl Iterator<Item = (usize, Option<u32>)>) -> Vec<usize> {
    axes.fold(vec![0], |places, (size, fixed)| {
        let values = fixed.map_or(0..size, |value| value as usize..value as usize + 1);
        places.into_iter().flat_map(|place| values.clone().map(move |value| place * size + value)).collect()
    })
}
