//! How a step is cut for the device: digits merged, a register tile, a box of tiles for a block, a number of blocks.
//!
//! The terms are those of kernels/bucket.cu. Everything here is decided from sizes and strides alone.

use super::choose::{Choice, choose};

use super::stage::{Staged, stage};
use crate::device::Info;

/// Threads of a block.
pub(crate) const THREADS: u32 = 256;
/// The same of steps that are made in tiles.
pub(crate) const TILE_THREADS: u32 = 256;
/// Inputs that a kernel takes.
pub(crate) const INPUTS: usize = 12;
/// Digits of a message: one of more has no room anywhere, as each has two values and more.
pub(crate) const DIGITS: usize = 40;
/// Digits of a message that is made in tiles.
pub(crate) const TILE_DIGITS: usize = 12;
/// Bytes that the threads of a block may span in a table: their offsets have 32 bits.
const SPAN: u64 = u32::MAX as u64;
/// Threads that keep every multiprocessor of a large device busy.
pub(crate) const BUSY: u64 = 1 << 16;
/// Joint entries below which no tile is worth its kernel.
const TILED: u64 = 1 << 22;
/// The least compute capability that copies to shared memory by itself.
const ASYNCHRONOUS: i32 = 80;
/// Joint entries below which a box of stages is not worth its kernel, which takes a second to compile.
const STAGED: u64 = 1 << 25;
/// Capped entries that add up within the entry type (see `Plan::new`): so many inputs need no cap on the way.
pub(crate) const TERMS: usize = 5;
/// Inputs of a group that kernels are compiled for.
pub(crate) const FEW: usize = 3;
/// Entries of a block that settles a table.
pub(crate) const SETTLED: u64 = 4096;
/// Neighbours that threads of a warp read side by side where the fastest digit is folded over.
const SIDE: u32 = 16;

/// A digit of a message: how many values, and from one value to the next in the message and in each input (entries;
/// 0 where the input does not read it).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Digit {
    pub size: u32,
    pub out: u64,
    pub inputs: Vec<u64>,
}

/// What a step computes, as sizes and strides in entries. Digits go from the slowest to the fastest.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    /// Values of the variable that the minimum is taken over.
    pub domain: u32,
    /// By input, from one of these values to the next.
    pub slabs: Vec<u64>,
    pub digits: Vec<Digit>,
    /// Digits that are folded over besides, slower than that variable.
    pub outer: Vec<Digit>,
    /// Parts that the folded combinations are cut into, and from one part of an output to the next.
    pub parts: u32,
    pub part: u64,
}

/// Joins neighbouring digits that every table counts through in one go, and drops those of one value.
pub(crate) fn merge(mut digits: Vec<Digit>) -> Vec<Digit> {
    digits.retain(|digit| digit.size > 1);
    let mut merged: Vec<Digit> = Vec::with_capacity(digits.len());
    for digit in digits {
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
    merged
}

impl Shape {
    /// With its digits [merged](merge).
    pub fn merged(self) -> Shape {
        Shape { digits: merge(self.digits), ..self }
    }

    /// Combinations that are folded to an output.
    pub fn folded(&self) -> u64 {
        self.outer.iter().fold(self.domain.into(), |product, digit| product.saturating_mul(digit.size.into()))
    }

    /// Whether `run` neighbours along the fastest digit lie side by side in every table that reads it, at multiples
    /// of so many entries. The digit may then be rounded up: rows that are so far apart have room behind them.
    pub fn runs(&self, run: u32) -> bool {
        let Some((fastest, slower)) = self.digits.split_last() else { return false };
        let aligned = |stride: u64| stride.is_multiple_of(u64::from(run));
        let input = |input: usize| match fastest.inputs[input] {
            0 => true,
            1 => aligned(self.slabs[input]) && slower.iter().all(|digit| aligned(digit.inputs[input])),
            _ => false,
        };
        fastest.out == 1 && slower.iter().all(|digit| aligned(digit.out)) && (0..self.slabs.len()).all(input)
    }

    pub fn outputs(&self) -> u64 {
        self.digits.iter().fold(1, |product, digit| product.saturating_mul(u64::from(digit.size)))
    }
}

/// What a group of inputs is that a kernel is compiled for: few, so many of which have neighbours along the fastest
/// digit side by side and so many of which do not read that digit; or any number of inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kinds {
    Few { runs: u32, singles: u32 },
    Many,
}

