//! The way back through the messages of a finished run, from the last step to the first, in any semiring with division.
//!
//! Messages say what a mini-bucket and all below it come to; the way back says what everything else comes to. Both
//! together are marginals: for costs those of Dechter, "Bucket elimination: a unifying framework for reasoning", 1999,
//! for numbers those of junction trees. With `o` what all else comes to over a step's message and `g` its inputs, the
//! step's combination is B = o g g'..., the marginal of its variable is B folded over all else, and what all else comes
//! to for an input's message m is B folded to m's variables and divided by m.

use super::executor::Task;
use super::plan::{Source, Step};
use super::vectors;
use crate::algebra::{Division, Semiring};
use crate::error::Error;
use crate::model::Odometer;
use crate::stop::Stop;
use crate::tensor::storage::Storage;
use crate::tensor::tiles::{Shape, StrideMap, Tiles};
use crate::threads;

/// Combinations from which on several threads are worth it.
const LARGE: u64 = 1 << 16;
/// Entries that are folded side by side.
const LANES: usize = 16;

/// What the way back asks, and what it tells.
pub trait WayBack<S: Semiring> {
    /// What everything comes to but a step whose message has no variables.
    fn root(&mut self, step: usize) -> S::Entry;

    /// What a step's combination comes to by the values of its variable.
    fn values(&mut self, fold: Fold, values: &[S::Entry]);

    /// What everything else comes to, over a step's message.
    fn message(&mut self, step: usize, rest: &[S::Entry]) {
        let _ = (step, rest);
    }

    /// The same before it is used; it may be scaled.
    fn outside(&mut self, step: usize, fold: Fold, rest: &mut [S::Entry]) {
        let _ = (step, fold, rest);
    }

    /// Whether a step and what is below it are left out.
    fn skips(&self, step: usize) -> bool {
        let _ = step;
        false
    }
}

/// How an entry was folded.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fold {
    /// The step whose combination was folded.
    pub step: usize,
    /// Entries that were folded one after the other, at most.
    pub depth: u64,
}

/// Looks at every combination of every step once more. `messages` are all those of a run.
///
/// # Errors
/// [`Error::Stopped`]; no memory for a table.
pub fn backward<S: Division>(
    task: Task<'_, S>,
    messages: &[Storage<S::Entry>],
    way: &mut impl WayBack<S>,
    stop: &Stop,
) -> Result<(), Error> {
    let Task { plan, semiring, .. } = task;
    // what everything but a step and all below it comes to, by the combinations of its message
    let mut outside: Vec<Storage<S::Entry>> = plan.steps.iter().map(|_| Storage::default()).collect();
    for (index, step) in plan.steps.iter().enumerate().rev() {
        stop.check()?;
        let rest = if step.scope.is_empty() {
            std::iter::once(way.root(index)).collect()
        } else {
            std::mem::take(&mut outside[index])
        };
        // below a function too large for a table nothing is known, and nothing below what is skipped
        if rest.len() != messages[index].len() || way.skips(index) {
            continue;
        }
        way.message(index, &rest);
        // its entries are nowhere as one table
        if step.lowered {
            continue;
        }
        let Joined { slices, depth, depths } = join(task, step, messages, &rest, stop)?;
        drop(rest);
        way.values(Fold { step: index, depth }, &slices.iter().map(|slice| slice.all).collect::<Vec<_>>());
        let mut parts: Vec<_> = slices.into_iter().map(|slice| slice.outside.into_iter()).collect();
        let sources = step.inputs.iter().filter_map(|input| match input.source {
            Source::Message(from) => Some(from as usize),
            _ => None,
        });
        for (from, depth) in sources.zip(depths) {
            let mut table = Storage::try_new(messages[from].len())?;
            let entries = table.iter_mut().zip(messages[from].iter());
            let all = parts.iter_mut().filter_map(Iterator::next).flatten();
            entries.zip(all).for_each(|((entry, &own), all)| *entry = semiring.divide(all, own));
            way.outside(from, Fold { step: index, depth }, &mut table);
            outside[from] = table;
        }
    }
    Ok(())
}

/// The combination of a step, folded.
struct Joined<E> {
    /// By the values of its variable.
    slices: Vec<Slice<E>>,
    /// Combinations that were folded to one of them, one after the other, at most.
    depth: u64,
    /// The same for each message among the inputs.
    depths: Vec<u64>,
}

/// What one value of a step's variable comes to.
struct Slice<E> {
    /// All combinations.
    all: E,
    /// For each message among the inputs, by its combinations.
    outside: Vec<Vec<E>>,
}

