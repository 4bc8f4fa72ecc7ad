//! The fused kernel: combines the inputs of a mini-bucket and folds over one variable, tile by tile.
//!
//! The joint table never exists. Outputs are made in *tiles*: all combinations of the output's fastest digits,
//! enough of them for long stretches of every input. The digits outside the tile (*outer* digits) are a mixed-radix
//! counter; every input has an offset that moves with it, so nothing is divided.
//!
//! A tile is a list of *rows*: its fastest digits, as many as each input reads all or none of, or some more where
//! that would be short. Depending on which tile digits an input reads, it is
//!
//! - one entry for the tile (*scalar*): added up in `base[a]`;
//! - one entry a row (*single*): added to the base of the row;
//! - a run a row (*lane*): read in place where it has all digits of the row, otherwise expanded (see `Run`), once
//!   for all rows that differ in digits that it does not read.
//!
//! So the innermost loop is `out = fold(out, combine(base, lane, lane...))` over the blocks of a row, for a few
//! values of the eliminated variable at a time: with more of them the loads would jump between more places than
//! caches and prefetchers follow.
//!
//! Where there are more inputs than lanes, those of slow *levels*, by the fastest outer digit that they read, are
//! summed into stages of a tile's size, made again only when one of their digits moves; the last stage is a lane.

use super::cursor::Cursor;
use super::expand::{Digit, PAD, Run, offsets, row_digits, set_starts};
use crate::algebra::Entry;
use crate::algebra::{Semiring, TERMS};
use crate::elimination::plan::Input;
use crate::tensor::strides;

/// A tile has at least this many outputs if the table has: long stretches of every input.
const TILE: usize = 1 << 10;
/// But not more than this, its outputs stay in the L1 cache.
const LARGEST_TILE: usize = 1 << 12;
/// And a slab of it over all values of the eliminated variable stays below this: stages in the L2 cache.
const SLAB: usize = 1 << 17;
/// Slabs beyond this are not staged at all; a tile is then a single output (domains of many thousand values).
const LARGEST_SLAB: usize = 1 << 22;
/// Inputs read row by row, beside the combined scalars; one less where there is a stage.
const LANES: usize = TERMS - 1;
/// Values of the eliminated variable in one pass over a tile: so few that each input is read in long stretches.
const VALUES: usize = 4;
/// Outputs computed together, accumulators in registers.
const BLOCK: usize = PAD;

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

/// An input of a join.
pub(crate) struct Operand<'a, E> {
    table: &'a [E],
    /// From one value of the eliminated variable to the next.
    stride: usize,
    /// From one value of each outer digit to the next; 0 where the input does not read it.
    pub(crate) outer: Box<[usize]>,
    run: Run,
    /// Index into the offsets of a cursor.
    pub(crate) index: usize,
}

/// An input by its level and whether it is read in place, with its digits within the tile.
type Sorted<'a, E> = (usize, bool, Vec<Digit>, Operand<'a, E>);

/// Inputs that move with the same outer digit.
struct Level<'a, E> {
    /// The fastest outer digit that they read, counted from 1; 0 for none.
    digit: usize,
    scalars: Vec<Operand<'a, E>>,
    /// What goes into the stage of this level.
    staged: Vec<Operand<'a, E>>,
    /// The stage that this level reads from and, if it stages anything, writes to.
    stage: Option<usize>,
}

/// Entries for each of some values, and the distance from one value to the next.
type Slabs<'a, E> = (&'a [E], usize);

/// An input that the innermost loops read row by row, in place or expanded to whole rows.
struct Lane<'a, E> {
    operand: Operand<'a, E>,
    /// Entries of all rows of a tile.
    stretch: usize,
}

/// An input of which a row takes one entry.
struct Single<'a, E> {
    operand: Operand<'a, E>,
    /// Where the entry of each row is.
    starts: Box<[u32]>,
    stretch: usize,
}