/// A group of any number of inputs as kernels have it; the digits of base 4 that stand for few: one with neighbours
/// side by side, one that does not read the digit.
pub(crate) const MANY: i32 = -1;
pub(crate) const RUN: i32 = 1;
pub(crate) const SINGLE: i32 = 2;

impl Kinds {
    pub const NONE: Kinds = Kinds::Few { runs: 0, singles: 0 };

    /// The number that kernels have it as.
    fn code(self) -> i32 {
        match self {
            Kinds::Few { runs, singles } => {
                (0..runs + singles).fold(0, |code, k| 4 * code + if k < singles { SINGLE } else { RUN })
            }
            Kinds::Many => MANY,
        }
    }
}

/// What a cut depends on of a device.
#[derive(Clone, Copy, Debug, Default)]
pub struct Chip {
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Bytes of shared memory that a block may take; none where copies to it do not run by themselves.
    pub shared: u32,
    /// Joint entries from which a step is worth a kernel for its box.
    pub staged: u64,
}

impl Chip {
    /// The chip of a device.
    pub fn new(info: &Info) -> Chip {
        let shared = if info.architecture >= ASYNCHRONOUS { info.shared_memory } else { 0 };
        Chip { multiprocessors: info.multiprocessors, shared, staged: STAGED }
    }
}

/// A kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Variant {
    /// An output a thread, or several threads an output.
    Each,
    /// A register tile, its inputs staged in shared memory: so many in the groups `xy`, `xz` and `yz`.
    Staged(Staged, [u32; 3]),
    /// A register tile along three digits and the fastest one; the groups `xy`, `xz`, `yz` and `xyz`.
    Tile([u32; 4], [Kinds; 4]),
    /// As `Each`, folded over several digits or in parts.
    Down,
    /// Tables are settled.
    Settle(Phase),
    /// As `Each`, on probabilities and utilities.
    Pair(Role),
}

/// What a step on probabilities and utilities makes: expectations, the largest utility, or a product that must not
/// depend on the variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    Expect,
    Largest,
    Constant,
}

/// The same as kernels have it.
pub(crate) const EXPECT: i32 = Role::Expect as i32;
pub(crate) const LARGEST: i32 = Role::Largest as i32;
pub(crate) const CONSTANT: i32 = Role::Constant as i32;

/// How tables are settled: at once by a block each, or divided and measured first and scaled then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    Whole,
    Measure,
    Scale,
}

/// The same as kernels have it.
pub(crate) const WHOLE: i32 = Phase::Whole as i32;
pub(crate) const MEASURE: i32 = Phase::Measure as i32;
pub(crate) const SCALE: i32 = Phase::Scale as i32;

impl Variant {
    /// Threads of its blocks.
    pub fn threads(&self) -> u32 {
        match self {
            Variant::Each | Variant::Down | Variant::Settle(_) | Variant::Pair(_) => THREADS,
            Variant::Staged(staged, _) => staged.threads(),
            Variant::Tile(..) => TILE_THREADS,
        }
    }

    /// Bytes of dynamic shared memory of its blocks.
    pub fn shared(&self) -> u32 {
        match self {
            Variant::Staged(staged, inputs) => staged.shared(inputs),
            _ => 0,
        }
    }

    /// Steps of single outputs are launched together by this.
    pub fn rank(&self) -> u32 {
        match self {
            Variant::Down => 1,
            Variant::Pair(role) => 2 + *role as u32,
            _ => 0,
        }
    }

