//! A problem's tables in device memory, as `kernels/core.cuh` reads them.

mod forests;

use self::forests::Forests;
use crate::context::SearchContext;
use crate::device::shared::device_structs;
use crate::device::{Cuda, DeviceError, DeviceRepr, Held, ValidAsZeroBits};
use crate::forest::Forest;
use crate::model::{Cost, Table};
use crate::row_shape::RowShape;
use crate::stop::Stop;
use crate::threads;
use crate::value_tables::{Incidence, RowEntry, Rows, ValueTables, on_rows};
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::sync::Arc;

/// Largest length of a row in units of four entries: domains of 512 values.
const MOST_QUADS: u32 = 128;

/// Returns why a problem must stay on the CPU; `None` if it need not.
pub fn unfit(context: &SearchContext) -> Option<String> {
    let tables = &context.tables;
    let quads = tables.width.iter().max().map_or(0, |width| width.div_ceil(4));
    if quads > MOST_QUADS {
        return Some(format!("domains of more than {} values", 4 * MOST_QUADS));
    }
    if (0..tables.variables()).any(|v| tables.degree(v) > usize::from(u16::MAX)) {
        return Some("variables of more than 65535 functions".into());
    }
    if !tables.all_copied() {
        return Some("functions whose tables are too large to lay out".into());
    }
    None
}

device_structs! {
    /// The struct `Core` of `kernels/core.cuh`.
    #[allow(missing_docs, reason = "the kernels describe the fields")]
    #[derive(Clone, Copy, Debug, Default)]
    pub struct CoreArgument as "Core" {
        pub variables: i32,
        pub functions: i32,
        pub forests: i32,
        pub shapes: i32,
        pub strides_count: i32,
        pub classes: i32,
        pub quads: i32,
        pub pad: i32,
        pub price: i64,
        pub rows: u64,
        pub unary_rows: u64,
        pub info: u64,
        pub incidences: u64,
        pub wide: u64,
        pub more: u64,
        pub further: u64,
        pub entries: u64,
        pub pairs: u64,
        pub costs: u64,
        pub unary: u64,
        pub strides: u64,
        pub regions: u64,
        pub class_begin: u64,
        pub class_members: u64,
        pub class_info: u64,
        pub neighbour_begin: u64,
        pub neighbours: u64,
        pub forest_levels: u64,
        pub levels: u64,
        pub nodes: u64,
        pub children: u64,
        pub forest_ratings: u64,
        pub members: u64,
        pub row_places: u64,
        pub class_row_places: u64,
        pub effects: u64,
        pub links: u64,
    }
}

/// A problem's tables in device memory. Dropping it frees them.
pub struct DeviceCore {
    /// The argument of kernels.
    pub argument: CoreArgument,
    /// The layout of the rows.
    pub shape: RowShape,
    /// Number of entries of all variables' unary rows, including their padding.
    pub unary_entries: usize,
    /// Number of nodes of the largest forest.
    pub nodes: u32,
    /// Sum of the domain sizes.
    pub domains: u64,
    _held: Held,
}

/// Uploads arrays and keeps them allocated.
pub struct Uploads<'a> {
    /// The device.
    pub cuda: &'a Cuda,
    /// The allocated memory.
    pub held: Held,
}

impl Uploads<'_> {
    /// Uploads items and returns their address.
    ///
    /// # Errors
    /// [`DeviceError`] if the device fails.
    pub fn items<T: DeviceRepr + Send + Sync + 'static>(&mut self, items: &[T]) -> Result<u64, DeviceError> {
        self.held.upload(self.cuda, items)
    }

    /// Uploads `zeros` zero items followed by `items`, and returns their address.
    pub fn behind_zeros<T: DeviceRepr + ValidAsZeroBits + Send + Sync + 'static>(
        &mut self,
        zeros: usize,
        items: &[T],
    ) -> Result<u64, DeviceError> {
        let mut slice = self.cuda.zeros::<T>(zeros + items.len())?;
        self.cuda.write(items, &mut slice.slice_mut(zeros..))?;
        Ok(self.held.keep(self.cuda, slice))
    }
}

/// The layout of rows in units of 16 bytes, or of 8 if entries are bytes, after units of zeros.
#[derive(Clone, Copy)]
struct Units {
    entries: u32,
    zeros: u32,
    bytes: bool,
    /// The index of the first entry of the functions' rows, after the unary ones.
    begin: u32,
}

impl Units {
    fn new(tables: &ValueTables, shape: RowShape) -> Units {
        let begin = (0..tables.variables()).map(|v| tables.unary_at(v) + tables.width[v]).max().unwrap_or(0);
        let entries = if shape.half { 8 } else { 4 };
        let zeros = tables.width.iter().max().map_or(1, |width| width / entries);
        Units { entries, zeros, bytes: shape.bytes, begin }
    }

