//! The flat tables of moves: where each move stands, and which costs a move changes.

use crate::error::Error;
use crate::stop::Stop;
use crate::threads;
use crate::tuning::size::SPARSE;
use crate::value_tables::{Incidence, Row, RowEntry, ValueTables, on_rows};
use rustc_hash::{FxBuildHasher, FxHashMap};

/// A row that changes where a variable moves, by `stride` for each value.
#[derive(Clone, Copy, Debug, Default)]
pub struct Affected {
    /// Where the row stands at value 0.
    pub base: u32,
    /// From one value's row to the next.
    pub stride: u32,
    /// The variable whose row it is.
    pub variable: u32,
    /// The first move of the variable, and rows of four of them.
    start: u32,
    quads: u16,
    /// The pairs of variable and stride of the function's other variables: how many, and the first among
    /// [`MoveLayout::others`]. Most functions have none.
    others: (u16, u32),
}

impl Affected {
    /// How far the values of the function's other variables move the row.
    #[inline(always)]
    pub fn shift(&self, layout: &MoveLayout, values: &[u16]) -> u32 {
        let (count, first) = self.others;
        let others = &layout.others[first as usize..][..usize::from(count)];
        others.iter().map(|&(variable, stride)| u32::from(values[variable as usize]) * stride).sum()
    }

    #[inline(always)]
    fn width(&self) -> usize {
        4 * usize::from(self.quads)
    }
}

/// Entries between two looks at the stop flag, some of them at a time.
const ENTRIES: usize = 1 << 10;
/// Variables whose rows one thread lists at a time.
const TURN: usize = 1 << 10;

/// For updates that are not watched.
pub const UNWATCHED: Option<fn(usize, i32, i32)> = None;

/// A variable goes to a value from what it has in `values`.
#[derive(Clone, Copy, Debug)]
pub struct ValueMove<'a> {
    /// The assignment before it.
    pub values: &'a [u16],
    /// Who moves.
    pub variable: usize,
    /// Where to.
    pub value: u16,
}

/// Where things stand in the flat tables of moves. A move is a place in them: the row of its variable, and the value.
#[derive(Debug, Default)]
pub struct MoveLayout {
    /// First move of each variable, and the end: as the unary rows stand among the entries.
    pub starts: Vec<u32>,
    /// First of the rows that each variable's moves change, and the end.
    pub ranges: Vec<u32>,
    /// The rows that change, those of each variable's moves together.
    pub affected: Vec<Affected>,
    others: Vec<(u32, u32)>,
    /// The least that the functions on each variable could cost. One that costs more is in conflict.
    pub floors: Vec<i32>,
    /// The entries that are not 0, where these are few: a move then changes a few sums instead of whole rows.
    sparse: Option<SparseRows>,
}

/// Entries that are not 0, by quads of the rows' entries.
#[derive(Debug, Default)]
struct SparseRows {
    /// The first entry of each quad, and the end.
    starts: Vec<u32>,
    /// Where it stands, and the cost.
    entries: Vec<(u32, i32)>,
}

impl SparseRows {
    /// Of the functions' rows, which begin at the entry `first`; none where most entries cost something.
    fn until<E: RowEntry>(entries: &[E], first: usize, stop: &Stop) -> Result<Option<SparseRows>, Error> {
        let listed = |&(at, entry): &(usize, &E)| at >= first && entry.cost() != 0;
        let (most, mut count) = ((entries.len() - first) / SPARSE, 0);
        for costs in stop.each(entries[first..].chunks(ENTRIES)) {
            count += costs?.iter().filter(|entry| entry.cost() != 0).count();
            if count > most {
                return Ok(None);
            }
        }
        let mut sparse = SparseRows { starts: Vec::with_capacity(entries.len() / 4 + 1), entries: Vec::new() };
        for item in stop.each(entries.chunks(4).enumerate()) {
            let (quad, costs) = item?;
            sparse.starts.push(sparse.entries.len() as u32);
            let costs = costs.iter().enumerate().map(|(k, cost)| (4 * quad + k, cost)).filter(listed);
            sparse.entries.extend(costs.map(|(at, entry)| (at as u32, entry.cost())));
        }
        sparse.starts.push(sparse.entries.len() as u32);
        Ok(Some(sparse))
    }

