//! What costs move between, and in which order variables are visited: decided once for whoever does it, CPU threads or
//! a device.
//!
//! A pass is a sequence of visits. A visit reads what has been taken from the variable's functions and changes what is
//! taken for the variable alone, so it has to wait for the visits of those that share a function with it and come
//! before it, and for no others: by that alone variables are sorted into waves. Two variables of a wave share no
//! function. The waves of a pass there, backwards, are right for the pass back.

use super::amounts::Amounts;
use crate::bounds::tuning::WRITTEN_OUT;
use crate::error::Error;
use crate::model::{self, Cost, CostFunction, Entry, Problem, Table, on_entries};
use crate::stop::Stop;
use crate::tensor::tiles::NEVER;
use crate::threads::Large;
use rustc_hash::FxHashMap;
use std::ops::Range;
use std::sync::Arc;

/// The functions of a problem, and the order of visits. All lists are flat: of large problems, small lists would be the
/// most of what shifting takes.
#[derive(Debug)]
pub(crate) struct Layout {
    /// Entries are the problem's, and made larger each time that they are read: copies of all tables would be the most
    /// of what shifting takes, and read no faster (results/scale).
    problem: Arc<Problem>,
    scale: Scale,
    /// Those of sparse functions that are written out.
    written: FxHashMap<u32, model::Costs>,
    /// For each function the number of its first place, and of all.
    first: Vec<u32>,
    places: Large<Place>,
    /// For each variable where its lists begin, and where all end.
    begin: Vec<Begin>,
    uses: Large<Use>,
    /// Those of a pass there.
    pub waves: Vec<Wave>,
}

/// Multiplies costs by a power of two; none is allowed from a limit on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    pub bits: u32,
    pub limit: Cost,
}

impl Scale {
    #[inline(always)]
    pub fn of(self, cost: Cost) -> Cost {
        if cost >= self.limit { NEVER } else { cost << self.bits }
    }
}

/// A place in the scope of a function that is written out: where among all rows its own begins, which is what was taken
/// from the function for each of so many values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub row: u32,
    pub size: u32,
}

impl Place {
    pub fn cells(self) -> Range<usize> {
        self.row as usize..self.row as usize + self.size as usize
    }
}

/// Where something of a variable begins: its uses, the costs of its values, and rows of what was taken.
#[derive(Clone, Copy, Debug, Default)]
struct Begin {
    uses: u32,
    unary: u32,
    rows: u32,
}

/// That a variable stands in the scope of a function that is written out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Use {
    pub function: u32,
    /// The place, then two bits: whether others of the scope come later in a pass there, and in one back.
    packed: u32,
}

/// Uses that are made between two looks at the stop flag: some milliseconds.
const PART: usize = 1 << 20;
/// Places that fit into a [`Use`].
const LONGEST: usize = 1 << 30;

impl Use {
    fn new(function: u32, place: u32, onward: [bool; 2]) -> Use {
        Use { function, packed: place << 2 | u32::from(onward[1]) << 1 | u32::from(onward[0]) }
    }

    pub fn place(self) -> usize {
        (self.packed >> 2) as usize
    }

    /// Whether others of the scope come later in a pass.
    pub fn onward(self, forward: bool) -> bool {
        self.packed >> u32::from(!forward) & 1 == 1
    }

    /// The same of a pass there and of one back, a bit each.
    pub fn onward_bits(self) -> u32 {
        self.packed & 3
    }
}

/// Visits that do not depend on each other.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wave {
    pub variables: Vec<u32>,
    /// Entries that are looked at, and visits.
    pub work: u64,
}

/// What moves: costs of values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Costs {
    /// Of one variable after the other.
    pub unary: Amounts,
    /// What was taken from functions, one row for each use of each variable. Negative where more was given.
    pub taken: Amounts,
}

/// Memory of [`Layout::least`], which may hold anything.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    sums: Vec<Cost>,
    rows: Vec<Cost>,
}

