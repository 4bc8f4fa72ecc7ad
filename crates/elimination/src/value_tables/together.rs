//! Layout of the rows of a large reduced problem by all threads. Rows of a shared table are stored once.

use super::orient::orient;
use super::quantization::quantize;
use super::rows::{PADDING, RowEntry};
use super::tables::{Incidence, ValueTables};
use crate::error::Error;
use crate::model::{CostFunction, Problem, Readers, Table};
use crate::rng::mix;
use crate::stop::Stop;
use crate::tensor::storage::Storage;
use crate::threads;
use rustc_hash::{FxHashMap, FxHasher};
use std::collections::hash_map::Entry;
use std::hash::Hasher;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

/// Number of entries of rows from which on all threads lay them out: those of 65536 pairs of binary variables, for
/// which one thread takes up to some hundredths of a second.
const MANY: u64 = 1 << 19;
/// Largest number of functions for which rows of equal entries are searched. A symmetric table has equal rows from both
/// sides.
const COMPARED: usize = 1 << 16;
/// Largest number of entries in the hash of rows, so that hashing large ones takes little time.
const SAMPLE: usize = 1 << 10;
/// Largest number of variables of a thread's slice, between two checks of the stop flag.
const TURN: usize = 1 << 10;
/// Least number of slices, if there are enough variables; also the number of parts of the tables' addresses, each
/// searched by one thread.
const PARTS: usize = 64;

/// A slice: adjacent variables, and the number of entries of their rows.
struct Turn {
    variables: Range<usize>,
    seen: Vec<Seen>,
    entries: usize,
    /// Hashes of a sample of the entries of each row block that has entries, if equal ones are searched.
    hashes: Vec<u64>,
}

/// A function as seen from one of its variables.
#[derive(Clone, Copy)]
struct Seen {
    function: u32,
    /// The variable's index in the scope.
    position: u32,
    /// Number of entries of its rows; 0 if the rows of an earlier function with the same table, or equal rows, are
    /// used.
    length: u32,
}

/// Lays out the rows of a reduced problem with many dense tables, all small enough to be copied. Returns false, with
/// nothing laid out, if the problem is not of this kind. No entry of a function exceeds `most`.
pub(super) fn lay_out(tables: &mut ValueTables, readers: &Readers, most: i32, stop: &Stop) -> Result<bool, Error> {
    let (functions, domains) = (&tables.problem.functions, &tables.problem.domains);
    let entries = |function: &CostFunction| function.scope.len() as u64 * function.combinations(domains);
    let of_turn = |turn: &[CostFunction]| turn.iter().map(entries).fold(0, u64::saturating_add);
    let all = threads::map(functions.chunks(TURN), of_turn).into_iter().fold(0, u64::saturating_add);
    if all < MANY { Ok(false) } else { of_any(tables, readers, most, stop) }
}

fn of_any(tables: &mut ValueTables, readers: &Readers, most: i32, stop: &Stop) -> Result<bool, Error> {
    let (bytes, words) = (of_entries::<u8>, of_entries::<i32>);
    let is_narrow = u8::try_from(most).is_ok();
    if is_narrow { bytes(tables, readers, stop) } else { words(tables, readers, stop) }
}

fn of_entries<E: RowEntry>(tables: &mut ValueTables, readers: &Readers, stop: &Stop) -> Result<bool, Error> {
    let problem = tables.problem.clone();
    let functions = &problem.functions;
    let suits = |function: &CostFunction| {
        matches!(function.table, Table::Dense(_)) && function.combinations(&problem.domains) <= tables.limit
    };
    if !threads::map(functions.chunks(TURN), |turn| turn.iter().all(suits)).into_iter().all(|suits| suits) {
        return Ok(false);
    }
    let firsts = firsts(functions, |v| problem.domains[v as usize] as usize, stop)?;
    let (shift, hard) = (tables.shift, tables.hard);
    let views = Views { problem: &problem, width: &tables.width, shift, hard, firsts };
    let mut turns = views.turns(readers, stop)?;
    let equals = if views.looks_for_equals() { equals::<E>(&mut turns, &views, stop)? } else { Vec::new() };
    let of_unary: usize = tables.width.iter().map(|&width| width as usize).sum();
    if of_unary + turns.iter().map(|turn| turn.entries).sum::<usize>() >= u32::MAX as usize {
        return Ok(false);
    }
    let bases = Bases::new(&views, stop)?;
    let (own, storage) = views.fill_all::<E>(&turns, &bases, of_unary, stop)?;
    for (seen, earlier) in &equals {
        bases.of(seen).store(bases.of(earlier).load(Ordering::Relaxed), Ordering::Relaxed);
    }
    let incidences = incidences(tables, &turns, &bases, stop)?;
    tables.rows = E::rows(own, storage);
    take(tables, readers, &turns, incidences, stop)?;
    Ok(true)
}

