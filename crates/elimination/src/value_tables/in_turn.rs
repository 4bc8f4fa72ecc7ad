//! Layout of the rows of a reduced problem, one variable after the other.

use super::orient::orient;
use super::quantization::quantize;
use super::rows::{PADDING, Rows};
use super::tables::ValueTables;
use crate::error::Error;
use crate::model::{CostFunction, Costs, Readers, Table};
use crate::stop::Stop;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHasher};
use std::hash::Hasher;

/// Lays out the rows of one variable after the other; rows of equal content are stored once.
pub(super) fn lay_out(tables: &mut ValueTables, incidence: &Readers, stop: &Stop) -> Result<(), Error> {
    let problem = tables.problem.clone();
    let n = problem.variables();
    // most functions are pairs of variables, each with its own rows
    let rows = 2 * problem.functions.len();
    let mut layout = Layout {
        by_table: FxHashMap::with_capacity_and_hasher(rows, FxBuildHasher),
        by_content: FxHashMap::with_capacity_and_hasher(rows, FxBuildHasher),
        scratch: Vec::new(),
        entries: Vec::new(),
    };
    for v in stop.each(0..n) {
        let (v, start) = (v?, layout.entries.len());
        tables.unary.push(start as u32);
        let quantized = problem.unary[v].iter().map(|&cost| quantize(cost, tables.shift, tables.hard));
        layout.entries.extend(quantized);
        layout.entries.resize(start + tables.width[v] as usize, PADDING);
    }
    tables.in_place = vec![Vec::new(); n];
    for v in stop.each(0..n) {
        let v = v?;
        tables.ranges.push(tables.incidences.len() as u32);
        for &f in &incidence[v] {
            let function = &problem.functions[f as usize];
            match &function.table {
                Table::Dense(table)
                    if function.combinations(&problem.domains) <= tables.limit
                        && layout.entries.len() + 8 * table.len() < u32::MAX as usize =>
                {
                    let position = function.scope.iter().position(|&u| u as usize == v).unwrap_or(0);
                    let base = layout.place(tables, function, table, position);
                    let mut further = std::mem::take(&mut tables.further);
                    tables.incidences.push(tables.incidence_of(function, position, base, &mut further));
                    tables.further = further;
                    tables.functions.push(f);
                }
                _ => tables.in_place[v].push(f),
            }
        }
    }
    tables.ranges.push(tables.incidences.len() as u32);
    layout.entries.shrink_to_fit();
    tables.rows = Rows::new(layout.entries, tables.moves());
    Ok(())
}

/// The oriented tables laid out so far; each content is stored once.
struct Layout {
    by_table: FxHashMap<(usize, usize, usize), u32>,
    by_content: FxHashMap<u64, u32>,
    scratch: Vec<i32>,
    entries: Vec<i32>,
}

impl Layout {
    /// Returns where the rows of `table` seen from `position` begin, and lays them out if they are new.
    fn place(&mut self, tables: &ValueTables, function: &CostFunction, table: &Costs, position: usize) -> u32 {
        let size = |v: u32| tables.problem.domains[v as usize] as usize;
        let outer: usize = function.scope[..position].iter().map(|&v| size(v)).product();
        let domain = size(function.scope[position]);
        let inner: usize = function.scope[position + 1..].iter().map(|&v| size(v)).product();
        let key = (table.address(), domain, inner);
        if let Some(&base) = self.by_table.get(&key) {
            return base;
        }
        let width = tables.width[function.scope[position] as usize] as usize;
        self.scratch.clear();
        self.scratch.resize(outer * inner * width, 0);
        let quantize = |cost| quantize(cost, tables.shift, tables.hard);
        orient(table, [domain, inner, width], quantize, &mut self.scratch);
        let mut hasher = FxHasher::default();
        for &entry in &self.scratch {
            hasher.write_i32(entry);
        }
        let next = self.entries.len() as u32;
        // of different tables with equal hashes only the first is found again
        let base = *self.by_content.entry(hasher.finish()).or_insert(next);
        let base = if base != next && self.entries[base as usize..].starts_with(&self.scratch) { base } else { next };
        if base == next {
            self.entries.extend_from_slice(&self.scratch);
        }
        let _ = self.by_table.insert(key, base);
        base
    }
}
