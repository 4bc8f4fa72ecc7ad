//! The backward pass through the messages of a finished run, from the last step to the first, in any semiring with
//! division.
//!
//! A message aggregates a mini-bucket and everything below it; the backward pass aggregates everything else. Both
//! together are marginals: for costs those of Dechter, "Bucket elimination: a unifying framework for reasoning", 1999,
//! for numbers those of junction trees. Let `o` be the aggregate of everything outside a step, over the variables of
//! its message, and let `g`, `g'` ... be its inputs. The step's combination is B = o g g'...; the marginal of its
//! variable is B folded over all other variables; and the outside aggregate of an input message m is B folded to m's
//! variables and divided by m.

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

/// Combinations of a step from which on it runs on several threads.
const LARGE: u64 = 1 << 16;
/// Number of entries that are folded in parallel lanes.
const LANES: usize = 16;

/// The caller's side of the backward pass: what it supplies and what it receives.
pub trait WayBack<S: Semiring> {
    /// Returns the aggregate of everything outside a step whose message has no variables.
    fn root(&mut self, step: usize) -> S::Entry;

    /// Receives, for each value of a step's variable, the aggregate of all combinations with that value.
    fn values(&mut self, fold: Fold, values: &[S::Entry]);

    /// Receives the outside aggregate of a step, over the variables of its message, before it is combined with the
    /// inputs.
    fn message(&mut self, step: usize, rest: &[S::Entry]) {
        let _ = (step, rest);
    }

    /// Receives the outside aggregate of a step as soon as it is computed, and may scale it.
    fn outside(&mut self, step: usize, fold: Fold, rest: &mut [S::Entry]) {
        let _ = (step, fold, rest);
    }

    /// Returns whether a step and all steps below it are omitted.
    fn skips(&self, step: usize) -> bool {
        let _ = step;
        false
    }
}

/// The way in which an entry was aggregated, from which a bound on its rounding error follows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fold {
    /// The step whose combination was folded.
    pub step: usize,
    /// The largest number of entries that were folded one after the other.
    pub depth: u64,
}

/// Runs the backward pass, which visits every combination of every step once. `messages` are all messages of a run.
///
/// # Errors
/// Returns [`Error::Stopped`] if `stop` is set, or an error if there is no memory for a table.
pub fn backward<S: Division>(
    task: Task<'_, S>,
    messages: &[Storage<S::Entry>],
    way: &mut impl WayBack<S>,
    stop: &Stop,
) -> Result<(), Error> {
    let Task { plan, semiring, .. } = task;
    // by step, the outside aggregate over the variables of its message
    let mut outside: Vec<Storage<S::Entry>> = plan.steps.iter().map(|_| Storage::default()).collect();
    for (index, step) in plan.steps.iter().enumerate().rev() {
        stop.check()?;
        let rest = if step.scope.is_empty() {
            std::iter::once(way.root(index)).collect()
        } else {
            std::mem::take(&mut outside[index])
        };
        // nothing is known below a function too large for a table, nor below a step that is skipped
        if rest.len() != messages[index].len() || way.skips(index) {
            continue;
        }
        way.message(index, &rest);
        // the entries of such a function do not exist as one table
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
    /// The folded combinations for each value of the step's variable.
    slices: Vec<Slice<E>>,
    /// The largest number of combinations that were folded into one value's aggregate one after the other.
    depth: u64,
    /// For each message among the inputs, the largest number of combinations folded into one of its entries one after
    /// the other.
    depths: Vec<u64>,
}

/// The combinations with one value of a step's variable, folded.
struct Slice<E> {
    /// All combinations folded together.
    all: E,
    /// For each message among the inputs, the combinations folded to its variables.
    outside: Vec<Vec<E>>,
}

/// A table over some positions of a step's message, and its strides along the tiles of the message.
struct Operand<'a, E> {
    /// The entries, those of the first value of the step's variable first.
    table: &'a [E],
    /// Distance from one value of the step's variable to the next, in entries.
    slice: usize,
    map: StrideMap,
    /// Number of adjacent entries of a tile that read one entry of the table.
    repeat: usize,
    /// Entries of the table that a tile reads.
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
    /// Returns the largest number of combinations of a slice that are folded into one entry one after the other.
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

/// Returns the largest number of entries that [`total`] folds one after the other.
fn total_depth(entries: usize) -> u64 {
    (entries / LANES + 2 * LANES) as u64
}

/// The computation of all tiles of one value. This is a type because a closure would not be inlined into the function
/// that is compiled with vector instructions.
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

/// Combines a tile with the entries of an operand. If `first` is set, the entries replace those of the tile.
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

/// Folds a tile to the entries of an operand, in `scratch` first if the operand does not read whole rows.
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

/// Returns all entries folded together.
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
