//! Choice of the register tile of a step and of the tiles of a block, by a model of the time of an output.
//!
//! Of each input a block reads what its box of outputs needs, through the second-level cache; each thread then reads
//! what its tile needs, through the first-level cache; loads and sums are instructions. The weights are fitted to runs
//! of buckets of three inputs on an H200, where kernels mostly wait for loads (results/notes/bucket-cuda.md). They
//! affect nothing but speed.

use super::shape::{Shape, TILE_THREADS, extent, waste, within};

/// Register tiles: values along three digits (or two), and adjacent entries along the fastest digit. Sixteen bytes of
/// adjacent entries are one load if the tables' strides permit it.
const TILES: [[u32; 4]; 12] = [
    [4, 2, 2, 4],
    [3, 2, 2, 4],
    [2, 2, 2, 4],
    [5, 2, 1, 4],
    [4, 4, 1, 4],
    [2, 2, 1, 4],
    [5, 5, 2, 1],
    [4, 4, 2, 1],
    [2, 2, 2, 1],
    [5, 5, 1, 1],
    [3, 3, 1, 1],
    [2, 2, 1, 1],
];
/// Largest number of outputs of a tile of 64-bit entries, which take twice the registers.
const LONG_TILE: u32 = 16;
/// Weights of a word from the first-level cache, of a word from the second-level cache, and of a load, in instructions.
const FIRST: f64 = 4.0;
const SECOND: f64 = 8.0;
const LOAD: f64 = 6.0;
/// Largest number of outputs of a tile that leaves registers for the loads in flight, and the factor by which larger
/// tiles are slower.
const LIGHT: u32 = 48;
const HEAVY: f64 = 1.12;
/// Number of blocks that a multiprocessor runs at a time.
const BLOCKS: f64 = 2.0;
/// The fraction of the shorter times that the longest time does not hide.
const VISIBLE: f64 = 0.25;
/// Values of a digit that a block's box is assumed to have before boxes are compared.
const NOMINAL: u32 = 8;
/// Number of tiles whose boxes are compared.
const FINALISTS: usize = 8;

/// A register tile, its digits, and the tiles of a block.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    pub tile: [u32; 4],
    /// The digits of the tile's first three axes, `None` for an axis that the tile lacks; the fourth axis is the
    /// fastest digit.
    pub digits: [Option<usize>; 3],
    /// By digit, the number of tiles of a block.
    pub extents: Vec<u32>,
    /// Time of an output, in instructions of a thread.
    cost: f64,
}

impl Choice {
    /// Returns the number of values of a tile along a digit.
    pub fn values(&self, shape: &Shape, digit: usize) -> u32 {
        let place = self.digits.iter().position(|&own| own == Some(digit));
        match place {
            Some(place) => self.tile[place],
            None if digit + 1 == shape.digits.len() => self.tile[3],
            None => 1,
        }
    }

    /// Returns the number of tiles along a digit.
    fn units(&self, shape: &Shape, digit: usize) -> u32 {
        shape.digits[digit].size.div_ceil(self.values(shape, digit))
    }

    /// Returns the group that an input joins (0 to 3: `xy`, `xz`, `yz`, `xyz`) and the loads of the group: the group
    /// with the fewest loads among those that cover the tile digits that the input reads.
    pub fn group(&self, shape: &Shape, input: usize) -> (usize, u32) {
        let [x, y, z, _] = self.tile;
        let reads = |place: usize| {
            self.tile[place] > 1 && self.digits[place].is_some_and(|digit| shape.digits[digit].inputs[input] != 0)
        };
        let bits: u32 = (0..3).map(|place| u32::from(reads(place)) << place).sum();
        let groups = [(0b011u32, x * y), (0b101, x * z), (0b110, y * z), (0b111, x * y * z)];
        let covering = groups.iter().enumerate().filter(|(_, (own, _))| bits & !own == 0);
        let loads = covering.map(|(group, &(_, loads))| (group, loads));
        loads.min_by_key(|&(group, loads)| (loads, group)).unwrap_or((3, x * y * z))
    }

    /// Returns the time of an output, without words from the second-level cache and without outputs made twice.
    fn tile_cost(&self, shape: &Shape) -> Time {
        let outputs: u32 = self.tile[..3].iter().product();
        let (mut loads, mut counts) = (0, [0u32; 4]);
        for input in 0..shape.slabs.len() {
            let (group, count) = self.group(shape, input);
            counts[group] += 1;
            loads += count;
        }
        let loads = f64::from(loads) / f64::from(outputs);
        let sums = counts[..3].iter().filter(|&&count| count > 0).count().saturating_sub(1).max(1);
        // adding up within groups costs as much as the loads
        let more = if counts.iter().any(|&count| count > 1) { loads } else { 0.0 };
        let instructions = sums as f64 + f64::from(counts[3].min(1)) + more + loads * LOAD / f64::from(self.tile[3]);
        let heavy = if outputs * self.tile[3] > LIGHT { HEAVY } else { 1.0 };
        Time { instructions: heavy * instructions, first: heavy * loads, second: 0.0 }
    }

    /// Returns the words from the second-level cache for an output, if a block covers `covered` values of each digit.
    fn traffic(&self, shape: &Shape, covered: impl Fn(usize) -> u32) -> f64 {
        let words = |input: usize| {
            let shared = shape.digits.iter().enumerate().filter(|(_, digit)| digit.inputs[input] == 0);
            1.0 / shared.map(|(number, digit)| f64::from(covered(number).min(digit.size))).product::<f64>()
        };
        (0..shape.slabs.len()).map(words).sum()
    }
}