impl Layout {
    /// The functions of a problem, their costs made larger by `scale`, passes along `order`. Returns what is constant
    /// from the beginning besides: what functions cost at least that are not written out.
    pub fn new(problem: &Arc<Problem>, order: &[u32], scale: Scale, stop: &Stop) -> Result<(Layout, Cost), Error> {
        let mut constant: Cost = 0;
        // uses of each variable, then where its next use goes
        let mut next = vec![0u32; problem.variables()];
        let (mut sparse, mut longest) = (0, 0);
        for function in stop.each(&problem.functions) {
            let function = function?;
            if !is_written_out(function, problem) {
                constant = constant.saturating_add(scale.of(function.min(&problem.domains)));
                continue;
            }
            function.scope.iter().for_each(|&v| next[v as usize] += 1);
            longest = longest.max(function.scope.len());
            sparse += usize::from(matches!(function.table, Table::Sparse(_)));
        }
        let mut begin = Vec::with_capacity(problem.variables() + 1);
        let (mut uses, mut unary, mut rows) = (0, 0, 0);
        let at = |uses: u64, unary: u64, rows: u64| {
            let number = |sum: u64| u32::try_from(sum).map_err(|_| too_large());
            Ok::<_, Error>(Begin { uses: number(uses)?, unary: number(unary)?, rows: number(rows)? })
        };
        for item in stop.each(next.iter_mut().zip(&problem.domains)) {
            let (next, &size) = item?;
            let own = at(uses, unary, rows)?;
            begin.push(own);
            let own = u64::from(std::mem::replace(next, own.uses));
            (uses, unary, rows) = (uses + own, unary + u64::from(size), rows + own * u64::from(size));
        }
        begin.push(at(uses, unary, rows)?);
        if longest > LONGEST {
            return Err(too_large());
        }
        let mut layout = Layout {
            problem: problem.clone(),
            scale,
            written: FxHashMap::with_capacity_and_hasher(sparse, Default::default()),
            first: Vec::with_capacity(problem.functions.len() + 1),
            places: Vec::with_capacity(uses as usize).into(),
            begin,
            uses: Vec::with_capacity(uses as usize).into(),
            waves: Vec::new(),
        };
        layout.fill(order, next, stop)?;
        layout.waves = layout.waves(order, stop)?;
        Ok((layout, constant))
    }

    /// Places and uses of all functions; `next` is where each variable's uses begin.
    fn fill(&mut self, order: &[u32], mut next: Vec<u32>, stop: &Stop) -> Result<(), Error> {
        let uses = self.begin[self.variables()].uses as usize;
        while self.uses.len() < uses {
            stop.check()?;
            let length = uses.min(self.uses.len() + PART);
            self.uses.resize(length, Use::new(0, 0, [false; 2]));
        }
        let problem = self.problem.clone();
        let mut at = vec![0u32; problem.variables()];
        for (place, &v) in (0..).zip(order) {
            at[v as usize] = place;
        }
        for item in stop.each((0..).zip(&problem.functions)) {
            let (index, function) = item?;
            self.first.push(self.places.len() as u32);
            if !is_written_out(function, &problem) {
                continue;
            }
            if let Table::Sparse(_) = function.table {
                let _ = self.written.insert(index, function.entries(&problem.domains).collect());
            }
            let places = || function.scope.iter().map(|&v| at[v as usize]);
            let (first, last) = (places().min().unwrap_or(0), places().max().unwrap_or(0));
            for (place, (&v, own)) in (0..).zip(function.scope.iter().zip(places())) {
                let (begin, next, size) = (self.begin[v as usize], &mut next[v as usize], problem.domains[v as usize]);
                self.places.push(Place { row: begin.rows + (*next - begin.uses) * size, size });
                self.uses[*next as usize] = Use::new(index, place, [last != own, first != own]);
                *next += 1;
            }
        }
        self.first.push(self.places.len() as u32);
        Ok(())
    }

