//! Division of digits into boxes of tiles, and the geometry with which a step runs in them.

use super::shape::Shape;
use super::variant::Variant;

/// The division of a digit into boxes of tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Index of the digit in the shape.
    pub digit: usize,
    /// Number of boxes along the digit. `below` is the number of boxes of the digits before it, `extent` the number of
    /// tiles of a box, and `tile` the number of values of a tile.
    pub boxes: u32,
    pub below: u32,
    pub extent: u32,
    pub tile: u32,
    /// The largest value at which a tile begins.
    pub last: u32,
}

/// The geometry with which a step runs: kernel, digits, threads and blocks.
#[derive(Clone, Debug)]
pub(crate) struct Geometry {
    pub variant: Variant,
    /// The inputs in the order of their groups; `ends` has the end of each group in it.
    pub order: Vec<usize>,
    pub ends: [u32; 4],
    /// The digits of the tile.
    pub tile: [Option<usize>; 3],
    /// Of a box of the staged kernel, its number of values along the tile's digits.
    pub values: [u32; 3],
    /// All digits, those that vary within a block first.
    pub cuts: Vec<Cut>,
    /// Number of digits that vary within a block.
    pub spread: u32,
    pub threads: u32,
    /// Binary logarithm of the number of threads that share an output.
    pub split: u32,
    pub blocks: u64,
}

/// The division of all digits, those that vary within a block first; the number of those; and the number of blocks.
pub(crate) struct Cuts {
    pub cuts: Vec<Cut>,
    pub spread: u32,
    pub blocks: u64,
}

/// Divides every digit into boxes of `extents` tiles of `tile` values, the last tile beginning at value `last`.
/// `threads` and `blocks` are the orders of the digits among the threads of a block and among the blocks, fastest
/// first.
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
