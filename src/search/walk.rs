//! Tabu walks on gamma tables: what a walk does, and where walkers live.
//!
//! A walk is a function of where it begins, its key and nothing else: all its decisions are mixes of the key and of what is
//! decided, its tenures are integers. So [`HostWalkers`](super::host_walkers::HostWalkers) and a device walk the same ways,
//! move by move.

use super::driver::Field;
use super::rows::Rows;
use super::state::Elite;
use crate::device::DeviceError;
use crate::rng::{below, mix};
use crate::stop::Stop;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The value that a variable has is tabu for good, and so are the padded places of its row: taking it changes nothing, and
/// aspiration needs a gain.
pub(crate) const HELD: u32 = u32::MAX;
/// A tenure of one step, in the unit of [`Walked::tenure`].
pub(crate) const TENURE_ONE: u32 = 256;
/// The first tenure of a walk and the least one.
const FIRST_TENURE: u32 = 10 * TENURE_ONE;
const LEAST_TENURE: u32 = 3 * TENURE_ONE;
/// Of the variables at most one in so many counts as being in conflict: in a cut or a quadratic form nearly all are.
const CONFLICTS: u32 = 10;
/// Steps without a repeated assignment after which tenures shorten.
const CALM: u32 = 1000;
/// Assignments that a walk remembers, at most: each replaces an earlier one whose hash ends in the same bits.
pub(crate) const REMEMBERED: usize = 4096;
/// One variable in so many begins with a random value, so that two walks from one elite differ.
const SCATTER: u64 = 20;
/// No walk is longer: steps are counted in 32 bits.
const LONGEST: u32 = 1 << 30;

/// What a walk decides, numbered: its bits are mixed from its key and this. Steps have their numbers.
mod decision {
    pub const ELITE: u64 = 1 << 40;
    /// Mixed once more with the variable.
    pub const VALUES: u64 = ELITE + 1;
}

/// A row of a function as seen from one of its variables: it begins at `base` and the values of the other variables, given
/// as pairs of variable and stride, move it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Incident {
    pub base: u32,
    /// Its first pair; the next one's first is its end.
    pub pairs: u32,
    pub variable: u32,
    /// 1 for the first of each function: its entry is the function's cost.
    pub counts: u32,
}

/// A row that changes where a variable moves, by `stride` for each value; the other variables of its function are those of
/// the incident, where there are more: [`Affected::NONE`] says that there are not.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Affected {
    pub base: u32,
    pub stride: u32,
    pub variable: u32,
    pub incident: u32,
}

impl Affected {
    pub const NONE: u32 = u32::MAX;
}

/// Where things stand in the flat tables of moves. A move is a place in them: the row of its variable, and the value.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    /// First move of each variable, and the end: as the unary rows stand among the entries.
    pub starts: Vec<u32>,
    /// First of the rows that each variable's moves change, and the end.
    pub ranges: Vec<u32>,
    pub affected: Vec<Affected>,
    /// A last one ends the pairs.
    pub incidents: Vec<Incident>,
    pub pairs: Vec<(u32, u32)>,
    /// The least that the functions on each variable could cost. One that costs more is in conflict.
    pub floors: Vec<i32>,
}

impl Layout {
    pub fn new(rows: &Rows) -> Self {
        let n = rows.variables();
        let mut layout = Layout { starts: (0..n).map(|v| rows.unary_at(v)).collect(), ..Layout::default() };
        layout.starts.push(rows.width.iter().sum());
        layout.floors = floors(rows);
        let mut affected = vec![Vec::new(); n];
        for group in rows.incidences_by_function().chunk_by(|a, b| a.0 == b.0) {
            for (place, &(_, variable, incidence)) in group.iter().enumerate() {
                let first = layout.pairs.len();
                layout.pairs.push((incidence.first, incidence.first_stride));
                if incidence.second_stride != 0 {
                    layout.pairs.push((incidence.second, incidence.second_stride));
                }
                layout.pairs.extend(rows.further(&incidence));
                let pairs = &layout.pairs[first..];
                let incident = if pairs.len() > 1 { layout.incidents.len() as u32 } else { Affected::NONE };
                for &(other, stride) in pairs {
                    let row = Affected { base: incidence.base, stride, variable, incident };
                    affected[other as usize].push(row);
                }
                let counts = u32::from(place == 0);
                layout.incidents.push(Incident { base: incidence.base, pairs: first as u32, variable, counts });
            }
        }
        layout.incidents.push(Incident { pairs: layout.pairs.len() as u32, ..Incident::default() });
        for rows in affected {
            layout.ranges.push(layout.affected.len() as u32);
            layout.affected.extend(rows);
        }
        layout.ranges.push(layout.affected.len() as u32);
        layout
    }