    /// Bytes that shifting a problem takes, at most: that many where amounts outgrow 32 bits. And those of all entries
    /// of the shifted problem.
    pub fn bytes(problem: &Problem, stop: &Stop) -> Result<(u64, u64), Error> {
        const CELL: u64 = size_of::<Cost>() as u64;
        const PLACE: u64 = (size_of::<Place>() + size_of::<Use>()) as u64;
        const NUMBER: u64 = size_of::<u32>() as u64;
        let (mut own, mut shifted) = (0u64, 0u64);
        for size in stop.each(&problem.domains) {
            own += size_of::<Begin>() as u64 + NUMBER + u64::from(*size?) * CELL;
        }
        for function in stop.each(&problem.functions) {
            let function = function?;
            own += NUMBER;
            if !is_written_out(function, problem) {
                continue;
            }
            let bytes = function.combinations(&problem.domains).saturating_mul(CELL);
            let written = if let Table::Sparse(_) = function.table { bytes } else { 0 };
            let taken: u64 = function.scope.iter().map(|&v| u64::from(problem.domains[v as usize])).sum();
            let rows = taken * CELL + function.scope.len() as u64 * PLACE;
            (own, shifted) = (own.saturating_add(written + rows), shifted.saturating_add(bytes));
        }
        Ok((own, shifted))
    }

    /// Nothing is taken yet. `short` where unary costs fit into 32 bits.
    pub fn costs(&self, short: bool, stop: &Stop) -> Result<Costs, Error> {
        let end = self.begin[self.variables()];
        let mut unary = Amounts::with_capacity(end.unary as usize, short);
        let mut scaled = Vec::new();
        for costs in stop.each(&self.problem.unary) {
            scaled.clear();
            scaled.extend(costs?.iter().map(|&cost| self.scale.of(cost)));
            unary.extend(&scaled, stop)?;
        }
        Ok(Costs { unary, taken: Amounts::zeros(end.rows as usize, short) })
    }

    pub fn variables(&self) -> usize {
        self.begin.len() - 1
    }

    pub fn functions(&self) -> usize {
        self.first.len() - 1
    }

    /// The uses of a variable.
    #[inline(always)]
    pub fn uses(&self, v: u32) -> &[Use] {
        &self.uses[self.begin[v as usize].uses as usize..self.begin[v as usize + 1].uses as usize]
    }

    /// Where the costs of a variable's values are.
    #[inline(always)]
    pub fn values(&self, v: u32) -> Range<usize> {
        self.begin[v as usize].unary as usize..self.begin[v as usize + 1].unary as usize
    }

    /// Where the rows of a variable's uses are.
    #[inline(always)]
    pub fn rows(&self, v: u32) -> Range<usize> {
        self.begin[v as usize].rows as usize..self.begin[v as usize + 1].rows as usize
    }

    /// The number of a place in a function's scope among those of all.
    #[inline(always)]
    pub fn number(&self, function: u32, place: u32) -> usize {
        (self.first[function as usize] + place) as usize
    }

    /// The places of a function's scope; none of one that is not written out.
    #[inline(always)]
    pub fn places(&self, function: u32) -> &[Place] {
        &self.places[self.number(function, 0)..self.number(function + 1, 0)]
    }

    /// The entries of a function as they are in the problem. `None` where it is too large to be written out.
    #[inline(always)]
    fn table(&self, function: u32) -> Option<&model::Costs> {
        match &self.problem.functions[function as usize].table {
            Table::Dense(costs) => Some(costs),
            Table::Sparse(_) => self.written.get(&function),
        }
    }

    /// How many entries of a function are written out.
    pub fn len(&self, function: u32) -> usize {
        match self.places(function) {
            [] => 0,
            places => places.iter().map(|place| place.size as usize).product(),
        }
    }

    /// Where a function's entries stand, if they are written out.
    pub fn address(&self, function: u32) -> Option<usize> {
        Some(self.table(function)?.address())
    }

    /// What has been taken from a function by a place of its scope; nothing from one that is not written out.
    pub fn taken(&self, costs: &Costs, function: u32, place: usize) -> Vec<Cost> {
        self.places(function).get(place).map_or_else(Vec::new, |place| costs.taken.part(place.cells()))
    }

    /// The entries of a function that are written out, made larger.
    pub fn entries(&self, function: u32) -> impl Iterator<Item = Cost> {
        self.table(function).into_iter().flatten().map(|entry| self.scale.of(entry))
    }

    /// The least entry of a function for each value of the variable at a place, less what was taken; [`NEVER`] or about
    /// that where none is allowed.
    #[inline(always)]
    pub fn least(&self, costs: &Costs, own: Use, least: &mut [Cost], scratch: &mut Scratch) {
        let Some(entries) = self.table(own.function) else { return };
        on_entries!(entries, entries => self.least_of(entries, costs, own, least, scratch));
    }