/// A mini-bucket, ready to run.
pub struct Join<'a, S: Semiring> {
    shape: Shape,
    pub(crate) sizes: Box<[usize]>,
    levels: Vec<Level<'a, S::Entry>>,
    /// Outputs of a row: of its digits each lane reads all, or else is expanded.
    row: usize,
    /// Where each row of the tile begins, in each of the lanes and last in the stage.
    starts: Box<[[u32; LANES]]>,
    lanes: Vec<Lane<'a, S::Entry>>,
    singles: Vec<Single<'a, S::Entry>>,
    pub(crate) operands: usize,
    stages: usize,
    semiring: S,
}

impl<'a, S: Semiring> Join<'a, S> {
    /// `scope` is the output's, `inputs` hold the scopes of `tables`.
    pub fn new(
        shape: Shape,
        scope: &[u32],
        domains: &[u32],
        inputs: impl Iterator<Item = (&'a [u32], &'a [S::Entry])>,
        semiring: S,
    ) -> Self {
        let size = |p: &u32| domains[*p as usize] as usize;
        let sizes: Box<[usize]> = scope[..shape.outer].iter().map(size).collect();
        let mut sorted: Vec<Sorted<'a, S::Entry>> = Vec::new();
        for (own, table) in inputs {
            let steps = strides(&own.iter().map(size).collect::<Vec<_>>());
            let step = |p: &u32| own.binary_search(p).map_or(0, |digit| steps[digit]);
            let outer: Box<[usize]> = scope[..shape.outer].iter().map(step).collect();
            let level = outer.iter().rposition(|&stride| stride != 0).map_or(0, |digit| digit + 1);
            let inner: Vec<Digit> = scope[shape.outer..].iter().map(|p| (size(p), step(p))).collect();
            let direct = inner.iter().all(|&(size, step)| step != 0 || size == 1);
            // how its run is made is decided with its part below
            let operand = Operand { table, stride: steps[0], outer, run: Run::Direct, index: sorted.len() };
            sorted.push((level, direct, inner, operand));
        }
        sorted.sort_by_key(|&(level, direct, ..)| (level, direct));
        let operands = sorted.len();
        let scalar = |inner: &[Digit]| inner.iter().all(|&(_, step)| step == 0);
        let wide = sorted.iter().filter(|(_, _, inner, _)| !scalar(inner)).count();
        // few inputs are all read in place; of many, those that move with every tile, and the others are summed
        let most = if wide > LANES { LANES - 1 } else { LANES };
        let mut rows = Vec::new();
        let mut levels: Vec<Level<'a, S::Entry>> = Vec::new();
        let mut stages = 0;
        let late = sorted.len().saturating_sub(most);
        for (place, (digit, _, inner, mut operand)) in sorted.into_iter().enumerate() {
            if levels.last().is_none_or(|level| level.digit != digit) {
                let stage = levels.last().and_then(|level| level.stage);
                levels.push(Level { digit, scalars: Vec::new(), staged: Vec::new(), stage });
            }
            let last = levels.len() - 1;
            let level = &mut levels[last];
            if scalar(&inner) {
                level.scalars.push(operand);
            } else if wide <= LANES || (digit == shape.outer && place >= late) {
                rows.push((inner, operand));
            } else {
                if level.staged.is_empty() {
                    level.stage = Some(stages);
                    stages += 1;
                }
                operand.run = Run::new(&inner);
                level.staged.push(operand);
            }
        }
        let sizes_of_tile: Vec<usize> = scope[shape.outer..].iter().map(size).collect();
        let split = row_digits(&sizes_of_tile, &rows.iter().map(|(inner, _)| &inner[..]).collect::<Vec<_>>());
        let row: usize = sizes_of_tile[split..].iter().product();
        let mut starts = vec![[0; LANES]; sizes_of_tile[..split].iter().product()];
        let (mut lanes, mut singles) = (Vec::new(), Vec::new());
        for (inner, mut operand) in rows {
            if scalar(&inner[split..]) {
                let starts = offsets(&inner[..split]);
                let stretch = starts.last().map_or(0, |&last| last as usize) + 1;
                singles.push(Single { operand, starts, stretch });
                continue;
            }
            // without the digits that it does not read, as far as rows are not concerned
            let own = |digit: &usize| *digit >= split || inner[*digit].1 != 0;
            let kept: Vec<Digit> = (0..inner.len()).filter(own).map(|digit| inner[digit]).collect();
            operand.run = Run::new(&kept);
            let mut steps = strides(&kept.iter().map(|&(size, _)| size).collect::<Vec<_>>()).into_iter();
            let step = |digit: usize| (inner[digit].0, if own(&digit) { steps.next().unwrap_or(0) } else { 0 });
            set_starts(&mut starts, lanes.len(), &(0..split).map(step).collect::<Vec<_>>());
            lanes.push(Lane { operand, stretch: kept.iter().map(|&(size, _)| size).product() });
        }
        let steps = sizes_of_tile.iter().copied().zip(strides(&sizes_of_tile));
        if stages > 0 {
            set_starts(&mut starts, lanes.len(), &steps.take(split).collect::<Vec<_>>());
        }
        Join { shape, sizes, levels, row, starts: starts.into(), lanes, singles, operands, stages, semiring }
    }

