//! Rows of a tile, and runs made from inputs that read only some of its digits.
//!
//! All writes are of whole vectors: a chunk of ten entries is one write of sixteen, and the next chunk overwrites the
//! excess. Lengths known to the compiler replace loops with remainders.

use crate::algebra::Entry;

/// Padding after a run, in entries, that whole vectors may overwrite.
pub(crate) const PAD: usize = 16;
/// Number of outputs that one shuffle makes, if the fastest digits have two or four values.
const SHUFFLE: usize = 16;
/// Chunks shorter than this, in entries, are made by a shuffle if possible.
const SHORT: usize = 8;

/// Rows shorter than `SHORT_ROW` are extended to `LONG_ROW` or more, although inputs must then be expanded.
const SHORT_ROW: usize = 8;
const LONG_ROW: usize = 16;

/// The size of a digit and its stride in an input.
pub(crate) type Digit = (usize, usize);

/// The way in which the tile's run is made from an input. The tile digits that an input reads are its fastest ones, so
/// that a run reads one contiguous stretch of the input.
pub(crate) enum Run {
    /// The stretch is the run.
    Direct,
    /// Chunks of the run are each copied from an offset.
    Copy { chunk: usize, offsets: Box<[u32]> },
    /// Chunks of the run are each filled with the entry at an offset.
    Fill { chunk: usize, offsets: Box<[u32]> },
    /// Chunks of [`SHUFFLE`] outputs, each with an offset. The bits of an output's number that are set in `mask`, moved
    /// together, are the index of its entry relative to the offset.
    Shuffle { mask: usize, offsets: Box<[u32]> },
}

impl Run {
    /// Chooses how to make a run of tile digits, given as (size, stride in the input), the slowest first.
    pub fn new(digits: &[(usize, usize)]) -> Run {
        // digits of one value change nothing
        let digits: Vec<(usize, usize)> = digits.iter().copied().filter(|&(size, _)| size > 1).collect();
        let length = |digits: &[(usize, usize)]| digits.iter().map(|&(size, _)| size).product::<usize>();
        // if the fastest digits are all read they form chunks to copy, if none is read chunks to fill
        let read = digits.last().is_some_and(|&(_, stride)| stride != 0);
        let same = digits.iter().rev().take_while(|&&(_, stride)| (stride != 0) == read).count();
        let (slow, fast) = digits.split_at(digits.len() - same);
        if read && slow.is_empty() {
            return Run::Direct;
        }
        let chunk = length(fast);
        let shuffled = (0..digits.len()).rev().find(|&split| length(&digits[split..]) >= SHUFFLE);
        if let (true, Some(split)) = (chunk < SHORT, shuffled) {
            let (slow, fast) = digits.split_at(split);
            if length(fast) == SHUFFLE {
                let bits =
                    |mask, &(size, stride): &(usize, usize)| mask * size + if stride != 0 { size - 1 } else { 0 };
                return Run::Shuffle { mask: fast.iter().fold(0, bits), offsets: offsets(slow) };
            }
        }
        let offsets = offsets(slow);
        if read { Run::Copy { chunk, offsets } } else { Run::Fill { chunk, offsets } }
    }

    /// Makes the run from the start of `from`. `row` is longer than the run by [`PAD`] entries.
    #[inline(always)]
    pub fn expand<E: Entry>(&self, from: &[E], row: &mut [E]) {
        match self {
            Run::Direct => {
                let length = row.len() - PAD;
                row[..length].copy_from_slice(&from[..length]);
            }
            Run::Copy { chunk, offsets } => match chunk {
                ..=4 => copy::<E, 4>(from, row, *chunk, offsets),
                5..=8 => copy::<E, 8>(from, row, *chunk, offsets),
                9..=16 => copy::<E, 16>(from, row, *chunk, offsets),
                _ => copy_long(from, row, *chunk, offsets),
            },
            Run::Fill { chunk, offsets } => match chunk {
                ..=4 => fill::<E, 4>(from, row, *chunk, offsets),
                5..=8 => fill::<E, 8>(from, row, *chunk, offsets),
                9..=16 => fill::<E, 16>(from, row, *chunk, offsets),
                _ => fill_long(from, row, *chunk, offsets),
            },
            Run::Shuffle { mask, offsets } => match mask {
                1 => shuffle::<E, 1, 2>(from, row, offsets),
                2 => shuffle::<E, 2, 2>(from, row, offsets),
                3 => shuffle::<E, 3, 4>(from, row, offsets),
                4 => shuffle::<E, 4, 2>(from, row, offsets),
                5 => shuffle::<E, 5, 4>(from, row, offsets),
                6 => shuffle::<E, 6, 4>(from, row, offsets),
                7 => shuffle::<E, 7, 8>(from, row, offsets),
                8 => shuffle::<E, 8, 2>(from, row, offsets),
                9 => shuffle::<E, 9, 4>(from, row, offsets),
                10 => shuffle::<E, 10, 4>(from, row, offsets),
                11 => shuffle::<E, 11, 8>(from, row, offsets),
                12 => shuffle::<E, 12, 4>(from, row, offsets),
                13 => shuffle::<E, 13, 8>(from, row, offsets),
                _ => shuffle::<E, 14, 8>(from, row, offsets),
            },
        }
    }
}