/// The resources that an output takes, of which the scarcest limits its time.
#[derive(Clone, Copy, Debug)]
struct Time {
    instructions: f64,
    /// Words from the first-level cache. `second` counts words from the second-level cache.
    first: f64,
    second: f64,
}

impl Time {
    fn total(&self) -> f64 {
        let times = [self.instructions, FIRST * self.first, SECOND * self.second];
        let longest = times.iter().copied().fold(0.0, f64::max);
        longest + VISIBLE * (times.iter().sum::<f64>() - longest)
    }
}

/// Returns the best tile and box; `None` if single outputs are as fast.
pub(crate) fn choose(shape: &Shape, bytes: u64, processors: u32) -> Option<Choice> {
    let mut candidates = candidates(shape, bytes);
    candidates.sort_by(|a, b| a.cost.total_cmp(&b.cost));
    candidates.truncate(FINALISTS);
    let boxed = candidates.into_iter().filter_map(|candidate| boxed(shape, bytes, processors, candidate));
    let best = boxed.min_by(|a, b| a.cost.total_cmp(&b.cost))?;
    let inputs = shape.slabs.len() as f64;
    let each = Time { instructions: LOAD * inputs + 2.0, first: inputs, second: inputs / f64::from(NOMINAL) };
    (best.cost < each.total()).then_some(best)
}

/// Returns all tiles that a shape permits, with their cost in a box of nominal size.
fn candidates(shape: &Shape, bytes: u64) -> Vec<Choice> {
    let mut all = Vec::new();
    // the fastest digit runs along the threads, so that they read and write adjacent entries
    let Some(free) = shape.digits.len().checked_sub(1) else { return all };
    for tile in TILES {
        let [rx, ry, rz, run] = tile;
        let long = bytes > 4 && (tile.iter().product::<u32>() > LONG_TILE || run > 1);
        if long || (run > 1 && !shape.runs(run)) {
            continue;
        }
        let fits = |digit: usize, place: usize| shape.digits[digit].size >= tile[place];
        for x in (0..free).filter(|&x| fits(x, 0)) {
            // if a tile has equally many values along two digits, their order does not matter
            for y in (0..free).filter(|&y| y != x && fits(y, 1) && (rx != ry || x < y)) {
                let thirds = (0..free).filter(|&z| z != x && z != y && fits(z, 2) && (ry != rz || y < z)).map(Some);
                // without a third digit in the tile a block may still have several values of one
                for z in thirds.chain((rz == 1).then_some(None)) {
                    let mut choice = Choice { tile, digits: [Some(x), Some(y), z], extents: Vec::new(), cost: 0.0 };
                    let mut time = choice.tile_cost(shape);
                    time.second = choice.traffic(shape, |digit| {
                        if choice.digits.contains(&Some(digit)) { NOMINAL.max(choice.values(shape, digit)) } else { 1 }
                    });
                    let sizes = choice.digits.iter().flatten().chain([&free]);
                    let wasted: f64 =
                        sizes.map(|&digit| waste(shape.digits[digit].size, choice.values(shape, digit))).product();
                    choice.cost = wasted * time.total();
                    all.push(choice);
                }
            }
        }
    }
    all
}

/// Returns a candidate with its best box: one that reads little for its outputs, with few outputs made twice, few
/// threads idle, and few multiprocessors idle at the end. `None` if the blocks of all boxes span too much of a table.
fn boxed(shape: &Shape, bytes: u64, processors: u32, candidate: Choice) -> Option<Choice> {
    let own = candidate.digits;
    let units = |place: usize| own[place].map_or(1, |digit| candidate.units(shape, digit));
    let lanes: Vec<usize> = (0..shape.digits.len()).rev().filter(|&digit| !own.contains(&Some(digit))).collect();
    let time = candidate.tile_cost(shape);
    let tiles: f64 = (0..shape.digits.len()).map(|digit| f64::from(candidate.units(shape, digit))).product();
    let mut best: Option<Choice> = None;
    // at least 64 bytes of adjacent entries
    let mut wanted = 16 / candidate.tile[3];
    while wanted <= TILE_THREADS {
        let mut extents = vec![1u32; shape.digits.len()];
        let mut threads = 1;
        for &digit in &lanes {
            if threads < wanted {
                let units = candidate.units(shape, digit);
                extents[digit] = extent(units, wanted.div_ceil(threads), TILE_THREADS / threads);
                threads *= extents[digit];
            }
        }
        let room = TILE_THREADS / threads;
        for x in 1..=units(0).min(room) {
            for y in 1..=units(1).min(room / x) {
                for z in 1..=units(2).min(room / x / y) {
                    for (digit, extent) in own.iter().zip([x, y, z]) {
                        if let Some(digit) = digit {
                            extents[*digit] = extent;
                        }
                    }
                    let values = |digit: usize| extents[digit].saturating_mul(candidate.values(shape, digit));
                    let cost = Time { second: candidate.traffic(shape, values), ..time }.total();
                    let made: f64 = (0..shape.digits.len()).map(|d| waste(shape.digits[d].size, values(d))).product();
                    let used = threads * x * y * z;
                    let warps = f64::from(used.div_ceil(32) * 32) / f64::from(used);
                    let busy = (f64::from(TILE_THREADS) / f64::from(used)).sqrt();
                    let waves = (tiles / f64::from(used) / f64::from(processors) / BLOCKS).max(1e-3);
                    let cost = cost * made * warps * busy * waves.ceil() / waves;
                    if best.as_ref().is_none_or(|best| cost < best.cost) && within(shape, bytes, values) {
                        best = Some(Choice { extents: extents.clone(), cost, ..candidate.clone() });
                    }
                }
            }
        }
        wanted *= 2;
    }
    best
}
