//! The value of policies by plain summation: for influence diagrams over all variables in the multiplied-out form, for
//! processes forwards along states and nodes of the policy. The code shares nothing with what made the policy.

mod diagram;
mod minds;
mod process;
#[cfg(test)]
mod tests;

pub use diagram::worth_in_diagram;
pub use process::{best_in_idid, worth_in_idid, worth_in_pomdp, worth_in_team};

use crate::error::Error;

fn refused<T>(what: impl Into<String>) -> Result<T, Error> {
    Err(Error::Refused(what.into()))
}
