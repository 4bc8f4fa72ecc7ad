//! How a step is cut for the device: digits merged, a register tile, a box of tiles for a block, a number of blocks.
//!
//! The terms are those of kernels/bucket.cu. Everything here is decided from sizes and strides alone.

/// Threads of a block.
const THREADS: u32 = 256;
/// The same of steps that are made in tiles.
const TILE_THREADS: u32 = 256;
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
/// Register tiles that there are kernels for: along three digits or two, and neighbours along the fastest digit. Sixteen
/// bytes of neighbours are one load, where tables allow it.
const TILES: [[u32; 4]; 16] = [
    [4, 2, 2, 4],
    [3, 2, 2, 4],
    [2, 2, 2, 4],
    [5, 2, 1, 4],
    [4, 4, 1, 4],
    [4, 2, 1, 4],
    [2, 2, 1, 4],
    [5, 5, 2, 1],
    [4, 4, 2, 1],
    [3, 3, 3, 1],
    [2, 2, 2, 1],
    [8, 4, 1, 1],
    [5, 5, 1, 1],
    [4, 4, 1, 1],
    [3, 3, 1, 1],
    [2, 2, 1, 1],
];
/// Outputs of a tile of 64-bit entries, at most: they take twice the registers.
const LONG_TILE: u32 = 16;

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

    fn outputs(&self) -> u64 {
        self.digits.iter().fold(1, |product, digit| product.saturating_mul(u64::from(digit.size)))
    }
}

/// What a group of inputs is that a kernel is compiled for: nothing; one whose neighbours along the fastest digit lie
/// side by side; one that does not read that digit; any number of inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Count {
    None,
    Run,
    Single,
    Many,
}