    /// Outputs of a tile.
    pub fn tile(&self) -> usize {
        self.shape.tile
    }

    /// Computes whole tiles, the first being number `first` of the output.
    pub fn run(&self, first: usize, out: &mut [S::Entry]) {
        pulp::Arch::new().dispatch(Vectorised { join: self, first, out });
    }

    #[inline(always)]
    fn tiles(&self, first: usize, out: &mut [S::Entry]) {
        let Shape { tile, domain, .. } = self.shape;
        let mut cursor = Cursor::new(self, first);
        let mut base = vec![self.semiring.one(); (self.levels.len() + 1) * domain];
        let mut stages = vec![S::Entry::default(); self.stages * domain * self.pitch()];
        let mut spread = vec![S::Entry::default(); self.stages.min(1) * self.pitch()];
        let longest = self.lanes.iter().map(|lane| lane.stretch).max().unwrap_or(0) + PAD;
        let mut expanded = vec![S::Entry::default(); self.lanes.len() * domain.min(VALUES) * longest];
        let mut padded = vec![S::Entry::default(); tile / self.row * self.padded()];
        let mut bases = vec![[S::Entry::default(); VALUES]; self.starts.len()];
        let mut moved = 0;
        for out in out.chunks_exact_mut(tile) {
            for (index, level) in self.levels.iter().enumerate() {
                if level.digit >= moved {
                    self.refresh(index, &cursor.offsets, &mut base, &mut stages, &mut spread);
                }
            }
            let base = &base[self.levels.len() * domain..];
            let stage = self.levels.last().and_then(|level| level.stage).map(|s| &stages[s * domain * self.pitch()..]);
            let whole = self.row == self.padded();
            let least = if whole { &mut *out } else { &mut padded[..] };
            least.fill(self.semiring.zero());
            let mut from = 0;
            while from < domain {
                let values = match domain - from {
                    VALUES.. => VALUES,
                    2.. => 2,
                    _ => 1,
                };
                let mut slabs = [(&[][..], 0); LANES];
                for ((to, lane), expanded) in
                    slabs.iter_mut().zip(&self.lanes).zip(expanded.chunks_exact_mut(domain.min(VALUES) * longest))
                {
                    *to = lane.slabs(&cursor.offsets, from, values, expanded);
                }
                if let Some(stage) = stage {
                    slabs[self.lanes.len()] = (&stage[from * self.pitch()..], self.pitch());
                }
                let base = &base[from..];
                match values {
                    VALUES => self.pass::<VALUES>(base, &cursor.offsets, from, &mut bases, &slabs, least),
                    2 => self.pass::<2>(base, &cursor.offsets, from, &mut bases, &slabs, least),
                    _ => self.pass::<1>(base, &cursor.offsets, from, &mut bases, &slabs, least),
                }
                from += values;
            }
            if !whole {
                for (row, least) in padded.chunks_exact(self.padded()).enumerate() {
                    for (block, least) in least.as_chunks::<BLOCK>().0.iter().enumerate() {
                        // whole blocks: what is too much is written over by the next row
                        let out = &mut out[row * self.row + block * BLOCK..];
                        match out.first_chunk_mut::<BLOCK>() {
                            Some(out) => *out = *least,
                            None => out.iter_mut().zip(least).for_each(|(out, &least)| *out = least),
                        }
                    }
                }
            }
            moved = cursor.advance(self);
        }
    }

