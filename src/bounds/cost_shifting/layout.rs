//! What costs move between, and in which order variables are visited: decided once for whoever does it, CPU threads or
//! a device.
//!
//! A pass is a sequence of visits. A visit reads what has been taken from the variable's functions and changes what is
//! taken for the variable alone, so it has to wait for the visits of those that share a function with it and come
//! before it, and for no others: by that alone variables are sorted into waves. Two variables of a wave share no
//! function. The waves of a pass there, backwards, are right for the pass back.

use crate::bounds::tuning::WRITTEN_OUT;
use crate::error::Error;
use crate::model::{self, Cost, Entry, Problem, Table, on_entries};
use crate::stop::Stop;
use crate::tensor::tiles::NEVER;
use crate::threads::Large;
use smallvec::SmallVec;

/// The functions of a problem, and the order of visits.
#[derive(Debug)]
pub(crate) struct Layout {
    pub functions: Large<Function>,
    /// For each variable those that are written out.
    pub uses: Large<Vec<Use>>,
    /// Those of a pass there.
    pub waves: Vec<Wave>,
    /// Entries are the problem's, and made larger each time that they are read: copies of all tables would be the most
    /// of what shifting takes, and read no faster (results/scale).
    scale: Scale,
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

#[derive(Debug)]
pub(crate) struct Function {
    /// `None` where it is too large to be written out, and keeps its entries.
    entries: Option<model::Costs>,
    pub sizes: SmallVec<[u32; 4]>,
    /// By place in the scope: whose costs have what was taken, and from where on.
    pub rows: SmallVec<[(u32, u32); 2]>,
}

impl Function {
    /// How many entries are written out.
    pub fn len(&self) -> usize {
        self.entries.as_ref().map_or(0, model::Costs::len)
    }

    /// Where its entries stand, if they are written out.
    pub fn address(&self) -> Option<usize> {
        Some(self.entries.as_ref()?.address())
    }
}

/// That a variable stands in a function's scope.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Use {
    pub function: u32,
    pub place: u32,
    /// Whether others of the scope come later in a pass there; in one back.
    pub onward: [bool; 2],
}

/// Visits that do not depend on each other.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wave {
    pub variables: Vec<u32>,
    /// Entries that are looked at, and visits.
    pub work: u64,
}

/// What moves: costs of a variable's values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Costs {
    pub unary: Vec<Cost>,
    /// What was taken from its functions, one row for each of its uses. Negative where more was given.
    pub taken: Vec<Cost>,
}

impl Layout {
    /// The functions of a problem, their costs made larger by `scale`, passes along `order`. Returns what is constant
    /// from the beginning besides: what functions cost at least that are not written out.
    pub fn new(problem: &Problem, order: &[u32], scale: Scale, stop: &Stop) -> Result<(Layout, Cost), Error> {
        let mut at = vec![0u32; problem.variables()];
        for (place, &v) in order.iter().enumerate() {
            at[v as usize] = place as u32;
        }
        let mut constant: Cost = 0;
        let mut uses: Large<Vec<Use>> = vec![Vec::new(); problem.variables()].into();
        let mut functions = Large::from(Vec::with_capacity(problem.functions.len()));
        for item in stop.each(problem.functions.iter().enumerate()) {
            let (index, function) = item?;
            let entries = match &function.table {
                Table::Dense(costs) => Some(costs.clone()),
                Table::Sparse(_) if function.combinations(&problem.domains) <= WRITTEN_OUT => {
                    Some(function.entries(&problem.domains).collect())
                }
                Table::Sparse(_) => None,
            };
            let sizes: SmallVec<[u32; 4]> = function.scope.iter().map(|&v| problem.domains[v as usize]).collect();
            let mut rows = SmallVec::new();
            if entries.is_some() {
                let places = || function.scope.iter().map(|&v| at[v as usize]);
                let (first, last) = (places().min().unwrap_or(0), places().max().unwrap_or(0));
                for (place, (&v, own)) in function.scope.iter().zip(places()).enumerate() {
                    let uses = &mut uses[v as usize];
                    rows.push((v, uses.len() as u32 * sizes[place]));
                    let onward = [last != own, first != own];
                    uses.push(Use { function: index as u32, place: place as u32, onward });
                }
            } else {
                constant = constant.saturating_add(scale.of(function.min(&problem.domains)));
            }
            functions.push(Function { entries, sizes, rows });
        }
        let waves = waves(&functions, &uses, order, stop)?;
        Ok((Layout { functions, uses, waves, scale }, constant))
    }

