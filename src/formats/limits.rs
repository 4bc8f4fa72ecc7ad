//! What a file may ask for. Every variable gets a row of unary costs later on, so the sum of the domains is memory
//! that a few bytes of text could claim; tables are safe, their entries have to stand in the file, and so do those
//! values of a long domain that are told apart.

use super::tokens::Tokens;
use crate::error::Error;
use crate::model::Builder;

/// Values of all variables together: 1 GiB of unary costs.
const VALUES: u64 = 1 << 27;
/// Values of a variable that are told apart whether or not a function names them.
const SHORT: u64 = u16::MAX as u64;

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
        self.values += (size as u64).min(SHORT);
        if self.values > VALUES || size as u64 > VALUES {
            return Err(tokens.error(format!("domains of at most {VALUES} values in all")));
        }
        let _ = builder.variable(size as u32)?;
        Ok(())
    }
}
