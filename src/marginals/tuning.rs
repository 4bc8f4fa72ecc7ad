//! Constants of marginals, each with its unit and what chose it.

use super::bounds::Sizes;

/// Restarts of each rule for an order, at most.
pub(super) const RESTARTS: u32 = 64;

/// Steps of the search for an order between two looks at whether more of them pay; about a nanosecond each.
pub(super) const SLICE: u64 = 1_000_000;

/// Steps of the search that an entry of the best tree so far is worth: an entry takes some 3 ns both ways, of which a
/// tenth goes to a better order.
pub(super) const STEPS_OF_AN_ENTRY: f64 = 0.3;

/// Where tables do not fit: the whole is bounded by tables of 1 MiB to 1 GiB, some milliseconds to some seconds; a part
/// by 4 MiB, which takes about as long as planning it, or summed where that takes some tenths of a second.
pub(super) const SIZES: Sizes = Sizes { whole: (1 << 20, 1 << 30), part: 4 << 20, exact: (1u64 << 26) as f64 };
