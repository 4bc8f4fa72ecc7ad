//! The fused kernel: join the inputs of a mini-bucket and take the minimum over one variable, tile by tile.
//!
//! The joint table never exists. Outputs are made in *tiles*: all combinations of the output's fastest digits,
//! enough of them for long vector loops. The digits outside the tile (*outer* digits) are a mixed-radix counter;
//! every input has an offset that moves with it, so nothing is divided. Of each input a tile needs a slab
//! for every value of the eliminated variable, and depending on which tile digits the input reads, that is
//!
//! - one entry (*scalar*): added up in `base[a]`;
//! - the whole run (*direct*): read in place;
//! - some digits of it (*spread*): expanded to a full run (see [`Run`]).
//!
//! Inputs are sorted into *levels* by the fastest outer digit that they read. Sums of slow levels are kept in
//! `base` and in stages of a tile's size and made anew only when one of their digits moves, so that the
//! innermost loop is `out = min(out, base + stage + direct...)` over contiguous runs.

use super::expand::{PAD, Run};
use super::plan::Input;
use super::table::strides;
use crate::model::Cost;
use std::ops::Add;

/// An entry of a table.
pub(super) trait Entry:
    Copy + Ord + Default + Add<Output = Self> + std::fmt::Debug + Send + Sync + 'static
{
    /// From a cost that is known to fit.
    fn from_cost(cost: Cost) -> Self;
    /// As a cost.
    fn cost(self) -> Cost;
}

impl Entry for i32 {
    #[inline(always)]
    fn from_cost(cost: Cost) -> Self {
        cost as i32
    }
    #[inline(always)]
    fn cost(self) -> Cost {
        Cost::from(self)
    }
}

impl Entry for i64 {
    #[inline(always)]
    fn from_cost(cost: Cost) -> Self {
        cost
    }
    #[inline(always)]
    fn cost(self) -> Cost {
        self
    }
}

/// A tile has at least this many outputs if the table has: long enough for vector loops.
const TILE: usize = 512;
/// But a slab of it over all values of the eliminated variable stays below this: 32 KB of stage, the L1 cache.
/// Twice and four times as much were slower with 25 values (1.1 against 1.4 G entries/s in single runs), faster with 44.
const SLAB: usize = 1 << 13;
/// Slabs beyond this are not staged at all; a tile is then a single output (domains of many thousand values).
const LARGEST_SLAB: usize = 1 << 22;
/// Direct inputs added in the innermost loop; more go through the stage.
const DIRECT: usize = 3;
/// Capped entries that add up within the entry type (see `Plan::new`): so many inputs need no cap on the way.
const TERMS: usize = 5;
/// Outputs computed together, accumulators in registers.
const BLOCK: usize = 32;

/// How an output table is cut into tiles.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// Number of outer digits.
    pub outer: usize,
    /// Outputs of a tile.
    pub tile: usize,
    /// Values of the eliminated variable.
    pub domain: usize,
}

impl Shape {
    pub fn new(scope: &[u32], domains: &[u32], domain: usize) -> Self {
        let mut outer = scope.len();
        let mut tile = 1usize;
        while outer > 0 && tile < TILE {
            let wider = tile.saturating_mul(domains[scope[outer - 1] as usize] as usize);
            let most = if tile == 1 { LARGEST_SLAB } else { SLAB };
            if wider.saturating_mul(domain) > most {
                break;
            }
            tile = wider;
            outer -= 1;
        }
        Shape { outer, tile, domain }
    }

    /// Entries of scratch memory, at most.
    pub fn scratch(&self, inputs: &[Input]) -> usize {
        (inputs.len().min(self.outer + 1) * (self.tile + PAD + 1) + 1)
            .saturating_mul(self.domain)
            .saturating_add(self.tile + PAD)
    }
}

/// An input of a join.
struct Operand<'a, E> {
    table: &'a [E],
    /// From one value of the eliminated variable to the next.
    stride: usize,
    /// From one value of each outer digit to the next; 0 where the input does not read it.
    outer: Box<[usize]>,
    run: Run,
    /// Index into the offsets of a cursor.
    index: usize,
}

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

/// A mini-bucket, ready to run.
pub(super) struct Join<'a, E> {
    shape: Shape,
    sizes: Box<[usize]>,
    levels: Vec<Level<'a, E>>,
    /// Read in place in the innermost loop.
    direct: Vec<Operand<'a, E>>,
    operands: usize,
    stages: usize,
    cap: E,
}

