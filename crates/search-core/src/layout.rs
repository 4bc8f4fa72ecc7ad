//! Flat tables of moves: the index of each move, and the costs that a move changes.

use crate::error::Error;
use crate::stop::Stop;
use crate::threads;
use crate::tuning::size::SPARSE;
use crate::value_tables::{Incidence, Row, RowEntry, ValueTables, on_rows};
use rustc_hash::{FxBuildHasher, FxHashMap};

/// A row of another variable's costs that changes with a variable's move, by `stride` entries for each value.
#[derive(Clone, Copy, Debug, Default)]
pub struct Affected {
    /// Position of the row for the moving variable's value 0.
    pub base: u32,
    /// Distance between the rows of consecutive values.
    pub stride: u32,
    /// The variable to which the row belongs.
    pub variable: u32,
    /// The first move of `variable`.
    start: u32,
    /// Length of the row in units of four moves.
    quads: u16,
    /// The pairs of variable and stride of the function's other variables: their number, and the first one's index in
    /// [`MoveLayout::others`]. Most functions have none.
    others: (u16, u32),
}

impl Affected {
    /// Returns the offset of the row by the values of the function's other variables.
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

/// Entries between two checks of the stop flag, in some of the loops.
const ENTRIES: usize = 1 << 10;
/// Variables whose rows one thread lists at a time.
const TURN: usize = 1 << 10;

/// The `watch` of updates that nothing watches.
pub const UNWATCHED: Option<fn(usize, i32, i32)> = None;

/// A move: a variable changes to `value` from its value in `values`.
#[derive(Clone, Copy, Debug)]
pub struct ValueMove<'a> {
    /// The assignment before the move.
    pub values: &'a [u16],
    /// The variable that moves.
    pub variable: usize,
    /// The new value.
    pub value: u16,
}

/// The flat tables of moves. A move is an index into them: the row of its variable, plus the value.
#[derive(Debug, Default)]
pub struct MoveLayout {
    /// The first move of each variable, and the number of moves. Unary rows have the same positions among the entries.
    pub starts: Vec<u32>,
    /// Index of the first row that each variable's moves change, and the number of rows.
    pub ranges: Vec<u32>,
    /// The rows that change, grouped by the variable that moves.
    pub affected: Vec<Affected>,
    others: Vec<(u32, u32)>,
    /// For each variable, the lowest possible cost of its functions. A variable of higher cost is in conflict.
    pub floors: Vec<i32>,
    /// The entries other than 0, if there are few. A move then changes a few sums instead of whole rows.
    sparse: Option<SparseRows>,
}

/// The entries other than 0, grouped by units of four entries of the rows.
#[derive(Debug, Default)]
struct SparseRows {
    /// Index of the first entry in each unit, and the number of entries.
    starts: Vec<u32>,
    /// The position and the cost of each entry.
    entries: Vec<(u32, i32)>,
}

impl SparseRows {
    /// Lists the entries of the functions' rows, which begin at entry `first`; `None` if too many are not 0.
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

    /// Iterates over the row that begins at `base`: positions in the row and costs.
    #[inline(always)]
    fn row(&self, base: u32, width: usize) -> impl Iterator<Item = (usize, i32)> {
        let quad = base as usize / 4;
        let range = self.starts[quad] as usize..self.starts[quad + width / 4] as usize;
        self.entries[range].iter().map(move |&(at, cost)| ((at - base) as usize, cost))
    }
}

impl MoveLayout {
    /// Builds the layout from the tables.
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

    /// Returns the number of moves.
    pub fn moves(&self) -> usize {
        self.starts.last().map_or(0, |&end| end as usize)
    }

    /// Returns the moves of a variable.
    pub fn range(&self, variable: usize) -> std::ops::Range<usize> {
        self.starts[variable] as usize..self.starts[variable + 1] as usize
    }

    /// Returns the rows that a variable's moves change.
    pub fn affected(&self, variable: usize) -> &[Affected] {
        &self.affected[self.ranges[variable] as usize..self.ranges[variable + 1] as usize]
    }

    /// Returns the average number of units of four moves that a move changes.
    pub fn changed_quads(&self) -> usize {
        let quads = |row: &Affected| usize::from(row.quads);
        self.affected.iter().map(quads).sum::<usize>() / self.floors.len().max(1)
    }

    /// Returns the approximate work of a step with `conflicts` variables in conflict, in nanoseconds of one CPU core.
    pub fn step_work(&self, conflicts: usize) -> u64 {
        let n = self.floors.len().max(1);
        // the work of a variable apart from its values was measured on rows of four and of 44 entries
        let rated = self.moves() * conflicts / n + 8 * conflicts;
        let changed = match self.sparse {
            Some(_) => 4 * self.affected.len() / n,
            None => self.affected.len() / n + 2 * self.changed_quads(),
        };
        (100 + rated + changed) as u64
    }

    /// Updates a sum for each move after a variable moves. The sum is over functions, each of which contributes `of`
    /// its cost. `watch` receives each changed sum of a variable's present value: the variable, and the sum before and
    /// after.
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

    /// Calls `change` with each sum that a move changes: its index, and the difference.
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
        // the changes by a row with few entries other than 0, and its positions: in a coloring they are equal for all
        // functions
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

/// Returns the row of `u` in a function that `v` moves. The pairs of the function's other variables go to `others`.
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

/// Replaces one row of a sum by another, with a width known at compile time. Lists of entries other than 0 take longer
/// than one or two vectors.
#[inline(always)]
fn replace<const WIDTH: usize, E: RowEntry>(sums: &mut [i32], gone: &[E], come: &[E], of: &impl Fn(i32) -> i32) {
    let (sums, gone, come) = (&mut sums[..WIDTH], &gone[..WIDTH], &come[..WIDTH]);
    // an array first: the compiler must assume that the sums overlap the costs, and made scalar code
    let mut changed = [0; WIDTH];
    for k in 0..WIDTH {
        changed[k] = sums[k] + of(come[k].cost()) - of(gone[k].cost());
    }
    sums.copy_from_slice(&changed);
}

/// Returns the sum of the rows' entries at an assignment, which is the energy of a walk.
///
/// # Errors
/// [`Error::Stopped`].
pub fn energy(tables: &ValueTables, values: &[u16], stop: &Stop) -> Result<i64, Error> {
    let mut sum = 0;
    for v in stop.each(0..tables.variables()) {
        let v = v?;
        // each function counts at the first of its variables
        let counts = |incidence: &&Incidence| tables.others(incidence).all(|(u, _)| u as usize > v);
        let rows = tables.incidences(v).iter().filter(counts).map(|incidence| tables.offset(incidence, values));
        let value = usize::from(values[v]);
        let of_functions = rows.map(|row| i64::from(tables.row(row + value, 1).at(0)));
        sum += i64::from(tables.unary(v)[value]) + of_functions.sum::<i64>();
    }
    Ok(sum)
}

/// Returns, for each variable, the sum of the lowest costs of its functions, over all values of the other variables.
fn floors(tables: &ValueTables, stop: &Stop) -> Result<Vec<i32>, Error> {
    let least = |costs: &[i32]| costs.iter().copied().min().unwrap_or(0);
    // for shared tables; with capacity for all, because growing to a million takes tenths of a second
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
