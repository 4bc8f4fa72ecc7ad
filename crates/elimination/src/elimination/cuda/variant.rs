//! The kernels that steps need.

use super::shape::{THREADS, TILE_THREADS};

/// Number of stages that a block has in shared memory.
pub(crate) const STAGES: u32 = 3;
/// Bytes of an entry: the staged kernel is compiled for 32-bit costs only, because others are rare.
pub(crate) const ENTRY: u32 = 4;

/// The inputs of a group for which a kernel is compiled: `Few` with `runs` inputs whose entries are adjacent along the
/// fastest digit and `singles` inputs that do not read that digit; or any number of inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kinds {
    Few { runs: u32, singles: u32 },
    Many,
}

/// The kernels' code of a group of any number of inputs, and the base-4 digits of the code of few inputs: one with
/// adjacent entries, and one that does not read the fastest digit.
pub(crate) const MANY: i32 = -1;
pub(crate) const RUN: i32 = 1;
pub(crate) const SINGLE: i32 = 2;

impl Kinds {
    pub const NONE: Kinds = Kinds::Few { runs: 0, singles: 0 };

    /// Returns the kernels' code of a group.
    fn code(self) -> i32 {
        match self {
            Kinds::Few { runs, singles } => {
                (0..runs + singles).fold(0, |code, k| 4 * code + if k < singles { SINGLE } else { RUN })
            }
            Kinds::Many => MANY,
        }
    }
}

/// A box of the staged kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Staged {
    /// Values of a tile along the digits x, y and z.
    pub tile: [u32; 3],
    /// Number of tiles along each of these digits.
    pub tiles: [u32; 3],
    /// Number of adjacent entries along the fastest digit, one for each thread.
    pub lanes: u32,
    /// Number of blocks that share a multiprocessor.
    pub blocks: u32,
}

/// The digits that the groups xy, xz and yz read.
pub(crate) const GROUPS: [[usize; 2]; 3] = [[0, 1], [0, 2], [1, 2]];

impl Staged {
    pub fn threads(&self) -> u32 {
        self.tiles.iter().product::<u32>() * self.lanes
    }

    /// Returns the number of outputs of a tile.
    pub(super) fn outputs(&self) -> u32 {
        self.tile.iter().product()
    }

    /// Returns, for each group, the entries of a tile and the tiles of a box.
    pub(super) fn groups(&self) -> [(u32, u32); 3] {
        GROUPS.map(|[a, b]| (self.tile[a] * self.tile[b], self.tiles[a] * self.tiles[b]))
    }

    /// Returns the number of rows of a stage, for groups of `inputs` inputs.
    pub(super) fn rows(&self, inputs: &[u32; 3]) -> u32 {
        self.groups().into_iter().zip(inputs).map(|((entries, tiles), inputs)| inputs * entries * tiles).sum()
    }

    /// Returns the bytes of dynamic shared memory.
    pub fn shared(&self, inputs: &[u32; 3]) -> u32 {
        STAGES * self.rows(inputs) * self.lanes * ENTRY
    }

    /// Returns the number of loads of a thread from a stage.
    pub(super) fn loads(&self, inputs: &[u32; 3]) -> u32 {
        self.groups().into_iter().zip(inputs).map(|((entries, _), inputs)| inputs * entries).sum()
    }

    /// Returns the number of values of a box along a digit of `size` values.
    pub(super) fn values(&self, place: usize, size: u32) -> u32 {
        (self.tile[place] * self.tiles[place]).min(size)
    }
}

/// A kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Variant {
    /// One thread makes an output, or several threads share one.
    Each,
    /// A thread makes a register tile from inputs that are staged in shared memory. The numbers of inputs are those of
    /// the groups `xy`, `xz` and `yz`.
    Staged(Staged, [u32; 3]),
    /// A thread makes a register tile along three digits and the fastest one. The kinds are those of the groups `xy`,
    /// `xz`, `yz` and `xyz`.
    Tile([u32; 4], [Kinds; 4]),
    /// One or several threads make an output that is folded over several digits or in parts.
    Down,
    /// Tables are settled: divided and scaled.
    Settle(Phase),
    /// One or several threads make an output of a step on probabilities and utilities.
    Pair(Role),
}

/// The operation of a step on probabilities and utilities: an expectation, the largest utility, or a product that must
/// not depend on the variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    Expect,
    Largest,
    Constant,
}

/// The kernels' codes of the roles.
pub(crate) const EXPECT: i32 = Role::Expect as i32;
pub(crate) const LARGEST: i32 = Role::Largest as i32;
pub(crate) const CONSTANT: i32 = Role::Constant as i32;

/// The way in which tables are settled: small ones by one block each, large ones divided and measured first and then
/// scaled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    Whole,
    Measure,
    Scale,
}

/// The kernels' codes of the phases.
pub(crate) const WHOLE: i32 = Phase::Whole as i32;
pub(crate) const MEASURE: i32 = Phase::Measure as i32;
pub(crate) const SCALE: i32 = Phase::Scale as i32;

impl Variant {
    /// Returns the number of threads of a block.
    pub fn threads(&self) -> u32 {
        match self {
            Variant::Each | Variant::Down | Variant::Settle(_) | Variant::Pair(_) => THREADS,
            Variant::Staged(staged, _) => staged.threads(),
            Variant::Tile(..) => TILE_THREADS,
        }
    }

    /// Returns the bytes of dynamic shared memory of a block.
    pub fn shared(&self) -> u32 {
        match self {
            Variant::Staged(staged, inputs) => staged.shared(inputs),
            _ => 0,
        }
    }

    /// Returns the rank by which steps of single outputs are sorted, so that those of one kernel are launched together.
    pub fn rank(&self) -> u32 {
        match self {
            Variant::Down => 1,
            Variant::Pair(role) => 2 + *role as u32,
            _ => 0,
        }
    }

    /// Returns the name of the kernel in its source, for a semiring.
    pub fn expression(&self, semiring: &str) -> String {
        match self {
            Variant::Each => format!("join_each<{semiring}>"),
            Variant::Down => format!("join_down<{semiring}>"),
            Variant::Settle(phase) => format!("settle<{semiring}, {}>", *phase as i32),
            Variant::Pair(role) => format!("join_pair<{semiring}, {}>", *role as i32),
            Variant::Staged(Staged { tile: [x, y, z], tiles: [tx, ty, tz], lanes, blocks }, [xy, xz, yz]) => {
                format!("join_staged<{semiring}, {x}, {y}, {z}, {tx}, {ty}, {tz}, {lanes}, {blocks}, {xy}, {xz}, {yz}>")
            }
            Variant::Tile([x, y, z, run], groups) => {
                let [xy, xz, yz, xyz] = groups.map(Kinds::code);
                format!("join_tile<{semiring}, {x}, {y}, {z}, {run}, {xy}, {xz}, {yz}, {xyz}>")
            }
        }
    }
}