/// A kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Variant {
    /// An output a thread, or several threads an output.
    Each,
    /// A register tile along three digits and the fastest one; the groups `xy`, `xz`, `yz` and `xyz`.
    Tile([u32; 4], [Count; 4]),
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
            Variant::Tile([x, y, z, run], counts) => {
                let [xy, xz, yz, xyz] = counts.map(|count| count as u32);
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

/// A tile that was chosen for a shape.
#[derive(Clone, Copy, Debug)]
struct Choice {
    tile: [u32; 4],
    digits: [Option<usize>; 3],
    cost: f64,
}

impl Geometry {
    /// Cuts a merged shape whose entries take `bytes`.
    pub fn new(shape: &Shape, bytes: u64) -> Geometry {
        let joint = shape.outputs().saturating_mul(u64::from(shape.domain));
        let tiles = joint >= TILED && shape.digits.len() <= TILE_DIGITS;
        let choice = if tiles { choose(shape, bytes) } else { None };
        choice.and_then(|choice| tiled(shape, bytes, &choice)).unwrap_or_else(|| each(shape, bytes))
    }
}

/// Which of the tile's digits an input reads, as bits.
fn reads(shape: &Shape, digits: &[Option<usize>; 3], input: usize) -> u32 {
    let reads = |place: usize| digits[place].is_some_and(|digit| shape.digits[digit].inputs[input] != 0);
    (0..3).map(|place| u32::from(reads(place)) << place).sum()
}

/// The group that an input joins (0 to 3: `xy`, `xz`, `yz`, `xyz`): of those that cover what it reads, the one with
/// the fewest loads.
fn group(reads: u32, [x, y, z, _]: [u32; 4]) -> (usize, u32) {
    let groups = [(0b011u32, x * y), (0b101, x * z), (0b110, y * z), (0b111, x * y * z)];
    let covering = groups.iter().enumerate().filter(|(_, (bits, _))| reads & !bits == 0);
    covering.map(|(group, &(_, loads))| (group, loads)).min_by_key(|&(group, loads)| (loads, group)).unwrap_or((3, 0))
}

/// Values made for each value wanted, where tiles of `tile` cover `size`.
fn waste(size: u32, tile: u32) -> f64 {
    f64::from(size.div_ceil(tile) * tile) / f64::from(size)
}

/// Whether `run` neighbours along the fastest digit lie side by side in every table that reads it, 16 bytes at 16 byte
/// boundaries. The digit may then be rounded up: rows that are as far apart as that have room behind them.
fn runs(shape: &Shape, run: u32) -> bool {
    let Some((fastest, slower)) = shape.digits.split_last() else { return false };
    let run = u64::from(run);
    let aligned = |stride: u64| stride.is_multiple_of(run);
    let input = |input: usize| match fastest.inputs[input] {
        0 => true,
        1 => aligned(shape.slabs[input]) && slower.iter().all(|digit| aligned(digit.inputs[input])),
        _ => false,
    };
    fastest.out == 1 && slower.iter().all(|digit| aligned(digit.out)) && (0..shape.slabs.len()).all(input)
}

/// The tile and its digits with the least work for an output, unless single outputs are as good.
fn choose(shape: &Shape, bytes: u64) -> Option<Choice> {
    let inputs = shape.slabs.len();
    // the fastest digit runs along the threads, so that they read and write neighbours
    let free = shape.digits.len().checked_sub(1)?;
    let outputs = shape.outputs() as f64;
    let mut best: Option<Choice> = None;
    // what an input costs a single output: a load and its share of the addressing
    let each = 3.0 * inputs as f64 + 2.0;
    for tile in TILES {
        let [rx, ry, rz, run] = tile;
        let size = rx * ry * rz;
        let long = bytes > 4 && (size * run > LONG_TILE || run > 1);
        if long || (run > 1 && !runs(shape, run)) {
            continue;
        }
        let fits = |digit: usize, place: usize| shape.digits[digit].size >= tile[place];
        for x in (0..free).filter(|&x| fits(x, 0)) {
            for y in (0..free).filter(|&y| y != x && fits(y, 1)) {
                let thirds: Vec<Option<usize>> = match rz {
                    1 => vec![None],
                    _ => (0..free).filter(|&z| z != x && z != y && fits(z, 2)).map(Some).collect(),
                };
                for z in thirds {
                    let digits = [Some(x), Some(y), z];
                    let mut loads = 0;
                    let mut counts = [0u32; 4];
                    for input in 0..inputs {
                        let (group, count) = group(reads(shape, &digits, input), tile);
                        counts[group] += 1;
                        loads += count;
                    }
                    let many = counts.iter().any(|&count| count > 1) || counts[3] > 0;
                    let sums = (0..3).filter(|&group| counts[group] > 0).count().saturating_sub(1).max(1);
                    // an entry's way through the first-level cache, its part of the instructions, its sum
                    let for_load = 1.0 + 2.0 / f64::from(run) + if many { 1.0 } else { 0.0 };
                    let mut cost =
                        sums as f64 + f64::from(counts[3].min(1)) + for_load * f64::from(loads) / f64::from(size);
                    cost *= waste(shape.digits[x].size, rx) * waste(shape.digits[y].size, ry);
                    cost *= z.map_or(1.0, |z| waste(shape.digits[z].size, rz));
                    cost *= waste(shape.digits[free].size, run);
                    let threads = outputs / f64::from(size * run);
                    cost *= (BUSY as f64 / threads).max(1.0);
                    if cost < each && best.is_none_or(|best| cost < best.cost) {
                        best = Some(Choice { tile, digits, cost });
                    }
                }
            }
        }
    }
    best
}

/// Whether a block that covers so many values of each digit stays within the offsets that threads have.
fn within(shape: &Shape, bytes: u64, values: impl Fn(usize) -> u32) -> bool {
    (0..shape.slabs.len()).all(|input| {
        let reach = |(number, digit): (usize, &Digit)| digit.inputs[input].saturating_mul(u64::from(values(number)));
        let span = shape.digits.iter().enumerate().map(reach).fold(0, u64::saturating_add);
        span.saturating_mul(bytes) <= SPAN
    })
}

/// Tiles of a box along a digit of `units`: about `wanted`, more where that wastes less.
fn extent(units: u32, wanted: u32, most: u32) -> u32 {
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

/// `None` where a block would span too much.
fn tiled(shape: &Shape, bytes: u64, choice: &Choice) -> Option<Geometry> {
    let Choice { tile, digits, .. } = choice;
    let fastest = shape.digits.len() - 1;
    let place =
        |digit: usize| if digit == fastest { Some(3) } else { digits.iter().position(|&own| own == Some(digit)) };
    let values = |digit: usize| place(digit).map_or(1, |place| tile[place]);
    let units = |digit: usize| shape.digits[digit].size.div_ceil(values(digit));
    let lanes: Vec<usize> = (0..=fastest).rev().filter(|&digit| place(digit).is_none_or(|place| place == 3)).collect();
    let mut best: Option<(f64, Vec<u32>)> = None;
    // from 128 bytes of neighbours upwards
    let mut wanted = 32 / tile[3];
    while wanted <= TILE_THREADS {
        let mut extents = vec![1u32; shape.digits.len()];
        let mut threads = 1;
        let mut wasted = 1.0;
        for &digit in &lanes {
            if threads < wanted {
                extents[digit] = extent(units(digit), wanted.div_ceil(threads), TILE_THREADS / threads);
                threads *= extents[digit];
                wasted *= waste(units(digit), extents[digit]);
            }
        }
        let score = wasted * share(shape, choice, TILE_THREADS / threads, threads, &mut extents);
        if best.as_ref().is_none_or(|(least, _)| score < *least) {
            best = Some((score, extents));
        }
        wanted *= 2;
    }
    let (_, extents) = best?;
    let threads = extents.iter().product();
    if !within(shape, bytes, |digit| extents[digit].saturating_mul(values(digit))) {
        return None;
    }
    let mut groups: [Vec<usize>; 4] = Default::default();
    for input in 0..shape.slabs.len() {
        groups[group(reads(shape, digits, input), *tile).0].push(input);
    }
    let mut end = 0;
    let ends = [0, 1, 2, 3].map(|number: usize| {
        end += groups[number].len() as u32;
        end
    });
    let mut counts = [0, 1, 2, 3].map(|number: usize| match groups[number][..] {
        [] => Count::None,
        [input] if tile[3] == 1 || shape.digits[fastest].inputs[input] == 1 => Count::Run,
        [_] => Count::Single,
        _ => Count::Many,
    });
    if counts[3] != Count::None || counts.contains(&Count::Many) {
        // few kernels for whatever comes: what is not a single input a group loops over all groups
        counts = counts.map(|count| if count == Count::None { count } else { Count::Many });
    }
    // blocks that follow each other share what they read: the tile's digits run fastest
    let own: Vec<usize> = digits.iter().rev().flatten().copied().collect();
    let threads_order: Vec<usize> = lanes.iter().copied().chain(own.iter().copied()).collect();
    let blocks_order: Vec<usize> = own.iter().chain(&lanes).copied().collect();
    let (cuts, spread, blocks) = cut(shape, &threads_order, &blocks_order, &extents, values);
    Some(Geometry {
        variant: Variant::Tile(*tile, counts),
        order: groups.concat(),
        ends,
        tile: *digits,
        cuts,
        spread,
        threads,
        split: 0,
        blocks,
    })
}

/// Words from the second-level cache, in the time of one instruction a thread.
const TRAFFIC: f64 = 5.0;

/// Shares `room` threads out between the digits of the tile, so that a block reads little that is its own, few of
/// its outputs are made twice and few of its threads idle. Returns what an output then takes, to compare.
fn share(shape: &Shape, choice: &Choice, room: u32, lanes: u32, extents: &mut [u32]) -> f64 {
    let Choice { tile, digits, cost } = choice;
    let units = |place: usize| digits[place].map_or(1, |digit| shape.digits[digit].size.div_ceil(tile[place]));
    let mut best = (f64::INFINITY, [1; 3]);
    for x in 1..=units(0).min(room) {
        for y in 1..=units(1).min(room / x) {
            for z in 1..=units(2).min(room / x / y) {
                let extent = [x, y, z];
                let mut traffic = 0.0;
                for input in 0..shape.slabs.len() {
                    let bits = reads(shape, digits, input);
                    let shared = |place: usize| match digits[place] {
                        Some(digit) if bits >> place & 1 == 0 => {
                            f64::from((extent[place] * tile[place]).min(shape.digits[digit].size))
                        }
                        _ => 1.0,
                    };
                    traffic += 1.0 / (0..3).map(shared).product::<f64>();
                }
                let wasted: f64 = (0..3).map(|place| waste(units(place), extent[place])).product();
                let threads = lanes * x * y * z;
                let idle = f64::from(threads.div_ceil(32) * 32) / f64::from(threads);
                let few = (f64::from(TILE_THREADS) / f64::from(threads)).sqrt();
                let score = wasted * idle * few * (cost + TRAFFIC * traffic);
                if score < best.0 {
                    best = (score, extent);
                }
            }
        }
    }
    for (digit, extent) in digits.iter().zip(best.1) {
        if let Some(digit) = digit {
            extents[*digit] = extent;
        }
    }
    best.0
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
