//! The visits of cost shifting as data for the kernel (kernels/shift.cu): which block of threads reads what.

use super::layout::Layout;
use super::layout::Place;
use crate::bounds::tuning::cost_shifting::{PIECE, ROWS};
use crate::device::shared::device_structs;
use crate::tensor::tiles::Movable;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::ops::Range;

/// Threads of a block.
pub(super) const THREADS: u32 = 256;
/// Pieces of a block of threads: two for each warp.
const PIECES: usize = 2 * THREADS as usize / 32;

device_structs! {
    #[derive(Clone, Copy, Debug, Default)]
    pub(crate) struct PieceWords as "Piece" {
        pub entries: u64,
        pub row: u64,
        pub size: u32,
        pub rows: u32,
        pub first: u32,
        pub digits: u32,
        pub digit: u32,
        pub padding as "": u32,
    }

    #[derive(Clone, Copy, Debug, Default)]
    pub(crate) struct DigitWords as "Digit" {
        pub row: u64,
        pub size: u64,
    }

    #[derive(Clone, Copy, Debug, Default)]
    pub(crate) struct VisitWords as "Visit" {
        pub unary: u64,
        pub row: u64,
        pub size: u32,
        pub uses: u32,
        pub blocks: u32,
        pub used as "use": u32,
        pub onward: [u32; 2],
    }

    #[derive(Clone, Copy, Debug, Default)]
    pub(crate) struct BlockWords as "Block" {
        pub visit: u32,
        pub begin: u32,
        pub end: u32,
    }
}

/// The descriptors of all visits of a pass.
#[derive(Debug, Default)]
pub(crate) struct Words {
    pub pieces: Vec<PieceWords>,
    pub digits: Vec<DigitWords>,
    pub visits: Vec<VisitWords>,
    pub blocks: Vec<BlockWords>,
    pub uses: Vec<u32>,
    /// Range of thread blocks of each wave of a forward pass.
    pub waves: Vec<Range<u32>>,
}

/// The tables of functions, each with the values of one of its variables fastest; equal ones are stored once.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    /// The function and the scope position of each table.
    pub all: Vec<(u32, u32)>,
    /// By [the number](Layout::number) of a scope position, the offset of its table in entries.
    pub at: Vec<u64>,
    pub entries: u64,
}

impl Tables {
    pub fn new(layout: &Layout) -> Tables {
        type Key = (Option<usize>, SmallVec<[u32; 4]>, u32);
        let mut tables = Tables::default();
        let mut known: FxHashMap<Key, u64> = FxHashMap::default();
        for function in 0..layout.functions() as u32 {
            let (places, entries) = (layout.places(function), layout.len(function) as u64);
            let sizes: SmallVec<[u32; 4]> = places.iter().map(|place| place.size).collect();
            for place in 0..places.len() as u32 {
                let at = *known.entry((layout.address(function), sizes.clone(), place)).or_insert_with(|| {
                    tables.all.push((function, place));
                    tables.entries += entries;
                    tables.entries - entries
                });
                tables.at.push(at);
            }
        }
        tables
    }

    pub fn table<E: Movable>(layout: &Layout, function: u32, place: u32) -> Vec<E> {
        let (places, place) = (layout.places(function), place as usize);
        let size = places[place].size as usize;
        let run: usize = places[place + 1..].iter().map(|place| place.size as usize).product();
        let entries: Vec<E> = layout.entries(function).map(|cost| E::from_cost(cost.min(E::NEVER.cost()))).collect();
        let row = |lot: usize, low: usize| entries[lot * size * run + low..].iter().step_by(run).take(size).copied();
        let rows = (0..entries.len() / (size * run)).flat_map(|lot| (0..run).map(move |low| (lot, low)));
        rows.flat_map(|(lot, low)| row(lot, low)).collect()
    }
}

impl Words {
    /// Describes the visits of a layout. `table` returns the address of a function's table with the values of one scope
    /// position fastest; `bytes` is the size of an entry.
    pub fn new(layout: &Layout, bytes: u64, table: impl Fn(u32, u32) -> u64) -> Words {
        let mut words = Words::default();
        for wave in &layout.waves {
            let start = words.blocks.len() as u32;
            for &v in &wave.variables {
                words.visit(layout, v, bytes, &table);
            }
            words.waves.push(start..words.blocks.len() as u32);
        }
        words
    }

    fn visit(&mut self, layout: &Layout, v: u32, bytes: u64, table: impl Fn(u32, u32) -> u64) {
        let (uses, values, cells) = (layout.uses(v), layout.values(v), layout.rows(v).start as u64);
        let size = values.len();
        let begin = self.pieces.len();
        for (number, own) in uses.iter().enumerate() {
            let places = layout.places(own.function);
            let digit = self.digits.len() as u32;
            for place in (0..places.len()).rev().filter(|&place| place != own.place()) {
                let Place { row, size } = places[place];
                self.digits.push(DigitWords { row: u64::from(row), size: u64::from(size) });
            }
            let rows = layout.len(own.function) / size.max(1);
            let entries = table(own.function, own.place() as u32);
            let most = (PIECE / size.max(1)).clamp(1, ROWS);
            self.pieces.extend((0..rows).step_by(most).map(|first| PieceWords {
                entries: entries + (first * size) as u64 * bytes,
                row: cells + (number * size) as u64,
                size: size as u32,
                rows: most.min(rows - first) as u32,
                first: first as u32,
                digits: places.len() as u32 - 1,
                digit,
                padding: 0,
            }));
        }
        let (pieces, visit) = (self.pieces.len() - begin, self.visits.len() as u32);
        let blocks = pieces.div_ceil(PIECES).max(1);
        self.blocks.extend((0..blocks).map(|block| {
            let at = |piece: usize| (begin + piece.min(pieces)) as u32;
            BlockWords { visit, begin: at(block * PIECES), end: at((block + 1) * PIECES) }
        }));
        let used = self.uses.len() as u32;
        self.uses.extend(uses.iter().map(|own| own.onward_bits()));
        self.visits.push(VisitWords {
            unary: values.start as u64,
            row: cells,
            size: size as u32,
            uses: uses.len() as u32,
            blocks: blocks as u32,
            used,
            onward: [true, false].map(|forward| uses.iter().filter(|own| own.onward(forward)).count() as u32),
        });
    }
}
