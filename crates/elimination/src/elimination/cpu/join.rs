//! The inputs of a mini-bucket, sorted by how often they move, with their layout for the kernel.

use super::expand::{Digit, Run, offsets, row_digits, set_starts};
use super::shape::{LANES, Shape};
use crate::algebra::Semiring;
use crate::tensor::strides;

/// An input of a join.
pub(super) struct Operand<'a, E> {
    pub(super) table: &'a [E],
    /// Distance from one value of the eliminated variable to the next, in entries.
    pub(super) stride: usize,
    /// Distance from one value of each outer digit to the next, in entries; 0 if the input does not read the digit.
    pub(super) outer: Box<[usize]>,
    pub(super) run: Run,
    /// Index into the offsets of a cursor.
    pub(super) index: usize,
}

/// An input with its level, whether it is read in place, and its digits within the tile.
type Sorted<'a, E> = (usize, bool, Vec<Digit>, Operand<'a, E>);

/// The inputs that move with the same outer digit.
pub(super) struct Level<'a, E> {
    /// The fastest outer digit that they read, counted from 1; 0 for none.
    pub(super) digit: usize,
    pub(super) scalars: Vec<Operand<'a, E>>,
    /// Inputs that are summed into the stage of this level.
    pub(super) staged: Vec<Operand<'a, E>>,
    /// The stage that this level reads from and, if it stages anything, writes to.
    pub(super) stage: Option<usize>,
}

/// Entries for each of several values, and the distance from one value to the next, in entries.
pub(super) type Slabs<'a, E> = (&'a [E], usize);

/// An input that the innermost loops read row by row, in place or expanded to whole rows.
pub(super) struct Lane<'a, E> {
    pub(super) operand: Operand<'a, E>,
    /// Entries of all rows of a tile.
    pub(super) stretch: usize,
}

/// An input of which each row reads one entry.
pub(super) struct Single<'a, E> {
    pub(super) operand: Operand<'a, E>,
    /// The offset of the entry of each row.
    pub(super) starts: Box<[u32]>,
    pub(super) stretch: usize,
}

/// A mini-bucket in the form that the kernel executes.
pub struct Join<'a, S: Semiring> {
    pub(super) shape: Shape,
    pub(super) sizes: Box<[usize]>,
    pub(super) levels: Vec<Level<'a, S::Entry>>,
    /// Outputs of a row. A lane that does not read all digits of the row is expanded.
    pub(super) row: usize,
    /// The offset at which each row of the tile begins, in each of the lanes and last in the stage.
    pub(super) starts: Box<[[u32; LANES]]>,
    pub(super) lanes: Vec<Lane<'a, S::Entry>>,
    pub(super) singles: Vec<Single<'a, S::Entry>>,
    pub(super) operands: usize,
    pub(super) stages: usize,
    pub(super) semiring: S,
}

impl<'a, S: Semiring> Join<'a, S> {
    /// Prepares a join. `scope` is the output's scope; `inputs` are pairs of a scope and a table.
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
            // its run is chosen below
            let operand = Operand { table, stride: steps[0], outer, run: Run::Direct, index: sorted.len() };
            sorted.push((level, direct, inner, operand));
        }
        sorted.sort_by_key(|&(level, direct, ..)| (level, direct));
        let operands = sorted.len();
        let scalar = |inner: &[Digit]| inner.iter().all(|&(_, step)| step == 0);
        let wide = sorted.iter().filter(|(_, _, inner, _)| !scalar(inner)).count();
        // few inputs are all read in place; of many, those that move with every tile are, and the others are summed
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
            // digits that it does not read are dropped outside the rows
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
    /// Returns all inputs, however they are read.
    pub(super) fn each(&self) -> impl Iterator<Item = &Operand<'a, S::Entry>> {
        self.levels
            .iter()
            .flat_map(|level| level.scalars.iter().chain(&level.staged))
            .chain(self.lanes.iter().map(|lane| &lane.operand))
            .chain(self.singles.iter().map(|single| &single.operand))
    }
}
