//! Division of a step for the device: merged digits, a register tile, the tiles of a block, and the number of blocks.
//!
//! The terms are those of kernels/bucket.cu. Everything is decided from sizes and strides alone.

use super::choose::{Choice, choose};
use super::cuts::{Cuts, Geometry, cut};
use super::shape::{BUSY, Chip, FEW, Shape, TERMS, THREADS, TILE_DIGITS, extent, within};
use super::stage::stage;
use super::variant::{Kinds, Role, Variant};

/// Combinations below which no tile is worth the compilation of its kernel.
const TILED: u64 = 1 << 22;
/// Number of adjacent entries that threads of a warp read together if the fastest digit is folded over.
const SIDE: u32 = 16;

impl Geometry {
    /// Divides a merged shape, whose entries have `bytes` bytes, for a device.
    pub fn new(shape: &Shape, bytes: u64, chip: &Chip) -> Geometry {
        if shape.parts > 1 || !shape.outer.is_empty() {
            return Geometry { variant: Variant::Down, ..each(shape, bytes, true) };
        }
        let joint = shape.outputs().saturating_mul(u64::from(shape.domain));
        // many values of few outputs are shared by several threads
        let short = shape.domain <= THREADS || shape.outputs() >= BUSY;
        let whole = shape.digits.len() <= TILE_DIGITS && short;
        let staged = if whole && joint >= chip.staged { stage(shape, bytes, chip) } else { None };
        let tiles = || {
            let choice = if whole && joint >= TILED { choose(shape, bytes, chip.multiprocessors) } else { None };
            choice.map(|choice| tiled(shape, &choice))
        };
        staged.or_else(tiles).unwrap_or_else(|| each(shape, bytes, true))
    }

    /// Divides a step on probabilities and utilities, always into single outputs.
    pub fn pair(shape: &Shape, bytes: u64, role: Role) -> Geometry {
        // threads that share an output can only add up, not compare
        Geometry { variant: Variant::Pair(role), ..each(shape, bytes, role == Role::Expect) }
    }
}

/// Returns the binary logarithm of the number of threads that share an output, for `outputs` outputs that are each
/// folded from `folded` combinations: at least `side` threads if there are enough combinations.
pub(crate) fn split(outputs: u64, folded: u64, side: u32) -> u32 {
    let mut split = 0;
    while split < 5 && (outputs << split < BUSY || 1 << split < side) && 2 << split <= folded {
        split += 1;
    }
    split
}

fn each(shape: &Shape, bytes: u64, shared: bool) -> Geometry {
    let (outputs, folded) =
        (shape.outputs().saturating_mul(shape.parts.into()), shape.folded() / u64::from(shape.parts));
    // adjacent threads read adjacent entries, if the fastest digit is folded over with others
    let side = if !shape.outer.is_empty() && shape.slabs.contains(&1) { shape.domain.min(SIDE) } else { 0 };
    let split = if shared { split(outputs, folded, side) } else { 0 };
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
    let Cuts { cuts, spread, blocks } =
        cut(shape, &order, &order, &extents, |_| 1, |digit| shape.digits[digit].size - 1);
    Geometry {
        variant: Variant::Each,
        order: (0..inputs).collect(),
        ends: [inputs as u32; 4],
        tile: [None; 3],
        values: [1; 3],
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
    // inputs with adjacent entries first
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
    // consecutive blocks share inputs: the tile's digits run fastest
    let own: Vec<usize> = digits.iter().rev().flatten().copied().collect();
    let lanes: Vec<usize> = (0..=fastest).rev().filter(|digit| !own.contains(digit)).collect();
    let threads_order: Vec<usize> = lanes.iter().copied().chain(own.iter().copied()).collect();
    let blocks_order: Vec<usize> = own.iter().chain(&lanes).copied().collect();
    let values = |digit: usize| choice.values(shape, digit);
    let last = |digit: usize| match (values(digit), shape.digits[digit].size) {
        (tile, size) if digit == fastest => size.next_multiple_of(tile) - tile,
        (tile, size) => size - tile,
    };
    let Cuts { cuts, spread, blocks } = cut(shape, &threads_order, &blocks_order, extents, values, last);
    Geometry {
        variant: Variant::Tile(*tile, kinds),
        order: groups.concat(),
        ends,
        tile: [0, 1, 2].map(|place| if tile[place] > 1 { digits[place] } else { None }),
        values: [1; 3],
        cuts,
        spread,
        threads: extents.iter().product(),
        split: 0,
        blocks,
    }
}