    /// Of a row that begins at `base`: places in it and costs.
    #[inline(always)]
    fn row(&self, base: u32, width: usize) -> impl Iterator<Item = (usize, i32)> {
        let quad = base as usize / 4;
        let range = self.starts[quad] as usize..self.starts[quad + width / 4] as usize;
        self.entries[range].iter().map(move |&(at, cost)| ((at - base) as usize, cost))
    }
}

impl MoveLayout {
    /// Reads it off the tables.
    ///
    /// # Errors
    /// [`Error::Stopped`].
    pub fn new(tables: &ValueTables, stop: &Stop) -> Result<Self, Error> {
        let n = tables.variables();
        let mut layout = MoveLayout { starts: (0..n).map(|v| tables.unary_at(v)).collect(), ..MoveLayout::default() };
        layout.starts.push(tables.moves() as u32);
        layout.floors = floors(tables, stop)?;
        layout.sparse = on_rows!(tables.rows(), entries => SparseRows::until(entries, layout.moves(), stop))?;
        layout.ranges.push(0);
        for v in stop.each(0..n) {
            let others = |&f: &u32| tables.problem.functions[f as usize].scope.len() as u32 - 1;
            let rows: u32 = tables.functions_on(v?).iter().map(others).sum();
            layout.ranges.push(layout.ranges[layout.ranges.len() - 1] + rows);
        }
        layout.affected = vec![Affected::default(); layout.ranges[n] as usize];
        let (mut turns, mut rest) = (Vec::new(), &mut layout.affected[..]);
        for first in (0..n).step_by(TURN) {
            let variables = first..n.min(first + TURN);
            let count = layout.ranges[variables.end] - layout.ranges[first];
            let own;
            (own, rest) = rest.split_at_mut(count as usize);
            turns.push((variables, own));
        }
        let fill = |(variables, rows): (std::ops::Range<usize>, &mut [Affected])| {
            let (mut others, mut rows) = (Vec::new(), rows.iter_mut());
            for v in variables {
                stop.check()?;
                for &function in tables.functions_on(v) {
                    let scope = tables.problem.functions[function as usize].scope.iter();
                    for (&u, row) in scope.filter(|&&u| u as usize != v).zip(&mut rows) {
                        *row = affected_by(tables, function, u, v as u32, &mut others);
                        row.start = layout.starts[u as usize];
                    }
                }
            }
            Ok::<_, Error>(others)
        };
        let others = threads::try_map(turns, fill)?;
        if others.iter().any(|others| !others.is_empty()) {
            for (turn, others) in stop.each(others.into_iter().enumerate()).collect::<Result<Vec<_>, Error>>()? {
                let range = |v: usize| layout.ranges[n.min(v * TURN)] as usize;
                let before = layout.others.len() as u32;
                layout.affected[range(turn)..range(turn + 1)].iter_mut().for_each(|row| row.others.1 += before);
                layout.others.extend(others);
            }
        }
        Ok(layout)
    }

    /// How many moves there are.
    pub fn moves(&self) -> usize {
        self.starts.last().map_or(0, |&end| end as usize)
    }

    /// The moves of a variable.
    pub fn range(&self, variable: usize) -> std::ops::Range<usize> {
        self.starts[variable] as usize..self.starts[variable + 1] as usize
    }

    /// The rows that a variable's moves change.
    pub fn affected(&self, variable: usize) -> &[Affected] {
        &self.affected[self.ranges[variable] as usize..self.ranges[variable + 1] as usize]
    }

    /// Rows of four moves that a move changes, on average.
    pub fn changed_quads(&self) -> usize {
        let quads = |row: &Affected| usize::from(row.quads);
        self.affected.iter().map(quads).sum::<usize>() / self.floors.len().max(1)
    }

