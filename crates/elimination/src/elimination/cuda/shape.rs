//! What a step computes, as sizes and strides, and what a device has for it.

use crate::device::Info;

/// Threads of a block.
pub(crate) const THREADS: u32 = 256;
/// Threads of a block of a step that is made in tiles.
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