    /// Returns the functions' rows as 32-bit words to upload; empty if they are uploaded as bytes.
    fn words(self, rows: &Rows) -> Cow<'_, [i32]> {
        if self.bytes {
            return (&[][..]).into();
        }
        let begin = self.begin as usize;
        if let (4, Rows::Words(entries)) = (self.entries, rows) {
            return entries[begin..].into();
        }
        let of_word = if self.entries == 4 { 1 } else { 2 };
        on_rows!(rows, entries => {
            let entries = &entries[begin..];
            let mut words = vec![0; entries.len() / of_word];
            let parts = words.chunks_mut(PART).zip(entries.chunks(PART * of_word));
            let _ = threads::map(parts, |(words, entries)| {
                for (word, entries) in words.iter_mut().zip(entries.chunks_exact(of_word)) {
                    *word = entries.iter().rev().fold(0, |word, entry| word << 16 | entry.cost());
                }
            });
            words.into()
        })
    }

    fn upload(self, up: &mut Uploads<'_>, rows: &Rows, words: &[i32]) -> Result<u64, DeviceError> {
        match rows {
            Rows::Bytes(_, entries) if self.bytes => {
                up.behind_zeros(8 * self.zeros as usize, &entries[self.begin as usize..])
            }
            _ => up.behind_zeros(4 * self.zeros as usize, words),
        }
    }

    fn at(self, entry: u32) -> u32 {
        self.zeros + (entry - self.begin) / self.entries
    }
}

impl DeviceCore {
    /// Uploads a problem with its forests and regions.
    ///
    /// # Errors
    /// [`DeviceError`] if the device fails.
    pub fn new(cuda: &Cuda, context: &SearchContext) -> Result<DeviceCore, DeviceError> {
        let no_stop = Stop::new();
        let forests = context.forests(&no_stop).expect("no stop is set");
        let regions = context.regions(&no_stop).expect("no stop is set");
        let shape = RowShape { bytes: false, links: false, ..context.row_shape() };
        CoreArrays::new(context, forests, shape).upload(cuda, regions, &context.order.classes)
    }
}

/// A problem's tables in host memory, in the form in which they are uploaded.
pub struct CoreArrays<'a> {
    context: &'a SearchContext,
    shape: RowShape,
    units: Units,
    words: Cow<'a, [i32]>,
    incidences: Incidences,
    functions: Functions,
    forests: Forests,
    effects: [Vec<u32>; 3],
}

impl<'a> CoreArrays<'a> {
    /// Lays out the tables for sweeps of single variables: without forests and regions, and with rows of bytes and
    /// links if `shape` has them.
    pub fn without_moves(context: &'a SearchContext, shape: RowShape) -> Self {
        CoreArrays::new(context, &[], shape)
    }

    fn new(context: &'a SearchContext, forests: &[Forest], shape: RowShape) -> Self {
        let tables = &context.tables;
        let units = Units::new(tables, shape);
        // in parallel: one after the other they took a sixth of scen06's time to its best value
        let ((words, incidences), (functions, (forests, effects))) = rayon::join(
            || rayon::join(|| units.words(tables.rows()), || incidences(tables, units, shape)),
            || {
                let kept = || if shape.keeps && !shape.links { effects(context, units) } else { Default::default() };
                let costs = || if shape.links { Functions::default() } else { functions(tables) };
                rayon::join(costs, || (Forests::new(tables, forests, units), kept()))
            },
        );
        CoreArrays { context, shape, units, words, incidences, functions, forests, effects }
    }

