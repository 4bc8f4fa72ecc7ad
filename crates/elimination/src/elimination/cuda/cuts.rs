//! Digits cut into boxes of tiles, and how a step runs in them.

use super::shape::Shape;
use super::variant::Variant;

/// A digit as it is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Which digit of the shape.
    pub digit: usize,
    /// Boxes, boxes of the digits before it, tiles of a box, values of a tile.
    pub boxes: u32,
    pub below: u32,
    pub extent: u32,
    pub tile: u32,
    /// The largest value that a tile begins at.
    pub last: u32,
}

/// How a step runs.
#[derive(Clone, Debug)]
pub(crate) struct Geometry {
    pub variant: Variant,
    /// The inputs in the order of their groups, and where each group ends.
    pub order: Vec<usize>,
    pub ends: [u32; 4],
    /// The digits of the tile.
    pub tile: [Option<usize>; 3],
    /// Of a box in stages, its values along them.
    pub values: [u32; 3],
    /// All digits, those that threads of a block share first.
    pub cuts: Vec<Cut>,
    /// Digits that vary within a block.
    pub spread: u32,
    pub threads: u32,
    /// Threads that share an output, as a power of two.
    pub split: u32,
    pub blocks: u64,
}

/// All digits as they are cut, those that vary within a block first; how many those are; and the number of blocks.
pub(crate) struct Cuts {
    pub cuts: Vec<Cut>,
    pub spread: u32,
    pub blocks: u64,
}

/// Cuts every digit into boxes of `extents` tiles of `tile` values, the last tile beginning at `last`; given are the
/// orders of the digits among the threads of a block and among the blocks, fastest first.
pub(crate) fn cut(
    shape: &Shape,
    threads: &[usize],
    blocks: &[usize],
    extents: &[u32],
    tile: impl Fn(usize) -> u32,
    last: impl Fn(usize) -> u32,
) -> Cuts {
    let mut below = vec![1u64; shape.digits.len()];
    let boxes = |digit: usize| shape.digits[digit].size.div_ceil(tile(digit)).div_ceil(extents[digit]);
    let mut product = 1u64;
    for &digit in blocks {
        below[digit] = product;
        product = product.saturating_mul(u64::from(boxes(digit)));
    }
    let (spread, fixed): (Vec<usize>, Vec<usize>) = threads.iter().partition(|&&digit| extents[digit] > 1);
    let cut = |&digit: &usize| Cut {
        digit,
        boxes: boxes(digit),
        below: below[digit] as u32,
        extent: extents[digit],
        tile: tile(digit),
        last: last(digit),
    };
    let cuts = spread.iter().chain(&fixed).map(cut).collect();
    Cuts { cuts, spread: spread.len() as u32, blocks: product }
}