    /// Sums a level onto the one before it.
    #[inline(always)]
    fn refresh(
        &self,
        index: usize,
        offsets: &[usize],
        base: &mut [S::Entry],
        stages: &mut [S::Entry],
        spread: &mut [S::Entry],
    ) {
        let Shape { tile, domain, .. } = self.shape;
        let level = &self.levels[index];
        let (before, sums) = base[index * domain..][..2 * domain].split_at_mut(domain);
        sums.copy_from_slice(before);
        for scalar in &level.scalars {
            let from = &scalar.table[offsets[scalar.index]..];
            for (sum, &x) in sums.iter_mut().zip(from.iter().step_by(scalar.stride)) {
                *sum = self.semiring.settle(self.semiring.combine(*sum, x));
            }
        }
        if level.staged.is_empty() {
            return;
        }
        let row = self.pitch();
        let (slower, own) = stages.split_at_mut(level.stage.unwrap_or(0) * domain * row);
        let mut sum = index.checked_sub(1).and_then(|before| self.levels[before].stage);
        for (number, operand) in level.staged.iter().enumerate() {
            let from = &operand.table[offsets[operand.index]..];
            for (value, own) in own.chunks_exact_mut(row).take(domain).enumerate() {
                let from = &from[value * operand.stride..];
                let slower = sum.map(|stage| &slower[(stage * domain + value) * row..][..tile]);
                if number == 0 && slower.is_none() {
                    operand.run.expand(from, own);
                    continue;
                }
                let own = &mut own[..tile];
                let addend = match operand.run {
                    Run::Direct => &from[..tile],
                    _ => {
                        operand.run.expand(from, spread);
                        &spread[..tile]
                    }
                };
                match slower {
                    Some(slower) => {
                        for ((sum, &x), &y) in own.iter_mut().zip(slower).zip(addend) {
                            *sum = self.semiring.combine(x, y);
                        }
                    }
                    None => {
                        for (sum, &x) in own.iter_mut().zip(addend) {
                            *sum = self.semiring.combine(*sum, x);
                        }
                    }
                }
                if self.operands > TERMS {
                    for sum in own {
                        *sum = self.semiring.settle(*sum);
                    }
                }
            }
            sum = None;
        }
    }

    /// Entries of a stage for a value of the eliminated variable.
    #[inline(always)]
    fn pitch(&self) -> usize {
        self.shape.tile + PAD
    }