    pub fn moves(&self) -> usize {
        self.starts.last().map_or(0, |&end| end as usize)
    }

    pub fn range(&self, variable: usize) -> std::ops::Range<usize> {
        self.starts[variable] as usize..self.starts[variable + 1] as usize
    }

    /// The rows that a variable's moves change.
    pub fn affected(&self, variable: usize) -> &[Affected] {
        &self.affected[self.ranges[variable] as usize..self.ranges[variable + 1] as usize]
    }

    /// Rows of four moves that a move changes, on average.
    pub fn changed_quads(&self) -> usize {
        let quads = |row: &Affected| self.range(row.variable as usize).len() / 4;
        self.affected.iter().map(quads).sum::<usize>() / self.floors.len().max(1)
    }

    /// Brings a number of each move up to date where `v` goes to `value` from what it has in `values`: a sum over functions, to
    /// which a function gives `of` its cost. `watch` is told of each sum of a value that a variable has, before and after.
    #[inline(always)]
    pub fn update(
        &self,
        rows: &Rows,
        (values, v, value): (&[u16], usize, u16),
        sums: &mut [i32],
        of: impl Fn(i32) -> i32,
        mut watch: impl FnMut(i32, i32),
    ) {
        for row in self.affected(v) {
            let shift = match row.incident {
                Affected::NONE => 0,
                incident => self.shift(incident as usize, values, v as u32),
            };
            let [before, after] = [values[v], value].map(|value| row.base + shift + u32::from(value) * row.stride);
            let sums = &mut sums[self.range(row.variable as usize)];
            let held = usize::from(values[row.variable as usize]);
            let old = sums[held];
            let rows = rows.row(before as usize, sums.len()).iter().zip(rows.row(after as usize, sums.len()));
            for (total, (&gone, &come)) in sums.iter_mut().zip(rows) {
                *total += of(come) - of(gone);
            }
            watch(old, sums[held]);
        }
    }

    /// How far the values of an incident's other variables, `except` one, move its row.
    pub fn shift(&self, incident: usize, values: &[u16], except: u32) -> u32 {
        let pairs = self.incidents[incident].pairs as usize..self.incidents[incident + 1].pairs as usize;
        let others = self.pairs[pairs].iter().filter(|pair| pair.0 != except);
        others.map(|&(variable, stride)| u32::from(values[variable as usize]) * stride).sum()
    }
}

/// What all walkers of a round share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Round<'a> {
    /// Keys of walks that begin in it are mixed from it.
    pub draw: u64,
    pub steps: u32,
    /// Steps without a new best after which a walk is given up.
    pub patience: u32,
    /// Where walks begin; at random values where there are none.
    pub elites: &'a [Elite],
}

impl Round<'_> {
    /// Whether a walker gives up its walk and begins another.
    pub fn begins(&self, walked: &Walked) -> bool {
        walked.key == 0 || walked.step - walked.best_step > self.patience || walked.step > LONGEST
    }

    /// The key of a walk that begins in a slot.
    pub fn key(&self, slot: usize) -> u64 {
        mix(self.draw, slot as u64) | 1
    }

    /// Where the walk with `key` begins.
    pub fn start(&self, rows: &Rows, key: u64) -> Vec<u16> {
        let elite = below(mix(key, decision::ELITE), self.elites.len() as u64) as usize;
        let values = mix(key, decision::VALUES);
        let value = |v: usize| {
            let bits = mix(values, v as u64);
            match self.elites.get(elite) {
                Some(elite) if below(bits, SCATTER) != 0 => elite.values[v],
                _ => below(mix(bits, 0), rows.domain(v) as u64) as u16,
            }
        };
        (0..rows.variables()).map(value).collect()
    }
}

/// How far a walker has come.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Walked {
    /// Of the walk; 0 before the first.
    pub key: u64,
    /// Sum of the rows' entries.
    pub energy: i64,
    pub best: i64,
    pub hash: u64,
    pub best_hash: u64,
    /// Moves in all walks.
    pub moves: u64,
    /// Steps of this walk; where all moves are tabu a step moves nothing.
    pub step: u32,
    pub best_step: u32,
    /// When the tenure last changed.
    pub changed: u32,
    /// How long the value that a variable leaves is tabu, in 256ths; half as much to one and a half of it is drawn.
    pub tenure: u32,
    /// Variables in conflict.
    pub conflicts: u32,
}

