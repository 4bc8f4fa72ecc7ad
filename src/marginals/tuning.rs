//! Constants of marginals, each with its unit and what chose it.

/// Restarts of each rule for an order, at most.
pub(super) const RESTARTS: u32 = 64;

/// Steps of the search for an order between two looks at whether more of them pay; about a nanosecond each.
pub(super) const SLICE: u64 = 1_000_000;

/// Steps of the search that an entry of the best tree so far is worth: an entry takes some 3 ns both ways, of which a
/// tenth goes to a better order.
pub(super) const STEPS_OF_AN_ENTRY: f64 = 0.3;
