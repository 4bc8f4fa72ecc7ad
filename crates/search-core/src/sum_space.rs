//! The space of a network's own variables, for local search on networks whose global functions are linear sums.

use crate::elite::LONGEST;
use crate::error::Error;
use crate::globals::sums::Sums;
use crate::layout::{MoveLayout, energy};
use crate::model::{Cost, FORBIDDEN, Network};
use crate::reduce::Reducer;
use crate::stop::Stop;
use crate::value_tables::ValueTables;
use std::sync::Arc;

/// The network, with the functions that are sums apart from those with tables.
#[derive(Debug)]
pub struct SumSpace {
    /// The network.
    pub network: Network,
    /// The tables of the functions that are not sums.
    pub tables: ValueTables,
    /// The evaluations by these tables that each move changes.
    pub layout: MoveLayout,
    /// The functions that are sums.
    pub sums: Sums,
    /// The values of each variable that remain after the reductions.
    pub values: Vec<Vec<u16>>,
    /// The variables that have a choice.
    pub free: Vec<u32>,
    /// Whether each variable has a choice.
    pub is_free: Vec<bool>,
    /// The value of one unit of an entry.
    pub unit: f64,
    /// Whether solutions of the reduced problem may violate the network.
    pub is_relaxed: bool,
}

impl SumSpace {
    /// Builds the space. Returns `None` if no function is a sum, or a table is too large for copies of its rows. Costs
    /// of `top` or more are not distinguished.
    pub fn until(origin: &Reducer, top: Cost, stop: &Stop) -> Result<Option<SumSpace>, Error> {
        let is_sum = |network: &Network| (0..network.function_count()).any(|number| Sums::has(network, number));
        let Some(network) = origin.original().filter(|network| is_sum(network)) else { return Ok(None) };
        let is_relaxed = network.is_relaxed();
        let rest = network.without(|number| Sums::has(network, number));
        let (_, mut problem) = Reducer::unreduced(&rest, stop)?;
        if problem.domains.iter().any(|&domain| domain > LONGEST) {
            return Ok(None);
        }
        let sums = Sums::of(network);
        let mut values: Vec<Vec<u16>> = Vec::with_capacity(problem.variables());
        for item in stop.each(problem.unary.iter_mut().enumerate()) {
            let (v, unary) = item?;
            // the reductions of a relaxed network keep only what is best for the relaxation
            let is_left = |a: u32| is_relaxed || origin.values_left(v as u32).binary_search(&a).is_ok();
            let gone = (0..).zip(unary.iter_mut()).filter(|&(a, _)| !is_left(a));
            gone.for_each(|(_, cost)| *cost = FORBIDDEN);
            values.push((0..).zip(unary.iter()).filter(|(_, cost)| **cost < FORBIDDEN).map(|(a, _)| a).collect());
        }
        let price = top.saturating_sub(problem.constant).max(1);
        let tables = ValueTables::until(&Arc::new(problem), price, stop)?;
        if !tables.all_copied() {
            return Ok(None);
        }
        let layout = MoveLayout::new(&tables, stop)?;
        let has_choice = |v: usize| {
            let values = &values[v];
            let is_read = || values.iter().any(|&value| !sums.terms(v, value.into()).is_empty());
            let unary = tables.unary(v);
            let matters = || values.iter().any(|&value| unary[usize::from(value)] != unary[usize::from(values[0])]);
            values.len() > 1 && (tables.degree(v) > 0 || is_read() || matters())
        };
        let is_free: Vec<bool> = (0..values.len()).map(has_choice).collect();
        let free: Vec<u32> = (0..).zip(&is_free).filter(|(_, is_free)| **is_free).map(|(v, _)| v).collect();
        if free.is_empty() {
            return Ok(None);
        }
        let unit = (1u64 << tables.shift) as f64;
        Ok(Some(SumSpace { network: network.clone(), tables, layout, sums, values, free, is_free, unit, is_relaxed }))
    }

    /// Calls `call` with each sum that a change of `v` from `from` to `to` affects, and the difference.
    #[inline]
    pub fn changes(&self, v: usize, from: u16, to: u16, mut call: impl FnMut(usize, i64)) {
        let (mut old, mut new) = (self.sums.terms(v, from.into()), self.sums.terms(v, to.into()));
        while let Some(&(sum, _)) = old.first().into_iter().chain(new.first()).min_by_key(|term| term.0) {
            let mut change = 0;
            if old.first().is_some_and(|term| term.0 == sum) {
                change -= old[0].1;
                old = &old[1..];
            }
            if new.first().is_some_and(|term| term.0 == sum) {
                change += new[0].1;
                new = &new[1..];
            }
            if change != 0 {
                call(sum as usize, change);
            }
        }
    }

    /// Returns the values in the space for those of the reduced problem.
    pub fn of_core(&self, origin: &Reducer, values: &[u16], stop: &Stop) -> Result<Vec<u16>, Error> {
        let core: Vec<u32> = values.iter().map(|&value| value.into()).collect();
        let own = origin.lift(&core, stop)?;
        let all = self.network.extend(&own);
        Ok(all.iter().map(|&value| value as u16).collect())
    }

    /// Returns the cost of values without the constant, computed only from the tables; `None` if a sum is violated.
    pub fn cost(&self, values: &[u16]) -> Option<Cost> {
        let energy = energy(&self.tables, values, &Stop::new()).expect("no stop is set") << self.tables.shift;
        let totals = self.sums.totals(values);
        let mut costs = self.sums.sums.iter().zip(totals).map(|(sum, total)| sum.cost(total));
        costs.try_fold(energy, |all, cost| Some(all.saturating_add(cost?)))
    }

    /// Returns the values of the network's own variables.
    pub fn own(&self, values: &[u16]) -> Vec<u32> {
        values[..self.network.domains().len()].iter().map(|&value| value.into()).collect()
    }
}
