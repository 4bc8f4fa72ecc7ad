//! The types of a form's weights. Most forms fit 32 bits, which halves what a sweep or a step reads; real weights of
//! many digits and large integers take 64.

use crate::model::Cost;
use std::fmt::Debug;
use std::iter::Sum;
use std::ops::{Add, AddAssign, BitAnd, BitXor, Neg, Shl, Shr};

/// Bits of a temperature: as many as [`Boltzmann`](crate::fang::boltzmann::Boltzmann) has room for.
const TEMPERATURE_BITS: u32 = 23;

/// An integer that holds a weight, and what a flip changes with one bit to spare.
pub trait Weight:
    Copy
    + Debug
    + Default
    + Ord
    + Send
    + Sync
    + Sum
    + Add<Output = Self>
    + AddAssign
    + Neg<Output = Self>
    + BitAnd<Output = Self>
    + BitXor<Output = Self>
    + Shl<u32, Output = Self>
    + Shr<u32, Output = Self>
    + From<bool>
    + Into<Cost>
    + 'static
{
    /// A type of half the size, for rows of small weights.
    type Half: Copy + Debug + Default + Into<Self> + Into<Cost> + Send + Sync + TryFrom<Self>;

    /// No flip changes the cost by as much.
    const LARGEST: Cost;
    /// The largest weight of all.
    const MAX: Self;

    /// The lowest bits of a cost.
    fn of(cost: Cost) -> Self;

    /// The bits of what a flip changes in forms in which it changes at most `reach`.
    fn bits(reach: Cost) -> u32;

    /// The unit of temperatures up to `hot`, which have 32 bits, as the power of two that it is.
    fn shift(hot: f64) -> u32;
}

impl Weight for i32 {
    type Half = i16;

    const LARGEST: Cost = 1 << 29;
    const MAX: i32 = i32::MAX;

    fn of(cost: Cost) -> i32 {
        cost as i32
    }

    fn bits(_: Cost) -> u32 {
        Self::LARGEST.ilog2()
    }

    fn shift(_: f64) -> u32 {
        0
    }
}

impl Weight for i64 {
    type Half = i32;

    const LARGEST: Cost = 1 << 60;
    const MAX: i64 = i64::MAX;

    fn of(cost: Cost) -> i64 {
        cost
    }

    fn bits(reach: Cost) -> u32 {
        reach.max(1).ilog2() + 1
    }

    fn shift(hot: f64) -> u32 {
        (hot.max(1.0).log2() as u32 + 1).saturating_sub(TEMPERATURE_BITS)
    }
}
