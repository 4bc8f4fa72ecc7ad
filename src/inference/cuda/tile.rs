//! How a step is cut for the device: digits merged, a register tile, a box of tiles for a block, a number of blocks.
//!
//! The terms are those of kernels/bucket.cu. Everything here is decided from sizes and strides alone.

use super::choose::{Choice, choose};

/// Threads of a block.
const THREADS: u32 = 256;
/// The same of steps that are made in tiles.
pub(super) const TILE_THREADS: u32 = 256;
/// Inputs that a kernel takes.
pub(super) const INPUTS: usize = 12;
/// Digits of a message that is made in tiles.
pub(super) const TILE_DIGITS: usize = 12;
/// Bytes that the threads of a block may span in a table: their offsets have 32 bits.
const SPAN: u64 = u32::MAX as u64;
/// Threads that keep every multiprocessor of a large device busy.
const BUSY: u64 = 1 << 16;
/// Joint entries below which no tile is worth its kernel.
const TILED: u64 = 1 << 22;
/// Capped entries that add up within the entry type (see `Plan::new`): so many inputs need no cap on the way.
const TERMS: usize = 5;
/// Inputs of a group that kernels are compiled for.
const FEW: usize = 3;

/// A digit of a message: how many values, and from one value to the next in the message and in each input (entries;
/// 0 where the input does not read it).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Digit {
    pub size: u32,
    pub out: u64,
    pub inputs: Vec<u64>,
}

/// What a step computes, as sizes and strides in entries. Digits go from the slowest to the fastest.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    /// Values of the variable that the minimum is taken over.
    pub domain: u32,
    /// By input, from one of these values to the next.
    pub slabs: Vec<u64>,
    pub digits: Vec<Digit>,
}

impl Shape {
    /// Joins neighbouring digits that every table counts through in one go, and drops those of one value.
    pub fn merged(mut self) -> Shape {
        self.digits.retain(|digit| digit.size > 1);
        let mut merged: Vec<Digit> = Vec::with_capacity(self.digits.len());
        for digit in self.digits {
            if let Some(slow) = merged.last_mut() {
                let size = u64::from(digit.size);
                let whole = |slow: u64, fast: u64| slow == fast * size;
                let all = slow.inputs.iter().zip(&digit.inputs).all(|(&slow, &fast)| whole(slow, fast));
                if let (true, Some(size)) = (all && whole(slow.out, digit.out), slow.size.checked_mul(digit.size)) {
                    *slow = Digit { size, ..digit };
                    continue;
                }
            }
            merged.push(digit);
        }
        Shape { digits: merged, ..self }
    }

    pub fn outputs(&self) -> u64 {
        self.digits.iter().fold(1, |product, digit| product.saturating_mul(u64::from(digit.size)))
    }
}

/// What a group of inputs is that a kernel is compiled for: few, so many of which have neighbours along the fastest
/// digit side by side and so many of which do not read that digit; or any number of inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kinds {
    Few { runs: u32, singles: u32 },
    Many,
}

impl Kinds {
    pub const NONE: Kinds = Kinds::Few { runs: 0, singles: 0 };

    /// As kernels/bucket.cu has it: a digit of base 4 for each input, 1 for a run and 2 for a single entry.
    fn code(self) -> i32 {
        match self {
            Kinds::Few { runs, singles } => {
                (0..runs + singles).fold(0, |code, k| 4 * code + if k < singles { 2 } else { 1 })
            }
            Kinds::Many => -1,
        }
    }
}

/// A kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Variant {
    /// An output a thread, or several threads an output.
    Each,
    /// A register tile along three digits and the fastest one; the groups `xy`, `xz`, `yz` and `xyz`.
    Tile([u32; 4], [Kinds; 4]),
}

impl Variant {
    /// Threads of its blocks.
    pub fn threads(&self) -> u32 {
        match self {
            Variant::Each => THREADS,
            Variant::Tile(..) => TILE_THREADS,
        }
    }

    /// Its name in kernels/bucket.cu for entries of a C type.
    pub fn expression(&self, entry: &str) -> String {
        match self {
            Variant::Each => format!("join_each<{entry}>"),
            Variant::Tile([x, y, z, run], groups) => {
                let [xy, xz, yz, xyz] = groups.map(Kinds::code);
                format!("join_tile<{entry}, {x}, {y}, {z}, {run}, {xy}, {xz}, {yz}, {xyz}>")
            }
        }
    }
}

/// A digit as it is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
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
pub(super) struct Geometry {
    pub variant: Variant,
    /// The inputs in the order of their groups, and where each group ends.
    pub order: Vec<usize>,
    pub ends: [u32; 4],
    /// The digits of the tile.
    pub tile: [Option<usize>; 3],
    /// All digits, those that threads of a block share first.
    pub cuts: Vec<Cut>,
    /// Digits that vary within a block.
    pub spread: u32,
    pub threads: u32,
    /// Threads that share an output, as a power of two.
    pub split: u32,
    pub blocks: u64,
}

impl Geometry {
    /// Cuts a merged shape whose entries take `bytes` for a device of so many multiprocessors.
    pub fn new(shape: &Shape, bytes: u64, processors: u32) -> Geometry {
        let joint = shape.outputs().saturating_mul(u64::from(shape.domain));
        let tiles = joint >= TILED && shape.digits.len() <= TILE_DIGITS;
        let choice = if tiles { choose(shape, bytes, processors) } else { None };
        choice.map_or_else(|| each(shape, bytes), |choice| tiled(shape, &choice))
    }
}

