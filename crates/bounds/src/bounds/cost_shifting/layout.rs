//! The data layout of cost shifting and the order of visits, shared by CPU threads and devices.
//!
//! A pass is a sequence of visits of variables. A visit reads the costs taken from the variable's functions, and
//! changes only those taken for the variable itself. It must therefore follow the earlier visits of variables that
//! share a function with it, but no others. This sorts the variables into waves: two variables of a wave share no
//! function. The waves in reverse order suit the backward pass.

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

/// The functions of a problem, and the order of visits. All lists are flat, because small lists would take most of the
/// memory for large problems.
#[derive(Debug)]
pub(crate) struct Layout {
    /// The problem. Its entries are scaled each time that they are read: scaled copies of all tables would take most of
    /// the memory, and are read no faster (results/scale).
    problem: Arc<Problem>,
    scale: Scale,
    /// Dense tables of the sparse functions that are written out.
    written: FxHashMap<u32, model::Costs>,
    /// For each function the number of its first scope position; with an end mark.
    first: Vec<u32>,
    places: Large<Place>,
    /// For each variable the starts of its lists; with an end mark.
    begin: Vec<Begin>,
    uses: Large<Use>,
    /// Waves of a forward pass.
    pub waves: Vec<Wave>,
}

/// Multiplies costs by a power of two; costs from a limit on are forbidden.
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

/// A scope position of a function that is written out: the start of its row among all rows, and the number of its
/// values. The row has the cost taken from the function for each value.
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

/// The starts of a variable's lists: its uses, the costs of its values, and its rows of costs taken.
#[derive(Clone, Copy, Debug, Default)]
struct Begin {
    uses: u32,
    unary: u32,
    rows: u32,
}

/// An occurrence of a variable in the scope of a function that is written out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Use {
    pub function: u32,
    /// The scope position, followed by two bits: whether other variables of the scope come later in a forward pass, and
    /// in a backward pass.
    packed: u32,
}

/// Number of uses that are made between two checks of the stop flag: some milliseconds.
const PART: usize = 1 << 20;
/// Number of scope positions that fit into a [`Use`].
const LONGEST: usize = 1 << 30;

impl Use {
    fn new(function: u32, place: u32, onward: [bool; 2]) -> Use {
        Use { function, packed: place << 2 | u32::from(onward[1]) << 1 | u32::from(onward[0]) }
    }

    pub fn place(self) -> usize {
        (self.packed >> 2) as usize
    }

    /// Returns whether other variables of the scope come later in a pass.
    pub fn onward(self, forward: bool) -> bool {
        self.packed >> u32::from(!forward) & 1 == 1
    }

    /// Returns two bits: whether other variables of the scope come later in a forward pass, and in a backward pass.
    pub fn onward_bits(self) -> u32 {
        self.packed & 3
    }
}

/// Visits that do not depend on each other.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wave {
    pub variables: Vec<u32>,
    /// Number of entries read, plus the number of visits.
    pub work: u64,
}

/// The state of the shift: the costs of values, and those taken from functions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Costs {
    /// Costs of values, one variable after the other.
    pub unary: Amounts,
    /// Costs taken from functions, one row for each use of each variable; negative if more was given.
    pub taken: Amounts,
}

/// Scratch memory of [`Layout::least`], of any content.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    sums: Vec<Cost>,
    rows: Vec<Cost>,
}

impl Layout {
    /// Creates the layout of a problem with costs scaled by `scale` and passes along `order`. Also returns the initial
    /// constant: the least costs of the functions that are not written out.
    pub fn new(problem: &Arc<Problem>, order: &[u32], scale: Scale, stop: &Stop) -> Result<(Layout, Cost), Error> {
        let mut constant: Cost = 0;
        // first the number of uses of each variable, then the index of its next use
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

    /// Fills in the scope positions and uses of all functions; `next` has the first use of each variable.
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

    /// Returns the bytes that shifting a problem takes at most, which it does if amounts outgrow 32 bits, and the bytes
    /// of all entries of the shifted problem.
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

    /// Returns the initial costs, without anything taken. `short` states that unary costs fit into 32 bits.
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

    /// Returns the uses of a variable.
    #[inline(always)]
    pub fn uses(&self, v: u32) -> &[Use] {
        &self.uses[self.begin[v as usize].uses as usize..self.begin[v as usize + 1].uses as usize]
    }

    /// Returns the index range of the costs of a variable's values.
    #[inline(always)]
    pub fn values(&self, v: u32) -> Range<usize> {
        self.begin[v as usize].unary as usize..self.begin[v as usize + 1].unary as usize
    }

    /// Returns the index range of the rows of a variable's uses.
    #[inline(always)]
    pub fn rows(&self, v: u32) -> Range<usize> {
        self.begin[v as usize].rows as usize..self.begin[v as usize + 1].rows as usize
    }

    /// Returns the number of a scope position among those of all functions.
    #[inline(always)]
    pub fn number(&self, function: u32, place: u32) -> usize {
        (self.first[function as usize] + place) as usize
    }

    /// Returns the scope positions of a function; empty if it is not written out.
    #[inline(always)]
    pub fn places(&self, function: u32) -> &[Place] {
        &self.places[self.number(function, 0)..self.number(function + 1, 0)]
    }

    /// Returns the unscaled entries of a function; `None` if it is not written out.
    #[inline(always)]
    fn table(&self, function: u32) -> Option<&model::Costs> {
        match &self.problem.functions[function as usize].table {
            Table::Dense(costs) => Some(costs),
            Table::Sparse(_) => self.written.get(&function),
        }
    }

    /// Returns the number of written-out entries of a function.
    pub fn len(&self, function: u32) -> usize {
        match self.places(function) {
            [] => 0,
            places => places.iter().map(|place| place.size as usize).product(),
        }
    }

    /// Returns the address of a function's entries if they are written out.
    pub fn address(&self, function: u32) -> Option<usize> {
        Some(self.table(function)?.address())
    }

    /// Returns the costs taken from a function at a scope position; empty if it is not written out.
    pub fn taken(&self, costs: &Costs, function: u32, place: usize) -> Vec<Cost> {
        self.places(function).get(place).map_or_else(Vec::new, |place| costs.taken.part(place.cells()))
    }

    /// Returns the scaled entries of a function that is written out.
    pub fn entries(&self, function: u32) -> impl Iterator<Item = Cost> {
        self.table(function).into_iter().flatten().map(|entry| self.scale.of(entry))
    }

    /// Computes the least entry of a function, less the costs taken, for each value of a variable; about [`NEVER`] if
    /// all of them are forbidden.
    #[inline(always)]
    pub fn least(&self, costs: &Costs, own: Use, least: &mut [Cost], scratch: &mut Scratch) {
        let Some(entries) = self.table(own.function) else { return };
        on_entries!(entries, entries => self.least_of(entries, costs, own, least, scratch));
    }

    /// Computes [`Layout::least`] for entries of any type.
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
        // rows of the last position, blocks of the last two; `sums` has what the other positions have taken, without
        // the visited variable
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

    /// Returns the wave with this number in a pass.
    pub fn wave(&self, forward: bool, number: usize) -> &Wave {
        &self.waves[if forward { number } else { self.waves.len() - 1 - number }]
    }

    /// Sorts variables into waves, each as early as the functions allow that it shares with earlier ones.
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