    /// Some values of a tile.
    #[inline(always)]
    fn pass<const V: usize>(
        &self,
        base: &[S::Entry],
        offsets: &[usize],
        from: usize,
        bases: &mut [[S::Entry; VALUES]],
        slabs: &[Slabs<'_, S::Entry>; LANES],
        least: &mut [S::Entry],
    ) {
        let mut sums = [self.semiring.one(); VALUES];
        sums[..V].copy_from_slice(&base[..V]);
        bases.fill(sums);
        for Single { operand, starts, stretch } in &self.singles {
            let table = &operand.table[offsets[operand.index]..];
            let slabs: [&[S::Entry]; V] =
                std::array::from_fn(|value| &table[(from + value) * operand.stride..][..*stretch]);
            for (bases, &start) in bases.iter_mut().zip(starts) {
                for (base, slab) in bases.iter_mut().zip(&slabs) {
                    *base = self.semiring.combine(*base, slab[start as usize]);
                }
            }
        }
        match self.lanes.len() + self.stages.min(1) {
            0 => self.rows::<0, V>(bases, slabs, least),
            1 => self.rows::<1, V>(bases, slabs, least),
            2 => self.rows::<2, V>(bases, slabs, least),
            3 => self.rows::<3, V>(bases, slabs, least),
            _ => self.rows::<4, V>(bases, slabs, least),
        }
    }

    /// The innermost loops.
    #[inline(always)]
    fn rows<const N: usize, const V: usize>(
        &self,
        bases: &[[S::Entry; VALUES]],
        slabs: &[Slabs<'_, S::Entry>; LANES],
        least: &mut [S::Entry],
    ) {
        let slabs: [[&[S::Entry]; V]; N] = std::array::from_fn(|lane| {
            let (table, stride) = slabs[lane];
            std::array::from_fn(|value| &table[value * stride..])
        });
        for ((least, bases), starts) in least.chunks_exact_mut(self.padded()).zip(bases).zip(&self.starts) {
            for (block, least) in least.as_chunks_mut::<BLOCK>().0.iter_mut().enumerate() {
                let mut sums = [[self.semiring.one(); BLOCK]; V];
                for (sums, &base) in sums.iter_mut().zip(bases) {
                    *sums = [base; BLOCK];
                }
                for (slabs, start) in slabs.iter().zip(starts) {
                    // in 32 bits: the compiler sees that the end cannot overflow, which leaves one check
                    let at = start.wrapping_add((block * BLOCK) as u32) as usize;
                    for (sums, slab) in sums.iter_mut().zip(slabs) {
                        for (sum, &x) in sums.iter_mut().zip(&slab[at..at + BLOCK]) {
                            *sum = self.semiring.combine(*sum, x);
                        }
                    }
                }
                for sums in sums {
                    for (least, sum) in least.iter_mut().zip(sums) {
                        *least = self.semiring.fold(*least, sum);
                    }
                }
            }
        }
    }

    /// Entries of a row in whole blocks.
    #[inline(always)]
    fn padded(&self) -> usize {
        self.row.next_multiple_of(BLOCK)
    }
}

impl<E: Entry> Lane<'_, E> {
    /// Slabs of some values in which all rows are whole, the table's own or copies.
    #[inline(always)]
    fn slabs<'s>(&'s self, offsets: &[usize], from: usize, values: usize, expanded: &'s mut [E]) -> Slabs<'s, E> {
        let Operand { run, stride, .. } = &self.operand;
        let table = &self.operand.table[offsets[self.operand.index] + from * stride..];
        let pitch = self.stretch + PAD;
        if matches!(run, Run::Direct) && table.len() >= (values - 1) * stride + pitch {
            return (table, *stride);
        }
        for (value, row) in expanded.chunks_exact_mut(pitch).take(values).enumerate() {
            run.expand(&table[value * stride..], row);
        }
        (expanded, pitch)
    }
}

/// The loops, compiled once more for the vector instructions that the processor turns out to have. A type of
/// its own: a closure would not be inlined into the function that has them.
struct Vectorised<'j, 'a, S: Semiring> {
    join: &'j Join<'a, S>,
    first: usize,
    out: &'j mut [S::Entry],
}

impl<S: Semiring> pulp::WithSimd for Vectorised<'_, '_, S> {
    type Output = ();

    #[inline(always)]
    fn with_simd<V: pulp::Simd>(self, _: V) {
        self.join.tiles(self.first, self.out);
    }
}

impl<'a, S: Semiring> Join<'a, S> {
    pub(crate) fn each(&self) -> impl Iterator<Item = &Operand<'a, S::Entry>> {
        self.levels
            .iter()
            .flat_map(|level| level.scalars.iter().chain(&level.staged))
            .chain(self.lanes.iter().map(|lane| &lane.operand))
            .chain(self.singles.iter().map(|single| &single.operand))
    }
}
