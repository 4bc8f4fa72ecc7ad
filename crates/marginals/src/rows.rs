//! Messages that list only their entries above 0, for products with many zeros. They are joined by hashing, as in
//! relational databases (Bistaffa, Bombieri and Farinelli, 2017, section IV, do so for incomplete tables).

use super::propagate::{Note, Planned, Trouble, joined};
use crate::algebra::{OfNumbers, Range};
use crate::elimination::{Source, Step};
use crate::error::Error;
use crate::model::{Factor, Odometer, ROUNDOFF, Scaled};
use crate::stop::Stop;
use rustc_hash::FxHashMap;

/// Rows between two checks of the stop flag.
const CHUNK: usize = 1 << 14;

/// The values of some variables, packed into the bits of a number.
type Key = u128;

/// The fields of a key: for each position, the shift and the number of bits of its value.
#[derive(Clone, Debug, Default)]
struct Layout(Vec<(u32, u32, u32)>);

impl Layout {
    /// Returns a layout in the order of the positions, the first one in the lowest bits, or `None` if a key has too few
    /// bits.
    fn new(positions: impl IntoIterator<Item = u32>, domains: &[u32]) -> Option<Self> {
        let (mut places, mut used) = (Vec::new(), 0);
        for position in positions {
            let bits = u32::BITS - (domains[position as usize] - 1).leading_zeros();
            places.push((position, used, bits));
            used += bits;
        }
        (used <= Key::BITS).then_some(Layout(places))
    }

    fn place(&self, position: u32) -> Option<(u32, u32)> {
        self.0.iter().find(|&&(own, ..)| own == position).map(|&(_, shift, bits)| (shift, bits))
    }

    /// Returns the bits of the positions that `of` has, too.
    fn mask(&self, of: &Layout) -> Key {
        let bits = |&(position, ..): &(u32, u32, u32)| self.place(position).map_or(0, |place| ones(place.1) << place.0);
        of.0.iter().map(bits).fold(0, |all, bits| all | bits)
    }

    /// Returns the key of the positions' values.
    fn key(&self, value: impl Fn(u32) -> u32) -> Key {
        self.0.iter().fold(0, |key, &(position, shift, _)| key | Key::from(value(position)) << shift)
    }
}

/// Returns a key whose lowest `bits` bits are set; a domain of one value has no bits.
fn ones(bits: u32) -> Key {
    if bits == 0 { 0 } else { Key::MAX >> (Key::BITS - bits) }
}

/// A table as the list of its entries above 0, by the values of some positions.
#[derive(Debug)]
struct Rows<E> {
    layout: Layout,
    keys: Vec<Key>,
    entries: Vec<E>,
}

/// The sum over all assignments, and the messages that led to it as lists.
#[derive(Debug)]
pub(super) struct Listed<S: OfNumbers> {
    pub z: Scaled,
    /// The relative rounding error of the propagation.
    pub error: f64,
    /// The message of each step, its rows in ascending order of the keys.
    messages: Vec<Rows<S::Entry>>,
}

impl<S: OfNumbers> Listed<S> {
    /// Returns the entry of the message of step `from` at the positions' values.
    pub fn value(&self, from: u32, semiring: S, value: impl Fn(u32) -> u32) -> Scaled {
        let Rows { layout, keys, entries } = &self.messages[from as usize];
        keys.binary_search(&layout.key(value)).map_or(Scaled::ZERO, |row| semiring.value(entries[row]))
    }
}

/// Computes all messages of an exact plan, with the semiring of each position. Returns `None` if the messages and
/// intermediate results would take more than `most` rows, or if keys would be too long.
///
/// # Errors
/// Returns [`Trouble`] if products may be below the range of the numbers, or if `stop` is set.
pub(super) fn collect<S: OfNumbers>(
    planned: Planned<'_>,
    semiring: &dyn Fn(u32) -> S,
    mut most: usize,
    stop: &Stop,
) -> Result<Option<Listed<S>>, Trouble> {
    let Planned { sliced, plan, .. } = planned;
    let mut found =
        Listed { z: sliced.taken_out(), error: 0.0, messages: Vec::<Rows<S::Entry>>::with_capacity(plan.steps.len()) };
    let mut notes = vec![Note::default(); plan.steps.len()];
    let mut positions = vec![0; plan.sequence.len()];
    (0..).zip(&plan.sequence).for_each(|(position, &v)| positions[v as usize] = position);
    for (index, step) in plan.steps.iter().enumerate() {
        let semiring = semiring(step.position);
        let Note { error, least } = joined(sliced, step, &notes, Note::default());
        if least < -semiring.range() {
            return Err(Trouble::Narrow);
        }
        stop.check()?;
        // the eliminated position in the highest bits
        let clique = step.scope.iter().copied().chain([step.position]);
        let Some(layout) = Layout::new(clique, &plan.domains) else { return Ok(None) };
        let tables = step.inputs.iter().map(|input| match input.source {
            Source::Message(from) => moved(&found.messages[from as usize], &layout),
            Source::Function(f) => {
                listed(&sliced.functions[f as usize], semiring, &positions, &sliced.domains, &layout)
            }
            Source::Unary => values(step.position, semiring, &plan.domains),
        });
        let mut tables: Vec<Rows<S::Entry>> = tables.collect();
        if tables.is_empty() {
            tables.push(values(step.position, semiring, &plan.domains));
        }
        let Some(all) = join(tables, &layout, semiring, &mut most, stop)? else { return Ok(None) };
        let mut message = fold(all, step, &plan.domains, semiring, stop)?;
        let Range { exponent, least } = semiring.normalise(&mut message.entries);
        found.z.exponent += exponent;
        notes[index] = Note { error: error + f64::from(plan.domains[step.position as usize]) * ROUNDOFF, least };
        if step.scope.is_empty() {
            found.z = found.z.times(message.entries.first().map_or(Scaled::ZERO, |&root| semiring.value(root)));
            found.error += notes[index].error + ROUNDOFF;
        }
        found.messages.push(message);
    }
    Ok(Some(found))
}

