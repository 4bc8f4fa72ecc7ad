//! Tables divided into tiles, and stride maps of smaller tables along them.
//!
//! A table over many axes is visited tile by tile; a tile has all combinations of the fastest axes. A table over some
//! of the axes has an offset for each tile, and one of a few shapes within a tile. Devices visit the same tiles
//! (kernels/joingraph.cu).

use super::strides;
use crate::algebra::CostEntry;
use crate::model::Cost;
use crate::threads;
use std::ops::Sub;

/// Approximate number of entries of a tile, which stay in the first-level cache with the entries added to them.
const TILE: usize = 2048;

/// The forbidden cost among 64-bit costs that move between tables; sums of a few of them fit 64 bits.
pub const NEVER: Cost = i64::NEVER;

/// An entry of a table from and to which costs are moved.
pub trait Movable: CostEntry + Sub<Output = Self> {
    /// The forbidden cost: half of it exceeds any cost, and twice of it fits the type.
    const NEVER: Self;
    /// A cost that every solution is below.
    const LARGEST: Cost;
}

impl Movable for i32 {
    const NEVER: i32 = 1 << 29;
    const LARGEST: Cost = 1 << 28;
}

impl Movable for i64 {
    const NEVER: i64 = 1 << 56;
    const LARGEST: Cost = 1 << 48;
}

/// The tiles of a table with axes of given sizes.
#[derive(Debug)]
pub struct Tiles {
    /// Sizes of the axes that lead from tile to tile.
    pub outer: Vec<usize>,
    /// Number of entries of a tile.
    pub size: usize,
    inner: Vec<usize>,
}

/// The map from the tiles of a large table to the entries of a table over some of its axes.
#[derive(Debug)]
pub struct StrideMap {
    /// Distance from one value of each outer axis to the next, in entries.
    pub strides: Vec<usize>,
    /// Offsets of the entries of a tile from its first entry.
    pub offsets: Vec<u32>,
    /// The shape of the offsets.
    pub shape: Shape,
}

/// The pattern in which a smaller table varies within a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One entry for the whole tile.
    Same,
    /// Consecutive entries.
    Row,
    /// Runs of this number of consecutive entries; single entries if it is 1.
    Runs(usize),
}

impl Tiles {
    /// Creates the tiles of a table with `sizes` values along its axes.
    pub fn new(sizes: &[usize]) -> Self {
        let mut outer = sizes.len();
        let mut size = 1;
        while outer > 0 && size * sizes[outer - 1] <= TILE {
            outer -= 1;
            size *= sizes[outer];
        }
        Tiles { outer: sizes[..outer].to_vec(), size, inner: sizes[outer..].to_vec() }
    }

    /// Returns the number of tiles.
    pub fn count(&self) -> usize {
        self.outer.iter().product()
    }

    /// Returns the stride map of a table. `places` has the index of each axis among the table's own axes, whose sizes
    /// are `sizes`.
    pub fn map(&self, places: &[Option<usize>], sizes: &[usize]) -> StrideMap {
        let steps = strides(sizes);
        let mut all: Vec<usize> = places.iter().map(|place| place.map_or(0, |place| steps[place])).collect();
        let inner = all.split_off(self.outer.len());
        let mut offsets = vec![0];
        for (&size, &stride) in self.inner.iter().zip(&inner) {
            let coordinates = |offset: u32| (0..size).map(move |coordinate| offset + (coordinate * stride) as u32);
            offsets = offsets.into_iter().flat_map(coordinates).collect();
        }
        let shape = if inner.iter().all(|&stride| stride == 0) {
            Shape::Same
        } else {
            let run = (1..offsets.len()).take_while(|&at| offsets[at] as usize == at).count() + 1;
            if run == offsets.len() { Shape::Row } else { Shape::Runs(run) }
        };
        StrideMap { strides: all, offsets, shape }
    }
}

impl StrideMap {
    /// Returns the offset of the tile at these coordinates.
    #[inline(always)]
    pub fn base(&self, coordinates: &[usize]) -> usize {
        coordinates.iter().zip(&self.strides).map(|(&coordinate, &stride)| coordinate * stride).sum()
    }
}

/// Number of entries from which on several threads are used.
const LARGE: usize = 1 << 16;

/// Computes the coordinates of a tile.
fn coordinates(mut tile: usize, sizes: &[usize], coordinates: &mut Vec<usize>) {
    coordinates.resize(sizes.len(), 0);
    for (coordinate, &size) in coordinates.iter_mut().zip(sizes).rev() {
        *coordinate = tile % size;
        tile /= size;
    }
}