    /// Uploads the tables, with the members of each color class in the order of visits.
    ///
    /// # Errors
    /// [`DeviceError`] if the device fails.
    pub fn upload(&self, cuda: &Cuda, regions: &[u32], classes: &[Vec<u32>]) -> Result<DeviceCore, DeviceError> {
        let CoreArrays { context, shape, units, .. } = *self;
        let tables = &context.tables;
        let n = tables.variables();
        let unary = tables.rows().unary(0, units.begin as usize);
        let ends = classes.iter().scan(0, |end, class| {
            *end += class.len() as u32;
            Some(*end)
        });
        let class_begin: Vec<u32> = std::iter::once(0).chain(ends).collect();
        let class_members = classes.concat();
        let Incidences { info, incidences, ends, more, further, links } = &self.incidences;
        let infos = info.as_chunks::<4>().0;
        let class_info: Vec<u32> = class_members.iter().flat_map(|&v| infos[v as usize]).collect();
        let Functions { entries, pairs, costs, unary: unary_at } = &self.functions;
        let (neighbour_begin, neighbours) = if shape.links { Default::default() } else { context.graph.arrays() };
        let Forests { lists: [forest_levels, levels, nodes, children], ratings, members, nodes_of_largest } =
            &self.forests;
        let [row_places, class_row_places, effects] = &self.effects;
        let mut up = Uploads { cuda, held: Held::default() };
        let argument = CoreArgument {
            variables: n as i32,
            functions: tables.problem.functions.len() as i32,
            forests: ratings.len() as i32,
            shapes: (regions.len() / n.max(1)) as i32,
            strides_count: context.order.strides.len() as i32,
            classes: classes.len() as i32,
            quads: shape.quads as i32,
            pad: n.next_multiple_of(16) as i32,
            price: tables.price(),
            rows: units.upload(&mut up, tables.rows(), &self.words)?,
            unary_rows: up.items(unary)?,
            info: up.items(info)?,
            incidences: up.items(incidences)?,
            wide: up.items(ends)?,
            more: up.items(more)?,
            further: up.items(further)?,
            entries: up.items(entries)?,
            pairs: up.items(pairs)?,
            costs: up.items(costs)?,
            unary: up.items(unary_at)?,
            strides: up.items(&context.order.strides)?,
            regions: up.items(regions)?,
            class_begin: up.items(&class_begin)?,
            class_members: up.items(&class_members)?,
            class_info: up.items(&class_info)?,
            neighbour_begin: up.items(neighbour_begin)?,
            neighbours: up.items(neighbours)?,
            forest_levels: up.items(forest_levels)?,
            levels: up.items(levels)?,
            nodes: up.items(nodes)?,
            children: up.items(children)?,
            forest_ratings: up.items(ratings)?,
            members: up.items(members)?,
            row_places: up.items(row_places)?,
            class_row_places: up.items(class_row_places)?,
            effects: up.items(effects)?,
            links: up.items(links)?,
        };
        Ok(DeviceCore {
            argument,
            shape,
            unary_entries: unary.len(),
            nodes: *nodes_of_largest,
            domains: tables.problem.domains.iter().map(|&domain| u64::from(domain)).sum(),
            _held: up.held,
        })
    }
}

/// Returns the variables and their incidences with the overflow of these, or their links.
fn incidences(tables: &ValueTables, units: Units, shape: RowShape) -> Incidences {
    let variables: Vec<usize> = (0..tables.variables()).collect();
    let parts = threads::map(variables.chunks(PART), |variables| match shape.links {
        true => Incidences::links(tables, units, variables),
        false => Incidences::of(tables, units, shape.wide, variables),
    });
    let mut all = Incidences::default();
    parts.into_iter().for_each(|part| all.append(part));
    // padding, which is loaded ahead of a variable without functions
    all.incidences.extend([0; 4]);
    all.links.extend([0; 2]);
    all
}

/// Number of variables whose incidences a thread lays out at a time.
const PART: usize = 1 << 14;

/// The incidences of some variables, as `kernels/core.cuh` reads them.
#[derive(Default)]
struct Incidences {
    info: Vec<u32>,
    incidences: Vec<u32>,
    ends: Vec<u32>,
    more: Vec<u32>,
    further: Vec<u32>,
    links: Vec<u32>,
}

impl Incidences {
    /// Returns all incidences as links.
    fn links(tables: &ValueTables, units: Units, variables: &[usize]) -> Self {
        let mut part = Incidences::default();
        for &v in variables {
            let all = tables.incidences(v);
            let (first, count) = (part.links.len() as u32 / 2, all.len() as u32);
            let shape = tables.domain(v) as u32 | (tables.width[v] / 4) << 16;
            part.info.extend([first, count | count << 16, tables.unary_at(v) / 4, shape]);
            part.links.extend(all.iter().flat_map(|incidence| [units.at(incidence.base), incidence.first]));
        }
        part
    }

    fn of(tables: &ValueTables, units: Units, wide: bool, variables: &[usize]) -> Self {
        let mut part = Incidences::default();
        for &v in variables {
            let all = binaries_first(tables, v);
            let binaries = all.iter().filter(|incidence| ValueTables::binary(incidence).is_some()).count();
            let has_more = all.iter().any(|incidence| !tables.further(incidence).is_empty());
            let first = part.more.len() as u32 / 2;
            let shape = tables.domain(v) as u32 | (tables.width[v] / 4) << 16 | u32::from(has_more) << 31;
            part.info.extend([first, (all.len() | binaries << 16) as u32, tables.unary_at(v) / 4, shape]);
            for incidence in all {
                // the stride is 0 without a second variable, whose index would otherwise be a valid one
                let second = if incidence.second_stride == 0 { 0 } else { incidence.second };
                let packed = if wide { incidence.first } else { incidence.first | second << 16 };
                let strides = [incidence.first_stride, incidence.second_stride].map(|stride| stride / units.entries);
                part.incidences.extend([units.at(incidence.base), packed, strides[0], strides[1]]);
                if wide {
                    part.ends.extend([incidence.first, incidence.second]);
                }
                let rest = tables.further(incidence);
                part.more.extend([part.further.len() as u32 / 2, rest.len() as u32]);
                part.further.extend(rest.iter().flat_map(|&(variable, stride)| [variable, stride / units.entries]));
            }
        }
        part
    }

