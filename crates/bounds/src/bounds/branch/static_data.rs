//! The static data of a search: scaled tables, scopes, and the layout of its states.

use crate::bounds::cost_shifting::{LONG, SHORT};
use crate::bounds::tuning::{MOST_BITS, WRITTEN_OUT};
use crate::elimination::cap;
use crate::error::Error;
use crate::model::{Cost, Problem, Scope, SparseTable, Table};
use crate::stop::Stop;
use crate::tensor::strides;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// The scaled cost of a forbidden entry; sums of a few of them stay within 64 bits.
pub(crate) const NEVER: Cost = 1 << 56;

/// A problem as all nodes of a search see it.
#[derive(Debug)]
pub(crate) struct StaticData {
    pub problem: Arc<Problem>,
    /// Exponent of the power of two that costs are multiplied by.
    pub bits: u32,
    /// Cost above the constant that no solution of interest reaches, unscaled.
    pub range: Cost,
    pub functions: Vec<Function>,
    /// For each variable its functions and its position in their scopes.
    pub incidence: Vec<Vec<(u32, u32)>>,
    /// By variable, the index of its first value among all variables' values; with an end mark.
    pub first: Vec<u32>,
    /// Number of cells of a state: unary costs by value, then the costs taken from functions.
    pub cells: usize,
    /// By variable, the set of variables that it shares a function with, one bit each.
    pub neighbours: Vec<Box<[u64]>>,
    /// The variables in elimination order.
    pub sequence: Vec<u32>,
    /// By variable, its position in the elimination order.
    pub place: Vec<u32>,
}

/// A cost function of a search.
#[derive(Debug)]
pub(crate) struct Function {
    pub scope: Scope,
    pub strides: Box<[usize]>,
    pub entries: Entries,
    /// By scope position, the first cell of the costs taken.
    pub taken: Box<[usize]>,
    /// Number of the block of costs taken at the first scope position.
    pub block: u32,
    /// Mean cost, a forbidden entry counting as the range: a measure of how much the function decides.
    pub mean: f64,
}

/// The entries of a function: dense ones are scaled.
#[derive(Debug)]
pub(crate) enum Entries {
    Dense(Arc<[Cost]>),
    Sparse(Arc<SparseTable>),
}

impl StaticData {
    /// Creates the static data. Costs from `ub` on need not be distinguished. Returns `None` if costs are too large for
    /// sums of 64 bits, or `stop` is set.
    pub fn new(problem: &Arc<Problem>, ub: Cost, sequence: &[u32], stop: &Stop) -> Option<StaticData> {
        let range = cap(problem, ub.min(problem.top), stop).ok()?.max(1);
        if range >= LONG {
            return None;
        }
        let room = if range < SHORT { SHORT } else { LONG };
        let bits = (0..=MOST_BITS).take_while(|&bits| range < room >> bits).last().unwrap_or(0);
        let n = problem.variables();
        let mut first = vec![0];
        problem.domains.iter().for_each(|&domain| first.push(first[first.len() - 1] + domain));
        let neighbours = stop.each(0..n).map(|v| v.map(|_| vec![0; n.div_ceil(64)].into())).collect::<Result<_, _>>();
        let mut data = StaticData {
            problem: problem.clone(),
            bits,
            range,
            functions: Vec::with_capacity(problem.functions.len()),
            incidence: vec![Vec::new(); n],
            cells: first[n] as usize,
            first,
            neighbours: neighbours.ok()?,
            sequence: sequence.to_vec(),
            place: vec![0; n],
        };
        for (place, &v) in (0..).zip(sequence) {
            data.place[v as usize] = place;
        }
        data.take(problem, stop).ok()?;
        Some(data)
    }

