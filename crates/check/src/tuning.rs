//! Tuned constants of the replay: they decide its effort, never what it accepts. Tests use small sizes because their
//! tables are small.

use crate::model::Cost;

/// Combinations up to which sparse tables are always made dense.
pub(super) const SMALL: u64 = 1 << 12;
/// Combinations up to which sparse tables are made dense if many of their tuples are listed.
pub(super) const MEDIUM: u64 = 1 << 20;
/// Most entries of a dense table, and most combinations in the elimination of a variable.
pub(super) const MOST_ENTRIES: u64 = 1 << 28;
/// Entries of a message that one thread computes at a time.
pub(super) const BATCH: usize = 1 << 14;

/// Approximate number of entries of a tile: the fastest axes of a table, visited through a list of offsets.
pub(super) const TILE: usize = if cfg!(test) { 8 } else { 1 << 11 };
/// Entries from which several threads share a table.
pub(super) const LARGE: usize = if cfg!(test) { 24 } else { 1 << 16 };
/// Number of parts of a table that threads share.
pub(super) const PARTS: usize = 8;
/// Number of visits of a table in a move.
pub(super) const LOOKS: u64 = 2;

/// Limits of pairs of passes: at most `most` pairs, as long as each gains one in `part` units of the distance to the
/// limit.
#[derive(Clone, Copy)]
pub(super) struct Passes {
    pub most: usize,
    pub part: Cost,
}

/// Pairs of passes at a node.
pub(super) const PASSES: Passes = Passes { most: 10, part: 8 };
/// Pairs of passes at the root.
pub(super) const ROOT_PASSES: Passes = Passes { most: 200, part: 1000 };
/// Combinations up to which the residual problem of a node is eliminated.
pub(super) const ELIMINATED: u64 = if cfg!(test) { 12 } else { 1 << 18 };
/// Divisors of the combinations allowed for the mini-buckets of a node, in the order in which they are tried: most
/// nodes need no more than a small part.
pub(super) const TRIES: [u64; 3] = [64, 8, 1];
/// Mini-buckets of a node have fewer than two to this power of combinations.
pub(super) const MOST_BITS: u32 = 30;
/// Number of times that all tables are searched for values that reach the limit; passes do the rest.
pub(super) const ROUNDS: u32 = 8;
/// Bytes of a row, with its part of an index.
pub(super) const ROW: u64 = 64;
/// Bytes of a row of a message in the making.
pub(super) const NEW_ROW: u64 = 96;