    /// Appends the incidences of the next variables.
    fn append(&mut self, mut next: Self) {
        let (first, further) = (((self.more.len() + self.links.len()) / 2) as u32, self.further.len() as u32 / 2);
        next.info.chunks_exact_mut(4).for_each(|info| info[0] += first);
        next.more.chunks_exact_mut(2).for_each(|more| more[0] += further);
        self.info.append(&mut next.info);
        self.incidences.append(&mut next.incidences);
        self.ends.append(&mut next.ends);
        self.more.append(&mut next.more);
        self.further.append(&mut next.further);
        self.links.append(&mut next.links);
    }
}

/// Returns a variable's incidences in the order of their layout.
fn binaries_first(tables: &ValueTables, v: usize) -> Vec<&Incidence> {
    let mut all: Vec<&Incidence> = tables.incidences(v).iter().collect();
    all.sort_by_key(|incidence| ValueTables::binary(incidence).is_none());
    all
}

/// Returns the position of each variable's row, those of the members of classes, and the effects: which entries of
/// other variables' rows change with a variable's value (`kernels/rating_cache.cuh`).
fn effects(context: &SearchContext, units: Units) -> [Vec<u32>; 3] {
    let tables = &context.tables;
    let mut of: Vec<Vec<[u32; 4]>> = vec![Vec::new(); tables.variables()];
    let place = |v: usize| [tables.unary_at(v), tables.width[v]].map(|entries| entries / units.entries);
    let mut number = 0;
    for u in 0..tables.variables() {
        let [first, length] = place(u);
        for incidence in binaries_first(tables, u) {
            let is_binary = ValueTables::binary(incidence).is_some();
            let more = !tables.further(incidence).is_empty();
            let shape = length | u32::from(more) << 30 | u32::from(!is_binary) << 31;
            let row = if is_binary { units.at(incidence.base) } else { number };
            for (v, stride) in tables.others(incidence) {
                of[v as usize].push([first, shape, row, stride / units.entries]);
            }
            number += 1;
        }
    }
    let mut begin = 0;
    let row_places: Vec<[u32; 4]> = (0..)
        .zip(&of)
        .map(|(v, effects)| {
            let ([row, length], count) = (place(v as usize), effects.len() as u32);
            begin += count;
            [v | tables.problem.domains[v as usize] << 16, row | length << 16, begin - count, count]
        })
        .collect();
    let members = context.order.classes.iter().flatten().flat_map(|&v| row_places[v as usize]).collect();
    [row_places.concat(), members, of.concat().concat()]
}

/// The functions, their variables, their exact costs with equal tables stored once, and the start of each unary table.
#[derive(Default)]
struct Functions {
    entries: Vec<u32>,
    pairs: Vec<u32>,
    costs: Vec<Cost>,
    unary: Vec<u64>,
}

fn functions(tables: &ValueTables) -> Functions {
    let problem = &tables.problem;
    let (mut entries, mut pairs) = (vec![], vec![]);
    // equal tables are stored once
    let mut known: FxHashMap<usize, u64> = FxHashMap::default();
    let (mut tables, mut length) = (Vec::with_capacity(problem.functions.len()), 0);
    for function in &problem.functions {
        let Table::Dense(table) = &function.table else { continue };
        let base = *known.entry(table.address()).or_insert_with(|| {
            tables.push(table);
            length += table.len() as u64;
            length - table.len() as u64
        });
        entries.extend([base as u32, (base >> 32) as u32, pairs.len() as u32 / 2, function.scope.len() as u32]);
        let mut stride = 1;
        for &v in function.scope.iter().rev() {
            pairs.extend([v, stride]);
            stride *= problem.domains[v as usize];
        }
    }
    let mut costs = vec![0; length as usize];
    let mut rest = &mut costs[..];
    let places = tables.iter().map(|table| rest.split_off_mut(..table.len()).unwrap_or_default());
    let mut places: Vec<&mut [Cost]> = places.collect();
    let _ = threads::map(places.chunks_mut(PART).zip(tables.chunks(PART)), |(places, tables)| {
        for (place, table) in places.iter_mut().zip(tables) {
            place.iter_mut().zip(table.iter()).for_each(|(to, cost)| *to = cost);
        }
    });
    let mut unary = Vec::with_capacity(problem.variables());
    for own in &problem.unary {
        unary.push(costs.len() as u64);
        costs.extend_from_slice(own);
    }
    Functions { entries, pairs, costs, unary }
}

/// A reference to a device, which keeps it open while its memory is used.
pub type Device = Arc<Cuda>;