    fn take(&mut self, problem: &Problem, stop: &Stop) -> Result<(), Error> {
        // equal tables are stored once, as in the problem
        let mut known: FxHashMap<usize, (Arc<[Cost]>, f64)> = FxHashMap::default();
        let mut block = problem.variables() as u32;
        for item in stop.each((0..).zip(&problem.functions)) {
            let (index, function) = item?;
            let mean = |costs: &mut dyn Iterator<Item = Cost>, count: u64| {
                costs.map(|cost| cost.min(self.range) as f64).sum::<f64>() / count.max(1) as f64
            };
            let combinations = function.combinations(&problem.domains);
            let (entries, mean) = match &function.table {
                Table::Dense(costs) => {
                    let (entries, mean) = known.entry(costs.address()).or_insert_with(|| {
                        let scaled = costs.iter().map(|cost| self.scaled(cost)).collect();
                        (scaled, mean(&mut costs.iter(), combinations))
                    });
                    (Entries::Dense(entries.clone()), *mean)
                }
                Table::Sparse(_) if combinations <= WRITTEN_OUT => {
                    let scaled = function.entries(&problem.domains).map(|cost| self.scaled(cost)).collect();
                    (Entries::Dense(scaled), mean(&mut function.entries(&problem.domains), combinations))
                }
                Table::Sparse(table) => {
                    let listed = mean(&mut table.costs().iter().copied(), combinations);
                    let rest = (combinations - table.len() as u64) as f64 / combinations as f64;
                    (Entries::Sparse(table.clone()), listed + rest * table.default_cost().min(self.range) as f64)
                }
            };
            let sizes: Vec<usize> = function.scope.iter().map(|&v| problem.domains[v as usize] as usize).collect();
            let strides = strides(&sizes).into();
            let place = |size: &usize| {
                self.cells += size;
                self.cells - size
            };
            let taken = sizes.iter().map(place).collect();
            for (place, &v) in (0..).zip(&function.scope) {
                self.incidence[v as usize].push((index, place));
                for &u in function.scope.iter().filter(|&&u| u != v) {
                    self.neighbours[v as usize][u as usize / 64] |= 1 << (u % 64);
                }
            }
            let scope = function.scope.clone();
            self.functions.push(Function { scope, strides, entries, taken, block, mean });
            block += function.scope.len() as u32;
        }
        Ok(())
    }

    /// Returns a cost (without the constant) scaled; [`NEVER`] if it is beyond the range.
    pub fn scaled(&self, cost: Cost) -> Cost {
        if cost >= self.range { NEVER } else { cost << self.bits }
    }

    /// Returns the scaled limit that no solution better than the total `ub` reaches: costs are integers.
    pub fn limit(&self, ub: Cost) -> Cost {
        let range = ub.saturating_sub(self.problem.constant).min(self.range);
        if range <= 0 { 0 } else { ((range - 1) << self.bits) + 1 }
    }

    /// Returns the least total that a scaled sum may stand for.
    pub fn total(&self, scaled: Cost) -> Cost {
        // rounded up: costs are integers
        (scaled.saturating_add((1 << self.bits) - 1) >> self.bits).saturating_add(self.problem.constant)
    }

    pub fn variables(&self) -> usize {
        self.problem.variables()
    }

    /// Returns the bytes of the neighbour sets of variables, one bit for each pair.
    pub fn pairs(problem: &Problem) -> u64 {
        (problem.variables() as u64).pow(2) / 8
    }

    /// Returns the bytes of a problem's static data, and those of a state.
    ///
    /// # Errors
    /// Returns [`Error::Stopped`] once `stop` is set.
    pub fn bytes(problem: &Problem, stop: &Stop) -> Result<(u64, u64), Error> {
        let mut tables = StaticData::pairs(problem);
        let mut cells = problem.domains.iter().map(|&domain| u64::from(domain)).sum::<u64>();
        let mut known = FxHashSet::default();
        for function in stop.each(&problem.functions) {
            let function = function?;
            let entries = function.combinations(&problem.domains);
            let is_written = match &function.table {
                Table::Dense(costs) => known.insert(costs.address()),
                Table::Sparse(_) => entries <= WRITTEN_OUT,
            };
            if is_written {
                tables = tables.saturating_add(entries.saturating_mul(size_of::<Cost>() as u64));
            }
            cells += function.scope.iter().map(|&v| u64::from(problem.domains[v as usize])).sum::<u64>();
        }
        Ok((tables, StaticData::bytes_of(cells)))
    }

    /// Returns the bytes of a state with `cells` cells.
    pub fn bytes_of(cells: u64) -> u64 {
        // the trail holds each cell a few times on the way to a leaf
        cells * size_of::<Cost>() as u64 * 4
    }
}

impl Function {
    /// Returns the entry for the values of the scope's variables, scaled.
    pub fn entry(&self, data: &StaticData, values: &[u32]) -> Cost {
        match &self.entries {
            Entries::Dense(costs) => {
                costs[values.iter().zip(&self.strides).map(|(&value, stride)| value as usize * stride).sum::<usize>()]
            }
            Entries::Sparse(table) => data.scaled(table.get(values)),
        }
    }
}