/// Functions as seen from their variables.
struct Views<'a> {
    problem: &'a Problem,
    width: &'a [u32],
    shift: u32,
    hard: i32,
    /// For each function the first one that has the same table.
    firsts: Vec<u32>,
}

impl Views<'_> {
    /// Returns whether functions are few enough to search for rows of equal entries.
    fn looks_for_equals(&self) -> bool {
        self.problem.functions.len() <= COMPARED
    }

    fn domain(&self, v: u32) -> usize {
        self.problem.domains[v as usize] as usize
    }

    /// Returns the table of a function as seen from one of its variables: the number of values, the distance between
    /// two of them, and the padded length of a row, in entries.
    fn view(&self, seen: &Seen) -> (&Table, [usize; 3]) {
        let function = &self.problem.functions[seen.function as usize];
        let (v, behind) = (function.scope[seen.position as usize], &function.scope[seen.position as usize + 1..]);
        let inner = behind.iter().map(|&u| self.domain(u)).product();
        (&function.table, [self.domain(v), inner, self.width[v as usize] as usize])
    }

    /// Writes the rows of a function as seen from a variable.
    fn fill<E: RowEntry>(&self, seen: &Seen, rows: &mut [E]) {
        let (shift, hard) = (self.shift, self.hard);
        if let (Table::Dense(table), sizes) = self.view(seen) {
            orient(table, sizes, |cost| E::of(quantize(cost, shift, hard)), rows);
        }
    }

    /// Returns a hash of a sample of the entries of these rows.
    fn hash(&self, seen: &Seen) -> u64 {
        let mut hasher = FxHasher::default();
        if let (Table::Dense(table), [values, inner, width]) = self.view(seen) {
            for place in sample(seen.length as usize) {
                let (row, value) = (place / width, place % width);
                let at = (row / inner * values + value) * inner + row % inner;
                hasher.write_i32(if value < values { quantize(table.get(at), self.shift, self.hard) } else { 0 });
            }
        }
        hasher.finish()
    }

    /// Returns the slices of all variables.
    fn turns(&self, readers: &Readers, stop: &Stop) -> Result<Vec<Turn>, Error> {
        let n = self.problem.variables();
        let step = n.div_ceil(PARTS).clamp(1, TURN);
        threads::try_map(0..n.div_ceil(step), |turn| {
            stop.check()?;
            Ok(self.turn(turn * step..n.min((turn + 1) * step), readers))
        })
    }

    fn turn(&self, variables: Range<usize>, readers: &Readers) -> Turn {
        let mut turn = Turn { variables: variables.clone(), seen: Vec::new(), entries: 0, hashes: Vec::new() };
        for v in variables {
            for &f in &readers[v] {
                let scope = &self.problem.functions[f as usize].scope;
                let position = scope.iter().position(|&u| u as usize == v).unwrap_or(0);
                let others = || scope.iter().filter(|&&u| u as usize != v).map(|&u| self.domain(u)).product::<usize>();
                let length = if self.firsts[f as usize] == f { others() * self.width[v] as usize } else { 0 };
                let seen = Seen { function: f, position: position as u32, length: length as u32 };
                if self.looks_for_equals() && length > 0 {
                    turn.hashes.push(self.hash(&seen));
                }
                turn.entries += length;
                turn.seen.push(seen);
            }
        }
        turn
    }

    /// Returns the unary rows of all variables, and the rows of all functions after `of_unary` unused entries.
    fn fill_all<E: RowEntry>(
        &self,
        turns: &[Turn],
        bases: &Bases<'_>,
        of_unary: usize,
        stop: &Stop,
    ) -> Result<(Storage<i32>, Storage<E>), Error> {
        let entries = of_unary + turns.iter().map(|turn| turn.entries).sum::<usize>();
        let mut own = Storage::<i32>::try_new(of_unary)?;
        let mut storage = Storage::<E>::try_new(entries)?;
        let (mut unary, mut rest) = (&mut own[..], &mut storage[of_unary..]);
        let mut begin = of_unary;
        let mut rows = Vec::with_capacity(turns.len());
        for turn in turns {
            let (own, own_unary);
            (own, rest) = rest.split_at_mut(turn.entries);
            let of_unary = &self.width[turn.variables.clone()];
            (own_unary, unary) = unary.split_at_mut(of_unary.iter().map(|&width| width as usize).sum());
            rows.push((turn, begin, own_unary, own));
            begin += turn.entries;
        }
        let _ = threads::try_map(rows, |(turn, mut begin, mut unary, mut rows)| {
            stop.check()?;
            for v in turn.variables.clone() {
                let own;
                (own, unary) = unary.split_at_mut(self.width[v] as usize);
                own.fill(PADDING);
                let costs = own.iter_mut().zip(&self.problem.unary[v]);
                costs.for_each(|(entry, &cost)| *entry = quantize(cost, self.shift, self.hard));
            }
            for seen in turn.seen.iter().filter(|seen| seen.length > 0) {
                let own;
                (own, rows) = rows.split_at_mut(seen.length as usize);
                if own.len() > SAMPLE {
                    stop.check()?;
                }
                self.fill(seen, own);
                bases.of(seen).store(begin as u32, Ordering::Relaxed);
                begin += seen.length as usize;
            }
            Ok::<(), Error>(())
        })?;
        Ok((own, storage))
    }
}

