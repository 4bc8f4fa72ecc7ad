//! The layout of the rows of a problem's tables on a device.

use crate::model::FORBIDDEN;
use crate::threads;
use crate::tuning::size::NARROW;
use crate::value_tables::{Rows, ValueTables};
use rustc_hash::FxHashMap;

/// The layout of all rows.
#[derive(Clone, Copy, Debug)]
pub struct RowShape {
    /// Length of the widest row, in units of four values.
    pub quads: u32,
    /// Whether entries have 16 bits.
    pub half: bool,
    /// Whether 16-bit entries are stored in 8 bits, for kernels that only add up rows.
    pub bytes: bool,
    /// Whether 16-bit sums suffice for a variable's unary costs together with its functions.
    pub half_ratings: bool,
    /// Whether variables' indices need more than 16 bits.
    pub wide: bool,
    /// Whether blocks can cache evaluations: on large problems or with narrow rows, if moves can be recorded and, with
    /// 16-bit rows, sums include the unary costs.
    pub keeps: bool,
    /// Whether links represent a large problem: all functions have two variables, nothing is forbidden and entries are
    /// exact costs, so that kernels need no other incidences and no costs of 64 bits.
    pub links: bool,
}

/// Largest number of effects of a variable whose evaluations are cached, by the format of recorded moves
/// (`kernels/rating_cache.cuh`).
const MOST_EFFECTS: usize = (1 << 14) - 1;
/// Largest domain size with cached evaluations, by the format of recorded moves.
const LARGEST_DOMAIN: u32 = 1 << 9;

impl RowShape {
    /// Returns the layout for a problem.
    pub fn of(tables: &ValueTables, is_large: bool) -> RowShape {
        let n = tables.variables();
        let whole = tables.width.iter().all(|width| width % 8 == 0);
        let sums = if whole { largest_sums(tables) } else { Vec::new() };
        // rows must consist of whole units of 16-bit entries, and their sums for a variable must be below 2^16
        let half = whole && sums.iter().all(|&sum| sum < 1 << 16);
        let wide = n > usize::from(u16::MAX);
        let unary = |v: usize| tables.unary(v)[..tables.domain(v)].iter().copied().max().map_or(0, i64::from);
        let half_ratings = half && (0..n).all(|v| sums[v] + unary(v) < 1 << 16);
        let effects =
            |v: usize| tables.incidences(v).iter().map(|incidence| tables.others(incidence).count()).sum::<usize>();
        let quads = tables.width.iter().max().map_or(1, |width| width / 4);
        let units = if half { quads / 2 } else { quads };
        let keeps = (is_large || units <= NARROW)
            && !wide
            && tables.problem.domains.iter().all(|&domain| domain <= LARGEST_DOMAIN)
            && (0..n).all(|v| effects(v) <= MOST_EFFECTS)
            && (!half || half_ratings);
        let bytes = half && matches!(tables.rows(), Rows::Bytes(..));
        RowShape { quads, half, bytes, half_ratings, wide, keeps, links: is_large && suits_links(tables) }
    }

    /// Returns the layout with 16-bit entries only if rows of evaluations fit into them, too.
    pub fn with_ratings(self) -> RowShape {
        RowShape { half: self.half && self.half_ratings, bytes: self.bytes && self.half_ratings, ..self }
    }
}

/// Number of variables that a thread handles at a time.
const PART: usize = 1 << 14;

/// Returns whether [`RowShape::links`] is possible.
fn suits_links(tables: &ValueTables) -> bool {
    if tables.shift > 0 || tables.forbidding.some || !tables.all_copied() {
        return false;
    }
    let suits = |v: &usize| {
        let rows = tables.width[*v] as usize;
        let is_link = |incidence| ValueTables::binary(incidence).is_some_and(|(_, _, stride)| stride == rows);
        tables.problem.unary[*v].iter().all(|&cost| cost < FORBIDDEN) && tables.incidences(*v).iter().all(is_link)
    };
    let variables: Vec<usize> = (0..tables.variables()).collect();
    threads::map(variables.chunks(PART), |part| part.iter().all(suits)).into_iter().all(|suits| suits)
}

/// Returns, for each variable, the sum of the largest costs of its functions.
pub fn largest_sums(tables: &ValueTables) -> Vec<i64> {
    let variables: Vec<usize> = (0..tables.variables()).collect();
    let of_part = |variables: &[usize]| {
        // tables that many functions share are read once
        let mut largest: FxHashMap<u32, i32> = FxHashMap::default();
        let sum = |&v: &usize| {
            let width = tables.width[v] as usize;
            let most = tables.incidences(v).iter().map(|incidence| {
                let of_table = || {
                    let first = tables.nth_row(v, incidence, 0);
                    let table = tables.row(first, tables.row_count(incidence) * width);
                    table.iter().max().unwrap_or(0)
                };
                i64::from(*largest.entry(incidence.base).or_insert_with(of_table))
            });
            most.sum::<i64>()
        };
        variables.iter().map(sum).collect::<Vec<i64>>()
    };
    threads::map(variables.chunks(PART), of_part).concat()
}
