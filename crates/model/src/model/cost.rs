//! Costs in fixed-point units, and their limits.

/// A cost in fixed-point units (see [`Units`](super::Units)).
pub type Cost = i64;

/// The cost of a forbidden tuple. Sums saturate here, so they stay forbidden (see [`add`]). Finite entries are below
/// [`COST_LIMIT`], so a forbidden entry always differs from a finite sum.
pub const FORBIDDEN: Cost = 1 << 60;

/// The strict upper limit of the absolute value of finite table entries and constants; the builder checks it.
pub const COST_LIMIT: Cost = 1 << 58;

/// The strict upper limit of the sum over the functions of their largest absolute costs, which keeps sums of costs far
/// below [`FORBIDDEN`].
pub const SUM_LIMIT: f64 = (1u64 << 57) as f64;

/// Adds two costs, which may be negative, saturating at [`FORBIDDEN`].
#[inline]
pub fn add(a: Cost, b: Cost) -> Cost {
    if a >= FORBIDDEN || b >= FORBIDDEN { FORBIDDEN } else { a.saturating_add(b).min(FORBIDDEN) }
}