/// Values made for each value wanted, where tiles of `tile` cover `size`.
pub(super) fn waste(size: u32, tile: u32) -> f64 {
    f64::from(size.div_ceil(tile) * tile) / f64::from(size)
}

/// Whether a block that covers so many values of each digit stays within the offsets that threads have.
pub(super) fn within(shape: &Shape, bytes: u64, values: impl Fn(usize) -> u32) -> bool {
    (0..shape.slabs.len()).all(|input| {
        let reach = |(number, digit): (usize, &Digit)| digit.inputs[input].saturating_mul(u64::from(values(number)));
        let span = shape.digits.iter().enumerate().map(reach).fold(0, u64::saturating_add);
        span.saturating_mul(bytes) <= SPAN
    })
}

/// Tiles of a box along a digit of `units`: about `wanted`, more where that wastes less.
pub(super) fn extent(units: u32, wanted: u32, most: u32) -> u32 {
    let (wanted, most) = (wanted.clamp(1, most), most.min(wanted.saturating_mul(2)).max(1));
    if units <= most {
        return units;
    }
    let score = |extent: u32| {
        // whole warps along a row load aligned runs
        waste(units, extent) * if extent.is_multiple_of(32) { 1.0 } else { 1.03 }
    };
    (wanted..=most).min_by(|&a, &b| score(a).total_cmp(&score(b))).unwrap_or(1)
}

fn each(shape: &Shape, bytes: u64) -> Geometry {
    let outputs = shape.outputs();
    let mut split = 0;
    while split < 5 && outputs << split < BUSY && 2 << split <= shape.domain {
        split += 1;
    }
    let most = THREADS >> split;
    let mut extents = vec![1u32; shape.digits.len()];
    let mut threads = 1;
    for digit in (0..shape.digits.len()).rev() {
        let room = most / threads;
        let size = shape.digits[digit].size;
        let extent = if size <= room { size } else { extent(size, room.div_ceil(2), room) };
        extents[digit] = extent;
        if extent < 2 || !within(shape, bytes, |digit| extents[digit]) {
            extents[digit] = 1;
            break;
        }
        threads *= extent;
    }
    let inputs = shape.slabs.len();
    let order: Vec<usize> = (0..shape.digits.len()).rev().collect();
    let (cuts, spread, blocks) = cut(shape, &order, &order, &extents, |_| 1);
    Geometry {
        variant: Variant::Each,
        order: (0..inputs).collect(),
        ends: [inputs as u32; 4],
        tile: [None; 3],
        cuts,
        spread,
        threads: threads << split,
        split,
        blocks,
    }
}

fn tiled(shape: &Shape, choice: &Choice) -> Geometry {
    let Choice { tile, digits, extents, .. } = choice;
    let mut groups: [Vec<usize>; 4] = Default::default();
    for input in 0..shape.slabs.len() {
        groups[choice.group(shape, input).0].push(input);
    }
    let fastest = shape.digits.len() - 1;
    // runs first
    let single = |input: usize| tile[3] > 1 && shape.digits[fastest].inputs[input] == 0;
    for group in &mut groups {
        group.sort_by_key(|&input| single(input));
    }
    let mut end = 0;
    let ends = [0, 1, 2, 3].map(|number: usize| {
        end += groups[number].len() as u32;
        end
    });
    let few = shape.slabs.len() <= TERMS && groups[..3].iter().all(|group| group.len() <= FEW);
    let kinds = [0, 1, 2, 3].map(|number: usize| {
        let group = &groups[number];
        let singles = group.iter().filter(|&&input| single(input)).count() as u32;
        let runs = group.len() as u32 - singles;
        match group.is_empty() || (few && number < 3) {
            true => Kinds::Few { runs, singles },
            false => Kinds::Many,
        }
    });
    // blocks that follow each other share what they read: the tile's digits run fastest
    let own: Vec<usize> = digits.iter().rev().flatten().copied().collect();
    let lanes: Vec<usize> = (0..=fastest).rev().filter(|digit| !own.contains(digit)).collect();
    let threads_order: Vec<usize> = lanes.iter().copied().chain(own.iter().copied()).collect();
    let blocks_order: Vec<usize> = own.iter().chain(&lanes).copied().collect();
    let (cuts, spread, blocks) =
        cut(shape, &threads_order, &blocks_order, extents, |digit| choice.values(shape, digit));
    Geometry {
        variant: Variant::Tile(*tile, kinds),
        order: groups.concat(),
        ends,
        tile: [0, 1, 2].map(|place| if tile[place] > 1 { digits[place] } else { None }),
        cuts,
        spread,
        threads: extents.iter().product(),
        split: 0,
        blocks,
    }
}

/// Cuts every digit; those that vary within a block come first, in the order of the threads.
fn cut(
    shape: &Shape,
    threads: &[usize],
    blocks: &[usize],
    extents: &[u32],
    tile: impl Fn(usize) -> u32,
) -> (Vec<Cut>, u32, u64) {
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
        last: match tile(digit) {
            tile if digit + 1 == shape.digits.len() => shape.digits[digit].size.next_multiple_of(tile) - tile,
            tile => shape.digits[digit].size - tile,
        },
    };
    (spread.iter().chain(&fixed).map(cut).collect(), spread.len() as u32, product)
}