    /// About what a step costs where so many variables are in conflict, in units of one nanosecond or so.
    pub fn step_work(&self, conflicts: usize) -> u64 {
        let n = self.floors.len().max(1);
        // what a variable takes besides its values was measured on rows of four and of 44
        let rated = self.moves() * conflicts / n + 8 * conflicts;
        let changed = match self.sparse {
            Some(_) => 4 * self.affected.len() / n,
            None => self.affected.len() / n + 2 * self.changed_quads(),
        };
        (100 + rated + changed) as u64
    }

    /// Brings a number of each move up to date as a variable moves: a sum over functions, to which a function gives
    /// `of` its cost. `watch`, if any, receives each sum of a value that a variable has: the variable, the sum before
    /// and after.
    #[inline(always)]
    pub fn update<W: FnMut(usize, i32, i32)>(
        &self,
        tables: &ValueTables,
        moved: ValueMove<'_>,
        sums: &mut [i32],
        of: impl Fn(i32) -> i32,
        watch: Option<W>,
    ) {
        on_rows!(tables.rows(), entries => self.update_in(entries, moved, sums, of, watch));
    }

    /// Calls `change` with each sum that a move changes, by its place, and with what is added to it.
    #[inline(always)]
    pub fn changes(&self, tables: &ValueTables, moved: ValueMove<'_>, change: impl FnMut(usize, i32)) {
        on_rows!(tables.rows(), entries => self.changes_in(entries, moved, change));
    }

    #[inline(always)]
    fn changes_in<E: RowEntry>(&self, entries: &[E], moved: ValueMove<'_>, mut change: impl FnMut(usize, i32)) {
        let ValueMove { values, variable, value } = moved;
        let [old, new] = [values[variable], value].map(u32::from);
        for row in self.affected(variable) {
            let first = row.base + row.shift(self, values);
            let [before, after] = [old, new].map(|value| first + value * row.stride);
            let (start, width) = (row.start as usize, row.width());
            if let Some(sparse) = self.sparse.as_ref().filter(|_| width > 8) {
                sparse.row(before, width).for_each(|(place, cost)| change(start + place, -cost));
                sparse.row(after, width).for_each(|(place, cost)| change(start + place, cost));
                continue;
            }
            let [gone, come] = [before, after].map(|at| &entries[at as usize..][..width]);
            for (place, (gone, come)) in gone.iter().zip(come).enumerate() {
                match come.cost() - gone.cost() {
                    0 => {}
                    by => change(start + place, by),
                }
            }
        }
    }

    #[inline(always)]
    fn update_in<E: RowEntry, W: FnMut(usize, i32, i32)>(
        &self,
        entries: &[E],
        moved: ValueMove<'_>,
        sums: &mut [i32],
        of: impl Fn(i32) -> i32,
        mut watch: Option<W>,
    ) {
        // what a row changes by, where few entries of rows are not 0, and whose it is: in a coloring it is the same for
        // all
        let mut changes: Vec<(usize, i32)> = Vec::new();
        let mut of_rows = (0, 0);
        let ValueMove { values, variable, value } = moved;
        let [old, new] = [values[variable], value].map(u32::from);
        for row in self.affected(variable) {
            let shift = row.shift(self, values);
            let [before, after] = [old, new].map(|value| row.base + shift + value * row.stride);
            let sums = &mut sums[row.start as usize..][..row.width()];
            let watched = watch.as_mut().map(|watch| {
                let held = usize::from(values[row.variable as usize]);
                (watch, held, sums[held])
            });
            let [gone, come] = [before, after].map(|at| &entries[at as usize..][..sums.len()]);
            if sums.len() == 4 {
                replace::<4, E>(sums, gone, come, &of);
            } else if sums.len() == 8 {
                replace::<8, E>(sums, gone, come, &of);
            } else if let Some(sparse) = &self.sparse {
                if of_rows != (before, after) {
                    of_rows = (before, after);
                    changes.clear();
                    changes.extend(sparse.row(before, sums.len()).map(|(place, cost)| (place, of(0) - of(cost))));
                    changes.extend(sparse.row(after, sums.len()).map(|(place, cost)| (place, of(cost) - of(0))));
                }
                for &(place, change) in &changes {
                    sums[place] += change;
                }
            } else {
                for (total, (gone, come)) in sums.iter_mut().zip(gone.iter().zip(come)) {
                    *total += of(come.cost()) - of(gone.cost());
                }
            }
            if let Some((watch, held, before)) = watched {
                watch(row.variable as usize, before, sums[held]);
            }
        }
    }
}