/// Adds smaller tables to a table, in which sums of `limit` or more become forbidden, and lowers the entries of an
/// output table to the minimum of the table for each combination of its axes, in one pass through memory.
pub fn relax<E: Movable>(
    table: &mut [E],
    tiles: &Tiles,
    inputs: &[(&StrideMap, &[E])],
    output: Option<(&StrideMap, &mut [E])>,
    limit: E,
) {
    let size = tiles.size;
    let part = |first: usize, table: &mut [E], mut output: Option<(&StrideMap, &mut [E])>| {
        let mut at = Vec::new();
        for (number, tile) in table.chunks_exact_mut(size).enumerate() {
            coordinates(first + number, &tiles.outer, &mut at);
            for (number, (map, change)) in inputs.iter().enumerate() {
                let limit = if number + 1 == inputs.len() { limit } else { E::NEVER };
                pulp::Arch::new().dispatch(Add { tile, map, change: &change[map.base(&at)..], limit });
            }
            if let Some((map, least)) = &mut output {
                pulp::Arch::new().dispatch(Least { tile, map, least: &mut least[map.base(&at)..] });
            }
        }
    };
    if table.len() < LARGE {
        return part(0, table, output);
    }
    // a fixed number of parts, so that more threads take no more memory
    let of = |parts: usize| (table.len() / size).div_ceil(parts);
    match output {
        None => {
            let many = of(16);
            let parts = table.chunks_mut(many * size).enumerate();
            let _ = threads::map(parts, |(number, table)| part(number * many, table, None));
        }
        Some((map, least)) => {
            let many = of(if least.len() <= table.len() / 64 { 16 } else { 4 });
            let parts = threads::map(table.chunks_mut(many * size).enumerate(), |(number, table)| {
                let mut least = vec![E::NEVER; least.len()];
                part(number * many, table, Some((map, &mut least)));
                least
            });
            let stretch = least.len().div_ceil(16).max(1);
            let _ = threads::map(least.chunks_mut(stretch).enumerate(), |(number, least)| {
                for part in &parts {
                    let others = &part[number * stretch..];
                    least.iter_mut().zip(others).for_each(|(least, &other)| *least = (*least).min(other));
                }
            });
        }
    }
}

struct Least<'a, E> {
    tile: &'a [E],
    map: &'a StrideMap,
    least: &'a mut [E],
}

impl<E: Movable> pulp::WithSimd for Least<'_, E> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let Least { tile, map, least } = self;
        let lower = |least: &mut E, cost: E| *least = if cost < *least { cost } else { *least };
        match map.shape {
            Shape::Same => lower(&mut least[0], tile.iter().fold(E::NEVER, |a, &b| if b < a { b } else { a })),
            Shape::Row => least.iter_mut().zip(tile).for_each(|(least, &cost)| lower(least, cost)),
            Shape::Runs(1) => {
                for (&cost, &at) in tile.iter().zip(&map.offsets) {
                    lower(&mut least[at as usize], cost);
                }
            }
            Shape::Runs(run) => {
                for (costs, &at) in tile.chunks_exact(run).zip(map.offsets.iter().step_by(run)) {
                    least[at as usize..].iter_mut().zip(costs).for_each(|(least, &cost)| lower(least, cost));
                }
            }
        }
    }
}

struct Add<'a, E> {
    tile: &'a mut [E],
    map: &'a StrideMap,
    change: &'a [E],
    limit: E,
}

impl<E: Movable> pulp::WithSimd for Add<'_, E> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let Add { tile, map, change, limit } = self;
        let add = |cost: &mut E, change: E| {
            let sum = *cost + change;
            *cost = if *cost >= E::NEVER || sum >= limit { E::NEVER } else { sum };
        };
        match map.shape {
            Shape::Same => {
                let change = change[0];
                tile.iter_mut().for_each(|cost| add(cost, change));
            }
            Shape::Row => tile.iter_mut().zip(change).for_each(|(cost, &change)| add(cost, change)),
            Shape::Runs(1) => {
                for (cost, &at) in tile.iter_mut().zip(&map.offsets) {
                    add(cost, change[at as usize]);
                }
            }
            Shape::Runs(run) => {
                for (costs, &at) in tile.chunks_exact_mut(run).zip(map.offsets.iter().step_by(run)) {
                    costs.iter_mut().zip(&change[at as usize..]).for_each(|(cost, &change)| add(cost, change));
                }
            }
        }
    }
}
