//! Costs in fixed-point units, and their limits.

/// A cost in fixed-point units (see [`Units`](super::Units)).
pub type Cost = i64;

/// The cost of a forbidden tuple. Sums with it stay forbidden: they saturate here (see [`add`]).
/// Finite entries are below [`COST_LIMIT`], so that a forbidden entry can always be told from a sum.
pub const FORBIDDEN: Cost = 1 << 60;

/// Finite table entries and constants stay below this in absolute value; the builder checks it.
pub const COST_LIMIT: Cost = 1 << 58;

/// The sum over the functions of their largest absolute cost stays below this, so that no sum of costs comes near
/// [`FORBIDDEN`].
pub const SUM_LIMIT: f64 = (1u64 << 57) as f64;

/// Adds two costs, saturating at [`FORBIDDEN`]. Finite costs of either sign are fine.
#[inline]
pub fn add(a: Cost, b: Cost) -> Cost {
    if a >= FORBIDDEN || b >= FORBIDDEN { FORBIDDEN } else { a.saturating_add(b).min(FORBIDDEN) }
}
