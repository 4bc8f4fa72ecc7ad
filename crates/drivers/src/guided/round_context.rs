//! The context that all states of a round share.

use crate::core::context::SearchContext;
use crate::core::layout::{self, MoveLayout};
use crate::elimination::CostToGo;
use crate::heuristics::Needs;
use crate::model::Cost;
use crate::stop::Stop;

/// The problem, the results of other drivers and bounds, and the needs of the heuristic.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoundContext<'a> {
    pub context: &'a SearchContext,
    pub layout: &'a MoveLayout,
    /// Whether costs of values are kept up to date instead of computed at each visit.
    pub keeps: bool,
    pub needs: Needs,
    pub incumbent: Option<&'a [u16]>,
    /// Lower bounds of values ([`SearchContext::reduced`]).
    pub reduced: Option<&'a [Vec<Cost>]>,
    pub guidance: Option<Guidance<'a>>,
    pub asserts: bool,
}

/// Mini-buckets, and the position of each variable in their order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Guidance<'a> {
    pub to_go: CostToGo<'a>,
    pub positions: &'a [u32],
    /// Variables in the order in which values are assigned: from the last position to the first.
    pub order: &'a [u32],
    /// A number that distinguishes it from other guidance on this problem.
    pub number: u64,
}

impl<'a> RoundContext<'a> {
    /// Returns a context without results of other drivers and bounds.
    pub fn new(context: &'a SearchContext, layout: &'a MoveLayout, needs: Needs, asserts: bool) -> Self {
        let (incumbent, reduced, guidance) = (None, None, None);
        RoundContext { context, layout, keeps: false, needs, incumbent, reduced, guidance, asserts }
    }

    /// Computes the cost of each value of a variable above its floor.
    #[inline(always)]
    pub fn rate(&self, values: &[u16], v: usize, row: &mut [i32]) {
        self.context.tables.rate(v, values, row, |_| true);
        let floor = self.layout.floors[v];
        row.iter_mut().for_each(|cost| *cost -= floor);
    }

    /// Counts the functions that each value of a variable violates. Functions whose tables are too large to be copied
    /// are not counted.
    pub fn count_conflicts(&self, values: &[u16], v: usize, row: &mut [i32]) {
        let tables = &self.context.tables;
        row.fill(0);
        for (count, &cost) in row.iter_mut().zip(tables.unary(v)) {
            *count += i32::from(cost >= tables.hard);
        }
        for incidence in tables.incidences(v) {
            let entries = tables.row(tables.offset(incidence, values), row.len());
            for (count, cost) in row.iter_mut().zip(entries.iter()) {
                *count += i32::from(cost >= tables.hard);
            }
        }
    }

    pub fn counts_conflicts(&self) -> bool {
        self.needs.any(Needs::CONFLICTS | Needs::CURRENT_CONFLICTS)
    }

    pub fn energy(&self, values: &[u16]) -> i64 {
        let tables = &self.context.tables;
        if !tables.all_copied() {
            return tables.energy(values).total >> tables.shift;
        }
        layout::energy(tables, values, &Stop::new()).expect("no stop is set")
    }

    /// Returns whether differences of costs equal differences of energies: not if each function is rounded separately
    /// and energies are rounded as a whole.
    pub fn exact(&self) -> bool {
        self.context.tables.all_copied() || self.context.tables.shift == 0
    }

    /// Returns a cost of the problem in the units of rows, at most that of a forbidden entry.
    #[inline]
    pub fn units(&self, cost: Cost) -> f64 {
        (cost.min(self.context.tables.price()) >> self.context.tables.shift) as f64
    }
}