    /// The same, of entries of any kind.
    #[inline(always)]
    fn least_of<E: Entry>(&self, entries: &[E], costs: &Costs, own: Use, least: &mut [Cost], scratch: &mut Scratch) {
        let (places, at) = (self.places(own.function), own.place());
        let Scratch { sums, rows } = scratch;
        rows.clear();
        places.iter().for_each(|place| costs.taken.read(place.cells(), rows));
        let last = places.len() - 1;
        let size = |place: usize| places[place].size as usize;
        let scaled = |entry: E| self.scale.of(entry.cost());
        let taken = |place: usize| &rows[(0..place).map(size).sum()..][..size(place)];
        // rows of the last digit, blocks of the last two; what the others have taken, the visited variable left out
        let (row, block) = (size(last), size(last) * size(last - 1));
        sums.clear();
        sums.push(0);
        for place in 0..last - 1 {
            let (old, size, taken) = (sums.len(), size(place), taken(place));
            sums.resize(old * size, 0);
            for from in (0..old).rev() {
                let sum = sums[from];
                let to = &mut sums[from * size..][..size];
                if place == at {
                    to.fill(sum);
                } else {
                    to.iter_mut().zip(taken).for_each(|(to, taken)| *to = sum + taken);
                }
            }
        }
        let blocks = entries.chunks_exact(block).zip(&*sums);
        let (fast, slow) = (taken(last), taken(last - 1));
        let lower = |least: &mut Cost, cost: Cost| *least = if cost < *least { cost } else { *least };
        let lowest = |row: &[E]| {
            let entries = row.iter().zip(fast).map(|(&entry, &taken)| scaled(entry) - taken);
            entries.fold(NEVER, |least, entry| if entry < least { entry } else { least })
        };
        least.fill(NEVER);
        if at == last {
            for (block, &sum) in blocks {
                for (row, &slow) in block.chunks_exact(row).zip(slow) {
                    row.iter().zip(&mut *least).for_each(|(&entry, least)| lower(least, scaled(entry) - (sum + slow)));
                }
            }
        } else if at + 1 == last {
            for (block, &sum) in blocks {
                block.chunks_exact(row).zip(&mut *least).for_each(|(row, least)| lower(least, lowest(row) - sum));
            }
        } else {
            let run: usize = (at + 1..last - 1).map(size).product();
            let (mut value, mut of_value) = (0, 0);
            for (block, &sum) in blocks {
                for (row, &slow) in block.chunks_exact(row).zip(slow) {
                    lower(&mut least[value], lowest(row) - (sum + slow));
                }
                of_value += 1;
                if of_value == run {
                    (value, of_value) = (if value + 1 == least.len() { 0 } else { value + 1 }, 0);
                }
            }
        }
        least.iter_mut().zip(taken(at)).for_each(|(least, &taken)| *least -= taken);
    }

    /// The variables of a wave of a pass.
    pub fn wave(&self, forward: bool, number: usize) -> &Wave {
        &self.waves[if forward { number } else { self.waves.len() - 1 - number }]
    }

    /// Each variable as early as the functions allow that it shares with those before it.
    fn waves(&self, order: &[u32], stop: &Stop) -> Result<Vec<Wave>, Error> {
        // the first wave in which a function may be read
        let mut free = vec![0u32; self.functions()];
        let mut waves: Vec<Wave> = Vec::new();
        for v in stop.each(order) {
            let v = *v?;
            let own = || self.uses(v).iter().map(|own| own.function);
            let number = own().map(|function| free[function as usize]).max().unwrap_or(0);
            own().for_each(|function| free[function as usize] = number + 1);
            let number = number as usize;
            if waves.len() <= number {
                waves.resize_with(number + 1, Wave::default);
            }
            waves[number].work += 1 + own().map(|function| self.len(function)).sum::<usize>() as u64;
            waves[number].variables.push(v);
        }
        Ok(waves)
    }
}

fn is_written_out(function: &CostFunction, problem: &Problem) -> bool {
    match &function.table {
        Table::Dense(_) => true,
        Table::Sparse(_) => function.combinations(&problem.domains) <= WRITTEN_OUT,
    }
}

fn too_large() -> Error {
    Error::Memory("cost shifting has numbers of 32 bits for what it moves".into())
}
