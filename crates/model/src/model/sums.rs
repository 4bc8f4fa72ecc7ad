//! What the costs of all functions together may be.

use super::{Cost, FORBIDDEN};

/// The least and the largest finite cost of a function; [`FORBIDDEN`] and less if it has none.
#[derive(Clone, Copy, Debug)]
pub(super) struct CostSpan {
    pub least: Cost,
    largest: Cost,
}

impl CostSpan {
    /// The span of some costs.
    pub fn of(costs: impl Iterator<Item = Cost>) -> CostSpan {
        let none = CostSpan { least: FORBIDDEN, largest: Cost::MIN };
        costs.fold(none, |CostSpan { least, largest }, cost| {
            let finite = if cost < FORBIDDEN { cost } else { Cost::MIN };
            CostSpan { least: least.min(cost), largest: largest.max(finite) }
        })
    }
}

/// The costs of all functions together. They saturate.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sums {
    /// The sum of the least costs, negated, of the functions that have negative ones.
    pub below: Cost,
    /// The sum of the largest costs of the functions that have positive ones.
    pub above: Cost,
    /// The sum of the largest costs, each less its function's least one if that is negative.
    raised: Cost,
}

impl Sums {
    /// Adds a function.
    pub(super) fn add(&mut self, CostSpan { least, largest }: CostSpan) {
        if least >= FORBIDDEN {
            return;
        }
        self.below = self.below.saturating_add((-least).max(0));
        self.above = self.above.saturating_add(largest.max(0));
        self.raised = self.raised.saturating_add(largest - least.min(0));
    }

    /// Whether 64 bits hold the sums. They saturate at [`FORBIDDEN`], also those of costs less their function's least
    /// one if that is negative: right only for sums that reach a `top` and stay there.
    pub(super) fn fit(&self, top: Cost) -> bool {
        let reach_top = top.saturating_add(self.below) < FORBIDDEN;
        self.below < FORBIDDEN && (self.raised < FORBIDDEN || reach_top)
    }
}
