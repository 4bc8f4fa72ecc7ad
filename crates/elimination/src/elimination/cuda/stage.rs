//! Choice of the box of outputs that a block of the staged kernel makes, by a model of the time of a step.
//!
//! The terms are those of kernels/staged.cu. The weights are fitted to some hundred boxes of buckets of three and four
//! inputs on an H200 (results/notes/bucket-cuda.md). They affect nothing but speed.

use super::cuts::{Cuts, Geometry, cut};
use super::shape::{Chip, FEW, Shape, TERMS, waste, within};
use super::variant::{ENTRY, GROUPS, STAGES, Staged, Variant};

/// Number of entries of a copy; boxes begin at multiples of it along the fastest digit.
pub(crate) const PIECE: u32 = 4;
/// Register tiles: values along three digits.
const TILES: [[u32; 3]; 11] = [
    [2, 2, 2],
    [3, 3, 3],
    [4, 3, 3],
    [4, 4, 2],
    [4, 4, 3],
    [4, 4, 4],
    [5, 5, 2],
    [5, 5, 3],
    [5, 5, 4],
    [5, 5, 5],
    [9, 3, 3],
];
/// Number of tiles whose boxes are compared.
const FINALISTS: usize = 12;
/// Numbers of adjacent entries along the fastest digit: rows of whole multiples of 64 bytes were the fastest.
const LANES: [u32; 5] = [16, 32, 64, 128, 256];
/// Number of threads of a block.
const THREADS: std::ops::RangeInclusive<u32> = 96..=640;
/// Least number of warps of a multiprocessor.
const WARPS: u32 = 12;
/// Registers of a scheduler, schedulers of a multiprocessor, and registers of a thread besides tile and rows.
const REGISTERS: u32 = 16384;
const SCHEDULERS: u32 = 4;
const SCALARS: u32 = 10;
/// Clocks of a warp's load from a stage, of a row's copy, of each 128 bytes that the copy touches, and of writing a
/// warp's output.
const LOAD: f64 = 0.77;
const ROW: f64 = 0.31;
const LINE: f64 = 1.0;
const WRITE: f64 = 12.3;
/// Bytes that a multiprocessor receives from the second-level cache in a clock.
const LINK: f64 = 25.0;
/// Clocks that a multiprocessor waits at each value of the eliminated variable, and for each block.
const SLAB: f64 = 540.0;
const ROUND: f64 = 3600.0;
/// Cost of an output besides loads, in loads, for the comparison of tiles.
const OUTPUT: f64 = 1.0;
/// Bytes of shared memory that a block takes besides its stages.
const RESERVED: u32 = 1024;

/// A candidate: a register tile along certain digits.
#[derive(Clone, Debug)]
struct Tile {
    tile: [u32; 3],
    digits: [usize; 3],
    groups: [Vec<usize>; 3],
    /// Loads of an output, including outputs made twice.
    cost: f64,
}

/// Divides a step for the staged kernel. `None` if the kernel cannot make the step: all inputs must have rows along the
/// fastest digit and read at most two digits of the tile.
pub(crate) fn stage(shape: &Shape, bytes: u64, chip: &Chip) -> Option<Geometry> {
    let rows = shape.runs(PIECE) && shape.digits.last()?.inputs.iter().all(|&stride| stride == 1);
    if !rows || bytes != u64::from(ENTRY) || shape.slabs.len() > TERMS || chip.shared == 0 {
        return None;
    }
    let mut tiles = tiles(shape);
    tiles.sort_by(|a, b| a.cost.total_cmp(&b.cost));
    tiles.truncate(FINALISTS);
    let boxes = tiles.iter().filter_map(|tile| tile.best_box(shape, chip).map(|(staged, time)| (tile, staged, time)));
    let (tile, staged, _) = boxes.min_by(|(.., a), (.., b)| a.total_cmp(b))?;
    Some(tile.geometry(shape, staged))
}

/// Returns all tiles that a shape permits.
fn tiles(shape: &Shape) -> Vec<Tile> {
    let mut all = Vec::new();
    let Some(free) = shape.digits.len().checked_sub(1) else { return all };
    for tile in TILES {
        for x in 0..free {
            for y in (0..free).filter(|&y| y != x && (tile[0] != tile[1] || x < y)) {
                for z in (0..free).filter(|&z| z != x && z != y && (tile[1] != tile[2] || y < z)) {
                    all.extend(Tile::new(shape, tile, [x, y, z]));
                }
            }
        }
    }
    all
}

impl Tile {
    /// Returns the number of inputs of each group.
    fn inputs(&self) -> [u32; 3] {
        [0, 1, 2].map(|group: usize| self.groups[group].len() as u32)
    }

    /// Creates a candidate; `None` if the digits are too short, or if an input reads all three of them.
    fn new(shape: &Shape, tile: [u32; 3], digits: [usize; 3]) -> Option<Tile> {
        let size = |place: usize| shape.digits[digits[place]].size;
        if (0..3).any(|place| size(place) < tile[place]) {
            return None;
        }
        let mut groups: [Vec<usize>; 3] = Default::default();
        let mut loads = 0;
        for input in 0..shape.slabs.len() {
            let reads = |place: usize| shape.digits[digits[place]].inputs[input] != 0;
            // the group with the fewest loads among those that cover the digits that it reads
            let covers = |group: &usize| (0..3).all(|place| !reads(place) || GROUPS[*group].contains(&place));
            let entries = |group: usize| GROUPS[group].iter().map(|&place| tile[place]).product::<u32>();
            let group = (0..3).filter(covers).min_by_key(|&group| entries(group))?;
            loads += entries(group);
            groups[group].push(input);
        }
        if groups.iter().any(|group| group.len() > FEW) || groups.iter().filter(|group| !group.is_empty()).count() < 2 {
            return None;
        }
        let wasted: f64 = (0..3).map(|place| waste(size(place), tile[place])).product();
        let cost = wasted * (f64::from(loads) / f64::from(tile.iter().product::<u32>()) + OUTPUT);
        Some(Tile { tile, digits, groups, cost })
    }