/// A table over some positions of a step's message, and how it lies along the tiles of that.
struct Operand<'a, E> {
    /// For the first value of the step's variable.
    table: &'a [E],
    /// From one value to the next.
    slice: usize,
    map: StrideMap,
    /// Entries side by side in a tile that read the same entry.
    repeat: usize,
    /// Entries that a tile reads.
    stretch: usize,
    message: bool,
}

fn join<S: Division>(
    task: Task<'_, S>,
    step: &Step,
    messages: &[Storage<S::Entry>],
    rest: &[S::Entry],
    stop: &Stop,
) -> Result<Joined<S::Entry>, Error> {
    let Task { plan, semiring, .. } = task;
    let loaded: Vec<Storage<S::Entry>> = step.inputs.iter().map(|input| task.load(input)).collect();
    let size = |&p: &u32| plan.domains[p as usize] as usize;
    let tiles = Tiles::new(&step.scope.iter().map(size).collect::<Vec<_>>());
    let operand = |positions: &[u32], table, slice, message| {
        let own: Vec<usize> = positions.iter().map(size).collect();
        let places: Vec<_> = step.scope.iter().map(|p| positions.binary_search(p).ok()).collect();
        let map = tiles.map(&places, &own);
        let repeat = map.offsets.iter().take_while(|&&at| at == 0).count();
        let stretch = map.offsets.last().map_or(0, |&last| last as usize) + 1;
        Operand { table, slice, map, repeat, stretch, message }
    };
    let domain = plan.domains[step.position as usize] as usize;
    let mut operands = vec![operand(&step.scope, rest, 0, false)];
    for (input, loaded) in step.inputs.iter().zip(&loaded) {
        let (table, message) = match input.source {
            Source::Message(from) => (&messages[from as usize][..], true),
            _ => (&loaded[..], false),
        };
        operands.push(operand(&input.scope[1..], table, table.len() / domain, message));
    }
    let depths = operands.iter().filter(|operand| operand.message).map(|operand| operand.depth(&tiles)).collect();
    let slice = |value| {
        let mut slice = Slice {
            all: semiring.zero(),
            outside: operands.iter().filter(|o| o.message).map(|o| vec![semiring.zero(); o.slice]).collect(),
        };
        let vectorised = Vectorised { operands: &operands, value, tiles: &tiles, semiring, stop, slice: &mut slice };
        if S::HAS_VECTORS {
            vectors::dispatch(vectorised)
        } else {
            vectorised.run()
        }
        slice
    };
    let slices = if step.joint < LARGE { (0..domain).map(slice).collect() } else { threads::map(0..domain, slice) };
    stop.check()?;
    Ok(Joined { slices, depth: tiles.count() as u64 + total_depth(tiles.size), depths })
}

impl<E> Operand<'_, E> {
    /// Combinations of a slice that are folded to one entry, one after the other, at most.
    fn depth(&self, tiles: &Tiles) -> u64 {
        let outer = tiles.outer.iter().zip(&self.map.strides).filter(|&(_, &stride)| stride == 0);
        let tiles_of_an_entry = outer.fold(1u64, |product, (&size, _)| product.saturating_mul(size as u64));
        let inner = match self.map.shape {
            Shape::Same => total_depth(tiles.size),
            _ => (tiles.size / self.stretch) as u64 + total_depth(self.repeat),
        };
        tiles_of_an_entry.saturating_add(inner)
    }
}

/// Entries that [`total`] folds one after the other, at most.
fn total_depth(entries: usize) -> u64 {
    (entries / LANES + 2 * LANES) as u64
}

/// All tiles of a value. A type of its own: a closure would not be inlined into the function that has the vector
/// instructions.
struct Vectorised<'j, 'a, S: Semiring> {
    operands: &'j [Operand<'a, S::Entry>],
    value: usize,
    tiles: &'j Tiles,
    semiring: S,
    stop: &'j Stop,
    slice: &'j mut Slice<S::Entry>,
}

impl<S: Division> pulp::WithSimd for Vectorised<'_, '_, S> {
    type Output = ();

    #[inline(always)]
    fn with_simd<V: pulp::Simd>(self, _: V) {
        self.run();
    }
}

