//! How the rows of a core's tables are laid out on a device.

use crate::model::FORBIDDEN;
use crate::threads;
use crate::tuning::size::NARROW;
use crate::value_tables::{Rows, ValueTables};
use rustc_hash::FxHashMap;

/// How all rows are laid out.
#[derive(Clone, Copy, Debug)]
pub struct RowShape {
    /// Values of the widest row, in fours.
    pub quads: u32,
    /// Whether entries have 16 bits.
    pub half: bool,
    /// Whether these entries take 8 bits in memory: for kernels that only add rows up.
    pub bytes: bool,
    /// Whether rows of 16-bit entries have room for a variable's unary costs beside the sums of its functions.
    pub half_ratings: bool,
    /// Whether variables' numbers take more than 16 bits.
    pub wide: bool,
    /// Whether blocks can keep ratings: on large cores or where rows are narrow, where moves can be noted and, if rows
    /// are of 16 bits, a row has room for its unary costs too.
    pub keeps: bool,
    /// Whether links stand for a large core: all functions have two variables, nothing is forbidden and entries are
    /// costs, so that kernels need no other incidences and no costs of 64 bits.
    pub links: bool,
}

/// The most effects of a variable whose ratings are kept, and the largest domain: how moves are noted has room for so
/// many (`kernels/rating_cache.cuh`).
const MOST_EFFECTS: usize = (1 << 14) - 1;
const LARGEST_DOMAIN: u32 = 1 << 9;

impl RowShape {
    /// The layout that suits a core.
    pub fn of(tables: &ValueTables, is_large: bool) -> RowShape {
        let n = tables.variables();
        let whole = tables.width.iter().all(|width| width % 8 == 0);
        let sums = if whole { largest_sums(tables) } else { Vec::new() };
        // rows are whole units of 16-bit entries whose sums for a variable stay below 2^16
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

    /// Returns the layout with entries of 16 bits only if rows of ratings fit too.
    pub fn with_ratings(self) -> RowShape {
        RowShape { half: self.half && self.half_ratings, bytes: self.bytes && self.half_ratings, ..self }
    }
}

/// Variables that a thread looks at at a time.
const PART: usize = 1 << 14;

/// Whether [`RowShape::links`] can be.
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

/// The most that the functions on each variable can cost together.
pub fn largest_sums(tables: &ValueTables) -> Vec<i64> {
    let variables: Vec<usize> = (0..tables.variables()).collect();
    let of_part = |variables: &[usize]| {
        // tables that many functions share are looked at once
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