/// Returns a message with its keys in the layout of a clique.
fn moved<E: Copy>(message: &Rows<E>, layout: &Layout) -> Rows<E> {
    let moves: Vec<(u32, Key, u32)> = message
        .layout
        .0
        .iter()
        .filter_map(|&(position, from, bits)| Some((from, ones(bits), layout.place(position)?.0)))
        .collect();
    let key = |&key: &Key| moves.iter().fold(0, |all, &(from, mask, to)| all | (key >> from & mask) << to);
    Rows {
        layout: message.layout.clone(),
        keys: message.keys.iter().map(key).collect(),
        entries: message.entries.clone(),
    }
}

/// Returns a table of 1 for all values of a position, for variables that no function reads.
fn values<S: OfNumbers>(position: u32, semiring: S, domains: &[u32]) -> Rows<S::Entry> {
    let keys: Vec<Key> = (0..domains[position as usize]).map(Key::from).collect();
    Rows { layout: Layout(vec![(position, 0, 0)]), entries: vec![semiring.one(); keys.len()], keys }
}

/// Returns the entries above 0 of a function; `positions` and `sizes` are indexed by variable.
fn listed<S: OfNumbers>(
    function: &Factor,
    semiring: S,
    positions: &[u32],
    sizes: &[u32],
    layout: &Layout,
) -> Rows<S::Entry> {
    let own = Layout(function.scope.iter().map(|&v| (positions[v as usize], 0, 0)).collect());
    let places: Vec<(u32, u32)> = own.0.iter().map(|&(p, ..)| layout.place(p).unwrap_or_default()).collect();
    let (mut keys, mut entries) = (Vec::new(), Vec::new());
    let mut odometer = Odometer::new(function.scope.iter().map(|&v| sizes[v as usize] as usize).collect());
    for &entry in function.table.iter() {
        if entry > 0.0 {
            let digit = |key, (&digit, &(shift, _)): (&usize, &(u32, u32))| key | (digit as Key) << shift;
            keys.push(odometer.digits.iter().zip(&places).fold(0, digit));
            entries.push(semiring.of_double(entry));
        }
        let _ = odometer.advance();
    }
    Rows { layout: own, keys, entries }
}

/// Returns the product of all tables, whose keys have the layout of the clique, or `None` if it would exceed `most`
/// rows. Lowers `most` by the rows used.
fn join<S: OfNumbers>(
    mut tables: Vec<Rows<S::Entry>>,
    layout: &Layout,
    semiring: S,
    most: &mut usize,
    stop: &Stop,
) -> Result<Option<Rows<S::Entry>>, Error> {
    let mut all = Rows { layout: Layout::default(), keys: vec![0], entries: vec![semiring.one()] };
    let mut covered = 0;
    while !tables.is_empty() {
        let rank = |table: &Rows<S::Entry>| {
            let shared = (layout.mask(&table.layout) & covered).count_ones();
            (std::cmp::Reverse(shared), table.keys.len())
        };
        let next = (0..tables.len()).min_by_key(|&table| rank(&tables[table])).unwrap_or_default();
        let table = tables.swap_remove(next);
        let own = layout.mask(&table.layout);
        let shared = own & covered;
        let mut order: Vec<u32> = (0..table.keys.len() as u32).collect();
        order.sort_unstable_by_key(|&row| table.keys[row as usize] & shared);
        let mut runs: FxHashMap<Key, (u32, u32)> = FxHashMap::default();
        for (place, &row) in (0..).zip(&order) {
            runs.entry(table.keys[row as usize] & shared).or_insert((place, place)).1 = place + 1;
        }
        let (mut keys, mut entries) = (Vec::new(), Vec::new());
        for (count, (&key, &entry)) in all.keys.iter().zip(&all.entries).enumerate() {
            if count % CHUNK == 0 {
                stop.check()?;
            }
            let &(first, last) = runs.get(&(key & shared)).unwrap_or(&(0, 0));
            let Some(left) = most.checked_sub((last - first) as usize) else { return Ok(None) };
            *most = left;
            for &row in &order[first as usize..last as usize] {
                keys.push(key | table.keys[row as usize]);
                entries.push(semiring.settle(semiring.combine(entry, table.entries[row as usize])));
            }
        }
        (all.keys, all.entries) = (keys, entries);
        covered |= own;
    }
    Ok(Some(all))
}

/// Eliminates the step's position from a clique's rows, and sorts the result by key.
fn fold<S: OfNumbers>(
    all: Rows<S::Entry>,
    step: &Step,
    domains: &[u32],
    semiring: S,
    stop: &Stop,
) -> Result<Rows<S::Entry>, Error> {
    let layout = Layout::new(step.scope.iter().copied(), domains).unwrap_or_default();
    let mask = layout.mask(&layout);
    let mut rows: Vec<(Key, u32)> = all.keys.iter().map(|key| key & mask).zip(0..).collect();
    stop.check()?;
    rows.sort_unstable();
    let (mut keys, mut entries): (Vec<Key>, Vec<S::Entry>) = (Vec::new(), Vec::new());
    for item in stop.each(rows) {
        let (key, row) = item?;
        let entry = all.entries[row as usize];
        match entries.last_mut().filter(|_| keys.last() == Some(&key)) {
            Some(last) => *last = semiring.fold(*last, entry),
            None => {
                keys.push(key);
                entries.push(entry);
            }
        }
    }
    Ok(Rows { layout, keys, entries })
}
