//! The static data of a search: scaled tables, scopes, and where a state keeps what changes.

use crate::bounds::cost_shifting::{LONG, SHORT};
use crate::bounds::tuning::{MOST_BITS, WRITTEN_OUT};
use crate::elimination::cap;
use crate::error::Error;
use crate::model::{Cost, Problem, Scope, SparseTable, Table};
use crate::stop::Stop;
use crate::tensor::strides;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// What is forbidden, among scaled costs; sums of a few stay within 64 bits.
pub(crate) const NEVER: Cost = 1 << 56;

/// A network as all nodes see it.
#[derive(Debug)]
pub(crate) struct StaticData {
    pub problem: Arc<Problem>,
    /// Costs are multiplied by 2^bits.
    pub bits: u32,
    /// Unscaled: above the constant, no solution of interest costs as much.
    pub range: Cost,
    pub functions: Vec<Function>,
    /// For each variable its functions and its place in their scopes.
    pub incidence: Vec<Vec<(u32, u32)>>,
    /// By variable where its values begin, among all variables' values; one more at the end.
    pub first: Vec<u32>,
    /// Cells of a state: unary costs by value, then what was taken from functions.
    pub cells: usize,
    /// By variable the variables it shares a function with, a bit each.
    pub neighbours: Vec<Box<[u64]>>,
    /// The variables by their place in the elimination order, and the places.
    pub sequence: Vec<u32>,
    pub place: Vec<u32>,
}

#[derive(Debug)]
pub(crate) struct Function {
    pub scope: Scope,
    pub strides: Box<[usize]>,
    pub entries: Entries,
    /// By place in the scope: the first cell of what was taken.
    pub taken: Box<[usize]>,
    /// The block of the first of them.
    pub block: u32,
    /// How much it costs on average, a forbidden entry as much as the range: how much it may decide.
    pub mean: f64,
}

#[derive(Debug)]
pub(crate) enum Entries {
    Dense(Arc<[Cost]>),
    Sparse(Arc<SparseTable>),
}

impl StaticData {
    /// `None` where costs are too large for sums of 64 bits, and once `stop` is set. Costs from `ub` on need not be
    /// told apart.
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
        // equal tables are kept once, as the problem does
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

    /// A cost, not counting the constant.
    pub fn scaled(&self, cost: Cost) -> Cost {
        if cost >= self.range { NEVER } else { cost << self.bits }
    }

    /// No solution that is better than one of total `ub` reaches this: costs are integers.
    pub fn limit(&self, ub: Cost) -> Cost {
        let range = ub.saturating_sub(self.problem.constant).min(self.range);
        if range <= 0 { 0 } else { ((range - 1) << self.bits) + 1 }
    }

    /// The least total that a scaled sum may stand for.
    pub fn total(&self, scaled: Cost) -> Cost {
        // rounded up: costs are integers
        (scaled.saturating_add((1 << self.bits) - 1) >> self.bits).saturating_add(self.problem.constant)
    }

    pub fn variables(&self) -> usize {
        self.problem.variables()
    }

    /// Bytes of the pairs of variables, a bit each.
    pub fn pairs(problem: &Problem) -> u64 {
        (problem.variables() as u64).pow(2) / 8
    }

    /// Bytes that a problem's static data takes, and a state of it.
    ///
    /// # Errors
    /// [`Error::Stopped`].
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

    /// Bytes of a state of so many cells.
    pub fn bytes_of(cells: u64) -> u64 {
        // the trail holds a cell a few times on the way to a leaf
        cells * size_of::<Cost>() as u64 * 4
    }
}

impl Function {
    /// An entry; `values` are those of the scope.
    pub fn entry(&self, data: &StaticData, values: &[u32]) -> Cost {
        match &self.entries {
            Entries::Dense(costs) => {
                costs[values.iter().zip(&self.strides).map(|(&value, stride)| value as usize * stride).sum::<usize>()]
            }
            Entries::Sparse(table) => data.scaled(table.get(values)),
        }
    }
}
