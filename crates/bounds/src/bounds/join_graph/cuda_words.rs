//! Passes over a join graph as data for the kernels (kernels/joingraph.cu): which block of threads does what.

use super::schedule::{Cluster, Move, Separator, Wave};
use crate::bounds::tuning::join_graph::{BLOCKS, CHUNK, DEVICE, SHORT_WALK, WALK};
use crate::device::shared::device_structs;
use crate::tensor::strides;
use std::ops::Range;

/// Kind of a move between separator messages: all costs move.
const PUSH: u32 = 0;
/// Kind of a move between separator messages: a share of the costs moves.
pub(super) const SHARE: u32 = 1;
/// Kind of a move between separator messages: both get half of their sum.
pub(super) const LEVEL: u32 = 2;

device_structs! {
    #[derive(Clone, Copy, Debug, Default)]
    pub(crate) struct OperationWords as "Operation" {
        pub table: u64,
        pub size: u32,
        pub count: u32,
        pub chunk: u32,
        pub first: u32,
        pub axes: u32,
        pub sizes: u32,
        pub strides: u32,
        pub maps: u32,
        pub inputs: u32,
        pub output: u32,
    }

    #[derive(Clone, Copy, Debug, Default)]
    pub(crate) struct LieWords as "StrideMap" {
        pub separator: u64,
        pub offsets: u64,
    }

    #[derive(Clone, Copy, Debug, Default)]
    pub(crate) struct MoveWords as "Move" {
        pub from: u64,
        pub to: u64,
        pub entries: u64,
        pub kind: u32,
        pub parts: u32,
        pub first: u32,
        pub number: u32,
    }
}

/// The blocks of threads of a wave, as ranges of [`Words::map`].
#[derive(Clone, Debug, Default)]
pub(crate) struct WaveWords {
    pub operations: Range<u32>,
    pub moves: Range<u32>,
}

/// The descriptors of the waves of a pass.
#[derive(Debug, Default)]
pub(crate) struct Words {
    pub operations: Vec<OperationWords>,
    pub maps: Vec<LieWords>,
    pub sizes: Vec<u32>,
    pub strides: Vec<u64>,
    pub moves: Vec<MoveWords>,
    pub map: Vec<u32>,
    pub waves: Vec<WaveWords>,
}

impl Words {
    /// Describes waves on clusters. `table` returns the address of a cluster's table, and `separator` those of a
    /// separator message and of its offsets.
    pub fn new(
        waves: &[Wave],
        clusters: &[Cluster],
        separators: &[Separator],
        table: impl Fn(u32) -> u64,
        separator: impl Fn(u32) -> (u64, u64),
    ) -> Words {
        let mut words = Words::default();
        for wave in waves {
            let start = words.map.len() as u32;
            let entries: usize = wave.operations.iter().map(|own| clusters[own.cluster as usize].entries).sum();
            let walk = (entries / DEVICE).clamp(SHORT_WALK, WALK);
            for operation in &wave.operations {
                let cluster = &clusters[operation.cluster as usize];
                let maps = || operation.inputs.iter().copied().chain(operation.output);
                let first = OperationWords {
                    table: table(operation.cluster),
                    size: cluster.tiles.size as u32,
                    count: cluster.tiles.count() as u32,
                    chunk: (walk / cluster.tiles.size).clamp(1, BLOCKS) as u32,
                    first: words.map.len() as u32,
                    axes: cluster.tiles.outer.len() as u32,
                    sizes: words.sizes.len() as u32,
                    strides: words.strides.len() as u32,
                    maps: words.maps.len() as u32,
                    inputs: operation.inputs.len() as u32,
                    output: u32::from(operation.output.is_some()),
                };
                words.maps.extend(maps().map(|own| {
                    let (separator, offsets) = separator(own);
                    LieWords { separator, offsets }
                }));
                let own = strides(&cluster.sizes);
                for axis in walked(cluster, operation.output.map(|own| &separators[own as usize])) {
                    words.sizes.push(cluster.sizes[axis] as u32);
                    words.strides.push(own[axis] as u64);
                    words.strides.extend(maps().map(|own| separators[own as usize].map.strides[axis] as u64));
                }
                let number = words.operations.len() as u32;
                words.map.extend((0..first.count.div_ceil(first.chunk)).map(|_| number));
                words.operations.push(first);
            }
            let middle = words.map.len() as u32;
            for &what in &wave.moves {
                let (a, b) = what.separators();
                let (kind, parts) = match what {
                    Move::Push(..) => (PUSH, 1),
                    Move::Share(_, _, parts) => (SHARE, parts),
                    Move::Level(..) => (LEVEL, 1),
                };
                let entries = separators[a as usize].entries as u64;
                let number = words.moves.len() as u32;
                let first = words.map.len() as u32;
                words.map.extend((0..entries.div_ceil(CHUNK)).map(|_| number));
                let (from, to) = (separator(a).0, b.map_or(0, |b| separator(b).0));
                words.moves.push(MoveWords { from, to, entries, kind, parts, first, number: a });
            }
            words.waves.push(WaveWords { operations: start..middle, moves: middle..words.map.len() as u32 });
        }
        words
    }
}

/// Returns the outer axes of a table in the order in which a thread walks them, the fastest first. The axes that the
/// output lacks come first, so that a thread reduces several blocks before it writes; the others follow the order in
/// memory.
fn walked(cluster: &Cluster, output: Option<&Separator>) -> Vec<usize> {
    let mut axes: Vec<usize> = (0..cluster.tiles.outer.len()).rev().collect();
    if let Some(separator) = output {
        axes.sort_by_key(|&axis| separator.map.strides[axis] != 0);
    }
    axes
}