impl Walked {
    /// A walk that begins.
    pub fn new(key: u64, energy: i64, hash: u64, conflicts: u32) -> Walked {
        let fresh = Walked { key, energy, best: energy, hash, best_hash: hash, conflicts, ..Walked::default() };
        Walked { tenure: FIRST_TENURE, ..fresh }
    }

    /// The bits of the next step.
    pub fn draw(&self) -> u64 {
        mix(self.key, u64::from(self.step))
    }

    /// The difference below which a move gives a new best.
    pub fn aspired(&self) -> i32 {
        (self.best - self.energy).clamp(i64::from(i32::MIN / 2), 0) as i32
    }

    /// The step until which a value is tabu that is left in the step after this one: by the tenure, and the longer the more
    /// variables are in conflict (0.6 for each, as in Galinier and Hao's tabu search for coloring).
    pub fn until(&self, variables: usize) -> u32 {
        let tenure = self.tenure / TENURE_ONE;
        let drawn = below(mix(self.draw(), 0), u64::from(tenure) + 1) as u32 + tenure / 2;
        self.step + 2 + drawn + self.conflicts.min(variables as u32 / CONFLICTS) * 3 / 5
    }

    /// A repeated assignment lengthens tenures; a long time without one shortens them (Battiti and Tecchiolli's reactive
    /// tabu search).
    pub fn react(&mut self, repeated: bool, variables: usize) {
        let longest = (variables as u32 * (TENURE_ONE / 2)).max(LEAST_TENURE);
        if repeated {
            self.tenure = (self.tenure + self.tenure / 10 + TENURE_ONE).min(longest);
        } else if self.step - self.changed > CALM {
            self.tenure = (self.tenure - self.tenure / 20).max(LEAST_TENURE);
        } else {
            return;
        }
        self.changed = self.step;
    }
}

/// Where walkers live.
pub(crate) trait Walkers: Send {
    /// Walkers that suit a core.
    fn suitable(&mut self, field: &Field, layout: &Layout) -> Result<usize, DeviceError>;

    /// Steps of a round of some ten milliseconds.
    fn steps(&self, layout: &Layout) -> u32;

    /// How much work they do in the time that a core of the CPU does one unit.
    fn speed(&self) -> u64 {
        1
    }

    /// Makes room for walkers, none of which has begun.
    fn open(&mut self, field: &Field, layout: &Arc<Layout>, count: usize) -> Result<(), DeviceError>;

    /// Every walker goes on, or begins where it has to; says how far they have come.
    fn walk(&mut self, field: &Field, round: &Round, stop: &Stop) -> Result<Vec<Walked>, DeviceError>;

    /// The best assignment of a walk.
    fn best(&self, slot: usize) -> Result<Vec<u16>, DeviceError>;
}

/// The sum of the rows' entries, which is what a walk's energy is.
pub(crate) fn energy(rows: &Rows, layout: &Layout, values: &[u16]) -> i64 {
    let entry = |at: u32| i64::from(rows.entries()[at as usize]);
    let unary = layout.starts.iter().zip(values).map(|(&start, &value)| entry(start + u32::from(value)));
    let counted = layout.incidents.iter().enumerate().filter(|(_, incident)| incident.counts == 1);
    let functions = counted.map(|(k, incident)| {
        let row = incident.base + layout.shift(k, values, u32::MAX);
        entry(row + u32::from(values[incident.variable as usize]))
    });
    unary.sum::<i64>() + functions.sum::<i64>()
}

/// For each variable the sum of what its functions cost at least, whatever the others' values.
fn floors(rows: &Rows) -> Vec<i32> {
    let least = |costs: &[i32]| costs.iter().copied().min().unwrap_or(0);
    let mut known: FxHashMap<(u32, usize), i32> = FxHashMap::default();
    let floor = |v: usize| {
        let (domain, width) = (rows.domain(v), rows.width[v] as usize);
        let of_functions = rows.incidences(v).iter().map(|incidence| {
            let of_table = || {
                let table = rows.row(incidence.base as usize, rows.row_count(incidence) * width);
                table.chunks(width).map(|row| least(&row[..domain])).min().unwrap_or(0)
            };
            *known.entry((incidence.base, domain)).or_insert_with(of_table)
        });
        least(&rows.unary(v)[..domain]) + of_functions.sum::<i32>()
    };
    (0..rows.variables()).map(floor).collect()
}
