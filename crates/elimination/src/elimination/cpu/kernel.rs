//! The fused kernel: combines the inputs of a mini-bucket and folds over one variable, tile by tile.
//!
//! The joint table is never stored. Outputs are made in *tiles*: all combinations of the output's fastest digits,
//! enough of them for long stretches of every input. The digits outside the tile (*outer* digits) are a mixed-radix
//! counter; every input has an offset that moves with it, so nothing is divided.
//!
//! A tile is a list of *rows*. A row has the fastest digits of which each input reads all or none, or more if such a
//! row is short. Depending on which tile digits an input reads, it is
//!
//! - one entry for the tile (*scalar*), which is combined into `base[a]`;
//! - one entry a row (*single*), which is combined with the base of the row;
//! - a run a row (*lane*), which is read in place if the input has all digits of the row, and otherwise expanded (see
//!   `Run`) once for all rows that differ only in digits that the input does not read.
//!
//! So the innermost loop is `out = fold(out, combine(base, lane, lane...))` over the blocks of a row, for a few values
//! of the eliminated variable at a time: with more values the loads would alternate between more addresses than caches
//! and prefetchers follow.
//!
//! If there are more inputs than lanes, the inputs of slow *levels* (levels are numbered by the fastest outer digit
//! that an input reads) are summed into stages of a tile's size. A stage is made again only when one of its digits
//! moves; the last stage is a lane.

use super::cursor::Cursor;
use super::expand::{PAD, Run};
use super::join::{Join, Lane, Operand, Single, Slabs};
use super::shape::{LANES, Shape, VALUES};
use crate::algebra::{Entry, Semiring, TERMS};
use crate::elimination::vectors;

/// Number of outputs computed together, with accumulators in registers.
const BLOCK: usize = PAD;

impl<S: Semiring> Join<'_, S> {
    /// Returns the number of outputs of a tile.
    pub fn tile(&self) -> usize {
        self.shape.tile
    }

    /// Computes whole tiles. The first one is tile number `first` of the output.
    pub fn run(&self, first: usize, out: &mut [S::Entry]) {
        if S::HAS_VECTORS {
            vectors::dispatch(Vectorised { join: self, first, out });
        } else {
            self.tiles::<false>(first, out);
        }
    }

    /// Computes whole tiles as on a processor without vector instructions.
    #[cfg(test)]
    pub fn run_by_scalars(&self, first: usize, out: &mut [S::Entry]) {
        pulp::WithSimd::with_simd(Vectorised { join: self, first, out }, pulp::Scalar::new());
    }

    /// Computes tiles, for several values of the eliminated variable at a time if `SEVERAL`, otherwise for one.
    #[inline(always)]
    fn tiles<const SEVERAL: bool>(&self, first: usize, out: &mut [S::Entry]) {
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
                    VALUES.. if SEVERAL => VALUES,
                    2.. if SEVERAL => 2,
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
                    VALUES if SEVERAL => self.pass::<VALUES>(base, &cursor.offsets, from, &mut bases, &slabs, least),
                    2 if SEVERAL => self.pass::<2>(base, &cursor.offsets, from, &mut bases, &slabs, least),
                    _ => self.pass::<1>(base, &cursor.offsets, from, &mut bases, &slabs, least),
                }
                from += values;
            }
            if !whole {
                for (row, least) in padded.chunks_exact(self.padded()).enumerate() {
                    for (block, least) in least.as_chunks::<BLOCK>().0.iter().enumerate() {
                        // whole blocks are copied: the next row overwrites the excess
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

    /// Combines the inputs of a level with the sums and the stage of the level before it.
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

    /// Returns the padded length of a stage for one value of the eliminated variable, in entries.
    #[inline(always)]
    fn pitch(&self) -> usize {
        self.shape.tile + PAD
    }

    /// Folds `V` values of the eliminated variable, from value `from` on, into the outputs of a tile.
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

    /// Runs the innermost loops.
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
                    // in 32 bits the compiler sees that the end cannot overflow, so that one bounds check is left
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

    /// Returns the length of a row in whole blocks, in entries.
    #[inline(always)]
    fn padded(&self) -> usize {
        self.row.next_multiple_of(BLOCK)
    }
}

impl<E: Entry> Lane<'_, E> {
    /// Returns slabs of several values in which all rows are whole: in the table itself, or copied to `expanded`.
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

/// The loops, compiled for each set of vector instructions that the processor may have. This is a type because a
/// closure would not be inlined into the function that is compiled with these instructions.
struct Vectorised<'j, 'a, S: Semiring> {
    join: &'j Join<'a, S>,
    first: usize,
    out: &'j mut [S::Entry],
}

impl<S: Semiring> pulp::WithSimd for Vectorised<'_, '_, S> {
    type Output = ();

    #[inline(always)]
    fn with_simd<V: pulp::Simd>(self, _: V) {
        if V::IS_SCALAR {
            // old processors: fewer loops to compile
            self.join.tiles::<false>(self.first, self.out);
        } else {
            self.join.tiles::<true>(self.first, self.out);
        }
    }
}
