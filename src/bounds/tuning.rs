//! The tuned constants of bounds: what each is a number of, what it does, and what chose it.

/// Units of work of a slice of cost shifting (entries), of branch and bound (entries and combinations) and of the search
/// for orders (steps): a tenth of a second of one core.
pub(super) const SLICE: u64 = 50_000_000;
/// Combinations of a slice of elimination: some tenths of a second of one core.
pub(super) const ELIMINATION_SLICE: u64 = 200_000_000;
/// Units of work that an entry of cost shifting counts for where runs must be repeatable: it takes twice as long.
pub(super) const SHIFT_WORK: u64 = 2;
/// Combinations up to which elimination is exact without mini-buckets before it: some ten seconds of two cores.
pub(super) const EXACT_WORK: u64 = 10_000_000_000;
/// The same on a device: less than a second of a large one.
pub(super) const DEVICE_EXACT_WORK: u64 = 500_000_000_000;
/// Elimination orders that mini-buckets of one z follow, one after the other.
pub(super) const ORDERS: usize = 2;
/// Restarts of the rules for orders, times the variables and functions, and the most of them.
pub(super) const ORDER_RESTARTS: usize = 50_000;
pub(super) const MOST_RESTARTS: usize = 32;
