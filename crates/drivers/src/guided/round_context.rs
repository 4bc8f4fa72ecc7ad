//! What all states of a round share.

use crate::core::context::SearchContext;
use crate::core::layout::{self, MoveLayout};
use crate::elimination::CostToGo;
use crate::heuristics::Needs;
use crate::model::Cost;
use crate::stop::Stop;

/// The core, what is known of it, and what is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoundContext<'a> {
    pub context: &'a SearchContext,
    pub layout: &'a MoveLayout,
    /// Whether costs of values are kept up to date instead of made at each visit.
    pub keeps: bool,
    pub needs: Needs,
    pub incumbent: Option<&'a [u16]>,
    /// What is known of values ([`SearchContext::reduced`]).
    pub reduced: Option<&'a [Vec<Cost>]>,
    pub guidance: Option<Guidance<'a>>,
    pub asserts: bool,
}

/// Mini-buckets, and where each variable stands in their order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Guidance<'a> {
    pub to_go: CostToGo<'a>,
    pub positions: &'a [u32],
    /// Variables in the order in which values are given: from the last position to the first.
    pub order: &'a [u32],
    /// Tells it from others of the same core.
    pub number: u64,
}

impl<'a> RoundContext<'a> {
    /// What states stand on, without what others have found.
    pub fn new(context: &'a SearchContext, layout: &'a MoveLayout, needs: Needs, asserts: bool) -> Self {
        let (incumbent, reduced, guidance) = (None, None, None);
        RoundContext { context, layout, keeps: false, needs, incumbent, reduced, guidance, asserts }
    }

    /// The cost of each value of a variable above its floor.
    #[inline(always)]
    pub fn rate(&self, values: &[u16], v: usize, row: &mut [i32]) {
        self.context.tables.rate(v, values, row, |_| true);
        let floor = self.layout.floors[v];
        row.iter_mut().for_each(|cost| *cost -= floor);
    }

    /// How many functions each value of a variable violates. Of those too large to be laid out by variables nothing is
    /// known.
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

    /// Whether differences of costs add up to those of energies: not where each function is rounded by itself and
    /// energies are rounded as a whole.
    pub fn exact(&self) -> bool {
        self.context.tables.all_copied() || self.context.tables.shift == 0
    }

    /// A cost of the core in the rows' units, as much as a forbidden entry at most.
    #[inline]
    pub fn units(&self, cost: Cost) -> f64 {
        (cost.min(self.context.tables.price()) >> self.context.tables.shift) as f64
    }
}