impl<S: Division> Vectorised<'_, '_, S> {
    #[inline(always)]
    fn run(self) {
        let Vectorised { operands, value, tiles, semiring, stop, slice } = self;
        let mut all = vec![semiring.one(); tiles.size];
        let mut scratch = vec![semiring.zero(); tiles.size];
        let mut odometer = Odometer::new(tiles.outer.clone());
        loop {
            for (place, operand) in operands.iter().enumerate() {
                let table = &operand.table[value * operand.slice + operand.map.base(&odometer.digits)..];
                combine(semiring, &mut all, operand, table, place == 0);
            }
            slice.all = semiring.fold(slice.all, total(semiring, &all));
            for (operand, outside) in operands.iter().filter(|operand| operand.message).zip(&mut slice.outside) {
                let outside = &mut outside[operand.map.base(&odometer.digits)..];
                fold_down(semiring, &all, operand, outside, &mut scratch);
            }
            if odometer.advance().is_none() || stop.is_set() {
                return;
            }
        }
    }
}

/// Combines a tile with the entries of an operand; the first one begins it.
#[inline(always)]
fn combine<S: Semiring>(s: S, all: &mut [S::Entry], operand: &Operand<'_, S::Entry>, table: &[S::Entry], first: bool) {
    let offsets = &operand.map.offsets;
    let with = |all: &mut S::Entry, entry| *all = if first { entry } else { s.settle(s.combine(*all, entry)) };
    match operand.map.shape {
        Shape::Same => {
            let entry = table[0];
            all.iter_mut().for_each(|all| with(all, entry));
        }
        Shape::Row => all.iter_mut().zip(table).for_each(|(all, &entry)| with(all, entry)),
        Shape::Runs(1) if operand.repeat > 1 => {
            for (all, &at) in all.chunks_exact_mut(operand.repeat).zip(offsets.iter().step_by(operand.repeat)) {
                let entry = table[at as usize];
                all.iter_mut().for_each(|all| with(all, entry));
            }
        }
        Shape::Runs(1) => all.iter_mut().zip(offsets).for_each(|(all, &at)| with(all, table[at as usize])),
        Shape::Runs(run) => {
            for (all, &at) in all.chunks_exact_mut(run).zip(offsets.iter().step_by(run)) {
                all.iter_mut().zip(&table[at as usize..]).for_each(|(all, &entry)| with(all, entry));
            }
        }
    }
}

/// Folds a tile to the entries of an operand: first within the tile.
#[inline(always)]
fn fold_down<S: Semiring>(
    s: S,
    all: &[S::Entry],
    operand: &Operand<'_, S::Entry>,
    outside: &mut [S::Entry],
    scratch: &mut [S::Entry],
) {
    let offsets = &operand.map.offsets;
    let scratch = &mut scratch[..operand.stretch];
    match operand.map.shape {
        Shape::Row => {
            outside.iter_mut().zip(all).for_each(|(outside, &entry)| *outside = s.fold(*outside, entry));
            return;
        }
        Shape::Same => {
            outside[0] = s.fold(outside[0], total(s, all));
            return;
        }
        Shape::Runs(1) if operand.repeat > 1 => {
            scratch.fill(s.zero());
            for (all, &at) in all.chunks_exact(operand.repeat).zip(offsets.iter().step_by(operand.repeat)) {
                let scratch = &mut scratch[at as usize];
                *scratch = s.fold(*scratch, total(s, all));
            }
        }
        Shape::Runs(1) => {
            scratch.fill(s.zero());
            for (&entry, &at) in all.iter().zip(offsets) {
                let scratch = &mut scratch[at as usize];
                *scratch = s.fold(*scratch, entry);
            }
        }
        Shape::Runs(run) => {
            scratch.fill(s.zero());
            for (all, &at) in all.chunks_exact(run).zip(offsets.iter().step_by(run)) {
                let scratch = &mut scratch[at as usize..];
                scratch.iter_mut().zip(all).for_each(|(scratch, &entry)| *scratch = s.fold(*scratch, entry));
            }
        }
    }
    outside.iter_mut().zip(scratch).for_each(|(outside, &mut entry)| *outside = s.fold(*outside, entry));
}

/// All entries folded.
#[inline(always)]
fn total<S: Semiring>(s: S, entries: &[S::Entry]) -> S::Entry {
    let mut lanes = [s.zero(); LANES];
    let (blocks, rest) = entries.as_chunks::<LANES>();
    for block in blocks {
        lanes.iter_mut().zip(block).for_each(|(lane, &entry)| *lane = s.fold(*lane, entry));
    }
    let all = rest.iter().fold(s.zero(), |all, &entry| s.fold(all, entry));
    lanes.iter().fold(all, |all, &lane| s.fold(all, lane))
}
