//! What a file may ask for. Every variable gets a row of unary costs later on, so the sum of the domains is memory
//! that a few bytes of text could claim; tables are safe, their entries have to stand in the file.

use super::tokens::Tokens;
use crate::error::Error;
use crate::model::Builder;

/// Values of all variables together: 1 GiB of unary costs.
const VALUES: u64 = 1 << 27;

/// Counts the values of the variables as they are declared.
#[derive(Default)]
pub(super) struct Domains {
    values: u64,
}

impl Domains {
    /// Declares a variable of the size that is the current word.
    pub(super) fn declare(&mut self, size: i64, builder: &mut Builder, tokens: &Tokens<'_>) -> Result<(), Error> {
        if size < 1 {
            return Err(tokens.error("a domain size of at least 1"));
        }
        self.values = self.values.saturating_add(size as u64);
        if self.values > VALUES {
            return Err(tokens.error(format!("domains of at most {VALUES} values in all")));
        }
        let _ = builder.variable(size as u32)?;
        Ok(())
    }
}