/// Where the rows of each function begin, as seen from each of its variables.
struct Bases<'a> {
    firsts: &'a [u32],
    /// By function, the index of its first variable's base.
    places: Vec<usize>,
    bases: Vec<AtomicU32>,
}

impl<'a> Bases<'a> {
    fn new(views: &'a Views<'_>, stop: &Stop) -> Result<Self, Error> {
        let mut places = Vec::with_capacity(views.problem.functions.len());
        let mut count = 0usize;
        for function in stop.each(&views.problem.functions) {
            places.push(count);
            count += function?.scope.len();
        }
        let bases = std::iter::repeat_with(AtomicU32::default).take(count).collect();
        Ok(Bases { firsts: &views.firsts, places, bases })
    }

    fn of(&self, seen: &Seen) -> &AtomicU32 {
        let first = self.firsts[seen.function as usize];
        &self.bases[self.places[first as usize] + seen.position as usize]
    }
}

/// The incidences of a slice, and the pairs beyond the first two of each.
type Incidences = (Vec<Incidence>, Vec<(u32, u32)>);

/// Returns the incidences of all slices, in which pairs are numbered from the slice's first.
fn incidences(tables: &ValueTables, turns: &[Turn], bases: &Bases<'_>, stop: &Stop) -> Result<Vec<Incidences>, Error> {
    let functions = &tables.problem.functions;
    let of_turn = |turn: &Turn| {
        stop.check()?;
        let mut further = Vec::new();
        let all = turn.seen.iter().map(|seen| {
            let base = bases.of(seen).load(Ordering::Relaxed);
            tables.incidence_of(&functions[seen.function as usize], seen.position as usize, base, &mut further)
        });
        Ok((all.collect(), further))
    };
    threads::try_map(turns, of_turn)
}

/// Concatenates the incidences of all slices, and fills in the offsets of each variable.
fn take(
    tables: &mut ValueTables,
    readers: &Readers,
    turns: &[Turn],
    incidences: Vec<Incidences>,
    stop: &Stop,
) -> Result<(), Error> {
    let count = incidences.iter().map(|(own, _)| own.len()).sum();
    tables.incidences.reserve_exact(count);
    tables.functions.reserve_exact(count);
    for (turn, (incidences, further)) in turns.iter().zip(incidences) {
        stop.check()?;
        let before = tables.further.len() as u32;
        tables.further.extend(further);
        let moved = |incidence: Incidence| Incidence { further: incidence.further + before, ..incidence };
        tables.incidences.extend(incidences.into_iter().map(moved));
        tables.functions.extend(turn.seen.iter().map(|seen| seen.function));
    }
    let (mut unary, mut incidences) = (0, 0);
    tables.ranges.push(0);
    for v in stop.each(0..tables.problem.variables()) {
        let v = v?;
        tables.unary.push(unary);
        unary += tables.width[v];
        incidences += readers[v].len() as u32;
        tables.ranges.push(incidences);
    }
    Ok(())
}

/// Returns a sample of indices in rows of `length` entries; all indices if they are few.
fn sample(length: usize) -> impl Iterator<Item = usize> {
    let spread = move |k: usize| (((mix(0, k as u64) >> 32) * length as u64) >> 32) as usize;
    (0..length.min(SAMPLE)).map(move |k| if length <= SAMPLE { k } else { spread(k) })
}

