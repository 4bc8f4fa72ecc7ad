//! Limits on the sum of the costs of all functions.

use super::{Cost, FORBIDDEN};

/// The least and the largest finite cost of a function; [`FORBIDDEN`] and `Cost::MIN` if it has none.
#[derive(Clone, Copy, Debug)]
pub(super) struct CostSpan {
    pub least: Cost,
    largest: Cost,
}

impl CostSpan {
    /// Computes the span of some costs.
    pub fn of(costs: impl Iterator<Item = Cost>) -> CostSpan {
        let none = CostSpan { least: FORBIDDEN, largest: Cost::MIN };
        costs.fold(none, |CostSpan { least, largest }, cost| {
            let finite = if cost < FORBIDDEN { cost } else { Cost::MIN };
            CostSpan { least: least.min(cost), largest: largest.max(finite) }
        })
    }
}

/// Saturating sums of the extreme costs of all functions.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sums {
    /// The negated sum of all negative least costs.
    pub below: Cost,
    /// The sum of all positive largest costs.
    pub above: Cost,
    /// The sum of the largest costs, each minus its function's least cost if that is negative.
    raised: Cost,
}

impl Sums {
    /// Adds the span of a function.
    pub(super) fn add(&mut self, CostSpan { least, largest }: CostSpan) {
        if least >= FORBIDDEN {
            return;
        }
        self.below = self.below.saturating_add((-least).max(0));
        self.above = self.above.saturating_add(largest.max(0));
        self.raised = self.raised.saturating_add(largest - least.min(0));
    }

    /// Returns whether sums of costs fit 64 bits. Costs saturate at [`FORBIDDEN`], also after a function's negative
    /// least cost is subtracted from its costs. Saturation is correct only for sums that reach `top` and cannot fall
    /// below it.
    pub(super) fn fit(&self, top: Cost) -> bool {
        let reach_top = top.saturating_add(self.below) < FORBIDDEN;
        self.below < FORBIDDEN && (self.raised < FORBIDDEN || reach_top)
    }
}