    /// Returns the fastest box of these tiles, and its time.
    fn best_box(&self, shape: &Shape, chip: &Chip) -> Option<(Staged, f64)> {
        let fastest = shape.digits.last()?.size.next_multiple_of(PIECE);
        let units = [0, 1, 2].map(|place| shape.digits[self.digits[place]].size.div_ceil(self.tile[place]));
        let mut best: Option<(Staged, f64)> = None;
        for lanes in LANES.into_iter().filter(|&lanes| lanes <= fastest) {
            let room = THREADS.end() / lanes;
            for x in 1..=units[0].min(room) {
                for y in 1..=units[1].min(room / x) {
                    for z in 1..=units[2].min(room / x / y) {
                        let staged = Staged { tile: self.tile, tiles: [x, y, z], lanes, blocks: 1 };
                        if !THREADS.contains(&staged.threads()) || !within(shape, 4, |d| self.values(shape, &staged, d))
                        {
                            continue;
                        }
                        for blocks in self.resident(&staged, chip) {
                            let staged = Staged { blocks, ..staged };
                            let time = self.time(shape, &staged, chip);
                            if best.is_none_or(|(_, least)| time < least) {
                                best = Some((staged, time));
                            }
                        }
                    }
                }
            }
        }
        best
    }

    /// Returns the numbers of blocks that may share a multiprocessor, each with its tile in registers.
    fn resident(&self, staged: &Staged, chip: &Chip) -> impl Iterator<Item = u32> {
        let shared = staged.shared(&self.inputs());
        let warps = staged.threads().div_ceil(32);
        let [_, y, z] = staged.tile;
        let inputs: u32 = self.inputs().iter().sum();
        let pieces = (shared / STAGES).div_ceil(PIECE * ENTRY).div_ceil(staged.threads());
        let registers = staged.outputs() + y * z + y + z + 4 * inputs + pieces + SCALARS;
        let room = chip.shared + RESERVED;
        (1..=8).filter(move |blocks| {
            let of_thread = REGISTERS / 32 / (blocks * warps).div_ceil(SCHEDULERS) / 8 * 8;
            registers <= of_thread.min(255) && (shared + RESERVED) * blocks <= room && blocks * warps >= WARPS
        })
    }

    /// Returns the time of a step, in clocks of a multiprocessor.
    fn time(&self, shape: &Shape, staged: &Staged, chip: &Chip) -> f64 {
        let boxes = |digit: usize| f64::from(shape.digits[digit].size.div_ceil(self.values(shape, staged, digit)));
        let boxes: f64 = (0..shape.digits.len()).map(boxes).product();
        let busiest = (boxes / f64::from(chip.multiprocessors)).ceil();
        let rounds = (busiest / f64::from(staged.blocks)).max(1.0);
        // the fullest scheduler limits the time
        let warps = (staged.blocks * staged.threads().div_ceil(32)).div_ceil(SCHEDULERS) * SCHEDULERS;
        let warps = f64::from(warps) / f64::from(staged.blocks);
        let bytes = staged.lanes * ENTRY;
        let lines = f64::from(bytes.div_ceil(128));
        let rows = f64::from(staged.rows(&self.inputs()));
        let loads = warps * f64::from(staged.loads(&self.inputs()));
        let domain = f64::from(shape.domain);
        let written = f64::from(staged.threads().div_ceil(32) * staged.outputs());
        let copied = boxes * domain * rows * f64::from(bytes) / f64::from(chip.multiprocessors);
        let clocks = busiest * (domain * (LOAD * loads + rows * (ROW + LINE * lines)) + WRITE * written)
            + rounds * (domain * SLAB + ROUND);
        clocks.max(copied / LINK)
    }

    /// Returns the number of values of a box along a digit.
    fn values(&self, shape: &Shape, staged: &Staged, digit: usize) -> u32 {
        match self.digits.iter().position(|&own| own == digit) {
            Some(place) => staged.values(place, shape.digits[digit].size),
            None if digit + 1 == shape.digits.len() => staged.lanes,
            None => 1,
        }
    }

    fn geometry(&self, shape: &Shape, staged: Staged) -> Geometry {
        let fastest = shape.digits.len() - 1;
        let own: Vec<usize> = self.digits.iter().rev().copied().collect();
        let others = (0..=fastest).rev().filter(|digit| !own.contains(digit));
        // consecutive blocks share inputs: the tile's digits run fastest
        let order: Vec<usize> = own.iter().copied().chain(others).collect();
        let values = |digit: usize| self.values(shape, &staged, digit);
        let last = |digit: usize| match shape.digits[digit].size {
            size if digit == fastest => size.next_multiple_of(PIECE) - values(digit),
            size => size - values(digit),
        };
        let extents = vec![1; shape.digits.len()];
        let Cuts { cuts, blocks, .. } = cut(shape, &order, &order, &extents, values, last);
        let mut end = 0;
        let ends = [0, 1, 2, 3].map(|group: usize| {
            end += self.groups.get(group).map_or(0, |group| group.len() as u32);
            end
        });
        Geometry {
            variant: Variant::Staged(staged, self.inputs()),
            order: self.groups.concat(),
            ends,
            tile: self.digits.map(Some),
            values: self.digits.map(values),
            cuts,
            spread: 0,
            threads: staged.threads(),
            split: 0,
            blocks,
        }
    }
}