impl<'a, E: Entry> Join<'a, E> {
    /// `scope` is the output's, `inputs` hold the scopes of `tables`.
    pub fn new(
        shape: Shape,
        scope: &[u32],
        domains: &[u32],
        inputs: impl Iterator<Item = (&'a [u32], &'a [E])>,
        cap: E,
    ) -> Self {
        let size = |p: &u32| domains[*p as usize] as usize;
        let sizes: Box<[usize]> = scope[..shape.outer].iter().map(size).collect();
        let mut join = Join { shape, sizes, levels: Vec::new(), direct: Vec::new(), operands: 0, stages: 0, cap };
        let mut sorted: Vec<(usize, bool, Operand<'a, E>)> = Vec::new();
        for (own, table) in inputs {
            let steps = strides(&own.iter().map(size).collect::<Vec<_>>());
            let step = |p: &u32| own.binary_search(p).map_or(0, |digit| steps[digit]);
            let outer: Box<[usize]> = scope[..shape.outer].iter().map(step).collect();
            let level = outer.iter().rposition(|&stride| stride != 0).map_or(0, |digit| digit + 1);
            let inner: Vec<(usize, usize)> = scope[shape.outer..].iter().map(|p| (size(p), step(p))).collect();
            let scalar = inner.iter().all(|&(_, step)| step == 0);
            let operand = Operand { table, stride: steps[0], outer, run: Run::new(&inner), index: 0 };
            sorted.push((level, scalar, operand));
        }
        sorted.sort_by_key(|&(level, scalar, _)| (level, scalar));
        join.operands = sorted.len();
        for (index, (digit, scalar, mut operand)) in sorted.into_iter().enumerate() {
            operand.index = index;
            if join.levels.last().is_none_or(|level| level.digit != digit) {
                let stage = join.levels.last().and_then(|level| level.stage);
                join.levels.push(Level { digit, scalars: Vec::new(), staged: Vec::new(), stage });
            }
            let last = join.levels.len() - 1;
            let level = &mut join.levels[last];
            if scalar {
                level.scalars.push(operand);
            } else if digit == shape.outer && matches!(operand.run, Run::Direct) && join.direct.len() < DIRECT {
                join.direct.push(operand);
            } else {
                if level.staged.is_empty() {
                    level.stage = Some(join.stages);
                    join.stages += 1;
                }
                level.staged.push(operand);
            }
        }
        join
    }

    /// Outputs of a tile.
    pub fn tile(&self) -> usize {
        self.shape.tile
    }

    /// Computes whole tiles, the first being number `first` of the output.
    pub fn run(&self, first: usize, out: &mut [E]) {
        pulp::Arch::new().dispatch(Vectorised { join: self, first, out });
    }

    #[inline(always)]
    fn tiles(&self, first: usize, out: &mut [E]) {
        let Shape { tile, domain, .. } = self.shape;
        let mut cursor = Cursor::new(self, first);
        let mut base = vec![E::default(); (self.levels.len() + 1) * domain];
        let mut stages = vec![E::default(); self.stages * domain * self.row()];
        let mut spread = vec![E::default(); self.row()];
        let mut moved = 0;
        for out in out.chunks_exact_mut(tile) {
            for (index, level) in self.levels.iter().enumerate() {
                if level.digit >= moved {
                    self.refresh(index, &cursor.offsets, &mut base, &mut stages, &mut spread);
                }
            }
            let base = &base[self.levels.len() * domain..];
            let stage = self.levels.last().and_then(|level| level.stage).map(|s| &stages[s * domain * self.row()..]);
            self.reduce(base, stage, &cursor.offsets, out);
            moved = cursor.advance(self);
        }
    }

    /// Sums a level onto the one before it.
    #[inline(always)]
    fn refresh(&self, index: usize, offsets: &[usize], base: &mut [E], stages: &mut [E], spread: &mut [E]) {
        let Shape { tile, domain, .. } = self.shape;
        let level = &self.levels[index];
        let (before, sums) = base[index * domain..][..2 * domain].split_at_mut(domain);
        sums.copy_from_slice(before);
        for scalar in &level.scalars {
            let from = &scalar.table[offsets[scalar.index]..];
            for (sum, &x) in sums.iter_mut().zip(from.iter().step_by(scalar.stride)) {
                *sum = (*sum + x).min(self.cap);
            }
        }
        if level.staged.is_empty() {
            return;
        }
        let row = self.row();
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
                            *sum = x + y;
                        }
                    }
                    None => {
                        for (sum, &x) in own.iter_mut().zip(addend) {
                            *sum = *sum + x;
                        }
                    }
                }
                if self.operands > TERMS {
                    for sum in own {
                        *sum = self.cap.min(*sum);
                    }
                }
            }
            sum = None;
        }
    }

    /// Entries of a stage for a value of the eliminated variable.
    #[inline(always)]
    fn row(&self) -> usize {
        self.shape.tile + PAD
    }

    /// The innermost loops, by what there is to add.
    #[inline(always)]
    fn reduce(&self, base: &[E], stage: Option<&[E]>, offsets: &[usize], out: &mut [E]) {
        let direct = |k: usize| (&self.direct[k].table[offsets[self.direct[k].index]..], self.direct[k].stride);
        match (stage, self.direct.len()) {
            (None, 0) => self.reduce_with(base, [], out),
            (None, 1) => self.reduce_with(base, [direct(0)], out),
            (None, 2) => self.reduce_with(base, [direct(0), direct(1)], out),
            (None, _) => self.reduce_with(base, [direct(0), direct(1), direct(2)], out),
            (Some(s), 0) => self.reduce_with(base, [(s, self.row())], out),
            (Some(s), 1) => self.reduce_with(base, [(s, self.row()), direct(0)], out),
            (Some(s), 2) => self.reduce_with(base, [(s, self.row()), direct(0), direct(1)], out),
            (Some(s), _) => self.reduce_with(base, [(s, self.row()), direct(0), direct(1), direct(2)], out),
        }
    }

    #[inline(always)]
    fn reduce_with<const N: usize>(&self, base: &[E], rows: [(&[E], usize); N], out: &mut [E]) {
        let mut from = 0;
        while from + BLOCK <= out.len() {
            self.block::<N, BLOCK>(base, &rows, from, out);
            from += BLOCK;
        }
        // what is left: the least block that covers it, partly over outputs already made
        match (out.len() - from, out.len()) {
            (0, _) => {}
            (17.., 32..) => self.block::<N, 32>(base, &rows, out.len() - 32, out),
            (9..=16, 16..) => self.block::<N, 16>(base, &rows, out.len() - 16, out),
            (..=8, 8..) => self.block::<N, 8>(base, &rows, out.len() - 8, out),
            (_, 16..) => {
                self.block::<N, 16>(base, &rows, 0, out);
                self.block::<N, 16>(base, &rows, out.len() - 16, out);
            }
            (_, 8..) => {
                self.block::<N, 8>(base, &rows, 0, out);
                self.block::<N, 8>(base, &rows, out.len() - 8, out);
            }
            _ => (from..out.len()).for_each(|at| self.block::<N, 1>(base, &rows, at, out)),
        }
    }

    /// `W` outputs: the eliminated variable is the only loop left.
    #[inline(always)]
    fn block<const N: usize, const W: usize>(&self, base: &[E], rows: &[(&[E], usize); N], at: usize, out: &mut [E]) {
        let mut least = [self.cap; W];
        for (value, &base) in base.iter().enumerate() {
            let mut sums = [base; W];
            for (row, stride) in rows {
                let row = &row[value * stride + at..][..W];
                for (sum, &x) in sums.iter_mut().zip(row) {
                    *sum = *sum + x;
                }
            }
            for (least, &sum) in least.iter_mut().zip(&sums) {
                *least = sum.min(*least);
            }
        }
        out[at..at + W].copy_from_slice(&least);
    }
}

