//! Tabu walks in device memory, with a block of threads for each walk.

#![allow(unsafe_code, reason = "structures that kernels take")]

use super::TabuSearch;
use super::walk::TabuProgress;
use crate::constants::tabu::{RATED, REMEMBERED};
use crate::constants::walks::MOST_STEPS;
use crate::core::context::SearchContext;
use crate::core::cuda::{Device, Uploads};
use crate::core::layout::MoveLayout;
use crate::core::row_shape::largest_sums;
use crate::device::shared::device_structs;
use crate::device::{DeviceError, Info, Source, ValidAsZeroBits};
use crate::kernels;
use crate::stop::Stop;
use crate::value_tables::ValueTables;
use crate::walks::cuda::{DeviceSearch, Program, asserted, group};

device_structs! {
    /// The struct `Layout` of `kernels/layout.cuh`.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct LayoutArgument as "Layout" {
        variables: u32,
        quads: u32,
        incidents_count: u32,
        group: u32,
        laps: u32,
        unused: u32,
        entries: u64,
        starts: u64,
        domains: u64,
        floors: u64,
        ranges: u64,
        affected: u64,
        incidents: u64,
        pairs: u64,
    }
}

// SAFETY: the fields are numbers; zeros represent a walk that has not begun.
unsafe impl ValidAsZeroBits for TabuProgress {}

/// Largest number of bytes of shared memory that the kernel uses besides a walk's tables.
const BESIDE: u32 = 1 << 10;

/// The kernels: with numbers of 16 or 32 bits, and with tables in shared memory or not.
const KERNELS: [&str; 3] = ["walk<u16, true>", "walk<u32, true>", "walk<u32, false>"];

/// The layout of a walk in memory.
struct Cut {
    kernel: &'static str,
    /// Number of words of a walk's tables.
    words: usize,
    /// Bytes of shared memory; 0 if the tables do not fit.
    shared: u32,
}

impl Cut {
    fn new(info: &Info, context: &SearchContext) -> Cut {
        let (n, moves) = (context.variables(), context.tables.moves());
        let room = info.shared_memory.saturating_sub(BESIDE) as usize;
        // costs and tabu limits of moves; for each variable its cost, its value, a bit and a position in a list
        let words = |bytes: usize| {
            let numbers = 2 * moves + n.next_multiple_of(32);
            (2 * n + n.div_ceil(32) + numbers * bytes / 4).next_multiple_of(4)
        };
        let shared = |bytes: usize| 4 * (words(bytes) + 2 * (n + 1));
        match [2, 4].map(|bytes| shared(bytes) <= room) {
            [true, _] if fits_short(context) => Cut { kernel: KERNELS[0], words: words(2), shared: shared(2) as u32 },
            [_, true] => Cut { kernel: KERNELS[1], words: words(4), shared: shared(4) as u32 },
            _ => Cut { kernel: KERNELS[2], words: words(4), shared: 0 },
        }
    }
}

/// Returns whether costs of moves, and steps of a round plus a tenure, fit into 16 bits. The largest number stands for
/// moves that are always tabu.
fn fits_short(context: &SearchContext) -> bool {
    let (tables, Ok(Some(layout))) = (&context.tables, context.layout(&Stop::new())) else { return false };
    let largest = |v: usize| i64::from(tables.unary(v)[..tables.domain(v)].iter().copied().max().unwrap_or(0));
    let steps = MOST_STEPS as usize + tables.variables() + 2 < usize::from(u16::MAX);
    let sum = |(v, sum): (usize, &i64)| sum + largest(v) - i64::from(layout.floors[v]);
    steps && largest_sums(tables).iter().enumerate().map(sum).all(|sum| sum < i64::from(u16::MAX))
}

fn source(kernels: &[&str]) -> Source {
    let source = asserted::<TabuSearch>(kernels::source("tabu.cu").declare(&super::walk::declared()));
    kernels.iter().fold(source, |source, kernel| source.kernel(*kernel))
}

/// Returns the driver's kernel sources.
pub fn sources() -> Vec<Source> {
    vec![source(&KERNELS)]
}

