//! The sizes and strides of a step, and the limits of kernels and devices.

use crate::device::Info;

/// Number of threads of a block.
pub(crate) const THREADS: u32 = 256;
/// Number of threads of a block of a step that is made in tiles.
pub(crate) const TILE_THREADS: u32 = 256;
/// Largest number of inputs of a kernel.
pub(crate) const INPUTS: usize = 12;
/// Largest number of digits of a message. A message of more digits fits no memory, because each has two or more values.
pub(crate) const DIGITS: usize = 40;
/// Largest number of digits of a message that is made in tiles.
pub(crate) const TILE_DIGITS: usize = 12;
/// Bytes that the threads of a block may span in a table, because their offsets have 32 bits.
const SPAN: u64 = u32::MAX as u64;
/// Number of threads that keep every multiprocessor of a large device busy.
pub(crate) const BUSY: u64 = 1 << 16;
/// The least compute capability with asynchronous copies to shared memory, times ten.
const ASYNCHRONOUS: i32 = 80;
/// Combinations below which a staged box does not pay, because its kernel takes a second to compile.
const STAGED: u64 = 1 << 25;
/// Number of capped entries whose sum fits the entry type (see `Plan::new`): up to this many inputs are added up
/// without clamping in between.
pub(crate) const TERMS: usize = 5;
/// Largest number of inputs of a group for which kernels are compiled.
pub(crate) const FEW: usize = 3;
/// Number of entries that a block settles.
pub(crate) const SETTLED: u64 = 4096;

/// A digit of a message: its number of values, and the distance from one value to the next in the message and in each
/// input (in entries; 0 if the input does not read the digit).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Digit {
    pub size: u32,
    pub out: u64,
    pub inputs: Vec<u64>,
}

/// The sizes and strides of a step, in entries. Digits are ordered from the slowest to the fastest.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    /// Number of values of the folded variable.
    pub domain: u32,
    /// By input, the distance from one of these values to the next.
    pub slabs: Vec<u64>,
    pub digits: Vec<Digit>,
    /// Further digits that are folded over, slower than that variable.
    pub outer: Vec<Digit>,
    /// Number of parts into which the folded combinations are divided. `part` is the distance from one part of an
    /// output to the next.
    pub parts: u32,
    pub part: u64,
}

/// Merges neighbouring digits over which every table is contiguous, and removes digits of one value.
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
    /// Returns the shape with its digits [merged](merge).
    pub fn merged(self) -> Shape {
        Shape { digits: merge(self.digits), ..self }
    }

    /// Returns the number of combinations that are folded to an output.
    pub fn folded(&self) -> u64 {
        self.outer.iter().fold(self.domain.into(), |product, digit| product.saturating_mul(digit.size.into()))
    }

    /// Returns whether every table that reads the fastest digit has `run` values of it adjacent, at multiples of `run`
    /// entries. The digit may then be rounded up, because the gap after each row has room.
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

/// The properties of a device on which the division of steps depends.
#[derive(Clone, Copy, Debug, Default)]
pub struct Chip {
    /// Number of multiprocessors.
    pub multiprocessors: u32,
    /// Bytes of shared memory that a block may take; 0 if the device has no asynchronous copies to shared memory.
    pub shared: u32,
    /// Combinations from which on a step is worth a staged kernel of its own.
    pub staged: u64,
}

impl Chip {
    /// Returns the properties of a device.
    pub fn new(info: &Info) -> Chip {
        let shared = if info.architecture >= ASYNCHRONOUS { info.shared_memory } else { 0 };
        Chip { multiprocessors: info.multiprocessors, shared, staged: STAGED }
    }
}

/// Returns the number of values made for each value needed, if tiles of `tile` values cover `size` values.
pub(crate) fn waste(size: u32, tile: u32) -> f64 {
    f64::from(size.div_ceil(tile) * tile) / f64::from(size)
}

/// Returns whether a block that covers `values` values of each digit stays within the threads' offsets.
pub(crate) fn within(shape: &Shape, bytes: u64, values: impl Fn(usize) -> u32) -> bool {
    (0..shape.slabs.len()).all(|input| {
        let reach = |(number, digit): (usize, &Digit)| digit.inputs[input].saturating_mul(u64::from(values(number)));
        let span = shape.digits.iter().enumerate().map(reach).fold(0, u64::saturating_add);
        span.saturating_mul(bytes) <= SPAN
    })
}

/// Returns the number of tiles of a box along a digit of `units` tiles: about `wanted`, more if that wastes less.
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