/// Finds rows whose entries equal those of earlier ones, sets their length to 0, and returns both.
fn equals<E: RowEntry>(turns: &mut [Turn], views: &Views<'_>, stop: &Stop) -> Result<Vec<(Seen, Seen)>, Error> {
    let mut known: FxHashMap<u64, Seen> = FxHashMap::default();
    let mut alike = Vec::new();
    for (place, turn) in turns.iter().enumerate() {
        stop.check()?;
        let seen = turn.seen.iter().enumerate().filter(|(_, seen)| seen.length > 0);
        for ((index, seen), &hash) in seen.zip(&turn.hashes) {
            match known.entry(hash) {
                Entry::Vacant(entry) => drop(entry.insert(*seen)),
                Entry::Occupied(entry) => alike.push((place, index, *entry.get())),
            }
        }
    }
    let is_equal = |&(place, index, earlier): &(usize, usize, Seen)| {
        stop.check()?;
        let seen = turns[place].seen[index];
        let rows = |seen: &Seen| {
            let mut rows = vec![E::default(); seen.length as usize];
            views.fill(seen, &mut rows);
            rows
        };
        Ok::<bool, Error>(seen.length == earlier.length && rows(&seen) == rows(&earlier))
    };
    let are_equal = threads::try_map(&alike, is_equal)?;
    let mut equals = Vec::new();
    for ((place, index, earlier), _) in alike.into_iter().zip(are_equal).filter(|(_, is_equal)| *is_equal) {
        let turn = &mut turns[place];
        let seen = turn.seen[index];
        turn.entries -= std::mem::take(&mut turn.seen[index].length) as usize;
        equals.push((seen, earlier));
    }
    Ok(equals)
}

/// Returns for each function the first one that has the same table and equal domain sizes along its scope.
fn firsts(functions: &[CostFunction], domain: impl Fn(u32) -> usize + Sync, stop: &Stop) -> Result<Vec<u32>, Error> {
    let of_turn = |turn: &[CostFunction]| turn.iter().map(|f| f.table.address()).collect::<Vec<usize>>();
    let addresses = threads::map(functions.chunks(TURN), of_turn).concat();
    // the allocator's alignment makes the lowest bits equal
    let part_of = |address: usize| (address >> 4) % PARTS;
    let parts = threads::try_map(0..PARTS, |part| {
        stop.check()?;
        let (mut known, mut repeated) = (FxHashMap::default(), Vec::new());
        for (f, &address) in (0u32..).zip(&addresses).filter(|(_, address)| part_of(**address) == part) {
            let first = *known.entry(address).or_insert(f);
            let sizes = |f: u32| functions[f as usize].scope.iter().map(|&v| domain(v));
            if first != f && sizes(first).eq(sizes(f)) {
                repeated.push((f, first));
            }
        }
        Ok::<_, Error>(repeated)
    })?;
    let mut firsts: Vec<u32> = (0..functions.len() as u32).collect();
    for (f, first) in parts.into_iter().flatten() {
        firsts[f as usize] = first;
    }
    Ok(firsts)
}

#[cfg(test)]
mod tests {
    use super::super::Rows;
    use super::super::quantization::quantum;
    use super::*;
    use crate::generate::generate;
    use crate::model::FORBIDDEN;
    use crate::reduce::Reducer;
    use crate::rng::Rng;
    use std::sync::Arc;

    #[test]
    fn rows_say_the_same_however_they_are_laid_out() {
        let mut rng = Rng::new(4);
        let mut laid_out = 0;
        for (family, settings) in [
            ("grid", vec![("side", "9"), ("d", "5"), ("p2", "0.1")]),
            ("random", vec![("n", "40"), ("d", "3"), ("p2", "0.2")]),
            ("parity", vec![]),
            ("potts", vec![]),
            ("potts", vec![("side", "4"), ("d", "40")]),
        ] {
            let network = generate(family, &settings, 3).expect("a family");
            let problem = Arc::new(Reducer::unreduced(&network, &Stop::new()).expect("no limit").1);
            let one = ValueTables::new(&problem, FORBIDDEN);
            let mut other = ValueTables::new(&problem, FORBIDDEN);
            (other.unary, other.ranges, other.incidences) = Default::default();
            (other.functions, other.further, other.in_place) = Default::default();
            let most = quantum(&problem, FORBIDDEN, &Stop::new()).expect("not stopped").most;
            if !of_any(&mut other, &problem.incidence(&Stop::new()).expect("no stop is set"), most, &Stop::new())
                .expect("not stopped")
            {
                continue;
            }
            assert_eq!(matches!(one.rows, Rows::Bytes(..)), matches!(other.rows, Rows::Bytes(..)), "{family}");
            laid_out += 1;
            assert!(one.functions == other.functions && one.ranges == other.ranges, "{family}");
            assert_eq!(one.rows.len(), other.rows.len(), "{family}: equal rows stand once");
            for _ in 0..20 {
                let values: Vec<u16> = problem.domains.iter().map(|&d| rng.index(d as usize) as u16).collect();
                for v in 0..problem.variables() {
                    let rate = |tables: &ValueTables| {
                        let mut row = vec![0; tables.width[v] as usize];
                        tables.rate(v, &values, &mut row, |_| true);
                        row
                    };
                    assert_eq!(rate(&one), rate(&other), "{family}, variable {v}");
                }
            }
        }
        assert!(laid_out >= 3, "{laid_out}");
    }
}
