//! Limits on the claims of a file. Every variable gets a row of unary costs, so a few bytes of text could claim much
//! memory through large domains. Tables are safe because the file must contain their entries, and so are values of
//! large domains that functions name.

use super::tokens::Tokens;
use crate::error::Error;
use crate::globals::Decomposer;
use crate::model::{Builder, COST_LIMIT, Cost, Sums};

/// The maximum number of values of all variables together: 1 GiB of unary costs.
const VALUES: u64 = 1 << 27;
/// The number of values of a variable that are distinguished even if no function names them.
const SHORT: u64 = u16::MAX as u64;

/// The maximum number of variables that a header may claim without a word in the file for each: a few hundred MiB.
pub(super) const ANNOUNCED: usize = 1 << 22;

/// Counts the values of the variables while they are declared.
#[derive(Default)]
pub(super) struct Domains {
    values: u64,
}

impl Domains {
    /// Declares a variable whose domain size is the current word.
    pub(super) fn declare(&mut self, size: i64, builder: &mut Builder, tokens: &Tokens<'_>) -> Result<(), Error> {
        self.count(size, tokens)?;
        let _ = builder.variable(size as u32)?;
        Ok(())
    }

    /// Counts a variable whose domain size is the current word.
    pub(super) fn count(&mut self, size: i64, tokens: &Tokens<'_>) -> Result<(), Error> {
        self.fit(size).map_err(|expected| tokens.error(expected))
    }

    /// Counts a variable; on failure returns what is expected.
    pub(super) fn fit(&mut self, size: i64) -> Result<(), String> {
        if size < 1 {
            return Err("a domain size of at least 1".into());
        }
        self.values += (size as u64).min(SHORT);
        if self.values > VALUES || size as u64 > VALUES {
            return Err(format!("domains of at most {VALUES} values in all"));
        }
        Ok(())
    }
}

/// Checks two conditions that the builder does not check: sums of costs stay below a `top` above single costs, which is
/// not kept, and negative costs cannot compensate for what global functions forbid.
pub(super) fn check_sums(top: Cost, builder: &Builder, globals: &Decomposer, tokens: &Tokens<'_>) -> Result<(), Error> {
    let Sums { below, above, .. } = builder.sums();
    let hint = match () {
        () if top > COST_LIMIT && above >= top => "the sum of the largest costs of all functions reaches top",
        () if below > 0 && globals.may_reach_limit_in_sum() => {
            "negative costs could make up for what global functions forbid that reach top"
        }
        () => return Ok(()),
    };
    Err(tokens.error_with("smaller costs", hint))
}