/// The row of `u` in a function that `v` moves; the pairs of the function's other variables go to `others`.
fn affected_by(tables: &ValueTables, function: u32, u: u32, v: u32, others: &mut Vec<(u32, u32)>) -> Affected {
    let incidence = tables.incidence(u as usize, function);
    let first = others.len();
    others.extend(tables.others(&incidence).filter(|pair| pair.0 != v));
    Affected {
        base: incidence.base,
        stride: tables.stride(&incidence, v),
        variable: u,
        start: 0,
        quads: (tables.width[u as usize] / 4) as u16,
        others: ((others.len() - first) as u16, first as u32),
    }
}

/// One row of a sum for another, of a width known at compile time: lists of what is not 0 take longer than one or two
/// vectors.
#[inline(always)]
fn replace<const WIDTH: usize, E: RowEntry>(sums: &mut [i32], gone: &[E], come: &[E], of: &impl Fn(i32) -> i32) {
    let (sums, gone, come) = (&mut sums[..WIDTH], &gone[..WIDTH], &come[..WIDTH]);
    // an array first: for all that is known the sums may be among the costs, and vectors of them were scalars
    let mut changed = [0; WIDTH];
    for k in 0..WIDTH {
        changed[k] = sums[k] + of(come[k].cost()) - of(gone[k].cost());
    }
    sums.copy_from_slice(&changed);
}

/// Returns the sum of the rows' entries, which is what a walk's energy is.
///
/// # Errors
/// [`Error::Stopped`].
pub fn energy(tables: &ValueTables, values: &[u16], stop: &Stop) -> Result<i64, Error> {
    let mut sum = 0;
    for v in stop.each(0..tables.variables()) {
        let v = v?;
        // each function at the first of its variables
        let counts = |incidence: &&Incidence| tables.others(incidence).all(|(u, _)| u as usize > v);
        let rows = tables.incidences(v).iter().filter(counts).map(|incidence| tables.offset(incidence, values));
        let value = usize::from(values[v]);
        let of_functions = rows.map(|row| i64::from(tables.row(row + value, 1).at(0)));
        sum += i64::from(tables.unary(v)[value]) + of_functions.sum::<i64>();
    }
    Ok(sum)
}

/// For each variable the sum of what its functions cost at least, whatever the others' values.
fn floors(tables: &ValueTables, stop: &Stop) -> Result<Vec<i32>, Error> {
    let least = |costs: &[i32]| costs.iter().copied().min().unwrap_or(0);
    // where tables are shared; with room for all, as to make more for a million takes tenths of a second
    let room = if tables.shares_rows() { tables.incidence_count() } else { 0 };
    let mut known = FxHashMap::with_capacity_and_hasher(room, FxBuildHasher);
    let floor = |v: Result<usize, Error>| {
        let v = v?;
        let domain = tables.domain(v);
        let of_functions = tables.incidences(v).iter().map(|incidence| {
            let of_table = || {
                let rows =
                    (0..tables.row_count(incidence)).map(|k| tables.row(tables.nth_row(v, incidence, k), domain));
                rows.flat_map(Row::iter).min().unwrap_or(0)
            };
            if room == 0 { of_table() } else { *known.entry((incidence.base, domain)).or_insert_with(of_table) }
        });
        Ok(least(&tables.unary(v)[..domain]) + of_functions.sum::<i32>())
    };
    stop.each(0..tables.variables()).map(floor).collect()
}
