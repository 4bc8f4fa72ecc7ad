//! The descriptors of steps that the bucket kernels read, with the layout that they declare.

use super::cuts::Cut;
use super::shape::{INPUTS, TILE_DIGITS};
use crate::device::shared::device_structs;

device_structs! {
    /// `Program` of kernels/bucket.cuh.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Addresses as "Program" {
        pub memory: u64,
        pub steps: u64,
        pub map: u64,
        pub digits: u64,
        pub inputs: u64,
        pub strides: u64,
        pub folds: u64,
        pub settled: u64,
        pub settled_map: u64,
        pub ranges: u64,
        pub ended: u64,
    }

    /// `Step` of kernels/bucket.cuh; addresses are offsets from the memory's first byte.
    #[derive(Clone, Copy, Debug, Default)]
    pub(crate) struct StepWords as "Step" {
        pub out: u64,
        pub part: u64,
        pub first: u32,
        pub domain: u32,
        pub digits: u32,
        pub spread: u32,
        pub inputs: u32,
        pub threads: u32,
        pub split: u32,
        pub digit_at: u32,
        pub input_at: u32,
        pub stride_at: u32,
        pub folds: u32,
        pub fold_at: u32,
        pub parts: u32,
        pub boxes: u32,
        pub sums: u32,
        pub also: u32,
        pub tie: f64,
        pub margin: f64,
        pub settled: u64,
    }

    /// `Fold` of kernels/bucket.cuh.
    #[derive(Clone, Copy, Debug, Default)]
    pub(crate) struct FoldWords as "Fold" {
        pub size: u32,
        pub magic: u32,
        pub shift: u32,
        pub stride_at: u32,
    }

    /// `Settled` of kernels/bucket.cuh; addresses are offsets from the memory's first byte.
    #[derive(Clone, Copy, Debug, Default)]
    pub(crate) struct SettledWords as "Settled" {
        pub table: u64,
        pub divisor: u64,
        pub entries: u64,
        pub row: u64,
        pub pitch: u64,
        pub first: u32,
        pub range: u32,
    }

    /// `Box` of kernels/bucket.cuh; addresses are offsets from the memory's first byte.
    #[derive(Clone, Copy, Debug, Default)]
    pub(crate) struct BoxWords as "Box" {
        pub out: u64,
        pub tile as "x": [u64; 3],
        pub domain: u32,
        pub digits: u32,
        pub spread: u32,
        pub inputs: u32,
        pub threads: u32,
        pub ends: [u32; 4],
        pub first: u32,
        pub values: [u32; 3],
        pub one: u32,
        pub digit: [DigitWords; TILE_DIGITS],
        pub input: [InputWords; INPUTS],
        pub stride: [[u64; INPUTS + 1]; TILE_DIGITS],
    }

    /// `Digit` of kernels/bucket.cuh.
    #[derive(Clone, Copy, Debug, Default)]
    pub(crate) struct DigitWords as "Digit" {
        pub boxes: u32,
        pub below: u32,
        pub extent: u32,
        pub magic: u32,
        pub tile: u32,
        pub last: u32,
    }
}

impl DigitWords {
    pub fn new(cut: &Cut) -> Self {
        DigitWords {
            boxes: cut.boxes,
            below: cut.below,
            extent: cut.extent,
            magic: (1u32 << 20).div_ceil(cut.extent),
            tile: cut.tile,
            last: cut.last,
        }
    }
}

impl FoldWords {
    /// Describes an axis of two or more values whose strides begin at index `stride_at`.
    pub fn new(size: u32, stride_at: u32) -> Self {
        // exact quotients by rounding up: Granlund and Montgomery, "Division by invariant integers using
        // multiplication", 1994
        let shift = u32::BITS - (size - 1).leading_zeros();
        let magic = ((((1u64 << shift) - u64::from(size)) << 32) / u64::from(size) + 1) as u32;
        FoldWords { size, magic, shift, stride_at }
    }

    /// Returns the quotient of a number below 2^31 as the kernels compute it.
    pub fn divide(&self, number: u32) -> u32 {
        (((u64::from(self.magic) * u64::from(number)) >> 32) as u32 + number) >> self.shift
    }
}

device_structs! {
    /// `Input` of kernels/bucket.cuh.
    #[derive(Clone, Copy, Debug, Default)]
    pub(crate) struct InputWords as "Input" {
        pub table: u64,
        pub slab: u64,
        pub tile as "x": [u32; 3],
        pub run: u32,
    }
}