/// Copies chunks of at most `W` entries.
#[inline(always)]
fn copy<E: Entry, const W: usize>(from: &[E], row: &mut [E], chunk: usize, offsets: &[u32]) {
    // the last offset is the largest
    if offsets.last().is_none_or(|&last| last as usize + W > from.len()) {
        return copy_long(from, row, chunk, offsets);
    }
    for (number, &offset) in offsets.iter().enumerate() {
        row[number * chunk..][..W].copy_from_slice(&from[offset as usize..][..W]);
    }
}

#[inline(always)]
fn copy_long<E: Entry>(from: &[E], row: &mut [E], chunk: usize, offsets: &[u32]) {
    for (row, &offset) in row.chunks_exact_mut(chunk).zip(offsets) {
        // a loop, because a call of copy_from_slice costs more than a short copy
        for (to, &entry) in row.iter_mut().zip(&from[offset as usize..]) {
            *to = entry;
        }
    }
}

/// Fills chunks of at most `W` entries.
#[inline(always)]
fn fill<E: Entry, const W: usize>(from: &[E], row: &mut [E], chunk: usize, offsets: &[u32]) {
    for (number, &offset) in offsets.iter().enumerate() {
        row[number * chunk..][..W].copy_from_slice(&[from[offset as usize]; W]);
    }
}

#[inline(always)]
fn fill_long<E: Entry>(from: &[E], row: &mut [E], chunk: usize, offsets: &[u32]) {
    for (row, &offset) in row.chunks_exact_mut(chunk).zip(offsets) {
        row.fill(from[offset as usize]);
    }
}

/// Makes [`SHUFFLE`] outputs from `FROM` entries. If `FROM` is not the exact number of entries that the mask selects,
/// the compiler splits the vectors into scalars.
#[inline(always)]
fn shuffle<E: Entry, const MASK: usize, const FROM: usize>(from: &[E], row: &mut [E], offsets: &[u32]) {
    let index = const { shuffled(MASK) };
    // constant indices and lengths compile to vector shuffles; an array made by `map` goes through memory
    for (row, &offset) in row.as_chunks_mut::<SHUFFLE>().0.iter_mut().zip(offsets) {
        let from = &from[offset as usize..];
        let Some(&entries) = from.first_chunk::<FROM>() else {
            for (to, &entry) in row.iter_mut().zip(&index) {
                *to = from[entry];
            }
            continue;
        };
        for (to, &entry) in row.iter_mut().zip(&index) {
            *to = entries[entry];
        }
    }
}

/// Returns for each number the bits that are set in `mask`, moved together.
const fn shuffled(mask: usize) -> [usize; SHUFFLE] {
    let mut index = [0; SHUFFLE];
    let mut output = 0;
    while output < SHUFFLE {
        let (mut bit, mut to) = (0, 0);
        while 1 << bit < SHUFFLE {
            if mask >> bit & 1 == 1 {
                index[output] |= (output >> bit & 1) << to;
                to += 1;
            }
            bit += 1;
        }
        output += 1;
    }
    index
}

/// Returns the index of the first digit of a tile's row. The row has the fastest digits of which each input reads all
/// or none, and more digits if that row is short. `inputs` has the tile digits of each input.
pub(crate) fn row_digits(sizes: &[usize], inputs: &[&[Digit]]) -> usize {
    let mixed = |digits: &[Digit]| {
        let mut read = digits.iter().filter(|(size, _)| *size > 1).map(|&(_, step)| step != 0);
        let first = read.next();
        read.any(|other| Some(other) != first)
    };
    let (mut row, mut enough) = (1, SHORT_ROW);
    for split in (0..sizes.len()).rev() {
        if inputs.iter().any(|digits| mixed(&digits[split..])) {
            if row >= enough {
                return split + 1;
            }
            enough = LONG_ROW;
        }
        row *= sizes[split];
    }
    0
}

/// Writes the offsets at which rows begin in one of the lanes.
pub(crate) fn set_starts<const LANES: usize>(starts: &mut [[u32; LANES]], lane: usize, digits: &[Digit]) {
    for (starts, &start) in starts.iter_mut().zip(&offsets(digits)) {
        starts[lane] = start;
    }
}

/// Returns the offsets of all combinations of digits, the last digit running fastest.
pub(crate) fn offsets(digits: &[Digit]) -> Box<[u32]> {
    let mut offsets = Vec::with_capacity(digits.iter().map(|&(size, _)| size).product());
    offsets.push(0);
    for &(size, stride) in digits.iter().rev() {
        let faster = offsets.len();
        for value in 1..size {
            for index in 0..faster {
                offsets.push(offsets[index] + (value * stride) as u32);
            }
        }
    }
    offsets.into()
}
