//! How an output table is cut into tiles, and the memory that this takes.

use super::expand::PAD;
use crate::algebra::TERMS;
use crate::elimination::plan::slices::entries;
use crate::elimination::plan::{Input, Source, Step};

/// A tile has at least this many outputs if the table has: long stretches of every input.
const TILE: usize = 1 << 10;
/// But not more than this, its outputs stay in the L1 cache.
const LARGEST_TILE: usize = 1 << 12;
/// And a slab of it over all values of the eliminated variable stays below this: stages in the L2 cache.
const SLAB: usize = 1 << 17;
/// Slabs beyond this are not staged at all; a tile is then a single output (domains of many thousand values).
const LARGEST_SLAB: usize = 1 << 22;
/// Inputs read row by row, beside the combined scalars; one less where there is a stage.
pub(super) const LANES: usize = TERMS - 1;
/// Values of the eliminated variable in one pass over a tile: so few that each input is read in long stretches.
pub(super) const VALUES: usize = 4;
/// Threads that scratch memory is counted for. A fixed number, so that plans do not depend on the machine.
pub(crate) const THREADS: u64 = 16;

/// How an output table is cut into tiles.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Number of outer digits.
    pub outer: usize,
    /// Outputs of a tile.
    pub tile: usize,
    /// Values of the eliminated variable.
    pub domain: usize,
}

impl Shape {
    /// How the step of a scope is laid out in tiles.
    pub fn new(scope: &[u32], domains: &[u32], domain: usize) -> Self {
        let mut outer = scope.len();
        let mut tile = 1usize;
        while outer > 0 && tile < TILE {
            let wider = tile.saturating_mul(domains[scope[outer - 1] as usize] as usize);
            let fits = wider <= LARGEST_TILE && wider.saturating_mul(domain) <= SLAB;
            if !fits && (tile > 1 || wider.saturating_mul(domain) > LARGEST_SLAB) {
                break;
            }
            tile = wider;
            outer -= 1;
        }
        Shape { outer, tile, domain }
    }

    /// Entries of scratch memory, at most.
    pub fn scratch(&self, inputs: &[Input]) -> usize {
        let Shape { outer, tile, domain } = *self;
        let wide = inputs.iter().filter(|input| input.scope.len() > 1).count();
        let stages = if wide > LANES { wide.min(outer + 1) } else { 0 };
        let expanded = wide.min(LANES) * domain.min(VALUES) + stages.min(1);
        let sums = (stages * (tile + PAD)).saturating_add(inputs.len().min(outer + 1) + 1).saturating_mul(domain);
        // rows are not much shorter than a block
        sums.saturating_add(expanded * (tile + PAD) + 3 * tile + 2 * PAD)
    }
}

/// Entries that a step needs besides its message: laid out functions and scratch.
pub(crate) fn temporary(step: &Step, domains: &[u32]) -> u64 {
    if step.lowered {
        return step.entries;
    }
    let functions = step.inputs.iter().filter(|input| matches!(input.source, Source::Function(_)));
    let loaded = functions.map(|input| entries(&input.scope, domains)).fold(0, u64::saturating_add);
    let shape = Shape::new(&step.scope, domains, domains[step.position as usize] as usize);
    loaded.saturating_add((shape.scratch(&step.inputs) as u64).saturating_mul(THREADS))
}