    /// The text that has it.
    pub fn text(&self) -> super::Text {
        match self {
            Variant::Staged(..) => super::STAGED,
            Variant::Down | Variant::Settle(_) => super::PROPAGATE,
            Variant::Pair(_) => super::PAIRS,
            Variant::Each | Variant::Tile(..) => super::BUCKET,
        }
    }

    /// Its name in its text, for a semiring.
    pub fn expression(&self, semiring: &str) -> String {
        match self {
            Variant::Each => format!("join_each<{semiring}>"),
            Variant::Down => format!("join_down<{semiring}>"),
            Variant::Settle(phase) => format!("settle<{semiring}, {}>", *phase as i32),
            Variant::Pair(role) => format!("join_pair<{semiring}, {}>", *role as i32),
            Variant::Staged(Staged { tile: [x, y, z], tiles: [tx, ty, tz], lanes, blocks }, [xy, xz, yz]) => {
                format!("join_staged<{semiring}, {x}, {y}, {z}, {tx}, {ty}, {tz}, {lanes}, {blocks}, {xy}, {xz}, {yz}>")
            }
            Variant::Tile([x, y, z, run], groups) => {
                let [xy, xz, yz, xyz] = groups.map(Kinds::code);
                format!("join_tile<{semiring}, {x}, {y}, {z}, {run}, {xy}, {xz}, {yz}, {xyz}>")
            }
        }
    }
}

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

impl Geometry {
    /// Cuts a merged shape whose entries take `bytes` for a device.
    pub fn new(shape: &Shape, bytes: u64, chip: &Chip) -> Geometry {
        if shape.parts > 1 || !shape.outer.is_empty() {
            return Geometry { variant: Variant::Down, ..each(shape, bytes, true) };
        }
        let joint = shape.outputs().saturating_mul(u64::from(shape.domain));
        // many values of few outputs are shared out among threads
        let short = shape.domain <= THREADS || shape.outputs() >= BUSY;
        let whole = shape.digits.len() <= TILE_DIGITS && short;
        let staged = if whole && joint >= chip.staged { stage(shape, bytes, chip) } else { None };
        let tiles = || {
            let choice = if whole && joint >= TILED { choose(shape, bytes, chip.multiprocessors) } else { None };
            choice.map(|choice| tiled(shape, &choice))
        };
        staged.or_else(tiles).unwrap_or_else(|| each(shape, bytes, true))
    }

    /// The same of a step on probabilities and utilities.
    pub fn pair(shape: &Shape, bytes: u64, role: Role) -> Geometry {
        // threads that share an output add up, and do not compare
        Geometry { variant: Variant::Pair(role), ..each(shape, bytes, role == Role::Expect) }
    }
}

/// Values made for each value wanted, where tiles of `tile` cover `size`.
pub(crate) fn waste(size: u32, tile: u32) -> f64 {
    f64::from(size.div_ceil(tile) * tile) / f64::from(size)
}

/// Whether a block that covers so many values of each digit stays within the offsets that threads have.
pub(crate) fn within(shape: &Shape, bytes: u64, values: impl Fn(usize) -> u32) -> bool {
    (0..shape.slabs.len()).all(|input| {
        let reach = |(number, digit): (usize, &Digit)| digit.inputs[input].saturating_mul(u64::from(values(number)));
        let span = shape.digits.iter().enumerate().map(reach).fold(0, u64::saturating_add);
        span.saturating_mul(bytes) <= SPAN
    })
}

/// Tiles of a box along a digit of `units`: about `wanted`, more where that wastes less.
pub(crate) fn extent(units: u32, wanted: u32, most: u32) -> u32 {
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

/// Threads that share each of so many outputs, of which each is folded from so many combinations, as a power of two: at
/// least `side` threads where there are as many combinations.
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
    // adjacent entries for adjacent threads, where the fastest digit is folded over with others
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
