//! Tables cut into blocks, and how smaller tables lie along them.
//!
//! A table over many digits is walked block by block, a block being all combinations of its fastest digits. A table over some
//! of the digits has each block at an offset, and within a block in one of a few shapes.

use super::table::strides;
use crate::model::Cost;
use rayon::prelude::*;

/// Entries of a block, about: they stay in the first cache with what is added to them.
const BLOCK: usize = 1024;

/// What is not allowed, among costs that move between tables; sums of a few stay within 64 bits.
pub(super) const NEVER: Cost = 1 << 56;

/// A table over these digits, cut.
#[derive(Debug)]
pub(super) struct Blocks {
    /// The digits that lead from block to block.
    pub outer: Vec<usize>,
    /// Entries of a block.
    pub size: usize,
    inner: Vec<usize>,
}

/// How a table over some of the digits lies along the blocks.
#[derive(Debug)]
pub(super) struct Lie {
    strides: Vec<usize>,
    /// Where the entries of a block lie, from where the block does.
    pub offsets: Vec<u32>,
    /// In which shape.
    pub shape: Shape,
}

/// How a table's entries lie in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// One for the whole block.
    Same,
    /// In order.
    Row,
    /// In runs of so many that lie in order, or one a run where that is 1.
    Runs(usize),
}

impl Blocks {
    pub fn new(sizes: &[usize]) -> Self {
        let mut outer = sizes.len();
        let mut size = 1;
        while outer > 0 && size * sizes[outer - 1] <= BLOCK {
            outer -= 1;
            size *= sizes[outer];
        }
        Blocks { outer: sizes[..outer].to_vec(), size, inner: sizes[outer..].to_vec() }
    }

    /// How a table lies along them, of which is known where among its own digits each digit is, and their sizes.
    pub fn lie(&self, places: &[Option<usize>], sizes: &[usize]) -> Lie {
        let steps = strides(sizes);
        let mut all: Vec<usize> = places.iter().map(|place| place.map_or(0, |place| steps[place])).collect();
        let inner = all.split_off(self.outer.len());
        let mut offsets = vec![0];
        for (&size, &stride) in self.inner.iter().zip(&inner) {
            let digits = |offset: u32| (0..size).map(move |digit| offset + (digit * stride) as u32);
            offsets = offsets.into_iter().flat_map(digits).collect();
        }
        let shape = if inner.iter().all(|&stride| stride == 0) {
            Shape::Same
        } else {
            let run = (1..offsets.len()).take_while(|&at| offsets[at] as usize == at).count() + 1;
            if run == offsets.len() { Shape::Row } else { Shape::Runs(run) }
        };
        Lie { strides: all, offsets, shape }
    }
}

impl Lie {
    /// Where the block begins that these digits lead to.
    #[inline(always)]
    pub fn base(&self, digits: &[usize]) -> usize {
        digits.iter().zip(&self.strides).map(|(&digit, &stride)| digit * stride).sum()
    }
}

/// Entries from which on several threads are worth it.
const LARGE: usize = 1 << 16;

/// The digits of a block.
fn digits(mut block: usize, sizes: &[usize], digits: &mut Vec<usize>) {
    digits.resize(sizes.len(), 0);
    for (digit, &size) in digits.iter_mut().zip(sizes).rev() {
        *digit = block % size;
        block /= size;
    }
}

/// The least of a table for each combination of a smaller one's digits.
pub(super) fn project(table: &[Cost], blocks: &Blocks, lie: &Lie, entries: usize) -> Vec<Cost> {
    let Blocks { outer, size, .. } = blocks;
    let part = |first: usize, table: &[Cost]| {
        let mut least = vec![NEVER; entries];
        let mut at = Vec::new();
        for (number, block) in table.chunks_exact(*size).enumerate() {
            digits(first + number, outer, &mut at);
            pulp::Arch::new().dispatch(Least { block, lie, least: &mut least[lie.base(&at)..] });
        }
        least
    };
    if table.len() < LARGE {
        return part(0, table);
    }
    // of a fixed number, so that no more memory is used where there are more threads
    let many = (table.len() / size).div_ceil(4);
    let parts = table.par_chunks(many * size).enumerate().map(|(number, table)| part(number * many, table));
    parts
        .reduce_with(|mut a, b| {
            a.iter_mut().zip(&b).for_each(|(a, &b)| *a = (*a).min(b));
            a
        })
        .unwrap_or_default()
}

struct Least<'a> {
    block: &'a [Cost],
    lie: &'a Lie,
    least: &'a mut [Cost],
}

impl pulp::WithSimd for Least<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let Least { block, lie, least } = self;
        let lower = |least: &mut Cost, cost: Cost| *least = if cost < *least { cost } else { *least };
        match lie.shape {
            Shape::Same => lower(&mut least[0], block.iter().fold(NEVER, |a, &b| if b < a { b } else { a })),
            Shape::Row => least.iter_mut().zip(block).for_each(|(least, &cost)| lower(least, cost)),
            Shape::Runs(1) => {
                for (&cost, &at) in block.iter().zip(&lie.offsets) {
                    lower(&mut least[at as usize], cost);
                }
            }
            Shape::Runs(run) => {
                for (costs, &at) in block.chunks_exact(run).zip(lie.offsets.iter().step_by(run)) {
                    least[at as usize..].iter_mut().zip(costs).for_each(|(least, &cost)| lower(least, cost));
                }
            }
        }
    }
}

/// Adds a smaller table; what comes to the limit is not allowed any more.
pub(super) fn add(table: &mut [Cost], blocks: &Blocks, lie: &Lie, change: &[Cost], limit: Cost) {
    let Blocks { outer, size, .. } = blocks;
    let size = *size;
    let part = |first: usize, table: &mut [Cost]| {
        let mut at = Vec::new();
        for (number, block) in table.chunks_exact_mut(size).enumerate() {
            digits(first + number, outer, &mut at);
            pulp::Arch::new().dispatch(Add { block, lie, change: &change[lie.base(&at)..], limit });
        }
    };
    if table.len() < LARGE {
        return part(0, table);
    }
    let many = (table.len() / size).div_ceil(16);
    table.par_chunks_mut(many * size).enumerate().for_each(|(number, table)| part(number * many, table));
}

struct Add<'a> {
    block: &'a mut [Cost],
    lie: &'a Lie,
    change: &'a [Cost],
    limit: Cost,
}

impl pulp::WithSimd for Add<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let Add { block, lie, change, limit } = self;
        let add = |cost: &mut Cost, change: Cost| {
            let sum = *cost + change;
            *cost = if *cost >= NEVER || sum >= limit { NEVER } else { sum };
        };
        match lie.shape {
            Shape::Same => {
                let change = change[0];
                block.iter_mut().for_each(|cost| add(cost, change));
            }
            Shape::Row => block.iter_mut().zip(change).for_each(|(cost, &change)| add(cost, change)),
            Shape::Runs(1) => {
                for (cost, &at) in block.iter_mut().zip(&lie.offsets) {
                    add(cost, change[at as usize]);
                }
            }
            Shape::Runs(run) => {
                for (costs, &at) in block.chunks_exact_mut(run).zip(lie.offsets.iter().step_by(run)) {
                    costs.iter_mut().zip(&change[at as usize..]).for_each(|(cost, &change)| add(cost, change));
                }
            }
        }
    }
}