/// Lists of functions' rows in the format of `layout.cuh`. Incidents are sorted by function, and the first one of each
/// counts the function's cost. Rows that change with a variable name their incident if the function has more than two
/// variables.
struct Lists {
    affected: Vec<u32>,
    incidents: Vec<u32>,
    pairs: Vec<u32>,
}

impl Lists {
    fn new(tables: &ValueTables, layout: &MoveLayout) -> Lists {
        let by_function = tables.incidences_by_function(&Stop::new()).expect("the flag is not set");
        let mut lists = Lists { affected: Vec::new(), incidents: Vec::new(), pairs: Vec::new() };
        let mut firsts = vec![0; tables.problem.functions.len()];
        for (k, &(function, variable, incidence)) in by_function.iter().enumerate() {
            let is_first = k == 0 || by_function[k - 1].0 != function;
            if is_first {
                firsts[function as usize] = k;
            }
            lists.incidents.extend([incidence.base, lists.pairs.len() as u32 / 2, variable, u32::from(is_first)]);
            lists.pairs.extend(tables.others(&incidence).flat_map(|(variable, stride)| [variable, stride]));
        }
        // a sentinel marks the end of the pairs
        lists.incidents.extend([0, lists.pairs.len() as u32 / 2, 0, 0]);
        let mut affected = layout.affected.iter();
        for v in 0..tables.variables() {
            for &function in tables.functions_on(v) {
                let places = tables.problem.functions[function as usize].scope.len();
                let own = firsts[function as usize]..firsts[function as usize] + places;
                for row in affected.by_ref().take(places - 1) {
                    let is_own = |&k: &usize| by_function[k].1 == row.variable;
                    let incident = own.clone().find(is_own).filter(|_| places > 2).map_or(u32::MAX, |k| k as u32);
                    lists.affected.extend([row.base, row.stride, row.variable, incident]);
                }
            }
        }
        lists
    }
}

/// Uploads the tables' entries and the layout of moves.
pub(crate) fn upload_layout(
    up: &mut Uploads,
    tables: &ValueTables,
    layout: &MoveLayout,
) -> Result<LayoutArgument, DeviceError> {
    let widest = tables.width.iter().max().map_or(1, |width| width / 4);
    let group = group(widest);
    let starts: Vec<u32> = layout.starts.iter().map(|start| start / 4).collect();
    let floors: Vec<u32> = layout.floors.iter().map(|&floor| floor as u32).collect();
    let Lists { affected, incidents, pairs } = Lists::new(tables, layout);
    Ok(LayoutArgument {
        variables: tables.variables() as u32,
        quads: layout.moves() as u32 / 4,
        incidents_count: incidents.len() as u32 / 4 - 1,
        group,
        laps: widest.div_ceil(group),
        unused: 0,
        entries: up.items(&tables.rows().words())?,
        starts: up.items(&starts)?,
        domains: up.items(&tables.problem.domains)?,
        floors: up.items(&floors)?,
        ranges: up.items(&layout.ranges)?,
        affected: up.items(&affected)?,
        incidents: up.items(&incidents)?,
        pairs: up.items(&pairs)?,
    })
}

impl DeviceSearch for TabuSearch {
    type Argument = LayoutArgument;

    fn source(info: &Info, context: &SearchContext) -> Source {
        source(&[Cut::new(info, context).kernel])
    }

    fn program(cuda: &Device, context: &SearchContext, _: &MoveLayout) -> Result<Program, DeviceError> {
        let Cut { kernel, words, shared } = Cut::new(&cuda.info, context);
        let kernel = cuda.load(&source(&[kernel]))?.kernel(kernel, shared)?;
        let threads = (context.tables.moves() as u32 / RATED).next_power_of_two().clamp(32, 512);
        let resident = kernel.blocks_per_multiprocessor(threads, shared)?;
        Ok(Program { kernel, words: words + REMEMBERED, together: 1, threads, shared, resident })
    }

    fn upload(up: &mut Uploads, context: &SearchContext, layout: &MoveLayout) -> Result<LayoutArgument, DeviceError> {
        upload_layout(up, &context.tables, layout)
    }
}
