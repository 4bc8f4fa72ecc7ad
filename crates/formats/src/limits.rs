//! Limits for the claims of a file. Every variable gets a row of unary costs, so a few bytes of text could claim memory
//! through the sum of the domains. Tables are safe, as their entries have to be in the file, and so are the values of
//! long domains that functions name.

use super::tokens::Tokens;
use crate::error::Error;
use crate::globals::Decomposer;
use crate::model::{Builder, COST_LIMIT, Cost, FORBIDDEN};

/// Values of all variables together: 1 GiB of unary costs.
const VALUES: u64 = 1 << 27;
/// Values of a variable that are distinguished even if no function names them.
const SHORT: u64 = u16::MAX as u64;

/// Most variables that a header may claim without a word of the file for each: a few hundred MiB.
pub(super) const ANNOUNCED: usize = 1 << 22;

/// Counts the values of the variables as they are declared.
#[derive(Default)]
pub(super) struct Domains {
    values: u64,
}

impl Domains {
    /// Declares a variable whose size is the current word.
    pub(super) fn declare(&mut self, size: i64, builder: &mut Builder, tokens: &Tokens<'_>) -> Result<(), Error> {
        self.count(size, tokens)?;
        let _ = builder.variable(size as u32)?;
        Ok(())
    }

    /// Counts a variable whose size is the current word.
    pub(super) fn count(&mut self, size: i64, tokens: &Tokens<'_>) -> Result<(), Error> {
        if size < 1 {
            return Err(tokens.error("a domain size of at least 1"));
        }
        self.values += (size as u64).min(SHORT);
        if self.values > VALUES || size as u64 > VALUES {
            return Err(tokens.error(format!("domains of at most {VALUES} values in all")));
        }
        Ok(())
    }
}

/// The least and the largest finite cost of a function; 0 if it has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CostSpan {
    pub least: Cost,
    pub largest: Cost,
}

impl CostSpan {
    /// The span of some costs.
    pub(super) fn of(costs: impl Iterator<Item = Cost>) -> CostSpan {
        let finite = costs.filter(|&cost| cost < FORBIDDEN);
        let spans = finite.map(|cost| CostSpan { least: cost, largest: cost });
        let both = |one: CostSpan, other: CostSpan| CostSpan {
            least: one.least.min(other.least),
            largest: one.largest.max(other.largest),
        };
        spans.reduce(both).unwrap_or_default()
    }
}

/// The costs of all functions together.
#[derive(Default)]
pub(super) struct Sums {
    /// The sum of the least costs, negated, of the functions that have negative ones.
    below: Cost,
    /// The sum of the largest costs of the functions that have positive ones.
    above: Cost,
    /// The sum of the least costs.
    least: Cost,
    /// The sum of the largest costs, each less its function's least one if that is negative.
    raised: Cost,
}

impl Sums {
    /// Adds a function.
    pub(super) fn add(&mut self, span: CostSpan) {
        let CostSpan { least, largest } = span;
        self.below = self.below.saturating_add((-least).max(0));
        self.above = self.above.saturating_add(largest.max(0));
        self.least = self.least.saturating_add(least);
        self.raised = self.raised.saturating_add(largest - least.min(0));
    }

    /// The sums with those of global functions.
    fn with(&self, globals: &Decomposer) -> Sums {
        let mut all = Sums { ..*self };
        globals.ranges().iter().for_each(|&(least, largest)| all.add(CostSpan { least, largest }));
        all
    }

    /// How far below 0 all functions together may be.
    pub(super) fn below(&self, globals: &Decomposer) -> Cost {
        self.with(globals).below
    }

    /// Sums have 64 bits and saturate at [`FORBIDDEN`], also those of costs less their function's least one if that is
    /// negative. That is right only for sums that reach `top` and stay there.
    pub(super) fn check(&self, top: Cost, globals: &Decomposer, tokens: &Tokens<'_>) -> Result<(), Error> {
        let Sums { below, above, least, raised } = self.with(globals);
        let fits = match top {
            ..=COST_LIMIT => {
                let reaches_top = i128::from(top) - i128::from(least) <= FORBIDDEN.into();
                below == 0 || above < FORBIDDEN && (raised < FORBIDDEN || reaches_top)
            }
            top => above < FORBIDDEN.min(top) && raised < FORBIDDEN,
        };
        if !fits || below >= FORBIDDEN {
            let hint = "the sum of the largest costs of all functions passes 64-bit arithmetic";
            return Err(tokens.error_with("smaller costs", hint));
        }
        if below > 0 && globals.may_reach_limit_in_sum() {
            let hint = "negative costs could make up for what global functions forbid that reach top";
            return Err(tokens.error_with("smaller costs", hint));
        }
        Ok(())
    }
}
