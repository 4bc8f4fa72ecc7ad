//! The kernels that steps take.

use super::shape::{THREADS, TILE_THREADS};

/// Stages that a block has in shared memory.
pub(crate) const STAGES: u32 = 3;
/// Bytes of an entry: the kernel is compiled for 32-bit costs only, as others are rare.
pub(crate) const ENTRY: u32 = 4;

/// What a group of inputs is that a kernel is compiled for: few, so many of which have neighbours along the fastest
/// digit side by side and so many of which do not read that digit; or any number of inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kinds {
    Few { runs: u32, singles: u32 },
    Many,
}

/// A group of any number of inputs as kernels have it; the digits of base 4 that stand for few: one with neighbours
/// side by side, one that does not read the digit.
pub(crate) const MANY: i32 = -1;
pub(crate) const RUN: i32 = 1;
pub(crate) const SINGLE: i32 = 2;

impl Kinds {
    pub const NONE: Kinds = Kinds::Few { runs: 0, singles: 0 };

    /// The number that kernels have it as.
    fn code(self) -> i32 {
        match self {
            Kinds::Few { runs, singles } => {
                (0..runs + singles).fold(0, |code, k| 4 * code + if k < singles { SINGLE } else { RUN })
            }
            Kinds::Many => MANY,
        }
    }
}

/// A box as the kernel has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Staged {
    /// Values of a tile along the digits x, y and z.
    pub tile: [u32; 3],
    /// Tiles along them.
    pub tiles: [u32; 3],
    /// Neighbours along the fastest digit, a thread each.
    pub lanes: u32,
    /// Blocks of a multiprocessor.
    pub blocks: u32,
}

/// The digits that the groups xy, xz and yz read.
pub(crate) const GROUPS: [[usize; 2]; 3] = [[0, 1], [0, 2], [1, 2]];

impl Staged {
    pub fn threads(&self) -> u32 {
        self.tiles.iter().product::<u32>() * self.lanes
    }

    /// Outputs of a tile.
    pub(super) fn outputs(&self) -> u32 {
        self.tile.iter().product()
    }

    /// Of each group, the entries of a tile and the tiles of a box.
    pub(super) fn groups(&self) -> [(u32, u32); 3] {
        GROUPS.map(|[a, b]| (self.tile[a] * self.tile[b], self.tiles[a] * self.tiles[b]))
    }

    /// Rows that a stage holds, where the groups have so many inputs.
    pub(super) fn rows(&self, inputs: &[u32; 3]) -> u32 {
        self.groups().into_iter().zip(inputs).map(|((entries, tiles), inputs)| inputs * entries * tiles).sum()
    }

    /// Bytes of dynamic shared memory.
    pub fn shared(&self, inputs: &[u32; 3]) -> u32 {
        STAGES * self.rows(inputs) * self.lanes * ENTRY
    }

    /// Loads of a thread from a stage.
    pub(super) fn loads(&self, inputs: &[u32; 3]) -> u32 {
        self.groups().into_iter().zip(inputs).map(|((entries, _), inputs)| inputs * entries).sum()
    }

    /// Values of a box along a digit of so many.
    pub(super) fn values(&self, place: usize, size: u32) -> u32 {
        (self.tile[place] * self.tiles[place]).min(size)
    }
}

/// A kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Variant {
    /// An output a thread, or several threads an output.
    Each,
    /// A register tile, its inputs staged in shared memory: so many in the groups `xy`, `xz` and `yz`.
    Staged(Staged, [u32; 3]),
    /// A register tile along three digits and the fastest one; the groups `xy`, `xz`, `yz` and `xyz`.
    Tile([u32; 4], [Kinds; 4]),
    /// As `Each`, folded over several digits or in parts.
    Down,
    /// Tables are settled.
    Settle(Phase),
    /// As `Each`, on probabilities and utilities.
    Pair(Role),
}

/// What a step on probabilities and utilities makes: expectations, the largest utility, or a product that must not
/// depend on the variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    Expect,
    Largest,
    Constant,
}

/// Roles as kernels have them.
pub(crate) const EXPECT: i32 = Role::Expect as i32;
pub(crate) const LARGEST: i32 = Role::Largest as i32;
pub(crate) const CONSTANT: i32 = Role::Constant as i32;

/// How tables are settled: at once by a block each, or divided and measured first and scaled then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    Whole,
    Measure,
    Scale,
}

/// Phases as kernels have them.
pub(crate) const WHOLE: i32 = Phase::Whole as i32;
pub(crate) const MEASURE: i32 = Phase::Measure as i32;
pub(crate) const SCALE: i32 = Phase::Scale as i32;

impl Variant {
    /// Threads of its blocks.
    pub fn threads(&self) -> u32 {
        match self {
            Variant::Each | Variant::Down | Variant::Settle(_) | Variant::Pair(_) => THREADS,
            Variant::Staged(staged, _) => staged.threads(),
            Variant::Tile(..) => TILE_THREADS,
        }
    }

    /// Bytes of dynamic shared memory of its blocks.
    pub fn shared(&self) -> u32 {
        match self {
            Variant::Staged(staged, inputs) => staged.shared(inputs),
            _ => 0,
        }
    }

    /// Steps of single outputs are launched together by this.
    pub fn rank(&self) -> u32 {
        match self {
            Variant::Down => 1,
            Variant::Pair(role) => 2 + *role as u32,
            _ => 0,
        }
    }

    /// Its name in its text, for a semiring.
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