    /// Bytes that shifting a problem takes, and those of all entries of the shifted problem.
    pub fn bytes(problem: &Problem, stop: &Stop) -> Result<(u64, u64), Error> {
        let (mut own, mut shifted) = (0u64, 0u64);
        for function in stop.each(&problem.functions) {
            let function = function?;
            let (places, entries) = (function.scope.len(), function.combinations(&problem.domains));
            let bytes = entries.saturating_mul(size_of::<Cost>() as u64);
            let written = match function.table {
                Table::Dense(_) => 0,
                Table::Sparse(_) if entries <= WRITTEN_OUT => bytes,
                Table::Sparse(_) => continue,
            };
            let taken: u64 = function.scope.iter().map(|&v| u64::from(problem.domains[v as usize])).sum();
            let rows = taken * size_of::<Cost>() as u64 + (size_of::<Function>() + places * size_of::<Use>()) as u64;
            (own, shifted) = (own.saturating_add(written + rows), shifted.saturating_add(bytes));
        }
        Ok((own, shifted))
    }

    /// Nothing is taken yet.
    pub fn costs(&self, unary: impl Iterator<Item = Vec<Cost>>, stop: &Stop) -> Result<Large<Costs>, Error> {
        let costs = |(unary, uses): (Vec<Cost>, &Vec<Use>)| Costs { taken: vec![0; uses.len() * unary.len()], unary };
        stop.each(unary.zip(&self.uses)).map(|item| item.map(costs)).collect()
    }

    /// What has been taken from a function by a place of its scope; nothing from one that is not written out.
    pub fn taken<'a>(&self, costs: &'a [Costs], function: u32, place: usize) -> &'a [Cost] {
        let function = &self.functions[function as usize];
        let row =
            |&(v, start): &(u32, u32)| &costs[v as usize].taken[start as usize..][..function.sizes[place] as usize];
        function.rows.get(place).map_or(&[], row)
    }

    /// The entries of a function that are written out, made larger.
    pub fn entries(&self, function: u32) -> impl Iterator<Item = Cost> {
        let entries = self.functions[function as usize].entries.iter().flatten();
        entries.map(|entry| self.scale.of(entry))
    }

    /// The least entry of a function for each value of the variable at a place, less what was taken; [`NEVER`] or about
    /// that where none is allowed. `sums` may hold anything.
    #[inline(always)]
    pub fn least(&self, costs: &[Costs], own: Use, least: &mut [Cost], sums: &mut Vec<Cost>) {
        let Some(entries) = &self.functions[own.function as usize].entries else { return };
        on_entries!(entries, entries => self.least_entries(entries, costs, own, least, sums));
    }

    /// The same, of entries of any kind.
    #[inline(always)]
    fn least_entries<T: Entry>(
        &self,
        entries: &[T],
        costs: &[Costs],
        own: Use,
        least: &mut [Cost],
        sums: &mut Vec<Cost>,
    ) {
        let (function, at) = (&self.functions[own.function as usize], own.place as usize);
        let last = function.sizes.len() - 1;
        let size = |place: usize| function.sizes[place] as usize;
        let scaled = |entry: T| self.scale.of(entry.cost());
        let taken = |place: usize| self.taken(costs, own.function, place);
        // rows of the last digit, blocks of the last two; what the others have taken, the visited variable left out
        let (row, block) = (size(last), size(last) * size(last - 1));
        sums.clear();
        sums.push(0);
        for place in 0..last - 1 {
            let (old, size) = (sums.len(), size(place));
            sums.resize(old * size, 0);
            for from in (0..old).rev() {
                let sum = sums[from];
                let to = &mut sums[from * size..][..size];
                if place == at {
                    to.fill(sum);
                } else {
                    to.iter_mut().zip(taken(place)).for_each(|(to, taken)| *to = sum + taken);
                }
            }
        }
        let blocks = entries.chunks_exact(block).zip(&*sums);
        let (fast, slow) = (taken(last), taken(last - 1));
        let lower = |least: &mut Cost, cost: Cost| *least = if cost < *least { cost } else { *least };
        let lowest = |row: &[T]| {
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
}

/// Each variable as early as the functions allow that it shares with those before it.
fn waves(functions: &[Function], uses: &[Vec<Use>], order: &[u32], stop: &Stop) -> Result<Vec<Wave>, Error> {
    // the first wave in which a function may be read
    let mut free = vec![0; functions.len()];
    let mut waves: Vec<Wave> = Vec::new();
    for v in stop.each(order) {
        let v = *v?;
        let own = || uses[v as usize].iter().map(|own| own.function as usize);
        let number = own().map(|function| free[function]).max().unwrap_or(0);
        own().for_each(|function| free[function] = number + 1);
        if waves.len() <= number {
            waves.resize_with(number + 1, Wave::default);
        }
        waves[number].work += 1 + own().map(|function| functions[function].len()).sum::<usize>() as u64;
        waves[number].variables.push(v);
    }
    Ok(waves)
}
