//! The division of an output table into tiles, and its scratch memory.

use super::expand::PAD;
use crate::algebra::TERMS;
use crate::elimination::plan::slices::entries;
use crate::elimination::plan::{Input, Source, Step};

/// Least number of outputs of a tile, if the table is large enough: long stretches of every input.
const TILE: usize = 1 << 10;
/// Largest number of outputs of a tile, so that they stay in the L1 cache.
const LARGEST_TILE: usize = 1 << 12;
/// Largest number of entries of a tile over all values of the eliminated variable, so that stages stay in the L2 cache.
const SLAB: usize = 1 << 17;
/// Number of entries of a tile over all values beyond which nothing is staged; a tile is then a single output (domains
/// of many thousand values).
const LARGEST_SLAB: usize = 1 << 22;
/// Number of inputs read row by row, beside the combined scalars; one less if there is a stage.
pub(super) const LANES: usize = TERMS - 1;
/// Values of the eliminated variable processed at a time: few, so that each input is read in long stretches.
pub(super) const VALUES: usize = 4;
/// Number of threads for which scratch memory is counted. It is fixed, so that plans do not depend on the machine.
pub(crate) const THREADS: u64 = 16;

/// The division of an output table into tiles.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Number of outer digits.
    pub outer: usize,
    /// Number of outputs of a tile.
    pub tile: usize,
    /// Number of values of the eliminated variable.
    pub domain: usize,
}

impl Shape {
    /// Chooses the tiles of a step whose message has the given scope.
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

    /// Returns an upper bound on the scratch memory, in entries.
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

/// Returns the entries that a step needs besides its message: tables of its functions, and scratch memory.
pub(crate) fn temporary(step: &Step, domains: &[u32]) -> u64 {
    if step.lowered {
        return step.entries;
    }
    let functions = step.inputs.iter().filter(|input| matches!(input.source, Source::Function(_)));
    let loaded = functions.map(|input| entries(&input.scope, domains)).fold(0, u64::saturating_add);
    let shape = Shape::new(&step.scope, domains, domains[step.position as usize] as usize);
    loaded.saturating_add((shape.scratch(&step.inputs) as u64).saturating_mul(THREADS))
}
