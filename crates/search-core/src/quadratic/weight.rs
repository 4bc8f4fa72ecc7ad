//! The types of a form's weights. Most forms fit into 32 bits, which halves the memory that a sweep or step reads. Real
//! weights of many digits and large integers need 64.

use crate::model::Cost;
use std::fmt::Debug;
use std::iter::Sum;
use std::ops::{Add, AddAssign, BitAnd, BitXor, Neg, Shl, Shr};

/// Bits of a temperature: the largest number that [`Boltzmann`](crate::fang::boltzmann::Boltzmann) supports.
const TEMPERATURE_BITS: u32 = 23;

/// An integer type for a weight and for the change by a flip, with one bit to spare.
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

    /// Upper limit of the change of the cost by a flip, exclusive.
    const LARGEST: Cost;
    /// The largest value of the type.
    const MAX: Self;

    /// Returns the lowest bits of a cost.
    fn of(cost: Cost) -> Self;

    /// Returns the number of bits of the change by a flip, in forms in which it is at most `reach`.
    fn bits(reach: Cost) -> u32;

    /// Returns the exponent of the unit, a power of two, of temperatures up to `hot`, which are stored in 32 bits.
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
