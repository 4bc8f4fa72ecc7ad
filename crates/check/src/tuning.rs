//! The tuned constants of the replay: they decide what it takes, never what it accepts. The tables of tests are small.

use crate::model::Cost;

/// Sparse tables of up to so many combinations are made dense, larger ones only where many tuples are listed.
pub(super) const SMALL: u64 = 1 << 12;
pub(super) const MEDIUM: u64 = 1 << 20;
/// Entries of a dense table, and combinations in the elimination of a variable, at most.
pub(super) const MOST_ENTRIES: u64 = 1 << 28;
/// Entries of a message that one thread computes at a time.
pub(super) const BATCH: usize = 1 << 14;

/// Entries of a tile, about: the fastest axes of a table, visited through a list of offsets.
pub(super) const TILE: usize = if cfg!(test) { 8 } else { 1 << 11 };
/// Entries from which several threads share a table, and the number of their parts.
pub(super) const LARGE: usize = if cfg!(test) { 24 } else { 1 << 16 };
pub(super) const PARTS: usize = 8;
/// Visits of a table in a move.
pub(super) const LOOKS: u64 = 2;

/// Pairs of passes: at most `most`, as long as each gains one part in `part` of the distance to the limit.
#[derive(Clone, Copy)]
pub(super) struct Passes {
    pub most: usize,
    pub part: Cost,
}

/// Pairs of passes at a node and at the root.
pub(super) const PASSES: Passes = Passes { most: 10, part: 8 };
pub(super) const ROOT_PASSES: Passes = Passes { most: 200, part: 1000 };
/// Combinations up to which the residual problem of a node is eliminated.
pub(super) const ELIMINATED: u64 = if cfg!(test) { 12 } else { 1 << 18 };
/// The mini-buckets of a node first take small parts of the combinations allowed: most nodes need no more.
pub(super) const TRIES: [u64; 3] = [64, 8, 1];
/// Mini-buckets of a node have fewer than two to this power of combinations.
pub(super) const MOST_BITS: u32 = 30;
/// Times that all tables are searched for values that are too dear; passes do the rest.
pub(super) const ROUNDS: u32 = 8;
/// Bytes of a row, with its part of an index, and of a row of a message being built.
pub(super) const ROW: u64 = 64;
pub(super) const NEW_ROW: u64 = 96;
