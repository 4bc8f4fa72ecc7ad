//! An elimination plan of the schedule, and what its bound means for the original network.

use crate::bounds::Proof;
use crate::bounds::cost_shifting::Shift;
use crate::bounds::join_graph::passes::Passes;
use crate::elimination::run::Outcome;
use crate::model::{Cost, Problem};
use crate::reduce::Reducer;
use std::sync::Arc;

/// A plan that is run, by what it is known.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// The plan's name, after `shift+` where it is for the shifted network.
    pub name: String,
    /// Combinations it looks at.
    pub work: u64,
    /// What the plan was made for.
    pub problem: Arc<Problem>,
    pub(crate) shift: Option<Arc<Shift>>,
    pub(crate) graphs: Vec<Arc<Passes>>,
    pub(crate) by_rows: bool,
}

impl Attempt {
    /// The bound on the original network.
    pub fn lower_bound(&self, outcome: &Outcome) -> Cost {
        let bound = outcome.lower_bound();
        self.shift.as_ref().map_or(bound, |shift| shift.bound(bound))
    }

    /// Why the bound is one, given the reductions that led to the network; `None` where no log was kept.
    pub fn proof(&self, reducer: &Arc<Reducer>, outcome: &Outcome) -> Option<Proof> {
        let reduced = Proof::reductions(reducer)?;
        let shifted = match &self.shift {
            Some(shift) => reduced.shifted(shift)?,
            None => reduced,
        };
        let joined = shifted.joined(self.graphs.clone());
        let plan = outcome.plan();
        Some(if self.by_rows { joined.by_rows(plan) } else { joined.eliminated(plan, &self.problem) })
    }

    /// Whether it is for the original network: only its messages speak of that network's costs.
    pub fn is_plain(&self) -> bool {
        self.shift.is_none()
    }
}