/// The loops, compiled once more for the vector instructions that the processor turns out to have. A type of
/// its own: a closure would not be inlined into the function that has them.
struct Vectorised<'j, 'a, E> {
    join: &'j Join<'a, E>,
    first: usize,
    out: &'j mut [E],
}

impl<E: Entry> pulp::WithSimd for Vectorised<'_, '_, E> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        self.join.tiles(self.first, self.out);
    }
}

/// Where the tiles are: the outer digits and the offset of each input.
struct Cursor {
    digits: Vec<usize>,
    offsets: Vec<usize>,
}

impl Cursor {
    /// At tile number `tile`; the only place that divides.
    fn new<E>(join: &Join<'_, E>, mut tile: usize) -> Self {
        let mut digits = vec![0; join.sizes.len()];
        for (digit, &size) in digits.iter_mut().zip(&join.sizes).rev() {
            *digit = tile % size;
            tile /= size;
        }
        let mut offsets = vec![0; join.operands];
        for operand in join.each() {
            offsets[operand.index] = operand.outer.iter().zip(&digits).map(|(&stride, &digit)| stride * digit).sum();
        }
        Cursor { digits, offsets }
    }

    /// Goes to the next tile; returns the slowest digit that moved, counted from 1. After the last tile it is
    /// back at the first.
    #[inline(always)]
    fn advance<E>(&mut self, join: &Join<'_, E>) -> usize {
        for digit in (0..self.digits.len()).rev() {
            let size = join.sizes[digit];
            self.digits[digit] += 1;
            let wrapped = self.digits[digit] == size;
            if wrapped {
                self.digits[digit] = 0;
            }
            for operand in join.each() {
                let offset = &mut self.offsets[operand.index];
                *offset += operand.outer[digit];
                if wrapped {
                    *offset -= operand.outer[digit] * size;
                }
            }
            if !wrapped {
                return digit + 1;
            }
        }
        0
    }
}

impl<'a, E> Join<'a, E> {
    fn each(&self) -> impl Iterator<Item = &Operand<'a, E>> {
        self.levels.iter().flat_map(|level| level.scalars.iter().chain(&level.staged)).chain(&self.direct)
    }
}
